"""Every command and every piece of Python on the pages works as it stands."""

from pathlib import Path

import pytest

from . import page_examples
from .page_examples import ROOT, Block, blocks

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "papers").glob("*/README.md")),
    *sorted((ROOT / "crates").rglob("README.md")),
]

FIRST = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
"""Pages that a new user reads first; the examples of all pages together take minutes."""

OTHERS = [page for page in PAGES if page not in FIRST and any(block.kind == "run" for block in blocks(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_example_says_how_it_is_run(page: Path) -> None:
    assert [f"line {block.line}" for block in blocks(page) if block.unmarked] == []


@pytest.mark.parametrize("page", FIRST, ids=name_of)
def test_the_examples_of_a_first_page_run(page: Path, tmp_path: Path) -> None:
    page_examples.run(page, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("page", OTHERS, ids=name_of)
def test_the_examples_of_the_page_run(page: Path, tmp_path: Path) -> None:
    page_examples.run(page, tmp_path)


def written(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<!-- run -->\n```sh\nfalse\n```\n", "exit code 1"),
        ("<!-- run exit=2 -->\n```sh\ntrue\n```\n", "exit code 0"),
        ("<!-- run -->\n```sh\nfalse | true\n```\n", "exit code 1"),
        ("<!-- run -->\n```sh\npullnet run none.toml\n```\n", "none.toml"),
        ("<!-- run -->\n```python\nimport pullnet\npullnet.nothing\n```\n", "AttributeError"),
        (
            "<!-- run -->\n```python\nimport warnings\n\nwarnings.warn('old', DeprecationWarning)\n```\n",
            "DeprecationWarning: old",
        ),
        ("<!-- run -->\n```sh\necho one\n```\n<!-- output -->\n```text\ntwo\n```\n", "not printed"),
        ("<!-- run quick='5=>1' -->\n```sh\ntrue\n```\n", "is not in the block"),
    ],
)
def test_an_example_that_does_not_work_is_found(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=fault):
        page_examples.run(written(tmp_path, text), tmp_path)


def test_an_example_is_shortened_for_tests_only(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(1, "run quick='1..50=>1..2'", "sh", "pullnet sweep a.toml --seeds 1..50\n")
    monkeypatch.delenv("DOCS_FULL", raising=False)
    assert block.as_run() == "pullnet sweep a.toml --seeds 1..2\n"
    monkeypatch.setenv("DOCS_FULL", "1")
    assert block.as_run() == block.text


def test_a_block_without_a_mark_is_reported(tmp_path: Path) -> None:
    (block,) = blocks(written(tmp_path, "text\n\n```sh\ntrue\n```\n"))
    assert block.unmarked
