"""95th-percentile billing: by every rule in use, explained, compared, and foretold.

>>> from pullnet.traffic import billing
>>> link = billing.Link("uplink", inbound, outbound)                     # volumes at 5 minutes or finer
>>> terms = billing.Terms(rule=billing.Rule.LARGER, price=billing.Price.per_mbps("2.50", "EUR"))
>>> bill = billing.bill(link, billing.Period.month("2026-10", "Europe/Berlin"), terms)
>>> print(billing.explain(bill))

`slots` brings volumes to the clock, `percentile` says which slot is billed, `bill` applies the rules, `money` is exact,
`forecast` looks at the end of the month, and `nrmse` says how well laws foretell percentiles over many links.
"""

from pullnet.traffic.billing.bill import Bill, Line, Link, Row, Rule, Terms, bill, compare
from pullnet.traffic.billing.forecast import Forecast, forecast
from pullnet.traffic.billing.headroom import Headroom, headroom
from pullnet.traffic.billing.money import Money, Price
from pullnet.traffic.billing.nrmse import Nrmse, Prediction, nrmse, predictions
from pullnet.traffic.billing.percentile import Rank
from pullnet.traffic.billing.slots import Gaps, Period, Slots, slots
from pullnet.traffic.billing.words import explain

__all__ = [
    "Bill",
    "Forecast",
    "Gaps",
    "Headroom",
    "Line",
    "Link",
    "Money",
    "Nrmse",
    "Period",
    "Prediction",
    "Price",
    "Rank",
    "Row",
    "Rule",
    "Slots",
    "Terms",
    "bill",
    "compare",
    "explain",
    "forecast",
    "headroom",
    "nrmse",
    "predictions",
    "slots",
]
