#!/usr/bin/env python3
"""Writes the size distributions of `papers/phost`: flows of whole packets, as pHost's authors draw them.

They draw a number of packets by linear interpolation between the points of a table and round it. Up to 300 packets
every number has a row of its own, beyond that steps of half a percent have one.
"""

import itertools
from pathlib import Path

PAYLOAD = 1460
FOLDER = Path(__file__).resolve().parent.parent / "papers" / "phost" / "scenarios" / "sizes"
EXACT = 300
STEP = 1.005

# Cumulative probability and packets. The first point twice is an atom at the smallest size.
TABLES = {
    "imc10": [
        (0.0, 1),
        (0.5, 1),
        (0.6, 2),
        (0.7, 3),
        (0.75, 5),
        (0.8, 7),
        (0.8125, 40),
        (0.825, 72),
        (0.85, 137),
        (0.9, 267),
        (0.95, 1187),
        (1.0, 2107),
    ],
    "web-search": [
        (0.0, 6),
        (0.15, 6),
        (0.2, 13),
        (0.3, 19),
        (0.4, 33),
        (0.53, 53),
        (0.6, 133),
        (0.7, 667),
        (0.8, 1333),
        (0.9, 3333),
        (0.97, 6667),
        (1.0, 20000),
    ],
    "data-mining": [
        (0.0, 1),
        (0.5, 1),
        (0.6, 2),
        (0.7, 3),
        (0.8, 7),
        (0.9, 267),
        (0.95, 2107),
        (0.99, 66667),
        (1.0, 666667),
    ],
}


def below(table: list[tuple[float, int]], packets: float) -> float:
    """Probability that the number drawn, before it is rounded, is at most `packets`."""
    for (low, left), (high, right) in itertools.pairwise(table):
        if left < right and packets < right:
            return low + (high - low) * (packets - left) / (right - left) if packets >= left else low
    return 1.0


def rows(table: list[tuple[float, int]]) -> list[tuple[int, float]]:
    """Bytes and cumulative probability, a row for each size that occurs."""
    least, most = table[0][1], table[-1][1]
    found, packets = [], least
    while packets < most:
        upper = packets if packets <= EXACT else min(most, int(packets * STEP))
        found.append(((packets + upper) // 2 * PAYLOAD, below(table, upper + 0.5)))
        packets = upper + 1
    return [*[row for row in found if row[1] < 1.0], (most * PAYLOAD, 1.0)]


def main() -> None:
    """Write a file for each table."""
    for name, table in TABLES.items():
        lines = [f"{size},{share:.9g}" for size, share in rows(table)]
        (FOLDER / f"{name}.csv").write_text("bytes,cdf\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for short in (10, 30, 50, 70, 90):
        text = f"bytes,cdf\n{3 * PAYLOAD},{short / 100}\n{700 * PAYLOAD},1\n"
        (FOLDER / f"short-{short}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
