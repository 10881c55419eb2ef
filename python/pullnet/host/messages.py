"""Requests and responses, each on a stream of its own: what is written first travels in the first packet."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pullnet import _core
from pullnet.arguments import typed
from pullnet.errors import HostError
from pullnet.host.daemon import SOCKET

_LOOK_S = 0.25
_RETRY_S = 0.01
"""Pause after a stream could not be accepted."""
_QUIET_S = 10.0
"""Time between two log lines about it."""
_ENDS = ("closed", "no listener", "stopped")
"""Codes of errors after which a listener accepts nothing any more."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request from another host."""

    peer: str
    """Address and port of the host that asks."""
    body: bytes


Handler = Callable[[Request], bytes]


@typed
def connect(socket: Path = SOCKET) -> _core.HostStack:
    """Connect to the daemon of this machine; many calls may share one connection."""
    return _core.HostStack.connect(socket)


@typed
def call(
    to: str,
    service: int,
    request: bytes,
    *,
    priority: int = 0,
    timeout_s: float | None = 30.0,
    stack: _core.HostStack | None = None,
    socket: Path = SOCKET,
) -> bytes:
    """Send `request` to `service` at host `to` ("10.0.0.2:61199") and return the response.

    At most once: after a `HostError` it is unknown whether the request was carried out. `priority` makes the other host
    pull this request before others. `stack` is a connection to use; without it, one is made to `socket`.
    """
    _core.HostStack.check_call(to, timeout_s)
    return (stack or connect(socket)).call(to, service, request, priority, timeout_s)


@typed
def serve(
    service: int,
    handler: Handler,
    *,
    stack: _core.HostStack | None = None,
    socket: Path = SOCKET,
    workers: int = 8,
    longest: int = 64 << 20,
    timeout_s: float | None = 30.0,
    stop: threading.Event | None = None,
) -> None:
    """Answer every request for `service` with what `handler` returns for it, until `stop` is set.

    `stack` is a connection to use; without it, one is made to `socket`. At most `workers` requests are handled at a
    time, each in a thread. A request longer than `longest` bytes, one that is not complete after `timeout_s`, and one
    for which the handler raises are refused: the stream is reset. The last are logged. At the limit of streams of this
    application further requests wait. Raises `HostError` when the daemon is gone.

    When `stop` is set, requests that have been accepted are still answered. After Ctrl-C their streams are reset, and
    only handlers that are at work are waited for.
    """
    stop = stop or threading.Event()
    listener = (stack or connect(socket)).listen(service)
    slots, retries = threading.Semaphore(workers), Retries()
    accepted: set[_core.HostRequest] = set()

    def answer(stream: _core.HostRequest) -> None:
        try:
            _answer(stream, handler, longest, timeout_s)
        finally:
            accepted.discard(stream)
            slots.release()

    with ThreadPoolExecutor(workers, thread_name_prefix="pullnet-serve") as pool:
        try:
            while not stop.is_set():
                if not slots.acquire(timeout=_LOOK_S):
                    continue
                stream = _accept(listener, retries, stop)
                if stream is None:
                    break
                accepted.add(stream)
                pool.submit(answer, stream)
        except BaseException:
            # The workers wait for their streams, and the pool waits for the workers.
            for stream in accepted.copy():
                stream.refuse()
            raise


class Retries:
    """Pauses of a server that cannot accept the next stream."""

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def pause(self, error: HostError) -> float:
        """Return how long to wait after `error`, in seconds, and log it now and then.

        Raises an error after which the listener accepts nothing any more.
        """
        if error.code in _ENDS:
            raise error
        now = time.monotonic()
        if now >= self._quiet_until:
            import logging

            logging.getLogger(__name__).warning("a stream cannot be accepted yet: %s", error)
            self._quiet_until = now + _QUIET_S
        return _RETRY_S


def _accept(listener: _core.HostListener, retries: Retries, stop: threading.Event) -> _core.HostRequest | None:
    """Wait for the next stream; return `None` when `stop` is set."""
    while not stop.is_set():
        try:
            if (stream := listener.accept(_LOOK_S)) is not None:
                return stream
        except HostError as error:
            stop.wait(retries.pause(error))
    return None


def _answer(stream: _core.HostRequest, handler: Handler, longest: int, timeout_s: float | None) -> None:
    try:
        body = stream.read(longest, timeout_s)
        stream.respond(handler(Request(stream.peer, body)), timeout_s)
    except HostError:
        stream.refuse()
    except Exception:
        stream.refuse()
        import logging

        logging.getLogger(__name__).exception("a request of %s was refused: the handler failed", stream.peer)
