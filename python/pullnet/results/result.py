"""Result of a run, in memory or on disk."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet._core import probes
from pullnet.arguments import typed
from pullnet.errors import InputError, NotRecordedError
from pullnet.html import Shown
from pullnet.results.held import Held
from pullnet.results.summary import Summary

if TYPE_CHECKING:
    import os

    import polars as pl

    from pullnet.results.columns import Kinds

PROBES = {table: line for table, line, _ in probes()}
"""Line of a scenario that requests each of the optional tables."""
ALWAYS = ("flows", "hosts", "ports")
"""The tables of every run."""


@dataclass(frozen=True)
class ColumnInfo:
    """Unit and meaning of a column."""

    unit: str
    doc: str


class Result(Shown):
    """Result of a run: a summary, tables, and the scenario as it was resolved.

    `pullnet.run` and `pullnet.load` return one. The tables `flows`, `hosts` and `ports` are there always, the others if
    the scenario has their probe. Each is an attribute and a Polars data frame; the last word of a column's name is its
    unit (`fct_us`, `size_bytes`), and `columns` tells the unit and meaning of each. A table without its probe raises
    `NotRecordedError`, which names the line to add to the scenario. Tables are read on first use, and then kept.
    """

    def __init__(
        self,
        summary_json: str,
        scenario: str,
        tables: Mapping[str, Any],
        path: Path | None = None,
        left_out: Mapping[str, str] | None = None,
    ) -> None:
        self.summary_json = summary_json
        """The text of `summary.json`."""
        self.scenario = scenario
        """TOML text with every value and where it comes from."""
        self.path = path
        """The directory on disk, if there is one."""
        self.left_out = dict(left_out or {})
        """Tables that are not here although the run requested them, each with the reason."""
        self._tables = {name: table if isinstance(table, Held) else Held(table) for name, table in tables.items()}

    def __repr__(self) -> str:
        summary = self.summary
        return f"<Result of {summary.scenario!r}, seed {summary.seed}, fingerprint {summary.fingerprint}>"

    @cached_property
    def summary(self) -> Summary:
        """Summary of the run."""
        return Summary.from_json(json.loads(self.summary_json))

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """One row per flow, by start: size, times in us and ps, slowdown, packets sent again, timeouts, how it ended.

        `fct_us` and `slowdown` are null for a flow that did not complete, `size_bytes` for one that never ends.
        """
        return self.table("flows")

    @cached_property
    def hosts(self) -> "pl.DataFrame":
        """One row per host, by number: rate in Gb/s, and what it received in the measured window.

        `utilisation` is the payload over what its link could carry, 0 to 1, or one packet above.
        """
        return self.table("hosts")

    @cached_property
    def ports(self) -> "pl.DataFrame":
        """One row per egress port and NIC: packets and bytes sent, packets marked, trimmed and dropped, peak queue.

        `row` is that of `occupancy`, `port_series`, `hops` and `incidents`. `utilisation` is the busy share of the
        simulated time, 0 to 1.
        """
        return self.table("ports")

    @cached_property
    def occupancy(self) -> "pl.DataFrame":
        """How long each port held how many packets: a row per port and number, times in ps; needs the probe `ports`."""
        return self.table("occupancy")

    @cached_property
    def series(self) -> "pl.DataFrame":
        """Goodput in Gb/s and queueing over time, a row per interval and host or group; needs the probe `series`."""
        return self.table("series")

    @cached_property
    def port_series(self) -> "pl.DataFrame":
        """Queue, bytes, marks, trims and drops of ports, a row per interval; needs the probe `port_series`."""
        return self.table("port_series")

    @cached_property
    def latency(self) -> "pl.DataFrame":
        """One row per acknowledged packet, with the ps from its first sending to its ACK; needs the probe `latency`."""
        return self.table("latency")

    @cached_property
    def control(self) -> "pl.DataFrame":
        """One row per control packet that left a host; needs the probe `control`."""
        return self.table("control")

    @cached_property
    def packets(self) -> "pl.DataFrame":
        """One row per packet that a host sent or received; needs the probe `packets`."""
        return self.table("packets")

    @cached_property
    def hops(self) -> "pl.DataFrame":
        """Packets of some flows at every port, a row for each, with what they waited behind; needs the probe `hops`."""
        return self.table("hops")

    @cached_property
    def incidents(self) -> "pl.DataFrame":
        """One row per packet that a port marked, trimmed, returned or dropped; needs the probe `incidents`."""
        return self.table("incidents")

    @cached_property
    def timeouts(self) -> "pl.DataFrame":
        """One row per timeout of a host, with time in ps, flow and packet; needs the probe `timeouts`."""
        return self.table("timeouts")

    if not TYPE_CHECKING:  # a name that is no table stays an error for type checkers

        def __getattr__(self, name: str) -> "pl.DataFrame":
            """Return the optional table `name`, if it has no property above.

            Python also asks here after a property above has raised a `NotRecordedError`, which is an `AttributeError`.
            """
            if name in (*ALWAYS, *PROBES):
                return self.table(name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def __dir__(self) -> list[str]:
            """Names for completion; optional tables without a property of their own are among them."""
            return sorted({*super().__dir__(), *PROBES})

    @typed
    def waits(self, flow: int) -> "pl.DataFrame":
        """Ports that packets of `flow` came to, the one where they waited longest first; needs the probe `hops`.

        `pullnet.waits` describes the columns. Raises `NotRecordedError` if no packet of the flow was recorded.
        """
        from pullnet.results.waiting import waits

        return waits(self, flow)

    @property
    def table_names(self) -> list[str]:
        """Names of the tables there are, sorted: those in memory, and those in the directory on disk."""
        on_disk = [file.stem for file in self.path.glob("*.parquet") if file.is_file()] if self.path else []
        return sorted({*self._tables, *on_disk})

    @typed
    def table(self, name: str) -> "pl.DataFrame":
        """Return the table `name` as a Polars data frame; its `to_pandas()` gives one of pandas.

        Raises `NotRecordedError` for a table that is not there, and `InputError` for a file that cannot be read.
        """
        import polars as pl

        frame = pl.from_arrow(self.arrow(name))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def needed(self, name: str, kinds: "Kinds") -> "pl.DataFrame":
        """Return the table `name`. Raises `InputError` if its file holds another table, which lacks these columns."""
        from pullnet.results import columns

        return columns.needed(self.table(name), name, self._file(name) or f"the table `{name}`", kinds)

    @typed
    def arrow(self, name: str) -> Any:
        """Return the table `name` as a `pyarrow.Table`, units in its metadata; raises what `table` raises."""
        return self._held(name).arrow()

    def write(self, name: str, file: Path) -> None:
        """Write the table `name` as a Parquet file, units in the metadata of its fields. Raises what `table` raises.

        An existing `file` is replaced. Raises `OSError` if it cannot be written.
        """
        self._held(name).write(file)

    def parquet(self, name: str) -> bytes:
        """Return the table `name` as the bytes of a Parquet file. Raises what `table` raises."""
        return self._held(name).parquet()

    def _held(self, name: str) -> Held:
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _file(self, name: str) -> Path | None:
        return self.path / f"{name}.parquet" if self.path else None

    def _read(self, name: str) -> Held:
        from pullnet.results import tables

        file = self._file(name)
        if file is None or not file.is_file():
            raise NotRecordedError(self._why_missing(name))
        return Held(tables.read(file))

    @typed
    def columns(self, name: str) -> dict[str, ColumnInfo]:
        """Units and meanings of the columns of the table `name`, in their order; a unit is empty where there is none.

        Raises what `table` raises.
        """
        text = {field.name: field.metadata or {} for field in self.arrow(name).schema}
        info = {column: (data.get(b"unit", b""), data.get(b"doc", b"")) for column, data in text.items()}
        return {column: ColumnInfo(unit.decode(), doc.decode()) for column, (unit, doc) in info.items()}

    @typed
    def keep(self, names: "Iterable[str]") -> "Result":
        """Return the same result with only the tables `names` in memory. Raises `InputError` for an unknown name.

        Other tables of a result on disk are read from there again; those of a result in memory are gone.
        """
        wanted = table_names(names)
        kept = {name: table for name, table in self._tables.items() if name in wanted}
        dropped = dict.fromkeys(self._tables.keys() - kept.keys(), "`keep` does not name it")
        return Result(self.summary_json, self.scenario, kept, self.path, self.left_out | dropped)

    def noticed(self, summary_json: str) -> "Result":
        """Return the same result with another summary."""
        return Result(summary_json, self.scenario, self._tables, self.path, self.left_out)

    def _why_missing(self, name: str) -> str:
        place = f"{self.path}: " if self.path else ""
        if name in self.left_out:
            return f"{place}the table `{name}` was left out: {self.left_out[name]}"
        if self.path and name in ALWAYS:
            return f"{place}has no file {name}.parquet, which every run leaves; run the scenario again"
        if name in PROBES:
            return f"{place}the run kept no table `{name}`; ask for it under [probes] with {PROBES[name]}"
        return f"{place}there is no table `{name}`; there are {', '.join(self.table_names)}"


def table_names(names: "Iterable[str]") -> frozenset[str]:
    """Return `names`, or one name, as a set. Raises `InputError` for a name that no table has."""
    listed = [names] if isinstance(names, str) else list(names)
    known = (*ALWAYS, *PROBES)
    if unknown := [name for name in listed if name not in known]:
        raise InputError([f"keep: there is no table `{name}`; there are {', '.join(known)}" for name in unknown])
    return frozenset(listed)


def no_result(folder: Path, error: OSError) -> str:
    """Return why `folder` is no result, and what to name instead; `error` says which of its files cannot be read."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{folder}: cannot be read: {error.strerror}: {error.filename}"
    if folder.is_file():
        if (folder.parent / "summary.json").is_file():
            return f"{folder}: this is a file of a result; name its folder: {folder.parent}"
        return (
            f"{folder}: this is a file; name the folder of a result, which `pullnet run` writes and prints at its end"
        )
    if not folder.is_dir():
        return f"{folder}: there is no such folder; `pullnet run` writes one for each result and prints its name"
    if (folder / "sweep.json").is_file():
        return f"{folder}: this is a sweep, whose tables pullnet.load_sweep reads; name the folder of one run"
    if inside := sorted(file.parent for file in folder.glob("*/summary.json")):
        others = f" or another of the {len(inside)} results in it" if len(inside) > 1 else ""
        return f"{folder}: this is no result itself; name {inside[0]}{others}"
    return (
        f"{folder}: is not a result: it has no {Path(str(error.filename)).name}; name a folder that `pullnet run` wrote"
    )


PARTIAL = "PARTIAL"
"""A file of this name marks a result that is not whole: the run was broken off, or tables found no room."""
_UNWRITTEN = re.compile(r"^(\w+)\.parquet could not be written: (.*)\.$", re.MULTILINE)


def partial(missing: Mapping[str, str]) -> str:
    """Return the text of `PARTIAL` for tables that could not be written, each with the cause."""
    return "".join(f"{name}.parquet could not be written: {why}.\n" for name, why in missing.items())


def _left_out(folder: Path) -> dict[str, str]:
    marked = folder / PARTIAL
    return dict(_UNWRITTEN.findall(marked.read_text(encoding="utf-8"))) if marked.is_file() else {}


@typed
def load(path: "str | os.PathLike[str]") -> Result:
    """Load the result in the directory `path`. Tables are read on first use.

    Raises `InputError` for anything else: a folder of several results, a sweep (`pullnet.load_sweep`), a scenario.
    """
    folder = Path(path)
    try:
        summary = (folder / "summary.json").read_text(encoding="utf-8")
        scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
        result = Result(summary, scenario, {}, folder, _left_out(folder))
        _ = result.summary
    except OSError as error:
        raise InputError(no_result(folder, error)) from None
    except UnicodeDecodeError as error:
        what = f"byte {error.start} of a file in it is not UTF-8"
        raise InputError(f"{folder}: is not a result: {what}; run the scenario again") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: summary.json {_not_a_summary(error)}") from None
    return result


def _not_a_summary(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is no whole JSON text: {error}; run the scenario again"
    what = f"has no key {error}" if isinstance(error, KeyError) else "holds something else than the summary of a run"
    return f"{what}; was it written by another version?"
