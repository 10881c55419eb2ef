"""Gaussian series with a given autocorrelation, made exactly by circulant embedding (Davies and Harte 1987)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError

Series = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Embedding:
    """The square roots of the eigenvalues of a circulant matrix that holds the wanted covariance."""

    roots: Series
    count: int
    """Number of samples per draw."""
    negative: float
    """Share of the variance that lay in negative eigenvalues; they were set to 0. 0: draws are exact."""

    def draw(self, rng: np.random.Generator) -> Series:
        """Draw one series: mean 0, variance 1."""
        size = len(self.roots)
        noise = rng.standard_normal(size) + 1j * rng.standard_normal(size)
        path = np.fft.fft(self.roots * noise)[: self.count]
        real: Series = path.real / np.sqrt(size)
        return real


def embed(autocorrelation: Series) -> Embedding:
    """Embed an autocorrelation function (lags 0 to n - 1, 1 at lag 0) of n samples.

    Where the circulant has negative eigenvalues no exact series exists in this way: they are set to 0, the rest is
    scaled to variance 1, and `negative` says how much was cut off.
    """
    rho = np.asarray(autocorrelation, dtype=np.float64)
    if len(rho) == 0 or not np.isclose(rho[0], 1.0):
        raise TrafficError("an autocorrelation begins with 1 at lag 0", value=rho[:1].tolist())
    if len(rho) == 1:
        return Embedding(np.ones(1), 1, 0.0)
    circle = np.concatenate([rho, rho[-2:0:-1]])
    eigenvalues = np.fft.fft(circle).real
    clipped = np.where(eigenvalues > 0, eigenvalues, 0.0)
    below = float((clipped - eigenvalues).sum() / clipped.sum())
    negative = below if below > ROUNDING * len(circle) else 0.0
    return Embedding(np.sqrt(clipped * (len(circle) / clipped.sum())), len(rho), negative)


ROUNDING = 1e-15
"""Negative eigenvalues up to this, for each one, are rounding."""


def fractional_autocorrelation(count: int, hurst: float) -> Series:
    """Autocorrelation of fractional Gaussian noise at lags 0 to count - 1."""
    if not 0 < hurst < 1:
        raise TrafficError(f"a Hurst exponent of {hurst:g}", value=hurst, remedy="use a number between 0 and 1")
    lags = np.arange(count, dtype=np.float64)
    power = 2 * hurst
    rho: Series = 0.5 * (np.abs(lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power)
    return rho


def fractional_noise(count: int, hurst: float, rng: np.random.Generator) -> Series:
    """Draw fractional Gaussian noise of mean 0 and variance 1, exactly."""
    return embed(fractional_autocorrelation(count, hurst)).draw(rng)


def autocorrelation(series: Series, lags: int) -> Series:
    """Sample autocorrelation at lags 0 to `lags`, divided by n (which keeps it a correlation function)."""
    values = np.asarray(series, dtype=np.float64)
    count = len(values)
    if count < 2:
        raise TrafficError(f"{count} samples have no autocorrelation", value=count, remedy="give at least 2")
    centred = values - values.mean()
    if not centred.any():
        raise TrafficError("all samples are equal", value=float(values[0]), remedy="a constant has no autocorrelation")
    wanted = min(lags, count - 1)
    padded = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred / np.abs(centred).max(), padded)) ** 2
    covariance = np.fft.irfft(spectrum, padded)[: wanted + 1]
    rho: Series = covariance / covariance[0]
    rho[0] = 1.0
    return rho
