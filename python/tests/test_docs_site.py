"""Additions of the documentation site to the pages: names of files, and places of the examples' folders."""

from pathlib import Path
from types import ModuleType

import pytest

from .page_examples import ROOT, blocks, module_of_site


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The module that makes pages."""
    return module_of_site("site_pages")


def page_of(pages: ModuleType, source: str, tmp_path: Path) -> str:
    site = pages.Site(tmp_path)
    text: str = site.page_text((ROOT / source).read_text(encoding="utf-8"), Path(source))
    return text


def test_a_file_to_be_saved_has_its_name_as_title(pages: ModuleType, tmp_path: Path) -> None:
    page = page_of(pages, "docs/how-to/own-topology.md", tmp_path)
    assert '```toml title="two-sites.toml"' in page
    assert '```toml title="sites.toml"' in page
    assert "<!--" not in page


def test_every_file_that_a_page_has_saved_is_named(pages: ModuleType, tmp_path: Path) -> None:
    sources = [path for path in pages.sources() if path.suffix == ".md" and path.parts[0] == "docs"]
    count = 0
    for source in sources:
        page = page_of(pages, str(source), tmp_path)
        for block in blocks(ROOT / source):
            if block.kind == "file":
                count += 1
                assert f'title="{block.mark.partition(" ")[2]}"' in page, source
    assert count > 10


def test_a_page_says_where_the_folders_of_its_examples_are(pages: ModuleType, tmp_path: Path) -> None:
    page = page_of(pages, "docs/how-to/traffic.md", tmp_path)
    assert page.startswith("# From a capture to a link's size\n\n!!! note")
    assert "    ln -s CLONE/scenarios scenarios\n    ln -s CLONE/python/pullnet/traffic/data captures\n" in page
    assert "!!! note" not in page_of(pages, "docs/how-to/own-topology.md", tmp_path)
    assert "!!! note" not in page_of(pages, "docs/how-to/own-paper.md", tmp_path), "it makes a folder of its own"
    assert "!!! note" not in page_of(pages, "README.md", tmp_path), "its reader is in the clone"
