"""Running a paper's experiments and judging its claims."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from polars.exceptions import PolarsError

from pullnet.errors import InputError
from pullnet.papers import authors, comparison, figures, rust_tests
from pullnet.papers.judge import NOT_RUN, Measured, Outcome, judge
from pullnet.papers.measures import ALL, Data, MissingRunsError
from pullnet.papers.model import Claim, Paper
from pullnet.papers.picture import Picture
from pullnet.papers.runs import Run, Task, execute, is_alone, plan
from pullnet.sweeps.local import NEVER, Stop
from pullnet.sweeps.progress import Tally

COMPARED = {
    "comparison": (
        *("imc10", "web-search", "data-mining", "incast", "loss", "failed-link", "oversubscribed", "cause-incast"),
    ),
    "phost": (
        *("imc10", "web-search", "data-mining", "load-imc10", "load-web-search", "load-data-mining", "mixes", "incast"),
        *("deadlines", "authors", "authors-imc10", "authors-web-search", "authors-data-mining", "forty"),
        *("cause-web-search", "cause-sleep", "cause-throughput"),
    ),
}
"""Experiments whose transports stand side by side in a table, by paper."""
TABLES: dict[str, list[Callable[[Data, Path], list[Path]]]] = {
    "comparison": [partial(comparison.write, COMPARED["comparison"])],
    "phost": [partial(comparison.write, COMPARED["phost"]), authors.write],
}
"""Tables beside the verdicts, by paper."""


@dataclass(frozen=True)
class Order:
    """A request to reproduce a paper."""

    paper: Paper
    figure: str | None
    level: str
    seeds: list[int] | None
    out: Path
    jobs: int = 1

    @property
    def claims(self) -> list[Claim]:
        """Claims of the figure, or of the whole paper."""
        chosen = [claim for claim in self.paper.claims if self.figure in (None, claim.figure, *used_by(claim))]
        if not chosen:
            figures = sorted({claim.figure for claim in self.paper.claims} - {""})
            names = ", ".join(dict.fromkeys([*figures, *self.paper.experiments]))
            raise InputError(
                f"{self.paper.name}/{self.figure}: there is no such figure or experiment; there are {names}"
            )
        return chosen

    @cached_property
    def tasks(self) -> list[Task]:
        """Runs that these claims need, named after what their files hold now. Raises `InputError` with every error."""
        wanted = {name for claim in self.claims for name in used_by(claim)}
        tasks: list[Task] = []
        errors: list[str] = []
        for name in [name for name in self.paper.experiments if name in wanted]:
            try:
                tasks += plan(self.paper.experiments[name], self.level, self.seeds, self.out)
            except InputError as error:
                errors += error.errors
        if errors:
            raise InputError(errors)
        return tasks


@dataclass(frozen=True)
class Extent:
    """Size of a paper at one level."""

    runs: int
    seconds: float
    """Approximate running time. Unit: seconds."""


def extent(paper: Paper, level: str, jobs: int) -> Extent:
    """Count the runs of a paper with so many at a time, without a look at its scenarios."""
    wanted = {name for claim in paper.claims for name in used_by(claim)}
    chosen = [each for name, each in paper.experiments.items() if name in wanted and level in each.levels]
    runs = sum(len(each.levels[level].points) * len(each.levels[level].seeds) for each in chosen)
    return Extent(runs, sum(each.levels[level].seconds / (1 if is_alone(each.work) else jobs) for each in chosen))


def used_by(claim: Claim) -> list[str]:
    """Experiments that a claim is measured in."""
    given = claim.parameters
    return [*([given["experiment"]] if "experiment" in given else []), *given.get("experiments", []), *_extra(given)]


def _extra(given: dict[str, object]) -> list[str]:
    return [str(given[key]) for key in ("capacity", "few") if key in given]


@dataclass(frozen=True)
class Reproduction:
    """The outcome of an order."""

    order: Order
    outcomes: list[Outcome]
    pictures: dict[str, list[Picture]]
    """By figure of the paper."""


def reproduce(order: Order, tally: Tally, stop: Stop = NEVER) -> Reproduction:
    """Run everything, judge every claim, draw every picture.

    A request to stop lets the tasks under way finish, then raises `KeyboardInterrupt`; the rest is run the next time.
    """
    tasks = order.tasks
    for count, task in enumerate(execute(tasks, order.jobs, stop, tally.tick), 1):
        if count > tally.before:
            tally.step(task.text, work=task.seconds)
    if stop.asked:
        raise KeyboardInterrupt
    data = Data(_by_experiment(tasks))
    outcomes = []
    for count, claim in enumerate(order.claims, 1):
        tally.enter(f"measuring claim {count} of {len(order.claims)}, {claim.id}")
        outcomes.append(outcome(claim, data, order.level))
    tally.enter("drawing")
    pictures = figures.all_of(order.paper.name, order.figure, data, outcomes, order.out / "figures")
    for table in TABLES.get(order.paper.name, []):
        table(data, order.out)
    return Reproduction(order, outcomes, pictures)


def _by_experiment(tasks: Iterable[Task]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {}
    for task in tasks:
        runs.setdefault(task.experiment, []).append(task.run)
    return runs


def outcome(claim: Claim, data: Data, level: str) -> Outcome:
    """Measure a claim and judge it."""
    if claim.impossible:
        return Outcome(claim, NOT_RUN, None, "", claim.impossible)
    try:
        return judge(claim, _measure(claim, data, level))
    except MissingRunsError as missing:
        return Outcome(claim, NOT_RUN, None, "", str(missing))


def _measure(claim: Claim, data: Data, level: str) -> Measured:
    if claim.tests:
        return rust_tests.measure(claim.tests, run=level != "smoke")
    try:
        return ALL[claim.measure](data.expecting(claim.curve), **claim.parameters)
    except MissingRunsError:
        raise
    except InputError as error:
        raise InputError([f"claim {claim.id}: {line}" for line in error.errors]) from None
    except _UNFIT as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(
            f"claim {claim.id}: measure {claim.measure} cannot measure these runs: {reason}; it is written for "
            "experiments such as those of the papers that come along; see what they vary, or use summary"
        ) from error


_UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, PolarsError)
"""Errors of a measure that looks for settings, flows or tables that the experiment does not have."""
