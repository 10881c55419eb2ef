"""Papers of users: a folder anywhere, checked before anything is run."""

import difflib
import inspect
from collections.abc import Iterator
from pathlib import Path

from pullnet.errors import InputError
from pullnet.papers import model
from pullnet.papers.measures import ALL
from pullnet.papers.model import Claim, Experiment, Paper
from pullnet.papers.reproduce import used_by
from pullnet.papers.tables import LEVELS


def find(what: str) -> tuple[str | Path, str | None]:
    """Return which paper, and which figure of it, "ndp/14" or "folder/of/mine/14" names."""
    name, _, figure = what.partition("/")
    if name in model.names():
        return name, figure or None
    for place, figure in ((Path(what), ""), (Path(what).parent, Path(what).name)):
        if (place / "paper.toml").is_file():
            return place, figure or None
    raise InputError(
        f"there is no paper `{what}`; there are {', '.join(model.names())}, and folders of your own with a paper.toml"
    )


def load(place: Path) -> Paper:
    """Read a folder; all of its errors at once."""
    paper = model.load(place)
    errors = [*_of_experiments(paper), *(f"{place / 'claims.toml'}: {error}" for error in _of_claims(paper))]
    if errors:
        raise InputError(errors)
    return paper


def _of_experiments(paper: Paper) -> Iterator[str]:
    for name, experiment in paper.experiments.items():
        where = f"{paper.folder / 'experiments.toml'}: [{name}]"
        if not isinstance(experiment.work, Path):
            yield f"{where}: `calculation` is for the papers that come along; state a `scenario`"
        elif not experiment.work.is_file():
            yield f"{where}: scenario {experiment.work} is not there"
        if not experiment.levels:
            yield f"{where}: has no level; add a table of {', '.join(LEVELS)}, with `seeds` and `seconds`"


def _of_claims(paper: Paper) -> Iterator[str]:
    seen: set[str] = set()
    for claim in paper.claims:
        if claim.id in seen:
            yield f"claim {claim.id}: there are two of this id"
        seen.add(claim.id)
        if not claim.impossible:
            yield from (f"claim {claim.id}: {error}" for error in _of_measure(claim))
        for name in used_by(claim):
            if name not in paper.experiments:
                yield f"claim {claim.id}: there is no experiment {name!r}; there are {', '.join(paper.experiments)}"
            else:
                yield from (f"claim {claim.id}: {error}" for error in _of_point(claim, paper.experiments[name]))


def _of_point(claim: Claim, experiment: Experiment) -> Iterator[str]:
    """Errors of a point that no level of the experiment has: nothing could be measured there."""
    at = claim.parameters.get("at")
    points = [point.at for level in experiment.levels.values() for point in level.points]
    if isinstance(at, dict) and not any(at.items() <= point.items() for point in points):
        have = "; ".join(dict.fromkeys(", ".join(f"{name} {value}" for name, value in each.items()) for each in points))
        wanted = ", ".join(f"{name} {value}" for name, value in at.items())
        yield f"parameters.at: no level of [{experiment.name}] has the point {wanted}; it has {have}"


def _of_measure(claim: Claim) -> Iterator[str]:
    measure = ALL.get(claim.measure)
    if measure is None:
        near = ", ".join(difflib.get_close_matches(claim.measure, ALL, 3, 0.4)) or "summary, summary_curve"
        yield f"measure = {claim.measure!r} is not known; near are {near}"
        return
    try:
        inspect.signature(measure).bind(None, **claim.parameters)
    except TypeError as error:
        yield f"parameters of measure {claim.measure}: {error}"
