"""A switch as a process: from its file to its counters."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pullnet import _core, scheduling
from pullnet.errors import InputError
from pullnet.inputs import text_of
from pullnet.switch import xdp
from pullnet.switch.control import serving

_LOOK_S = 0.25

Watch = Callable[[dict[str, Any]], None]


def read(path: Path) -> _core.SwitchFile:
    """Read a switch file. Raises `InputError` with every error at once."""
    return _core.SwitchFile.read(str(path), text_of(path))


def run(
    file: _core.SwitchFile,
    *,
    control: Path | None = None,
    schedule: scheduling.Schedule | None = None,
    lasting_s: float | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Run a switch until it is told to stop (SIGINT, SIGTERM, its socket, or after a time) and return its counters."""
    stop = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(_signals(stop))
        switch = file.start()
        if schedule is not None:
            scheduling.apply(switch.thread_id, schedule)
        if control is not None:
            stack.enter_context(serving(control, lambda request: _answer(switch, stop, request)))
        _wait(lambda: switch.runs, lambda: dict(json.loads(switch.status())), stop, lasting_s, watch)
        final: dict[str, Any] = json.loads(switch.stop())
    return final


def run_in_kernel(
    file: _core.SwitchFile,
    *,
    control: Path | None = None,
    lasting_s: float | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Run a switch inside the kernel until it is told to stop, and return its counters."""
    told = json.loads(file.kernel())
    stop = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(_signals(stop))
        switch = stack.enter_context(xdp.running(told, cache()))
        if control is not None:
            answer = partial(_answer_for_kernel, switch, stop)
            stack.enter_context(serving(control, answer))
        _wait(lambda: True, switch.status, stop, lasting_s, watch)
        return switch.status()


def cache() -> Path:
    """Where compiled programs are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pullnet"


def _wait(
    runs: Callable[[], bool],
    status: Callable[[], dict[str, Any]],
    stop: threading.Event,
    lasting_s: float | None,
    watch: Watch | None,
) -> None:
    end = None if lasting_s is None else time.monotonic() + lasting_s
    shown = time.monotonic()
    while runs() and (end is None or time.monotonic() < end):
        left = _LOOK_S if end is None else max(0.0, min(_LOOK_S, end - time.monotonic()))
        if stop.wait(left):
            return
        if watch is not None and time.monotonic() - shown >= 1:
            shown = time.monotonic()
            watch(status())


def _answer_for_kernel(switch: xdp.KernelSwitch, stop: threading.Event, request: dict[str, Any]) -> Any:
    match request:
        case {"do": "status"}:
            return switch.status()
        case {"do": "stop"}:
            stop.set()
            return None
    raise InputError('the switch inside the kernel has no such request; there is "do": "status" and "stop"')


def _answer(switch: _core.Switch, stop: threading.Event, request: dict[str, Any]) -> Any:
    match request:
        case {"do": "status"}:
            return json.loads(switch.status())
        case {"do": "fault", "text": str(text)}:
            switch.fault(text)
        case {"do": "clear", "port": str(port)}:
            switch.clear(port)
        case {"do": "stop"}:
            stop.set()
        case _:
            raise InputError('no such request; there is "do": "status", "fault" (text), "clear" (port) and "stop"')
    return None


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM end a switch cleanly; only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
