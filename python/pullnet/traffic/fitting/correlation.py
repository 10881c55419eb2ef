"""How straight a Q-Q plot is: the correlation coefficient gamma, over timescales."""

import math
from collections.abc import Sequence

import numpy as np

from pullnet.traffic.models import Model
from pullnet.traffic.sample import Floats

STRONG = 0.95
"""A model is called a strong fit above this gamma."""


def quantiles(model: Model, sample: Floats) -> tuple[Floats, Floats]:
    """A Q-Q plot: quantiles of the model at `i / (n + 1)`, and the samples in order."""
    shares = np.arange(1, sample.size + 1) / (sample.size + 1.0)
    return model.ppf(shares), np.sort(sample)


def gamma(model: Model, sample: Floats) -> float:
    """Linear correlation between the samples in order and the quantiles of the model; NaN if either has no spread."""
    return correlation(*quantiles(model, sample))


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
