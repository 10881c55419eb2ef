"""Where a thread runs and how it is preferred: what wall-clock runs need on a machine that is shared."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pullnet.errors import InputError

_AUTOGROUP = Path("/proc/self/autogroup")

Preference = Literal["normal", "group", "fifo"]


@dataclass(frozen=True)
class Schedule:
    """A core, and how a thread is preferred on it.

    `group` raises the whole session (an autogroup of Linux), for runs of any length. `fifo` is the real-time policy: it
    is exact for bursts below a second, then the kernel takes the core away for about 54 ms each second.
    """

    core: int | None = None
    preference: Preference = "normal"


def apply(thread: int, schedule: Schedule) -> None:
    """Pin thread number `thread` (0 for the calling thread) to a core and raise its priority, as `schedule` says."""
    if schedule.core is not None:
        cores = os.sched_getaffinity(0)
        if schedule.core not in cores:
            raise InputError(f"core {schedule.core}: this process has cores {', '.join(map(str, sorted(cores)))}")
        os.sched_setaffinity(thread, {schedule.core})
    if schedule.preference == "fifo":
        try:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))
        except OSError as error:
            raise InputError(f"fifo: {error.strerror}; it needs root or CAP_SYS_NICE") from None
    if schedule.preference == "group":
        prefer_session()


def prefer_session() -> None:
    """Prefer everything in this session over other sessions, as far as the kernel lets us."""
    with contextlib.suppress(OSError):
        _AUTOGROUP.write_text("-20", encoding="ascii")


@contextlib.contextmanager
def for_a_while(schedule: Schedule) -> Iterator[None]:
    """Put this thread on its core and prefer it; afterwards core and session are as they were."""
    cores = os.sched_getaffinity(0)
    session = _session_nice()
    try:
        apply(0, schedule)
        yield
    finally:
        os.sched_setaffinity(0, cores)
        if session is not None and schedule.preference == "group":
            with contextlib.suppress(OSError):
                _AUTOGROUP.write_text(session, encoding="ascii")


@contextlib.contextmanager
def burst(threads: list[int]) -> Iterator[None]:
    """Run threads (0 for the calling thread) before everything else on their cores, until the block ends.

    For less than a second: then the kernel takes the core away for a while.
    """
    before = [(thread, os.sched_getscheduler(thread), os.sched_getparam(thread)) for thread in threads]
    try:
        for thread in threads:
            apply(thread, Schedule(None, "fifo"))
        yield
    finally:
        for thread, policy, parameters in before:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, policy, parameters)


def _session_nice() -> str | None:
    """How this session is preferred, from "/autogroup-7 nice 0"; None where sessions are not told apart."""
    try:
        return _AUTOGROUP.read_text(encoding="ascii").split()[-1]
    except (OSError, IndexError):
        return None
