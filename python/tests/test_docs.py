"""Pages describe commands and scenarios correctly; test_docs_examples runs their examples."""

import dataclasses
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from pullnet.cli.app import app
from pullnet.results import summary

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/scenario.md"])
def test_the_scenario_on_the_page_checks(page: str) -> None:
    import pullnet

    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert pullnet.check(text).hosts > 100


def test_the_example_runs_of_the_readme_give_its_numbers() -> None:
    import pullnet

    text = (ROOT / "README.md").read_text()
    found = pullnet.run(ROOT / "scenarios" / "permutation.toml").summary
    ratio = found.packets.data_sent / found.packets.trimmed
    assert f"{found.utilisation.mean:.1%} of all links' capacity as payload" in text
    assert f"one data packet in {ratio:.0f} trimmed; none lost" in text
    assert found.packets.lost == found.packets.dropped == 0
    found = pullnet.run(ROOT / "scenarios" / "incast.toml").summary
    last, packets = found.fct_us.max, 100 * 10
    assert last is not None
    excess = last / (packets * 9064 * 8 / 10_000) - 1
    assert f"100 x 90 kB through one 10 Gb/s link in {last / 1000:.2f} ms, {excess:.1%} above the time" in text
    assert found.timeouts == 0


def test_every_command_that_pages_show_is_one() -> None:
    """Its words name a command, which takes the options and arguments that are shown."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "papers").glob("*.md"),
    ]
    shown = {line for page in pages for line in re.findall(r"^pullnet (.*)$", joined(page), re.MULTILINE)}
    assert len(shown) > 30
    for line in sorted(shown):
        command: Any = get_command(app)
        words = words_of(line)
        while hasattr(command, "commands"):
            command = command.get_command(typer.Context(command), words.pop(0))
        command.make_context(command.name, words)


def joined(page: Path) -> str:
    """The text of a page; lines that end with a backslash go on in the next one."""
    return page.read_text().replace("\\\n", " ")


def words_of(line: str) -> list[str]:
    """The words of the first command of a shell's line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";>|&")
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: word not in {";", ">", "|", "&"}, lexer))


def test_no_empty_line_parts_a_table() -> None:
    """Rows behind an empty line without a header of their own are shown as text."""
    for page in (path for folder in ("docs", "papers", "crates") for path in (ROOT / folder).rglob("*.md")):
        parted = re.search(r"^\|.*\n\n(\|.*)\n(?!\| ?:?-)", page.read_text(), re.MULTILINE)
        assert parted is None, f"{page}: {parted and parted[1][:60]}"


def test_every_scenario_checks() -> None:
    import pullnet

    scenarios = sorted((ROOT / "scenarios").glob("*.toml"))
    assert scenarios
    for scenario in scenarios:
        pullnet.check(scenario)


def test_every_key_of_a_summary_has_its_meaning_on_the_page() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    tables = {part.partition("\n")[0]: part for part in page.partition("\n## summary.json\n")[2].split("\n### ")}
    kinds = [kind for kind in vars(summary).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    assert len(kinds) == 12
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert re.search(rf"^\| `{field.name}` \| `.+` \| [`\w].+ \|$", tables[kind.__name__], re.MULTILINE), field
