"""The glossary has one row for each word, and the places that it names exist."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CRATES = {path.parent.name: path.parent for path in ROOT.glob("crates/**/Cargo.toml")}
ROW = re.compile(r"^\| (?P<words>[^|]+) \| [^|]+ \| (?P<places>[^|]+) \|$")


def rows() -> list[tuple[list[str], list[str]]]:
    """Words and places of each row."""
    found = [ROW.match(line) for line in (ROOT / "GLOSSARY.md").read_text().splitlines()]
    cells = [(row["words"], row["places"]) for row in found if row and row["words"] not in ("word", "---")]
    return [(re.split("[,;] ", words), re.findall(r"`([^`]+)`", places)) for words, places in cells]


@cache
def source(folder: Path, suffix: str) -> str:
    """All code below `folder`."""
    return "\n".join(path.read_text() for path in folder.rglob(f"*{suffix}"))


def is_there(place: str) -> bool:
    """Whether a file exists, or every name of a path behind its crate occurs in the code."""
    if "/" in place:
        crate, _, rest = place.partition("/")
        return any(any(folder.glob(inside)) for folder, inside in [(ROOT, place), (CRATES.get(crate, ROOT), rest)])
    if "::" in place:
        crate, *names = place.split("::")
        code = source(CRATES.get(crate, ROOT / "crates"), ".rs")
        return all(re.search(rf"\b{name}\b", code) for name in (names if crate in CRATES else [crate, *names]))
    code = source(ROOT / "python" / "pullnet", ".py") + source(ROOT / "crates", ".rs")
    return all(re.search(rf"\b{name}\b", code) for name in place.split("."))


def test_every_word_has_one_row() -> None:
    counts = Counter(word for words, _ in rows() for word in words)
    assert len(counts) > 150
    assert [word for word, count in counts.items() if count > 1] == []


def test_every_place_is_in_the_code() -> None:
    places = [(words[0], place) for words, found in rows() for place in found]
    assert [pair for pair in places if not is_there(pair[1])] == []


def test_words_of_the_first_pages_are_explained() -> None:
    known = {word for words, _ in rows() for word in words}
    looked_up = {
        "scenario",
        "run",
        "result",
        "seed",
        "fate",
        "incast",
        "outcast",
        "PFC",
        "headroom",
        "oversubscription",
    }
    assert looked_up - known == set()
