"""Flow records as nfdump prints them (`-o csv`), whose collectors read NetFlow v5 and v9, IPFIX and sFlow.

A flow record says how many bytes went from its first to its last packet, and not when. Its bytes are spread evenly over
that time and cut at the borders of intervals.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic import anomalies, columns, files, slots
from pullnet.traffic.clock import Clock, at_row, read_times, zone_named
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import bits_per_second, seconds, shown_time
from pullnet.traffic.source import Note, Options, Source, trace_name
from pullnet.traffic.volumes import State, Volumes

Floats = NDArray[np.float64]

INTERVAL = 60.0
"""Length of an interval unless told otherwise: exporters close flows after about so long. Unit: s."""

_FORMS = (("ts", "te", None, "ibyt", "obyt"), ("firstSeen", None, "duration", "bytes", None))
"""Names of begin, end, duration, bytes, and bytes of the other direction, of nfdump up to 1.7.1 and since."""

_OPTIONS = frozenset({"interval", "capacity", "input_timezone", "time_format"})


def is_flows(names: list[str]) -> bool:
    """Whether a table holds flow records, by its columns."""
    return _form(names) is not None


def _form(names: list[str]) -> tuple[str, str | None, str | None, str, str | None] | None:
    needed = [(form, [name for name in form[:4] if name]) for form in _FORMS]
    return next((form for form, each in needed if set(each) <= set(names)), None)


def load(path: str, table: Any, options: Options) -> tuple[list[Volumes], Source]:
    """Spread flow records over intervals, at the requested timescales."""
    said = {**options.capture, **options.counters}
    files.refuse_options(path, "flow records", {name: value for name, value in said.items() if name not in _OPTIONS})
    form = _form(table.column_names)
    if form is None or table.num_rows == 0:
        raise TrafficError("has no flow records", where=path, remedy="give what nfdump -o csv printed")
    first, last, notes = _times(table, form, path, said)
    length = _length(options, said)
    volumes = [
        _volumes(name, values, (first, last), length, path) for name, values in _bytes(table, form, path).items()
    ]
    rate = None if said.get("capacity") is None else bits_per_second(said["capacity"])
    marked = [anomalies.mark(item, rate)[0] for item in volumes]
    text = (
        f"{table.num_rows} flow records, each spread evenly from its first to its last packet; at the begin and the "
        "end traffic of flows that are not in the file is missing"
    )
    facts = {"rows": table.num_rows, "traces": len(marked), "interval_s": length}
    source = Source(path, "flow records", (), (*notes, Note("flows spread", table.num_rows, text)), facts)
    return files.wanted(marked, options.timescales, path, rate), source


def _length(options: Options, said: Any) -> float:
    if said.get("interval") is not None:
        return seconds(said["interval"], "interval")
    return min(options.timescales) if options.timescales else INTERVAL


def _times(table: Any, form: Any, path: str, said: Any) -> tuple[Floats, Floats, list[Note]]:
    begin, end, duration, _, _ = form
    zone = said.get("input_timezone")
    if zone is not None:
        zone_named(zone)
    clock = Clock(zone, said.get("time_format"))
    first, notes = read_times(table[begin], begin, path, clock)
    if end is None:
        last = first + columns.numbers(table, duration, path)
    else:
        last, _ = read_times(table[end], end, path, clock)
    wrong = ~(last >= first)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"ends {shown_time(float(first[row] - last[row]))} before it begins"
        raise TrafficError(what, where=at_row(path, row), value=float(last[row]), remedy="leave the record out")
    return first, last, notes


def _bytes(table: Any, form: Any, path: str) -> dict[str, Floats]:
    """Bytes by trace: both directions apart where records have both."""
    name = trace_name(path)
    inbound = _counts(table, form[3], path)
    other = form[4]
    if other is None or other not in table.column_names or not (outbound := _counts(table, other, path)).any():
        return {name: inbound}
    return {f"{name} in": inbound, f"{name} out": outbound}


def _counts(table: Any, column: str, path: str) -> Floats:
    values = columns.numbers(table, column, path)
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        where = f"{at_row(path, row)}, column {column}"
        raise TrafficError(f"{values[row]} is no number of bytes", where=where, remedy="give a number of at least 0")
    return values


def _volumes(name: str, volume: Floats, times: tuple[Floats, Floats], length: float, path: str) -> Volumes:
    first, last = times
    start = float(np.floor(first.min() / length) * length)
    count = slots.checked(int((last.max() - start) / length) + 1, length, path)
    found = _spread(volume, first - start, last - start, length, count)
    return Volumes(name, length, start, found, np.full(count, State.OK, dtype=np.uint8))


def _spread(volume: Floats, first: Floats, last: Floats, length: float, count: int) -> Floats:
    """Spread volumes evenly from `first` to `last` over `count` intervals; time that grows with the number of flows."""
    begin_bin = np.minimum((first / length).astype(np.int64), count - 1)
    end_bin = np.minimum((last / length).astype(np.int64), count - 1)
    inside = begin_bin == end_bin
    total = np.bincount(begin_bin[inside], weights=volume[inside], minlength=count).astype(np.float64)
    if inside.all():
        return total
    a, b, v = first[~inside], last[~inside], volume[~inside]
    low, high = begin_bin[~inside], end_bin[~inside]
    rate = v / (b - a)
    total += np.bincount(low, weights=rate * ((low + 1) * length - a), minlength=count)
    total += np.bincount(high, weights=rate * (b - high * length), minlength=count)
    # Whole intervals between: begins and ends of flows, added up.
    steps = np.bincount(low + 1, weights=rate, minlength=count + 1) - np.bincount(
        high, weights=rate, minlength=count + 1
    )
    return np.maximum(total + np.cumsum(steps)[:count] * length, 0.0)
