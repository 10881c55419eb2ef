"""Streams of the daemon for `asyncio`: no thread waits, the event loop does.

>>> from pullnet.host import aio
>>> host = aio.connect()
>>> await host.call("10.0.0.2:61199", 7, b"how are you?")
b'well'

At the other machine:

>>> async def well(request):
...     return b"well"
>>> await aio.connect().serve(7, well)
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from pullnet import _core
from pullnet.errors import HostError
from pullnet.host.daemon import SOCKET
from pullnet.host.messages import Request

_PIECE = 256 << 10

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[bytes]]


async def _when(descriptor: int, attempt: Callable[[], T | None]) -> T:
    """Return the first result of `attempt`, which is made again each time that `descriptor` becomes readable."""
    loop = asyncio.get_running_loop()
    while (result := attempt()) is None:
        rung = asyncio.Event()
        loop.add_reader(descriptor, rung.set)
        try:
            await rung.wait()
        finally:
            loop.remove_reader(descriptor)
    return result


class Stream(AbstractAsyncContextManager["Stream"]):
    """A stream of bytes in both directions. One task at a time reads it, and one writes it.

    At the end of an `async with` block it is closed, and after an exception aborted. Data written before
    a close still arrives.
    """

    def __init__(self, stream: _core.PolledStream) -> None:
        self._stream = stream

    @property
    def peer(self) -> str:
        """Address and port of the other host."""
        return self._stream.peer

    async def read(self, most: int = _PIECE) -> bytes:
        """Read at least one byte and at most `most`; an empty result is the end."""
        return await _when(self._stream.readable, lambda: self._stream.try_read(most))

    async def read_to_end(self, longest: int = 64 << 20) -> bytes:
        """Read up to the end. Raises `HostError` if that is more than `longest` bytes."""
        whole = bytearray()
        while piece := await self.read():
            whole += piece
            if len(whole) > longest:
                raise HostError(f"more than {longest} B have come; read pieces, or allow more")
        return bytes(whole)

    async def write(self, data: bytes) -> None:
        """Write all of `data`; wait while there is no room."""
        await self._write(data, last=False)

    async def write_last(self, data: bytes = b"") -> None:
        """Write all of `data` and end the writing half behind it: the end travels with the data."""
        await self._write(data, last=True)

    async def _write(self, data: bytes, *, last: bool) -> None:
        written, begun = 0, False
        while written < len(data) or (last and not begun):
            begun = True
            attempt = partial(self._stream.try_write, data, written, last)
            written += await _when(self._stream.writable, attempt)

    async def settle(self) -> None:
        """Wait until the other host has acknowledged everything that was written."""
        await _when(self._stream.writable, lambda: self._stream.try_settle() or None)

    def close(self) -> None:
        """Let the stream go: what was written still arrives, and what still comes is refused."""
        self._stream.close()

    def abort(self) -> None:
        """End the stream at once, at both ends."""
        self._stream.abort()

    async def __aexit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self.close()
        else:
            self.abort()


class Listener:
    """Accepts the streams that others open for a service: `async for stream in listener`."""

    def __init__(self, listener: _core.PolledListener) -> None:
        self._listener = listener

    async def accept(self) -> Stream:
        """Wait for the next stream."""
        return Stream(await _when(self._listener.readable, self._listener.try_accept))

    async def __aiter__(self) -> AsyncIterator[Stream]:
        while True:
            yield await self.accept()

    def close(self) -> None:
        """Stop listening, and reset the streams that have not been accepted."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Host:
    """A connection to the daemon of this machine. Any number of tasks may use it."""

    def __init__(self, stack: _core.HostStack) -> None:
        self._stack = stack

    @property
    def address(self) -> str:
        """Address and port of this host."""
        return self._stack.address

    def open(self, to: str, service: int, *, priority: int = 0) -> Stream:
        """Open a stream to `service` of the host `to`, without waiting: the first bytes travel in the first packet."""
        return Stream(_core.PolledStream.open(self._stack, to, service, priority))

    def listen(self, service: int) -> Listener:
        """Accept streams to `service` from now on."""
        return Listener(_core.PolledListener.open(self._stack, service))

    async def call(self, to: str, service: int, request: bytes, *, priority: int = 0) -> bytes:
        """Send `request` on a stream of its own, and return what comes back up to the end.

        At most once: after a `HostError` it is unknown whether the request was carried out. `asyncio.timeout` limits
        the time, and resets the stream when it is over.
        """
        async with self.open(to, service, priority=priority) as stream:
            await stream.write_last(request)
            return await stream.read_to_end()

    async def serve(
        self, service: int, handler: Handler, *, tasks: int = 256, longest: int = 64 << 20, timeout_s: float = 30.0
    ) -> None:
        """Answer every request for `service` with what `handler` returns for it, until the task is cancelled.

        At most `tasks` requests are handled at a time. A request longer than `longest` bytes, one that is not complete
        and answered within `timeout_s`, and one for which the handler raises are refused: the stream is reset. The last
        are logged. Raises `HostError` when the daemon is gone.
        """
        slots = asyncio.Semaphore(tasks)

        async def answer(stream: Stream) -> None:
            try:
                async with stream, asyncio.timeout(timeout_s):
                    body = await stream.read_to_end(longest)
                    await stream.write_last(await handler(Request(stream.peer, body)))
            except (HostError, TimeoutError):
                pass
            except Exception:
                logging.getLogger(__name__).exception("a request was refused: the handler failed")
            finally:
                slots.release()

        gone = None
        with self.listen(service) as listener:
            async with asyncio.TaskGroup() as running:
                while gone is None:
                    await slots.acquire()
                    try:
                        running.create_task(answer(await listener.accept()))
                    except HostError as error:
                        # The group would wrap it.
                        gone = error
        raise gone


def connect(socket: Path = SOCKET) -> Host:
    """Connect to the daemon of this machine."""
    return Host(_core.HostStack.connect(socket))
