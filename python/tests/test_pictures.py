"""The pictures of the documentation are what their script draws."""

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools/pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES = script()


@pytest.mark.parametrize("name", PICTURES.PICTURES)
def test_a_picture_is_drawn_by_the_script_and_shown_on_a_page(name: str) -> None:
    drawn = PICTURES.PICTURES[name]()
    ET.fromstring(drawn)
    assert (ROOT / "docs/images" / name).read_text() == drawn, "draw it again: .venv/bin/python tools/pictures.py"
    pages = [ROOT / "ARCHITECTURE.md", ROOT / "docs/host.md", ROOT / "crates/core/protocols/ndp/README.md"]
    assert any(f"images/{name}" in page.read_text() for page in pages)


def test_the_picture_of_the_crates_has_every_crate() -> None:
    words = " ".join("".join(text.itertext()) for text in ET.fromstring(PICTURES.crates()))
    assert all(name in words for _, name, _ in PICTURES.manifests())


def test_wings_in_a_circle_are_refused() -> None:
    assert PICTURES.floors({"upper": {"lower"}, "lower": set()}) == {"upper": 1, "lower": 0}
    with pytest.raises(ValueError, match="use each other in a circle"):
        PICTURES.floors({"a": {"b"}, "b": {"a"}})
