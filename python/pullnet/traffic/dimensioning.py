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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError
from pullnet.traffic.models import Gaussian, LogNormal, Model, Weibull
from pullnet.traffic.volumes import Volumes

Floats = NDArray[np.float64]

EPSILONS = (0.5, 0.1, 0.05, 0.01)
"""Shares of intervals that may exceed the capacity, as in the study."""

HEADROOM = 0.3
"""Of the rule of thumb."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to choose a capacity."""

    name: str
    summary: str
    volume: Callable[[Floats, float], float]
    """The volume per interval to be carried, from a sample and eps."""


def meent(sample: Floats, eps: float) -> float:
    """Mean plus sqrt(-2 ln eps) standard deviations: the Chernoff bound of a Gaussian (van de Meent et al. 2006)."""
    return float(sample.mean() + math.sqrt(-2 * math.log(eps)) * _deviation(sample))


def gaussian(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the Gaussian with the sample's mean and variance."""
    return float(Gaussian(float(sample.mean()), _deviation(sample)).isf(eps))


def lognormal_moments(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the log-normal that has the sample's mean and variance."""
    mean = float(sample.mean())
    if mean == 0:
        return 0.0
    return float(lognormal_of(mean, _deviation(sample) / mean).isf(eps))


def lognormal_of(mean: float, cv: float) -> LogNormal:
    """Return the log-normal of a mean and a coefficient of variation."""
    variance = math.log1p(cv * cv)
    return LogNormal(math.log(mean) - variance / 2, math.sqrt(variance))


def lognormal(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the log-normal of maximum likelihood."""
    return _of_positive(LogNormal.fit, sample, eps)


def weibull(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the Weibull law of maximum likelihood."""
    return _of_positive(Weibull.fit, sample, eps)


def empirical(sample: Floats, eps: float) -> float:
    """Return the smallest volume that no more than a share eps of the sample reaches: just above an order statistic."""
    allowed = math.floor(eps * len(sample) * (1 + 1e-12))
    reached = np.partition(sample, len(sample) - 1 - allowed)[len(sample) - 1 - allowed]
    return float(np.nextafter(reached, np.inf))


def rule_of_thumb(sample: Floats, _eps: float) -> float:
    """Mean plus 30 %, for any eps."""
    return float(sample.mean() * (1 + HEADROOM))


def gev(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the generalised extreme value law of maximum likelihood."""
    return _by_scipy("genextreme", sample, eps)


def gpd(sample: Floats, eps: float) -> float:
    """Upper eps quantile of the generalised Pareto law of maximum likelihood, from the least sample on."""
    return _by_scipy("genpareto", sample, eps)


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
class Dimensioning:
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

    def _repr_html_(self) -> str:
        from pullnet.traffic import notebook

        return notebook.dimensioning(self)

    def unsupported(self) -> list[float]:
        """Return the values of eps for which the sample is too small: less than one of its intervals may exceed."""
        return [eps for eps in dict.fromkeys(found.eps for found in self.capacities) if not supports(self.samples, eps)]


def supports(samples: int, eps: float) -> bool:
    """Whether a sample has an empirical quantile at eps: at least one of its values may lie above."""
    return samples * eps >= 1 - 1e-9


def capacity(rule: str, sample: Floats, eps: float) -> float:
    """Volume per interval that a rule requires, in the unit of the sample."""
    return _rule(rule).volume(_checked(sample), _checked_eps(eps))


def exceedance(sample: Floats, volume: float) -> float:
    """Share of a sample that is at least `volume`."""
    return float(np.count_nonzero(np.asarray(sample) >= volume) / len(sample))


def dimension(
    volumes: Volumes, *, eps: Sequence[float] = EPSILONS, rules: Iterable[str] = tuple(RULES)
) -> Dimensioning:
    """Apply every rule for every eps to a trace; gaps are left out."""
    sample = _checked(volumes.sample(), volumes.trace)
    wanted = [_checked_eps(each) for each in eps]
    to_rate = 8.0 / volumes.timescale
    found = []
    for name in rules:
        for each in wanted:
            volume = _rule(name).volume(sample, each)
            found.append(Capacity(name, each, volume * to_rate, exceedance(sample, volume)))
    mean, deviation = float(sample.mean()), _deviation(sample)
    zeros = int(np.count_nonzero(sample == 0))
    return Dimensioning(
        volumes.trace, volumes.timescale, len(sample), zeros, mean * to_rate, deviation * to_rate, tuple(found)
    )


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


def _deviation(sample: Floats) -> float:
    return float(sample.std())


def _of_positive(fit: Callable[[Floats], Model], sample: Floats, eps: float) -> float:
    """Quantile of a law for the positive samples, at the share of them that may exceed."""
    positive = sample[sample > 0]
    if eps * len(sample) >= len(positive):
        return 0.0
    if positive.min() == positive.max():
        return float(positive[0])
    return float(fit(positive).isf(eps * len(sample) / len(positive)))


def _by_scipy(law: str, sample: Floats, eps: float) -> float:
    from scipy import stats  # takes half a second

    mean = float(sample.mean())
    if sample.min() == sample.max():
        return mean
    scaled = sample / mean
    fixed = {"floc": float(scaled.min()) * (1 - 1e-9)} if law == "genpareto" else {}
    family = getattr(stats, law)
    return float(family.isf(eps, *family.fit(scaled, **fixed)) * mean)
