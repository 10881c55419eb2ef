"""Times, rates and units of volumes as text."""

import math
import re
from collections.abc import Iterable

from pullnet import _core
from pullnet.errors import InputError
from pullnet.traffic.error import TrafficError

Timescale = float | str
"""Seconds, or a text with a unit such as "5 ms"."""

STUDY_TIMESCALES = (0.005, 0.1, 1.0, 5.0)
"""Default bin lengths for captures. Unit: s. Source: the study of traffic volumes."""

BYTES_PER_UNIT = {
    "bytes": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
    "bits": 0.125,
    "kbit": 125.0,
    "Mbit": 125e3,
    "Gbit": 125e6,
}
"""Units of a volume."""

BYTES_PER_SECOND_PER_UNIT = {
    "bytes/s": 1.0,
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "KiB/s": 1024.0,
    "MiB/s": 1024.0**2,
    "GiB/s": 1024.0**3,
    "bit/s": 0.125,
    "kbit/s": 125.0,
    "Mbit/s": 125e3,
    "Gbit/s": 125e6,
}
"""Units of a rate."""

UNITS = (*BYTES_PER_UNIT, *BYTES_PER_SECOND_PER_UNIT)


def bytes_per(unit: str, timescale: float) -> float:
    """Bytes in a bin of `timescale` seconds whose value is 1 in `unit`."""
    if unit in BYTES_PER_UNIT:
        return BYTES_PER_UNIT[unit]
    if unit in BYTES_PER_SECOND_PER_UNIT:
        return BYTES_PER_SECOND_PER_UNIT[unit] * timescale
    remedy = f"use one of {', '.join(UNITS)}"
    raise TrafficError(f"`{unit}` is not a unit of volumes", value=unit, remedy=remedy, keyword="unit")


def seconds(time: Timescale, what: str = "timescale") -> float:
    """Read a time above zero: seconds, or a text with a unit."""
    if isinstance(time, str):
        return picoseconds(time, what) / 1e12
    if not (math.isfinite(time) and time > 0):
        raise _not_above_zero(time, what)
    return float(time)


def _not_above_zero(time: Timescale, what: str) -> TrafficError:
    return TrafficError(f"`{time}` is not above zero", value=time, remedy='use for instance "5 ms"', keyword=what)


def picoseconds(time: Timescale, what: str = "timescale") -> int:
    """Read a time above zero as whole picoseconds."""
    if not isinstance(time, str):
        return max(1, round(seconds(time, what) * 1e12))
    if (long := _LONG.fullmatch(time)) is not None:
        return picoseconds(float(long[1]) * _SECONDS[long[2]], what)
    # The core knows no unit above the second, and its errors would not list the longer ones.
    if (parts := _NUMBER.fullmatch(time)) is not None and parts[1] not in _UNITS:
        wrong = f"`{time}` has {'a wrong' if parts[1] else 'no'} unit"
        raise TrafficError(wrong, value=time, remedy=f'use one of {_SHOWN_UNITS}, for instance "5 ms"', keyword=what)
    try:
        picos = _core.picoseconds(time)
    except InputError as error:
        raise TrafficError(str(error), value=time, keyword=what) from None
    if picos == 0:
        raise _not_above_zero(time, what)
    return picos


_LONG = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(min|h|d)\s*")
_SECONDS = {"min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"\s*[0-9][0-9._]*\s*(\D.*?|)\s*")
_SHOWN_UNITS = "ps, ns, us, ms, s, min, h, d"
_UNITS = {*_SHOWN_UNITS.split(", "), "µs"}


def timescales(given: str | Iterable[Timescale], what: str = "timescale") -> list[float]:
    """Read timescales, such as "5ms,100ms,1s,5s"; each once, the finest first. Unit: s."""
    parts = given.split(",") if isinstance(given, str) else list(given)
    if not parts or any(isinstance(part, str) and not part.strip() for part in parts):
        wrong = "is empty" if len(parts) < 2 else f"one of `{given}` is empty"
        raise TrafficError(wrong, value=given, remedy='give for instance "100ms,1s"', keyword=what)
    return sorted({seconds(part, what) for part in parts})


_RATE = re.compile(r"\s*([0-9.]+)\s*(bps|[kMGT]bps|bit/s|[kMGT]bit/s|b/s|[kMGT]b/s)\s*")
_FACTOR = {"b": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def bits_per_second(rate: float | str, what: str = "capacity") -> float:
    """Read a rate above zero: bit/s, or a text with a unit such as "1 Gbps"."""
    remedy = 'use a rate above zero with its unit, such as "1 Gbps"'
    try:
        value = _rate(rate) if isinstance(rate, str) else float(rate)
    except ValueError:
        raise TrafficError(f"`{rate}` is not a rate", value=rate, remedy=remedy, keyword=what) from None
    if not (math.isfinite(value) and value > 0):
        raise TrafficError(f"`{rate}` is not a rate", value=rate, remedy=remedy, keyword=what)
    return value


def _rate(text: str) -> float:
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return float(match[1]) * _FACTOR[match[2][0]]


def shown_time(time: float) -> str:
    """Return "5 ms", "1 s", "5 min", and "400 s" rather than 6.667 min."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        whole = round(time / length, 2)
        if time >= length * (2 if unit == "d" else 1) and abs(whole * length - time) < 1e-9 * time:
            return f"{whole:g} {unit}"
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if time >= length:
            return f"{time / length:.6g} {unit}"
    return f"{time * 1e9:.6g} ns"


def shown_count(count: int, thing: str) -> str:
    """Return "1 bin", and "2 bins"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def shown_number(value: float | None, form: str = ".4g") -> str:
    """Return a number in a form of `format`, and "-" for one that is not known or not finite."""
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def rate_unit(rate: float) -> tuple[str, float]:
    """Return the unit in which a rate is shown, and how many bit/s it is."""
    for unit, factor in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if rate >= factor:
            return unit, factor
    return "bit/s", 1.0


def shown_rate(rate: float) -> str:
    """Return "1.25 Gbit/s", and "-" for a rate that is not finite."""
    if not math.isfinite(rate):
        return "-"
    unit, factor = rate_unit(rate)
    return f"{rate / factor:.4g} {unit}"
