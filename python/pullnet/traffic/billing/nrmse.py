"""How well laws foretell a percentile, over many links or traces.

The study cuts a trace of 900 s, binned at 100 ms, into 90 groups of 10 s and compares its 95th percentile with that of
a fitted law. What "the 95th percentile of the traffic" is of can be read in two ways; both are here:

- `groups`: of the rates of the groups, as an operator takes it of his slots;
- `samples`: of the very bins to which the law was fitted, as the study's scripts do.

NRMSE is the root of the mean squared error over the traces, divided by the standard deviation (by n) of the actual
percentiles over the traces: 0 is perfect, and 1 is no better than the mean of all traces.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pullnet.traffic.billing.percentile import Rank, fast_percentile, share
from pullnet.traffic.dimensioning import capacity
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_time
from pullnet.traffic.volumes import Volumes

GROUP = 10.0
"""Length of a group. Unit: s."""

READINGS = ("groups", "samples")
RULES = ("log-normal", "Weibull", "Gaussian", "Meent")
"""Rules of `dimension` whose capacity at 1 - percentile is taken for the prediction. Meent's is a bound and no
quantile; it is here since the scripts of the study draw it under the name of the Gaussian."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One trace."""

    trace: str
    rule: str
    reading: str
    actual: float
    """Unit: bit/s."""
    predicted: float
    """Unit: bit/s."""


@dataclass(frozen=True, slots=True)
class Nrmse:
    """A rule over all traces."""

    rule: str
    reading: str
    traces: int
    rmse: float
    """Unit: bit/s."""
    nrmse: float
    """NaN where all actual percentiles are equal."""
    bias: float
    """Mean of predicted - actual, in the unit of `nrmse`."""


def predictions(
    traces: Iterable[Volumes],
    *,
    rules: Iterable[str] = RULES,
    percentile: str | float | Fraction = 95,
    group: float = GROUP,
) -> list[Prediction]:
    """Predict the percentile of every trace by every rule, beside the actual one in both readings."""
    of = share(percentile)
    names = tuple(rules)
    return [found for trace in traces for found in _predictions(trace, names, of, group)]


def nrmse(found: Iterable[Prediction]) -> list[Nrmse]:
    """Join predictions over traces, by rule and reading."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for each in found:
        groups.setdefault((each.rule, each.reading), []).append(each)
    return [_nrmse(*key, group) for key, group in groups.items()]


def _predictions(trace: Volumes, rules: tuple[str, ...], of: Fraction, group: float) -> list[Prediction]:
    size = round(group / trace.timescale)
    if size < 1 or abs(size * trace.timescale - group) > 1e-9 * group:
        what = f"groups of {shown_time(group)} are no multiple of bins of {shown_time(trace.timescale)}"
        raise TrafficError(what, where=trace.trace, value=group, remedy="use a multiple")
    joined = trace.coarser(size)
    groups = joined.sample()
    if len(groups) < 2:
        what = f"{len(groups)} whole groups of {shown_time(group)} are too few for a percentile"
        raise TrafficError(what, where=trace.trace, value=len(groups), remedy="give a longer trace, or shorter groups")
    samples = trace.sample()
    actual = {
        "groups": fast_percentile(groups, of, Rank.NEAREST) * 8 / joined.timescale,
        "samples": fast_percentile(samples, of, Rank.NEAREST) * 8 / trace.timescale,
    }
    eps = float(1 - of)
    found = []
    for rule in rules:
        predicted = capacity(rule, samples, eps) * 8 / trace.timescale
        found += [Prediction(trace.trace, rule, reading, actual[reading], predicted) for reading in READINGS]
    return found


def _nrmse(rule: str, reading: str, group: list[Prediction]) -> Nrmse:
    actual = np.array([each.actual for each in group])
    errors = np.array([each.predicted for each in group]) - actual
    rmse, spread = math.sqrt(float(np.mean(errors**2))), float(actual.std())
    if spread <= 1e-12 * float(actual.max()):
        return Nrmse(rule, reading, len(group), rmse, math.nan, math.nan)
    return Nrmse(rule, reading, len(group), rmse, rmse / spread, float(errors.mean()) / spread)
