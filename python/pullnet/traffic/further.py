"""Laws beside those of the study: the gamma law and the log-logistic law, whole or above a truncation point.

Both are estimated by maximum likelihood with a search over the logarithms of their two parameters, from moments as the
start. Standard errors are those of the observed information, by differences of the likelihood.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy import integrate, optimize, special

from pullnet.traffic.model import Model
from pullnet.traffic.sample import Floats

__all__ = ["FURTHER_MODELS", "Gamma", "LogLogistic"]

_LEAST_SHAPE = 1e-3
_FAR = 1e6
_STEP = 1e-4


def _search(cost: Callable[[Floats], float], start: tuple[float, float]) -> tuple[float, float]:
    """Minimise over two parameters; twice, since the simplex may collapse before the minimum."""
    at = np.array(start)
    for _ in range(2):
        found = optimize.minimize(
            cost, at, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-11, "maxiter": 4000, "maxfev": 8000}
        )
        at = found.x
    return float(at[0]), float(at[1])


def _standard_errors(cost: Callable[[Floats], float], at: tuple[float, float], size: int) -> tuple[float, float]:
    """Standard errors of two parameters from the second derivatives of a mean negative log-likelihood."""
    point = np.array(at)
    steps = np.eye(2) * _STEP
    second = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            corners = [cost(point + a * steps[i] + b * steps[j]) for a, b in signs]
            second[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * _STEP**2)
    try:
        spread = np.diag(np.linalg.inv(second)) / size
    except np.linalg.LinAlgError:
        return math.nan, math.nan
    first, other = (math.sqrt(value) if value > 0 else math.nan for value in spread)
    return first, other


def _log_upper(shape: float, z: Floats) -> Floats:
    """Logarithm of the regularised upper incomplete gamma function, also where that underflows."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        plain = np.log(special.gammaincc(shape, z))
        series = 1.0 + (shape - 1) / z * (1.0 + (shape - 2) / z * (1.0 + (shape - 3) / z))
        far = (shape - 1) * np.log(z) - z - special.gammaln(shape) + np.log(series)
    return np.asarray(np.where(np.isfinite(plain) & (plain > -600), plain, far))


@dataclass(frozen=True)
class _ShapeAndScale(Model):
    """A law with a shape and a scale; above `xmin` if that is not 0."""

    parameters: ClassVar[tuple[str, ...]] = ("shape", "scale")
    shape: float
    scale: float
    xmin: float = 0.0


@dataclass(frozen=True)
class Gamma(_ShapeAndScale):
    """Density proportional to `x^(shape - 1) exp(-x / scale)`."""

    name: ClassVar[str] = "gamma law"

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        mean = float(x.mean())
        gap = math.log(mean) - float(np.log(x).mean())

        def miss(log_shape: float) -> float:
            shape = math.exp(log_shape)
            return log_shape - float(special.digamma(shape)) - gap

        shape = math.exp(float(optimize.brentq(miss, -25.0, 40.0, xtol=1e-13, rtol=1e-14)))
        return cls(shape, mean / shape)

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        unit = float(x.mean())
        start = cls._whole(x / unit)
        log_shape, log_scale = _search(cls._cost(x / unit, xmin / unit), (math.log(start.shape), math.log(start.scale)))
        return cls(max(math.exp(log_shape), _LEAST_SHAPE), math.exp(log_scale) * unit, xmin)

    @classmethod
    def _cost(cls, x: Floats, xmin: float) -> Callable[[Floats], float]:
        mean, mean_log = float(x.mean()), float(np.log(x).mean())

        def cost(logs: Floats) -> float:
            shape, scale = max(math.exp(min(logs[0], 30.0)), _LEAST_SHAPE), math.exp(min(max(logs[1], -30.0), 30.0))
            beyond = float(_log_upper(shape, np.asarray(xmin / scale))) if xmin > 0 else 0.0
            rise = (shape - 1) * mean_log - mean / scale
            return -(rise - shape * math.log(scale) - float(special.gammaln(shape)) - beyond)

        return cost

    def _errors(self, x: Floats) -> tuple[float, ...]:
        unit = float(x.mean())
        at = math.log(self.shape), math.log(self.scale / unit)
        of_shape, of_scale = _standard_errors(self._cost(x / unit, self.xmin / unit), at, x.size)
        return of_shape * self.shape, of_scale * self.scale

    def _beyond(self) -> float:
        return float(_log_upper(self.shape, np.asarray(self.xmin / self.scale))) if self.xmin > 0 else 0.0

    def _log_density(self, x: Floats) -> Floats:
        rise = (self.shape - 1) * np.log(x / self.scale) - x / self.scale
        return np.asarray(rise - math.log(self.scale) - special.gammaln(self.shape) - self._beyond())

    def _log_survival(self, x: Floats) -> Floats:
        return np.asarray(_log_upper(self.shape, x / self.scale) - self._beyond())

    def _inverse_survival(self, log_p: Floats) -> Floats:
        wanted = np.atleast_1d(log_p + self._beyond())
        found = special.gammainccinv(self.shape, np.exp(wanted))
        # Where the share underflows Newton goes on from the last value that can be had.
        far = np.isfinite(wanted) & (wanted < -600)
        z = np.where(far, np.maximum(-wanted, 1.0), found)
        for _ in range(40) if far.any() else ():
            slope = np.exp((self.shape - 1) * np.log(z) - z - special.gammaln(self.shape) - _log_upper(self.shape, z))
            step = (_log_upper(self.shape, z) - wanted) / slope
            z = np.where(far, np.maximum(z + step, 0.5 * z), z)
        return np.asarray(np.where(np.isneginf(wanted), np.inf, z) * self.scale).reshape(np.shape(log_p))

    def _moment(self, order: int) -> float:
        whole = self.scale**order * math.exp(special.gammaln(self.shape + order) - special.gammaln(self.shape))
        if self.xmin == 0:
            return whole
        z = np.asarray(self.xmin / self.scale)
        return whole * math.exp(float(_log_upper(self.shape + order, z) - _log_upper(self.shape, z)))

    def mean(self) -> float:
        """Mean, of the tail if it is one."""
        return self._moment(1)

    def var(self) -> float:
        """Variance, of the tail if it is one."""
        return self.shape * self.scale**2 if self.xmin == 0 else self._moment(2) - self._moment(1) ** 2


@dataclass(frozen=True)
class LogLogistic(_ShapeAndScale):
    """Share above x: `1 / (1 + (x / scale)^shape)`; `scale` is the median of the whole law."""

    name: ClassVar[str] = "log-logistic"

    @classmethod
    def _whole(cls, x: Floats) -> Self:
        return cls._fitted(x, 0.0)

    @classmethod
    def _tail(cls, x: Floats, xmin: float) -> Self:
        return cls._fitted(x, xmin)

    @classmethod
    def _fitted(cls, x: Floats, xmin: float) -> Self:
        logs = np.log(x)
        middle = float(np.median(logs))
        width = max(float(logs.std()) * math.sqrt(3.0) / math.pi, 1e-12)
        base = (math.log(xmin) - middle) / width if xmin > 0 else -math.inf
        log_shape, place = _search(cls._cost((logs - middle) / width, base), (0.0, 0.0))
        return cls(math.exp(log_shape) / width, math.exp(middle + place * width), xmin)

    @staticmethod
    def _cost(y: Floats, base: float) -> Callable[[Floats], float]:
        """Mean negative log-likelihood of logarithms `y` above `base`, by log shape and place."""

        def cost(at: Floats) -> float:
            shape = math.exp(min(max(at[0], -30.0), 30.0))
            z = shape * (y - at[1])
            beyond = float(np.logaddexp(0.0, shape * (base - at[1]))) if math.isfinite(base) else 0.0
            return -float((z - 2.0 * np.logaddexp(0.0, z)).mean()) - math.log(shape) - beyond

        return cost

    def limit(self) -> str | None:
        """The power law, for a tail that begins far above the median of the whole law."""
        if self.xmin > 0 and self.shape * math.log(self.xmin / self.scale) > math.log(_FAR):
            return "power law"
        return None

    def _errors(self, x: Floats) -> tuple[float, ...]:
        width = 1.0 / self.shape
        base = math.log(self.xmin / self.scale) / width if self.xmin > 0 else -math.inf
        cost = self._cost(np.log(x / self.scale) / width, base)
        of_shape, of_place = _standard_errors(cost, (0.0, 0.0), x.size)
        return of_shape * self.shape, of_place * width * self.scale

    def _z(self, x: Floats) -> Floats:
        return np.asarray(self.shape * (np.log(x) - math.log(self.scale)))

    def _beyond(self) -> float:
        return -float(np.logaddexp(0.0, self._z(np.asarray(self.xmin)))) if self.xmin > 0 else 0.0

    def _log_density(self, x: Floats) -> Floats:
        z = self._z(x)
        return np.asarray(math.log(self.shape) - np.log(x) + z - 2.0 * np.logaddexp(0.0, z) - self._beyond())

    def _log_survival(self, x: Floats) -> Floats:
        return np.asarray(-np.logaddexp(0.0, self._z(x)) - self._beyond())

    def _inverse_survival(self, log_p: Floats) -> Floats:
        share = log_p + self._beyond()
        with np.errstate(divide="ignore"):
            z = np.log(-np.expm1(share)) - share
        return np.asarray(self.scale * np.exp(z / self.shape))

    def _moment(self, order: int) -> float:
        if self.shape <= order:
            return math.inf
        if self.xmin == 0:
            angle = order * math.pi / self.shape
            return self.scale**order * angle / math.sin(angle)
        unit = self.xmin

        def term(share: float) -> float:
            return float(self._inverse_survival(np.asarray(math.log(share))) / unit) ** order

        return float(integrate.quad(term, 0.0, 1.0, limit=400)[0]) * unit**order

    def mean(self) -> float:
        """Mean; infinite for `shape` up to 1."""
        return self._moment(1)

    def var(self) -> float:
        """Variance; infinite for `shape` up to 2."""
        return math.inf if self.shape <= 2 else self._moment(2) - self._moment(1) ** 2


FURTHER_MODELS: tuple[type[Model], ...] = (Gamma, LogLogistic)
"""Laws that are fitted on request only; the study does not have them."""
