"""Runs the set-ups on robustness of the artifact evaluation and writes a table of the paper's README.

Runs that are in --out already are not made again; those of NDP are the runs of `pullnet reproduce
ndp-artifact-evaluation/robustness` and take about an hour of a core.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pages import put

from pullnet.errors import InputError
from pullnet.papers import model
from pullnet.papers.model import Experiment, Point
from pullnet.papers.runs import Task, execute, plan
from pullnet.results.summary import Summary
from pullnet.runs.seeds import parse_seeds

PAPER = "ndp-artifact-evaluation"
PAGE = Path(__file__).parent.parent / "papers" / PAPER / "README.md"

COLUMNS = ("flows", "completed", "still moving", "stuck", "failed", "timeouts", "explained", "unexplained")
WRONG = {"": "nothing wrong", "corruption": "1% corrupted", "link-down": "core link down 1 ms"}


@dataclass(frozen=True)
class Order:
    """Which runs to make."""

    transports: list[str]
    wrong: list[str]
    """Faults in them: keys of `WRONG`."""
    duration: str
    seeds: list[int]
    out: Path


def set_ups(order: Order) -> Iterator[tuple[str, list[Task]]]:
    """The first cells of each row, with its runs."""
    experiments = [each for each in model.load(PAPER).experiments.values() if each.figure == "robustness"]
    for transport, experiment in itertools.product(order.transports, experiments):
        _, beside, *suffix = experiment.name.split("-", 2)
        wrong = "".join(suffix)
        if wrong not in order.wrong:
            continue
        tasks = plan(_ordered(experiment, transport, order.duration), "full", order.seeds, order.out)
        for sizes in dict.fromkeys(str(task.point.at["sizes"]) for task in tasks):
            row = f"| {transport} | {WRONG[wrong]} | {beside}:1 | {sizes} |"
            yield row, [task for task in tasks if task.point.at["sizes"] == sizes]


def transports() -> dict[str, dict[str, object]]:
    """Settings of each transport of the paper."""
    settings = tomllib.loads((PAGE.parent / "paper.toml").read_text(encoding="utf-8"))["more"]["transport"]
    return dict(settings)


def _ordered(experiment: Experiment, transport: str, duration: str) -> Experiment:
    """The experiment with another duration and transport: its points are NDP's, whose settings make way."""
    settings, full = transports(), experiment.levels["full"]
    points = []
    for point in full.points:
        others = {key: value for key, value in point.set.items() if key not in settings["ndp"]}
        at = {**point.at, "transport": transport}
        points.append(Point(at, {**others, **settings[transport], "duration": duration}))
    return replace(experiment, levels={"full": replace(full, points=points)})


def counts(summaries: list[Summary]) -> list[int]:
    """One number for each of `COLUMNS`, summed over runs."""
    started, completed, failed, unfinished = (
        sum(getattr(each.flows, name) for each in summaries)
        for name in ("started", "completed", "failed", "unfinished")
    )
    stuck = sum(len(each.stuck) for each in summaries)
    timeouts, unexplained = (
        sum(getattr(each, name) for each in summaries) for name in ("timeouts", "unexplained_timeouts")
    )
    return [started, completed, unfinished - stuck, stuck, failed, timeouts, timeouts - unexplained, unexplained]


def table(order: Order, jobs: int) -> str:
    """The table, and a sentence with its sums."""
    lines = [f"| | | | sizes | runs | {' | '.join(COLUMNS)} |", f"|---|---|---|---|---:|{'---:|' * len(COLUMNS)}"]
    sums, runs = [0] * len(COLUMNS), 0
    for row, tasks in set_ups(order):
        found = counts([task.run.result.summary for task in execute(tasks, jobs)])
        lines.append(f"{row} {len(tasks)} | {' | '.join(f'{count:,}' for count in found)} |")
        print(lines[-1], file=sys.stderr)
        sums, runs = [a + b for a, b in zip(sums, found, strict=True)], runs + len(tasks)
    flows, _, _, stuck, failed, timeouts, _, unexplained = sums
    last = f"Together {runs:,} runs, {flows:,} flows, {timeouts:,} timeouts, {unexplained:,} of them unexplained, "
    return "\n".join([*lines, "", f"{last}{stuck:,} flows stuck, {failed:,} failed."])


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the paper's README")
    parser.add_argument("--transports", nargs="+", default=["ndp"], choices=transports(), help="of paper.toml")
    parser.add_argument("--wrong", nargs="*", default=list(WRONG), choices=list(WRONG), help="'' is nothing wrong")
    parser.add_argument("--duration", default="60 ms", help="of a run")
    parser.add_argument("--seeds", default="1..50")
    parser.add_argument("--out", type=Path, default=Path("results") / f"{PAPER}-full")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    seeds = parse_seeds(arguments.seeds)
    order = Order(arguments.transports, arguments.wrong, arguments.duration, seeds, arguments.out)
    found = table(order, arguments.jobs)
    if arguments.write:
        put(PAGE, "robustness", found)
    else:
        print(found)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"robustness: {error}")
