"""Distance to the commitment: how many more slots may lie above it before it costs."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pullnet.arguments import typed
from pullnet.traffic.billing.bill import Bill, Line
from pullnet.traffic.billing.percentile import allowed_above


@dataclass(frozen=True, slots=True)
class Headroom:
    """Of one line of a bill."""

    line: str
    above: int
    """Slots above the commitment so far."""
    allowed: int
    """How many there may be by the end of the period without anything above the commitment being billed."""
    to_come: int
    """Slots of the period still to come; `allowed` counts all of them."""

    @property
    def left(self) -> int:
        """Free slots left; below 0 the commitment is exceeded already."""
        return self.allowed - self.above


@typed
def headroom(bill: Bill) -> list[Headroom]:
    """Return the distance of every line that the bill considers; empty without a commitment."""
    if not bill.terms.commitment:
        return []
    return [_headroom(bill, line) for line in bill.considered]


def _headroom(bill: Bill, line: Line) -> Headroom:
    limit = Fraction(bill.terms.commitment) * Fraction(bill.period.slot) / 8
    nearest = float(limit)
    above = np.count_nonzero(line.values > nearest)
    if Fraction(nearest) > limit:  # a volume of exactly that float lies above, too
        above += np.count_nonzero(line.values == nearest)
    total = len(line.values) + bill.to_come
    return Headroom(line.name, int(above), allowed_above(total, bill.terms.percentile, bill.terms.rank), bill.to_come)
