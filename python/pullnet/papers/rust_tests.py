"""Properties that a run cannot show: tests of the Rust workspace, run where there is one."""

import shutil
import subprocess
from pathlib import Path

from pullnet.papers import model
from pullnet.papers.judge import Measured
from pullnet.papers.model import RustTest


def workspace() -> Path | None:
    """Folder of the Rust workspace, if this is a checkout and there is a compiler."""
    root = model.folder().resolve().parent
    return root if (root / "Cargo.toml").is_file() and shutil.which("cargo") else None


def measure(tests: list[RustTest], *, run: bool) -> Measured:
    """Run the tests and say whether they pass."""
    commands = "; ".join(" ".join(test.command) for test in tests)
    root = workspace() if run else None
    if root is None:
        return Measured(note=f"shown by the test suite, not by a run: {commands}")
    wrong = [test.name for test in tests if not passes(test, root)]
    return Measured(holds=not wrong, note=f"by {commands}" + (f"; failing: {', '.join(wrong)}" if wrong else ""))


def passes(test: RustTest, root: Path) -> bool:
    """Whether the test exists and passes."""
    done = subprocess.run(test.command, cwd=root, capture_output=True, text=True, check=False)
    return done.returncode == 0 and any(f"{n} passed" in done.stdout for n in range(1, 50))
