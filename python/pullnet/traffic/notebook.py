"""Volumes, fits, capacities, bills and studies as HTML, for notebooks."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from pullnet.html import table
from pullnet.traffic.quantities import shown_number, shown_rate, shown_time

if TYPE_CHECKING:
    from pullnet.traffic.billing.bill import Bill
    from pullnet.traffic.dimensioning import Dimensioning
    from pullnet.traffic.fitting import Fitting
    from pullnet.traffic.studies import Study
    from pullnet.traffic.volumes import Volumes


def fitting(found: "Fitting") -> str:
    """Return a fit: its verdict, and a row for each law."""
    scale = "" if found.timescale is None else f", {shown_time(found.timescale)}"
    rows = [
        (
            model.name,
            ", ".join(f"{name} {getattr(model, name):.5g}" for name in model.parameters),
            shown_number(found.whole.gammas[model.name], ".3f"),
            shown_number(found.whole.behind(model.name)),
            shown_number(found.whole.criteria[model.name].distance, ".3f"),
            shown_number(found.whole.criteria[model.name].p, ".2f"),
        )
        for model in found.whole.models
    ]
    heads = ("law", "parameters", "gamma", "AIC above the least", "D", "p")
    caption = f"{found.trace}{scale}: {found.samples} samples"
    return f"<p>{escape(found.verdict)}</p>{table(caption, heads, rows)}"


def bill(found: "Bill") -> str:
    """Return a bill: how it came about in words, and the bill by every rule."""
    from pullnet.traffic.billing.bill import compare
    from pullnet.traffic.billing.words import explain, mbps

    rows = [
        (
            str(row.rule),
            str(row.rank),
            str(row.gaps),
            mbps(row.rate),
            str(row.amount or "-"),
            str(row.difference or "-"),
        )
        for row in compare(found)
    ]
    heads = ("rule", "rank", "gaps", "rate", "to be paid", "difference")
    return f"<p>{escape(explain(found))}</p>{table(f'{found.link} by every rule', heads, rows)}"


def dimensioning(found: "Dimensioning") -> str:
    """Return capacities: a row for each rule, a column for each share of intervals."""
    epsilons = list(dict.fromkeys(each.eps for each in found.capacities))
    rules = dict.fromkeys(each.rule for each in found.capacities)
    rows = [(rule, *(shown_rate(found.of(rule, eps).capacity) for eps in epsilons)) for rule in rules]
    caption = f"{found.trace}, {shown_time(found.timescale)}: capacity that at most a share eps reaches"
    return table(caption, ("rule", *(f"eps {eps:g}" for eps in epsilons)), rows)


def study(found: "Study") -> str:
    """Return a study: its three sentences, and a row for each series."""
    from pullnet.traffic.report.summary import sentences

    rows = [(each.trace, shown_time(each.timescale or 0.0), str(each.samples), each.verdict) for each in found.fittings]
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(found))
    return words + table("Laws", ("trace", "interval", "samples", "what was found"), rows)


def volumes(found: "Volumes") -> str:
    """Return volumes: what they are of, and how much."""
    from pullnet.traffic.volumes import State

    rates = found.rates()[found.state != State.GAP]
    mean, largest = (shown_rate(rates.mean()), shown_rate(rates.max())) if len(rates) else ("-", "-")
    counts = ", ".join(f"{int((found.state == state).sum())} {state.name.lower()}" for state in State)
    row = (found.trace, shown_time(found.timescale), str(len(found)), mean, largest, counts)
    return table("Volumes", ("trace", "interval", "intervals", "mean", "largest", "states"), [row])


_VIEWS: dict[str, Callable[[Any], str]] = {
    "Bill": bill,
    "Dimensioning": dimensioning,
    "Fitting": fitting,
    "Study": study,
    "Volumes": volumes,
}
"""By the name of the class, whose module may need a library that is large."""


def html(found: Any) -> str:
    """Return an object of one of these classes as HTML."""
    return _VIEWS[type(found).__name__](found)
