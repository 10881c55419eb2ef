"""Experiments that are calculated or measured: functions from a seed and settings to numbers, by name."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pullnet.papers.calculations import codes, data, hardware, linux, theory, volumes

Numbers = dict[str, Any]
"""Result of a calculation, as a JSON object."""

Calculation = Callable[..., Numbers]

ALL: dict[str, Calculation] = {
    name: function
    for module in (codes, hardware, linux, theory, volumes)
    for name, function in vars(module).items()
    if callable(function) and getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
}
"""Every public function of these modules is a calculation, by the name that `experiments.toml` uses."""


ALONE = {name for name, function in ALL.items() if function.__module__ in (hardware.__name__, linux.__name__)}
ALONE |= {"code_speed"}
"""Calculations that take times on this machine, or all of it and a folder of their own: nothing runs beside them."""


def sources() -> str:
    """Hash of everything that a calculation comes from: other texts' and other data's numbers are not taken for it."""
    local = b"\0".join(file.name.encode() + file.read_bytes() for file in data.local())
    return hashlib.sha256(_own().encode() + local).hexdigest()


@cache
def _own() -> str:
    """Hash of what we ship: texts of calculations and of the methods that they use, and data."""
    here = Path(__file__).resolve().parent
    others = [path for name in ("traffic", "testbed") for path in (here.parent.parent / name).rglob("*.py")]
    root = here.parents[3]
    folders = [root / "hardware" / name for name in ("rtl", "sim", "formal", "synth", "p4")]
    others += [path for folder in folders for path in folder.glob("*.*")]
    own = [here.parent / "machine.py", here.parents[1] / "codes.py"]
    files = sorted([*here.glob("*.py"), *own, *others, *data.SHIPPED.iterdir()])
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
