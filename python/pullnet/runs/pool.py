"""Many runs side by side, each worker a process of its own."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pullnet.arguments import typed
from pullnet.errors import InputError, PullnetWarning
from pullnet.results.result import Result, table_names
from pullnet.runs.runner import MAX_THREADS, run
from pullnet.runs.scenario import Overrides, ScenarioSource
from pullnet.runs.unchanged import unchanged_jobs
from pullnet.workers import ADVICE, leave_if_importing

if TYPE_CHECKING:
    from concurrent.futures import Future

Finished = tuple[int, Result | Exception]
"""Number of a job, and its result or why it has none."""


@dataclass(frozen=True)
class Job:
    """One run: a scenario, what is changed in it, and the seed (that of the file if `None`)."""

    scenario: ScenarioSource
    set: Overrides = ()
    seed: int | None = None


JobLike = Job | tuple[ScenarioSource, Overrides, int | None] | ScenarioSource
"""A job, its three parts, or a scenario as it is."""


@typed
def run_many(
    jobs: Iterable[JobLike],
    *,
    workers: int | None = None,
    threads: int = 1,
    keep: Iterable[str] | None = None,
    out: "str | os.PathLike[str] | None" = None,
    progress: bool = False,
) -> list[Result]:
    """Run all jobs in local processes and return their results in order.

    `workers` defaults to the processors there are over `threads`. `keep` names the tables that come back (`None`:
    all); `out` is a directory that gets one result directory for each job. The first failure is raised; `iter_many`
    yields failures beside results. A script that calls this needs `if __name__ == "__main__":`, because workers
    import it.
    """
    listed = _listed(jobs)
    results: dict[int, Result] = {}
    with _bar(len(listed), progress) as step:
        for number, outcome in iter_many(listed, workers=workers, threads=threads, keep=keep, out=out):
            if isinstance(outcome, Exception):
                raise outcome
            results[number] = outcome
            step()
    ordered = [results[number] for number in range(len(listed))]
    for message in unchanged_jobs(ordered):
        warnings.warn(message, PullnetWarning, stacklevel=3)
    return ordered


@typed
def iter_many(
    jobs: Iterable[JobLike],
    *,
    workers: int | None = None,
    threads: int = 1,
    keep: Iterable[str] | None = None,
    out: "str | os.PathLike[str] | None" = None,
) -> Iterator[Finished]:
    """Do what `run_many` does, and yield each job's number with its outcome as soon as it has one."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    kept = table_names(keep) if keep is not None else None
    tasks = [_task(number, job, threads, kept, out) for number, job in enumerate(_listed(jobs))]
    if not tasks:
        return
    if not 1 <= threads <= MAX_THREADS:
        raise InputError(f"{threads} is out of range; use 1 to {MAX_THREADS}", keyword="threads")
    if workers is not None and workers < 1:
        raise InputError(f"{workers} is out of range; use 1 or more", keyword="workers")
    size = min(len(tasks), workers or max(1, len(os.sched_getaffinity(0)) // threads))
    leave_if_importing()
    # Workers start afresh: a fork would copy locks that other threads of this process may hold.
    with ProcessPoolExecutor(size, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_run, task): task.number for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], _outcome(future)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _listed(jobs: Iterable[JobLike]) -> list[JobLike]:
    """Return the jobs. Raises `InputError` for one text, which would be taken for a list of letters."""
    if isinstance(jobs, str):
        raise InputError("is one scenario; give a list of jobs, such as [scenario]", keyword="jobs")
    listed = list(jobs)
    for number, job in enumerate(listed):
        if isinstance(job, tuple) and not 1 <= len(job) <= 3:
            what = f"{len(job)} parts are no job; give (scenario, settings, seed)"
            raise InputError(what, keyword=f"jobs[{number}]")
    return listed


@dataclass(frozen=True)
class _Task:
    number: int
    job: Job
    threads: int
    keep: frozenset[str] | None
    out: Path | None


def _task(number: int, job: JobLike, threads: int, keep: frozenset[str] | None, out: object) -> _Task:
    if not isinstance(job, Job):
        job = Job(*job) if isinstance(job, tuple) else Job(job)
    folder = Path(str(out)) / f"{number:04}" if out is not None else None
    return _Task(number, job, threads, keep, folder)


def _run(task: _Task) -> Result:
    job = task.job
    with warnings.catch_warnings():
        # Each result says so in its summary; a hundred workers would say it a hundred times.
        warnings.simplefilter("ignore", PullnetWarning)
        result = run(job.scenario, set=job.set, seed=job.seed, threads=task.threads, out=task.out)
    return result if task.keep is None else result.keep(task.keep)


def _outcome(future: "Future[Result]") -> Result | Exception:
    from concurrent.futures import BrokenExecutor

    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, BrokenExecutor):
        return InputError(f"run_many, iter_many: a worker process ended before its run did. {ADVICE}")
    if isinstance(error, Exception):
        return error
    raise error


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """A bar on the terminal, or none; yields what is to be called after each run."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("runs", total=total)
        yield lambda: bar.advance(task)
