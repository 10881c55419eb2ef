"""Volumes as files: a long table in Parquet or CSV, one row per bin."""

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from pullnet.traffic import anomalies
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import bits_per_second, shown_time
from pullnet.traffic.reading import Options, PathLike, Source
from pullnet.traffic.volumes import State, Volumes, runs

COLUMNS = {
    "trace": (pa.string(), "", "name of the trace"),
    "timescale_s": (pa.float64(), "s", "length of a bin"),
    "bin": (pa.int64(), "", "number of the bin, from 0"),
    "start_s": (pa.float64(), "s", "begin of the bin: Unix time, or from the beginning of the trace"),
    "bytes": (pa.float64(), "B", "bytes in the bin; 0 where nothing is known"),
    "packets": (pa.int64(), "", "packets in the bin, if known"),
    "state": (pa.string(), "", "ok, gap, outage or saturated"),
}
"""Type, unit and meaning of each column."""

_NEEDED = {"trace", "timescale_s", "bin", "start_s", "bytes", "state"}
_STATES = {state.name.lower(): state for state in State}


def write(volumes: Volumes | Iterable[Volumes], path: PathLike) -> None:
    """Write volumes as Parquet or CSV, by the ending of `path`."""
    given = [volumes] if isinstance(volumes, Volumes) else list(volumes)
    _refuse_twice(given, str(path))
    file = check_place(path)
    table = pa.concat_tables([_table(item) for item in given]) if given else _schema().empty_table()
    try:
        if file.suffix == ".parquet":
            pq.write_table(table, file, compression="zstd")
        else:
            pa.csv.write_csv(table, file)
    except OSError as error:
        cause = os.strerror(error.errno) if error.errno else str(error)
        raise TrafficError(f"cannot be written: {cause}", where=str(path), remedy="choose another place") from None


def check_place(path: PathLike) -> Path:
    """Refuse a place where `write` could put nothing: said before hours of work, not after."""
    file = Path(path)
    if file.suffix not in (".parquet", ".csv"):
        raise TrafficError(f"ends in `{file.suffix}`", where=str(path), remedy="use .parquet or .csv")
    if not file.parent.is_dir():
        raise TrafficError(f"there is no folder `{file.parent}`", where=str(path), remedy="make it first")
    return file


def _refuse_twice(volumes: list[Volumes], path: str) -> None:
    keys = [(item.trace, item.timescale) for item in volumes]
    twice = next((key for index, key in enumerate(keys) if key in keys[:index]), None)
    if twice is not None:
        what = f"would hold two traces `{twice[0]}` at {shown_time(twice[1])}"
        raise TrafficError(what, where=path, value=twice[0], remedy="give traces different names")


def _schema() -> Any:
    fields = [pa.field(name, kind, metadata={"unit": unit, "doc": doc}) for name, (kind, unit, doc) in COLUMNS.items()]
    return pa.schema(fields, metadata={"doc": "traffic volumes, one row per bin", "pullnet": "volumes 1"})


def _table(volumes: Volumes) -> Any:
    count = len(volumes)
    names = pa.array([state.name.lower() for state in State])
    packets = pa.nulls(count, pa.int64()) if volumes.packets is None else pa.array(volumes.packets)
    columns = [
        pa.repeat(volumes.trace, count),
        pa.repeat(volumes.timescale, count),
        pa.array(np.arange(count)),
        pa.array(volumes.times()),
        pa.array(volumes.bytes),
        packets,
        names.take(pa.array(volumes.state)),
    ]
    return pa.table([column.cast(field.type) for column, field in zip(columns, _schema(), strict=True)], _schema())


def table(path: PathLike) -> Any:
    """Read a CSV (plain, .gz, .zst) or Parquet file as an Arrow table."""
    where = str(path)
    name = where.lower()
    try:
        if name.endswith(".parquet"):
            return pq.read_table(where)
        return _csv(where)
    except (pa.ArrowException, OSError) as error:
        kind = "a Parquet file" if name.endswith(".parquet") else "a CSV table"
        reason = str(error).splitlines()[0]
        raise TrafficError(f"is not {kind}: {reason}", where=where) from None


def _csv(path: str) -> Any:
    with pa.input_stream(path, compression="detect") as stream:
        content = stream.read()
    if not content.strip():
        raise TrafficError("is empty", where=path, remedy="give a header line and one line for each interval")
    first = _parsed(content, {})
    # Counters of 64 bits do not fit into the signed numbers that are tried first.
    large = [name for name, column in zip(first.column_names, first.columns, strict=True) if _beyond_exact(column)]
    try:
        return _parsed(content, dict.fromkeys(large, pa.uint64())) if large else first
    except pa.ArrowInvalid:
        return first


def _parsed(content: bytes, types: dict[str, Any]) -> Any:
    separator = "\t" if b"\t" in content[: content.find(b"\n") + 1] else ","
    return pa.csv.read_csv(
        io.BytesIO(content),
        # With threads its errors do not name the row.
        read_options=pa.csv.ReadOptions(use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=separator),
        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True, column_types=types),
    )


def _beyond_exact(column: Any) -> bool:
    return bool(pa.types.is_floating(column.type) and np.nanmax(column.to_numpy(), initial=0) >= 2.0**53)


def is_volumes(table: Any) -> bool:
    """Whether a table is one that `write` made."""
    return set(table.column_names) >= _NEEDED


def load(path: str, table: Any, options: Options) -> tuple[list[Volumes], Source]:
    """Take the volumes of a table, at the timescales that were asked for or at all it has."""
    where = Path(path).name
    said = {**options.capture, **options.counters}
    capacity = said.pop("capacity", None)
    refuse_options(path, "a file of volumes", said)
    trace = np.asarray(table["trace"].cast(pa.string()).to_pylist(), dtype=object)
    scale = _numbers(table, "timescale_s", where)
    keys = list(dict.fromkeys(zip(trace.tolist(), scale.tolist(), strict=True)))
    every = [_part(table.filter(pa.array((trace == name) & (scale == of))), name, of, where) for name, of in keys]
    if not every:
        raise TrafficError("has no bins", where=path, remedy="give at least one row")
    rate = None if capacity is None else bits_per_second(capacity)
    if rate is not None:
        every = [anomalies.mark(item, rate)[0] for item in every]
    return wanted(every, options.timescales, path, rate), Source(path, "volumes", facts={"bins": len(table)})


def _part(rows: Any, trace: str, timescale: float, where: str) -> Volumes:
    if (_numbers(rows, "bin", where) != np.arange(len(rows))).any():
        place = f"{where}, trace {trace}, {shown_time(timescale)}"
        raise TrafficError("bins are not 0, 1, 2, ...", where=place, remedy="give every bin, in order")
    states = rows["state"].to_pylist()
    unknown = next((word for word in states if word not in _STATES), None)
    if unknown is not None:
        remedy = f"use one of {', '.join(_STATES)}"
        raise TrafficError(f"`{unknown}` is not a state", where=where, value=unknown, remedy=remedy)
    state = np.array([_STATES[word] for word in states], dtype=np.uint8)
    known = "packets" in rows.column_names and rows["packets"].null_count == 0
    packets = _numbers(rows, "packets", where).astype(np.int64) if known else None
    start = float(_numbers(rows, "start_s", where)[0])
    return Volumes(trace, timescale, start, _numbers(rows, "bytes", where), state, packets)


def _numbers(table: Any, column: str, where: str) -> Any:
    try:
        return table[column].cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise TrafficError(f"is not numbers: {error}", where=f"{where}, column {column}") from None


def wanted(
    volumes: list[Volumes], timescales: tuple[float, ...] | None, where: str, capacity: float | None = None
) -> list[Volumes]:
    """Bring volumes to the timescales asked for: each from the coarsest that it can be made of."""
    if timescales is None:
        return volumes
    traces: dict[str, list[Volumes]] = {}
    for item in volumes:
        traces.setdefault(item.trace, []).append(item)
    return [_at(of_trace, scale, where, capacity) for of_trace in traces.values() for scale in timescales]


def _at(volumes: list[Volumes], timescale: float, where: str, capacity: float | None) -> Volumes:
    for item in sorted(volumes, key=lambda item: -item.timescale):
        factor = round(timescale / item.timescale)
        if factor >= 1 and abs(factor * item.timescale - timescale) <= 1e-9 * timescale:
            return item if factor == 1 else anomalies.mark(item.coarser(factor), capacity)[0]
    has = ", ".join(shown_time(item.timescale) for item in volumes)
    what = f"cannot be had at {shown_time(timescale)}"
    raise TrafficError(what, where=where, value=timescale, remedy=f"use a multiple of what it has: {has}")


def refuse_options(path: str, kind: str, *groups: Any) -> None:
    """Refuse options that a kind of file has no use for."""
    given = [name for group in groups for name in group]
    if given:
        what = f"`{given[0].replace('_', '-')}` says nothing about {kind}"
        raise TrafficError(what, where=path, value=given[0], remedy="leave it out")


def state_counts(volumes: Volumes) -> dict[str, int]:
    """Return how many intervals of each anomalous state there are."""
    counts = {state.name.lower(): 0 for state in State if state is not State.OK}
    for first, _end in runs(volumes.state):
        state = State(int(volumes.state[first]))
        if state is not State.OK:
            counts[state.name.lower()] += 1
    return counts
