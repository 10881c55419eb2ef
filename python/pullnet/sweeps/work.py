"""Carrying out one run of a sweep, wherever that is."""

import atexit
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pullnet import inputs
from pullnet.errors import InputError
from pullnet.runs.identity import core_identity
from pullnet.runs.runner import Interruption, Watcher, simulate
from pullnet.runs.scenario import compiled, picoseconds
from pullnet.runs.stall import DEFAULT_AFTER
from pullnet.sweeps.plan import Plan, Point, Run, digest_of
from pullnet.sweeps.store import Record, Store

_ONE_AT_A_TIME = threading.Lock()
"""A run's processor time and memory are those of its process."""


@dataclass(frozen=True)
class Task:
    """A run, whole: it can be sent to another machine."""

    point: Point
    seed: int
    key: str
    keep: tuple[str, ...]
    threads: int
    core: str
    """Hash of the build that is to make it."""
    place: Path | None = None
    """Where the point's scenario lies, for who sees the sweep's folder; the point then need not hold it."""

    @property
    def words(self) -> str:
        """The run in words."""
        return Run(self.point, self.seed, self.key).words


def tasks(plan: Plan, runs: Iterable[Run], store: Store | None = None) -> list[Task]:
    """Return the tasks of `runs`, whole, or for workers that see the folder of `store`."""
    return [_task(plan, run, store) for run in runs]


def _task(plan: Plan, run: Run, store: Store | None) -> Task:
    whole = Task(run.point, run.seed, run.key, plan.keep, plan.threads, core_identity())
    if store is None:
        return whole
    return replace(whole, point=replace(run.point, text="", files={}), place=store.scenario(run.point.digest))


class Patience(Interruption):
    """Stops a run that has not ended in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.monotonic() + seconds

    def update(self, *_: object) -> None:
        """Look at the clock; called while the run goes on."""
        self.asked = time.monotonic() > self._end


def carry_out(task: Task, patience: Patience | None = None, watchers: Iterable[Watcher] = ()) -> Record | None:
    """Make a run; `None` if it has not ended in time."""
    if task.core != core_identity():
        raise InputError(
            "the worker has another build of pullnet than the one that asks; install the same on both, "
            "results of different builds are not mixed"
        )
    scenario = compiled(task.place or _scenario(task.point), seed=task.seed)
    if task.place and digest_of(*inputs.packed(scenario)) != task.point.digest:
        raise InputError(
            f"{task.place}: it, or a file that it names, has been changed since the sweep wrote it; give the command "
            "again, which restores it"
        )
    with _ONE_AT_A_TIME:
        watching = [*watchers, *([patience] if patience else [])]
        stall_after_ps = picoseconds("stall_after", DEFAULT_AFTER)
        result = simulate(
            scenario, task.threads, stall_after_ps, watching, patience or Interruption(), scenario.resolved
        )
    if result.summary.interrupted:
        return None
    return Record(task.key, result.summary_json, {name: result.parquet(name) for name in task.keep})


def carry_out_into(root: Path, task: Task) -> None:
    """Make a run and keep its record: what workers on this machine do."""
    record = carry_out(task)
    assert record is not None, "nothing stops a run without a limit to its time"
    Store(root).save(record)


def _scenario(point: Point) -> str | Path:
    """Return a scenario that was sent: its text, or where it now lies with its files."""
    return point.text if not point.files else _unpacked(point.digest, point.text, tuple(point.files.items()))


@lru_cache(maxsize=8)
def _unpacked(digest: str, text: str, files: tuple[tuple[str, bytes], ...]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"pullnet-{digest[:12]}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    inputs.unpack(dict(files), folder)
    (folder / "scenario.toml").write_text(text, encoding="utf-8")
    return folder / "scenario.toml"
