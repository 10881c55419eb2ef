"""Samples that no continuous law has: mass near zero, or at the capacity of the link.

A mass is `LEAST_COUNT` samples and a share of at least `LEAST_SHARE` that is at least `EXCESS` times what one expects
there: the share of a log-normal with the median of the positive samples and the quartile on the other side of it.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pullnet.traffic.sample import Floats, constant

Bools = NDArray[np.bool_]
Place = Literal["near zero", "at capacity"]

LEAST_SHARE = 0.02
LEAST_COUNT = 5
EXCESS = 5.0
NEAR_ZERO = 0.01
"""A sample is near zero below this part of the median."""
NEAR_TOP = 0.99
"""A sample is at the top above this part of the largest one, or of the capacity."""


@dataclass(frozen=True)
class Anomaly:
    """A mass in one place."""

    where: Place
    share: float
    """Of the samples."""
    expected: float
    """Share that a log-normal with the same quartiles has there."""
    level: float
    """Samples are below this level, or above. Unit: that of the sample."""
    outage: bool | None = None
    """Of a mass near zero: whether the reader of the trace found outages in it; `None` if it was not checked."""

    def __str__(self) -> str:
        silent = {True: "out", False: "silent", None: "silent or out"}[self.outage]
        cause = f"the link was {silent if self.where == 'near zero' else 'full'}"
        side = "below" if self.where == "near zero" else "from"
        return f"{self.share:.1%} of the samples are {self.where} ({side} {self.level:.4g}): {cause} part of the time"


def anomalies(sample: Floats, capacity: float | None = None) -> tuple[Anomaly, ...]:
    """Masses near zero and at the top of `sample`. `capacity` is in the unit of the sample."""
    positive = sample[sample > 0]
    if positive.size < 2 or constant(positive):
        return ()
    low, middle, high = (float(q) for q in np.quantile(np.log(positive), [0.25, 0.5, 0.75]))
    # A mass widens its own half of the distribution; the other half shows the width of the rest.
    found = (_near_zero(sample, middle, high - middle), _at_top(sample, middle, middle - low, capacity))
    return tuple(a for a in found if _is_mass(a, sample.size))


def marked(where: Place, rates: Floats, is_marked: Bools) -> tuple[Anomaly, ...]:
    """The samples that the reader of a trace has marked as an outage or as saturated, if they are a mass."""
    if not is_marked.any():
        return ()
    level = float(rates[is_marked].max() if where == "near zero" else rates[is_marked].min())
    anomaly = Anomaly(where, float(is_marked.mean()), 0.0, level, True if where == "near zero" else None)
    return (anomaly,) if _is_mass(anomaly, rates.size) else ()


def _is_mass(anomaly: Anomaly, samples: int) -> bool:
    enough = anomaly.share >= LEAST_SHARE and anomaly.share * samples > LEAST_COUNT - 0.5
    return enough and anomaly.share >= EXCESS * anomaly.expected


def _near_zero(sample: Floats, middle: float, half: float) -> Anomaly:
    level = NEAR_ZERO * math.exp(middle)
    return Anomaly("near zero", float(np.mean(sample < level)), _beyond(middle - math.log(level), half), level)


def _at_top(sample: Floats, middle: float, half: float, capacity: float | None) -> Anomaly:
    top = float(sample.max()) if capacity is None else capacity
    level = NEAR_TOP * top
    expected = _beyond(math.log(level) - middle, half) - _beyond(math.log(top) - middle, half)
    return Anomaly("at capacity", float(np.mean(sample >= level)), expected, level)


def _beyond(distance: float, half: float) -> float:
    """Share of a Gaussian farther than `distance` on one side, if a quarter lies within `half`."""
    if half == 0.0:
        return 0.0 if distance > 0 else 1.0
    return float(special.ndtr(-0.6745 * distance / half))
