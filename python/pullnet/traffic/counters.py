"""Counters: tables with a column of times and one or more columns of volumes, rates or counter values."""

from typing import Any

import numpy as np

from pullnet.traffic import files
from pullnet.traffic.coerce import Missing, numbers, volumes_of
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import Timescale, seconds
from pullnet.traffic.reading import Options, Source, trace_name
from pullnet.traffic.volumes import Volumes

OPTIONS = frozenset({"unit", "kind", "time", "columns", "interval", "width", "missing", "capacity"})
"""What can be said of counters."""


def load(path: str, table: Any, options: Options) -> tuple[list[Volumes], Source]:
    """Read counters."""
    files.refuse_options(path, "counters", options.capture)
    interval = options.counters.get("interval")
    unit = options.counters.get("unit", "bytes")
    volumes = frame_volumes(
        table.to_pandas(), timescale=interval, unit=unit, trace=trace_name(path), start=0.0, missing="gap"
    )
    return files.wanted(volumes, options.timescales, path), Source(path, "counters")


def frame_volumes(
    frame: Any, *, timescale: Timescale | None, unit: str, trace: str, start: float, missing: Missing
) -> list[Volumes]:
    """Take every column of a data frame as a trace."""
    if timescale is None:
        raise TrafficError("how long a bin is was not said", where=trace, remedy='give timescale="1 s"')
    length = seconds(timescale)
    return [
        volumes_of(
            np.asarray(numbers(frame[name], str(name))),
            length,
            unit=unit,
            trace=str(name),
            start=start,
            missing=missing,
        )
        for name in frame.columns
    ]
