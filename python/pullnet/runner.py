"""Driving a simulation from its start to its result."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol

from pullnet import _core
from pullnet.cost import Meter
from pullnet.directory import staged
from pullnet.errors import InputError
from pullnet.result import Result
from pullnet.scenario import Overrides, ScenarioSource, compiled, picoseconds
from pullnet.stall import DEFAULT_AFTER

SLICE_S = 0.1
"""How long Rust simulates before Python looks after progress and signals. Unit: seconds on the wall."""

MAX_THREADS = 256


class Watcher(Protocol):
    """Somebody who wants to know how a run gets on."""

    def update(self, simulation: _core.Simulation, progress: _core.Progress) -> None:
        """Called about ten times a second."""


def run(
    scenario: ScenarioSource,
    *,
    set: Overrides = (),
    seed: int | None = None,
    threads: int = 1,
    out: "str | os.PathLike[str] | None" = None,
    force: bool = False,
    stall_after: str = DEFAULT_AFTER,
    copy_inputs: bool = True,
) -> Result:
    """Run a scenario, given as a path or as text, and return its result.

    `set` replaces settings of the file, `seed` its seed. No result depends on `threads`. With `out`, the result is
    also written to that directory, which must not exist unless `force` is given. It carries the files that the
    scenario names, so that its `scenario.toml` runs again wherever it is; without `copy_inputs` it names them by
    their full paths. Open flows that have stood still for `stall_after` when the run ends are listed in the summary as
    stuck. Ctrl-C raises `KeyboardInterrupt` after what there is has been written. Raises `InputError` with every error
    of the scenario at once.
    """
    stall_after_ps = picoseconds("stall_after", stall_after)
    core = compiled(scenario, set=set, seed=seed)
    place = Path(out) if out is not None else None
    result = execute(
        core, threads=threads, out=place, force=force, stall_after_ps=stall_after_ps, copy_inputs=copy_inputs
    )
    if result.summary.ended == "interrupted":
        raise KeyboardInterrupt
    return result


def execute(
    scenario: _core.Scenario,
    *,
    threads: int,
    out: Path | None,
    force: bool,
    stall_after_ps: int,
    watchers: Iterable[Watcher] = (),
    copy_inputs: bool = True,
) -> Result:
    """Run a compiled scenario. After Ctrl-C the result says in its summary that it was interrupted."""
    if not 1 <= threads <= MAX_THREADS:
        raise InputError(f"threads: {threads} is out of range; use 1 to {MAX_THREADS}")
    if out is None:
        return _simulate(scenario, threads, stall_after_ps, watchers, scenario.resolved)
    with staged(out, force=force) as staging:
        text = staging.carry(scenario, copy=copy_inputs)
        return staging.place(_simulate(scenario, threads, stall_after_ps, watchers, text))


def _simulate(
    scenario: _core.Scenario, threads: int, stall_after_ps: int, watchers: Iterable[Watcher], text: str
) -> Result:
    meter = Meter()
    with interruptible() as interruption:
        simulation = _core.Simulation(scenario, threads)
        drive(simulation, list(watchers), interruption)
        cost = (meter.wall_s, meter.cpu_s, meter.peak_rss_bytes)
        record = simulation.finish(interruption.asked, stall_after_ps, *cost)
        return result_of(record, text)


def result_of(record: _core.Record, text: str) -> Result:
    """Return the result of a run whose scenario is `text`."""
    from pullnet import tables

    arrow = {table.name: tables.arrow_table(table) for table in record.take_tables()}
    return Result(record.summary, text, arrow)


def drive(simulation: _core.Simulation, watchers: list[Watcher], interruption: "Interruption") -> None:
    """Advance to the end, or until somebody asks to stop."""
    while True:
        progress = simulation.advance(SLICE_S)
        for watcher in watchers:
            watcher.update(simulation, progress)
        if progress.ended or interruption.asked:
            return


class Interruption:
    """Whether somebody has asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Remember the first time; the second time, stop at once."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Turn Ctrl-C and a request to terminate into a flag, where signals can be caught at all."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    with contextlib.ExitStack() as restore:
        for number in (signal.SIGINT, signal.SIGTERM):
            restore.callback(signal.signal, number, signal.signal(number, interruption.note))
        yield interruption
