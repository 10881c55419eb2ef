"""Drawings of state machines are those of the descriptions beside them."""

import hashlib
from pathlib import Path

import pytest

import pullnet

from .page_examples import ROOT, module_of_site

PROTOCOLS = ROOT / "crates" / "core" / "protocols"
DRAWN = sorted(PROTOCOLS.glob("*/states.dot"))


@pytest.mark.parametrize("dot", DRAWN, ids=[dot.parent.name for dot in DRAWN])
def test_a_drawing_is_of_the_description_beside_it(dot: Path) -> None:
    svg = dot.with_suffix(".svg").read_text()
    assert hashlib.sha256(dot.read_bytes()).hexdigest() in svg, "run tools/site/states.mjs"


def test_every_transport_with_a_page_is_drawn() -> None:
    pages = PROTOCOLS.glob("*/README.md")
    assert {dot.parent.name for dot in DRAWN} == {page.parent.name for page in pages}


def test_the_list_of_protocols_leads_to_a_page_for_each() -> None:
    pages = {page.parent.name for page in PROTOCOLS.glob("*/README.md")}
    reference = module_of_site("reference")
    for name in pullnet.catalogue("protocols"):
        page = reference.page_of(name)
        assert page in pages
        assert f"[`{name}`]({page}.md)" in reference.protocols_page()
