"""Traffic volumes: bytes in each interval of a trace, and what is known of the interval."""

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pullnet.html import Shown
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_count, shown_time

Missing = Literal["error", "gap"]
"""Treatment of missing values: an error, or bins without data."""


class State(IntEnum):
    """State of a bin."""

    OK = 0
    """A sample like others."""
    GAP = 1
    """Nothing is known: a counter value is missing, or a part of the capture is damaged."""
    OUTAGE = 2
    """A real sample, in a run of bins with so little traffic that the trace does not explain it."""
    SATURATED = 3
    """A real sample at the capacity of the link."""


@dataclass(frozen=True, slots=True, eq=False)
class Volumes(Shown):
    """Traffic per bin of one trace at one timescale. Bin i covers [start + i timescale, start + (i+1) timescale)."""

    trace: str
    timescale: float
    """Length of a bin. Unit: s."""
    start: float
    """Begin of the first bin. Unit: s, Unix time or from the beginning of the trace."""
    bytes: NDArray[np.float64]
    """0 where the state is `GAP`."""
    state: NDArray[np.uint8]
    packets: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no volume."""
        _check_scalars(self)
        volume = _readonly(self.bytes, np.float64, f"{self.trace}, bytes")
        state = _readonly(self.state, np.uint8, f"{self.trace}, state")
        _check_bins(self.trace, volume, state)
        object.__setattr__(self, "bytes", volume)
        object.__setattr__(self, "state", state)
        if self.packets is not None:
            packets = _readonly(self.packets, np.int64, f"{self.trace}, packets")
            _check_packets(self.trace, packets, volume)
            object.__setattr__(self, "packets", packets)

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.bytes)

    def __repr__(self) -> str:
        bins = f"{shown_count(len(self), 'bin')} of {shown_time(self.timescale)}"
        return f"Volumes({self.trace!r}, {bins}, start={self.start!r})"

    def rates(self) -> NDArray[np.float64]:
        """Mean rate of each bin. Unit: bit/s. 0 where the state is `GAP`."""
        return self.bytes * (8.0 / self.timescale)

    def sample(self, *, anomalous: bool = True) -> NDArray[np.float64]:
        """Bytes of all bins except gaps; with `anomalous=False` of bins that are `OK`."""
        wanted = self.state != State.GAP if anomalous else self.state == State.OK
        sample: NDArray[np.float64] = self.bytes[wanted]
        return sample

    def times(self) -> NDArray[np.float64]:
        """Begin of each bin. Unit: s, on the clock of `start`."""
        return self.start + np.arange(len(self), dtype=np.float64) * np.float64(self.timescale)

    def intervals(self) -> list[tuple[float, float, State]]:
        """Return runs of bins that are not `OK`, as (from, to, state). Unit: s, on the clock of `start`."""
        return [
            (self.start + first * self.timescale, self.start + end * self.timescale, State(int(self.state[first])))
            for first, end in runs(self.state)
            if self.state[first] != State.OK
        ]

    def coarser(self, factor: int) -> "Volumes":
        """Join each `factor` bins to one. A bin with a gap in it is a gap; a last one that is not full is left out.

        Outages and saturation are not carried over: they are judged at each timescale separately.
        """
        if factor < 1 or len(self) < factor:
            remedy = f"use 1 to {len(self)}"
            raise TrafficError(f"cannot join {factor} of {len(self)} bins", where=self.trace, remedy=remedy)
        full = len(self) // factor
        gap = _joined(self.state == State.GAP, full, factor).any(axis=1)
        volume = np.where(gap, 0.0, _joined(self.bytes, full, factor).sum(axis=1))
        packets = None if self.packets is None else _joined(self.packets, full, factor).sum(axis=1)
        state = np.where(gap, State.GAP, State.OK).astype(np.uint8)
        return Volumes(self.trace, self.timescale * factor, self.start, volume, state, packets)


def runs(state: NDArray[Any]) -> list[tuple[int, int]]:
    """Return where runs of equal values begin and end (exclusive)."""
    if len(state) == 0:
        return []
    edges = np.flatnonzero(state[1:] != state[:-1]) + 1
    bounds = [0, *edges.tolist(), len(state)]
    return list(pairwise(bounds))


def _joined(values: NDArray[Any], full: int, factor: int) -> NDArray[Any]:
    return values[: full * factor].reshape(full, factor)


def _readonly(values: Any, kind: Any, where: str) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(values, dtype=kind)
    if array.ndim != 1:
        raise TrafficError(f"has {array.ndim} dimensions", where=where, remedy="give one value for each bin")
    shared = array is values or array.base is not None
    unchanging = not array.flags.writeable and array.base is None
    if shared and not unchanging:
        array = array.copy()
    array.flags.writeable = False
    return array


def _check_scalars(volumes: Volumes) -> None:
    if not (np.isfinite(volumes.timescale) and volumes.timescale > 0):
        what = f"a timescale of {volumes.timescale} s"
        raise TrafficError(what, where=volumes.trace, value=volumes.timescale, remedy="use a time above zero")
    if not np.isfinite(volumes.start):
        raise TrafficError(f"a start at {volumes.start} s", where=volumes.trace, remedy="use a time in seconds, or 0")


def _check_bins(trace: str, volume: NDArray[np.float64], state: NDArray[np.uint8]) -> None:
    if len(volume) == 0:
        raise TrafficError("has no bins", where=trace, remedy="give at least one")
    if len(volume) != len(state):
        what = f"{len(volume)} volumes and {len(state)} states"
        raise TrafficError(what, where=trace, remedy="give one of each for every bin")
    if (state > max(State)).any():
        first = int(np.argmax(state > max(State)))
        what = f"{int(state[first])} is not a state"
        raise TrafficError(what, where=f"{trace}, bin {first}", remedy=f"states are 0 to {max(State)}")
    refuse_values(volume, trace, "bin")
    if volume[state == State.GAP].any():
        raise TrafficError("a gap has bytes", where=trace, remedy="a bin of which nothing is known has 0 bytes")


def _check_packets(trace: str, packets: NDArray[np.int64], volume: NDArray[np.float64]) -> None:
    if len(packets) != len(volume):
        what = f"{len(volume)} volumes and {len(packets)} numbers of packets"
        raise TrafficError(what, where=trace, remedy="give one of each for every bin")
    if (packets < 0).any():
        raise TrafficError("a negative number of packets", where=f"{trace}, bin {int(np.argmax(packets < 0))}")


MOST_BYTES = 1e30
"""A volume is no larger than this, so that sums of squares stay numbers."""


def refuse_values(values: NDArray[np.float64], where: str, unit: str) -> None:
    """Refuse values that are no volume: not numbers, infinite, too large, negative; `unit` is what an index counts."""
    for bad, what, remedy in (
        (np.isnan(values), "is not a number", 'leave missing values out, or read them with missing="gap"'),
        (np.isinf(values), "is infinite", "a volume is a finite number of bytes"),
        (values > MOST_BYTES, "is more than any link carries", f"a volume is at most {MOST_BYTES:g} bytes"),
        (values < 0, "is negative", "a volume is at least 0; differences of counters go the other way round"),
    ):
        if bad.any():
            first = int(np.argmax(bad))
            place = f"{where}, {unit} {first}"
            count = int(bad.sum())
            more = f" (and {count - 1} more)" if count > 1 else ""
            raise TrafficError(f"{values[first]} {what}{more}", where=place, value=float(values[first]), remedy=remedy)
