"""Any number of a run's summary, by the name that `pullnet sweep --metric` has for it."""

import difflib
import json

from pullnet.errors import InputError
from pullnet.papers.judge import MeasuredCurve, MeasuredNumber
from pullnet.papers.measures.data import Data, mean, number_of, seeds_text, span
from pullnet.papers.model import Value
from pullnet.papers.runs import Run
from pullnet.sweeps.data import flat

At = dict[str, Value]


def _value(run: Run, name: str) -> float:
    summary = json.loads((run.folder / "summary.json").read_text(encoding="utf-8"))
    numbers = {
        path: value for path, value in flat(summary) if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if name not in numbers:
        near = " or ".join(difflib.get_close_matches(name, numbers, 3, 0.4))
        remedy = f"did you mean {near}?" if near else "summary.json has those that there are"
        raise InputError(f"metric = {name!r}: {run.folder} has no such number; {remedy}")
    return float(numbers[name])


def summary(data: Data, experiment: str, metric: str, at: At | None = None) -> MeasuredNumber:
    """Mean of a number over the seeds."""
    runs = data.runs(experiment, at)
    values = [_value(run, metric) for run in runs]
    return MeasuredNumber(mean(values), note=f"{span(values)} over {seeds_text(runs)}")


def summary_curve(data: Data, experiment: str, metric: str, key: str) -> MeasuredCurve:
    """Means of a number over the seeds, against a setting that the experiment varies."""
    points = [
        (number_of(value), mean([_value(run, metric) for run in data.runs(experiment, {key: value})]))
        for value in data.values(experiment, key)
    ]
    return MeasuredCurve(curve=list(points), note=seeds_text(data.runs(experiment)))
