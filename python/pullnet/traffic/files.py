"""Volumes as files: a long table in Parquet or CSV, one row per bin."""

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from pullnet.traffic import anomalies, csv_table
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


def table(path: PathLike, decimal: str | None = None) -> Any:
    """Read a CSV (plain, .gz, .zst) or Parquet file as an Arrow table."""
    where = str(path)
    name = where.lower()
    try:
        if name.endswith(".parquet"):
            return pq.read_table(where)
        return csv_table.read(where, decimal)
    except (pa.ArrowException, OSError, EOFError) as error:
        kind = "a Parquet file" if name.endswith(".parquet") else "a CSV table"
        reason = str(error).splitlines()[0]
        ragged = "Expected" in reason and "columns" in reason
        remedy = "give every line as many cells as the header" if ragged else "give a whole one, plain, .gz or .zst"
        raise TrafficError(f"is not {kind}: {reason}", where=where, remedy=remedy) from None


def is_volumes(table: Any) -> bool:
    """Whether a table is one that `write` made."""
    return set(table.column_names) >= _NEEDED


def load(path: str, table: Any, options: Options) -> tuple[list[Volumes], Source]:
    """Take the volumes of a table, at the timescales that were asked for or at all it has."""
    where = Path(path).name
    said = {**options.capture, **options.counters}
    capacity = said.pop("capacity", None)
    refuse_options(path, "a file of volumes", said)
    every = list(_parts(table, where))
    if not every:
        raise TrafficError("has no bins", where=path, remedy="give at least one row")
    rate = None if capacity is None else bits_per_second(capacity)
    if rate is not None:
        every = [anomalies.mark(item, rate)[0] for item in every]
    return wanted(every, options.timescales, path, rate), Source(path, "volumes", facts={"bins": len(table)})


def _parts(table: Any, where: str) -> Iterator[Volumes]:
    """Take a table apart into runs of one trace and timescale: in time that grows with its rows, not with its traces.

    A table whose traces are interleaved is sorted first.
    """
    keys = _keys(table, where)
    edges = np.flatnonzero(np.diff(keys)) + 1
    if len(edges) + 1 > len(np.unique(keys)):
        order = np.argsort(keys, kind="stable")
        table, keys = table.take(pa.array(order)), keys[order]
        edges = np.flatnonzero(np.diff(keys)) + 1
    bounds = [0, *edges.tolist(), len(keys)] if len(keys) else []
    for first, end in pairwise(bounds):
        rows = table.slice(first, end - first)
        name, timescale = rows["trace"][0].as_py(), float(rows["timescale_s"][0].as_py())
        yield _part(rows, str(name), timescale, where)


def _keys(table: Any, where: str) -> Any:
    """Number the rows by trace and timescale, in the order in which they appear."""
    for column in ("trace", "timescale_s"):
        if table[column].null_count:
            row = int(np.argmax(table[column].is_null().to_numpy(zero_copy_only=False)))
            what, remedy = f"row {row} has no {column}", "give every bin its trace and timescale"
            raise TrafficError(what, where=f"{where}, column {column}", value=row, remedy=remedy)
    _numbers(table, "timescale_s", where)
    trace, scale = (_codes(table[column]) for column in ("trace", "timescale_s"))
    return trace * (int(scale.max(initial=0)) + 1) + scale


def _codes(column: Any) -> Any:
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    parts = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def _part(rows: Any, trace: str, timescale: float, where: str) -> Volumes:
    if (_numbers(rows, "bin", where) != np.arange(len(rows))).any():
        place = f"{where}, trace {trace}, {shown_time(timescale)}"
        raise TrafficError("bins are not 0, 1, 2, ...", where=place, remedy="give every bin, in order")
    state = _states(rows["state"], where)
    known = "packets" in rows.column_names and rows["packets"].null_count == 0
    packets = _numbers(rows, "packets", where).astype(np.int64) if known else None
    start = float(_numbers(rows.slice(0, 1), "start_s", where)[0])
    return Volumes(trace, timescale, start, _numbers(rows, "bytes", where), state, packets)


def _states(column: Any, where: str) -> Any:
    words = column.unique().to_pylist()
    unknown = next((word for word in words if word not in _STATES), None)
    if unknown is not None or None in words:
        remedy = f"use one of {', '.join(_STATES)}"
        raise TrafficError(f"`{unknown}` is not a state", where=where, value=unknown, remedy=remedy)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    numbers = np.array([_STATES[word] for word in encoded.dictionary.to_pylist()], dtype=np.uint8)
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)]


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
