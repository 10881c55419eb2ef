"""Papers of users: a folder anywhere, checked before anything is run."""

import difflib
import inspect
from collections.abc import Iterator
from pathlib import Path

from pullnet.arguments import declared, refuse_other_types
from pullnet.errors import InputError
from pullnet.papers import model
from pullnet.papers.judge import unfit
from pullnet.papers.measures import ALL, kinds_of
from pullnet.papers.measures.data import agrees, has_number, number_of, unit_of
from pullnet.papers.measures.metrics import summary, summary_curve
from pullnet.papers.model import Claim, Experiment, Paper, Value
from pullnet.papers.reproduce import used_by
from pullnet.papers.tables import LEVELS
from pullnet.sweeps.data import is_metric, near_metrics


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
        if claim.impossible or claim.tests:
            continue
        wrong = list(_of_measure(claim))
        yield from (f"claim {claim.id}: {error}" for error in wrong)
        if wrong:
            continue
        for name in used_by(claim):
            if name not in paper.experiments:
                yield f"claim {claim.id}: there is no experiment {name!r}; there are {', '.join(paper.experiments)}"
            else:
                yield from (f"claim {claim.id}: {error}" for error in _of_point(claim, paper.experiments[name]))


def _of_point(claim: Claim, experiment: Experiment) -> Iterator[str]:
    """Errors of a point that no level of the experiment has: nothing could be measured there."""
    at = claim.parameters.get("at")
    points = _points(experiment)
    if isinstance(at, dict) and not any(agrees(at, point) for point in points):
        have = "; ".join(dict.fromkeys(", ".join(f"{name} {value}" for name, value in each.items()) for each in points))
        wanted = ", ".join(f"{name} {value}" for name, value in at.items())
        yield f"parameters.at: no level of [{experiment.name}] has the point {wanted}; it has {have}"
    key = claim.parameters.get("key")
    if isinstance(key, str):
        wrong = [f"parameters.key: {key} {error}" for error in _of_key(claim.measure, experiment, key)]
        yield from wrong
        if claim.measure == summary_curve.__name__ and not wrong:
            yield from _of_curve(claim, experiment, key)


def _points(experiment: Experiment) -> list[dict[str, Value]]:
    return [point.at for level in experiment.levels.values() for point in level.points]


def _of_key(measure: str, experiment: Experiment, key: str) -> Iterator[str]:
    """Errors of a setting that something is measured against."""
    points = _points(experiment)
    if not any(key in point for point in points):
        varied = ", ".join(dict.fromkeys(name for point in points for name in point)) or "nothing"
        yield f"is not varied by [{experiment.name}], which varies {varied}"
        return
    values = list(dict.fromkeys(point[key] for point in points if key in point))
    words = [value for value in values if not has_number(value)]
    if measure != summary_curve.__name__:
        return
    if words:
        yield f"has the value {words[0]!r} in [{experiment.name}], which is no number for the axis of a curve"
    elif len({unit_of(value) for value in values}) > 1:
        units = ", ".join(str(value) for value in values)
        yield f"has values of several units in [{experiment.name}]: {units}; write all of them in one"


def _of_curve(claim: Claim, experiment: Experiment, key: str) -> Iterator[str]:
    """Errors of points that no level runs: a verdict would be of the other points alone."""
    values = list(dict.fromkeys(point[key] for point in _points(experiment) if key in point))
    run = {number_of(value) for value in values}
    for x, *_ in claim.curve:
        if x not in run:
            have = ", ".join(str(value) for value in values)
            yield f"curve: no level of [{experiment.name}] has {key} = {x:g}; they have {have}"


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
        return
    kinds = declared(measure)
    for name, value in claim.parameters.items():
        try:
            refuse_other_types("parameters", name, value, kinds[name])
        except InputError as error:
            yield str(error)
    metric = claim.parameters.get("metric")
    if measure in (summary, summary_curve) and isinstance(metric, str) and not is_metric(metric):
        remedy = near_metrics(metric) or "summary.json of any run lists them"
        yield f"parameters.metric: {metric} is no number of a summary; {remedy}"
    yield from (f"{key}: {error}" for key, error in unfit(claim, kinds_of(measure)))
