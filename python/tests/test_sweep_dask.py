"""`pullnet sweep --on dask://...` with a real scheduler and workers on loopback."""

import os
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import pullnet as api

from .conftest import COMMAND, PLAIN, WATCHDOG_S, Pullnet, wait_until
from .test_sweep import SLOW, records, rows

try:
    import distributed
except ImportError:
    distributed = None  # type: ignore[assignment]

pytestmark = pytest.mark.skipif(distributed is None, reason="no dask.distributed; pip install 'pullnet[dask]'")

Process = subprocess.Popen[str]
Start = Callable[..., Process]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Start]:
    """Starts a part of dask in a process of its own, which ends with the test."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Process:
            log = stack.enter_context((tmp_path / "dask.log").open("a"))
            command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
            if arguments[0] == "worker":
                command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            process = subprocess.Popen([*command, *arguments[1:]], cwd=tmp_path, stdout=log, stderr=log, text=True)
            stack.callback(process.wait, WATCHDOG_S)
            stack.callback(process.kill)
            return process

        yield start


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def scheduler(start: Start) -> tuple[str, Process]:
    """Start a scheduler and return its address."""
    address = f"127.0.0.1:{free_port()}"
    port = address.partition(":")[2]
    process = start(
        "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--dashboard-address", "127.0.0.1:0"
    )
    wait_until(lambda: listens(int(port)))
    return address, process


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def worker(start: Start, address: str, name: str) -> Process:
    """Start a worker that is not restarted."""
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--host", "127.0.0.1"]
    return start("worker", f"tcp://{address}", *options)


def sweep(folder: Path, address: str, *arguments: str) -> Process:
    command = [str(COMMAND), "sweep", "it.toml", "--on", f"dask://{address}", "-o", "out", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_worker_killed_half_way_costs_nothing_and_counts_nothing_twice(dask: Start, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(SLOW)
    address, _ = scheduler(dask)
    workers = [worker(dask, address, name) for name in ("one", "two")]
    process = sweep(tmp_path, address, "--over", "traffic.1.degree=4,8", "--seeds", "1..6", "--keep", "flows")
    wait_until(lambda: len(records(tmp_path / "out")) >= 5 or process.poll() is not None)
    workers[0].send_signal(signal.SIGKILL)
    kept = records(tmp_path / "out")
    output, told = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0, (output, told)
    assert len(kept) < 12
    assert records(tmp_path / "out").items() >= kept.items()
    assert "12 of 12 runs, 12 of them new" in output
    found = rows(tmp_path / "out")
    assert found.select("seed", "traffic.1.degree").rows() == [(seed, n) for seed in range(1, 7) for n in (4, 8)]
    assert found["run"].n_unique() == 12
    here = api.sweep(tmp_path / "it.toml", {"traffic.1.degree": [4, 8]}, [1, 6], workers=1).runs
    there = found.filter(found["seed"].is_in([1, 6]))
    assert there["fingerprint"].to_list() == here["fingerprint"].to_list()
    assert rows(tmp_path / "out", "flows").group_by("traffic.1.degree", "seed").len().height == 12


def test_files_of_a_scenario_go_along_and_runs_that_are_there_do_not(dask: Start, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,9000,0\n")
    file = 'traffic.0={ kind = "flows", file = "flows.csv" }'
    address, _ = scheduler(dask)
    process = sweep(tmp_path, address, "--seeds", "1..3", "--set", file)
    assert process.stderr is not None
    assert re.match(r"dask://.* has no workers; waiting for one", process.stderr.readline())
    (tmp_path / "elsewhere").mkdir()
    worker(dask, address, "late")
    output, _ = process.communicate(timeout=WATCHDOG_S)
    assert (process.returncode, "3 of 3 runs, 3 of them new" in output) == (0, True)
    expected = [api.run(tmp_path / "it.toml", set=[file], seed=seed).summary.fingerprint for seed in (1, 2, 3)]
    assert rows(tmp_path / "out")["fingerprint"].to_list() == expected
    output, _ = sweep(tmp_path, address, "--seeds", "1..4", "--set", file).communicate(timeout=WATCHDOG_S)
    assert "4 of 4 runs, 1 of them new" in output


def test_an_interruption_and_a_lost_scheduler_keep_what_is_done(dask: Start, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(SLOW)
    address, serving = scheduler(dask)
    worker(dask, address, "one")
    process = sweep(tmp_path, address, "--seeds", "1..20")
    wait_until(lambda: len(records(tmp_path / "out")) >= 2 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WATCHDOG_S)
    kept = records(tmp_path / "out")
    assert (process.returncode, 2 <= len(kept) < 20) == (3, True)
    assert rows(tmp_path / "out").height == len(kept)
    process = sweep(tmp_path, address, "--seeds", "1..20")
    wait_until(lambda: len(records(tmp_path / "out")) > len(kept) or process.poll() is not None)
    serving.kill()
    _, told = process.communicate(timeout=WATCHDOG_S)
    gone = (
        f"error: --on dask://{address}: the scheduler is gone; runs that are done are kept, run the same command again"
    )
    assert (process.returncode, told.splitlines()[-1]) == (2, gone)
    assert records(tmp_path / "out").items() > kept.items()


def test_nobody_answers(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    on = f"dask://127.0.0.1:{free_port()}"
    done = pullnet("sweep", "it.toml", "--on", on, "-o", "out", timeout=120)
    assert done.returncode == 2
    assert f"error: --on {on}: no scheduler answers there: " in done.stderr
    assert "start one with `dask scheduler`" in done.stderr


@pytest.mark.parametrize("greeting", [b"220 mail.example ESMTP\r\n", b"HTTP/1.1 400 Bad Request\r\n", b""])
def test_another_kind_of_server_is_no_scheduler(greeting: bytes, pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)

    class Other(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(greeting)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        on = f"dask://127.0.0.1:{server.server_address[1]}"
        done = pullnet("sweep", "it.toml", "--on", on, "-o", "out", timeout=120)
        server.shutdown()
    assert (done.returncode, done.stderr) == (
        2,
        f"error: --on {on}: something other than a dask scheduler answers there; state the port that `dask scheduler` "
        "prints, usually 8786 (8787 is that of its web page)\n",
    )


def test_without_dask_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    (tmp_path / "distributed").mkdir()
    (tmp_path / "distributed" / "__init__.py").write_text("raise ImportError")
    process = subprocess.run(
        [str(COMMAND), "sweep", "it.toml", "--on", "dask://127.0.0.1:1", "-o", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (
        2,
        "error: --on dask://127.0.0.1:1: needs dask.distributed; install it with `pip install 'pullnet[dask]'`\n",
    )
