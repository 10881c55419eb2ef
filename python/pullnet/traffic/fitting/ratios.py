"""Which of two models the data favour: the log-likelihood ratio and its p-value.

`R` is the sum of the differences of log-densities. Without one model within the other, `R / (sigma sqrt(n))` is about
standard normal if neither is better, `sigma` being the standard deviation of the differences (Q. H. Vuong, Econometrica
57, 1989), and `p = erfc(|R| / (sigma sqrt(2 n)))`.

Where one model is a special case of the other, the larger one cannot lose, `sigma` tends to zero and that p-value is
wrong. There `2 |R|` is chi-squared with one degree of freedom if the special case is true, and that with probability
one half, else zero, where the special case lies at the edge of the other's parameters (S. G. Self, K.-Y. Liang, J. Am.
Stat. Assoc. 82, 1987): `p_nested`. All p-values assume independent samples; correlated ones look surer than they are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from pullnet.traffic.further import Gamma, LogLogistic
from pullnet.traffic.models import Exponential, Gaussian, LogNormal, Model, PowerLaw, Weibull
from pullnet.traffic.sample import Floats

TRUSTED = 0.1
"""The sign of a ratio is trusted where p is below; the study draws a circle around the others."""

_WITHIN: Mapping[tuple[str, str], bool] = {
    (Exponential.name, Weibull.name): False,
    (Exponential.name, Gamma.name): False,
}
_WITHIN_TAIL: Mapping[tuple[str, str], bool] = {
    (Exponential.name, Weibull.name): False,
    (Exponential.name, Gamma.name): False,
    (Exponential.name, Gaussian.name): True,
    (PowerLaw.name, LogLogistic.name): True,
    (PowerLaw.name, LogNormal.name): True,
    (PowerLaw.name, Weibull.name): True,
}
"""Special case and general model; whether the special case is at the edge of the general one's parameters."""


@dataclass(frozen=True)
class Ratio:
    """A comparison of two models on the same samples."""

    first: str
    second: str
    ratio: float
    """Sum of log-density of the first less that of the second."""
    normalised: float
    """`R / (sigma sqrt(n))`; above zero favours the first."""
    p: float
    """Two-sided, as if neither model were within the other."""
    samples: int
    nested: str | None = None
    """The model that is a special case of the other, if one is."""
    p_nested: float | None = None
    """p-value of the special case, if there is one: small where the general model is needed."""

    @property
    def favours(self) -> str | None:
        """The better model; `None` where p is too large to tell."""
        if not self.p < TRUSTED:
            return None
        return self.first if self.ratio > 0 else self.second

    @property
    def circled(self) -> bool:
        """Whether p is above 0.1, so that the sign says nothing."""
        return not self.p < TRUSTED

    def reversed(self) -> "Ratio":
        """The same with the models exchanged."""
        turned = (self.second, self.first, -self.ratio, -self.normalised)
        return Ratio(*turned, self.p, self.samples, self.nested, self.p_nested)


def likelihood_ratio(first: Model, second: Model, sample: Floats) -> Ratio:
    """Compare two fitted models on `sample`."""
    return _ratio(first, second, first.logpdf(sample), second.logpdf(sample))


def all_ratios(models: Sequence[Model], sample: Floats) -> tuple[Ratio, ...]:
    """Compare all pairs of models on `sample`."""
    return ratios_of(models, [model.logpdf(sample) for model in models])


def ratios_of(models: Sequence[Model], logs: Sequence[Floats]) -> tuple[Ratio, ...]:
    """Compare all pairs of models by the logarithms of their densities on one sample."""
    pairs = combinations(range(len(models)), 2)
    return tuple(_ratio(models[i], models[j], logs[i], logs[j]) for i, j in pairs)


def _ratio(first: Model, second: Model, log_first: Floats, log_second: Floats) -> Ratio:
    difference = log_first - log_second
    total, n = float(difference.sum()), difference.size
    spread = float(difference.std()) * math.sqrt(n)
    # Differences of rounding only: the two are the same law.
    same = not spread > 1e-9 * math.sqrt(n) or not math.isfinite(spread)
    normalised = 0.0 if same else total / spread
    p = 1.0 if same else float(special.erfc(abs(normalised) / math.sqrt(2)))
    nested, p_nested = _nested(first, second, total)
    return Ratio(first.name, second.name, total, normalised, p, n, nested, p_nested)


def _nested(first: Model, second: Model, total: float) -> tuple[str | None, float | None]:
    within = _WITHIN_TAIL if all(_is_tail(model) for model in (first, second)) else _WITHIN
    for special_case, general, gain in (first.name, second.name, -total), (second.name, first.name, total):
        if (special_case, general) in within:
            share = float(special.erfc(math.sqrt(max(gain, 0.0))))  # of chi-squared with 1 degree of freedom, 2 gain
            at_edge = within[special_case, general]
            return special_case, (0.5 * share if gain > 1e-6 else 1.0) if at_edge else share
    return None, None


def _is_tail(model: Model) -> bool:
    return math.isfinite(model.support) and model.support > 0


def log_likelihood_ratio_p(ratio: float, deviation: float, samples: int) -> float:
    """`erfc(|R| / (sqrt(2 n) sigma))`, the p-value of a ratio."""
    return float(special.erfc(abs(ratio) / (np.sqrt(2.0 * samples) * deviation)))
