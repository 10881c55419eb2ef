"""Counters that only go up, as SNMP has them: differences, wraps, resets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_AS_FAST = 2.0
"""A wrap is believed up to so many times the largest rate between other readings, if no capacity is known."""

_HUNDREDTHS = 2.0**32
"""sysUpTime counts hundredths of seconds in 32 bits: it wraps by itself every 497 days."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Increase of a counter from each reading to the next. NaN: not known."""

    values: NDArray[np.float64]
    wraps: int
    resets: int


def differences(
    readings: NDArray[np.uint64],
    seconds: NDArray[np.float64],
    *,
    width: int,
    uptime: NDArray[np.float64] | None,
    most_per_second: float | None,
) -> Differences:
    """Take differences of readings, exactly.

    A reading below the previous one is a reset if the uptime went back, or if the rate that a wrap would mean is not
    plausible: above `most_per_second` (in units of the counter), or without it above twice the largest rate between
    other readings. Otherwise the counter has wrapped, once. A difference across a reset is not known.
    """
    length = np.diff(seconds)
    back = readings[1:] < readings[:-1]
    # Numbers of 64 bits wrap as the counter does; of a narrower one the lower bits are the difference.
    change = ((readings[1:] - readings[:-1]) & np.uint64(2**width - 1)).astype(np.float64)
    plausible = change / length <= _most(change[~back], length[~back], most_per_second)
    reset = (back & ~plausible) | _restarted(uptime, seconds)
    change[reset] = np.nan
    return Differences(change, int((back & ~reset).sum()), int(reset.sum()))


def _most(change: NDArray[np.float64], length: NDArray[np.float64], stated: float | None) -> float:
    if stated is not None:
        return stated
    return _AS_FAST * float((change / length).max()) if len(change) else 0.0


def _restarted(uptime: NDArray[np.float64] | None, seconds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the device has restarted between two readings: its uptime went back, and not by a wrap of its own."""
    if uptime is None:
        return np.zeros(len(seconds) - 1, dtype=bool)
    change = np.diff(uptime)
    expected = np.diff(seconds) * 100
    own_wrap = np.abs(change + _HUNDREDTHS - expected) <= np.maximum(0.1 * expected, 1000)
    restarted: NDArray[np.bool_] = (change < 0) & ~own_wrap
    return restarted


def into_slots(
    values: NDArray[np.float64], seconds: NDArray[np.float64], start: float, length: float, count: int
) -> NDArray[np.float64]:
    """Spread differences evenly over their time and cut them at the borders of slots. NaN: not known.

    A slot is not known if a part of it is not, or if readings on both sides are more than 1.5 slots apart, so that
    the share of each slot is unknown.
    """
    apart = np.diff(seconds)
    unknown = np.isnan(values) | (apart > 1.5 * length)
    total = np.concatenate(([0.0], np.cumsum(np.where(unknown, 0.0, values))))
    missing = np.concatenate(([0.0], np.cumsum(np.where(unknown, apart, 0.0))))
    borders = start + np.arange(count + 1) * length
    volume = np.diff(np.interp(borders, seconds, total))
    lost = np.diff(np.interp(borders, seconds, missing)) > 1e-6 * length
    return np.where(lost, np.nan, volume)
