"""Topologies and flows as files that other simulators read, and pullnet reads back."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.results.columns import FLOWS
from pullnet.results.result import Result
from pullnet.runs.scenario import Overrides, ScenarioSource, compiled

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
PICOSECONDS = 12
"""Decimals of a second that are a picosecond."""


@typed
def export_topology(
    scenario: ScenarioSource, path: "str | os.PathLike[str]", *, set: Overrides = (), seed: int | None = None
) -> None:
    """Write the topology of a scenario: .toml (own format), .topo (htsim, trees only) or .txt (HPCC)."""
    core = compiled(scenario, set=set, seed=seed)
    _write(Path(path), core.topology_file(os.fspath(path)))


@typed
def export_flows(result: Result, path: "str | os.PathLike[str]") -> None:
    """Write the flows of a run, with the times at which they started: .csv (flow list), .cm (htsim) or .txt (HPCC).

    A .cm file counts starts in picoseconds: read it with `start_unit = "ps"`. It keeps priorities, and no tags; a .txt
    file keeps neither. A session with several senders is refused: no line of these files is one.
    """
    file = Path(path)
    made = _FORMATS.get(file.suffix)
    if made is None:
        ending = f"ending `{file.suffix}`" if file.suffix else "a file name without ending"
        raise InputError(f"{path}: {ending} names no format; use {', '.join(_FORMATS)}")
    flows = result.needed("flows", FLOWS)
    several = flows.filter(flows["senders"] > 1)
    if not several.is_empty():
        flow = several["flow"][0]
        raise InputError(f"{path}: flow {flow} has several senders, which no line says; leave such sessions out")
    _write(file, "\n".join(made(flows.sort("start_ps", "flow"), str(path))) + "\n")


def _list(flows: "pl.DataFrame", _path: str) -> Iterator[str]:
    yield "src,dst,bytes,start_ps,priority,tag"
    for row in flows.iter_rows(named=True):
        size = "endless" if row["size_bytes"] is None else row["size_bytes"]
        yield f"{row['src']},{row['dst']},{size},{row['start_ps']},{row['priority']},{_cell(row['tag'])}"


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') else text


def _htsim(flows: "pl.DataFrame", _path: str) -> Iterator[str]:
    most = max((max(row["src"], row["dst"]) for row in flows.iter_rows(named=True)), default=0)
    yield f"Nodes {most + 1}"
    yield f"Connections {flows.height}"
    for number, row in enumerate(flows.iter_rows(named=True), 1):
        line = f"{row['src']}->{row['dst']} id {number} start {row['start_ps']} size {row['size_bytes'] or 0}"
        yield line + (f" prio {row['priority']}" if row["priority"] else "")


def _hpcc(flows: "pl.DataFrame", path: str) -> Iterator[str]:
    yield str(flows.height)
    for row in flows.iter_rows(named=True):
        if row["size_bytes"] is None:
            raise InputError(
                f"{path}: flow {row['flow']} never ends, which this format cannot say; write a .csv or .cm file"
            )
        start = f"{row['start_ps'] // 10**PICOSECONDS}.{row['start_ps'] % 10**PICOSECONDS:0{PICOSECONDS}}"
        yield f"{row['src']} {row['dst']} 3 100 {row['size_bytes']} {start}"


_FORMATS: dict[str, Callable[["pl.DataFrame", str], Iterator[str]]] = {".csv": _list, ".cm": _htsim, ".txt": _hpcc}


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; choose another place") from None
