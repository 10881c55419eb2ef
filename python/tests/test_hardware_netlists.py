"""Changes of netlists between synthesis and placement keep what the cells do."""

import importlib.util
from pathlib import Path

SYNTHESIS = Path(__file__).resolve().parents[2] / "hardware" / "synth" / "run.py"


def test_a_lut_with_an_input_made_1_does_what_it_did_with_0() -> None:
    spec = importlib.util.spec_from_file_location("synthesis", SYNTHESIS)
    assert spec is not None and spec.loader is not None
    synthesis = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(synthesis)
    for table in range(0, 1 << 16, 7):
        for pin in range(4):
            changed = synthesis.with_one(table, pin)
            zero = [at for at in range(16) if not at >> pin & 1]
            assert all((changed >> (at | 1 << pin) ^ table >> at) & 1 == 0 for at in zero), (table, pin)
            # The carry: A and B of the first four bits, with C and D left out.
            carry = [at & ~(1 << pin) for at in range(4)]
            assert all((changed >> at ^ table >> low) & 1 == 0 for at, low in enumerate(carry)), (table, pin)
