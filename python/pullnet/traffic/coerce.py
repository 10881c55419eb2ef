"""Arrays, lists and data frames as volumes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pullnet.arguments import typed
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import Timescale, bytes_per, seconds
from pullnet.traffic.volumes import Missing, State, Volumes, refuse_values


@typed
def as_volumes(
    data: Any,
    *,
    timescale: Timescale | None = None,
    unit: str = "bytes",
    trace: str = "trace",
    start: float = 0.0,
    missing: Missing = "error",
) -> list[Volumes]:
    """Take one value per bin, from `Volumes`, numpy, a list, or Polars and pandas series and data frames.

    Of a data frame each column is a trace, but for a column of times: with one, `timescale` may be left out.
    `unit` is one of `quantities.UNITS`; a column whose name ends in another one is refused.
    """
    if isinstance(data, Volumes):
        return [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(item, Volumes) for item in data):
        return list(data)
    if _is_frame(data):
        from pullnet.traffic.counters import frame_volumes  # pyarrow only where there are tables

        return frame_volumes(data, timescale=timescale, unit=unit, trace=trace, start=start, missing=missing)
    name = getattr(data, "name", None)
    trace = str(name) if isinstance(name, str) and name and trace == "trace" else trace
    length = _timescale(timescale, trace)
    return [volumes_of(numbers(data, trace), length, unit=unit, trace=trace, start=start, missing=missing)]


def volumes_of(
    values: NDArray[np.float64], timescale: float, *, unit: str, trace: str, start: float, missing: Missing
) -> Volumes:
    """Make volumes of one value per bin; NaN stands for a missing one."""
    gap = np.isnan(values) if missing == "gap" else np.zeros(len(values), dtype=bool)
    known = np.where(gap, 0.0, values)
    refuse_values(known, trace, "value")
    state = np.where(gap, State.GAP, State.OK).astype(np.uint8)
    return Volumes(trace, timescale, start, known * bytes_per(unit, timescale), state)


def numbers(data: Any, trace: str) -> NDArray[np.float64]:
    """Take a list, array or series as numbers; missing ones become NaN."""
    remedy = "give one number for each bin"
    try:
        array = np.asarray(_plain(data))
        if array.dtype.kind in "bcmMV":
            raise TypeError(f"it holds {array.dtype}")
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TrafficError(f"is not a series of numbers: {_first_line(error)}", where=trace, remedy=remedy) from None
    if values.ndim != 1:
        raise TrafficError(f"has the shape {values.shape}", where=trace, value=values.shape, remedy=remedy)
    if len(values) == 0:
        raise TrafficError("is empty", where=trace, remedy=remedy)
    return values


def _plain(data: Any) -> Any:
    """Make missing values NaN, and iterators lists."""
    if hasattr(data, "to_numpy"):
        return data.to_numpy()
    if isinstance(data, Iterable) and not isinstance(data, (Sequence, np.ndarray)):
        data = list(data)
    if isinstance(data, (list, tuple)):
        return [float("nan") if item is None else item for item in data]
    return data


def _timescale(timescale: Timescale | None, trace: str) -> float:
    if timescale is None:
        remedy = 'give timescale="1 s", or a data frame with a column of times'
        raise TrafficError("how long a bin is was not said", where=trace, remedy=remedy)
    return seconds(timescale)


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "shape") and len(data.shape) == 2


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
