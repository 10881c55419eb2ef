"""A sweep as a call, and what it gives."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.runs.scenario import Overrides, ScenarioSource

if TYPE_CHECKING:
    import polars as pl

    from pullnet.sweeps.axes import Axis
    from pullnet.sweeps.make import Outcomes, Where
    from pullnet.sweeps.plan import Plan
    from pullnet.sweeps.store import Store

CONFIDENCE = 0.95

METRICS = ("fct_us.p99", "slowdown.p99", "utilisation.mean")
"""Metrics shown and drawn by default."""


@dataclass
class Sweep:
    """Result of a sweep."""

    runs: "pl.DataFrame"
    """A row for each run: parameters, seed, and every value of its summary, by its path."""
    points: "pl.DataFrame"
    """A row for each point and metric: mean and confidence interval over the seeds."""
    axes: "list[Axis]" = field(repr=False)
    asked: int
    """How many runs the sweep has."""
    path: Path | None
    """The folder on disk, if there is one."""
    sums: dict[str, str] = field(default_factory=dict, repr=False)
    """Checksums of the tables in the folder, by the name of the file."""
    tables: "dict[str, pl.DataFrame]" = field(default_factory=dict, repr=False)
    """Tables of all runs that were kept, where there is no folder."""

    @cached_property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(dict.fromkeys(self.points["metric"]))

    @typed
    def of(self, metric: str) -> "pl.DataFrame":
        """Return the points of one metric: parameters, runs, missing, mean, sd, low, high."""
        import polars as pl

        self._check(metric)
        return self.points.filter(pl.col("metric") == metric).drop("metric")

    @typed
    def table(self, name: str) -> "pl.DataFrame":
        """Return a table of all runs, with parameters and seed; `keep` must have named it."""
        if name in self.tables:
            return self.tables[name]
        if self.path is None or f"{name}.parquet" not in self.sums:
            raise InputError(f"the sweep kept no table `{name}`; name it in `keep`")
        try:
            return _read(self.path, name, self.sums)
        except OSError as error:
            raise InputError(f"{error.filename}: cannot be read: {error.strerror}; run the sweep again") from None

    @typed
    def plot(self, metric: str, path: "str | os.PathLike[str]") -> Path:
        """Draw a metric against the first axis, a line for each combination of the others."""
        from pullnet.sweeps import figure

        self._check(metric)
        place = Path(path)
        if place.suffix[1:] not in ("png", "pdf", "svg"):
            raise InputError(f"{place}: is no picture that can be written; end its name in .png, .pdf or .svg")
        if not figure.draw(self.points, self.runs, self.axes, metric, place):
            raise InputError(f"{metric}: no run has a value; there is nothing to draw")
        return place

    def _check(self, metric: str) -> None:
        if metric not in self.metrics:
            raise InputError(unknown(metric, self.metrics))


def unknown(metric: str, known: Iterable[str] | None = None) -> str:
    """Name similar metrics in an error about an unknown one: of `known`, or of all numbers that a summary can have."""
    from pullnet.sweeps.data import near_metrics

    remedy = near_metrics(metric, known) or "runs.parquet of a sweep has all of them as columns"
    return f"--metric {metric}: no run has it; {remedy}"


@typed
def sweep(
    scenario: ScenarioSource,
    over: Overrides = (),
    seeds: "Iterable[int] | str | None" = None,
    *,
    set: Overrides = (),
    out: "str | os.PathLike[str] | None" = None,
    keep: Iterable[str] = (),
    workers: int | None = None,
    threads: int = 1,
    on: str | None = None,
    confidence: float = CONFIDENCE,
    silence: Iterable[str] = (),
    progress: bool = False,
) -> Sweep:
    """Run a scenario at every combination of settings with every seed, and gather the results.

    `over` names settings and their values, `{"topology.k": [4, 8]}` or `["topology.k=4,8"]`. With `out`, runs that are
    in that folder already are not made again, even if they were made for another sweep; without, nothing stays on
    disk. `keep` names tables of all runs that are kept beside their summaries. Runs are made in `workers` local
    processes, or `on="dask://HOST:PORT"`. A script that calls this needs `if __name__ == "__main__":`, because workers
    import it.

    Raises `InputError` with every error at once before anything runs, and with every run that could not be made after
    all others are done. Ctrl-C raises `KeyboardInterrupt` once the runs that have begun are done and kept; a second
    one leaves at once.
    """
    from pullnet.runs.seeds import seeds_of
    from pullnet.sweeps.make import Where
    from pullnet.sweeps.plan import make
    from pullnet.sweeps.store import Store

    check_confidence(confidence)
    where = Where(workers=workers, dask=on)
    chosen = None if seeds is None else seeds_of(seeds)
    plan = make(scenario, over, chosen, set=set, silence=silence, keep=keep, threads=threads)
    with ExitStack() as stack:
        place = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found, outcomes = carry_through(plan, Store(place), where, confidence, quiet=not progress)
        if out is None:
            found.tables = {name: found.table(name) for name in plan.keep if f"{name}.parquet" in found.sums}
            found.path = None
    if outcomes.errors:
        raise InputError(failures(outcomes))
    if outcomes.interrupted:
        raise KeyboardInterrupt
    return found


def check_confidence(confidence: float) -> None:
    """Refuse what is no level of confidence."""
    if not 0 < confidence < 1:
        raise InputError(
            f"{confidence} is out of range; use a number between 0 and 1, such as 0.95", keyword="confidence"
        )


def failures(outcomes: "Outcomes") -> list[str]:
    """Return why runs could not be made, a line each."""
    return [f"{words}: {line}" for words, lines in outcomes.errors.items() for line in lines]


def carry_through(
    plan: "Plan", store: "Store", where: "Where", confidence: float, *, quiet: bool
) -> "tuple[Sweep, Outcomes]":
    """Make what is missing and gather all of it, also after an interruption."""
    from pullnet.sweeps.make import make

    store.open(plan)
    outcomes = make(plan, store, where, quiet=quiet)
    return gather(plan, store, confidence), outcomes


def gather(plan: "Plan", store: "Store", confidence: float) -> Sweep:
    """Write the data set of all runs that are there, and what they come to.

    The tables of a folder are of one request: they are written beside their places and moved there together, by one
    process at a time. `sweep.json` comes last; a process that is killed before leaves other checksums in it.
    """
    from pullnet.results.result import ALWAYS, PROBES
    from pullnet.sweeps import data
    from pullnet.sweeps.store import writing

    with writing(store.root), store.locked() as alone, ExitStack() as stack:
        for left in store.root.glob(f"{_BESIDE}*") if alone else ():  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        beside = stack.enter_context(tempfile.TemporaryDirectory(prefix=_BESIDE, dir=store.root))
        runs = data.runs_of(plan, store)
        points = data.points_of(runs, plan.axes, confidence)
        data.write(runs, _file(beside, data.RUNS))
        data.write(points, _file(beside, data.POINTS))
        for name in plan.keep:
            data.write_table(plan, store, name, _file(beside, name))
        sums = {path.name: _sha256(path) for path in sorted(Path(beside).iterdir())}
        for name in (data.RUNS, data.POINTS, *ALWAYS, *PROBES):
            place = _file(store.root, name)
            if place.name in sums:
                _file(beside, name).replace(place)
            else:  # of an earlier request
                place.unlink(missing_ok=True)
        store.describe(plan, sums)
    return Sweep(runs, points, plan.axes, len(plan.points) * len(plan.seeds), store.root, sums)


_BESIDE = ".tables-"
"""Beginning of the name of the folder where tables are written before they are moved to their places."""


def _file(folder: "str | os.PathLike[str]", table: str) -> Path:
    return Path(folder) / f"{table}.parquet"


def _sha256(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@typed
def load_sweep(path: "str | os.PathLike[str]") -> Sweep:
    """Load what a sweep has left in the folder `path`."""
    from pullnet.sweeps import data, store
    from pullnet.sweeps.axes import Axis

    folder = Path(path)
    try:
        with store.Store(folder).locked(for_reading=True):
            about: dict[str, Any] = json.loads((folder / store.ABOUT).read_text(encoding="utf-8"))
            axes = [Axis(key, tuple(map(str, values)), tuple(values)) for key, values in about["over"].items()]
            runs, points = (_read(folder, name, about["files"]) for name in (data.RUNS, data.POINTS))
        return Sweep(runs, points, axes, about["runs"], folder, about["files"])
    except OSError as error:
        if (folder / "summary.json").is_file():
            raise InputError(f"{folder}: this is the result of one run; load it by pullnet.load") from None
        what = f"{error.strerror}: {error.filename}"
        raise InputError(f"{folder}: is not a sweep that has run: {what}; `pullnet sweep` makes one") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: cannot be used: {error}; was it written by another version?") from None


def _read(folder: Path, name: str, sums: dict[str, str]) -> "pl.DataFrame":
    """Read a table of a sweep, if it is what the sweep wrote."""
    import polars as pl

    from pullnet.sweeps.store import ABOUT

    file = _file(folder, name)
    if _sha256(file) != sums.get(file.name):
        raise InputError(f"{file}: is not of the request in {ABOUT}, or has been changed; run the sweep again")
    return pl.read_parquet(file)
