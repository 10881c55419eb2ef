"""Readers and writers of small texts, for any input."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullnet
from pullnet.results.directory import default_directory
from pullnet.results.show import number
from pullnet.runs.scenario import override_pairs, toml_value

plain = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
words = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(plain | words, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=8)


@given(st.dictionaries(words, values, min_size=1))
def test_what_is_written_as_toml_reads_back(value: dict[str, Any]) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


@given(words, words)
def test_an_override_is_split_at_its_first_equals(path: str, value: str) -> None:
    text = f"{path}={value}"
    if path.partition("=")[0].strip():
        pairs = override_pairs([text])
        assert pairs == [(text.partition("=")[0].strip(), text.partition("=")[2].strip())]
    else:
        with pytest.raises(pullnet.InputError):
            override_pairs([text])


@given(words, st.integers(0, 2**64 - 1))
def test_a_default_directory_is_one_plain_name(name: str, seed: int) -> None:
    folder = default_directory(name, seed)
    assert folder.parent == Path("results")
    assert folder.name.endswith(f"-{seed}")
    assert len(folder.name) < 90
    assert all(c.isascii() and (c.isalnum() or c == "-") for c in folder.name)


@given(st.floats(0, 1e15))
def test_numbers_are_shown_to_four_digits(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=1e-3)


def test_a_value_that_no_scenario_holds_is_refused() -> None:
    with pytest.raises(pullnet.InputError, match="cannot stand in a scenario"):
        toml_value(None)


def test_a_missing_key_of_a_summary_is_named(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text("")
    (tmp_path / "summary.json").write_text(json.dumps({"scenario": "x"}))
    with pytest.raises(pullnet.InputError, match=r"world.*another version"):
        pullnet.load(tmp_path)
