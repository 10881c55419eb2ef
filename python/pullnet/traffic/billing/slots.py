"""Slots: the 5 minutes of a billing period, on the clock."""

import math
import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pullnet.traffic.clock import zone_named
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_time
from pullnet.traffic.volumes import State, Volumes

SLOT = 300.0
"""Length of a slot unless told otherwise. Unit: s."""

EARLIEST = 366 * 86400.0
"""Times before are taken for seconds from the beginning of a trace, not for Unix time."""


class Gaps(StrEnum):
    """Treatment of slots that are not fully known."""

    MISSING = "missing"
    """They are left out: the percentile is one of fewer slots."""
    ZERO = "zero"
    """Unknown time counts as no traffic."""


@dataclass(frozen=True, slots=True)
class Period:
    """A billing period: a month, or any whole number of slots."""

    start: float
    """Unit: s, Unix time or from the beginning of a trace."""
    end: float
    slot: float = SLOT
    zone: str = "UTC"
    name: str = ""
    """Of a month, such as 2026-10."""
    as_of: float | None = None
    """When the bill is made: slots before are over, and not still to come. `None`: now. Unit: s, Unix time."""

    def __post_init__(self) -> None:
        """Refuse what holds no slot."""
        if not (self.slot > 0 and self.end - self.start >= self.slot * (1 - 1e-9)):
            length, slot = (
                shown_time(time) if time > 0 else f"{time:g} s" for time in (self.end - self.start, self.slot)
            )
            what = f"a period of {length} in slots of {slot}"
            raise TrafficError(what, remedy="use a period of at least one slot")

    @classmethod
    def month(cls, name: str, zone: str = "UTC", slot: float = SLOT, as_of: float | None = None) -> "Period":
        """A month such as "2026-10", from midnight to midnight by the clocks of a zone."""
        match = re.fullmatch(r"([0-9]{4})-([0-9]{2})", name)
        if match is None or not (1970 < int(match[1]) < 9999 and 1 <= int(match[2]) <= 12):
            raise TrafficError(f"`{name}` is not a month", value=name, remedy="use for instance 2026-10")
        year, month = int(match[1]), int(match[2])
        clock = zone_named(zone)
        begin = datetime(year, month, 1, tzinfo=clock)
        end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=clock)
        _refuse_uneven(end.timestamp() - begin.timestamp(), slot, name)
        return cls(begin.timestamp(), end.timestamp(), slot, zone, name, as_of)

    @classmethod
    def of(cls, volumes: Volumes, slot: float = SLOT, zone: str = "UTC") -> "Period":
        """All slots that a trace fills."""
        zone_named(zone)
        _bins_per_slot(volumes, slot)
        last = volumes.start + len(volumes) * volumes.timescale
        if volumes.timescale == slot:
            first_slot = math.floor(volumes.start / slot + _SLACK)
            return cls(first_slot * slot, (first_slot + len(volumes)) * slot, slot, zone)
        begin, end = math.ceil(volumes.start / slot - _SLACK) * slot, math.floor(last / slot + _SLACK) * slot
        if end <= begin:
            what = f"does not fill a slot of {shown_time(slot)} of the clock"
            raise TrafficError(what, where=volumes.trace, remedy="give a longer trace, or a shorter slot")
        return cls(begin, end, slot, zone)

    @property
    def count(self) -> int:
        """Number of slots."""
        return round((self.end - self.start) / self.slot)

    @property
    def over(self) -> int:
        """Slots that were over when the bill was made; 0 for times from the beginning of a trace."""
        if self.start < EARLIEST:
            return 0
        now = time.time() if self.as_of is None else self.as_of
        return min(self.count, max(0, math.floor((now - self.start) / self.slot + _SLACK)))

    def begins(self, index: int) -> float:
        """Begin of a slot. Unit: s."""
        return self.start + index * self.slot

    def clock(self, time: float) -> str:
        """Return a time as people of the zone write it, or as seconds from the beginning."""
        if self.start < EARLIEST:
            return f"{shown_time(time)} after the beginning" if time else "the beginning"
        return f"{datetime.fromtimestamp(time, zone_named(self.zone)):%Y-%m-%d %H:%M:%S}".removesuffix(":00")


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Bytes by slot of one direction, with what was done to get there."""

    trace: str
    period: Period
    bytes: NDArray[np.float64]
    """Known bytes of the slot; 0 if nothing is known."""
    known: NDArray[np.bool_]
    """Whether all bins of the slot are known."""
    outside: int
    """Bins before or after the period, which were not used."""
    shifted: int
    """Bins that reach over the end of the slot in which they begin, and count there."""
    partial: int
    """Slots with some known bins and some unknown ones."""
    come: int
    """Slots that are over or have a known bin; the rest of the period is still to come."""

    def values(self, gaps: Gaps) -> NDArray[np.float64]:
        """Bytes of the slots that count."""
        return self.bytes[self.counted(gaps)]

    def counted(self, gaps: Gaps) -> NDArray[np.int64]:
        """Return the indices of the slots that count."""
        past = np.arange(len(self.bytes)) < self.come
        return np.flatnonzero(past if gaps is Gaps.ZERO else past & self.known)


def slots(volumes: Volumes, period: Period) -> Slots:
    """Sum the bins of a trace up into the slots of a period; each counts where it begins."""
    each = _bins_per_slot(volumes, period.slot)
    _refuse_relative(volumes, period)
    offset = (volumes.start - period.start) / period.slot
    place = np.floor(offset + np.arange(len(volumes)) / each + _SLACK).astype(np.int64)
    inside = (place >= 0) & (place < period.count)
    if not inside.any():
        begin, end = volumes.start, volumes.start + len(volumes) * volumes.timescale
        what = f"has nothing in the period: it goes from {period.clock(begin)} to {period.clock(end)}"
        raise TrafficError(what, where=volumes.trace, remedy="use a month that it covers")
    known = inside & (volumes.state != State.GAP)
    bins = np.bincount(place[known], minlength=period.count)
    total = np.bincount(place[known], weights=volumes.bytes[known], minlength=period.count).astype(np.float64)
    last = int(np.flatnonzero(bins)[-1]) + 1 if bins.any() else 0
    come = max(last, period.over)
    ragged = abs(offset * each - round(offset * each)) > _SLACK * each
    straddling = int(inside.sum()) // each if ragged else 0
    return Slots(
        volumes.trace,
        period,
        total,
        bins == each,
        outside=int((~inside).sum()),
        shifted=straddling,
        partial=int(((bins > 0) & (bins < each)).sum()),
        come=come,
    )


def coarsest(volumes: list[Volumes], slot: float) -> list[Volumes]:
    """Of each trace the coarsest timescale that slots can be made of; what has none stays, to be refused by name."""
    traces: dict[str, list[Volumes]] = {}
    for item in volumes:
        traces.setdefault(item.trace, []).append(item)
    return [_coarsest(of_trace, slot) for of_trace in traces.values()]


def _coarsest(volumes: list[Volumes], slot: float) -> Volumes:
    ordered = sorted(volumes, key=lambda item: -item.timescale)
    return next((item for item in ordered if _divides(item.timescale, slot)), ordered[-1])


_SLACK = 1e-6
"""Bins that begin so little before a slot, as a share of it, begin with it."""


def _divides(timescale: float, slot: float) -> bool:
    count = slot / timescale
    return count >= 1 - 1e-9 and abs(count - round(count)) <= 1e-6


def _bins_per_slot(volumes: Volumes, slot: float) -> int:
    if volumes.timescale > slot * (1 + 1e-9):
        what = f"has bins of {shown_time(volumes.timescale)}, from which slots of {shown_time(slot)} cannot be told"
        raise TrafficError(
            what, where=volumes.trace, value=volumes.timescale, remedy="give finer data, or longer slots with --slot"
        )
    if not _divides(volumes.timescale, slot):
        what = f"has bins of {shown_time(volumes.timescale)}, which do not fill slots of {shown_time(slot)} evenly"
        remedy = "say --interval 5min if that is how often devices were polled, or --slot with a multiple"
        raise TrafficError(what, where=volumes.trace, value=volumes.timescale, remedy=remedy)
    return round(slot / volumes.timescale)


def _refuse_relative(volumes: Volumes, period: Period) -> None:
    if volumes.start < EARLIEST <= period.start:
        what = "counts time from its beginning, so that no month can be told"
        raise TrafficError(what, where=volumes.trace, remedy="leave the month out, or give times of the clock")


def _refuse_uneven(length: float, slot: float, name: str) -> None:
    if not (slot > 0 and _divides(slot, length)):
        what = f"{name} cannot be divided into slots of {shown_time(slot) if slot > 0 else slot}"
        raise TrafficError(what, value=slot, remedy="use a slot that divides an hour, such as 5min")


def slot_times(period: Period, index: int) -> tuple[str, str]:
    """Begin and end of a slot as people write them."""
    begin = period.begins(index)
    end = period.clock(begin + period.slot)
    same_day = period.clock(begin)[:10] == end[:10] and period.start >= EARLIEST
    return period.clock(begin), end[11:] if same_day else end


def days(period: Period) -> float:
    """Length of a period in days."""
    return timedelta(seconds=period.end - period.start) / timedelta(days=1)
