"""Measures one stream between two hosts beside the kernel's TCP and writes their table in docs/performance.md.

Needs root, two idle cores and nothing else running. Each row is a fresh process that carries the bytes by NDP and then
by TCP over the same veth pair. Rows take turns, so that a slow minute of the machine meets all of them.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from pages import PERFORMANCE, ROOT, put

EMBEDDED = ("pullnet-host", "bulk")
DAEMONS = ("pullnet-daemon", "throughput")
# What examples/common/mod.rs of the host prints.
PRINTED = r"{}: ([\d.]+) Gb/s, ([\d.]+) s of own code and ([\d.]+) s of the kernel per GB"


@dataclass(frozen=True)
class Row:
    """A program with its arguments: the MTU, megabytes, settings."""

    name: str
    program: tuple[str, str]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """Rates in Gb/s, and processor time of both ends in seconds for a GB."""

    ndp: float
    ndp_cpu: float
    tcp: float
    tcp_cpu: float


SHORT, LONG = ("1500", "1000"), ("9000", "2000")
ROWS = [
    Row("embedded, 1500 B", EMBEDDED, SHORT),
    Row("embedded, 1500 B, `burst = 1`", EMBEDDED, (*SHORT, "burst=1")),
    Row("embedded, 1500 B, `paths = 1`", EMBEDDED, (*SHORT, "paths=1")),
    Row("embedded, 9000 B (2 GB)", EMBEDDED, LONG),
    Row("embedded, 9000 B (2 GB), `burst = 1`", EMBEDDED, (*LONG, "burst=1")),
    Row("embedded, 9000 B (2 GB), `paths = 1`", EMBEDDED, (*LONG, "paths=1")),
    Row("two daemons, 1500 B", DAEMONS, SHORT),
    Row("two daemons, 1500 B, `burst = 1`", DAEMONS, (*SHORT, "[ndp]", "burst=1 packets")),
    Row("two daemons, 1500 B, `paths = 1`", DAEMONS, (*SHORT, "paths=1")),
    Row("two daemons, 9000 B (2 GB)", DAEMONS, LONG),
]


def build() -> None:
    """Compile both programs."""
    for package, example in (EMBEDDED, DAEMONS):
        command = ["cargo", "build", "--quiet", "--release", "-p", package, "--example", example]
        subprocess.run(command, cwd=ROOT, check=True)


def run(row: Row) -> Measured:
    """Carry the bytes once."""
    program = ROOT / "target" / "release" / "examples" / row.program[1]
    done = subprocess.run([program, *row.arguments], capture_output=True, text=True, check=False)
    found = [re.search(PRINTED.format(name), done.stdout) for name in ("NDP", "TCP")]
    if done.returncode or None in found:
        sys.exit(f"{row.name}: {program.name} {' '.join(row.arguments)} ended with {done.returncode}\n{done.stderr}")
    (ndp, *ndp_parts), (tcp, *tcp_parts) = ([float(part) for part in one.groups()] for one in found if one)
    return Measured(ndp, sum(ndp_parts), tcp, sum(tcp_parts))


def line(row: Row, runs: list[Measured]) -> str:
    """A row of the table."""

    def middle(of: Callable[[Measured], float]) -> float:
        return statistics.median(of(one) for one in runs)

    def rate(of: Callable[[Measured], float]) -> str:
        values = [of(one) for one in runs]
        return f"{middle(of):.1f} ({min(values):.1f} to {max(values):.1f})"

    costs = [one.ndp_cpu / one.tcp_cpu for one in runs]
    cells = [
        row.name,
        rate(lambda one: one.ndp),
        rate(lambda one: one.tcp),
        f"{middle(lambda one: one.ndp_cpu):.2f} s",
        f"{middle(lambda one: one.tcp_cpu):.2f} s",
        f"{middle(lambda one: one.ndp / one.tcp):.2f}",
        f"{statistics.median(costs):.1f} ({min(costs):.1f} to {max(costs):.1f})",
    ]
    return f"| {' | '.join(cells)} |"


def table(rounds: int) -> str:
    """The whole table."""
    runs: dict[Row, list[Measured]] = {row: [] for row in ROWS}
    for number in range(rounds):
        for row, found in runs.items():
            found.append(run(row))
            said = f"{row.name}: {found[-1].ndp:.1f} Gb/s, TCP {found[-1].tcp:.1f}"
            print(f"round {number + 1}: {said}", file=sys.stderr, flush=True)
    head = (
        "| one stream of 1 GB | NDP | TCP in the same runs | NDP, CPU per GB | TCP, CPU per GB "
        "| rate to TCP | CPU time to TCP |"
    )
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|--:|", *(line(row, found) for row, found in runs.items())])


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds has to be 1 or more")
    build()
    found = table(arguments.rounds)
    if arguments.write:
        put(PERFORMANCE, "stream_performance", found)
    print(found)


if __name__ == "__main__":
    main()
