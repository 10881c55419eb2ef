"""Examples on pages, and how they are run.

A comment before a code block says what the block is:

- `<!-- run -->`: commands or Python that work as they stand. `exit=3` states another exit code than 0, and
  `quick='OLD=>NEW'` what makes a long example short in tests; with DOCS_FULL=1 it runs as written. `with=before` puts
  the Python block before it in front.
- `<!-- file NAME -->`: a file that later blocks of the page use.
- `<!-- output -->`: lines that the block before has to print, in this order; `...` stands for any lines between them.
- `<!-- not run: REASON -->`: commands that need what a test does not have, such as root or another machine.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from .conftest import COMMAND, WATCHDOG_S

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_RUNNABLE = {"sh", "bash", "python"}


@dataclass(frozen=True)
class Block:
    """A code block of a page with the mark that stands before it."""

    line: int
    mark: str
    language: str
    text: str

    @property
    def kind(self) -> str:
        """First word of the mark: run, file, output, example, `not`; empty without one."""
        return self.mark.partition(" ")[0]

    @property
    def options(self) -> list[tuple[str, str]]:
        """Words of the mark after its first one, as pairs of name and value."""
        words = (word.partition("=") for word in shlex.split(self.mark.partition(" ")[2]))
        return [(name, value) for name, _, value in words]

    @property
    def unmarked(self) -> bool:
        """Whether it has to say how it is run and does not."""
        return self.language in _RUNNABLE and not (self.kind in {"run", "file"} or self.mark.startswith("not run: "))

    def as_run(self) -> str:
        """The text, shortened as the mark says unless DOCS_FULL is set."""
        text = self.text
        for name, value in self.options:
            if name == "quick":
                old, _, new = value.partition("=>")
                assert old in text, f"line {self.line}: quick={value!r}: {old!r} is not in the block"
                text = text if os.environ.get("DOCS_FULL") else text.replace(old, new)
        return text

    @property
    def exit_code(self) -> int:
        """The exit code that the block ends with."""
        return int(dict(self.options).get("exit", "0"))


def module_of_site(name: str) -> ModuleType:
    """Return a module of tools/site, which is no package."""
    sys.path.insert(0, str(ROOT / "tools" / "site"))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


def blocks(page: Path) -> list[Block]:
    """Return all code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start()) + 1, found["mark"] or "", found["language"], found["text"])
        for found in _BLOCK.finditer(text)
    ]


def run(page: Path, folder: Path) -> None:
    """Run the marked blocks of a page in order, in a folder with the scenarios and captures that ship with pullnet."""
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    (folder / "captures").symlink_to(ROOT / "python" / "pullnet" / "traffic" / "data")
    printed = before = ""
    for number, block in enumerate(blocks(page)):
        place = f"{page.name}, line {block.line}"
        match block.kind:
            case "file":
                (folder / block.mark.partition(" ")[2]).write_text(block.text, encoding="utf-8")
            case "run":
                text = (before if ("with", "before") in block.options else "") + block.as_run()
                before = text if block.language == "python" else before
                done = _run(text, block.language, folder / f"block{number}.py")
                printed = done.stdout
                assert done.returncode == block.exit_code, f"{place}: exit code {done.returncode}\n{printed}"
                for sign in ("Traceback", "DeprecationWarning"):
                    assert sign not in printed, f"{place}:\n{printed}"
            case "output":
                assert not (missing := list(_missing(block.text, printed))), (
                    f"{place}: not printed: {missing}\n{printed}"
                )


def _run(text: str, language: str, script: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-euo", "pipefail", "-c", text]
    if language == "python":
        script.write_text(text, encoding="utf-8")
        command = [sys.executable, str(script)]
    return subprocess.run(
        command,
        cwd=script.parent,
        env={
            **os.environ,
            "HOME": str(script.parent),
            "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
            "MPLBACKEND": "agg",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )


def _missing(expected: str, printed: str) -> Iterator[str]:
    """Yield the first expected line that was not printed in its place; spaces between words may differ."""
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for line in expected.splitlines():
        wanted = " ".join(line.split())
        if wanted not in {"", "..."} and not any(wanted == each for each in lines):
            yield line
            return
