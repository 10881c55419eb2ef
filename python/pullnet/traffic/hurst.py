"""Hurst exponent: how slowly the memory of a series fades. 0.5: none beyond a few bins; towards 1: on all scales."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from pullnet.traffic.error import TrafficError

Series = NDArray[np.float64]

FEWEST = 208
"""Samples below which no estimate is given: R/S needs three lengths between 16 bins and an eighth of the samples."""


@dataclass(frozen=True, slots=True)
class Hurst:
    """Estimates of the Hurst exponent by three methods, each with what is known of its error."""

    aggregated_variance: float
    """From the variance of means over m bins, which falls as m^(2H-2). Biased low for H near 1."""
    rescaled_range: float
    """From the range of sums over m bins against their deviation, which grows as m^H. Biased high for H near 0.5."""
    local_whittle: float
    """From the spectrum near frequency 0 (Robinson 1995). The one to trust of the three."""
    local_whittle_error: float
    """Standard error of `local_whittle`: 1/(2 sqrt(m)) with m frequencies."""
    samples: int


def hurst(series: Series) -> Hurst:
    """Estimate the Hurst exponent of a series by three methods."""
    values = _checked(series)
    frequencies = whittle_frequencies(len(values))
    return Hurst(
        aggregated_variance(values),
        rescaled_range(values),
        local_whittle(values, frequencies),
        0.5 / np.sqrt(frequencies),
        len(values),
    )


def aggregated_variance(series: Series) -> float:
    """Half the slope of log variance of means over m bins against log m, plus 1."""
    values = _checked(series)
    sizes = _sizes(1, len(values) // 16)
    variances = np.array([_means(values, size).var(ddof=1) for size in sizes])
    usable = variances > 0
    return 1.0 + _slope(np.log(sizes[usable]), np.log(variances[usable])) / 2.0


def rescaled_range(series: Series) -> float:
    """Slope of log (range / standard deviation) over m bins against log m (Hurst 1951, Mandelbrot and Wallis 1969)."""
    values = _checked(series)
    sizes = _sizes(16, len(values) // 8)
    ratios = np.array([_range_over_deviation(values, int(size)) for size in sizes])
    usable = np.isfinite(ratios) & (ratios > 0)
    return _slope(np.log(sizes[usable]), np.log(ratios[usable]))


def whittle_frequencies(count: int) -> int:
    """How many Fourier frequencies local Whittle uses of `count` samples: count^0.65, its usual bandwidth."""
    return int(count**0.65)


def local_whittle(series: Series, frequencies: int | None = None) -> float:
    """Maximise the Gaussian semi-parametric likelihood of the lowest frequencies (Robinson 1995)."""
    values = _checked(series)
    used = whittle_frequencies(len(values)) if frequencies is None else frequencies
    index = np.arange(1, used + 1)
    spectrum = np.abs(np.fft.rfft(values - values.mean())[index]) ** 2
    log_frequency = np.log(2 * np.pi * index / len(values))

    def objective(exponent: float) -> float:
        power = 2 * exponent - 1
        return float(np.log(np.mean(spectrum * np.exp(power * log_frequency))) - power * log_frequency.mean())

    return float(optimize.minimize_scalar(objective, bounds=(0.01, 1.49), method="bounded").x)


def _checked(series: Series) -> Series:
    values = np.asarray(series, dtype=np.float64)
    if len(values) < FEWEST:
        what = f"{len(values)} samples are too few for a Hurst exponent"
        raise TrafficError(what, value=len(values), remedy=f"give at least {FEWEST}")
    if not np.isfinite(values).all():
        raise TrafficError("has samples that are no number", remedy="give the longest stretch without gaps")
    if not np.ptp(values) > 0:
        raise TrafficError("all samples are equal", value=float(values[0]), remedy="a constant has no Hurst exponent")
    return values


def _sizes(smallest: int, largest: int) -> Series:
    """About ten sizes in each decade."""
    steps = max(2, int(10 * np.log10(largest / smallest)) + 1)
    sizes: Series = np.unique(np.geomspace(smallest, largest, steps).astype(np.int64)).astype(np.float64)
    return sizes


def _blocks(values: Series, size: int) -> Series:
    count = len(values) // size
    return values[: count * size].reshape(count, size)


def _means(values: Series, size: float) -> Series:
    means: Series = _blocks(values, int(size)).mean(axis=1)
    return means


def _range_over_deviation(values: Series, size: int) -> float:
    blocks = _blocks(values, size)
    deviation = blocks.std(axis=1)
    sums = np.cumsum(blocks - blocks.mean(axis=1, keepdims=True), axis=1)
    span = np.maximum(sums.max(axis=1), 0) - np.minimum(sums.min(axis=1), 0)
    known = deviation > 0
    return float(np.mean(span[known] / deviation[known])) if known.any() else float("nan")


def _slope(x: Series, y: Series) -> float:
    if len(x) < 3:
        raise TrafficError("varies on too few scales for a Hurst exponent", remedy="give more samples")
    return float(np.polyfit(x, y, 1)[0])
