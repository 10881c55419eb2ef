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
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from pullnet import _core
from pullnet.errors import HostError, InputError
from pullnet.host.daemon import SOCKET
from pullnet.host.messages import Request, Retries

_PIECE = 256 << 10

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[bytes]]


class _Doorbell:
    """Tasks that wait for a descriptor to become readable."""

    def __init__(self, descriptor: int, silence: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._silence = silence
        self._waiting: set[asyncio.Future[None]] = set()
        self._ended = False

    async def when(self, attempt: Callable[[], T | None]) -> T:
        """Return the first result of `attempt`, which is made again when the descriptor is readable, and at the end."""
        while (result := attempt()) is None:
            await self._ring()
        return result

    async def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        ring = loop.create_future()
        self._waiting.add(ring)
        try:
            # Another thread may have called `end` since the attempt, before this task was in the set.
            if not self._ended:
                loop.add_reader(self._descriptor, self._wake)
                await ring
        finally:
            self._waiting.discard(ring)
            if not self._waiting:
                loop.remove_reader(self._descriptor)

    def _wake(self) -> None:
        # Rings are taken here only, where every waiting task is told of them: one task may write while another settles.
        self._silence()
        for ring in self._waiting:
            _set(ring)

    def end(self) -> None:
        """Wake all tasks, from any thread, and let no task wait from now on."""
        self._ended = True
        for ring in list(self._waiting):
            # A loop that is closed has no task left to wake.
            with suppress(RuntimeError):
                ring.get_loop().call_soon_threadsafe(_set, ring)


def _set(ring: asyncio.Future[None]) -> None:
    if not ring.done():
        ring.set_result(None)


class Stream(AbstractAsyncContextManager["Stream"]):
    """A stream of bytes in both directions. One task at a time reads it, and one writes it.

    At the end of an `async with` block it is closed, and after an exception aborted. Data written before
    a close still arrives. Tasks that read or write it at a close raise `HostError` with the code "closed".
    """

    def __init__(self, stream: _core.PolledStream) -> None:
        self._stream = stream
        self._readable = _Doorbell(stream.readable, stream.silence_readable)
        self._writable = _Doorbell(stream.writable, stream.silence_writable)

    @property
    def peer(self) -> str:
        """Address and port of the other host."""
        return self._stream.peer

    async def read(self, most: int = _PIECE) -> bytes:
        """Read at least one byte and at most `most`; an empty result is the end, unless `most` is 0."""
        if most < 0:
            raise InputError(f"most={most}: no stream gives fewer than 0 bytes; use 0 or more, or read_to_end")
        return await self._readable.when(lambda: self._stream.try_read(most))

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
            written += await self._writable.when(attempt)

    async def settle(self) -> None:
        """Wait until the other host has acknowledged everything that was written."""
        await self._writable.when(lambda: self._stream.try_settle() or None)

    def close(self) -> None:
        """Let the stream go: what was written still arrives, and what still comes is refused."""
        self._stream.close()
        self._end()

    def abort(self) -> None:
        """End the stream at once, at both ends."""
        self._stream.abort()
        self._end()

    def _end(self) -> None:
        self._readable.end()
        self._writable.end()

    async def __aexit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self.close()
        else:
            self.abort()


class Listener:
    """Accepts the streams that others open for a service: `async for stream in listener`.

    The loop ends when the listener is closed, and raises `HostError` when the daemon is gone. While this application
    is at its limit of streams, the loop waits: streams that are not accepted yet stay queued.
    """

    def __init__(self, listener: _core.PolledListener) -> None:
        self._listener = listener
        self._readable = _Doorbell(listener.readable, listener.silence_readable)
        self._retries = Retries()

    async def accept(self) -> Stream:
        """Wait for the next stream.

        Raises `HostError`: with the code "full" at the limit of streams, where later calls may succeed, and with
        "closed" if the listener is closed meanwhile.
        """
        return Stream(await self._readable.when(self._listener.try_accept))

    async def __aiter__(self) -> AsyncIterator[Stream]:
        while True:
            try:
                stream = await self._next()
            except HostError as error:
                if error.code == "closed":
                    return
                raise
            yield stream

    async def _next(self) -> Stream:
        """Wait for the next stream, also while none can be accepted."""
        while True:
            try:
                return await self.accept()
            except HostError as error:
                await asyncio.sleep(self._retries.pause(error))

    def close(self) -> None:
        """Stop listening, and reset the streams that have not been accepted. Tasks that accept raise `HostError`."""
        self._listener.close()
        self._readable.end()

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
        are logged. At the limit of streams of this application further requests wait. Raises `HostError` when the
        daemon is gone.
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
                        running.create_task(answer(await listener._next()))
                    except HostError as error:
                        # The group would wrap it.
                        gone = error
        raise gone


def connect(socket: Path = SOCKET) -> Host:
    """Connect to the daemon of this machine."""
    return Host(_core.HostStack.connect(socket))
