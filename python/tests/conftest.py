"""Tests run the installed command as a user does."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's affair.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Modules whose tests need many runs, the fast core, root, or other programs: `pytest -m "not long"` leaves them out.
LONG_MODULES = {
    "test_completion",
    "test_deb",
    "test_docs",
    "test_fingerprints",
    "test_host",
    "test_host_aio",
    "test_host_bench",
    "test_host_proxy",
    "test_ideal",
    "test_papers_linux",
    "test_papers_run",
    "test_rerun",
    "test_scheduling",
    "test_stall",
    "test_sweep",
    "test_sweep_dask",
    "test_sweep_folder",
    "test_sweep_slurm",
    "test_switch",
    "test_switch_kernel",
    "test_testbed",
    "test_traffic_billing",
    "test_traffic_dimension",
    "test_traffic_fit",
    "test_traffic_laws",
    "test_traffic_load",
    "test_traffic_memory",
    "test_traffic_models",
    "test_traffic_real",
    "test_traffic_report",
    "test_traffic_study",
    "test_traffic_synthesis",
    "test_traffic_volumes",
}


# Modules whose tests make network namespaces and look at all that there are: never at the same time.
NAMESPACE_MODULES = {
    "test_docs",
    "test_host",
    "test_host_aio",
    "test_host_bench",
    "test_host_proxy",
    "test_papers_linux",
    "test_switch",
    "test_switch_kernel",
    "test_testbed",
}


def pytest_configure() -> None:
    """Heed SIGINT, also where a shell started the tests in the background and so had them ignore it.

    Commands that tests start inherit what they find here.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of long modules, and says which tests one process runs if there are several."""
    for item in items:
        module = item.path.stem
        if module in LONG_MODULES:
            item.add_marker(pytest.mark.long)
        item.add_marker(pytest.mark.xdist_group("namespaces" if module in NAMESPACE_MODULES else module))


WATCHDOG_S = 900.0
"""Time after which a test is stuck. Nothing is measured by it."""

COMMAND = Path(sys.executable).with_name("pullnet")

# 16 hosts, a permutation beside an incast, every probe on: a fraction of a second.
SMALL = """
name = "Small"
seed = 3
until = "all flows done"
limit = "100 ms"

[topology]
kind = "fat-tree"
k = 4
link = { rate = "10 Gbps", delay = "1 us" }

[transport]
kind = "ndp"

[switch]
kind = "trim"

[[traffic]]
kind = "permutation"
size = "90 kB"
tag = "bulk"

[[traffic]]
kind = "incast"
degree = 8
size = "45 kB"
to = 0
tag = "incast"

[probes]
ports = true
latency = true
control = true
series = { interval = "10 us", per = "total" }
"""

# The same without probes.
PLAIN = SMALL[: SMALL.index("[probes]")]

# Flows that never end, and more of them than a test waits for.
LONG = SMALL.replace('until = "all flows done"\nlimit = "100 ms"', 'duration = "100 s"').replace("90 kB", "endless")

Pullnet = Callable[..., subprocess.CompletedProcess[str]]


class CommandServer:
    """The command in a process that has imported it, for tests that do not look at the process."""

    def __init__(self, scratch: Path) -> None:
        self._outputs = [scratch / "stdout", scratch / "stderr"]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        server = [sys.executable, str(Path(__file__).with_name("command_server.py"))]
        pipe = subprocess.PIPE
        return subprocess.Popen(server, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def run(self, folder: Path, arguments: tuple[str, ...], timeout: float) -> subprocess.CompletedProcess[str]:
        """Run the command in `folder`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        request = {
            "arguments": [str(word) for word in arguments],
            "folder": str(folder),
            "environment": dict(os.environ),
            "stdout": str(self._outputs[0]),
            "stderr": str(self._outputs[1]),
        }
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        if not select.select([stdout], [], [], timeout)[0]:
            self.close()
            self._process = self._start()
            raise subprocess.TimeoutExpired(["pullnet", *arguments], timeout)
        code = int(stdout.readline())
        return subprocess.CompletedProcess(["pullnet", *arguments], code, *(path.read_text() for path in self._outputs))

    def close(self) -> None:
        """End the process, and the command in it."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="session")
def command_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandServer]:
    """The process that runs the command for all tests."""
    server = CommandServer(tmp_path_factory.mktemp("command"))
    yield server
    server.close()


@pytest.fixture
def pullnet(tmp_path: Path, command_server: CommandServer) -> Pullnet:
    """The command, run in a folder of its own."""

    def run(*arguments: str, timeout: float = WATCHDOG_S) -> subprocess.CompletedProcess[str]:
        return command_server.run(tmp_path, arguments, timeout)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small scenario as a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """The small scenario without probes as a file."""
    path = tmp_path / "plain.toml"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """The long scenario as a file."""
    path = tmp_path / "long.toml"
    path.write_text(LONG)
    return path


Found = TypeVar("Found")


def wait_until(look: Callable[[], Found]) -> Found:
    """Look until there is something, and return it."""
    end = time.monotonic() + WATCHDOG_S
    while not (found := look()):
        assert time.monotonic() < end, "it has never come"
        time.sleep(0.05)
    return found


def summary_of(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary
