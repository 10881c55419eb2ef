"""The normal law above a truncation point, exact however far out that point is.

`t >= 0` is the distance above the truncation point in standard deviations, `a` the truncation point itself, in standard
deviations above the mean: the density of `t` is proportional to `exp(-a t - t^2/2)`. For large `a` this goes over into
an exponential law of rate `a`. The usual formulas subtract numbers of the size of `a^2`; those here do not.

A Gaussian above `xmin` is this law in `x - xmin`, a log-normal in `log(x / xmin)`; their limits are the exponential law
and the power law.
"""

import math

import numpy as np
from scipy import optimize, special

from pullnet.traffic.sample import Floats

#: Beyond this truncation point the law counts as its limit, the exponential: mean log-likelihoods differ by 1e-12.
FAR = 1e6
#: Below this truncation point the truncation has no effect.
NEAR = -1e7
_ROOT2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 / math.pi)
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_TERMS = 80


def _log_mills(a: float) -> float:
    """Logarithm of survival over density of the standard normal law at `a`."""
    if a > 0:
        return math.log(float(special.erfcx(a / _ROOT2))) - math.log(_ROOT_2_PI)
    return float(special.log_ndtr(-a)) + 0.5 * a * a + _LOG_ROOT_2PI


def hazard(a: float) -> float:
    """Density over survival of the standard normal law at `a`."""
    return math.exp(-_log_mills(a))


def log_density(t: Floats, a: float) -> Floats:
    """Logarithm of the density of `t`."""
    if a > 0:
        return np.asarray(-_log_mills(a) - t * (a + 0.5 * t))
    return np.asarray(-0.5 * (a + t) ** 2 - _LOG_ROOT_2PI - special.log_ndtr(-a))


def log_density_whole(z: Floats) -> Floats:
    """Logarithm of the standard normal density."""
    return np.asarray(-0.5 * z * z - _LOG_ROOT_2PI)


def log_survival(t: Floats, a: float) -> Floats:
    """Logarithm of the share of the law above `t`."""
    if a > 0:
        shift = special.erfcx((a + t) / _ROOT2) / special.erfcx(a / _ROOT2)
        return np.asarray(np.log(shift) - t * (a + 0.5 * t))
    return np.asarray(special.log_ndtr(-(a + t)) - special.log_ndtr(-a))


def inverse_survival(log_p: Floats, a: float) -> Floats:
    """The `t` above which the share `exp(log_p)` lies."""
    if a <= 3:
        return np.asarray(np.maximum(-special.ndtri_exp(log_p + special.log_ndtr(-a)) - a, 0.0))
    # The logarithm of the survival is concave: after one step Newton comes down to the root and never passes it.
    t = np.array(-2.0 * log_p / (a + np.sqrt(a * a - 2.0 * log_p)), ndmin=1)
    wanted = np.broadcast_to(log_p, t.shape)
    finite = np.isfinite(t)
    for _ in range(6):
        at = t[finite]
        rate = _ROOT_2_PI / special.erfcx((a + at) / _ROOT2)
        t[finite] = np.maximum(at + (log_survival(at, a) - wanted[finite]) / rate, 0.0)
    return t.reshape(np.shape(log_p))


def moments(a: float) -> tuple[float, float]:
    """Mean and variance of `t`."""
    if a < 4:
        h = hazard(a)
        return h - a, 1.0 - h * (h - a)
    fraction = a  # of the continued fraction of the mean, 1/(a + 2/(a + 3/(a + ...)))
    for term in range(_TERMS, 2, -1):
        fraction = a + term / fraction
    rest = 2.0 / fraction
    mean = 1.0 / (a + rest)
    return mean, mean * (rest - mean)


def estimate(mean: float, variance: float) -> tuple[float, float]:
    """Maximum likelihood from mean and variance (by n) of the distances above the truncation point.

    Gives `a`, from `NEAR` to `FAR`, and the standard deviation of the law before truncation. The likelihood has a
    maximum if and only if the coefficient of variation is below 1; otherwise it grows towards the exponential law, and
    `a` is `FAR`
    (J. del Castillo, The singly truncated normal distribution, Ann. Inst. Statist. Math. 46, 1994).
    """
    wanted = variance / (mean * mean)

    def miss(a: float) -> float:
        m, v = moments(a)
        return v / (m * m) - wanted

    if miss(FAR) <= 0:
        a = FAR
    elif miss(NEAR) >= 0:
        a = NEAR
    else:
        a = float(optimize.brentq(miss, NEAR, FAR, xtol=1e-13, rtol=1e-14, maxiter=500))
    return a, mean / moments(a)[0]


def log_moment(s: float, a: float) -> float:
    """Logarithm of the mean of `exp(s t)`."""
    if a - s > 0 and a > 0:
        return float(np.log(special.erfcx((a - s) / _ROOT2)) - np.log(special.erfcx(a / _ROOT2)))
    return float(s * (0.5 * s - a) + special.log_ndtr(s - a) - special.log_ndtr(-a))
