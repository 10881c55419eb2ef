"""`pullnet traffic dimension`."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import AsJson, Quiet, leave, numbers, print_json, say, table
from pullnet.cli.traffic.inputs import Inputs, reads
from pullnet.cli.traffic.shares import EPS, Eps
from pullnet.traffic.dimensioning import FURTHER_RULES, RULES, Dimensioning, Score, score, supports
from pullnet.traffic.dimensioning import dimension as apply
from pullnet.traffic.quantities import rate_unit, shown_rate, shown_time


@reads
def dimension(
    inputs: Inputs,
    eps: Eps = EPS,
    all_rules: Annotated[
        bool, typer.Option("--all-rules", help=f"Add {' and '.join(FURTHER_RULES)}; these fits are slow.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the capacity that a link needs.

    A share of intervals of at most eps may need more. Shows the capacity by every rule, and the share measured.
    """
    wanted = numbers(eps, "eps")
    reading = inputs.gather(quiet=quiet or as_json)
    rules = [*RULES, *(FURTHER_RULES if all_rules else ())]
    found = [apply(item, eps=wanted, rules=rules) for item in reading.volumes]
    scores = score(found)
    if as_json:
        document = {"dimensioning": [_json(item) for item in found], "over_traces": [asdict(item) for item in scores]}
        print_json(document, reading)
    else:
        _show(found, scores)
    leave(reading)


def _json(item: Dimensioning) -> dict[str, Any]:
    return {**asdict(item), "unsupported_eps": item.unsupported(), "words": words(item)}


def _show(found: list[Dimensioning], scores: list[Score]) -> None:
    console = Output()
    for item in found:
        console.print(_table(item))
        say(console, words(item))
        for line in notes(item):
            say(console, line)
    if any(item.traces > 1 for item in scores):
        console.print(_over_traces(scores))


def _table(item: Dimensioning) -> Table:
    unit, factor = rate_unit(item.mean)
    epsilons = list(dict.fromkeys(each.eps for each in item.capacities))
    title = (
        f"{item.trace}, {item.samples} intervals of {shown_time(item.timescale)}, mean {shown_rate(item.mean)}: "
        f"capacity in {unit}, and the share of intervals that reach it"
    )
    shown = table(["rule"], [f"eps {eps:g}" for eps in epsilons], title)
    for rule in dict.fromkeys(each.rule for each in item.capacities):
        found = [item.of(rule, eps) for eps in epsilons]
        shown.add_row(rule, *(f"{each.capacity / factor:.4g} ({each.exceeded:.2g})" for each in found))
    return shown


def words(item: Dimensioning) -> str:
    """One sentence: what the capacity by the log-normal is for the strictest eps, beside Meent's and the data."""
    eps = min(each.eps for each in item.capacities)
    ours, meent = item.of("log-normal", eps), item.of("Meent", eps)
    return (
        f"So that no more than {100 * eps:g} % of the {shown_time(item.timescale)} intervals need more than the link "
        f"carries, the log-normal asks for {shown_rate(ours.capacity)} and Meent's formula for "
        f"{shown_rate(meent.capacity)}; of the {item.samples} intervals measured, {_percent(ours.exceeded)} and "
        f"{_percent(meent.exceeded)} reached that."
    )


def notes(item: Dimensioning) -> Iterator[str]:
    """Caveats for the reader."""
    for eps in item.unsupported():
        yield (
            f"eps {eps:g}: {item.samples} intervals cannot show it; at least {_needed(eps)} are needed before one may "
            "exceed. The empirical capacity is just above the largest sample, and says nothing about larger ones."
        )
    if item.zeros:
        yield f"{item.zeros} of {item.samples} intervals are empty; log-normal and Weibull describe the others."


def _needed(eps: float) -> int:
    count = max(2, int(1 / eps))
    return count if supports(count, eps) else count + 1


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _over_traces(scores: list[Score]) -> Table:
    title = "mean over traces of |exceeded - eps|, and its standard error"
    shown = table(["timescale", "eps", "rule"], ["traces", "exceeded", "miss", "error"], title)
    for item in scores:
        if item.traces > 1:
            cells = [f"{item.exceeded:.3g}", f"{item.miss:.3g}", f"{item.error:.2g}"]
            shown.add_row(shown_time(item.timescale), f"{item.eps:g}", item.rule, str(item.traces), *cells)
    return shown
