"""Netlists keep what their cells do, block RAMs get good sites, and a program that runs for hours says what it does."""

import importlib.util
import json
import random
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SYNTHESIS = Path(__file__).resolve().parents[2] / "hardware" / "synth"


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program of the synthesis, with the modules beside it."""
    monkeypatch.syspath_prepend(str(SYNTHESIS))
    spec = importlib.util.spec_from_file_location(f"synthesis_{name}", SYNTHESIS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_a_lut_with_an_input_made_1_does_what_it_did_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    synthesis = module("run", monkeypatch)
    for table in range(0, 1 << 16, 7):
        for pin in range(4):
            changed = synthesis.with_one(table, pin)
            zero = [at for at in range(16) if not at >> pin & 1]
            assert all((changed >> (at | 1 << pin) ^ table >> at) & 1 == 0 for at in zero), (table, pin)
            # The carry: A and B of the first four bits, with C and D left out.
            carry = [at & ~(1 << pin) for at in range(4)]
            assert all((changed >> at ^ table >> low) & 1 == 0 for at, low in enumerate(carry)), (table, pin)


PLACER = "Info: Running Static placer...\nInfo: iter=41 steplen=0.69 a=3.29 penalty=[0.00, 0.00]\n"
SITES = "Info: Strict legalising 61306 cells...\n"
REFINED = "Info:   at iteration #5: temp = 0.000000, timing cost = 728, wirelen = 436731\n"
ROUTER = "Info: Running router2...\nInfo:     iter=7 wires=600450 overused=6511 overuse=6557 archfail=NA\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", "placing"),
        (PLACER, "placing, round 41"),
        (SITES + PLACER, "placing, round 41"),
        (PLACER + SITES, "placing each cell at a site of its own"),
        (PLACER + SITES + REFINED, "placing, refinement 5"),
        (PLACER + REFINED + "Info: Running router2...\n", "routing"),
        (PLACER + ROUTER, "routing, round 7: 6,511 wires are wanted by two nets or more"),
    ],
)
def test_a_log_tells_how_far_place_and_route_has_come(log: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module("progress", monkeypatch).stage(log) == expected


def test_place_and_route_is_watched_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    progress = module("progress", monkeypatch)
    monkeypatch.setattr(progress, "LOOK", 0.05)
    monkeypatch.setattr(progress, "TELL", 0)
    log = tmp_path / "route.log"
    program = f"import sys, time; open({str(log)!r}, 'w').write({ROUTER!r}); time.sleep(2); sys.exit('out of wires')"
    code, messages = progress.watched([sys.executable, "-c", program], tmp_path, log, "switch")
    assert (code, messages.strip()) == (1, "out of wires")
    told = capfd.readouterr().err
    assert "switch: 0 min, routing, round 7" in told


def chain(names: list[str]) -> dict[str, Any]:
    """Block RAMs of which each feeds the next one, by way of a LUT on each of 8 wires."""
    cells: dict[str, Any] = {name: {"type": "DP16KD", "attributes": {}, "connections": {}} for name in names}
    for at, (one, other) in enumerate(pairwise(names)):
        for wire in range(8):
            bit = 16 * at + 2 * wire
            cells[one]["connections"][f"DOA{wire}"] = [bit]
            cells[other]["connections"][f"DIA{wire}"] = [bit + 1]
            cells[f"lut{at}.{wire}"] = {"type": "LUT4", "attributes": {}, "connections": {"A": [bit], "Z": [bit + 1]}}
    return cells


@pytest.mark.parametrize("is_placed", [False, True])
def test_block_rams_that_feed_each_other_lie_beside_each_other(
    is_placed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = module("sites", monkeypatch)
    monkeypatch.setattr(sites, "EXCHANGES", 200)
    order = list(range(60))
    random.Random(1).shuffle(order)
    names = [f"ram{number}" for number in order]
    cells = chain(names)
    netlist, placed, wanted = tmp_path / "a.json", tmp_path / "placed.json", tmp_path / "fixed.json"
    netlist.write_text(json.dumps({"modules": {"cell": {"cells": {}}, "top": {"cells": cells}}}), encoding="utf-8")
    for number, name in enumerate(sorted(names)):
        cells[name]["attributes"]["NEXTPNR_BEL"] = sites.SITES[3 * number]
    placed.write_text(json.dumps({"modules": {"top": {"cells": cells}}}), encoding="utf-8")
    sites.fixed(netlist, placed if is_placed else None, wanted)
    found = json.loads(wanted.read_text(encoding="utf-8"))["modules"]["top"]["cells"]
    at = [found[name]["attributes"]["BEL"] for name in names]
    assert len(set(at)) == len(names) and set(at) <= set(sites.SITES)
    assert not any("BEL" in cell["attributes"] for name, cell in found.items() if name.startswith("lut"))
    places = [sites.place_of({"attributes": {"NEXTPNR_BEL": site}}) for site in at]
    # Neighbours in a row are 2 to 5 tiles from each other; two sites at random are 66.
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(places)]
    assert sum(steps) / len(steps) < 8, steps
