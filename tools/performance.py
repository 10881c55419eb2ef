"""Measures the engine as users run it and writes the table of docs/performance.md.

Each row is a fresh process of the released program, so that memory and CPU time are its own; the figure is the best
of several runs, for other work on a machine only ever slows a run down.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import PERFORMANCE, ROOT, put

SCENARIO = ROOT / "scenarios" / "permutation.toml"


@dataclass(frozen=True)
class Row:
    """A network and how long it is simulated."""

    k: int
    mtu: str
    duration: str
    threads: int = 1

    @property
    def hosts(self) -> int:
        """Hosts of the fat tree."""
        return self.k**3 // 4


ROWS = [
    Row(8, "9000 B", "20 ms"),
    Row(12, "9000 B", "20 ms"),
    Row(12, "9000 B", "20 ms", threads=2),
    Row(12, "1500 B", "4 ms"),
    Row(16, "9000 B", "8 ms"),
    Row(32, "9000 B", "2 ms"),
    Row(32, "9000 B", "2 ms", threads=2),
    Row(64, "9000 B", "100 us"),
]


def program() -> str:
    """The released program beside this Python."""
    place = Path(sys.executable).with_name("pullnet")
    if not place.is_file():
        sys.exit(f"{place} is not there: run `make setup`, then this with .venv/bin/python")
    return str(place)


def run(row: Row) -> dict[str, Any]:
    """One run; its summary."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "topology.k": row.k,
            "transport.mtu": row.mtu,
            "transport.initial_window": "30 packets",
            "duration": row.duration,
            "measure.from": "0 ps",
        }
        command = [program(), "run", str(SCENARIO), "--json", "--quiet"]
        command += ["--threads", str(row.threads), "--out", f"{folder}/result"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        summary: dict[str, Any] = json.loads(done.stdout)[0]
        return summary


def measure(row: Row, repeats: int) -> str:
    """A line of the table."""
    costs = [run(row)["cost"] for _ in range(repeats)]
    best = max(costs, key=lambda cost: cost["packet_hops_per_cpu_s"])
    wall = min(cost["wall_s"] for cost in costs)
    hops = best["packet_hops"]
    cells = [
        f"{row.hosts}",
        row.mtu,
        row.duration,
        f"{row.threads}",
        f"{best['packet_hops_per_cpu_s'] / 1e6:.2f} M",
        f"{hops / wall / 1e6:.2f} M",
        f"{best['cpu_s'] / hops * 1e9:.0f} ns",
        f"{min(cost['peak_rss_bytes'] for cost in costs) / 1e6:.0f} MB",
    ]
    print("  ".join(cells), file=sys.stderr, flush=True)
    return "| " + " | ".join(cells) + " |"


def table(repeats: int) -> str:
    """The whole table."""
    head = (
        "| hosts | payload | simulated | threads | packet-hops per CPU-second | per second | CPU time each "
        "| peak memory |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
    return "\n".join([head, *(measure(row, repeats) for row in ROWS)])


def main() -> None:
    """Measures, prints, and with --write changes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each row; the best counts")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    made = table(options.repeats)
    print(made)
    if options.write:
        put(PERFORMANCE, "performance", made)


if __name__ == "__main__":
    main()
