"""Puts what a tool has measured into a page, between the two lines that are the tool's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PERFORMANCE = ROOT / "docs" / "performance.md"


def put(page: Path, tool: str, table: str) -> None:
    """Replace the table of `tools/TOOL.py` in a page; end with a word where the page has no place for it."""
    begin, end = f"<!-- table: tools/{tool}.py -->", "<!-- end of table -->"
    text = page.read_text(encoding="utf-8")
    place = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not place.search(text):
        sys.exit(f"{page} has no place for the table: put the lines {begin!r} and {end!r} where it belongs")
    page.write_text(place.sub(lambda _: f"{begin}\n{table}\n{end}", text), encoding="utf-8")
