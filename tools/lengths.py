"""Fails where a function has more than 60 lines or a struct more than 20 fields and does not say why: tools/lengths.py

A reason is a comment directly above the item, or a line of its documentation, that begins with `Long:`. Rust is
read by the shape that rustfmt gives it: an item ends at the brace in the column in which it begins.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 60
MOST_FIELDS = 20

VISIBILITY = r"(?:pub(?:\([^)]*\))? )?"
FUNCTION = re.compile(rf"^(\s*){VISIBILITY}(?:const |async |unsafe |extern \"C\" )*fn (\w+)")
STRUCT = re.compile(rf"^(\s*){VISIBILITY}struct (\w+).*\{{$")
REASON = re.compile(r"\s*(?://[/!]? |# )?Long: \w")


@dataclass(frozen=True)
class Item:
    """A function or a struct that is longer than it may be."""

    path: Path
    number: int
    what: str


def body(lines: list[str], start: int, indent: str) -> list[str]:
    """The lines behind `start` up to the closing line of the item; none for a declaration."""
    for end in range(start, len(lines)):
        line = lines[end]
        if line == indent + "}":
            return lines[start + 1 : end + 1]
        # A declaration in a trait, or an item on one line.
        if line.startswith(indent) and not line.startswith(indent + " ") and line.endswith((";", "}")):
            return []
    return []


def excused(lines: list[str], start: int) -> bool:
    """Whether the comments and attributes above line `start` give a reason."""
    for line in reversed(lines[:start]):
        if not line.lstrip().startswith(("//", "#", "@")):
            return False
        if REASON.match(line):
            return True
    return False


def rust(path: Path, text: str) -> Iterator[Item]:
    """Long items of a Rust source."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if function := FUNCTION.match(line):
            length = len(body(lines, start, function[1])) + 1
            if length > MOST_LINES and not excused(lines, start):
                yield Item(path, start + 1, f"the function {function[2]} has {length} lines, {MOST_LINES} at most")
        elif struct := STRUCT.match(line):
            field = re.compile(rf"^{struct[1]}    {VISIBILITY}\w+: ")
            fields = sum(bool(field.match(inner)) for inner in body(lines, start, struct[1]))
            if fields > MOST_FIELDS and not excused(lines, start):
                yield Item(path, start + 1, f"the struct {struct[2]} has {fields} fields, {MOST_FIELDS} at most")


def python(path: Path, text: str) -> Iterator[Item]:
    """Long functions of a Python source; the parameters of a command are declarations and do not count."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
            if length > MOST_LINES and not excused(lines, node.lineno - 1):
                yield Item(path, node.lineno, f"the function {node.name} has {length} lines, {MOST_LINES} at most")


def main() -> int:
    """Prints what is too long; returns the exit code."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [Path(name) for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    readers = {".rs": rust, ".py": python}
    long = [item for path in paths for item in readers[path.suffix](path, (ROOT / path).read_text())]
    for item in long:
        print(f'{item.path}:{item.number}: {item.what}: split it, or say above it "Long: why"')
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
