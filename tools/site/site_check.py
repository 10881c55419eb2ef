"""Checks the finished site: `site_check.py FOLDER`. Links and pictures are there; nothing comes from other hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
_LOADING_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "manifest"}


class Page(HTMLParser):
    """The addresses that a page loads or links to, and the places in it that links can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in the addresses of an element."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if (name := _LOADED.get(tag)) in given:
            self.loaded.append(given[name])
        if tag == "link":
            loads = _LOADING_RELATIONS & set(given.get("rel", "").split())
            (self.loaded if loads else self.linked).append(given.get("href", ""))
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])


def problems(folder: Path) -> Iterator[str]:
    """Yield what is wrong, page by page."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{path}: loads {address} from another host"
        for address in [*page.loaded, *page.linked]:
            yield from _missing(path, address, pages)
    index = folder / "search" / "search_index.json"
    if not index.is_file():
        yield f"{index}: is not there, so a search finds nothing; keep the plugin `search` in tools/site/mkdocs.yml"


def _missing(path: Path, address: str, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or path.name == "404.html":
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        yield f"{path}: {address} is not there"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
        yield f"{path}: {address} names no place of that page"


def main() -> None:
    """Report everything that is wrong."""
    found = list(problems(Path(sys.argv[1]).resolve()))
    if found:
        sys.exit("\n".join(["docs: the site has faults", *found]))


if __name__ == "__main__":
    main()
