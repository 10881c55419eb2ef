"""Topologies, flows and packets as files that other programs read; pullnet reads the first two back."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.files import whole
from pullnet.results.columns import FLOWS, HOSTS, PACKETS
from pullnet.results.result import Result
from pullnet.runs.scenario import Overrides, ScenarioSource, compiled

if TYPE_CHECKING:
    import polars as pl

_OPTIONAL = {"deadline": "deadline_ps", "tenant": "tenant", "coflow": "coflow"}
"""Columns of a flow list that are written only if a flow has any, and where they come from."""
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

    A .csv file keeps all that a flow list can say; a session to several receivers is one line, and
    `copies` of the block that reads it says how it is carried. A .cm file counts starts in picoseconds: read it with
    `start_unit = "ps"`. It keeps priorities, a .txt file not even these, and in both a session to several receivers is
    a flow to each. A session whose senders share one flow (`parts = "coded"`) is refused: results name only
    the first of them.
    """
    file = Path(path)
    made = _FORMATS.get(file.suffix)
    if made is None:
        raise _no_format(file, _FORMATS)
    flows = result.needed("flows", FLOWS)
    several = flows.filter(flows["senders"] > 1)
    if not several.is_empty():
        flow, senders, first = several.select("flow", "senders", "src").row(0)
        raise InputError(
            f"{path}: flow {flow} has {senders} senders, of which results name only the first, host {first}; run the "
            "scenario of the result again instead, which makes the same flows, or export a run with "
            '`parts = "plain"`, whose senders have a flow each'
        )
    hosts = result.needed("hosts", HOSTS).height
    _write(file, "\n".join(made(flows.sort("start_ps", "flow"), hosts, str(path))) + "\n")


@typed
def export_packets(result: Result, path: "str | os.PathLike[str]") -> None:
    """Write the packets of a run for Wireshark: a pcapng file with an interface for each host.

    The run must have recorded packets (`probes.packets = true`). A packet is in the file twice: at the interface of the
    host that sent it, and at that of the host that received it. Times are whole nanoseconds since the start.

    Raises `NotRecordedError` without recorded packets, and `InputError` if the file cannot be written.
    """
    file = Path(path)
    if file.suffix != ".pcapng":
        raise _no_format(file, [".pcapng"])
    packets = result.needed("packets", PACKETS).sort("at_ps", maintain_order=True)
    # numpy takes as much memory as a small run, which most commands do without.
    from pullnet.runs.capture import parts

    _write(file, parts(packets, str(path)))


def _no_format(file: Path, formats: Iterable[str]) -> InputError:
    ending = f"ending `{file.suffix}`" if file.suffix else "a file name without ending"
    return InputError(f"{file}: {ending} names no format; use {', '.join(formats)}")


def _list(flows: "pl.DataFrame", _hosts: int, _path: str) -> Iterator[str]:
    said = [name for name, column in _OPTIONAL.items() if flows[column].null_count() < flows.height]
    yield ",".join(["src,dst,bytes,start_ps,priority,tag", *said])
    lines: dict[tuple[Any, ...], list[str]] = {}
    for row in flows.iter_rows(named=True):
        size = "endless" if row["size_bytes"] is None else row["size_bytes"]
        deadline = None if row["deadline_ps"] is None else f"{row['deadline_ps'] - row['start_ps']} ps"
        also = {"deadline": deadline, "tenant": row["tenant"], "coflow": row["coflow"]}
        cells = [size, row["start_ps"], row["priority"], row["tag"], *(also[name] for name in said)]
        # Flows of a session from one sender are its receivers.
        key = (row["session"] if row["session"] is not None else row["flow"], row["src"], *cells)
        lines.setdefault(key, []).append(str(row["dst"]))
    for (_, src, *cells), receivers in lines.items():
        yield ",".join([str(src), ";".join(receivers), *("" if cell is None else _cell(str(cell)) for cell in cells)])


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r') else text


def _htsim(flows: "pl.DataFrame", hosts: int, _path: str) -> Iterator[str]:
    yield f"Nodes {hosts}"  # htsim builds a network of so many
    yield f"Connections {flows.height}"
    for number, row in enumerate(flows.iter_rows(named=True), 1):
        line = f"{row['src']}->{row['dst']} id {number} start {row['start_ps']} size {row['size_bytes'] or 0}"
        yield line + (f" prio {row['priority']}" if row["priority"] else "")


def _hpcc(flows: "pl.DataFrame", _hosts: int, path: str) -> Iterator[str]:
    yield str(flows.height)
    for row in flows.iter_rows(named=True):
        if row["size_bytes"] is None:
            raise InputError(
                f"{path}: flow {row['flow']} never ends, which this format cannot say; write a .csv or .cm file"
            )
        start = f"{row['start_ps'] // 10**PICOSECONDS}.{row['start_ps'] % 10**PICOSECONDS:0{PICOSECONDS}}"
        yield f"{row['src']} {row['dst']} 3 100 {row['size_bytes']} {start}"


_FORMATS: dict[str, Callable[["pl.DataFrame", int, str], Iterator[str]]] = {".csv": _list, ".cm": _htsim, ".txt": _hpcc}


def _write(file: Path, content: str | Iterator[bytes]) -> None:
    parts = [content.encode()] if isinstance(content, str) else content
    try:
        with whole(file), file.open("wb") as out:
            out.writelines(parts)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; choose another place") from None
