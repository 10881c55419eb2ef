"""Running what an experiment asks for, once: what is on disk already is not run again."""

import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from pullnet import _core, json_text
from pullnet.directory import PARTIAL
from pullnet.errors import InputError
from pullnet.papers import calculations
from pullnet.papers.calculations import Numbers
from pullnet.papers.model import Experiment, Point, Value
from pullnet.result import Result, load
from pullnet.runner import run

NUMBERS = "numbers.json"
"""What a calculation leaves in its folder."""


@dataclass(frozen=True)
class Run:
    """One run of an experiment, and where its result lies."""

    at: dict[str, Value]
    seed: int
    folder: Path

    @property
    def result(self) -> Result:
        """Result of a scenario; tables are read when they are asked for."""
        return load(self.folder)

    @property
    def numbers(self) -> Numbers:
        """Result of a calculation."""
        return dict(json.loads((self.folder / NUMBERS).read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    experiment: str
    work: Path | str
    point: Point
    seed: int
    folder: Path

    @property
    def done(self) -> bool:
        """Whether its result is there, can be read, and is whole."""
        if isinstance(self.work, str):
            return (self.folder / NUMBERS).is_file()
        try:
            return not load(self.folder).summary.interrupted and not (self.folder / PARTIAL).exists()
        except InputError:
            return False

    @property
    def run(self) -> Run:
        """The run, done or not."""
        return Run(self.point.at, self.seed, self.folder)

    @property
    def text(self) -> str:
        """The task in words."""
        return f"{self.experiment}: {', '.join(filter(None, [self.point.text, f'seed {self.seed}']))}"


def plan(experiment: Experiment, level: str, seeds: list[int] | None, out: Path) -> list[Task]:
    """List all runs of an experiment; an empty list at a level that leaves it out."""
    at_level = experiment.levels.get(level)
    if at_level is None:
        return []
    return [
        Task(experiment.name, experiment.work, point, seed, _place(out, experiment, point, seed))
        for seed in seeds or at_level.seeds
        for point in at_level.points
    ]


def _place(out: Path, experiment: Experiment, point: Point, seed: int) -> Path:
    """Return a folder of its own for everything that a result depends on."""
    inputs = [point.set, seed, _text_of(experiment.work), core_identity()]
    inputs += [point.at] if isinstance(experiment.work, str) else []
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:10]
    words = re.sub(r"[^a-z0-9.]+", "-", point.text.lower()).strip("-")[:60]
    return out / "runs" / experiment.name / "-".join(filter(None, [words, f"seed-{seed}", digest]))


def _text_of(work: Path | str) -> str:
    """What a result depends on beside its settings: the scenario's text, or the sources of calculations."""
    return work.read_text(encoding="utf-8") if isinstance(work, Path) else calculations.sources()


@cache
def core_identity() -> str:
    """Hash of the compiled core: another build's results are not taken for this one's."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


def execute(tasks: list[Task], jobs: int) -> Iterator[Task]:
    """Run what is not there yet; yield each task when its result is."""
    waiting = [task for task in tasks if not task.done]
    yield from (task for task in tasks if task.done)
    if jobs == 1 or len(waiting) < 2:
        for task in waiting:
            _execute(task)
            yield task
        return
    yield from _side_by_side(waiting, jobs)


def _side_by_side(tasks: list[Task], jobs: int) -> Iterator[Task]:
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_execute, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                future.result()
                yield futures[future]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _execute(task: Task) -> None:
    if isinstance(task.work, str):
        _calculate(task.work, task)
        return
    try:
        run(task.work, set=task.point.set, seed=task.seed, out=task.folder, force=True)
    except InputError as error:
        raise InputError([f"{task.text}: {line}" for line in error.errors]) from None


def _calculate(name: str, task: Task) -> None:
    """Write the numbers beside their place and rename, so that what is there is whole."""
    numbers = calculations.ALL[name](task.seed, **task.point.at, **task.point.set)
    task.folder.mkdir(parents=True, exist_ok=True)
    beside = task.folder / f"{NUMBERS}.part"
    beside.write_text(json_text.dumps(numbers) + "\n", encoding="utf-8")
    beside.replace(task.folder / NUMBERS)
