"""`pullnet.host.aio`: streams of two daemons in one event loop."""

import asyncio
import logging
import select
import subprocess
import sys
import threading
from collections.abc import Awaitable
from functools import partial

import pytest

from pullnet import host
from pullnet.errors import HostError, InputError
from pullnet.host import aio

from .conftest import WATCHDOG_S
from .test_host import Daemon, daemons, folder
from .test_host import reverse as reverse_in_a_thread

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
        with pytest.raises(HostError, match="refused: no application listens at the service"):
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


async def pair(daemons: tuple[Daemon, Daemon]) -> tuple[aio.Stream, aio.Stream, aio.Listener]:
    """A stream at both ends, and the listener that has accepted it."""
    here, there = (aio.connect(daemon.socket) for daemon in daemons)
    listener = there.listen(SERVICE)
    mine = here.open(there.address, SERVICE)
    await mine.write(b"x")
    theirs = await listener.accept()
    assert await theirs.read() == b"x"
    return mine, theirs, listener


async def fill(stream: aio.Stream) -> None:
    """Write until somebody reads, which nobody does."""
    while True:
        await stream.write(bytes(1 << 20))


def test_a_task_that_settles_leaves_the_ring_to_the_one_that_writes(daemons: tuple[Daemon, Daemon]) -> None:
    pieces = 0

    async def write(stream: aio.Stream) -> None:
        nonlocal pieces
        while True:
            await stream.write(bytes(64 << 10))
            pieces += 1

    async def standstill() -> int:
        before = -1
        while pieces != before:
            before = pieces
            await asyncio.sleep(0.5)
        return before

    async def settle(mine: aio.Stream, theirs: aio.Stream) -> None:
        # Makes room for the writer. The loop looks at the doorbell only after this task has tried to settle.
        while not select.select([mine._stream.writable], [], [], 0)[0]:
            theirs._stream.try_read(64 << 10)
        await mine.settle()

    async def talk() -> None:
        mine, theirs, _ = await pair(daemons)
        writing = asyncio.create_task(write(mine))
        before = await standstill()
        settling = asyncio.create_task(settle(mine, theirs))
        await asyncio.sleep(0)
        assert await standstill() > before
        assert not settling.done()
        mine.abort()
        for task in (writing, settling):
            with pytest.raises(HostError, match=r"is closed$"):
                await task

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


@pytest.mark.parametrize("way", ["close", "abort", "close in a thread"])
def test_tasks_that_wait_end_at_a_close(daemons: tuple[Daemon, Daemon], way: str) -> None:
    async def talk() -> None:
        mine, theirs, listener = await pair(daemons)
        waits: list[Awaitable[object]] = [mine.read(), mine.read_to_end(), fill(mine)]
        waiting = [asyncio.ensure_future(each) for each in waits]
        # The other host holds the stream soon, so that it does not settle.
        await asyncio.wait(waiting, timeout=0.5)
        waits = [mine.settle(), listener.accept(), listener.accept()]
        waiting += [asyncio.ensure_future(each) for each in waits]
        _, pending = await asyncio.wait(waiting, timeout=0.3)
        assert len(pending) == len(waiting)
        for each in (mine.abort if way == "abort" else mine.close, listener.close):
            await (asyncio.to_thread(each) if "thread" in way else asyncio.sleep(0, each()))
        for task, what in zip(waiting, 4 * ["the stream"] + 2 * [f"the listener for service {SERVICE}"], strict=True):
            with pytest.raises(HostError, match=f"^{what} is closed$") as caught:
                await task
            assert caught.value.code == "closed"
        for again in (mine.read, partial(mine.write, b"x"), mine.settle, listener.accept):
            with pytest.raises(HostError, match=r"is closed$"):
                await again()
        theirs.close()

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_a_loop_over_a_listener_ends_when_it_is_closed(daemons: tuple[Daemon, Daemon]) -> None:
    async def count(listener: aio.Listener) -> int:
        return len([stream async for stream in listener])

    async def talk() -> None:
        _, _, listener = await pair(daemons)
        counting = asyncio.create_task(count(listener))
        await asyncio.sleep(0.1)
        listener.close()
        assert await counting == 0

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_a_listener_that_was_closed_leaves_the_next_one_alone(daemons: tuple[Daemon, Daemon]) -> None:
    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        first = there.listen(SERVICE)
        first.close()
        second = await listen_again(there)
        with pytest.raises(HostError, match=r"is closed$"):
            await first.accept()
        first.close()
        del first
        async with here.open(there.address, SERVICE) as mine:
            await mine.write_last(b"abc")
            assert await (await second.accept()).read_to_end() == b"abc"
        second.close()

    async def listen_again(there: aio.Host) -> aio.Listener:
        while True:
            try:
                return there.listen(SERVICE)
            except HostError as error:
                # The daemon has not noticed the close yet.
                assert error.code == "service taken"
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_tasks_that_accept_at_the_same_time_share_the_streams(daemons: tuple[Daemon, Daemon]) -> None:
    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        with there.listen(SERVICE) as listener:
            waiting = [asyncio.create_task(listener.accept()) for _ in range(5)]
            await asyncio.sleep(0.1)
            waiting[0].cancel()
            opened = [here.open(there.address, SERVICE) for _ in range(4)]
            for number, stream in enumerate(opened):
                await stream.write_last(bytes([number]))
            accepted = await asyncio.gather(*waiting[1:])
            assert sorted([await stream.read_to_end() for stream in accepted]) == [
                bytes([number]) for number in range(4)
            ]

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


def test_wrong_numbers_are_refused_and_no_bytes_are_no_wait(daemons: tuple[Daemon, Daemon]) -> None:
    async def talk() -> None:
        mine, theirs, _ = await pair(daemons)
        assert await theirs.read(0) == b""
        await mine.write(b"abc")
        assert await theirs.read(2) + await theirs.read(0) + await theirs.read(1) == b"abc"
        with pytest.raises(InputError, match="most=-1: "):
            await theirs.read(-1)
        here = aio.connect(daemons[0].socket)
        with pytest.raises(ValueError, match=r"^service 65536: is out of range; use 0 to 65535"):
            here.open(daemons[1].address, 65536)
        with pytest.raises(ValueError, match=r"^service -1: is out of range; use 0 to 65535"):
            here.listen(-1)
        with pytest.raises(ValueError, match=r"^priority 256: is out of range; use 0 to 255"):
            await here.call(daemons[1].address, SERVICE, b"x", priority=256)
        with pytest.raises(TypeError):
            here.open(daemons[1].address, "7")  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


@pytest.mark.parametrize("daemons", ["[limits]\nstreams_per_application = 3\n"], indirect=True)
@pytest.mark.parametrize("threads", [False, True])
def test_a_server_goes_on_when_its_application_is_full(
    daemons: tuple[Daemon, Daemon], caplog: pytest.LogCaptureFixture, threads: bool
) -> None:
    stop = threading.Event()

    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        if threads:
            stack = host.connect(daemons[1].socket)
            serving = asyncio.ensure_future(
                asyncio.to_thread(host.serve, SERVICE, reverse_in_a_thread, stack=stack, stop=stop)
            )
        else:
            serving = asyncio.ensure_future(there.serve(SERVICE, reverse))
        while not any(one["listeners"] for one in host.status(daemons[1].socket)["applications"]):
            await asyncio.sleep(0.01)
        idle = [here.open(there.address, SERVICE) for _ in range(4)]
        for stream in idle:
            await stream.write(b"x")
        while "limits allow" not in caplog.text:
            assert not serving.done()
            await asyncio.sleep(0.01)
        waiting = asyncio.create_task(here.call(there.address, SERVICE, b"abc"))
        await asyncio.sleep(0.2)
        for stream in idle:
            stream.abort()
        assert await waiting == b"cba"
        assert not serving.done()
        # Many attempts, one line.
        assert caplog.text.count("a stream cannot be accepted yet: this host has as many streams") == 1
        stop.set()
        if not threads:
            serving.cancel()
        await asyncio.wait([serving])

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


@pytest.mark.parametrize("daemons", ["[limits]\nstreams_per_application = 3\n"], indirect=True)
def test_a_loop_over_a_listener_goes_on_when_the_application_is_full(daemons: tuple[Daemon, Daemon]) -> None:
    async def talk() -> None:
        here, there = (aio.connect(daemon.socket) for daemon in daemons)
        with there.listen(SERVICE) as listener:
            opened = [here.open(there.address, SERVICE) for _ in range(6)]
            for stream in opened:
                await stream.write_last(b"x")
            held: list[aio.Stream] = []
            count = 0
            async for stream in listener:
                count += 1
                held.append(stream)
                if count == 2:
                    with pytest.raises(HostError, match="limits allow") as caught:
                        await listener.accept()
                    assert caught.value.code == "full"
                    asyncio.get_running_loop().call_later(0.2, held[0].close)
                if count > 2:
                    held[count - 2].close()
                if count == 6:
                    break

    asyncio.run(asyncio.wait_for(talk(), WATCHDOG_S))


FEW_DESCRIPTORS = """
import asyncio, resource, sys
from pathlib import Path
from pullnet import host
from pullnet.errors import HostError
from pullnet.host import aio

kind, socket, to = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

async def same(request):
    return request.body

if kind == "aio":
    asyncio.run(aio.connect(socket).serve(7, same))
elif kind == "threads":
    host.serve(7, lambda request: request.body, socket=socket, workers=64)
else:
    stack = host.connect(socket)
    taken = []
    try:
        while True:
            taken.append(open("/dev/null"))
    except OSError:
        pass
    # The first call has no room for any of the three descriptors of a stream, the next ones for one and for two.
    for _ in range(3):
        try:
            stack.call(to, 7, b"x", 0, 30.0)
        except HostError as error:
            print(error.code, error)
        taken.pop().close()
    print(stack.call(to, 7, b"abc", 0, 30.0))
"""


def few_descriptors(kind: str, daemon: Daemon, to: Daemon) -> subprocess.Popen[str]:
    """An application that may have 64 file descriptors."""
    command = [sys.executable, "-c", FEW_DESCRIPTORS, kind, str(daemon.socket), to.address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kind", ["aio", "threads"])
def test_a_server_without_file_descriptors_loses_no_stream(daemons: tuple[Daemon, Daemon], kind: str) -> None:
    async def talk(serving: subprocess.Popen[str]) -> None:
        here = aio.connect(daemons[0].socket)
        while not any(one["listeners"] for one in host.status(daemons[1].socket)["applications"]):
            assert serving.poll() is None
            await asyncio.sleep(0.01)
        # More than it has file descriptors for.
        streams = [here.open(daemons[1].address, SERVICE) for _ in range(50)]
        for stream in streams:
            await stream.write(b"x")
        assert serving.stderr is not None
        line = await asyncio.to_thread(serving.stderr.readline)
        assert "no file descriptors left" in line
        assert "RLIMIT_NOFILE" in line
        # The streams that it has go on, and make room for the others.
        for stream in streams:
            await stream.write_last(b"y")
        assert await asyncio.gather(*(stream.read_to_end() for stream in streams)) == [b"xy"] * len(streams)
        assert serving.poll() is None

    with few_descriptors(kind, daemons[1], daemons[1]) as serving:
        try:
            asyncio.run(asyncio.wait_for(talk(serving), WATCHDOG_S))
        finally:
            serving.kill()


def test_a_caller_without_file_descriptors_keeps_its_connection(daemons: tuple[Daemon, Daemon]) -> None:
    async def serve(calling: subprocess.Popen[str]) -> tuple[str, str]:
        serving = asyncio.create_task(aio.connect(daemons[1].socket).serve(SERVICE, reverse))
        said = await asyncio.to_thread(calling.communicate)
        serving.cancel()
        return said

    calling = few_descriptors("caller", *daemons)
    said, wrong = asyncio.run(asyncio.wait_for(serve(calling), WATCHDOG_S))
    assert (calling.returncode, wrong) == (0, "")
    *refused, answer = said.splitlines()
    assert len(refused) == 3
    assert all(line.startswith("full ") and "no file descriptors left" in line for line in refused)
    assert answer == "b'cba'"
