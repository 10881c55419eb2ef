"""Volumes as files: a long table in Parquet or CSV, one row per bin."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from pullnet.arguments import typed
from pullnet.files import whole
from pullnet.traffic import anomalies, csv_table
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import bits_per_second, shown_time
from pullnet.traffic.source import Options, PathLike, Source, shown_ending
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


@typed
def write(volumes: Volumes | Iterable[Volumes], path: PathLike) -> None:
    """Write volumes as Parquet or CSV, by the ending of `path`."""
    given = [volumes] if isinstance(volumes, Volumes) else list(volumes)
    _refuse_twice(given, str(path))
    file = check_place(path)
    table = pa.concat_tables([_table(item) for item in given]) if given else _schema().empty_table()
    try:
        with whole(file):
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
        raise TrafficError(shown_ending(file), where=str(path), remedy="use .parquet or .csv")
    if not file.parent.is_dir():
        raise TrafficError(f"there is no folder `{file.parent}`", where=str(path), remedy="make it first")
    return file


def _refuse_twice(volumes: list[Volumes], path: str) -> None:
    counts = Counter((item.trace, item.timescale) for item in volumes)
    twice = next((key for key, count in counts.items() if count > 1), None)
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


def table(path: PathLike, decimal: str | None = None, *, times_as_text: bool = False) -> Any:
    """Read a CSV (plain, .gz, .zst) or Parquet file as an Arrow table; `times_as_text`: a CSV's times as they stand."""
    where = str(path)
    name = where.lower()
    try:
        if name.endswith(".parquet"):
            return pq.read_table(where)
        return csv_table.read(where, decimal, times_as_text=times_as_text)
    except (pa.ArrowException, OSError, EOFError) as error:
        kind = "a Parquet file" if name.endswith(".parquet") else "a CSV table"
        reason = str(error).splitlines()[0]
        remedy = "give a whole one, plain, .gz or .zst"
        raise TrafficError(f"is not {kind}: {reason}", where=where, remedy=remedy) from None


def is_volumes(columns: Iterable[str]) -> bool:
    """Whether a table with these columns is one that `write` made."""
    return set(columns) >= _NEEDED


def of_parquet(path: PathLike, options: Options) -> tuple[list[Volumes], Source] | None:
    """Take the volumes of a Parquet file, a batch of rows at a time; `None` if it holds something else."""
    where = str(path)
    try:
        there = pq.read_schema(where).names
        if not is_volumes(there):
            return None
        file = pq.ParquetFile(where, read_dictionary=["trace", "state"])
        names = [name for name in COLUMNS if name in there]
        return load(where, file.iter_batches(_ROWS_AT_ONCE, columns=names), options)
    except (pa.ArrowException, OSError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise TrafficError(f"is not a Parquet file: {reason}", where=where, remedy="give a whole one") from None


_ROWS_AT_ONCE = 1 << 18
"""Rows that are held as a table at once: the texts of all rows take four times the memory of their numbers."""


def load(path: str, batches: Iterable[Any], options: Options) -> tuple[list[Volumes], Source]:
    """Take the volumes of a table, at the requested timescales or at all it has."""
    said = {**options.capture, **options.counters}
    capacity = said.pop("capacity", None)
    refuse_options(path, "a file of volumes", said)
    every, rows = _gathered(batches, Path(path).name)
    if not every:
        raise TrafficError("has no bins", where=path, remedy="give at least one row")
    rate = None if capacity is None else bits_per_second(capacity)
    if rate is not None:
        every = [anomalies.mark(item, rate)[0] for item in every]
    return wanted(every, options.timescales, path, rate), Source(path, "volumes", facts={"bins": rows})


@dataclass(slots=True)
class _Series:
    """Rows read so far of one trace at one timescale."""

    start: float
    bins: int = 0
    bytes: list[Any] = field(default_factory=list)
    state: list[Any] = field(default_factory=list)
    packets: list[Any] | None = field(default_factory=list)

    def add(self, rows: Any, where: str) -> None:
        """Append rows, which must continue the ones before."""
        if (_numbers(rows, "bin", where) != np.arange(self.bins, self.bins + len(rows))).any():
            raise TrafficError("bins are not 0, 1, 2, ...", where=where, remedy="give every bin, in order")
        self.bins += len(rows)
        self.bytes.append(_numbers(rows, "bytes", where))
        self.state.append(_states(rows["state"], where))
        known = "packets" in rows.schema.names and rows["packets"].null_count == 0
        if known and self.packets is not None:
            self.packets.append(_numbers(rows, "packets", where).astype(np.int64))
        else:
            self.packets = None

    def volumes(self, trace: str, timescale: float) -> Volumes:
        """Join what has been read, and let go of the parts."""
        packets = None if self.packets is None else _joined(self.packets)
        return Volumes(trace, timescale, self.start, _joined(self.bytes), _joined(self.state), packets)


def _joined(parts: list[Any]) -> Any:
    whole = np.concatenate(parts)
    parts.clear()
    whole.flags.writeable = False
    return whole


def _gathered(batches: Iterable[Any], where: str) -> tuple[list[Volumes], int]:
    """Gather rows, in any order, by trace and timescale in one pass. Also returns the number of rows."""
    found: dict[tuple[str, float], _Series] = {}
    count = 0
    for batch in batches:
        for rows in _runs(batch, where, count):
            key = str(rows["trace"][0].as_py()), float(rows["timescale_s"][0].as_py())
            if key not in found:
                found[key] = _Series(float(_numbers(rows.slice(0, 1), "start_s", where)[0]))
            found[key].add(rows, f"{where}, trace {key[0]}, {shown_time(key[1])}")
        count += len(batch)
    return [series.volumes(*key) for key, series in found.items()], count


def _runs(batch: Any, where: str, before: int) -> Iterator[Any]:
    """Runs of rows of one trace and timescale."""
    for column in ("trace", "timescale_s"):
        if batch[column].null_count:
            row = before + int(np.argmax(batch[column].is_null().to_numpy(zero_copy_only=False)))
            what, remedy = f"row {row} has no {column}", "give every bin its trace and timescale"
            raise TrafficError(what, where=f"{where}, column {column}", value=row, remedy=remedy)
    scale = _numbers(batch, "timescale_s", where)
    trace = _encoded(batch["trace"].cast(pa.string()) if pa.types.is_null(batch["trace"].type) else batch["trace"])
    codes = trace.indices.to_numpy(zero_copy_only=False)
    edges = np.flatnonzero((np.diff(codes) != 0) | (np.diff(scale) != 0)) + 1
    bounds = [0, *edges.tolist(), len(codes)] if len(codes) else []
    for first, end in pairwise(bounds):
        yield batch.slice(first, end - first)


def _encoded(column: Any) -> Any:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _states(column: Any, where: str) -> Any:
    encoded = _encoded(column)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    words = encoded.dictionary.to_pylist()
    # A dictionary may have words that no row uses.
    wrong = (word for code, word in enumerate(words) if word not in _STATES and (codes == code).any())
    unknown = None if column.null_count else next(wrong, "")
    if unknown != "":
        remedy = f"use one of {', '.join(_STATES)}"
        raise TrafficError(f"`{unknown}` is not a state", where=where, value=unknown, remedy=remedy)
    numbers = np.array([_STATES.get(word, 0) for word in words], dtype=np.uint8)
    return numbers[codes]


def _numbers(table: Any, column: str, where: str) -> Any:
    try:
        return table[column].cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        place = f"{where}, column {column}"
        raise TrafficError(f"is not numbers: {error}", where=place, remedy="give one number for each bin") from None


def wanted(
    volumes: list[Volumes], timescales: tuple[float, ...] | None, where: str, capacity: float | None = None
) -> list[Volumes]:
    """Bring volumes to the requested timescales: each from the coarsest one that it can be made of."""
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
        raise TrafficError(
            f"says nothing about {kind}", where=path, value=given[0], remedy="leave it out", keyword=given[0]
        )


def state_counts(volumes: Volumes) -> dict[str, int]:
    """Return how many intervals of each anomalous state there are."""
    counts = {state.name.lower(): 0 for state in State if state is not State.OK}
    for first, _end in runs(volumes.state):
        state = State(int(volumes.state[first]))
        if state is not State.OK:
            counts[state.name.lower()] += 1
    return counts
