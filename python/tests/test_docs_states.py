"""Drawings of state machines are those of the descriptions beside them."""

import hashlib
from pathlib import Path

import pytest

DRAWN = sorted((Path(__file__).parents[2] / "crates" / "core" / "protocols").glob("*/states.dot"))


@pytest.mark.parametrize("dot", DRAWN, ids=[dot.parent.name for dot in DRAWN])
def test_a_drawing_is_of_the_description_beside_it(dot: Path) -> None:
    svg = dot.with_suffix(".svg").read_text()
    assert hashlib.sha256(dot.read_bytes()).hexdigest() in svg, "run tools/site/states.mjs"


def test_the_transports_that_are_used_most_are_drawn() -> None:
    drawn = {
        "d3",
        "dcqcn",
        "dctcp",
        "fastpass",
        "go-back-n",
        "homa",
        "hpcc",
        "mptcp",
        "ndp",
        "pdq",
        "pfabric",
        "phost",
        "roce",
    }
    drawn |= {"scdp", "tcp", "timely"}
    assert drawn <= {dot.parent.name for dot in DRAWN}
