"""Modules that a run loads, and memory that it takes: little, to keep the memory for the network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pullnet.papers import model

from .conftest import COMMAND, SMALL, WATCHDOG_S

NEVER = ("matplotlib", "numpy", "pandas", "polars", "pyarrow", "pydantic", "scipy", "statsmodels", "arch")
AFTERWARDS = ("rich", "multiprocessing", "concurrent", "hashlib")

SCRIPT = """
import sys
from pullnet import cli
from pullnet.runs import runner
drive = runner.drive
def noted(*arguments):
    print("before", *sys.modules)
    drive(*arguments)
runner.drive = noted
status = cli.status(["run", "small.toml", "--quiet"])
print("after", *sys.modules)
sys.exit(status)
"""


def test_a_run_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    python = COMMAND.with_name("python")
    done = subprocess.run(
        [python, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=True
    )
    before, after = (set(line.split()) for line in done.stdout.splitlines())
    assert not before & {*NEVER, *AFTERWARDS}
    assert not after & set(NEVER)


WEIGHED = """
import sys
from pullnet import cli
from pullnet.runs.cost import peak_bytes
status = cli.status(["run", *sys.argv[1:], "--out", "out", "--force"])
print("peak", peak_bytes())
sys.exit(status)
"""


def peak_mb(flows: int, folder: Path) -> float:
    """The largest memory of `pullnet run` on the network of pHost's authors, results written. Unit: 10^6 bytes."""
    scenario = model.folder() / "phost" / "scenarios" / "standard.toml"
    settings = [f"--set=traffic.0.flows={flows}", "--set=transport.variant=authors"]
    command = [str(COMMAND.with_name("python")), "-c", WEIGHED, str(scenario), *settings]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    return int(done.stdout.rpartition("peak ")[2]) / 1e6


def test_a_small_run_takes_little_memory(tmp_path: Path) -> None:
    assert peak_mb(500, tmp_path) < 55


@pytest.mark.long
def test_a_run_of_100_000_flows_takes_less_than_100_mb(tmp_path: Path) -> None:
    assert peak_mb(100_000, tmp_path) < 100


# A module that Python imports before all others: Ctrl-C comes when `MODULE` is looked for.
CTRL_C = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("module", ["pullnet.errors", "pullnet.cli.app"])
@pytest.mark.parametrize("started", ["command", "module", "program"])
def test_ctrl_c_while_the_command_is_imported(module: str, started: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CTRL_C.replace("MODULE", module))
    command = {
        "command": [str(COMMAND), "--version"],
        "module": [sys.executable, "-m", "pullnet", "--version"],
        "program": [sys.executable, "-c", "import pullnet.cli"],
    }[started]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, env=env)
    if started == "program":
        assert done.stderr.endswith("KeyboardInterrupt\n")  # a program decides for itself
    else:
        assert (done.returncode, done.stderr) == (130, "interrupted before the command began\n")
