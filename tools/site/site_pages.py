"""Pages of the site: which file of the repository each is made from, and links between them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROTOCOLS = ROOT / "crates" / "core" / "protocols"

_LANGUAGES = {".rs": "rust", ".toml": "toml", ".py": "python", ".sh": "sh", ".c": "c", ".h": "c", ".csv": "text"}
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_MARKER = re.compile(r"^<!-- (?:run|not run|file|output|example)\b.*?-->\n", re.MULTILINE)
_FILE = re.compile(r"^<!-- file (\S+) -->\n```(\w+)\n", re.MULTILINE)
_RUN = re.compile(r"^<!-- run\b.*?-->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"\A(# .*\n)")
_INCLUDE = re.compile(r"^<!-- include: (\S+)(?: (.+?))? -->$", re.MULTILINE)


class PageError(Exception):
    """A page refers to something that does not exist."""


def sources() -> dict[Path, Path]:
    """Return the files that become pages: path in the repository to path in the site."""
    found = {
        Path("README.md"): Path("index.md"),
        **{Path(name): Path("project") / name.lower() for name in _PROJECT},
        **{page: page.relative_to("docs") for page in _relative((ROOT / "docs").rglob("*.md"))},
    }
    for page in _relative((ROOT / "papers").glob("*/README.md")):
        found[page] = Path("papers") / f"{page.parent.name}.md"
    for page in _relative(PROTOCOLS.glob("*/README.md")):
        found[page] = Path("protocols") / f"{page.parent.name}.md"
    for page in _relative(path for path in (ROOT / "crates").rglob("README.md")):
        found.setdefault(page, Path("code") / page.with_suffix("").with_suffix(".md"))
    return found


_PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md", "CHANGELOG.md")


def _relative(paths: Iterator[Path]) -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in paths)


class Site:
    """The pages while they are put together; files that pages link to become pages of their own."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.pages = sources()
        self._shown: set[Path] = set()

    def put(self, source: Path) -> None:
        """Write the page that is made from a file of the repository."""
        text = (ROOT / source).read_text(encoding="utf-8")
        self.write(self.pages[source], self.page_text(text, source))

    def write(self, page: Path, text: str) -> None:
        """Write a page."""
        place = self.target / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def page_text(self, text: str, source: Path) -> str:
        """Return the text of a page: included code in its place, links to pages of the site, no marks of tests."""
        if source.is_relative_to("docs"):
            text = with_note(text)
        text = _MARKER.sub("", titled(text))
        text = outside_fences(text, lambda part: self._links(part, source))
        return _INCLUDE.sub(lambda found: included(found[1], found[2]), text)

    def _links(self, text: str, source: Path) -> str:
        def replace(found: re.Match[str]) -> str:
            target, mark, anchor = found[2].partition("#")
            if not target or "://" in found[2] or target.startswith("mailto:"):
                return found[0]
            return f"{found[1]}{self._link(target, source)}{mark}{anchor}{found[3]}"

        return _LINK.sub(replace, text)

    def _link(self, target: str, source: Path) -> str:
        path = Path(os.path.normpath(source.parent / target))
        if not (ROOT / path).exists():
            raise PageError(f"{source}: links to {target}, which is not there")
        if (ROOT / path).is_dir() and path / "README.md" in self.pages:
            path = path / "README.md"
        page = self.pages.get(path) or self._copied(path)
        return os.path.relpath(page, self.pages[source].parent)

    def _copied(self, path: Path) -> Path:
        """Return the place in the site of a file that is no page; put it there."""
        if path.suffix in {".svg", ".png"}:
            place = path.relative_to("docs") if path.is_relative_to("docs") else Path("code") / path
            (self.target / place).parent.mkdir(parents=True, exist_ok=True)
            (self.target / place).write_bytes((ROOT / path).read_bytes())
            return place
        place = Path("code") / f"{path}.md"
        if place not in self._shown:
            self._shown.add(place)
            self.write(place, folder_page(path) if (ROOT / path).is_dir() else file_page(path))
        return place


_EXAMPLES = {"scenarios": "scenarios", "captures": "python/pullnet/traffic/data"}
"""Folders that examples name, and where they are in a clone."""


def with_note(text: str) -> str:
    """Return a page with a note of the folders that its examples take from a clone, if they take any."""
    examples = "".join(found[1] for found in _RUN.finditer(text))
    used = [name for name in _EXAMPLES if re.search(rf"(?<![\w/]){name}/", examples)]
    if not used:
        return text
    links = "\n".join(f"    ln -s CLONE/{_EXAMPLES[name]} {name}" for name in used)
    folders = " and ".join(f"`{name}`" for name in used)
    note = f"    The examples use {folders} of the clone. In a folder of your own, link to them:"
    return _TITLE.sub(rf'\1\n!!! note "Before you start"\n{note}\n\n    ```sh\n{links}\n    ```\n', text)


def titled(text: str) -> str:
    """Return a page whose blocks that readers save as files have the files' names as titles."""
    return _FILE.sub(r'```\2 title="\1"\n', text)


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Return the text with everything but its code blocks changed."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def file_page(path: Path) -> str:
    """Return a page that shows a file of the repository."""
    return f"# {path.name}\n\n`{path}`\n\n{fence((ROOT / path).read_text(encoding='utf-8'), path)}\n"


def folder_page(path: Path) -> str:
    """Return a page that lists a folder of the repository."""
    names = sorted(f"- `{inner.name}`" for inner in (ROOT / path).iterdir() if not inner.name.startswith("."))
    return "\n".join([f"# {path.name}", "", f"The folder `{path}`:", "", *names, ""])


def fence(text: str, path: Path) -> str:
    """Return code as a block of its language."""
    return f"````{_LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````"


def included(name: str, item: str | None) -> str:
    """Return a file, or the item of it whose first line begins as stated, as a block."""
    path = ROOT / name
    if not path.is_file():
        raise PageError(f"include: {name} is not there")
    text = path.read_text(encoding="utf-8")
    return fence(text if item is None else code_item(text, item, name), path)


def code_item(text: str, item: str, name: str) -> str:
    """Return an item of Rust code with its doc comment, at the left margin.

    The item ends with the first line of its own indentation that begins with a closing bracket, or with its first line
    if that ends with a semicolon.
    """
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.strip().startswith(item)]
    if len(starts) != 1:
        raise PageError(f"include: {name} has {len(starts)} items that begin with {item!r}; one is needed")
    first = last = starts[0]
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    while first and lines[first - 1].startswith((f"{indent}///", f"{indent}#[")):
        first -= 1
    while not lines[last].endswith(";") or last > starts[0]:
        if last > starts[0] and lines[last].startswith((f"{indent}}}", f"{indent}]")):
            break
        last += 1
    return "\n".join(line.removeprefix(indent) for line in lines[first : last + 1])


def fail(error: Exception) -> None:
    """End with the error in one line."""
    sys.exit(f"docs: {error}")
