"""Which slot is billed: percentiles by rank, in whole numbers and fractions, without rounding."""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError


class Rank(StrEnum):
    """How a percentile is read off n sorted slots."""

    NEAREST = "nearest"
    """Nearest rank: the ceil(p n)-th smallest. A part of a slot is not discarded."""
    NEAREST_DOWN = "nearest-down"
    """The floor(p n)-th smallest, at least the first. A part of a slot counts as one more to discard."""
    INTERPOLATED = "interpolated"
    """On the straight line between the two slots around rank 1 + p (n - 1), as spreadsheets do."""


SUMMARIES = {
    Rank.NEAREST: "a part of a slot is not discarded",
    Rank.NEAREST_DOWN: "a part of a slot counts as a whole one to discard",
    Rank.INTERPOLATED: "between the two slots around the percentile",
}
"""Each way of ranking, in words, for tables."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the sorted slots a percentile lies."""

    lower: int
    """Place of a slot, from 0 at the smallest."""
    upper: int
    """The same as `lower` but for interpolation."""
    weight: Fraction
    """Share of the upper slot."""
    discarded: int
    """Slots above."""


def share(percentile: str | float | Fraction) -> Fraction:
    """Read a percentile as an exact share: 95 is 19/20."""
    remedy = "use a number above 0 and up to 100, such as 95"
    try:
        found = Fraction(str(percentile)) / 100
    except (ValueError, ZeroDivisionError):
        raise TrafficError(f"`{percentile}` is not a percentile", value=percentile, remedy=remedy) from None
    if not 0 < found <= 1:
        raise TrafficError(f"`{percentile}` is not a percentile", value=percentile, remedy=remedy)
    return found


def position(count: int, of: Fraction, rank: Rank) -> Position:
    """Where the percentile lies among `count` slots."""
    if count < 1:
        raise TrafficError("no slot is known, so that nothing can be billed", remedy="give a period with traffic in it")
    if rank is Rank.INTERPOLATED:
        exact = of * (count - 1)
        lower, upper = math.floor(exact), math.ceil(exact)
        return Position(lower, upper, exact - lower, count - 1 - upper)
    place = math.ceil(of * count) if rank is Rank.NEAREST else max(1, math.floor(of * count))
    return Position(place - 1, place - 1, Fraction(0), count - place)


def allowed_above(count: int, of: Fraction, rank: Rank) -> int:
    """How many of `count` slots may lie above a rate without the percentile doing so."""
    return position(count, of, rank).discarded


def percentile(values: NDArray[np.float64], of: Fraction, rank: Rank) -> Fraction:
    """Exact percentile of volumes."""
    at = position(len(values), of, rank)
    ordered = np.partition(values, (at.lower, at.upper))
    lower, upper = Fraction(float(ordered[at.lower])), Fraction(float(ordered[at.upper]))
    return lower + at.weight * (upper - lower)


def fast_percentile(values: NDArray[np.float64], of: Fraction, rank: Rank) -> float:
    """Percentile in floating point, for simulations."""
    at = position(len(values), of, rank)
    ordered = np.partition(values, (at.lower, at.upper))
    return float(ordered[at.lower] + float(at.weight) * (ordered[at.upper] - ordered[at.lower]))
