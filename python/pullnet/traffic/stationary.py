"""Stationarity and memory of a series of volumes: unit-root tests, KPSS, autocorrelation, Hurst exponent.

The tests are those of the package `arch`, with a constant and no trend.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pullnet.arguments import typed
from pullnet.traffic.error import TrafficError
from pullnet.traffic.hurst import FEWEST as FEWEST_FOR_HURST
from pullnet.traffic.hurst import Hurst, hurst
from pullnet.traffic.noise import autocorrelation
from pullnet.traffic.quantities import shown_time
from pullnet.traffic.volumes import State, Volumes, runs

Series = NDArray[np.float64]

SIGNIFICANCE = 0.05
"""A null hypothesis is rejected below this p-value unless told otherwise."""

FEWEST = 50
"""Samples below which nothing is tested."""

SEARCHED = 5_000
"""Up to so many samples the lags of ADF are chosen by AIC; above, by Schwert's rule, which is much faster."""

LARGEST = 20_000
"""Samples that are tested at most; of a longer window neighbours are joined to means first, which neither makes nor
hides a unit root or a change of level."""

NULLS = {
    "ADF": "the series has a unit root: its level drifts and does not return",
    "Phillips-Perron": "the series has a unit root, whatever the short memory of its changes",
    "KPSS": "the series varies around one level (it is stationary)",
}
"""Null hypothesis of each test."""


class Verdict(StrEnum):
    """Joint verdict of the three tests."""

    STATIONARY = "stationary"
    UNIT_ROOT = "unit root"
    CHANGING = "changing"
    UNDECIDED = "undecided"


MEANING = {
    Verdict.STATIONARY: "the unit root is rejected, one level is not: the level holds within the window",
    Verdict.UNIT_ROOT: "a unit root is not rejected, one level is: the level drifts, so that a fit to the whole window "
    "describes no moment of it",
    Verdict.CHANGING: "both are rejected: no random walk, but the level shifts, has a daily course, or the memory "
    "reaches across the window",
    Verdict.UNDECIDED: "the tests contradict each other or reject nothing: the window says too little",
}
"""A sentence for each verdict."""

INDEPENDENCE = (
    "The p-values of fits (goodness of fit, likelihood ratio) take the samples for independent. Where a series is "
    "worth fewer independent samples than it has, they are too sure of themselves. Fitted parameters and quantiles "
    "remain consistent where the series is stationary."
)
"""Consequence of the memory of a series for fits."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test on one window."""

    name: str
    statistic: float
    p: float
    lags: int
    rejected: bool
    """Whether the null hypothesis is rejected at the chosen significance."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tests on one window of a trace."""

    start: float
    """Unit: s, on the clock of the volumes."""
    length: float
    """Unit: s."""
    samples: int
    joined: int
    """Samples that were joined to one mean before the tests; 1 for windows of up to `LARGEST`."""
    tests: tuple[Test, ...]
    """Empty where all samples are equal."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Memory:
    """How a series depends on its past."""

    autocorrelation: dict[int, float]
    """By lag in bins."""
    bound: float
    """Independent samples stay within plus and minus this, 95 times of 100."""
    effective_samples: float
    """Independent samples whose mean is known as well as that of these: n / (1 + 2 sum of autocorrelations), summed
    up to the first that is not above the bound."""
    hurst: Hurst | None
    """None with fewer than 208 samples, or if most of them are equal."""


@dataclass(frozen=True, slots=True)
class Stationarity:
    """Stationarity of one trace at one timescale."""

    trace: str
    timescale: float
    samples: int
    """Of the longest stretch without a gap, which is what was tested."""
    left_out: int
    """Bins outside that stretch."""
    windows: tuple[Window, ...]
    memory: Memory

    def verdicts(self, length: float) -> dict[Verdict, int]:
        """Count the windows of a length by verdict."""
        of_length = [window.verdict for window in self.windows if window.length == length]
        return {verdict: of_length.count(verdict) for verdict in Verdict}

    def lengths(self) -> list[float]:
        """Lengths of the windows, the longest first. Unit: s."""
        return list(dict.fromkeys(window.length for window in self.windows))


@typed
def stationarity(
    volumes: Volumes, *, windows: Iterable[float] | None = None, significance: float = SIGNIFICANCE
) -> Stationarity:
    """Test a trace as a whole and in windows of several lengths (s); by default a quarter and a sixteenth of it."""
    _check_significance(significance)
    start, series = longest_stretch(volumes)
    _refuse_few(len(series), volumes.trace)
    sizes = [len(series), *_sizes(windows, len(series), volumes)]
    found = [
        _window(series[first : first + size], start + first * volumes.timescale, volumes.timescale, significance)
        for size in dict.fromkeys(sizes)
        for first in range(0, len(series) - size + 1, size)
    ]
    left_out = len(volumes) - len(series)
    return Stationarity(volumes.trace, volumes.timescale, len(series), left_out, tuple(found), memory(series))


def unit_root_tests(series: Series, significance: float = SIGNIFICANCE) -> tuple[Test, ...]:
    """ADF, Phillips-Perron and KPSS with a constant; nothing for a constant series."""
    from arch.unitroot import ADF, KPSS, PhillipsPerron  # takes a second

    values = np.asarray(series, dtype=np.float64)
    _refuse_few(len(values), "")
    if not np.ptp(values) > 0:
        return ()
    scaled = (values - values.mean()) / values.std()
    lags = None if len(scaled) <= SEARCHED else schwert(len(scaled))
    results = {
        "ADF": ADF(scaled, lags=lags, max_lags=schwert(len(scaled)) if lags is None else None),
        "Phillips-Perron": PhillipsPerron(scaled),
        "KPSS": KPSS(scaled, lags=-1),
    }
    return tuple(
        Test(name, float(test.stat), float(test.pvalue), int(test.lags), bool(test.pvalue < significance))
        for name, test in results.items()
    )


def schwert(count: int) -> int:
    """Lags of Schwert's rule: 12 (n/100)^(1/4)."""
    return int(12 * (count / 100) ** 0.25)


def verdict(tests: Sequence[Test]) -> Verdict:
    """Combine the tests. A constant series, which has no tests, is stationary."""
    if not tests:
        return Verdict.STATIONARY
    rejected = {test.name: test.rejected for test in tests}
    if rejected["ADF"] != rejected["Phillips-Perron"]:
        return Verdict.UNDECIDED
    if rejected["ADF"]:
        return Verdict.CHANGING if rejected["KPSS"] else Verdict.STATIONARY
    return Verdict.UNIT_ROOT if rejected["KPSS"] else Verdict.UNDECIDED


def memory(series: Series) -> Memory:
    """Autocorrelation, effective number of samples and Hurst exponent of a series."""
    count = len(series)
    bound = 1.96 / np.sqrt(count)
    if not np.ptp(series) > 0:
        return Memory({}, bound, float(count), None)
    rho = autocorrelation(series, count // 4)
    shown = {lag: float(rho[lag]) for lag in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if lag < len(rho)}
    return Memory(shown, bound, _effective(rho, bound, count), _exponent(series))


def _exponent(series: Series) -> Hurst | None:
    """The Hurst exponent, if the series varies on enough scales to show one."""
    if len(series) < FEWEST_FOR_HURST:
        return None
    try:
        return hurst(series)
    except TrafficError:
        return None


def longest_stretch(volumes: Volumes) -> tuple[float, Series]:
    """Begin (s) and bytes of the longest stretch without a gap."""
    gap = volumes.state == State.GAP
    stretches = [(first, end) for first, end in runs(gap) if not gap[first]]
    if not stretches:
        raise TrafficError(
            "has nothing but gaps", where=volumes.trace, remedy="give a trace of which something is known"
        )
    first, end = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    return volumes.start + first * volumes.timescale, volumes.bytes[first:end]


def _window(series: Series, start: float, timescale: float, significance: float) -> Window:
    joined = -(-len(series) // LARGEST)
    count = len(series) // joined
    tests = unit_root_tests(series[: count * joined].reshape(count, joined).mean(axis=1), significance)
    return Window(start, len(series) * timescale, len(series), joined, tests, verdict(tests))


def _effective(rho: Series, bound: float, count: int) -> float:
    inside = np.flatnonzero(rho <= bound)
    last = int(inside[0]) if len(inside) else len(rho)
    return float(count / (1 + 2 * rho[1:last].sum()))


def _sizes(windows: Iterable[float] | None, count: int, volumes: Volumes) -> list[int]:
    if windows is None:
        return [size for size in (count // 4, count // 16) if size >= FEWEST]
    sizes = []
    for length in windows:
        size = round(length / volumes.timescale)
        if not FEWEST <= size <= count:
            what = f"a window of {shown_time(length)} holds {size} of {count} samples"
            smallest, largest = FEWEST * volumes.timescale, count * volumes.timescale
            remedy = f"use {shown_time(smallest)} to {shown_time(largest)}"
            raise TrafficError(what, where=volumes.trace, value=length, remedy=remedy)
        sizes.append(size)
    return sizes


def _refuse_few(count: int, where: str) -> None:
    if count < FEWEST:
        what = f"{count} samples in a row are too few for tests of stationarity"
        raise TrafficError(what, where=where, value=count, remedy=f"give at least {FEWEST}, or use a finer timescale")


def _check_significance(significance: float) -> None:
    if not 0 < significance < 1:
        what = f"a significance of {significance:g}"
        raise TrafficError(what, value=significance, remedy="use a number between 0 and 1, such as 0.05")
