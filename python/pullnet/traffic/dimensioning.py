"""Link dimensioning: the smallest capacity C for which the share of intervals with at least C T stays below eps.

>>> capacity("log-normal", volumes.sample(), eps=0.01)       # bytes per interval  # doctest: +SKIP
>>> dimension(volumes, eps=(0.5, 0.1, 0.05, 0.01))           # every rule, in bit/s  # doctest: +SKIP
>>> score(many, eps=(0.01,))                                 # how far rules miss, over traces  # doctest: +SKIP

Rules know the sample only; T enters by the interval over which volumes are summed. Zeros are a part of their own for
rules that cannot have them: with a share z of zeros the rest has to stay below eps / (1 - z).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pullnet.arguments import typed
from pullnet.html import Shown
from pullnet.traffic.error import TrafficError
from pullnet.traffic.models import Gaussian, LogNormal, Model, Weibull
from pullnet.traffic.sample import constant
from pullnet.traffic.volumes import Volumes

Floats = NDArray[np.float64]

EPSILONS = (0.5, 0.1, 0.05, 0.01)
"""Shares of intervals that may exceed the capacity, as in the study."""

HEADROOM = 0.3
"""Of the rule of thumb."""


class Sample:
    """Volumes of intervals, with what several rules need of them."""

    def __init__(self, values: Floats) -> None:
        """Take volumes that were checked."""
        self.values = values

    @cached_property
    def ordered(self) -> Floats:
        """The volumes, the smallest first."""
        return np.sort(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean volume."""
        return float(self.values.mean())

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the volumes."""
        return float(self.values.std())

    def reaching(self, volume: float) -> float:
        """Share of the intervals with at least `volume`."""
        return float((len(self.values) - np.searchsorted(self.ordered, volume)) / len(self.values))


Quantile = Callable[[float], float]
"""The volume per interval to be carried, from eps."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to choose a capacity."""

    name: str
    summary: str
    of: Callable[[Sample], Quantile]
    """Does what it needs of a sample once, for every eps: estimates of a law take longer than its quantiles."""


def meent(sample: Sample) -> Quantile:
    """Mean plus sqrt(-2 ln eps) standard deviations: the Chernoff bound of a Gaussian (van de Meent et al. 2006)."""
    return lambda eps: sample.mean + math.sqrt(-2 * math.log(eps)) * sample.deviation


def gaussian(sample: Sample) -> Quantile:
    """Upper eps quantile of the Gaussian with the sample's mean and variance."""
    return _quantile(Gaussian(sample.mean, sample.deviation))


def lognormal_moments(sample: Sample) -> Quantile:
    """Upper eps quantile of the log-normal that has the sample's mean and variance."""
    if sample.mean == 0:
        return lambda _eps: 0.0
    return _quantile(lognormal_of(sample.mean, sample.deviation / sample.mean))


def lognormal_of(mean: float, cv: float) -> LogNormal:
    """Return the log-normal of a mean and a coefficient of variation."""
    variance = math.log1p(cv * cv)
    return LogNormal(math.log(mean) - variance / 2, math.sqrt(variance))


def lognormal(sample: Sample) -> Quantile:
    """Upper eps quantile of the log-normal of maximum likelihood."""
    return _of_positive(LogNormal, sample)


def weibull(sample: Sample) -> Quantile:
    """Upper eps quantile of the Weibull law of maximum likelihood."""
    return _of_positive(Weibull, sample)


def empirical(sample: Sample) -> Quantile:
    """The smallest volume that no more than a share eps of the sample reaches: just above an order statistic."""
    count = len(sample.values)

    def quantile(eps: float) -> float:
        # The most values whose share is not above eps: a product that is rounded may be one too many or one too few.
        near = round(eps * count)
        allowed = near if near / count <= eps else near - 1
        return float(np.nextafter(sample.ordered[count - 1 - allowed], np.inf))

    return quantile


def rule_of_thumb(sample: Sample) -> Quantile:
    """Mean plus 30 %, for any eps."""
    return lambda _eps: sample.mean * (1 + HEADROOM)


def gev(sample: Sample) -> Quantile:
    """Upper eps quantile of the generalised extreme value law of maximum likelihood."""
    return _by_scipy("genextreme", sample)


def gpd(sample: Sample) -> Quantile:
    """Upper eps quantile of the generalised Pareto law of maximum likelihood, from the least sample on."""
    return _by_scipy("genpareto", sample)


RULES = {
    rule.name: rule
    for rule in (
        Rule("empirical", "the quantile of the sample itself", empirical),
        Rule("log-normal", "quantile of the log-normal of maximum likelihood", lognormal),
        Rule("log-normal moments", "quantile of the log-normal with the sample's mean and variance", lognormal_moments),
        Rule("Weibull", "quantile of the Weibull law of maximum likelihood", weibull),
        Rule("Gaussian", "quantile of the Gaussian with the sample's mean and variance", gaussian),
        Rule("Meent", "mean + sqrt(-2 ln eps) deviations: the Chernoff bound of a Gaussian", meent),
        Rule("mean + 30 %", "rule of thumb", rule_of_thumb),
    )
}
"""Rules by name, in the order of tables."""

FURTHER_RULES = {
    rule.name: rule
    for rule in (
        Rule("GEV", "quantile of the generalised extreme value law of maximum likelihood", gev),
        Rule("generalised Pareto", "quantile of the generalised Pareto law of maximum likelihood", gpd),
    )
}
"""Rules that the scripts of the study plot under other labels. Computed only on request, because the fits are slow."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity by a rule, and how well it does on the sample itself."""

    rule: str
    eps: float
    capacity: float
    """Unit: bit/s."""
    exceeded: float
    """Share of intervals with at least this volume (eps hat)."""


@dataclass(frozen=True, slots=True)
class Dimensioning(Shown):
    """Capacities for one trace at one timescale."""

    trace: str
    timescale: float
    """Unit: s."""
    samples: int
    zeros: int
    mean: float
    """Unit: bit/s."""
    deviation: float
    """Standard deviation of the rate over intervals. Unit: bit/s."""
    capacities: tuple[Capacity, ...]

    def of(self, rule: str, eps: float) -> Capacity:
        """Return the capacity of a rule for an eps."""
        return next(found for found in self.capacities if found.rule == rule and found.eps == eps)

    def unsupported(self) -> list[float]:
        """Return the values of eps for which the sample is too small: less than one of its intervals may exceed."""
        return [eps for eps in dict.fromkeys(found.eps for found in self.capacities) if not supports(self.samples, eps)]


def supports(samples: int, eps: float) -> bool:
    """Whether a sample has an empirical quantile at eps: at least one of its values may lie above."""
    return 1 / samples <= eps


def capacity(rule: str, sample: Floats, eps: float) -> float:
    """Volume per interval that a rule requires, in the unit of the sample."""
    return _rule(rule).of(Sample(_checked(sample)))(_checked_eps(eps))


def exceedance(sample: Floats, volume: float) -> float:
    """Share of a sample that is at least `volume`."""
    return float(np.count_nonzero(np.asarray(sample) >= volume) / len(sample))


@typed
def dimension(
    volumes: Volumes, *, eps: Sequence[float] = EPSILONS, rules: Iterable[str] = tuple(RULES)
) -> Dimensioning:
    """Apply every rule for every eps to a trace; gaps are left out."""
    values = _checked(volumes.sample(), volumes.trace)
    sample = Sample(values)
    wanted = [_checked_eps(each) for each in eps]
    to_rate = 8.0 / volumes.timescale
    found = []
    for name in rules:
        quantile = _rule(name).of(sample)
        for each in wanted:
            volume = quantile(each)
            found.append(Capacity(name, each, volume * to_rate, sample.reaching(volume)))
    rates = sample.mean * to_rate, sample.deviation * to_rate
    zeros = int(np.count_nonzero(values == 0))
    return Dimensioning(volumes.trace, volumes.timescale, len(values), zeros, *rates, tuple(found))


@dataclass(frozen=True, slots=True)
class Score:
    """How far a rule misses the target, over traces."""

    rule: str
    timescale: float
    eps: float
    traces: int
    exceeded: float
    """Mean over traces of the share of intervals that exceed (eps hat)."""
    miss: float
    """Mean over traces of |eps hat - eps|."""
    error: float
    """Standard error of `miss`; NaN for a single trace."""
    unsupported: int
    """Traces with fewer than 1/eps samples, which cannot show whether eps is kept."""


@typed
def score(found: Iterable[Dimensioning]) -> list[Score]:
    """Join what rules did on many traces, by rule, timescale and eps."""
    groups: dict[tuple[str, float, float], list[tuple[float, int]]] = {}
    for item in found:
        for each in item.capacities:
            groups.setdefault((each.rule, item.timescale, each.eps), []).append((each.exceeded, item.samples))
    return [_score(*key, np.array([share for share, _ in group]), group) for key, group in groups.items()]


def _score(rule: str, timescale: float, eps: float, shares: Floats, group: list[tuple[float, int]]) -> Score:
    miss = np.abs(shares - eps)
    error = float(miss.std(ddof=1) / math.sqrt(len(miss))) if len(miss) > 1 else math.nan
    few = sum(not supports(samples, eps) for _, samples in group)
    return Score(rule, timescale, eps, len(miss), float(shares.mean()), float(miss.mean()), error, few)


def _rule(name: str) -> Rule:
    rules = RULES | FURTHER_RULES
    if name not in rules:
        raise TrafficError(f"`{name}` is not a rule", value=name, remedy=f"use one of {', '.join(rules)}")
    return rules[name]


def _checked(sample: Any, where: str = "") -> Floats:
    values = np.asarray(sample, dtype=np.float64)
    if len(values) < 2:
        what = f"{len(values)} samples say nothing about how volumes vary"
        raise TrafficError(what, where=where, value=len(values), remedy="give at least 2")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise TrafficError("a sample that is no volume", where=where, remedy="give finite numbers of at least 0")
    return values


def _checked_eps(eps: float) -> float:
    if not 0 < eps < 1:
        remedy = "use a share of intervals between 0 and 1, such as 0.01"
        raise TrafficError(f"eps of {eps:g}", value=eps, remedy=remedy)
    return float(eps)


def _quantile(law: Model) -> Quantile:
    return lambda eps: float(law.isf(eps))


def _of_positive(kind: type[Model], sample: Sample) -> Quantile:
    """Quantile of a law for the positive samples, at the share of them that may exceed."""
    count = len(sample.values)
    positive = sample.values[sample.values > 0]
    if not len(positive):
        return lambda _eps: 0.0
    least = float(positive.min())
    law = None if constant(positive) else kind.estimate(positive)

    def quantile(eps: float) -> float:
        if eps * count >= len(positive):
            return 0.0
        return least if law is None else float(law.isf(eps * count / len(positive)))

    return quantile


def _by_scipy(law: str, sample: Sample) -> Quantile:
    from scipy import stats  # takes half a second

    if constant(sample.ordered):
        return lambda _eps: sample.mean
    scaled = sample.values / sample.mean
    fixed = {"floc": float(scaled.min()) * (1 - 1e-9)} if law == "genpareto" else {}
    family = getattr(stats, law)
    found = family.fit(scaled, **fixed)
    return lambda eps: float(family.isf(eps, *found) * sample.mean)
