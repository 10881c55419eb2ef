"""The released program runs every example to the fingerprint that the engine's tests, another build, reach too."""

import json
from pathlib import Path

import pytest

import pullnet

ROOT = Path(__file__).parents[2]
GOLDEN: dict[str, str] = json.loads((ROOT / "vectors" / "fingerprints.json").read_text())


def test_every_example_has_a_fingerprint() -> None:
    assert sorted(GOLDEN) == sorted(path.name for path in (ROOT / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("name", sorted(GOLDEN))
@pytest.mark.parametrize("threads", [1, 2])
def test_an_example_keeps_its_fingerprint(name: str, threads: int) -> None:
    result = pullnet.run(ROOT / "scenarios" / name, threads=threads)
    assert result.summary.fingerprint == GOLDEN[name]
