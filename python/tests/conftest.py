"""Tests run the installed command as a user does."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's affair.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Modules whose tests need many runs, the fast core, root, or other programs: `pytest -m "not long"` leaves them out.
LONG_MODULES = {
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of long modules."""
    for item in items:
        if item.path.stem in LONG_MODULES:
            item.add_marker(pytest.mark.long)


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

# Flows that never end, and more of them than a test waits for.
LONG = SMALL.replace('until = "all flows done"\nlimit = "100 ms"', 'duration = "100 s"').replace("90 kB", "endless")

Pullnet = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pullnet(tmp_path: Path) -> Pullnet:
    """The command, run in a folder of its own."""

    def run(*arguments: str, timeout: float = WATCHDOG_S) -> subprocess.CompletedProcess[str]:
        command = [str(COMMAND), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout, check=False)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small scenario as a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
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
