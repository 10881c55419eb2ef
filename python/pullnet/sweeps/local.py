"""Work shared out among processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import Protocol, TypeVar

from pullnet.errors import InputError
from pullnet.workers import ADVICE, leave_if_importing

Item = TypeVar("Item")
Outcome = Exception | None
"""Why something could not be done; `None` where it was."""

LOOK_EVERY_S = 0.2
"""How often who waits looks after signals and progress. Unit: seconds."""

_TRIES = 3
"""How often an item is begun alone whose process is killed each time."""


class Stop(Protocol):
    """Tells whether a stop was requested."""

    @property
    def asked(self) -> bool:
        """Begin nothing new."""


class _Never:
    asked = False


NEVER: Stop = _Never()
"""A stop that is never requested."""


def processors(threads: int = 1) -> int:
    """How many processes with so many threads this machine has room for."""
    return max(1, len(os.sched_getaffinity(0)) // threads)


def here(do: Callable[[Item], None], items: Sequence[Item], stop: Stop) -> Generator[tuple[Item, Outcome], None, None]:
    """Do one after the other in this process; yield each with what came of it."""
    for item in items:
        if stop.asked:
            return
        try:
            do(item)
        except Exception as error:
            yield item, error
        else:
            yield item, None


def side_by_side(
    do: Callable[[Item], None], items: Sequence[Item], workers: int, stop: Stop, tick: Callable[[], None]
) -> Generator[tuple[Item, Outcome], None, None]:
    """Do everything in `workers` processes; yield each with its outcome.

    After a request to stop, begins nothing new and finishes the items under way. If a process is killed, the items
    under way are begun again, one at a time: any of them may be the cause. An item whose process is killed three
    times while no other item is under way is given up. Raises `InputError` if no process can start.
    """
    leave_if_importing()
    waiting, deaths, unstarted = deque(items), Counter[int](), 0
    while waiting and not stop.asked:
        before = set(multiprocessing.active_children())
        # Workers start afresh: a fork would copy locks that other threads of this process may hold.
        context = multiprocessing.get_context("spawn")
        started = context.Event()
        pool = ProcessPoolExecutor(min(workers, len(waiting)), context, initializer=_begin_worker, initargs=(started,))
        ended = False
        try:
            yield from _through(pool, do, waiting, workers, deaths, stop, tick)
            ended = True
        finally:
            if not ended:  # nobody waits for what is under way
                for process in set(multiprocessing.active_children()) - before:
                    process.terminate()
            pool.shutdown(wait=ended, cancel_futures=True)
        # Workers that die before they can take an item would die again for each of them.
        unstarted = 0 if started.is_set() else unstarted + 1
        if unstarted == _TRIES:
            raise InputError(f"no worker process could start. {ADVICE}")


def _through(
    pool: ProcessPoolExecutor,
    do: Callable[[Item], None],
    waiting: "deque[Item]",
    workers: int,
    deaths: "Counter[int]",
    stop: Stop,
    tick: Callable[[], None],
) -> Iterator[tuple[Item, Outcome]]:
    """Work off `waiting` until it is empty, a process has died, or a stop is requested.

    `deaths` has every item that was under way when a process died, with how often it was the only one.
    """
    running: dict[Future[None], Item] = {}
    killed: list[Item] = []
    broken = False
    while running or (waiting and not broken and not stop.asked):
        broken = broken or not _fill(pool, do, waiting, running, 0 if stop.asked else workers + 1, deaths)
        if stop.asked:
            for future in [future for future in running if future.cancel()]:
                waiting.appendleft(running.pop(future))
        for future in wait(running, LOOK_EVERY_S, FIRST_COMPLETED).done:
            item, error = running.pop(future), future.exception()
            if isinstance(error, BrokenProcessPool):
                killed.append(item)
                broken = True
            elif error is None or isinstance(error, Exception):
                yield item, error
            else:
                raise error
        tick()
    for item in reversed(killed):
        deaths[id(item)] += len(killed) == 1
        if deaths[id(item)] < _TRIES:
            waiting.appendleft(item)
        else:
            yield item, _killed()


def _fill(
    pool: ProcessPoolExecutor,
    do: Callable[[Item], None],
    waiting: "deque[Item]",
    running: "dict[Future[None], Item]",
    most: int,
    deaths: "Counter[int]",
) -> bool:
    """Hand out work until `most` is under way: one more than there are workers, so that none waits for us.

    An item that may have killed its process is under way alone.
    """
    try:
        while waiting and len(running) < most:
            if running and any(id(item) in deaths for item in (waiting[0], *running.values())):
                break
            running[pool.submit(do, waiting[0])] = waiting[0]
            waiting.popleft()
    except BrokenProcessPool:
        return False
    return True


def _killed() -> InputError:
    return InputError(
        f"its process was killed {_TRIES} times, as happens where memory runs out; use fewer --jobs, "
        "or a machine with more memory"
    )


def _begin_worker(started: Event) -> None:
    """Leave Ctrl-C to the process that shares out, and end with it however it ends."""
    started.set()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: "multiprocessing.process.BaseProcess") -> None:
    parent.join()
    os._exit(1)
