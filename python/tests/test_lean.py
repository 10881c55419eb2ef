"""Modules that a run loads: few, to keep memory for the network and to send the first packet soon."""

import subprocess
from pathlib import Path

from .conftest import COMMAND, SMALL, WATCHDOG_S

NEVER = ("matplotlib", "numpy.f2py", "pandas", "polars", "pydantic", "scipy", "statsmodels", "arch")
AFTERWARDS = ("numpy", "pyarrow", "rich", "multiprocessing", "concurrent", "hashlib")

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
