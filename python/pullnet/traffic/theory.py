"""Results from formulas alone: how often Meent's capacity is exceeded, and the limits of a log-normal.

All are functions of eps and of the coefficient of variation (cv), in any unit.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

LARGEST_CV = 20.0
"""Up to here maxima over the coefficient of variation are sought; they lie below 3."""


def margin(eps: float) -> float:
    """Standard deviations that Meent's formula adds to the mean."""
    return math.sqrt(-2 * math.log(eps))


def safety_margin_increase(eps: float, stricter: float) -> float:
    """By what share the margin above the mean grows from eps to a stricter one: 0.414 from 1e-2 to 1e-4."""
    return margin(stricter) / margin(eps) - 1


def meent_on_gaussian(eps: float) -> float:
    """How often Gaussian traffic exceeds Meent's capacity: 0.120, 0.016, 0.0072, 0.0012 for 0.5, 0.1, 0.05, 0.01."""
    return float(special.ndtr(-margin(eps)))


def meent_on_lognormal(eps: float, cv: float) -> float:
    """How often log-normal traffic exceeds Meent's capacity."""
    return lognormal_above(margin(eps), cv)


def lognormal_above(deviations: float, cv: float) -> float:
    """Share of a log-normal above its mean plus so many standard deviations."""
    variance = math.log1p(cv * cv)
    return float(special.ndtr(-(math.log1p(cv * deviations) + variance / 2) / math.sqrt(variance)))


def most_of_meent_on_lognormal(eps: float) -> tuple[float, float]:
    """How often log-normal traffic of any cv exceeds Meent's capacity at most, and the cv at which it does."""
    return _largest(lambda cv: meent_on_lognormal(eps, cv))


def lognormal_over_meent(eps: float, cv: float) -> float:
    """Capacity of a log-normal matched by mean and variance, over Meent's."""
    sigma = math.sqrt(math.log1p(cv * cv))
    return math.exp(-sigma * special.ndtri(eps) - sigma * sigma / 2) / (1 + cv * margin(eps))


def most_of_lognormal_over_meent(eps: float) -> tuple[float, float]:
    """Largest ratio of the two capacities for any cv, and that cv: 1.250 at eps = 0.01."""
    return _largest(lambda cv: lognormal_over_meent(eps, cv))


def gaussian_error_on_lognormal(eps: float, cv: float) -> float:
    """Relative error of the Gaussian quantile (mean and variance) on log-normal traffic."""
    sigma = math.sqrt(math.log1p(cv * cv))
    return float((1 - cv * special.ndtri(eps)) / math.exp(-sigma * special.ndtri(eps) - sigma * sigma / 2) - 1)


def meent_error_on_lognormal(eps: float, cv: float) -> float:
    """Relative error of Meent's capacity, taken for the quantile, on log-normal traffic."""
    sigma = math.sqrt(math.log1p(cv * cv))
    return (1 + cv * margin(eps)) / math.exp(-sigma * special.ndtri(eps) - sigma * sigma / 2) - 1


def _largest(function: Callable[[float], float]) -> tuple[float, float]:
    grid = np.geomspace(1e-3, LARGEST_CV, 400)
    values = [function(float(cv)) for cv in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(lambda cv: -function(cv), bounds=(low, high), method="bounded")
    return float(-found.fun), float(found.x)
