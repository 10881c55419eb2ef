"""Run what an experiment needs, once: results that are on disk already are not run again."""

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pullnet import json_text
from pullnet.errors import InputError, PullnetWarning
from pullnet.inputs import text_of
from pullnet.papers import calculations
from pullnet.papers.calculations import Numbers
from pullnet.papers.model import Experiment, Point, Value
from pullnet.results.result import PARTIAL, Result, load
from pullnet.runs.identity import core_identity
from pullnet.runs.runner import run
from pullnet.runs.scenario import compiled
from pullnet.sweeps.local import NEVER, Outcome, Stop, here, side_by_side
from pullnet.sweeps.store import replace

NUMBERS = "numbers.json"
"""File with the results of a calculation, in its folder."""


@dataclass(frozen=True)
class Run:
    """One run of an experiment, and where its result lies."""

    at: dict[str, Value]
    seed: int
    folder: Path

    @property
    def result(self) -> Result:
        """Result of a scenario; tables are read on first use."""
        return load(self.folder)

    @property
    def numbers(self) -> Numbers:
        """Result of a calculation."""
        place = self.folder / NUMBERS
        try:
            return dict(json.loads(place.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise InputError(f"{place}: is not there: the run is one of a scenario, and no calculation") from None
        except ValueError as error:
            raise InputError(f"{place}: is damaged: {error}; remove it, and run the command again") from None


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    experiment: str
    work: Path | str
    point: Point
    seed: int
    folder: Path
    seconds: float = 1.0
    """Approximate running time on one core. Unit: seconds."""

    @property
    def done(self) -> bool:
        """Whether its result is there, can be read, and is whole."""
        try:
            if isinstance(self.work, str):
                return bool(self.run.numbers)
            return not load(self.folder).summary.interrupted and not (self.folder / PARTIAL).exists()
        except InputError:
            return False

    @property
    def alone(self) -> bool:
        """Whether nothing may run beside it."""
        return is_alone(self.work)

    @property
    def run(self) -> Run:
        """The run, done or not."""
        return Run(self.point.at, self.seed, self.folder)

    @property
    def text(self) -> str:
        """The task in words."""
        return f"{self.experiment}: {', '.join(filter(None, [self.point.text, f'seed {self.seed}']))}"


def is_alone(work: Path | str) -> bool:
    """Whether nothing may run beside this scenario or calculation."""
    return isinstance(work, str) and work in calculations.ALONE


def plan(experiment: Experiment, level: str, seeds: list[int] | None, out: Path) -> list[Task]:
    """List all runs of an experiment; an empty list at a level that leaves it out."""
    at_level = experiment.levels.get(level)
    if at_level is None:
        return []
    seconds = at_level.seconds / (len(at_level.points) * len(at_level.seeds))
    inputs = _inputs(experiment, at_level.points)
    return [
        Task(experiment.name, experiment.work, point, seed, _place(out, experiment, point, seed, given), seconds)
        for seed in seeds or at_level.seeds
        for point, given in zip(at_level.points, inputs, strict=True)
    ]


def _place(out: Path, experiment: Experiment, point: Point, seed: int, inputs: list[str]) -> Path:
    """Return a folder of its own for everything that a result depends on."""
    whole: list[object] = [point.set, seed, *inputs, core_identity()]
    whole += [point.at] if isinstance(experiment.work, str) else []
    digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:10]
    words = re.sub(r"[^a-z0-9.]+", "-", point.text.lower()).strip("-")[:60]
    return out / "runs" / experiment.name / "-".join(filter(None, [words, f"seed-{seed}", digest]))


def _inputs(experiment: Experiment, points: list[Point]) -> list[list[str]]:
    """Inputs of results beside settings: the scenario's text and hashes of its files, or the sources of calculations.

    Raises `InputError` for each error of a scenario, before anything runs.
    """
    work = experiment.work
    if isinstance(work, str):
        return [[calculations.sources()]] * len(points)
    text, errors, found = text_of(work), dict[str, list[Point]](), []
    for point in points:
        try:
            files = compiled(work, set=point.set).inputs
        except InputError as error:
            for line in error.errors:
                errors.setdefault(line, []).append(point)
            continue
        found.append([text, *(hashlib.sha256(file.data).hexdigest() for file in files)])
    if errors:
        raise InputError([_placed(experiment, where, line) for line, where in errors.items()])
    return found


def _placed(experiment: Experiment, where: list[Point], line: str) -> str:
    """Say at which point of an experiment an error is, and at how many others."""
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return ": ".join(filter(None, [experiment.name, where[0].text + more, line]))


def running_time(tasks: list[Task], jobs: int) -> float:
    """Return about how long tasks take with so many at a time; those that run alone come one by one. Unit: seconds."""
    return sum(task.seconds if task.alone else task.seconds / jobs for task in tasks)


def execute(
    tasks: list[Task], jobs: int, stop: Stop = NEVER, tick: Callable[[], None] = lambda: None
) -> Iterator[Task]:
    """Run what is not there yet; yield each task when its result is.

    Tasks that measure this machine come last, one after the other. Errors of failed tasks are raised once all others
    are done. After a request to stop, tasks under way still finish.
    """
    waiting = [task for task in tasks if not task.done]
    yield from (task for task in tasks if task.done)
    errors: list[str] = []
    with closing(_carry_out(waiting, jobs, stop, tick)) as found:  # who leaves does not wait for what is under way
        for task, error in found:
            if error is None:
                yield task
            elif isinstance(error, InputError):
                errors += error.errors
            else:
                raise error
    if errors:
        raise InputError(errors)


def _carry_out(
    tasks: list[Task], jobs: int, stop: Stop, tick: Callable[[], None]
) -> Generator[tuple[Task, Outcome], None, None]:
    together = [task for task in tasks if not task.alone]
    if jobs == 1 or len(together) < 2:
        yield from here(_execute, together, stop)
    else:
        yield from side_by_side(_execute, together, jobs, stop, tick)
    yield from here(_execute, [task for task in tasks if task.alone], stop)


def _execute(task: Task) -> None:
    if isinstance(task.work, str):
        _calculate(task.work, task)
        return
    try:
        with warnings.catch_warnings():
            # `warned` counts those of all runs; beside the progress, each would be lost among the others.
            warnings.simplefilter("ignore", PullnetWarning)
            run(task.work, set=task.point.set, seed=task.seed, out=task.folder, force=True)
    except InputError as error:
        raise InputError([f"{task.text}: {line}" for line in error.errors]) from None


def warned(tasks: list[Task]) -> list[str]:
    """Return a line for each kind of warning in the summaries: how many runs have it, and what one of them says."""
    runs = [task.run.result.summary.warnings for task in tasks if isinstance(task.work, Path)]
    counts = Counter(name for notices in runs for name in dict.fromkeys(notice.name for notice in notices))
    first = {notice.name: notice for notices in reversed(runs) for notice in reversed(notices)}
    return [f"warning: in {count} of {len(runs)} runs: {first[name]}" for name, count in counts.items()]


def _calculate(name: str, task: Task) -> None:
    numbers = calculations.ALL[name](task.seed, **task.point.at, **task.point.set)
    task.folder.mkdir(parents=True, exist_ok=True)
    replace(task.folder / NUMBERS, f"{json_text.dumps(numbers)}\n".encode())
