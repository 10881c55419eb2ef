"""Models of traffic volumes: log-normal, Weibull, exponential, Gaussian, power law.

>>> model = LogNormal.fit([3.0, 5.0, 4.0, 8.0])      # maximum likelihood on all data
>>> model.ppf(0.95), model.evidence.standard_errors  # doctest: +SKIP
>>> tail = LogNormal.fit_tail(sample, xmin=1e6)      # the same law, renormalised to start at xmin  # doctest: +SKIP

Every model may start at an `xmin`; what lies below has probability zero. Zeros cannot be values of a log-normal, a
Weibull or a power law: their `fit` leaves them out and counts them (`evidence.zeros`), so that such a model describes
the positive volumes only. Exponential and Gaussian keep them. Negative values are errors.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy import special

from pullnet.traffic import halfline, weibull
from pullnet.traffic.model import Evidence, Model
from pullnet.traffic.sample import Floats

__all__ = ["MODELS", "Evidence", "Exponential", "Gaussian", "LogNormal", "Model", "PowerLaw", "Weibull"]


@dataclass(frozen=True)
class LogNormal(Model):
    """The logarithm of a value is Gaussian with mean `mu` and standard deviation `sigma`."""

    name: ClassVar[str] = "log-normal"
    parameters: ClassVar[tuple[str, ...]] = ("mu", "sigma")
    mu: float
    sigma: float
    xmin: float = 0.0

    @property
    def _a(self) -> float:
        return (math.log(self.xmin) - self.mu) / self.sigma if self.xmin > 0 else -math.inf

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        logs = np.log(x)
        return cls(float(logs.mean()), float(logs.std()))

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        y = np.log(x / xmin)
        a, sigma = halfline.estimate(float(y.mean()), float(y.var()))
        return cls(math.log(xmin) - a * sigma, sigma, xmin)

    def limit(self) -> str | None:
        """The power law, for a tail that is no more curved than one."""
        return PowerLaw.name if self._a > 0.99 * halfline.FAR else None

    def _errors(self, x: Floats) -> tuple[float, ...]:
        if self.xmin > 0:
            return _normal_errors(np.log(x / self.xmin), self._a, self.sigma)
        return self.sigma / math.sqrt(x.size), self.sigma / math.sqrt(2 * x.size)

    def _log_density(self, x: Floats) -> Floats:
        log_x = np.log(x)
        if self.xmin == 0:
            return halfline.log_density_whole((log_x - self.mu) / self.sigma) - log_x - math.log(self.sigma)
        return halfline.log_density(self._t(x), self._a) - log_x - math.log(self.sigma)

    def _t(self, x: Floats) -> Floats:
        return np.asarray(np.log(x / self.xmin) / self.sigma)

    def _log_survival(self, x: Floats) -> Floats:
        if self.xmin == 0:
            return np.asarray(special.log_ndtr((self.mu - np.log(x)) / self.sigma))
        return halfline.log_survival(self._t(x), self._a)

    def _inverse_survival(self, log_p: Floats) -> Floats:
        if self.xmin == 0:
            return np.asarray(np.exp(self.mu - self.sigma * special.ndtri_exp(log_p)))
        return np.asarray(self.xmin * np.exp(self.sigma * halfline.inverse_survival(log_p, self._a)))

    def _log_moment(self, order: int) -> float:
        s = order * self.sigma
        if self.xmin == 0:
            return order * self.mu + 0.5 * s * s
        return order * math.log(self.xmin) + halfline.log_moment(s, self._a)

    def mean(self) -> float:
        """Mean; infinite where it is beyond the range of floating point."""
        return _exp(self._log_moment(1))

    def var(self) -> float:
        """Variance; infinite where it is beyond the range of floating point."""
        if self.xmin == 0:
            return _exp(2 * self._log_moment(1)) * _expm1(self.sigma**2)
        return _exp(self._log_moment(2)) - _exp(2 * self._log_moment(1))


@dataclass(frozen=True)
class Gaussian(Model):
    """A Gaussian with mean `mu` and standard deviation `sigma` (of the whole law, if it is a tail)."""

    name: ClassVar[str] = "Gaussian"
    keeps_zeros: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("mu", "sigma")
    mu: float
    sigma: float
    xmin: float = -math.inf

    @property
    def _a(self) -> float:
        return (self.xmin - self.mu) / self.sigma

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        return cls(float(x.mean()), float(x.std()))

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        y = x - xmin
        a, sigma = halfline.estimate(float(y.mean()), float(y.var()))
        return cls(xmin - a * sigma, sigma, xmin)

    def limit(self) -> str | None:
        """The exponential law, for a tail that falls no faster than one."""
        return Exponential.name if self._a > 0.99 * halfline.FAR else None

    def _errors(self, x: Floats) -> tuple[float, ...]:
        if math.isfinite(self.xmin):
            return _normal_errors(x - self.xmin, self._a, self.sigma)
        return self.sigma / math.sqrt(x.size), self.sigma / math.sqrt(2 * x.size)

    def _log_density(self, x: Floats) -> Floats:
        if math.isinf(self.xmin):
            return halfline.log_density_whole((x - self.mu) / self.sigma) - math.log(self.sigma)
        return halfline.log_density((x - self.xmin) / self.sigma, self._a) - math.log(self.sigma)

    def _log_survival(self, x: Floats) -> Floats:
        if math.isinf(self.xmin):
            return np.asarray(special.log_ndtr((self.mu - x) / self.sigma))
        return halfline.log_survival((x - self.xmin) / self.sigma, self._a)

    def _inverse_survival(self, log_p: Floats) -> Floats:
        if math.isinf(self.xmin):
            return np.asarray(self.mu - self.sigma * special.ndtri_exp(log_p))
        return self.xmin + self.sigma * halfline.inverse_survival(log_p, self._a)

    def mean(self) -> float:
        """Mean, of the tail if it is one."""
        return self.mu if math.isinf(self.xmin) else self.xmin + self.sigma * halfline.moments(self._a)[0]

    def var(self) -> float:
        """Variance, of the tail if it is one."""
        return self.sigma**2 * (1.0 if math.isinf(self.xmin) else halfline.moments(self._a)[1])


@dataclass(frozen=True)
class Exponential(Model):
    """Density proportional to `exp(-rate x)`. Unit of `rate`: 1 / unit of the sample."""

    name: ClassVar[str] = "exponential"
    keeps_zeros: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("rate",)
    rate: float
    xmin: float = 0.0

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        return cls._tail(x, 0.0)

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        return cls(1.0 / float((x - xmin).mean()), xmin)

    def _errors(self, x: Floats) -> tuple[float, ...]:
        return (self.rate / math.sqrt(x.size),)

    def _log_density(self, x: Floats) -> Floats:
        return math.log(self.rate) - self.rate * (x - self.xmin)

    def _log_survival(self, x: Floats) -> Floats:
        return -self.rate * (x - self.xmin)

    def _inverse_survival(self, log_p: Floats) -> Floats:
        return self.xmin - log_p / self.rate

    def mean(self) -> float:
        """Mean."""
        return self.xmin + 1.0 / self.rate

    def var(self) -> float:
        """Variance."""
        return 1.0 / self.rate**2


@dataclass(frozen=True)
class Weibull(Model):
    """Share above x: `exp(-(x / scale)^shape)`. `log_scale` is for a scale that is too small for a number."""

    name: ClassVar[str] = "Weibull"
    parameters: ClassVar[tuple[str, ...]] = ("shape", "scale")
    shape: float
    scale: float
    xmin: float = 0.0
    log_scale: float = field(default=math.nan, repr=False)

    def __post_init__(self) -> None:
        if math.isnan(self.log_scale):
            object.__setattr__(self, "log_scale", math.log(self.scale))

    @classmethod
    def _of(cls, estimate: tuple[float, float], xmin: float) -> Self:
        shape, log_scale = estimate
        return cls(shape, math.exp(log_scale), xmin, log_scale=log_scale)

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        return cls._of(weibull.estimate(x), 0.0)

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        return cls._of(weibull.estimate_tail(x, xmin), xmin)

    def limit(self) -> str | None:
        """The power law, for a tail that is no more curved than one."""
        return PowerLaw.name if self.xmin > 0 and self.shape <= weibull.LEAST_SHAPE else None

    def _errors(self, x: Floats) -> tuple[float, ...]:
        of_shape, of_log_scale = weibull.standard_errors(x, self.xmin, self.shape, self.log_scale)
        return of_shape, of_log_scale * self.scale

    def _log_density(self, x: Floats) -> Floats:
        log_x = np.log(x)
        rise = math.log(self.shape) + self.shape * (log_x - self.log_scale) - log_x
        return np.asarray(rise + self._log_survival(x))

    def _log_survival(self, x: Floats) -> Floats:
        if self.xmin == 0:
            return np.asarray(-np.exp(self.shape * (np.log(x) - self.log_scale)))
        return np.asarray(-self._at_xmin() * np.expm1(self.shape * np.log(x / self.xmin)))

    def _at_xmin(self) -> float:
        return math.exp(self.shape * (math.log(self.xmin) - self.log_scale))

    def _inverse_survival(self, log_p: Floats) -> Floats:
        if self.xmin == 0:
            return np.asarray(self.scale * (-log_p) ** (1.0 / self.shape))
        return np.asarray(self.xmin * np.exp(np.log1p(-log_p / self._at_xmin()) / self.shape))

    def _moment(self, order: int) -> float:
        if self.xmin == 0:
            return _exp(order * self.log_scale + math.lgamma(1 + order / self.shape))
        return weibull.tail_moment(order / self.shape, self._at_xmin()) * self.xmin**order

    def mean(self) -> float:
        """Mean, of the tail if it is one."""
        return self._moment(1)

    def var(self) -> float:
        """Variance, of the tail if it is one."""
        return self._moment(2) - self._moment(1) ** 2


@dataclass(frozen=True)
class PowerLaw(Model):
    """Density proportional to `x^-alpha` from `xmin` on. `fit` starts it at the least positive value."""

    name: ClassVar[str] = "power law"
    parameters: ClassVar[tuple[str, ...]] = ("alpha",)
    alpha: float
    xmin: float

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        return cls._tail(x, float(x.min()))

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        return cls(1.0 + 1.0 / float(np.log(x / xmin).mean()), xmin)

    def _errors(self, x: Floats) -> tuple[float, ...]:
        return ((self.alpha - 1.0) / math.sqrt(x.size),)

    def _log_density(self, x: Floats) -> Floats:
        return np.asarray(math.log((self.alpha - 1.0) / self.xmin) - self.alpha * np.log(x / self.xmin))

    def _log_survival(self, x: Floats) -> Floats:
        return np.asarray((1.0 - self.alpha) * np.log(x / self.xmin))

    def _inverse_survival(self, log_p: Floats) -> Floats:
        return np.asarray(self.xmin * np.exp(log_p / (1.0 - self.alpha)))

    def mean(self) -> float:
        """Mean; infinite for `alpha` up to 2."""
        return self.xmin * (self.alpha - 1) / (self.alpha - 2) if self.alpha > 2 else math.inf

    def var(self) -> float:
        """Variance; infinite for `alpha` up to 3."""
        if self.alpha <= 3:
            return math.inf
        return self.xmin**2 * (self.alpha - 1) / ((self.alpha - 3) * (self.alpha - 2) ** 2)


def _normal_errors(y: Floats, a: float, sigma: float) -> tuple[float, float]:
    """Standard errors of mean and standard deviation of a normal law seen above a truncation point only.

    The law is an exponential family in `y` and `y^2`, whose information is their covariance.
    """
    t = y / sigma
    information = t.size * np.cov(t, 0.5 * t * t, bias=True)  # for b = a and q = 1, in units of sigma
    try:
        spread = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        return math.nan, math.nan
    # The distance of the mean is -b/q and the deviation q^-1/2.
    mean, deviation = np.array([-1.0, a]), np.array([0.0, -0.5])
    with np.errstate(invalid="ignore"):
        return tuple(float(sigma * np.sqrt(slope @ spread @ slope)) for slope in (mean, deviation))  # type: ignore[return-value]


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 709 else math.inf


MODELS: tuple[type[Model], ...] = (LogNormal, Weibull, Exponential, Gaussian, PowerLaw)
"""Every model; those beside the power law are its alternatives."""
