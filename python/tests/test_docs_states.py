"""Drawings of state machines are those of the descriptions beside them."""

import hashlib
from pathlib import Path

import pytest

DRAWN = sorted((Path(__file__).parents[2] / "crates" / "core" / "protocols").glob("*/states.dot"))


@pytest.mark.parametrize("dot", DRAWN, ids=[dot.parent.name for dot in DRAWN])
def test_a_drawing_is_of_the_description_beside_it(dot: Path) -> None:
    svg = dot.with_suffix(".svg").read_text()
    assert hashlib.sha256(dot.read_bytes()).hexdigest() in svg, "run tools/site/states.mjs"


def test_the_transport_to_learn_from_is_drawn() -> None:
    assert {"go-back-n", "ndp"} <= {dot.parent.name for dot in DRAWN}
