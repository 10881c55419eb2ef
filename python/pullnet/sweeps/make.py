"""Making the runs of a plan that have not been made, and gathering what all of them come to."""

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from pullnet.errors import InputError, PullnetError
from pullnet.runs.runner import interruptible
from pullnet.sweeps.cluster import address_of, on_dask
from pullnet.sweeps.local import Outcome, Stop, here, processors, side_by_side
from pullnet.sweeps.plan import Plan, Run
from pullnet.sweeps.progress import Asking, Tally
from pullnet.sweeps.slurm import Manner, on_slurm
from pullnet.sweeps.store import Store
from pullnet.sweeps.work import Patience, Task, carry_out, carry_out_into, tasks

_PATIENCE_S = 0.5
"""A run that takes longer is worth a process of its own. Unit: seconds."""

_POOL_COSTS_S = 1.0
"""Time until processes of their own have loaded what they need. Unit: seconds."""


@dataclass(frozen=True)
class Where:
    """Where runs are made."""

    workers: int | None = None
    """Processes of this machine; as many as fit if `None`."""
    dask: str | None = None
    """A scheduler, as dask://HOST:PORT."""
    slurm: Manner | None = None

    def __post_init__(self) -> None:
        if self.dask is not None:
            address_of(self.dask)
        if self.workers is not None and self.workers < 1:
            raise InputError(f"{self.workers} is out of range; use 1 or more", keyword="workers")


@dataclass
class Outcomes:
    """How the runs of a plan went."""

    made: int = 0
    errors: dict[str, list[str]] = field(default_factory=dict)
    """Why runs could not be made, each in words."""
    interrupted: bool = False


def make(plan: Plan, store: Store, where: Where, *, quiet: bool) -> Outcomes:
    """Make what is missing. Every run is kept as soon as it is done."""
    waiting = missing(plan, store)
    outcomes = Outcomes()
    if not waiting:
        return outcomes
    total = len(plan.points) * len(plan.seeds)
    with Tally(plan.name, total, total - len(waiting), quiet=quiet) as tally:
        _tell_damaged(plan, store, waiting, tally)
        asking = Asking(tally, _what_then(where))
        # `closing`: after an exception, runs under way are ended at once instead of being waited for.
        with interruptible(asking), closing(_made(plan, store, waiting, where, asking, tally)) as found:
            for run, error in found:
                _count(outcomes, run, error)
                tally.step(failed=error is not None)
    outcomes.interrupted = asking.asked
    return outcomes


def missing(plan: Plan, store: Store) -> list[Run]:
    """Return the runs that have not been made; of points that come to the same, one."""
    different = {run.key: run for run in reversed(plan.runs)}
    return [run for run in reversed(different.values()) if not store.has(run, plan.keep)]


def _tell_damaged(plan: Plan, store: Store, waiting: list[Run], tally: Tally) -> None:
    damaged = [store.record(run.key) for run in waiting if store.is_damaged(run.key, plan.keep)]
    if damaged:
        runs = "1 run" if len(damaged) == 1 else f"{len(damaged)} runs"
        tally.say(f"{runs} made again, because records or tables of theirs were changed: {damaged[0]}")


def _what_then(where: Where) -> str:
    if where.slurm:
        return "leaving; the job goes on, and the same command comes back to it"
    return "stopping once the runs that have begun are done, which are kept; Ctrl-C again leaves at once"


def _count(outcomes: Outcomes, run: Run, error: Outcome) -> None:
    if error is None:
        outcomes.made += 1
    elif isinstance(error, PullnetError):
        outcomes.errors[run.words] = str(error).splitlines()
    else:
        raise error


def _made(
    plan: Plan, store: Store, waiting: list[Run], where: Where, stop: Stop, tally: Tally
) -> Generator[tuple[Run, Outcome], None, None]:
    if where.slurm is not None:
        yield from on_slurm(plan, store, waiting, where.slurm, stop, tally)
        return
    runs = {run.key: run for run in waiting}
    if where.dask is not None:
        found = on_dask(where.dask, store, tasks(plan, waiting), stop, tally)
    else:
        here_too = tasks(plan, waiting, store)
        found = on_this_machine(store, here_too, where.workers or processors(plan.threads), stop, tally)
    with closing(found):
        for task, error in found:
            yield runs[task.key], error


def on_this_machine(
    store: Store, waiting: list[Task], workers: int, stop: Stop, tally: Tally
) -> Generator[tuple[Task, Outcome], None, None]:
    """Make runs in this process while that is faster, else in processes of their own."""
    watch = _Watch(tally)
    if min(workers, len(waiting)) == 1:
        do = partial(_keep, store, watch)
        yield from here(do, waiting, stop)
        return
    left = yield from _while_short(store, waiting, workers, stop)
    yield from side_by_side(partial(carry_out_into, store.root), left, workers, stop, tally.tick)


class _Watch:
    """Tells how many runs are done while one goes on in this process."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def update(self, *_: object) -> None:
        """Look after the clock."""
        self._tally.tick()


def _keep(store: Store, watch: _Watch, task: Task) -> None:
    record = carry_out(task, watchers=[watch])
    assert record is not None, "nothing stops a run without a limit to its time"
    store.save(record)


def _while_short(
    store: Store, waiting: list[Task], workers: int, stop: Stop
) -> Generator[tuple[Task, Outcome], None, list[Task]]:
    """Make runs here until processes would be done earlier. Returns what is left."""
    began = time.monotonic()
    for number, task in enumerate(waiting):
        rest_s = (time.monotonic() - began) / max(1, number) * (len(waiting) - number)
        if stop.asked or rest_s * (1 - 1 / workers) > _POOL_COSTS_S:
            return waiting[number:]
        try:
            record = carry_out(task, Patience(_PATIENCE_S))
            if record is None:  # begun again elsewhere
                return waiting[number:]
            store.save(record)
        except Exception as error:
            yield task, error
        else:
            yield task, None
    return []
