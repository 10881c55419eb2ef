"""The examples in the documents work."""

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from pullnet.cli.app import app

from .conftest import WATCHDOG_S

ROOT = Path(__file__).parents[2]


def test_the_examples_of_the_python_guide_run(tmp_path: Path) -> None:
    *parts, many = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for text in ("".join(parts), many):
        (tmp_path / "guide.py").write_text(text)
        command = [sys.executable, "guide.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_example_of_the_sweep_guide_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sweep.md").read_text(), re.DOTALL)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "guide.py").write_text(text)
    command = [sys.executable, "guide.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "windows.svg").is_file()


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "guide.py").write_text(text)
    done = subprocess.run(
        [sys.executable, tmp_path / "guide.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", ["README.md", "docs/scenario.md"])
def test_the_scenario_on_the_page_checks(page: str) -> None:
    import pullnet

    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert pullnet.check(text).hosts > 100


def test_every_command_that_pages_show_is_one() -> None:
    """Its words name a command, which takes the options and arguments that are shown."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "papers").glob("*.md"),
    ]
    shown = {line for page in pages for line in re.findall(r"^pullnet (.*)$", page.read_text(), re.MULTILINE)}
    assert len(shown) > 30
    for line in sorted(shown):
        command: Any = get_command(app)
        words = words_of(line)
        while hasattr(command, "commands"):
            command = command.get_command(typer.Context(command), words.pop(0))
        command.make_context(command.name, words)


def words_of(line: str) -> list[str]:
    """The words of the first command of a shell's line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";>|&")
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: word not in {";", ">", "|", "&"}, lexer))


def test_every_scenario_checks() -> None:
    import pullnet

    scenarios = sorted((ROOT / "scenarios").glob("*.toml"))
    assert scenarios
    for scenario in scenarios:
        pullnet.check(scenario)
