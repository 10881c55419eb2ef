"""The power law after Clauset, Shalizi and Newman (SIAM Review 51, 2009), searched for by the compiled core.

The exponent is the maximum of the likelihood; `xmin` is the distinct value above which the Kolmogorov-Smirnov distance
between data and model is least, over all distinct values but the largest, and of equal distances the least value.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pullnet._core import PowerSample
from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.traffic.models import PowerLaw
from pullnet.traffic.sample import Floats, SampleError, checked, varied

Distance = Literal["supremum", "before steps"]
"""`supremum`: the largest difference on either side of each step of the data, as eq. 3.9 of the paper has it. `before
steps`: on one side only, as plfit and the package powerlaw compute it."""


@dataclass(frozen=True)
class PowerLawFit:
    """A fitted power law. Unit of `xmin`: that of the sample."""

    xmin: float
    alpha: float
    standard_error: float
    """Of `alpha`, for this `xmin`."""
    distance: float
    """Kolmogorov-Smirnov distance between the tail and its model."""
    tail: int
    """Values at or above `xmin`."""
    samples: int
    """Values that could be in the tail."""
    zeros: int = 0
    """Values left out because they are zero."""

    @property
    def model(self) -> PowerLaw:
        """The continuous law with these parameters."""
        return PowerLaw(self.alpha, self.xmin)


@dataclass(frozen=True)
class Interval:
    """The spread of a quantity over the repeats of a bootstrap."""

    mean: float
    deviation: float
    """Standard deviation: the standard error of the quantity."""
    low: float
    """2.5% point."""
    high: float
    """97.5% point."""


@dataclass(frozen=True)
class Uncertainty:
    """How sure a power law is: the sample is drawn again with repetition, and each draw has a search of its own."""

    repeats: int
    seed: int
    xmin: Interval
    alpha: Interval
    tail: Interval


@dataclass(frozen=True)
class Goodness:
    """Whether a power law is plausible: the share of samples drawn from it that are no nearer to their own fit."""

    repeats: int
    seed: int
    farther: int

    @property
    def p(self) -> float:
        """The share; a power law counts as plausible above 0.1."""
        return self.farther / self.repeats

    @property
    def precision(self) -> float:
        """Largest standard error that `p` has by the number of repeats."""
        return 0.5 / math.sqrt(self.repeats)

    @property
    def plausible(self) -> bool:
        """`p > 0.1`."""
        return self.p > 0.1


def repeats_for(precision: float) -> int:
    """Repeats for a standard error of p of at most `precision`: 1/4 precision^-2."""
    if not 0 < precision <= 0.5:
        what = f"{precision:g} is no precision"
        raise SampleError(what, keyword="precision", value=precision, remedy="use 0.0002 to 0.5, such as 0.01")
    return math.ceil(0.25 / precision**2 - 1e-9)


class PowerLawSearch:
    """A sample in order, for as many questions as there are. Zeros are left out and counted."""

    def __init__(self, sample: ArrayLike, *, discrete: bool = False, distance: Distance = "supremum") -> None:
        """Take `sample` in any order; `discrete` for whole numbers that are counts of something."""
        values = checked(sample)
        used = varied(values[values > 0], "sample", "a power law")
        try:
            self._ordered = PowerSample(np.ascontiguousarray(used), discrete)
        except InputError as error:
            raise SampleError(str(error), where="sample") from None
        self._before_steps = distance == "before steps"
        self._samples = used.size
        self._zeros = values.size - used.size

    def fit(self, xmin: float | None = None) -> PowerLawFit:
        """The best power law, or that above `xmin`."""
        if xmin is None:
            return self._named(self._ordered.fit(self._before_steps))
        row = self._ordered.fit_above(xmin, self._before_steps)
        if row is None:
            what = "fewer than 2 different values are left"
            raise SampleError(what, where=f"sample above xmin {xmin:g}", value=xmin, remedy="use a smaller xmin")
        return self._named(row)

    def _named(self, row: tuple[float, float, float, float, int]) -> PowerLawFit:
        return PowerLawFit(*row, samples=self._samples, zeros=self._zeros)

    def distances(self) -> tuple[Floats, Floats]:
        """Every candidate for `xmin` with its distance; takes a time that grows with the square of the sample."""
        rows = np.asarray(self._ordered.all_distances(self._before_steps))
        return rows[:, 0], rows[:, 1]

    def uncertainty(self, repeats: int = 1000, *, seed: int = 1, threads: int = 1) -> Uncertainty:
        """Standard errors of `xmin`, `alpha` and the length of the tail. The same for any number of threads."""
        done, *spreads = self._ordered.uncertainty(self._before_steps, _count(repeats, seed), seed, threads)
        xmin, alpha, tail = (Interval(*spread) for spread in spreads)
        return Uncertainty(done, seed, xmin, alpha, tail)

    def goodness(self, fit: PowerLawFit, repeats: int = 2500, *, seed: int = 1, threads: int = 1) -> Goodness:
        """Compare `fit` with samples that are drawn from it above `xmin` and from the data below."""
        found = self._ordered.goodness(fit.xmin, self._before_steps, _count(repeats, seed), seed, threads)
        if found is None:
            what = "fewer than 2 different values are left"
            raise SampleError(
                what, where=f"sample above xmin {fit.xmin:g}", value=fit.xmin, remedy="use a smaller xmin"
            )
        return Goodness(found[0], seed, found[1])


def _count(repeats: int, seed: int) -> int:
    if not 0 <= seed < 2**64:
        raise SampleError(f"{seed} is no seed", where="seed", value=seed, remedy="use 0 to 18446744073709551615")
    if not 1 <= repeats <= 10_000_000:
        what = f"{repeats} repeats of a bootstrap"
        raise SampleError(what, where="bootstrap", value=repeats, remedy="use 1 to 10000000, such as 2500")
    return repeats


@typed
def fit_power_law(
    sample: ArrayLike, *, xmin: float | None = None, discrete: bool = False, distance: Distance = "supremum"
) -> PowerLawFit:
    """Fit a power law to the tail of `sample`, that above `xmin` if it is given."""
    return PowerLawSearch(sample, discrete=discrete, distance=distance).fit(xmin)
