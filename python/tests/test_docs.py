"""What the documents show works."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_examples_of_the_python_guide_run(tmp_path: Path) -> None:
    one, files, many = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for text in (one + files, many):
        (tmp_path / "guide.py").write_text(text)
        command = [sys.executable, "guide.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_every_scenario_checks() -> None:
    import pullnet

    scenarios = sorted((ROOT / "scenarios").glob("*.toml"))
    assert scenarios
    for scenario in scenarios:
        pullnet.check(scenario)
