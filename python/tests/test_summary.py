"""The dataclasses of a summary have the fields and the types of the structs in Rust that write `summary.json`."""

import dataclasses
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest

import pullnet
from pullnet.results import show, summary

RECORD = Path(__file__).parents[2] / "crates" / "model" / "record" / "src"
NAMES = {"StuckSummary": "StuckFlow", "CostSummary": "Cost"}
"""Structs whose class has another name."""
BY_HAND = {"About", "Cost"}
"""Structs that are not part of the file."""
NUMBERS = {"u64": "int", "u32": "int", "f64": "float", "bool": "bool", "String": "str", "&'static str": "str"}


def structs() -> dict[str, dict[str, str]]:
    """The types of the fields of each struct in the summary, as Python writes them."""
    text = "".join((RECORD / name).read_text() for name in ("summary.rs", "counts.rs", "spread.rs"))
    found = re.findall(r"pub struct (\w+) \{\n(.*?)\n\}", text, re.DOTALL)
    fields = {name: re.findall(r"^    pub (\w+): (.+),$", body, re.MULTILINE) for name, body in found}
    return {
        NAMES.get(name, name): {field: python(kind) for field, kind in rows}
        for name, rows in fields.items()
        if name not in BY_HAND
    }


def python(kind: str) -> str:
    """The type of Python that reads a type of Rust."""
    if inner := re.fullmatch(r"Option<(.+)>", kind):
        return f"{python(inner[1])} | None"
    if inner := re.fullmatch(r"Vec<(.+)>|\[(.+); \d+\]", kind):
        return f"list[{python(inner[1] or inner[2])}]"
    if inner := re.fullmatch(r"BTreeMap<(.+), (.+)>", kind):
        return f"dict[{python(inner[1])}, {python(inner[2])}]"
    return NUMBERS.get(kind) or NAMES.get(kind, kind)


def classes() -> dict[str, dict[str, str]]:
    """The same of the dataclasses."""
    kinds = [kind for kind in vars(summary).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    return {kind.__name__: {row.name: shown(row.type) for row in dataclasses.fields(kind)} for kind in kinds}


def shown(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else short(str(kind))


def short(text: str) -> str:
    return text.replace(f"{summary.__name__}.", "")


def test_classes_have_the_fields_of_the_structs_in_their_order() -> None:
    ours, theirs = classes(), structs()
    assert set(ours) == set(theirs)
    for name, fields in theirs.items():
        assert list(ours[name].items()) == list(fields.items()), name


def test_a_summary_reads_and_keeps_every_key() -> None:
    result = pullnet.run(Path(__file__).parents[2] / "scenarios" / "incast.toml")
    document = json.loads(result.summary_json)
    assert dataclasses.asdict(result.summary) == document


@pytest.mark.parametrize(
    ("us", "shown"),
    [(0.0, "0 us"), (835.1504, "835.15 us"), (1000.0, "1 ms"), (63516.4, "63.5164 ms"), (2_500_000.0, "2.5 s")],
)
def test_a_time_is_shown_in_the_unit_of_its_size(us: float, shown: str) -> None:
    assert show.time(us) == shown


def test_both_ends_of_the_window_are_shown_in_one_unit() -> None:
    run = {"topology": {"kind": "back-to-back"}, "transport": {"kind": "ndp"}, "switch": {"kind": "trim"}}
    text = (
        "duration = '3 ms'\nmeasure = { from = '200 us' }\ntraffic = [{ kind = 'incast', degree = 1, size = '9 kB' }]\n"
    )
    result = pullnet.run(text + "".join(f"{name}.kind = '{of['kind']}'\n" for name, of in run.items()))
    facts = dict(show.facts(result.summary))
    assert facts["simulated"].startswith("3 ms, ")
    assert facts["goodput"].endswith(" in 0.2 to 3 ms")
