"""`pullnet host bench` between two daemons over the kernel's UDP, and over TCP beside it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pullnet import host
from pullnet.cli.main import status
from pullnet.errors import InputError
from pullnet.host import bench

from .conftest import WATCHDOG_S, wait_until
from .test_host import Daemon, daemons, folder

__all__ = ["daemons", "folder"]


@pytest.fixture
def served(daemons: tuple[Daemon, Daemon]) -> Iterator[tuple[Daemon, Daemon]]:
    command = [sys.executable, "-m", "pullnet", "host", "bench", "--serve", "--tcp", "--socket", str(daemons[1].socket)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    assert server.stderr.readline() == "serves benchmarks at service 5201 and at TCP port 5201 until Ctrl-C\n"
    yield daemons
    server.send_signal(signal.SIGINT)
    assert server.wait(WATCHDOG_S) == 0


def measure(here: Daemon, there: Daemon) -> list[str]:
    return ["host", "bench", there.address, "--socket", str(here.socket), "--time", "200 ms"]


def test_a_load_is_measured_over_both(served: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]) -> None:
    command = measure(*served)
    assert status([*command, "--tcp", "--streams", "2", "--direction", "both", "--callers", "2"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("1  ")] == ["ndp", "tcp", "ndp", "tcp"]
    assert sum("2 streams  out " in line and "  in " in line for line in lines) == 2
    assert sum("2 callers  " in line and "99.9% " in line for line in lines) == 2
    assert sum(line.startswith("        processors: here ") for line in lines) == 4
    compared = lines[lines.index("") + 1 :]
    assert [line.partition(":")[0] for line in compared] == [
        "out",
        "in",
        "calls",
        "half of the calls within",
        "99% of the calls within",
    ]
    assert all(" of it" in line for line in compared)


def test_parts_are_data(served: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]) -> None:
    command = measure(*served)
    load = ["--bytes", "2 MB", "--calls", "20", "--request", "100 B", "--answer", "3 kB", "--kept", "--rounds", "2"]
    assert status([*command, "--json", *load]) == 0
    parts = json.loads(capfd.readouterr().out)
    assert [(part["load"], part["round"]) for part in parts] == [
        ("streams", 1),
        ("calls", 1),
        ("streams", 2),
        ("calls", 2),
    ]
    assert all(part["out_bytes"] == 2_000_000 for part in parts if part["load"] == "streams")
    assert all(
        (part["calls"], part["request_bytes"], part["answer_bytes"], part["kept"]) == (20, 100, 3000, True)
        for part in parts
        if part["load"] == "calls"
    )
    assert all(part["cpu"]["there"]["daemon_s"] is not None for part in parts)


def test_what_is_wrong_is_said(daemons: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]) -> None:
    here, there = daemons
    command = measure(here, there)
    assert status(command) == 3
    assert "no application listens at the service; start the other side" in capfd.readouterr().err
    assert status([*command, "--request", "1 B", "--time", "soon"]) == 2
    assert '--time "soon"' in capfd.readouterr().err
    assert status([*command, "--serve"]) == 2
    assert "--serve answers whoever asks" in capfd.readouterr().err
    for option in ("--streams", "--callers"):
        assert status([*command, option, "513"]) == 2
        assert "513 is not in the range 0<=x<=512" in capfd.readouterr().err
    with pytest.raises(InputError, match="--streams 513 is too many; use 512 at most"):
        next(bench.parts(there.address, streams=513))
    assert status(["host", "bench", "--socket", str(here.socket)]) == 2
    assert "which host is measured?" in capfd.readouterr().err
    assert status(["host", "bench", there.address, "--socket", str(here.socket.parent / "none")]) == 3
    assert "there is no such socket; start pullnetd" in capfd.readouterr().err


def test_it_ends_with_ctrl_c(served: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    here, there = served
    command = [sys.executable, "-m", "pullnet", *measure(here, there)[:-1], "3600 s"]
    with (tmp_path / "out").open("w") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out)
        wait_until(lambda: host.status(here.socket)["host"]["totals"]["counts"]["acknowledged_bytes"] > 10_000)
        running.send_signal(signal.SIGINT)
        assert running.wait(WATCHDOG_S) == 3
