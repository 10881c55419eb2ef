"""Which real traffic there is: what is shipped, and what is found beside it."""

import os
from pathlib import Path

SHIPPED = Path(__file__).resolve().parents[2] / "traffic" / "data"
"""Captures and counters that may be passed on."""

LOCAL = {
    "isp_a_transatlantic_5min.csv": "bits",
    "abilene_5min_total_mbps.csv": "Mbit/s",
    "geant_15min_total_mbps.csv": "Mbit/s",
}
"""Series of public origin that may not be passed on, with the unit of their values."""


def shipped(*endings: str) -> list[Path]:
    """Shipped files with one of these endings."""
    return sorted(file for file in SHIPPED.iterdir() if any(ending in file.suffixes for ending in endings))


def local() -> list[Path]:
    """Files of `LOCAL` that exist in the folder `traffic` below PULLNET_DATA."""
    folder = os.environ.get("PULLNET_DATA")
    return [] if folder is None else [file for name in LOCAL if (file := Path(folder, "traffic", name)).is_file()]
