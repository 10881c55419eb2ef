"""Properties that a run cannot show: tests of the Rust workspace, run where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

from pullnet.papers import model
from pullnet.papers.judge import MeasuredProperty
from pullnet.papers.model import RustTest


def workspace() -> Path | None:
    """Folder of the Rust workspace, if this is a checkout and there is a compiler."""
    root = model.folder().resolve().parent
    return root if (root / "Cargo.toml").is_file() and shutil.which("cargo") else None


def measure(tests: list[RustTest], *, run: bool) -> MeasuredProperty:
    """Run the tests and say whether they pass. A test that does not exist shows nothing."""
    commands = "; ".join(" ".join(test.command) for test in tests)
    root = workspace() if run else None
    if root is None:
        return MeasuredProperty(note=f"shown by the test suite, not by a run: {commands}")
    found = {test.name: outcome(test, root) for test in tests}
    missing = [name for name, passed in found.items() if passed is None]
    if missing:
        return MeasuredProperty(note=f"the workspace has no test of the name {', '.join(missing)} yet")
    return MeasuredProperty(holds=all(found.values()), note=f"by {commands}")


def outcome(test: RustTest, root: Path) -> bool | None:
    """Whether the test passes; `None` if there is no such test."""
    done = subprocess.run(test.command, cwd=root, capture_output=True, text=True, check=False)
    counts = re.findall(r"(\d+) passed; (\d+) failed", done.stdout)
    return done.returncode == 0 if any(int(passed) + int(failed) for passed, failed in counts) else None
