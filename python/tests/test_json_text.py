"""JSON that any reader takes: no NaN, no infinity, no half of a character."""

import json
import math

import numpy as np
import pytest

from pullnet.json_text import dumps
from pullnet.traffic.quantities import shown_number, shown_rate


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def test_numbers_that_json_has_not_become_null() -> None:
    document = {"a": math.nan, "b": [1.5, -math.inf, (np.float64("inf"), {"c": math.nan})], "d": True, "e": None}
    assert json.loads(dumps(document), parse_constant=refuse) == {
        "a": None,
        "b": [1.5, None, [None, {"c": None}]],
        "d": True,
        "e": None,
    }


def test_names_are_kept_even_those_that_are_no_unicode() -> None:
    name = "Zürich \udcff \N{GRINNING FACE}"
    text = dumps({"path": name}, indent=None)
    assert "Zürich" in text
    assert json.loads(text.encode("utf-8")) == {"path": name}


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_shown_as_a_dash(value: float | None) -> None:
    assert shown_number(value) == "-"
    assert value is None or shown_rate(value) == "-"
