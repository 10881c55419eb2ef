"""Reproducing papers from the command line: the levels, and what is printed."""

from pathlib import Path

import typer
from rich.console import Console

from pullnet import json_text
from pullnet.cli.console import Output
from pullnet.papers import model, own, page, report
from pullnet.papers.judge import Outcome
from pullnet.papers.reproduce import Order
from pullnet.papers.reproduce import reproduce as run_order
from pullnet.papers.runs import running_time, warned
from pullnet.runs.runner import interruptible
from pullnet.runs.seeds import seeds_of
from pullnet.sweeps.progress import Asking, Tally
from pullnet.sweeps.store import writing

LEVEL_TEXT = {
    "smoke": "a few short runs only; most claims are not run",
    "quick": "shorter runs, fewer points and seeds than the paper",
    "full": "as far as the paper went",
}


def reproduce(what: str | None, level: str, seeds: str | None, out: Path | None, jobs: int, *, as_json: bool) -> None:
    """Run a paper's experiments and compare its claims with what comes out."""
    chosen = None if seeds is None else seeds_of(seeds)
    orders = [_order(name, figure, level, chosen, out, jobs) for name, figure in _targets(what)]
    log = Console(stderr=True)
    outcomes = [outcome for order in orders for outcome in _carry_out(order, log, tables=not as_json)]
    if as_json:
        typer.echo(json_text.dumps(report.as_json(outcomes)))


def _targets(what: str | None) -> list[tuple[str | Path, str | None]]:
    return [(name, None) for name in model.names()] if what is None else [own.find(what)]


def _order(
    which: str | Path, figure: str | None, level: str, seeds: list[int] | None, out: Path | None, jobs: int
) -> Order:
    paper = own.load(which) if isinstance(which, Path) else model.load(which)
    place = (out or Path("results") / "reproduce") / f"{paper.name}-{level}"
    order = Order(paper, figure, level, seeds, place, jobs)
    _ = order.claims
    return order


def _carry_out(order: Order, log: Console, *, tables: bool) -> list[Outcome]:
    with writing(order.out):  # one error before hundreds of runs, each of which would have its own
        order.out.mkdir(parents=True, exist_ok=True)
    tasks = order.tasks
    waiting = [task for task in tasks if not task.done]
    done, seconds = len(tasks) - len(waiting), sum(task.seconds for task in waiting)
    log.print(f"{order.paper.title}: level {order.level} ({LEVEL_TEXT[order.level]})", highlight=False)
    runs = "1 run" if len(tasks) == 1 else f"{len(tasks)} runs"
    log.print(f"{runs}, {_rest(done, running_time(waiting, order.jobs) / 60)}", highlight=False)
    with Tally(order.paper.name, len(tasks), done, work=seconds) as tally:
        asking = Asking(tally, "stopping once the runs that have begun are done; the same command goes on from there")
        with interruptible(asking):
            found = run_order(order, tally, asking)
    warnings = warned(tasks)
    for line in warnings:
        typer.echo(line, err=True)
    suffix = f"-{order.figure}" if order.figure else ""
    name = f"claims{suffix}"
    report.write(found.outcomes, order.out, name)
    html = page.write(found, warnings, order.out / f"report{suffix}.html")
    if tables:
        report.show(found.outcomes, Output())
        typer.echo(f"Runs, figures, {name}.json and {name}.csv are in {order.out}; {html} is a page with all of it")
    return found.outcomes


def _rest(done: int, minutes: float) -> str:
    if not minutes:
        return f"{done} of them done before"
    time = f"{max(1, round(minutes))} min" if minutes < 90 else f"{minutes / 60:.1f} h"
    return f"{done} of them done before; about {time} for the others" if done else f"about {time} in all"
