"""Driving a simulation from its start to its result."""

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

from pullnet._core import Progress, Record, Scenario, Simulation
from pullnet.arguments import typed
from pullnet.errors import InputError, PullnetWarning
from pullnet.results.directory import staged
from pullnet.results.result import Result
from pullnet.runs import unchanged
from pullnet.runs.cost import Meter, available_bytes
from pullnet.runs.scenario import Overrides, ScenarioSource, compiled, picoseconds
from pullnet.runs.stall import DEFAULT_AFTER

SLICE_S = 0.1
"""How long Rust simulates before Python looks after progress and signals. Unit: seconds on the wall."""

MAX_THREADS = 256


class Watcher(Protocol):
    """Receives the progress of a run."""

    def update(self, simulation: Simulation, progress: Progress) -> None:
        """Called about ten times a second."""


class Asked(Protocol):
    """Tells whether a run is to stop before its end."""

    @property
    def asked(self) -> bool:
        """Whether it is to stop."""


@typed
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
    silence: Iterable[str] = (),
) -> Result:
    """Run a scenario, given as a path or as text, and return its result.

    `set` replaces settings of the file, `seed` its seed (from 0, below 2^63). `threads` is 1 to 256; no result depends
    on it. With `out`, the result is also written to that directory, which must not exist unless `force` is given. It
    carries the files that the scenario names, so that its `scenario.toml` runs again in any place; without
    `copy_inputs` it names them by their full paths. Open flows that have stood still for `stall_after`, such as "2
    ms", when the run ends are listed in the summary as stuck. Warnings about the result are in its summary under
    `warnings`, and given as `PullnetWarning`; `silence` names warnings that are left out (`catalogue("warnings")`).
    Ctrl-C raises `KeyboardInterrupt` once the result so far has been written. Raises `InputError` with every error of
    the scenario at once.
    """
    stall_after_ps = picoseconds("stall_after", stall_after)
    core = compiled(scenario, set=set, seed=seed, silence=silence)
    place = Path(out) if out is not None else None
    interruption = Interruption()
    result = execute(
        core,
        threads=threads,
        out=place,
        force=force,
        stall_after_ps=stall_after_ps,
        interruption=interruption,
        copy_inputs=copy_inputs,
    )
    if interruption.asked:
        raise KeyboardInterrupt
    for warning in result.summary.warnings:
        warnings.warn(str(warning), PullnetWarning, stacklevel=3)
    return result


def execute(
    scenario: Scenario,
    *,
    threads: int,
    out: Path | None,
    force: bool,
    stall_after_ps: int,
    interruption: "Interruption",
    watchers: Iterable[Watcher] = (),
    copy_inputs: bool = True,
    siblings: tuple[str, list[str]] = ("", []),
) -> Result:
    """Run a compiled scenario. `interruption` notes a request to stop, which ends the run early and keeps its result.

    After a request that comes while the result is being written the result is whole, and its summary says so.

    Results beside `out` whose names begin with the first of `siblings` are of the same scenario and seed; one with the
    same fingerprint is warned of if it differs in the settings that the second names.
    """
    if not 1 <= threads <= MAX_THREADS:
        raise InputError(f"{threads} is out of range; use 1 to {MAX_THREADS}", keyword="threads")
    with interruptible(interruption):  # until everything is written
        run_it = partial(simulate, scenario, threads, stall_after_ps, list(watchers), interruption)
        if out is None:
            return run_it(scenario.resolved)
        with staged(out, force=force) as staging:
            text = staging.carry(scenario, copy=copy_inputs)
            result = run_it(text)
            result = unchanged.checked(result, out.parent, *siblings)
            return staging.place(result)


def simulate(
    scenario: Scenario,
    threads: int,
    stall_after_ps: int,
    watchers: list[Watcher],
    interruption: Asked,
    text: str,
) -> Result:
    """Run a compiled scenario to its end, or until `interruption` says so; signals are the caller's affair."""
    meter = Meter()
    simulation = Simulation(scenario, threads, available_bytes())
    drive(simulation, watchers, interruption)
    cost = (meter.wall_s, meter.cpu_s, meter.peak_rss_bytes)
    record = simulation.finish(interruption.asked, stall_after_ps, cost)
    return result_of(record, text)


def result_of(record: Record, text: str) -> Result:
    """Return the result of a run whose scenario is `text`."""
    tables = {table.name: table for table in record.take_tables()}
    return Result(record.summary, text, tables, left_out=dict(record.left_out))


def drive(simulation: Simulation, watchers: list[Watcher], interruption: Asked) -> None:
    """Advance to the end, or until a request to stop."""
    while True:
        progress = simulation.advance(SLICE_S)
        for watcher in watchers:
            watcher.update(simulation, progress)
        if progress.ended or interruption.asked:
            return


class Interruption:
    """Whether a stop was requested."""

    def __init__(self) -> None:
        self.asked = False

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Remember the first time; the second time, stop at once."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interruptible(interruption: Interruption | None = None) -> Iterator[Interruption]:
    """Turn Ctrl-C, a request to terminate and the loss of the terminal into a flag, where signals can be caught."""
    interruption = interruption or Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    with contextlib.ExitStack() as restore:
        for number in _requests():
            restore.callback(signal.signal, number, signal.signal(number, interruption.note))
        yield interruption


def _requests() -> list[signal.Signals]:
    """Signals that ask to stop; none to who was told not to mind them, as by nohup."""
    minded = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    return [*minded, signal.SIGTERM]
