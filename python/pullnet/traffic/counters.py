"""Counters: tables with a column of times and one or more columns of volumes, rates or counter readings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pullnet.traffic import anomalies, columns, csv_table, files, longform, slots, snmp
from pullnet.traffic.clock import UTC_CLOCK, Clock, PartOf, at_row, read_times, zone_named
from pullnet.traffic.columns import Chosen, Column
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import Timescale, bits_per_second, bytes_per, seconds, shown_time
from pullnet.traffic.slots import Slots, Times
from pullnet.traffic.source import Note, Options, Source, trace_name
from pullnet.traffic.volumes import MOST_BYTES, Missing, State, Volumes, refuse_values

OPTIONS: dict[str, Any] = {
    "unit": str | None,
    "kind": str | None,
    "columns": str | Iterable[str] | None,
    "interval": str | float | None,
    "width": int | None,
    "missing": str,
    "capacity": str | float | None,
    "input_timezone": str | None,
    "time_format": str | None,
    "stamps": str | None,
    "decimal": str | None,
}
"""Options for counters, and their types.

`unit`: one of `quantities.UNITS`, needed where column names do not say it. `kind`: volume (in each interval) or counter
(that goes up). `columns`: which to read, all if not given. `interval`: length of an interval, from the times if not
given. `width`: bits of counters that go up, 32 or 64. `missing`: what becomes of empty cells, gap (as a rule) or error.
`capacity`: of the link, such as "1 Gbps". `input_timezone`: of times that state no zone, such as Europe/Berlin; UTC
as a rule. `time_format`: of times, as of `strptime`. `stamps`: whether times are the `begin` (as a rule) or the `end`
of intervals. `decimal`: point or comma; seen from the table as a rule.
"""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a table is read."""

    place: str
    unit: str | None
    kind: str | None
    wanted: tuple[str, ...] | None
    interval: float | None
    width: int | None
    missing: Missing
    capacity: float | None
    start: float = 0.0
    clock: Clock = UTC_CLOCK
    stamps: str | None = None


def load(path: str, table: Any, options: Options) -> tuple[list[Volumes], Source]:
    """Read counters, at their own interval or at the requested timescales."""
    files.refuse_options(path, "counters", {k: v for k, v in options.capture.items() if k not in OPTIONS})
    reader = _reader(path, options)
    if (lines := csv_table.lines_of(table)) is not None:
        reader = replace(reader, place=PartOf(path, lines - 2))
    volumes, notes = _read_all(table, reader, trace_name(path))
    marked = [anomalies.mark(item, reader.capacity)[0] for item in volumes]
    facts = {"rows": table.num_rows, "traces": len(volumes), "interval_s": volumes[0].timescale}
    at = files.wanted(marked, options.timescales, path, reader.capacity)
    return at, Source(path, "counters", (), tuple(notes), facts)


def _reader(path: str, options: Options) -> Reader:
    said = options.counters
    kind, width, missing = said.get("kind"), said.get("width"), said.get("missing", "gap")
    _one_of("kind", kind, (None, "volume", "counter"))
    _one_of("width", width, (None, 32, 64))
    _one_of("missing", missing, ("gap", "error"))
    _one_of("stamps", said.get("stamps"), (None, "begin", "end"))
    zone = said.get("input_timezone")
    if zone is not None:
        zone_named(zone)
    names = said.get("columns")
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    interval = None if said.get("interval") is None else seconds(said["interval"], "interval")
    capacity = None if said.get("capacity") is None else bits_per_second(said["capacity"])
    unit = said.get("unit")
    if unit is not None:
        bytes_per(unit, 1.0)
    chosen = None if names is None else tuple(names)
    clock = Clock(zone, said.get("time_format"))
    return Reader(path, unit, kind, chosen, interval, width, missing, capacity, clock=clock, stamps=said.get("stamps"))


def _one_of(name: str, value: object, known: Iterable[object]) -> None:
    choices = list(known)
    if value not in choices:
        texts = ", ".join(str(choice) for choice in choices if choice is not None)
        raise TrafficError(f"`{value}` is unknown", value=value, remedy=f"use one of {texts}", keyword=name)


def frame_volumes(
    frame: Any, *, timescale: Timescale | None, unit: str, trace: str, start: float, missing: Missing
) -> list[Volumes]:
    """Take every column of a Polars or pandas data frame as a trace."""
    interval = None if timescale is None else seconds(timescale)
    bytes_per(unit, 1.0)
    table = _arrow(frame, trace)
    reader = Reader(trace, unit, None, None, interval, None, missing, None, start)
    volumes, _notes = _read(table, reader, "" if trace == "trace" else trace)
    return volumes


def _arrow(frame: Any, trace: str) -> Any:
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    try:
        index = frame.index
        keep = bool(index.name) or getattr(index, "tz", None) is not None or index.dtype.kind == "M"
        named = frame.rename_axis(index=index.name or "time") if keep else frame
        return pa.Table.from_pandas(named.reset_index() if keep else named, preserve_index=False)
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        what = f"is not a table of columns: {str(error).splitlines()[0]}"
        raise TrafficError(what, where=trace, remedy="give a Polars or pandas data frame") from None


def _read_all(table: Any, reader: Reader, trace: str) -> tuple[list[Volumes], list[Note]]:
    """Read a table with a column for each trace, or a long one with a row for each trace and time."""
    if table.num_rows == 0:
        raise TrafficError("has no rows", where=reader.place, remedy="give one for each interval")
    parts = longform.split(table, reader.place)
    if parts is None:
        return _read(table, reader, trace)
    volumes: list[Volumes] = []
    notes: list[Note] = []
    for part in parts:
        in_file = reader.place.rows[part.rows] if isinstance(reader.place, PartOf) else part.rows
        place = replace(reader, place=PartOf(f"{reader.place}, {part.name}", in_file))
        made, more = _read(part.table, place, f"{trace}:{part.name}")
        volumes += made
        notes += [replace(note, text=f"{part.name}: {note.text}") for note in more]
    return volumes, notes


def _read(table: Any, reader: Reader, trace: str) -> tuple[list[Volumes], list[Note]]:
    if table.num_rows == 0:
        raise TrafficError("has no rows", where=reader.place, remedy="give one for each interval")
    chosen = columns.choose(table, reader.wanted, reader.unit, reader.kind, reader.width, reader.place)
    reader = replace(reader, stamps=reader.stamps or ("end" if chosen.at_end else "begin"))
    times, notes = _times(table, chosen.time, reader)
    if reader.wanted is None:
        notes += _left_out(table, chosen)
    volumes = []
    for column in chosen.values:
        name = column.name if not trace else trace if len(chosen.values) == 1 else f"{trace}:{column.name}"
        cumulative = column.kind == "counter"
        made, more = (_counter if cumulative else _volume)(table, column, chosen.uptime, times, reader, name)
        volumes.append(made)
        notes += more
    return volumes, notes


def _times(table: Any, name: str | None, reader: Reader) -> tuple[Times, list[Note]]:
    if name is None:
        if reader.interval is None:
            remedy = f'name it time or timestamp, or give --interval "5 min" (columns: {", ".join(table.column_names)})'
            raise TrafficError("has no column of times", where=reader.place, remedy=remedy)
        rows = np.arange(table.num_rows)
        return Times(reader.start + rows * reader.interval, rows.astype(np.int64)), []
    _refuse_time_of_day_apart(table, name, reader.place)
    raw, notes = read_times(table[name], name, reader.place, reader.clock)
    times = slots.in_order(raw, reader.place, lambda a, b: bool(table.slice(a, 1).equals(table.slice(b, 1))))
    return times, [*notes, *_time_notes(times)]


def _left_out(table: Any, chosen: Chosen) -> Iterator[Note]:
    """Say which columns are not read, though one might expect them to be."""
    for name in columns.empty_columns(table, chosen):
        yield Note("empty column", 1, f"column {name}: is empty; left out")
    for name in columns.other_quantities(table):
        text = f"column {name}: holds no volumes by its name; left out, --columns reads it"
        yield Note("other quantity", 1, text)


def _refuse_time_of_day_apart(table: Any, name: str, place: str) -> None:
    """Refuse dates whose time of day is in another column."""
    hours = [other for other in table.column_names if pa.types.is_time(table[other].type)]
    if hours and pa.types.is_date(table[name].type):
        what = f"has its times in two columns, {name} and {hours[0]}"
        raise TrafficError(what, where=place, value=[name, hours[0]], remedy="join them in one: 2004-03-01T00:05")


def _time_notes(times: Times) -> Iterator[Note]:
    if times.moved:
        text = f"{_count(times.moved, 'row')} with times before that of the row above; sorted"
        yield Note("times going back", times.moved, text)
    if times.repeated:
        yield Note("repeated rows", times.repeated, f"{_count(times.repeated, 'row')} twice; counted once")
    if times.ambiguous:
        text = f"{_count(times.ambiguous, 'row')} with other values for a time that another row has; left out"
        yield Note("ambiguous times", times.ambiguous, text)


def _volume(
    table: Any, column: Column, _uptime: str | None, times: Times, reader: Reader, trace: str
) -> tuple[Volumes, list[Note]]:
    """One volume or rate for each interval, which begins (or ends) at the time of its row."""
    length = slots.interval_of(times, reader.interval, reader.place)
    values = columns.numbers(table, column.name, reader.place)
    empty = np.isnan(values)
    if empty.any() and reader.missing == "error":
        row = int(np.argmax(empty))
        place = f"{at_row(reader.place, row)}, column {column.name}"
        raise TrafficError("is not a number", where=place, remedy='give one, or read with missing="gap"')
    _refuse(np.where(empty, 0.0, values), column.name, reader.place)
    at = slots.slots(times, length, reader.place)
    begin = replace(at, start=at.start - length) if reader.stamps == "end" else at
    ordered = values[times.order] * bytes_per(column.unit, length)
    drift = slots.drift(times, at)
    if drift > slots.MOST_DRIFT * length:
        dense = _spread(ordered, times.seconds - (length if reader.stamps == "end" else 0.0), begin)
        text = (
            f"column {column.name}: times drift by {shown_time(drift)} against intervals of {shown_time(length)}; "
            "values spread evenly and cut at the borders of intervals"
        )
        notes = [Note("drifting times", 1, text)]
    else:
        dense = np.full(at.count, np.nan)
        dense[at.index] = ordered
        notes = []
    notes += _missing_notes(column.name, dense, int(empty[times.order].sum()))
    if reader.kind is None and not column.unit.endswith("/s"):
        notes += _rising_notes(column.name, ordered[~np.isnan(ordered)])
    return _made(trace, begin, dense), notes


_RISING = 20
"""From so many values on, hardly any volumes rise all the time: they would by chance once in 20! times."""


def _rising_notes(name: str, values: NDArray[np.float64]) -> list[Note]:
    """Say so if volumes rise like the readings of a counter, but for a reset or a wrap now and then."""
    steps = np.diff(values)
    falls = int((steps < 0).sum())
    if len(values) < _RISING or 2 * int((steps > 0).sum()) < len(steps) or falls > len(steps) // 100:
        return []
    text = (
        f"column {name}: values rise from row to row, as readings of a counter do, and are taken for volumes; "
        "--kind counter takes differences, --kind volume ends this note"
    )
    return [Note("rising values", len(values), text)]


def _spread(values: NDArray[np.float64], begins: NDArray[np.float64], at: Slots) -> NDArray[np.float64]:
    """Cut volumes of intervals that drift at the borders of slots. NaN: not known."""
    steps = np.diff(begins)
    own = np.append(np.where(steps <= 1.5 * at.length, steps, at.length), at.length)
    ends = begins + own
    seconds = np.unique(np.concatenate((begins, ends)))
    place = np.searchsorted(seconds, begins)
    known = np.full(len(seconds) - 1, np.nan)
    known[place] = values
    count = max(1, int((seconds[-1] - at.start) / at.length + slots.NEARLY))
    return snmp.into_slots(known, seconds, at.start, at.length, count)


def _counter(
    table: Any, column: Column, uptime: str | None, times: Times, reader: Reader, trace: str
) -> tuple[Volumes, list[Note]]:
    """Readings of a counter that goes up; the first slot begins at the first reading."""
    readings, known = columns.readings(table, column, reader.place)
    order = times.order[known[times.order]]
    at_readings = times.seconds[known[times.order]]
    if len(order) < 2:
        remedy = "give two readings at least"
        raise TrafficError("one reading of a counter says nothing", where=reader.place, remedy=remedy)
    length = slots.interval_of(times, reader.interval, reader.place)
    count = max(1, int((at_readings[-1] - at_readings[0]) / length + slots.NEARLY))
    at = Slots(float(at_readings[0]), length, np.arange(0), slots.checked(count, length, reader.place))
    up = None if uptime is None else columns.numbers(table, uptime, reader.place)[order]
    per_unit = bytes_per(column.unit, 1.0)
    most = None if reader.capacity is None else 1.05 * reader.capacity / 8 / per_unit
    found = snmp.differences(readings[order], at_readings, width=column.width, uptime=up, most_per_second=most)
    volume = snmp.into_slots(found.values, at_readings, at.start, length, count) * per_unit
    return _made(trace, at, volume), _counter_notes(column, found, volume, reader, length)


def _refuse(values: NDArray[np.float64], name: str, place: str) -> None:
    bad = ~np.isfinite(values) | (values < 0) | (values > MOST_BYTES)
    if bad.any():
        row = int(np.argmax(bad))
        where = f"{at_row(place, row)}, column {name}"
        try:
            refuse_values(values[row : row + 1], where, "value")
        except TrafficError as error:
            raise TrafficError(error.what, where=where, value=float(values[row]), remedy=error.remedy) from None


def _made(trace: str, at: Slots, volume: NDArray[np.float64]) -> Volumes:
    gap = np.isnan(volume)
    state = np.where(gap, State.GAP, State.OK).astype(np.uint8)
    return Volumes(trace, at.length, at.start, np.where(gap, 0.0, volume), state)


def _missing_notes(name: str, dense: NDArray[np.float64], empty: int) -> list[Note]:
    gaps = int(np.isnan(dense).sum())
    if not gaps:
        return []
    text = f"column {name}: {_count(gaps, 'interval')} without a value ({empty} empty, {gaps - empty} without a row)"
    return [Note("missing intervals", gaps, f"{text}; gaps")]


def _counter_notes(
    column: Column, found: snmp.Differences, volume: NDArray[np.float64], reader: Reader, length: float
) -> list[Note]:
    place = f"column {column.name}: "
    gaps = int(np.isnan(volume).sum())
    notes = []
    if found.wraps:
        text = f"{place}the counter of {column.width} bits wrapped {_count(found.wraps, 'time')}; added up across it"
        notes.append(Note("counter wraps", found.wraps, text))
    if found.resets:
        text = f"{place}the counter was reset {_count(found.resets, 'time')}; what it had counted is not known"
        notes.append(Note("counter resets", found.resets, text))
    if gaps:
        text = f"{place}{_count(gaps, 'interval')} of which nothing is known; gaps"
        notes.append(Note("missing intervals", gaps, text))
    per_wrap = 2.0**column.width * bytes_per(column.unit, 1.0)
    if reader.capacity is not None and reader.capacity / 8 * length > per_wrap:
        text = f"{place}a counter of {column.width} bits can wrap more than once in {shown_time(length)} on this link"
        notes.append(Note("ambiguous wraps", 1, f"{text}; volumes may be too low"))
    return notes


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
