"""`pullnet.host.aio`: streams of two daemons in one event loop."""

import asyncio
import logging

import pytest

from pullnet import host
from pullnet.errors import HostError, InputError
from pullnet.host import aio

from .conftest import WATCHDOG_S
from .test_host import Daemon, daemons, folder

__all__ = ["daemons", "folder"]

SERVICE = 7


async def reverse(request: host.Request) -> bytes:
    if request.body == b"fail":
        raise ValueError("as asked")
    return request.body[::-1]


def test_many_calls_share_one_loop(daemons: tuple[Daemon, Daemon], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "pullnet.host.aio")

    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        serving = asyncio.create_task(there.serve(SERVICE, reverse, tasks=8))
        await asyncio.sleep(0)
        bodies = [bytes([number]) * (1 + 4001 * number) for number in range(60)]
        answers = await asyncio.gather(*(here.call(there.address, SERVICE, body) for body in bodies))
        assert answers == [body[::-1] for body in bodies]
        assert await here.call(there.address, SERVICE, b"") == b""
        with pytest.raises(HostError, match="reset: the other application dropped the connection"):
            await here.call(there.address, SERVICE, b"fail")
        # The calls of a thread reach the same server.
        stack = host.connect(daemons[0].socket)
        assert await asyncio.to_thread(host.call, there.address, SERVICE, b"abc", stack=stack) == b"cba"
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        with pytest.raises(HostError, match="refused: nobody listens for the service"):
            await here.call(there.address, SERVICE, b"x")
        with pytest.raises(InputError, match="is no address with a port"):
            await here.call("nowhere", SERVICE, b"x")

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_a_stream_carries_bytes_both_ways_at_the_same_time(daemons: tuple[Daemon, Daemon]) -> None:
    content = bytes(range(256)) * 20_000

    async def echo(listener: aio.Listener) -> None:
        async for stream in listener:
            async with stream:
                while piece := await stream.read():
                    await stream.write(piece)
                await stream.write_last()
                await stream.settle()
            return

    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        with there.listen(SERVICE) as listener:
            echoing = asyncio.create_task(echo(listener))
            async with here.open(there.address, SERVICE) as stream:
                assert stream.peer == there.address
                # More than all buffers hold: the loop has to read and write by turns.
                _, back = await asyncio.gather(stream.write_last(content), stream.read_to_end())
            assert back == content
            await echoing

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_a_call_that_takes_too_long_is_reset_and_the_end_of_the_daemon_is_told(daemons: tuple[Daemon, Daemon]) -> None:
    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        with there.listen(SERVICE) as listener:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await here.call(there.address, SERVICE, b"x")
            stream = await listener.accept()
            # The whole request has arrived, and its sender has stopped waiting.
            assert await stream.read_to_end() == b"x"
            # The reset may take a moment; an answer that comes before it is taken.
            while host.status(daemons[0].socket)["host"]["streams"]:
                await asyncio.sleep(0.01)
            with pytest.raises(HostError, match="reset: the other application dropped the connection"):
                await stream.write_last(b"late")
                await stream.settle()
            with pytest.raises(HostError, match="more than 2 B have come"):
                async with here.open(there.address, SERVICE) as mine, await listener_of(listener, mine) as theirs:
                    await theirs.read_to_end(2)
            waiting = asyncio.create_task(listener.accept())
            await asyncio.sleep(0)
            serving = asyncio.create_task(there.serve(SERVICE + 1, reverse))
            await asyncio.sleep(0)
            daemons[1].process.terminate()
            for task in (waiting, serving):
                with pytest.raises(HostError, match="the host is not running"):
                    await task

    async def listener_of(listener: aio.Listener, opened: aio.Stream) -> aio.Stream:
        await opened.write(b"too long")
        return await listener.accept()

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))
    # A second signal while it still drains would end it at once.
    assert daemons[1].process.wait(WATCHDOG_S) == 0
