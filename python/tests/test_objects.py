"""`pullnet host put`, `get` and `store`, over the kernel's UDP, which needs no privilege."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pullnet.cli.main import status

from .conftest import WATCHDOG_S, wait_until

CONTENT = bytes(range(256)) * 1200


@dataclass
class Store:
    process: subprocess.Popen[str]
    address: str
    folder: Path


def start(folder: Path, number: int) -> Store:
    pid = os.getpid()
    address = f"127.{1 + (pid >> 8) % 250}.{pid % 256}.{200 + number}"
    served = folder / f"store{number}"
    served.mkdir()
    command = [sys.executable, "-m", "pullnet", "host", "store", str(served), "--address", address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(f"serves {served} at {address}:61200")
    return Store(process, address, served)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    running: list[Store] = []
    try:
        running.extend(start(tmp_path, number) for number in range(3))
        yield running
        stops = (signal.SIGINT, signal.SIGTERM, signal.SIGINT)
        for store, stop in zip(running, stops, strict=True):
            store.process.send_signal(stop)
            assert store.process.wait(WATCHDOG_S) == 0, "a signal ends a store"
    finally:
        for store in running:
            store.process.kill()
            store.process.wait()


def test_a_file_goes_to_three_stores_and_comes_back(
    stores: list[Store], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, back, hosts = tmp_path / "file", tmp_path / "back", [store.address for store in stores]
    file.write_bytes(CONTENT)
    assert status(["host", "put", str(file), *hosts, "--name", "object"]) == 0
    said = capfd.readouterr().out
    assert "3 hosts got a copy each: no switch copied symbols for them (--group)" in said
    assert all((store.folder / "object").read_bytes() == CONTENT for store in stores)
    assert status(["host", "get", "object", *hosts, "--out", str(back), "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["bytes"], [host["ok"] for host in report["hosts"]]) == (len(CONTENT), [True] * 3)
    assert back.read_bytes() == CONTENT


def test_stores_that_do_not_have_the_object_are_named(
    stores: list[Store], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (stores[1].folder / "object").write_bytes(CONTENT)
    back, hosts = tmp_path / "back", [store.address for store in stores[:2]]
    assert status(["host", "get", "object", *hosts, "--out", str(back)]) == 3
    assert f"{hosts[0]}:61200: failed" in capfd.readouterr().out
    assert back.read_bytes() == CONTENT
    assert status(["host", "get", "nothing", *hosts, "--out", str(tmp_path / "none")]) == 3
    assert 'failed: no host has the object "nothing"' in capfd.readouterr().out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["put", "nowhere", "127.0.0.1"], "nowhere: there is no such file"),
        (["put", "{file}", "here"], "here: is no address of a host, such as 10.0.0.2 or 10.0.0.2:61200"),
        (["put", "{file}", "127.0.0.1", "127.0.0.1"], "is named twice"),
        (["put", "{file}", "127.0.0.1", "--group", "239.1.0.1"], "needs --interface"),
        (["put", "{file}", "127.0.0.1", "--name", "../up"], "begins with a dot"),
        (["put", "{file}", "127.0.0.1", "--rate", "fast"], '--rate "fast"'),
        (["get", "object", "127.0.0.1", "--out", "/nowhere/file"], "/nowhere: there is no such folder"),
        (["get", "object", "127.0.0.1", "--out", "{file}-none/"], "-none/: there is no such folder"),
        (["get", "object", "127.0.0.1", "--out", "/dev/null"], "/dev/null: cannot be written: it is a device"),
        (["put", "{pipe}", "127.0.0.1"], "is no plain file; put sends one file"),
        (["store", "/nowhere", "--address", "127.0.0.1"], "/nowhere: there is no such folder"),
    ],
)
def test_wrong_arguments_are_told(
    arguments: list[str], what: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert status(["host", *(argument.format(file=file, pipe=pipe) for argument in arguments)]) == 2
    assert what in capfd.readouterr().err


@pytest.mark.parametrize(("way", "stop"), [("get", signal.SIGINT), ("get", signal.SIGTERM), ("put", signal.SIGTERM)])
def test_a_signal_ends_a_transfer_and_leaves_no_part(
    stores: list[Store], tmp_path: Path, way: str, stop: signal.Signals
) -> None:
    here, store = tmp_path / "here", stores[0]
    here.mkdir()
    source, target = (here, store.folder) if way == "put" else (store.folder, here)
    # It would take minutes.
    (source / "object").write_bytes(bytes(30_000_000))
    file = str(here / "object")
    what = [file, store.address] if way == "put" else ["object", store.address, "--out", file]
    command = [sys.executable, "-m", "pullnet", "host", way, *what, "--rate", "1 Mbps"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: running.poll() is not None or any(target.glob(".*.pullnet-part")))
        running.send_signal(stop)
        _, said = running.communicate(timeout=WATCHDOG_S)
    finally:
        running.kill()
    assert (running.returncode, "Traceback" in said) == (3, False)
    # The part of a put is the store's, which removes it when its sender has been silent for a while.
    assert [path.name for path in here.iterdir()] == (["object"] if way == "put" else [])


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_put_that_reads_its_file_for_the_hash(tmp_path: Path, stop: signal.Signals) -> None:
    file = tmp_path / "object"
    # A hole that would take an hour to read.
    with file.open("wb") as made:
        made.truncate(1 << 40)
    command = [sys.executable, "-m", "pullnet", "host", "put", str(file), "127.0.0.1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reads = Path(f"/proc/{running.pid}/fd")
    try:
        wait_until(lambda: running.poll() is not None or any(_is(fd, file) for fd in reads.iterdir()))
        running.send_signal(stop)
        _, said = running.communicate(timeout=WATCHDOG_S)
    finally:
        running.kill()
    assert (running.returncode, "Traceback" in said) == (3, False), said


def _is(descriptor: Path, file: Path) -> bool:
    try:
        return descriptor.readlink() == file
    except OSError:
        return False
