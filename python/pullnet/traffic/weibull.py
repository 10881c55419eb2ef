"""Estimation of the Weibull law, whole or above a truncation point.

With `z = log(x / xmin)` the scale is a function of the shape, which leaves a single equation:
`1/c - mean(z e^(cz)) / mean(e^(cz) - 1) + mean(z) = 0`. At `c = 0` its left side is
`(2 mean(z)^2 - mean(z^2)) / (2 mean(z))`: where the coefficient of variation of `z` is 1 or more there is no maximum,
and the likelihood grows towards the limit of small shapes, the power law.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, optimize

from pullnet.traffic.sample import Floats

#: A tail with this shape stands for a power law: their mean log-likelihoods differ by less than 1e-8.
LEAST_SHAPE = 1e-9
#: Smaller estimates are taken for the limit.
_LEAST_ROOT = 1e-6

#: From so many samples on, the search begins where it ends for every sixteenth of them: within about 1% of the root.
_LARGE = 16_384
_SHARE = 16
#: A step of Newton's method, as a part of the shape, after which the rest is below the precision of numbers: each step
#: squares the error.
_LAST_STEP = 1e-8


def _root(slope: Callable[[float], float], low: float, guess: float) -> float:
    high = max(guess, 2 * low)
    while slope(high) > 0:
        low, high = high, 2.0 * high
    while slope(low) < 0:
        low, high = 0.5 * low, low
    return float(optimize.brentq(slope, low, high, xtol=1e-14, rtol=1e-13))


def estimate(x: Floats) -> tuple[float, float]:
    """Shape and logarithm of the scale by maximum likelihood."""
    z = np.log(x)
    top = float(z.max())
    z -= top
    mean = float(z.mean())

    def slope(c: float) -> float:
        weights = np.exp(c * z)
        return 1.0 / c - float(weights @ z) / float(weights.sum()) + mean

    guess = math.pi / math.sqrt(6.0) / float(z.std())  # from the standard deviation of logarithms
    if z.size >= _LARGE:
        few = z[::_SHARE]
        guess = _newton(few, float(few.mean()), guess) or guess
    c = _newton(z, mean, guess) or _root(slope, 0.5 * guess, 1.5 * guess)
    return c, top + math.log(float(np.exp(c * z).mean())) / c


def _newton(z: Floats, mean: float, c: float) -> float | None:
    """Find the shape by Newton's method: a third of the passes over the sample that a bracket needs.

    `None` where it does not settle, so that the bracket has to be asked.
    """
    for _ in range(30):
        weights = np.exp(c * z)
        weighted = weights * z
        total = float(weights.sum())
        first = float(weighted.sum()) / total
        spread = float(weighted @ z) / total - first * first
        step = (1.0 / c - first + mean) / (1.0 / (c * c) + spread)
        if not math.isfinite(step):
            return None
        c = max(c + step, 0.5 * c)
        if abs(step) <= _LAST_STEP * c:
            return c
    return None


def estimate_tail(x: Floats, xmin: float) -> tuple[float, float]:
    """Shape and logarithm of the scale by maximum likelihood, of the law that starts at `xmin`."""
    z = np.log(x / xmin)
    mean, top = float(z.mean()), float(z.max())

    def slope(c: float) -> float:
        excess = np.exp(c * (z - top))
        whole = float(excess.sum()) - z.size * math.exp(-c * top) if c * top > 1e-3 else _small(c)
        return 1.0 / c - float(excess @ z) / whole + mean

    def _small(c: float) -> float:
        return float(np.expm1(c * z).sum()) * math.exp(-c * top)

    at_zero = 2.0 * mean * mean - float((z * z).mean())
    if at_zero <= 0 or slope(_LEAST_ROOT) <= 0:
        c = LEAST_SHAPE
    else:
        c = _root(slope, _LEAST_ROOT, min(1.0 / mean, 500.0 / top))
    return c, math.log(xmin) + (c * top + math.log(_mean_excess(c, z, top))) / c


def _mean_excess(c: float, z: Floats, top: float) -> float:
    """Mean of `e^(cz) - 1`, over `e^(c top)`."""
    if c * top < 500:
        return float(np.expm1(c * z).mean()) * math.exp(-c * top)
    return float(np.exp(c * (z - top)).mean()) - math.exp(-c * top)


def standard_errors(x: Floats, xmin: float, c: float, log_scale: float) -> tuple[float, float]:
    """Standard errors of the shape and of the logarithm of the scale, from the observed information."""
    v = np.log(x) - log_scale
    power = np.exp(c * v)
    base = math.log(xmin) - log_scale if xmin > 0 else 0.0
    at_base = math.exp(c * base) if xmin > 0 else 0.0
    n = x.size
    # Second derivatives of n log c + (c - 1) sum v - n log(scale) - sum(power - at_base).
    shape_shape = n / c**2 + float(power @ (v * v)) - n * at_base * base**2
    scale_scale = c * c * (float(power.sum()) - n * at_base)
    cross = n - float(power.sum()) + n * at_base - c * (float(power @ v) - n * at_base * base)
    determinant = shape_shape * scale_scale - cross * cross
    if not determinant > 0:
        return math.nan, math.nan
    return math.sqrt(scale_scale / determinant), math.sqrt(shape_shape / determinant)


def tail_moment(power: float, at_xmin: float) -> float:
    """Mean of `(x / xmin)^(power shape)` of a tail whose `(xmin / scale)^shape` is `at_xmin`."""

    def term(e: float) -> float:
        return math.exp(power * math.log1p(e / at_xmin) - e)

    peak = max(power - at_xmin, 0.0)
    reach = max(peak, 1.0)
    parts = [(0.0, reach), (reach, 3 * reach + 60), (3 * reach + 60, math.inf)]
    try:
        return float(sum(integrate.quad(term, low, high, limit=200)[0] for low, high in parts))
    except OverflowError:
        return math.inf
