"""The common interface of models of traffic volumes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from pullnet.traffic.sample import Floats, SampleError, checked, varied


@dataclass(frozen=True)
class Evidence:
    """The sample that a model was fitted to, and how certain its parameters are."""

    samples: int
    """Values that the fit used."""
    log_likelihood: float
    """Sum over these values of the natural logarithm of the density."""
    standard_errors: Mapping[str, float]
    """Of each parameter, from the information matrix; NaN where there is none (see `limit`)."""
    zeros: int = 0
    """Values left out because they are zero and the model has no zero."""
    below: int = 0
    """Values left out because they are below `xmin`."""
    limit: str | None = None
    """Name of the simpler model that the likelihood grows towards without end, if there is no maximum before it."""


_NO_EVIDENCE = Evidence(0, 0.0, {})


@dataclass(frozen=True)
class Model(ABC):
    """A law with parameters. Values are in the unit of the sample."""

    name: ClassVar[str]
    """Name in tables."""
    keeps_zeros: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]]
    """Names of the fields that are estimated."""
    evidence: Evidence = field(default=_NO_EVIDENCE, kw_only=True, compare=False, repr=False)
    """Evidence of the fit; has no samples if the model was not fitted."""

    @classmethod
    def fit(cls, sample: ArrayLike) -> Self:
        """Maximum likelihood on all data; raises `SampleError` where nothing can be estimated."""
        return cls.fit_checked(checked(sample))[0]

    @classmethod
    def fit_checked(cls, values: Floats) -> tuple[Self, Floats]:
        """`fit` of values that `checked` has seen; also returns the logarithms of the density of the values used."""
        used = cls._used(values)
        model = cls._whole(used)
        logs = model.logpdf(used)
        return replace(model, evidence=model._evidence(used, logs, zeros=values.size - used.size)), logs

    @classmethod
    def estimate(cls, sample: ArrayLike) -> Self:
        """The parameters of `fit` without evidence, which takes longer to find than they do."""
        return cls._whole(cls._used(checked(sample)))

    @classmethod
    def _used(cls, values: Floats) -> Floats:
        used = values if cls.keeps_zeros else values[values > 0]
        return varied(used, "sample", f"a {cls.name} model")

    @classmethod
    def fit_tail(cls, sample: ArrayLike, xmin: float) -> Self:
        """Maximum likelihood on the values at or above `xmin`, of the law renormalised to start there."""
        values = checked(sample)
        if not (math.isfinite(xmin) and xmin > 0):
            raise SampleError(
                f"{xmin!r} is not a positive number", where="xmin", value=xmin, remedy="a tail starts above 0"
            )
        used = values[values >= xmin]
        model = cls._tail(varied(used, f"sample above xmin {xmin:g}", f"a {cls.name} model"), float(xmin))
        return replace(model, evidence=model._evidence(used, model.logpdf(used), below=values.size - used.size))

    @classmethod
    @abstractmethod
    def _whole(cls, x: Floats) -> Self: ...

    @classmethod
    @abstractmethod
    def _tail(cls, x: Floats, xmin: float) -> Self: ...

    @abstractmethod
    def _errors(self, x: Floats) -> tuple[float, ...]: ...

    @abstractmethod
    def _log_density(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _log_survival(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _inverse_survival(self, log_p: Floats) -> Floats: ...

    @abstractmethod
    def mean(self) -> float:
        """Mean."""

    @abstractmethod
    def var(self) -> float:
        """Variance."""

    def limit(self) -> str | None:
        """Name of the simpler model that this model approaches at the edge of its parameters."""
        return None

    def _evidence(self, x: Floats, logs: Floats, *, zeros: int = 0, below: int = 0) -> Evidence:
        limit = self.limit()
        errors = self._errors(x) if limit is None else (math.nan,) * len(self.parameters)
        named = dict(zip(self.parameters, errors, strict=True))
        return Evidence(x.size, float(logs.sum()), named, zeros, below, limit)

    @property
    def support(self) -> float:
        """The least value that the model has: `xmin` of a tail."""
        return float(getattr(self, "xmin", 0.0))

    def _known(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=np.float64)

    def logpdf(self, x: ArrayLike) -> Floats:
        """Natural logarithm of the density; minus infinity outside the support."""
        x = self._known(x)
        inside = x >= self.support if self.keeps_zeros else (x >= self.support) & (x > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if inside.all():
                return self._log_density(x)
            return np.where(inside, self._log_density(np.where(inside, x, self._somewhere())), -np.inf)

    def _somewhere(self) -> float:
        return self.support if math.isfinite(self.support) and self.support > 0 else 1.0

    def pdf(self, x: ArrayLike) -> Floats:
        """Density. Unit: 1 / unit of the sample."""
        return np.asarray(np.exp(self.logpdf(x)))

    def logsf(self, x: ArrayLike) -> Floats:
        """Natural logarithm of the share above `x`, without underflow however far out."""
        x = self._known(x)
        inside = x > self.support
        if inside.all():
            return self._log_survival(x)
        return np.where(inside, self._log_survival(np.where(inside, x, self._somewhere())), 0.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Share of values above `x`."""
        return np.asarray(np.exp(self.logsf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Share of values up to `x`."""
        return np.asarray(-np.expm1(self.logsf(x)))

    def isf(self, p: ArrayLike) -> Floats:
        """The value above which the share `p` lies."""
        p = self._known(p)
        _refuse_shares(p)
        with np.errstate(divide="ignore"):
            return self._inverse_survival(np.asarray(np.log(p)))

    def isf_of_log(self, log_p: Floats) -> Floats:
        """`isf` of shares whose logarithms are known."""
        return self._inverse_survival(log_p)

    def ppf(self, q: ArrayLike) -> Floats:
        """The value up to which the share `q` lies."""
        q = self._known(q)
        _refuse_shares(q)
        with np.errstate(divide="ignore"):
            return self._inverse_survival(np.asarray(np.log1p(-q)))

    def rvs(self, size: int, rng: np.random.Generator) -> Floats:
        """`size` independent values, drawn with `rng`."""
        return self._inverse_survival(np.log1p(-rng.random(size)))

    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.var())


def _refuse_shares(shares: Floats) -> None:
    if not bool(np.all((shares >= 0) & (shares <= 1))):
        raise SampleError(f"{shares!s} is no share", where="quantile", value=shares, remedy="use 0 to 1")
