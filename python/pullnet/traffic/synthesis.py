"""Synthetic volumes: a law for the volume of an interval, and if wanted a memory.

>>> law = law_of("log-normal", mean=5e6, cv=0.3)                     # bytes per interval
>>> made = synthesise(law, 9000, timescale=0.1, seed=7)               # independent intervals
>>> made = synthesise(law, 9000, timescale=0.1, memory=long_memory(0.8), seed=7)
>>> made = like(volumes, "log-normal", seed=7)                        # law and memory of a trace  # doctest: +SKIP

Memory is that of a Gaussian series (drawn exactly by circulant embedding), whose values become ranks and these
quantiles of the law: the Gaussian copula, or NORTA. The law is so kept exactly, and ranks have the wanted
autocorrelation; that of the volumes themselves follows from both, and is a little smaller for skewed laws.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from pullnet.arguments import typed
from pullnet.traffic.error import TrafficError
from pullnet.traffic.further import FURTHER_MODELS
from pullnet.traffic.model import Model
from pullnet.traffic.models import MODELS, Exponential, Gaussian, LogNormal, Weibull
from pullnet.traffic.noise import autocorrelation, embed, fractional_autocorrelation
from pullnet.traffic.stationary import longest_stretch
from pullnet.traffic.volumes import State, Volumes

Floats = NDArray[np.float64]

LARGEST = 100_000_000
"""Largest number of intervals per call."""

LAWS: dict[str, type[Model]] = {law.name: law for law in (*MODELS, *FURTHER_MODELS)}
"""Laws by name, as in results of fits."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Autocorrelation of the Gaussian series behind the volumes."""

    name: str
    function: Callable[[int], Floats] = field(repr=False)
    """Autocorrelation at lags 0 to n - 1, for n; it may return more lags."""


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """Volumes that were made, and what had to be repaired."""

    volumes: Volumes
    negative: float
    """Share of the variance in negative eigenvalues, which were set to 0; 0: the memory is exact."""
    raised: int
    """Intervals whose volume would have been below zero (a Gaussian law) and is 0."""

    def notes(self) -> list[str]:
        """Say what was repaired."""
        found = []
        if self.negative:
            found.append(
                f"no series has just the autocorrelation asked for: {100 * self.negative:.2g} % of its spectrum is "
                "negative and was set to 0"
            )
        if self.raised:
            found.append(f"{self.raised} volumes would have been below zero and are 0")
        return found


@typed
def long_memory(hurst: float) -> Memory:
    """Return the memory of fractional Gaussian noise."""
    fractional_autocorrelation(1, hurst)
    return Memory(f"hurst={hurst:g}", lambda count: fractional_autocorrelation(count, hurst))


@typed
def measured_memory(volumes: Volumes) -> Memory:
    """Return the memory of the ranks of a trace (of its longest stretch without a gap); none beyond its length.

    The sample autocorrelation divided by n, continued by zeros, belongs to a series for any length, so that nothing has
    to be repaired; it fades a little faster than the true one.
    """
    _, series = longest_stretch(volumes)
    if len(series) < 2 or not np.ptp(series) > 0:
        what = "does not vary, so that it has no autocorrelation"
        raise TrafficError(what, where=volumes.trace, remedy="use --autocorrelation none, or another trace")
    scores = special.ndtri((stats.rankdata(series) - 0.5) / len(series))
    known = autocorrelation(scores, len(scores) - 1)
    return Memory("measured", lambda count: np.concatenate([known, np.zeros(max(1, count - len(known)))]))


@typed
def synthesise(
    law: Model,
    count: int,
    *,
    timescale: float,
    memory: Memory | None = None,
    zeros: float = 0.0,
    seed: int = 1,
    trace: str = "synthetic",
    start: float = 0.0,
) -> Synthetic:
    """Make `count` intervals of whole bytes; a share `zeros` of them is empty, the others follow the law."""
    _check(count, zeros, seed)
    rng = np.random.default_rng(seed)
    ranks, negative = _ranks(count, memory, rng)
    with np.errstate(over="ignore"):  # refused below
        drawn = _volumes(law, ranks, zeros)
    volume = np.rint(np.maximum(drawn, 0.0))
    if not np.isfinite(volume).all():
        raise TrafficError(f"{law} has volumes beyond any number", remedy="use a law with a lighter tail")
    state = np.full(count, State.OK, dtype=np.uint8)
    made = Volumes(trace, timescale, start, volume, state)
    return Synthetic(made, negative, int(np.count_nonzero(drawn < 0)))


def like(
    volumes: Volumes,
    law: str = LogNormal.name,
    *,
    count: int | None = None,
    measured: bool = True,
    memory: Memory | None = None,
    seed: int = 1,
) -> Synthetic:
    """Make intervals with the law fitted to a trace, its share of empty ones and, unless not `measured`, its memory."""
    sample = volumes.sample()
    fitted = law_named(law).fit(sample)
    zeros = 0.0 if fitted.keeps_zeros else float(np.mean(sample == 0))
    chosen = measured_memory(volumes) if measured and memory is None else memory
    wanted = len(volumes) if count is None else count
    name = f"{volumes.trace} synthetic"
    return synthesise(
        fitted,
        wanted,
        timescale=volumes.timescale,
        memory=chosen,
        zeros=zeros,
        seed=seed,
        trace=name,
        start=volumes.start,
    )


@typed
def law_of(name: str, mean: float, cv: float | None = None) -> Model:
    """Return the law of a mean and a coefficient of variation (standard deviation over mean)."""
    law = law_named(name)
    if not (math.isfinite(mean) and mean > 0):
        raise TrafficError(f"a mean of {mean:g}", value=mean, remedy="use a volume above 0")
    if law is Exponential:
        if cv not in (None, 1.0):
            raise TrafficError(f"cv {cv:g}: an exponential law has 1", value=cv, remedy="leave it out")
        return Exponential(1 / mean)
    if cv is None or not (math.isfinite(cv) and 0 < cv <= _LARGEST_CV):
        given = "no cv" if cv is None else f"cv {cv:g}"
        remedy = f"give the standard deviation as a share of the mean, above 0 and up to {_LARGEST_CV:g}"
        raise TrafficError(given, value=cv, remedy=remedy)
    if law is Gaussian:
        return Gaussian(mean, cv * mean)
    if law is LogNormal:
        variance = math.log1p(cv * cv)
        return LogNormal(math.log(mean) - variance / 2, math.sqrt(variance))
    if law is Weibull:
        return _weibull(mean, cv)
    raise TrafficError(f"a {name} is not told by mean and cv", value=name, remedy="fit it to a trace, with --from")


_LARGEST_CV = 10.0


def law_named(name: str) -> type[Model]:
    """Return a law by its name, however it is written: lognormal, log-normal."""
    plain = {_plain(known): law for known, law in LAWS.items()}
    if _plain(name) not in plain:
        raise TrafficError(f"`{name}` is not a law", value=name, remedy=f"use one of {', '.join(LAWS)}")
    return plain[_plain(name)]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalpha())


def _weibull(mean: float, cv: float) -> Weibull:
    def miss(log_shape: float) -> float:
        shape = math.exp(log_shape)
        ratio = math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)
        return ratio - math.log1p(cv * cv)

    shape = math.exp(float(optimize.brentq(miss, math.log(0.05), math.log(1e6), xtol=1e-14)))
    return Weibull(shape, mean / math.exp(math.lgamma(1 + 1 / shape)))


def _ranks(count: int, memory: Memory | None, rng: np.random.Generator) -> tuple[Floats, float]:
    if memory is None:
        return rng.random(count), 0.0
    embedding = embed(memory.function(count))
    ranks: Floats = special.ndtr(embedding.draw(rng)[:count])
    return ranks, embedding.negative


def _volumes(law: Model, ranks: Floats, zeros: float) -> Floats:
    if zeros == 0:
        return np.asarray(law.ppf(np.clip(ranks, _LEAST, 1 - _LEAST)), dtype=np.float64)
    rest = np.clip((ranks - zeros) / (1 - zeros), _LEAST, 1 - _LEAST)
    return np.where(ranks < zeros, 0.0, law.ppf(rest))


_LEAST = 2.0**-53
"""Ranks keep so far from 0 and 1, whose quantiles may be infinite."""


def _check(count: int, zeros: float, seed: int) -> None:
    if not 1 <= count <= LARGEST:
        raise TrafficError(f"{count} intervals", value=count, remedy=f"use 1 to {LARGEST:,}")
    if not 0 <= zeros < 1:
        raise TrafficError(
            f"a share of {zeros:g} empty intervals", value=zeros, remedy="use at least 0 and less than 1"
        )
    if seed < 0:
        raise TrafficError(f"a seed of {seed}", value=seed, remedy="use a whole number of at least 0")
