"""Long tables, as Prometheus and Influx export them: one row for each series and time, labels in columns of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pullnet.traffic import columns
from pullnet.traffic.error import TrafficError
from pullnet.traffic.slots import is_time

VALUE_NAMES = ("value", "_value")
"""Names of the column of numbers in a long table."""

_NAMING = ("__name__", "_field", "field", "metric", "_metric")
"""Columns that say what a series is of, and so its unit."""

_BOOKKEEPING = ("", "result", "table", "_start", "_stop", "#datatype")
"""Columns of Influx that are about the query."""

MOST_SERIES = 100_000
"""More series than any export of traffic holds: labels that differ in every row are none."""


@dataclass(frozen=True, slots=True)
class Part:
    """One series of a long table."""

    name: str
    """Its labels that differ between series."""
    table: Any
    """Times, and values under the name of what they are of."""
    rows: NDArray[np.int64]
    """Number in the long table of each row."""


def split(table: Any, place: str) -> list[Part] | None:
    """Take a long table apart; `None` if it is none."""
    value = next((name for name in table.column_names if name.lower() in VALUE_NAMES), None)
    time = next((name for name in table.column_names if is_time(name) and name not in _BOOKKEEPING), None)
    if value is None or time is None:
        return None
    labels = [name for name in table.column_names if name not in (value, time, *_BOOKKEEPING)]
    labels = [name for name in labels if _is_label(table[name].type)]
    if not labels:
        return None
    columns.numbers(table, value, place)  # names the line of a cell that is not a number
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in labels]
    series, number = _numbered(texts)
    if len(series) > MOST_SERIES:
        what = f"holds {len(series)} series of labels {', '.join(labels)}"
        raise TrafficError(
            what, where=place, remedy=f"leave out labels that differ in every row; {MOST_SERIES} at most"
        )
    return list(_parts(table, (time, value), labels, series, number))


def _is_label(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _numbered(texts: list[Any]) -> tuple[list[tuple[str, ...]], Any]:
    """Number the rows by series, in the order in which series appear."""
    keys = list(zip(*(text.to_pylist() for text in texts), strict=True))
    order = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return list(order), np.array([order[key] for key in keys], dtype=np.int64)


def _parts(
    table: Any, names: tuple[str, str], labels: list[str], series: list[tuple[str, ...]], number: Any
) -> Iterator[Part]:
    time, value = names
    # One sort instead of a pass over the table for each series.
    rows = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(series)))
    sorted_table = table.select([time, value]).take(pa.array(rows))
    naming = next((labels.index(name) for name in labels if name in _NAMING), None)
    varying = [index for index in range(len(labels)) if len({key[index] for key in series}) > 1]
    first = 0
    for key, end in zip(series, ends.tolist(), strict=True):
        part = sorted_table.slice(first, end - first)
        meant = key[naming] if naming is not None and key[naming] else value
        name = " ".join(key[index] for index in varying if key[index]) or meant
        yield Part(name, part.rename_columns([time, meant]), rows[first:end])
        first = end
