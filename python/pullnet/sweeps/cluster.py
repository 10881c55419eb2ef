"""Runs on a cluster of dask.distributed: workers need pullnet, but no disk that they share."""

import contextlib
import re
import socket
import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from pullnet.errors import InputError
from pullnet.sweeps.local import LOOK_EVERY_S, Outcome, Stop
from pullnet.sweeps.progress import Tally
from pullnet.sweeps.store import Record, Store
from pullnet.sweeps.work import Task, carry_out

if TYPE_CHECKING:
    from distributed import Client

_ADDRESS = re.compile(r"dask://([^/@\s]+|\[[^\]]+\]):(\d{1,5})/?")

_CONNECT_S = 10

_GREETING = 8
"""Bytes with which a scheduler begins: how many parts its first message has, the lowest byte first."""

_MOST_PARTS = 1000

_AHEAD = 2
"""Runs that each thread of a worker has been given, so that none waits for us."""

_LOST_AFTER_S = 60.0
"""How long a scheduler may be away. Unit: seconds."""


def address_of(on: str) -> str:
    """Return the address of the scheduler that `--on` names."""
    found = _ADDRESS.fullmatch(on)
    if found is None or int(found[2]) > 65535:
        raise InputError(f"--on {on}: is no scheduler; write dask://HOST:PORT, for instance dask://127.0.0.1:8786")
    return f"tcp://{found[1]}:{found[2]}"


def on_dask(
    on: str, store: Store, tasks: list[Task], stop: Stop, tally: Tally
) -> Generator[tuple[Task, Outcome], None, None]:
    """Make all runs on the cluster; yield each once, when its record is here."""
    address = address_of(on)
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"--on {on}: needs dask.distributed; install it with `pip install 'pullnet[dask]'`") from None
    _greeted(on, address)
    try:
        client = Client(address, timeout=f"{_CONNECT_S}s", set_as_default=False, name="pullnet-sweep")
    except (OSError, ValueError) as error:
        raise _unanswered(on, error) from None
    try:
        yield from _work_off(client, on, store, deque(tasks), stop, tally)
    finally:
        client.close(timeout=5)


def _unanswered(on: str, error: Exception) -> InputError:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return InputError(f"--on {on}: no scheduler answers there: {reason}; start one with `dask scheduler`")


def _greeted(on: str, address: str) -> None:
    """Refuse a server of another kind, whose bytes the library would take for the length of a message."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    other = InputError(
        f"--on {on}: something other than a dask scheduler answers there; state the port that `dask scheduler` prints, "
        "usually 8786 (8787 is that of its web page)"
    )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S) as link:
            try:
                greeting = link.makefile("rb").read(_GREETING)
            except (TimeoutError, ConnectionError):
                raise other from None
    except OSError as error:
        raise _unanswered(on, error) from None
    if len(greeting) < _GREETING or not 1 <= int.from_bytes(greeting, "little") <= _MOST_PARTS:
        raise other


def _work_off(
    client: "Client", on: str, store: Store, waiting: "deque[Task]", stop: Stop, tally: Tally
) -> Iterator[tuple[Task, Outcome]]:
    from distributed import wait

    running: dict[Any, Task] = {}
    link = _Link(client, on, tally)
    while running or (waiting and not stop.asked):
        room = link.room()
        while waiting and not stop.asked and len(running) < room:
            task = waiting.popleft()
            # Not remembered by its arguments: the record is what says that a run has been made.
            running[client.submit(carry_out, task, key=f"pullnet-{task.key}", pure=False, retries=2)] = task
        if running:
            with client.as_current(), contextlib.suppress(TimeoutError, CancelledError):
                wait(list(running), timeout=LOOK_EVERY_S, return_when="FIRST_COMPLETED")
        else:
            time.sleep(LOOK_EVERY_S)
        link.look_after()
        for future in [future for future in running if future.done()]:
            yield _collected(future, running.pop(future), store, on)
        tally.tick()


def _collected(future: Any, task: Task, store: Store, on: str) -> tuple[Task, Outcome]:
    """Keep the outcome of a run. However often the cluster ran it, it is kept and counted here once."""
    if future.status == "cancelled":
        return task, InputError(f"{on} has lost it, as when the scheduler restarts; run the same command again")
    error = future.exception()
    if error is not None:
        return task, _explained(error)
    record = future.result()
    assert isinstance(record, Record), "a run without a limit to its time leaves a record"
    store.save(record)
    future.release()
    return task, None


def _explained(error: BaseException) -> Exception:
    if type(error).__name__ == "KilledWorker":
        return InputError(
            "every worker that began it was killed, as happens where memory runs out; give workers more memory"
        )
    return error if isinstance(error, Exception) else InputError(str(error))


class _Link:
    """The connection to a scheduler, and how much its workers can take."""

    def __init__(self, client: "Client", on: str, tally: Tally) -> None:
        self._client, self._on, self._tally = client, on, tally
        self._said_none = self._said_threads = False
        self._away_s = 0.0

    def room(self) -> int:
        """How many runs may be under way. Tells what slows them down."""
        threads = self._client.scheduler_info(n_workers=-1).get("workers", {})
        counts = [int(worker["nthreads"]) for worker in threads.values()]
        if not counts and not self._said_none:
            self._tally.say(f"{self._on} has no workers; waiting for one (`dask worker HOST:PORT --nthreads 1`)")
            self._said_none = True
        if any(count > 1 for count in counts) and not self._said_threads:
            self._tally.say("workers make one run at a time each; start them with --nthreads 1, one for each processor")
            self._said_threads = True
        return _AHEAD * sum(counts)

    def look_after(self) -> None:
        """Refuse to go on without a scheduler; one that is away for a moment may come back."""
        if self._client.status == "running":
            self._away_s = 0.0
            return
        self._away_s += LOOK_EVERY_S
        if self._client.status == "closed" or self._away_s > _LOST_AFTER_S:
            raise InputError(
                f"--on {self._on}: the scheduler is gone; runs that are done are kept, run the same command again"
            )
