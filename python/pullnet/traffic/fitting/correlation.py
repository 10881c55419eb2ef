"""How straight a Q-Q plot is: the correlation coefficient gamma, over timescales."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import special

from pullnet.traffic.models import Gaussian, LogNormal, Model
from pullnet.traffic.sample import Floats

STRONG = 0.95
"""A model is called a strong fit above this gamma."""


def quantiles(model: Model, sample: Floats) -> tuple[Floats, Floats]:
    """A Q-Q plot: quantiles of the model at `i / (n + 1)`, and the samples in order."""
    return _expected(model, sample.size), np.sort(sample)


def gamma(model: Model, sample: Floats) -> float:
    """Linear correlation between the samples in order and the quantiles of the model; NaN if either has no spread."""
    return straightness(model, np.sort(sample))


def straightness(model: Model, ordered: Floats) -> float:
    """`gamma` of samples that are in order."""
    return correlation(_expected(model, ordered.size), ordered)


def _expected(model: Model, size: int) -> Floats:
    """Quantiles of a model at `i / (n + 1)`."""
    if isinstance(model, LogNormal) and model.xmin == 0:
        return np.asarray(np.exp(model.mu - model.sigma * _normal(size)))
    if isinstance(model, Gaussian) and math.isinf(model.xmin):
        return np.asarray(model.mu - model.sigma * _normal(size))
    return model.isf_of_log(_log_shares(size))


# Shares of a Q-Q plot and their normal quantiles depend on its size only, and take longer than the rest of it.
# A study has as many sizes as timescales.
@lru_cache(maxsize=4)
def _log_shares(size: int) -> Floats:
    return np.asarray(np.log1p(-np.arange(1, size + 1) / (size + 1.0)))


@lru_cache(maxsize=4)
def _normal(size: int) -> Floats:
    """Quantiles of the standard normal law, with the other sign."""
    return np.asarray(special.ndtri_exp(_log_shares(size)))


def correlation(x: Floats, y: Floats) -> float:
    """Linear correlation of two series."""
    # Dividing by the largest first keeps squares within floating point.
    x, y = (values / scale if (scale := float(np.abs(values).max())) > 0 else values for values in (x, y))
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / spread if spread > 0 and math.isfinite(spread) else math.nan


def variation(gammas: Sequence[float]) -> float:
    """`v_gamma`: standard deviation (by the number less one) of gamma over timescales; NaN for fewer than two."""
    known = [value for value in gammas if math.isfinite(value)]
    return float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
