"""Bills: one link, one period, one rule; and the money between the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pullnet.arguments import typed
from pullnet.html import Shown
from pullnet.traffic.billing.money import Money, Price
from pullnet.traffic.billing.percentile import Rank, percentile, position, share
from pullnet.traffic.billing.slots import Gaps, Period, Slots, slots
from pullnet.traffic.error import TrafficError
from pullnet.traffic.volumes import Volumes

INBOUND, OUTBOUND = "inbound", "outbound"


class Rule(StrEnum):
    """Which direction counts."""

    IN = "in"
    """Inbound only."""
    OUT = "out"
    """Outbound only."""
    EACH = "each"
    """Both directions, each with its own percentile, commitment and charge."""
    SUM = "sum"
    """Inbound and outbound of a slot are added, then the percentile is taken."""
    LARGER = "larger"
    """The percentile of each direction is taken, and the larger one billed."""
    LARGER_SLOT = "larger-slot"
    """The larger direction of every slot counts, then the percentile is taken."""


SUMMARIES = {
    Rule.IN: "the percentile of the inbound traffic is billed",
    Rule.OUT: "the percentile of the outbound traffic is billed",
    Rule.EACH: "each direction has its own percentile and is billed for itself",
    Rule.SUM: "inbound and outbound of each slot are added before the percentile is taken",
    Rule.LARGER: "the percentile of each direction is taken, and the larger one is billed",
    Rule.LARGER_SLOT: "of each slot the larger direction counts, and of these the percentile is taken",
}
"""Each rule, in half a sentence."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with one or two directions."""

    name: str
    inbound: Volumes | None = None
    outbound: Volumes | None = None

    def __post_init__(self) -> None:
        """Refuse a link without traffic."""
        if self.inbound is None and self.outbound is None:
            raise TrafficError("has no direction", where=self.name, remedy="give inbound or outbound volumes")

    def directions(self) -> dict[str, Volumes]:
        """Return the directions that there are."""
        both = ((INBOUND, self.inbound), (OUTBOUND, self.outbound))
        return {name: volumes for name, volumes in both if volumes is not None}


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of the contract."""

    rule: Rule = Rule.LARGER
    """With one direction only, `larger` is that direction."""
    rank: Rank = Rank.NEAREST
    gaps: Gaps = Gaps.MISSING
    percentile: Fraction = field(default_factory=lambda: share(95))
    price: Price | None = None
    commitment: int = 0
    """Unit: bit/s."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One percentile of a bill."""

    name: str
    """Name of the traffic, such as `inbound`."""
    values: NDArray[np.float64]
    """Bytes of the slots that count."""
    index: NDArray[np.int64]
    """Their slots within the period."""
    rate: Fraction
    """Unit: bit/s, exact."""
    discarded: int
    """Slots above the billed one."""
    billed: tuple[int, ...]
    """Slot that is billed (of equal ones the first), or the two around the percentile."""


@dataclass(frozen=True, slots=True, eq=False)
class Bill(Shown):
    """The amount to pay, and how it came about."""

    link: str
    period: Period
    terms: Terms
    lines: tuple[Line, ...]
    """Lines that are charged: two for rule `each`, otherwise one."""
    considered: tuple[Line, ...]
    """For rule `larger` both directions; otherwise the same as `lines`."""
    directions: Mapping[str, Slots]
    amount: Money | None
    """None without a price."""

    @property
    def rate(self) -> Fraction:
        """Rate that is charged for, of all lines together. Unit: bit/s, exact."""
        return sum((line.rate for line in self.lines), Fraction(0))

    @property
    def to_come(self) -> int:
        """Slots of the period after the last slot with data."""
        return self.period.count - max(each.come for each in self.directions.values())


@typed
def bill(link: Link, period: Period, terms: Terms | None = None) -> Bill:
    """Bill a link for a period."""
    return bill_slots(link.name, in_slots(link, period), terms or Terms())


def in_slots(link: Link, period: Period) -> dict[str, Slots]:
    """Bring the directions of a link to the slots of a period."""
    return {name: slots(volumes, period) for name, volumes in link.directions().items()}


def bill_slots(link: str, directions: Mapping[str, Slots], terms: Terms) -> Bill:
    """Bill what has been brought to slots."""
    if terms.commitment < 0:
        remedy = "use a rate of at least 0"
        raise TrafficError("a commitment below zero", where=link, value=terms.commitment, remedy=remedy)
    period = next(iter(directions.values())).period
    considered = tuple(
        _line(name, *series, period, terms)
        for name, series in series_of(link, directions, terms.rule, terms.gaps).items()
    )
    lines = considered if terms.rule is Rule.EACH else (max(considered, key=lambda line: line.rate),)
    amount = None
    if terms.price is not None:
        charge = sum((terms.price.charge(line.rate, terms.commitment) for line in lines), Fraction(0))
        amount = Money.exactly(charge, terms.price.currency)
    return Bill(link, period, terms, lines, considered, directions, amount)


Series = tuple[NDArray[np.float64], NDArray[np.int64]]


def series_of(link: str, directions: Mapping[str, Slots], rule: Rule, gaps: Gaps) -> dict[str, Series]:
    """Return what percentiles are taken of by a rule: name to (bytes, slots)."""
    wanted = {Rule.IN: (INBOUND,), Rule.OUT: (OUTBOUND,)}.get(rule, tuple(directions))
    for name in wanted:
        if name not in directions:
            only = ", ".join(directions)
            remedy = f"use a rule for {only} traffic alone, or give the other direction"
            raise TrafficError(f"has no {name} traffic, which rule `{rule}` bills", where=link, remedy=remedy)
    if rule in (Rule.SUM, Rule.LARGER_SLOT, Rule.EACH) and len(directions) < 2:
        remedy = f"give both, or use the rule {'in' if INBOUND in directions else 'out'}"
        raise TrafficError(f"has one direction, and rule `{rule}` needs two", where=link, remedy=remedy)
    if rule in (Rule.SUM, Rule.LARGER_SLOT):
        return {"both directions": _joined(list(directions.values()), rule, gaps)}
    return {name: (directions[name].values(gaps), directions[name].counted(gaps)) for name in wanted}


def _joined(both: list[Slots], rule: Rule, gaps: Gaps) -> Series:
    """Slots that count in both directions, joined. A slot that a direction still lacks is a gap in it."""
    join = np.add if rule is Rule.SUM else np.maximum
    if gaps is Gaps.ZERO:
        index = np.arange(max(each.come for each in both))
    else:
        index = np.intersect1d(both[0].counted(gaps), both[1].counted(gaps))
    joined: NDArray[np.float64] = join(both[0].bytes[index], both[1].bytes[index])
    return joined, index


def _line(name: str, values: NDArray[np.float64], index: NDArray[np.int64], period: Period, terms: Terms) -> Line:
    volume = percentile(values, terms.percentile, terms.rank)
    rate = volume * 8 / Fraction(period.slot)
    at = position(len(values), terms.percentile, terms.rank)
    ordered = np.argsort(values, kind="stable")
    places = dict.fromkeys((at.lower, at.upper))
    billed = tuple(int(index[_first_equal(values, values[ordered[place]])]) for place in places)
    return Line(name, values, index, rate, at.discarded, billed)


def _first_equal(values: NDArray[np.float64], value: float) -> int:
    return int(np.argmax(values == value))


@dataclass(frozen=True, slots=True)
class Row:
    """A bill by another rule."""

    rule: Rule
    rank: Rank
    gaps: Gaps
    rate: Fraction
    """Unit: bit/s, exact."""
    amount: Money | None
    difference: Money | None
    """To the bill by the terms."""


@typed
def compare(chosen: Bill) -> list[Row]:
    """Bill by every rule that the directions allow: rules, ranks and, where there are gaps, what becomes of them."""
    directions = chosen.directions
    rules = tuple(Rule) if len(directions) == 2 else (Rule.IN if INBOUND in directions else Rule.OUT,)
    has_gaps = any(len(each.values(Gaps.ZERO)) != len(each.values(Gaps.MISSING)) for each in directions.values())
    rows = []
    for rule in rules:
        for rank in Rank:
            for gaps in Gaps if has_gaps else (chosen.terms.gaps,):
                terms = replace(chosen.terms, rule=rule, rank=rank, gaps=gaps)
                rows.append(_row(bill_slots(chosen.link, directions, terms), chosen))
    return rows


def _row(other: Bill, chosen: Bill) -> Row:
    terms = other.terms
    known = other.amount is not None and chosen.amount is not None
    difference = other.amount.minus(chosen.amount) if known and other.amount and chosen.amount else None
    return Row(terms.rule, terms.rank, terms.gaps, other.rate, other.amount, difference)
