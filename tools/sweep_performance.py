"""Compares runs of a sweep with single runs and writes the table of docs/performance.md.

Both make the same runs: 128 hosts, a seed each. Rounds of both alternate, so that other work on the machine slows both
down. Times are of the processor: all that the commands use, and what the runs themselves say.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import PERFORMANCE, put
from performance import SCENARIO, program


@dataclass(frozen=True)
class Rate:
    """Packet-hops per CPU-second: of everything, and of the runs alone."""

    whole: float
    runs: float


def _rate(make: Callable[[Path], list[dict[str, Any]]]) -> Rate:
    """Let commands make runs, whose costs they give, and see what all of it took."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs = make(Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    hops = sum(cost["packet_hops"] for cost in costs)
    return Rate(hops / took, hops / sum(cost["cpu_s"] for cost in costs))


def singles(folder: Path, seeds: range, duration: str) -> list[dict[str, Any]]:
    """Make each run by a command of its own."""
    costs = []
    for seed in seeds:
        command = [program(), "run", str(SCENARIO), "--seed", str(seed), "--set", f"duration={duration}"]
        options = ["--json", "--quiet", "--out", str(folder / str(seed))]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        costs.append(json.loads(done.stdout)[0]["cost"])
    return costs


def swept(folder: Path, seeds: range, duration: str, jobs: int) -> list[dict[str, Any]]:
    """Make all runs by one command."""
    command = [program(), "sweep", str(SCENARIO), "--seeds", f"{seeds[0]}..{seeds[-1]}", "--jobs", str(jobs)]
    options = ["--quiet", "--set", f"duration={duration}", "--out", str(folder)]
    subprocess.run([*command, *options], check=True)
    return [json.loads(path.read_text())["cost"] for path in (folder / "runs").rglob("*.json")]


def table(runs: int, alone: int, rounds: int, duration: str) -> str:
    """Measure, and return the table."""
    found: dict[str, list[Rate]] = {"single": [], "1": [], "2": []}
    for _ in range(rounds):
        found["single"].append(_rate(lambda folder: singles(folder, range(1, alone + 1), duration)))
        for jobs in (1, 2):
            found[str(jobs)].append(
                _rate(lambda folder, jobs=jobs: swept(folder, range(1, runs + 1), duration, jobs))  # type: ignore[misc]
            )
    lines = [
        "| runs of 128 hosts | packet-hops per CPU-second of the runs | to single | of everything | to single |",
        "|---|---:|---:|---:|---:|",
    ]
    names = {"single": f"{alone} single runs", "1": f"sweep of {runs}, one process", "2": f"sweep of {runs}, two"}
    base = _middle(found["single"])
    for key, name in names.items():
        rate = _middle(found[key])
        lines.append(
            f"| {name} | {rate.runs / 1e6:.2f} M | {rate.runs / base.runs:.2f} | {rate.whole / 1e6:.2f} M | "
            f"{rate.whole / base.whole:.2f} |"
        )
    return "\n".join(lines)


def _middle(rates: list[Rate]) -> Rate:
    return Rate(statistics.median(rate.whole for rate in rates), statistics.median(rate.runs for rate in rates))


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--runs", type=int, default=1000, help="runs of a sweep")
    parser.add_argument("--alone", type=int, default=20, help="single runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", default="20 ms")
    arguments = parser.parse_args()
    found = table(arguments.runs, arguments.alone, arguments.rounds, arguments.duration)
    if arguments.write:
        put(PERFORMANCE, "sweep_performance", found)
    print(found)


if __name__ == "__main__":
    main()
