"""Reproducing papers from the command line: the levels, and what is printed."""

from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from pullnet import json_text
from pullnet.cli.console import Output
from pullnet.papers import model, own, page, report
from pullnet.papers.judge import Outcome
from pullnet.papers.reproduce import Order, extent
from pullnet.papers.reproduce import reproduce as run_order
from pullnet.papers.runs import running_time, warned
from pullnet.papers.tables import LEVELS
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
    if len(orders) > 1:
        tasks = [task for order in orders for task in order.tasks if not task.done]
        log.print(
            f"{len(orders)} papers: {_runs(len(tasks))}, about {_time(running_time(tasks, jobs))}", highlight=False
        )
    outcomes = [outcome for order in orders for outcome in _carry_out(order, log, tables=not as_json)]
    if as_json:
        typer.echo(json_text.dumps(report.as_json(outcomes)))


def overview(jobs: int, *, as_json: bool) -> None:
    """List the papers that come along, with runs and time of each level."""
    papers = [model.load(name) for name in model.names()]
    extents = {paper.name: {level: extent(paper, level, jobs) for level in LEVELS} for paper in papers}
    if as_json:
        about = [(paper, extents[paper.name].items()) for paper in papers]
        found = [(paper, {level: asdict(each) for level, each in levels}) for paper, levels in about]
        typer.echo(json_text.dumps([{"paper": p.name, "title": p.title, "levels": levels} for p, levels in found]))
        return
    table = Table("paper", "--smoke", "--quick", "in full", "title", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for paper in papers:
        levels = extents[paper.name].values()
        cells = [f"{each.runs}: {_time(each.seconds)}" if each.runs else "-" for each in levels]
        table.add_row(paper.name, *cells, paper.title)
    out = Output(markup=False, highlight=False)
    out.print(table)
    out.print(f"\nNumber of runs, and about how long they take with {jobs} at a time.")
    out.print("Run one by: pullnet reproduce ndp --quick; all by: pullnet reproduce --all --quick")


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
    log.print(f"{_runs(len(tasks))}, {_rest(done, running_time(waiting, order.jobs))}", highlight=False)
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


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _time(seconds: float) -> str:
    minutes = seconds / 60
    return f"{max(1, round(minutes))} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _rest(done: int, seconds: float) -> str:
    if not seconds:
        return f"{done} of them done before"
    time = _time(seconds)
    return f"{done} of them done before; about {time} for the others" if done else f"about {time} in all"
