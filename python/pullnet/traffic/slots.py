"""Times of a table as slots of equal length."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_time

TIME_NAMES = ("time", "timestamp", "datetime", "date", "ts", "t", "epoch", "unix", "start", "begin")
"""Names of columns of times; endings such as `_utc`, `_s` and `_ms` are allowed."""

_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_ENDINGS = {*_SCALES, "utc", "unix", "time"}

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
    words = [word for word in name.lower().replace(" ", "_").split("_") if word]
    return bool(words) and words[0] in TIME_NAMES and all(word in _ENDINGS for word in words[1:])


def read_times(column: Any, name: str, place: str) -> NDArray[np.float64]:
    """Read a column of times: ISO texts (UTC unless they say otherwise), timestamps, or numbers. Unit: s."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        _refuse_nulls(column, place)
        micros = column.cast(pa.timestamp("ns")).cast(pa.int64())
        return np.asarray(micros.to_numpy(zero_copy_only=False), dtype=np.int64) / 1e9
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _numeric(column, name, place)
    _refuse_nulls(column, place)
    return np.array([_iso(text, place, row) for row, text in enumerate(column.to_pylist())], dtype=np.float64)


def _numeric(column: Any, name: str, place: str) -> NDArray[np.float64]:
    _refuse_nulls(column, place)
    values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise TrafficError(f"{values[row]} is not a time", where=at_row(place, row), remedy="use seconds or ISO 8601")
    return values * _SCALES.get(name.lower().rsplit("_", 1)[-1], 1.0)


def _refuse_nulls(column: Any, place: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise TrafficError("has no time", where=at_row(place, row), remedy="give every row a time")


def _iso(text: object, place: str, row: int) -> float:
    try:
        time = datetime.fromisoformat(str(text).strip())
    except ValueError:
        what = f"`{text}` is not a time"
        remedy = "use ISO 8601 such as 2004-03-01T00:05, or seconds"
        raise TrafficError(what, where=at_row(place, row), value=text, remedy=remedy) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def at_row(place: str, row: int) -> str:
    """Return `file, line 7`: rows are counted from 0, lines from 1 with the header."""
    return f"{place}, line {row + 2}"


def in_order(seconds: NDArray[np.float64], place: str, same: Callable[[int, int], bool]) -> Times:
    """Sort rows by time. Of rows with one time, one is kept if all are the `same`, else none.

    Several values for one interval come from clocks that were set, to summer time for instance: nobody can say which
    interval each is of.
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
        raise TrafficError("all rows have the same time", where=place, remedy="give each interval its own")
    apart = np.diff(ordered)
    distance = float(np.median(apart[apart > 0])) if (apart > 0).any() else None
    return Times(ordered[kept], order[kept], distance, moved, repeated, ambiguous)


def _groups(ordered: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Runs of more than one row with the same time."""
    edges = np.flatnonzero(np.diff(ordered)) + 1
    bounds = [0, *edges.tolist(), len(ordered)]
    return [(first, end) for first, end in pairwise(bounds) if end - first > 1]


def interval_of(times: Times, given: float | None, place: str) -> float:
    """Return the length of a slot: as given, or the median distance of times."""
    if given is not None:
        return given
    if times.distance is None:
        remedy = "give --interval, or more rows"
        raise TrafficError("one row does not say how long an interval is", where=place, remedy=remedy)
    return times.distance


def slots(times: Times, length: float, place: str) -> Slots:
    """Give each row its slot. Times may be off by a quarter of a slot from the one before, or drift."""
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


_MOST = 1 << 25


NEARLY = 1e-3
"""A last slot that lacks less than this part of itself is complete."""


def checked(count: int, length: float, place: str) -> int:
    """Refuse more slots than are kept in memory."""
    if count > _MOST:
        what = f"needs {count} intervals of {shown_time(length)}; at most {_MOST} are kept"
        raise TrafficError(what, where=place, remedy="correct the times, or give a longer --interval")
    return count
