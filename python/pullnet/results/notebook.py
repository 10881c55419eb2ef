"""Results and summaries as HTML, for notebooks."""

from collections.abc import Iterator
from html import escape

from pullnet.html import table
from pullnet.results.result import Result
from pullnet.results.show import facts, notes, number
from pullnet.results.summary import FlowCounts, Spread, Summary

_HEADS = ("flows", "started", "completed", "unfinished", "mean", "p50", "p90", "p99", "max", "slowdown p50", "p99")


def html(found: Result | Summary) -> str:
    """Return a result or a summary as HTML."""
    return result(found) if isinstance(found, Result) else summary(found)


def result(found: Result) -> str:
    """Return a result: its summary, and the tables that there are."""
    tables = ", ".join(found.table_names)
    place = f", in {found.path}" if found.path is not None else ""
    return summary(found.summary) + f"<p>{escape(f'Tables: {tables}{place}.')}</p>"


def summary(found: Summary) -> str:
    """Return a summary: what it came to, the flows of each tag, and what must not be overlooked."""
    caption = f"{found.scenario}, seed {found.seed}" + ("" if found.world == "simulator" else f" ({found.world})")
    words = "".join(f"<p>{escape(line)}</p>" for line in notes(found))
    return table(caption, ("", "value"), facts(found)) + table("FCT in us", _HEADS, _flows(found)) + words


def _flows(found: Summary) -> Iterator[tuple[str, ...]]:
    for tag, of_tag in found.by_tag.items():
        yield (tag or "-", *_cells(of_tag.flows, of_tag.fct_us, of_tag.slowdown))
    if len(found.by_tag) != 1:
        yield ("all", *_cells(found.flows, found.fct_us, found.slowdown))


def _cells(flows: FlowCounts, fct: Spread, slowdown: Spread) -> tuple[str, ...]:
    values = (fct.mean, fct.p50, fct.p90, fct.p99, fct.max, slowdown.p50, slowdown.p99)
    counts = (flows.started, flows.completed, flows.unfinished)
    return (*(str(count) for count in counts), *(number(value) for value in values))
