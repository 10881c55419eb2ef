"""Times of a table as Unix time: texts, timestamps and numbers, with or without a zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError
from pullnet.traffic.source import Note

Floats = NDArray[np.float64]

LATEST = 9_214_646_400.0
"""2262-01-01. Times beyond are damage, or numbers in another unit than seconds."""
EARLIEST = -2_208_988_800.0
"""1900-01-01."""

_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_BY_SIZE = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Numbers at least so large are Unix time in that unit: in seconds they would be after the year 5000."""

_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_FORMS = ("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M")
"""Forms beside ISO 8601 that mean one thing only."""
_QUARTER = 900.0
"""Offsets from UTC change at whole quarters of an hour."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How times are read that do not say everything themselves."""

    zone: str | None = None
    """Of times without a zone; `None`: UTC, with a note."""
    form: str | None = None
    """As of `strptime`; `None`: ISO 8601 and forms that mean one thing only."""


UTC_CLOCK = Clock()


class PartOf(str):
    """Place of a table that is a part of a file, as `file, series`."""

    rows: NDArray[np.int64]
    """Number in the file of each row of the table."""

    def __new__(cls, place: str, rows: NDArray[np.int64]) -> Self:
        """Make a place whose rows are those rows of a file."""
        made = super().__new__(cls, place)
        made.rows = rows
        return made


def at_row(place: str, row: int) -> str:
    """Return `file, line 7`: rows are counted from 0, lines from 1 with the header."""
    in_file = int(place.rows[row]) if isinstance(place, PartOf) else row
    return f"{place}, line {in_file + 2}"


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone by its name."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        remedy = "use for instance Europe/Berlin"
        raise TrafficError(f"`{name}` is not a time zone", value=name, remedy=remedy) from None


def read_times(column: Any, name: str, place: str, clock: Clock) -> tuple[Floats, list[Note]]:
    """Read a column of times. Unit: s, Unix time unless the numbers count from elsewhere."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _refuse_nulls(column, place)
    if clock.form is not None and not is_text(column.type):
        what, remedy = "has times that were read without a form", "leave --time-format out, or name the column time"
        raise TrafficError(what, where=f"{place}, column {name}", remedy=remedy)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        seconds, notes = _numeric(column, name, place)
    elif pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        seconds, notes = _stamps(column, place, clock)
    else:
        seconds, notes = _texts(column.to_pylist(), place, clock)
    _refuse_beyond(seconds, place)
    return seconds, notes


def is_text(kind: Any) -> bool:
    """Whether a column holds texts, as Arrow reads labels and what it cannot read as times or numbers."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _refuse_nulls(column: Any, place: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise TrafficError("has no time", where=at_row(place, row), remedy="give every row a time")


def _refuse_beyond(seconds: Floats, place: str) -> None:
    beyond = (seconds > LATEST) | (seconds < EARLIEST)
    if beyond.any():
        row = int(np.argmax(beyond))
        what = f"a time of {seconds[row]:.0f} s is not between the years 1900 and 2262"
        remedy = "correct it, or name the column by its unit, such as time_ms"
        raise TrafficError(what, where=at_row(place, row), value=float(seconds[row]), remedy=remedy)


def _numeric(column: Any, name: str, place: str) -> tuple[Floats, list[Note]]:
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise TrafficError(f"{values[row]} is not a time", where=at_row(place, row), remedy="use seconds or ISO 8601")
    ending = name.lower().rstrip(")] ").replace(" ", "_").replace("(", "_").replace("[", "_").rsplit("_", 1)[-1]
    if ending in _SCALES:
        return values * _SCALES[ending], []
    size = float(np.median(np.abs(values))) if len(values) else 0.0
    unit = next((unit for least, unit in _BY_SIZE if size >= least), None)
    if unit is None:
        return values, []
    text = f"column {name}: times of about {size:.4g} are taken for Unix time in {unit}; {name}_{unit} would say so"
    return values * _SCALES[unit], [Note("unit of times", len(values), text)]


def _stamps(column: Any, place: str, clock: Clock) -> tuple[Floats, list[Note]]:
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s" if column.type == pa.date32() else "ms"))
    unit, zone = column.type.unit, column.type.tz
    counts = np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
    seconds = (counts / _PER_SECOND[unit]).astype(np.float64)
    return (seconds, []) if zone is not None else _local(seconds, place, clock)


def _texts(texts: list[object], place: str, clock: Clock) -> tuple[Floats, list[Note]]:
    times = [_parsed(str(text).strip(), place, row, clock.form) for row, text in enumerate(texts)]
    naive = np.array([time.tzinfo is None for time in times], dtype=bool)
    seconds = np.array([time.replace(tzinfo=time.tzinfo or UTC).timestamp() for time in times], dtype=np.float64)
    if not naive.any():
        return seconds, []
    if not naive.all():
        row = int(np.argmax(naive != naive[0]))
        what = "states a zone, and others do not" if naive[0] else "states no zone, and others do"
        raise TrafficError(what, where=at_row(place, row), value=texts[row], remedy="give all times a zone, or none")
    return _local(seconds, place, clock)


def _parsed(text: str, place: str, row: int, form: str | None) -> datetime:
    for attempt in (datetime.fromisoformat,) if form is None else ():
        try:
            return attempt(text)
        except ValueError:
            pass
    for each in _FORMS if form is None else (form,):
        try:
            return datetime.strptime(text, each)
        except ValueError:
            continue
    what = f"`{text}` is not a time" + (f" of the form {form}" if form else "")
    remedy = "use ISO 8601 such as 2004-03-01T00:05, seconds, or say the form: --time-format '%d/%m/%Y %H:%M'"
    raise TrafficError(what, where=at_row(place, row), value=text, remedy=remedy)


def _local(seconds: Floats, place: str, clock: Clock) -> tuple[Floats, list[Note]]:
    """Turn what a clock shows, as seconds since it showed 1970, into Unix time."""
    if clock.zone is None:
        text = "times state no zone and are taken for UTC; --input-timezone says which one"
        return seconds, [Note("times without a zone", len(seconds), text)]
    _refuse_beyond(seconds, place)
    first, second = _offsets(seconds, zone_named(clock.zone))
    if (first < second).any():
        row = int(np.argmax(first < second))
        shown = datetime.fromtimestamp(seconds[row], UTC).strftime("%Y-%m-%d %H:%M:%S")
        what = f"{shown} does not exist in {clock.zone}: clocks are set forward there"
        remedy = "name the zone that the times are of with --input-timezone"
        raise TrafficError(what, where=at_row(place, row), value=shown, remedy=remedy)
    twice = first > second
    late = _late(seconds, twice)
    offset = np.where(late, second, first)
    notes = []
    if twice.any():
        text = (
            f"{int(twice.sum())} times are of an hour that clocks show twice in {clock.zone}; "
            f"{int(late.sum())} of them, behind a step back, are of its second pass"
        )
        notes.append(Note("hour shown twice", int(twice.sum()), text))
    return seconds - offset, notes


def _offsets(seconds: Floats, zone: ZoneInfo) -> tuple[Floats, Floats]:
    """Offsets from UTC, in s, of times by the clock: before and after a change that would make them mean two things."""
    quarters, place = np.unique(np.floor(seconds / _QUARTER), return_inverse=True)
    begin = datetime(1970, 1, 1, tzinfo=zone)
    found = np.zeros((2, len(quarters)))
    for index, quarter in enumerate(quarters):
        naive = begin.replace(tzinfo=None) + timedelta(seconds=float(quarter) * _QUARTER)
        for fold in (0, 1):
            offset = naive.replace(tzinfo=zone, fold=fold).utcoffset()
            found[fold, index] = offset.total_seconds() if offset else 0.0
    return found[0][place], found[1][place]


def _late(seconds: Floats, twice: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which times of an hour that is shown twice are of its second pass: those after the clock goes back."""
    late = np.zeros(len(seconds), dtype=bool)
    descending = len(seconds) > 1 and bool(seconds[-1] < seconds[0])
    for rows in _nights(np.flatnonzero(twice), seconds):
        steps = np.diff(seconds[rows]) * (-1.0 if descending else 1.0)
        turn = np.flatnonzero(steps < 0)
        turn = turn if len(turn) else np.flatnonzero(steps == 0)  # hourly values show the hour just twice
        if len(turn):
            late[rows[: turn[0] + 1] if descending else rows[turn[0] + 1 :]] = True
    return late


def _nights(rows: NDArray[np.int64], seconds: Floats) -> Iterator[NDArray[np.int64]]:
    if len(rows):
        days = np.floor(seconds[rows] / 86_400.0)
        for day in np.unique(days):
            yield rows[days == day]
