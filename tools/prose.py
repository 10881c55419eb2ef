"""Finds sentences that a reader has to read twice: tools/prose.py [--list] [--max PERCENT] [PATH...]

Reads comments and string literals of Rust and Python, comments of shell scripts and TOML, and text of Markdown
outside code blocks. Prints the share of flagged lines of every folder (a crate, a package or a folder of documents)
that has any, and every line with `--list`. With `--max`, exits with 1 and prints the lines of each folder above
that share; one line alone never fails a folder. A flag is a reason to rewrite the sentence so that it names its
subject.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

START = r"(?:^|[.;:] )"
RULES = {
    # The subject of a sentence is a noun: the packet, the sender, the port.
    "clause as subject": rf"{START}(?:What|Who|Whoever|Whatever|Whichever|That which|Those (?:who|that))\b(?!.*\?)",
    "unnamed subject": r"\b(?:[Ww]ho(?:m)?ever|[Ww]h(?:at|ich)ever|[Nn]obody|[Ss]omebody|[Nn]o one)\b",
    # A pronoun has one referent, in the same sentence.
    "pointer": (
        r"\b(?:th(?:is|at) one|those (?:who|that)|the (?:former|latter)|the other one|the one (?:before|after|that)"
        r"|of wh(?:ich|om)|none of (?:ours|theirs))\b"
    ),
    # Words of the field: prefetch, request, retransmit, without.
    "not the field's word": (
        r"\b(?:asks? for|asked for|asking for|for want of|lies? apart|anew|no more than that|as long as nobody"
        r"|(?:is|are) to be (?:had|found|done)|to be had|shall be)\b"
    ),
}
COMPILED = {rule: re.compile(pattern) for rule, pattern in RULES.items()}

WORDS = 4
"""Fewest words of a string literal that counts as a sentence."""
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Line:
    """A line of text that people read."""

    path: Path
    number: int
    text: str

    def flags(self) -> list[str]:
        """The rules that it breaks."""
        return [rule for rule, pattern in COMPILED.items() if pattern.search(self.text)]


def literals(line: str) -> str:
    """The sentences among the string literals of a line."""
    found = (match.group(1) for match in LITERAL.finditer(line))
    return " | ".join(text for text in found if len(text.split()) >= WORDS)


def rust(text: str) -> Iterator[tuple[int, str]]:
    """Comments and sentences in literals."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r"\s*//[/!]?\s?(.*)", line)
        yield number, comment.group(1) if comment else literals(line)


def python(text: str) -> Iterator[tuple[int, str]]:
    """Comments, docstrings and sentences in literals."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        quotes = line.count('"""')
        stripped = line.strip()
        if inside or quotes:
            yield number, stripped.replace('"""', "")
        elif stripped.startswith("#"):
            yield number, stripped.lstrip("#! ")
        else:
            yield number, literals(line)
        inside ^= quotes % 2 == 1


def hashed(text: str) -> Iterator[tuple[int, str]]:
    """Comments that begin with a hash sign."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield number, line.strip().lstrip("#! ")


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Text outside code blocks."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line.strip()


READERS = {".rs": rust, ".py": python, ".md": markdown, ".sh": hashed, ".toml": hashed}


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a file that hold text."""
    for number, text in READERS[path.suffix](path.read_text()):
        if text.strip():
            yield Line(path, number, text.strip())


def files(paths: list[Path]) -> list[Path]:
    """Files under version control below `paths` that this program reads."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *map(str, paths)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    found = (Path(name) for name in listed.stdout.splitlines())
    return sorted(path for path in found if path.suffix in READERS and (ROOT / path).is_file())


def folder(path: Path) -> str:
    """The room that a file belongs to: its crate, its Python package, or the folder that it lies in."""
    parts = path.parts[:-1]
    for inner in ("src", "tests", "benches", "examples"):
        if "crates" in parts[:1] and inner in parts:
            parts = parts[: parts.index(inner)]
    return "/".join(parts[:4]) or "."


def report(lines: list[Line], limit: float | None, listed: bool) -> bool:
    """Prints shares and lines; returns whether all folders are within `limit` percent."""
    total: Counter[str] = Counter(folder(line.path) for line in lines)
    flagged = [(line, flags) for line in lines if (flags := line.flags())]
    hits = Counter(folder(line.path) for line, _ in flagged)
    judged = {} if limit is None else {name: max(1.0, total[name] * limit / 100) for name in hits}
    above = {name for name, most in judged.items() if hits[name] > most}
    for line, flags in flagged:
        if listed or folder(line.path) in above:
            print(f"{line.path}:{line.number}: {', '.join(flags)}: {line.text}")
    for name, count in sorted(hits.items(), key=lambda row: -row[1] / total[row[0]]):
        if limit is None or name in above:
            print(f"{100 * count / total[name]:5.1f}%  {count:4} of {total[name]:5}  {name}")
    if limit is None:
        print(f"{len(flagged)} of {len(lines)} lines: {100 * len(flagged) / max(1, len(lines)):.1f}%")
    return not above


def main() -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--list", action="store_true", help="print every flagged line")
    parser.add_argument("--max", type=float, metavar="PERCENT", help="highest share of a folder")
    arguments = parser.parse_args()
    lines = [
        Line(line.path.relative_to(ROOT), line.number, line.text)
        for path in files(arguments.paths)
        for line in lines_of(ROOT / path)
    ]
    return 0 if report(lines, arguments.max, arguments.list) else 1


if __name__ == "__main__":
    sys.exit(main())
