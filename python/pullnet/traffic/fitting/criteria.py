"""How well each law describes all data: Akaike's and Bayes' information criteria, and goodness of fit.

The criteria are of the positive samples, on which every law has a density, so that they can be compared: 2 k - 2 log L
and k log n - 2 log L for k parameters. A law of less is better; differences below 2 say nothing, above 10 they are
decisive (K. P. Burnham, D. R. Anderson, Model Selection and Multimodel Inference, 2002). Unlike gamma they do not
forgive a law whose place or width is wrong.

Goodness of fit is the Kolmogorov-Smirnov distance D on the samples that the law was fitted to. Its p-value is that of a
parametric bootstrap: samples are drawn from the law, each is fitted, and p is the share of samples that are no nearer
to their own fit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pullnet.traffic.models import Model, PowerLaw
from pullnet.traffic.sample import Floats, SampleError

MOST_REPEATS = 250
"""Repeats of the bootstrap of each law at most: p to 0.03."""

_LARGE = 4096
"""Samples from which on a distance is computed only where it may be the largest."""

_BLOCK = 64
"""Samples between two whose shares are computed first."""


@dataclass(frozen=True)
class Criteria:
    """How well a law describes all data."""

    aic: float
    bic: float
    distance: float
    """Kolmogorov-Smirnov distance to the samples that the law was fitted to."""
    p: float | None = None
    """Share of samples of the law itself that are no nearer to their fit; `None` if not computed."""
    repeats: int = 0


def criteria(models: Sequence[Model], values: Floats, positive: Floats) -> Mapping[str, Criteria]:
    """Judge models that were fitted to `values`, in order; `positive` are the values above zero."""
    return {model.name: _criteria(model, values, positive) for model in models}


def _criteria(model: Model, values: Floats, positive: Floats) -> Criteria:
    # The least value of a power law is estimated as well.
    count = len(model.parameters) + (model.name == PowerLaw.name)
    # A fit knows the likelihood of its own samples, which are the positive ones unless it keeps zeros.
    own = model.evidence.samples == positive.size
    likelihood = model.evidence.log_likelihood if own else float(model.logpdf(positive).sum())
    aic, bic = 2 * count - 2 * likelihood, count * math.log(positive.size) - 2 * likelihood
    return Criteria(aic, bic, _distance(model, values if model.keeps_zeros else positive))


def distance(model: Model, sample: Floats) -> float:
    """Kolmogorov-Smirnov distance of a law and a sample, on both sides of each step."""
    return _distance(model, np.sort(sample))


def _distance(model: Model, ordered: Floats) -> float:
    steps = _steps(ordered.size)
    if ordered.size < _LARGE:
        return _farthest(model.cdf(ordered), steps)
    # Shares only rise: between two values whose shares are known they cannot be farther away than the one's share is
    # from the other's step. Only blocks where that is more than what has been found need to be computed.
    edges = np.append(np.arange(0, ordered.size - 1, _BLOCK), ordered.size - 1)
    share = model.cdf(ordered[edges])
    found = float(max((share - steps[edges]).max(), (steps[edges + 1] - share).max()))
    above, below = share[1:] - steps[edges[:-1]], steps[edges[1:] + 1] - share[:-1]
    for block in np.flatnonzero(np.maximum(above, below) > found):
        first, end = edges[block], edges[block + 1] + 1
        found = max(found, _farthest(model.cdf(ordered[first:end]), steps[first : end + 1]))
    return found


def _farthest(share: Floats, steps: Floats) -> float:
    """Largest distance of shares from the steps before and after them."""
    return float(max((share - steps[:-1]).max(), (steps[1:] - share).max()))


@lru_cache(maxsize=4)
def _steps(size: int) -> Floats:
    """Shares of a sample up to each of its values, from 0 to 1."""
    return np.asarray(np.arange(size + 1) / size)


def plausibility(model: Model, size: int, found: Criteria, repeats: int, seed: int) -> Criteria:
    """Add the p-value of the distance, of at most `MOST_REPEATS` samples of `size`."""
    count = min(repeats, MOST_REPEATS)
    rng = np.random.default_rng([seed, size])
    farther = done = 0
    for _ in range(count):
        drawn = model.rvs(size, rng)
        try:
            # A Gaussian may draw values below zero, which no volume has.
            own = type(model).fit(np.maximum(drawn, 0.0) if model.keeps_zeros else drawn)
        except SampleError:
            continue
        done += 1
        farther += distance(own, np.maximum(drawn, 0.0) if model.keeps_zeros else drawn) >= found.distance
    p = farther / done if done else None
    return Criteria(found.aic, found.bic, found.distance, p, done)
