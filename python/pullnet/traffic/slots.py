"""Times of a table as slots of equal length."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic.clock import at_row
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_time

TIME_NAMES = ("time", "timestamp", "datetime", "date", "ts", "t", "epoch", "unix", "start", "begin")
"""Names of columns of times; endings such as `_utc`, `_s` and `_ms` are allowed."""

END_NAMES = ("end", "stop", "until")
"""Names of columns of times at which intervals end."""

_ENDINGS = {"ns", "us", "ms", "s", "sec", "seconds", "utc", "unix", "time", "local"}

_OFF_GRID = 0.25
"""How far a time may be from its slot, as a part of the slot."""


@dataclass(frozen=True, slots=True)
class Times:
    """Times of the rows in order, and how the rows were brought into it."""

    seconds: NDArray[np.float64]
    order: NDArray[np.int64]
    """Number of each row in the file."""
    distance: float | None = None
    """Median distance of different times. Unit: s."""
    moved: int = 0
    """Rows that were out of order."""
    repeated: int = 0
    """Rows left out since another one is the same."""
    ambiguous: int = 0
    """Rows left out since others have the same time and other values."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The slot of each row."""

    start: float
    length: float
    index: NDArray[np.int64]
    count: int


def is_time(name: str) -> bool:
    """Whether a column is one of times by its name."""
    return _named(name, TIME_NAMES)


def is_end(name: str) -> bool:
    """Whether a column holds, by its name, the times at which intervals end."""
    return _named(name, END_NAMES)


def _named(name: str, first: tuple[str, ...]) -> bool:
    words = [word for word in re.split(r"[_ /()\[\]]+", name.lower()) if word]
    return bool(words) and words[0] in first and all(word in _ENDINGS for word in words[1:])


def in_order(seconds: NDArray[np.float64], place: str, same: Callable[[int, int], bool]) -> Times:
    """Sort rows by time. Of rows with one time, one is kept if all are the `same`, else none.

    Several values for one interval come from clocks that were set, to summer time for instance: the interval of each
    value is then unknown.
    """
    order = np.argsort(seconds, kind="stable").astype(np.int64)
    moved = int((np.diff(seconds) < 0).sum())
    ordered = seconds[order]
    kept = np.ones(len(order), dtype=bool)
    repeated = ambiguous = 0
    for first, end in _groups(ordered):
        alike = all(same(int(order[first]), int(row)) for row in order[first + 1 : end])
        kept[first + alike : end] = False
        repeated += end - first - 1 if alike else 0
        ambiguous += 0 if alike else end - first
    if not kept.any():
        many = "all rows have the same time" if ordered[0] == ordered[-1] else "each time is that of several rows"
        remedy = (
            "give each interval a time of its own; a table of many traces in rows names its numbers `value`, and tells "
            "traces apart by text, such as `port 1`"
        )
        raise TrafficError(many, where=place, remedy=remedy)
    apart = np.diff(ordered)
    distance = float(np.median(apart[apart > 0])) if (apart > 0).any() else None
    return Times(ordered[kept], order[kept], distance, moved, repeated, ambiguous)


def _groups(ordered: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Runs of more than one row with the same time."""
    edges = np.flatnonzero(np.diff(ordered)) + 1
    bounds = [0, *edges.tolist(), len(ordered)]
    return [(first, end) for first, end in pairwise(bounds) if end - first > 1]


_USUAL = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Lengths of the intervals at which devices are polled. Unit: s."""

_JITTER = 0.01
"""How far, as a share, the median distance of polls may be from the interval that was meant."""


def interval_of(times: Times, given: float | None, place: str) -> float:
    """Return the length of a slot: as given, or the median distance of times, or the usual length that it is near to.

    Pollers jitter: a median of 300.002 s means 5 minutes.
    """
    if given is not None:
        return given
    if times.distance is None:
        remedy = "give --interval, or more rows"
        raise TrafficError("one row does not say how long an interval is", where=place, remedy=remedy)
    median = times.distance
    return next((float(usual) for usual in _USUAL if abs(median - usual) <= _JITTER * usual), median)


def slots(times: Times, length: float, place: str) -> Slots:
    """Give each row its slot. Times may deviate by a quarter of a slot from the row before, or drift."""
    steps = np.diff(times.seconds) / length
    whole = np.maximum(1, np.rint(steps))
    off = np.abs(steps - whole)
    if (off > _OFF_GRID).any():
        row = int(np.argmax(off > _OFF_GRID)) + 1
        distance = shown_time(float(steps[row - 1] * length))
        what = f"comes {distance} after the row before, which is no whole number of intervals of {shown_time(length)}"
        remedy = "give --interval, or rows at equal distances"
        raise TrafficError(what, where=at_row(place, int(times.order[row])), remedy=remedy)
    index = np.concatenate(([0], np.cumsum(whole))).astype(np.int64)
    return Slots(float(times.seconds[0]), length, index, checked(int(index[-1]) + 1, length, place))


MOST_DRIFT = 0.25
"""Drift, as a part of a slot, beyond which values of intervals have to be cut at the borders of slots."""


def drift(times: Times, at: Slots) -> float:
    """Return how far times stray from the slots that they were given. Unit: s."""
    return float(np.abs(times.seconds - at.start - at.index * at.length).max())


_MOST = 1 << 25


NEARLY = 1e-3
"""A last slot that lacks less than this part of itself is complete."""


def checked(count: int, length: float, place: str) -> int:
    """Refuse more slots than are kept in memory."""
    if count > _MOST:
        what = f"needs {count} intervals of {shown_time(length)}; at most {_MOST} are kept"
        raise TrafficError(what, where=place, remedy="correct the times, or give a longer --interval")
    return count
