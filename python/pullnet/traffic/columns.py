"""Which columns of a table are times, volumes, rates or counter readings, and in which unit."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pullnet.traffic.clock import at_row, is_text
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import UNITS
from pullnet.traffic.slots import is_end, is_time
from pullnet.traffic.unit_names import MeantUnits, units_meant

_SNMP = re.compile(r"if(hc)?(in|out)octets(\..*)?", re.IGNORECASE)
_UPTIME = ("sysuptime", "uptime", "sys_uptime")
_OTHER_QUANTITY = re.compile(
    r"(?:.*[_ (\[])?(?:packets|pkts|pps|errors?|drops?|discards?|percent|%|util|utili[sz]ation)(?:[)\]]|_total)*",
    re.IGNORECASE,
)
"""Names of columns that hold no volumes but stand beside them in exports of counters."""
_NUMBERING = ("i", "index", "bin", "row", "n", "no")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of volumes, rates or counter readings."""

    name: str
    unit: str
    kind: str
    width: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a table by what they are for."""

    time: str | None
    uptime: str | None
    values: tuple[Column, ...]
    at_end: bool = False
    """Whether times are, by the name of their column, those at which intervals end."""


def choose(
    table: Any, wanted: tuple[str, ...] | None, unit: str | None, kind: str | None, width: int | None, place: str
) -> Chosen:
    """Find out what each column is."""
    names = table.column_names
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        raise TrafficError(f"has two columns `{twice}`", where=place, value=twice, remedy="rename one")
    ends = [name for name in names if is_end(name)]
    time = next((name for name in names if is_time(name)), None)
    time = time or next((name for name in names if pa.types.is_timestamp(table[name].type)), None)
    time = time or next(iter(ends), None)
    uptime = next((name for name in names if name.lower() in _UPTIME), None)
    chosen = _wanted(table, wanted, (time, uptime, *ends), place)
    values = tuple(_column(table, name, unit, kind, width, place) for name in chosen)
    _refuse_mixture(values, place, asked=wanted is not None)
    return Chosen(time, uptime, values, at_end=time in ends)


def _wanted(table: Any, wanted: tuple[str, ...] | None, others: tuple[str | None, ...], place: str) -> list[str]:
    if wanted is not None:
        unknown = next((name for name in wanted if name not in table.column_names), None)
        if unknown is not None:
            remedy = f"use {', '.join(table.column_names)}"
            raise TrafficError(f"has no column `{unknown}`", where=place, value=unknown, remedy=remedy)
        return list(wanted)
    others = (*others, *other_quantities(table))
    free = [name for name in table.column_names if name not in others and name.lower() not in _NUMBERING]
    for name in free:
        _refuse_damaged(table, name, place)
    found = [name for name in free if _is_numeric(table[name].type)]
    if not found:
        text = next((name for name in free if table[name].null_count < table.num_rows), None)
        if text is not None:
            numbers(table, text, place)  # says which cell is none
        row_numbers = [
            name for name in table.column_names if name.lower() in _NUMBERING and _is_numeric(table[name].type)
        ]
        if row_numbers:
            what = f"has no column of numbers but `{row_numbers[0]}`, which by its name numbers the rows"
            remedy = f"choose it with --columns {row_numbers[0]} if it has volumes, or rename it"
            raise TrafficError(what, where=place, value=row_numbers, remedy=remedy)
        remedy = f"give one with numbers (columns: {', '.join(table.column_names)})"
        raise TrafficError("has no column of numbers", where=place, remedy=remedy)
    return found


def other_quantities(table: Any) -> list[str]:
    """Return the columns that have, by their names, packets, errors or shares, unless there are no others."""
    numeric = [name for name in table.column_names if _is_numeric(table[name].type)]
    found = [name for name in numeric if _OTHER_QUANTITY.fullmatch(name)]
    return found if any(_says_volumes(name) for name in numeric) else []


_NUMBER = r"^\s*[-+]?(?:[0-9]+(?:[.,][0-9]+)?|[0-9]{1,3}(?:[, '_][0-9]{3})+(?:\.[0-9]+)?)(?:[eE][-+]?[0-9]+)?\s*$"
"""A number as people write it, also with a decimal comma or with marks between thousands."""


def _refuse_damaged(table: Any, name: str, place: str) -> None:
    """Refuse a column that is meant to hold numbers and holds something else, too.

    One bad cell makes a whole column text. Left out as a label, it would take a direction of a link with it.
    """
    column = table[name]
    if pa.types.is_boolean(column.type):
        damaged = _says_volumes(name)
    elif is_text(column.type) and not is_time(name):
        texts = table.num_rows - column.null_count
        numeric = pc.sum(pc.match_substring_regex(column, _NUMBER)).as_py() or 0
        damaged = texts > 0 and (_says_volumes(name) or 2 * numeric > texts)
    else:
        return
    if damaged:
        _refuse_text(column, name, place)


def _says_volumes(name: str) -> bool:
    return bool(units_meant(name)) or _SNMP.fullmatch(name) is not None


def empty_columns(table: Any, chosen: Chosen) -> list[str]:
    """Return the columns without any value that are left out, though they may have been meant to have volumes."""
    used = {chosen.time, chosen.uptime, *(column.name for column in chosen.values)}
    return [name for name in table.column_names if name and name not in used and pa.types.is_null(table[name].type)]


def _is_numeric(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _column(table: Any, name: str, unit: str | None, kind: str | None, width: int | None, place: str) -> Column:
    snmp = _SNMP.fullmatch(name)
    own = _unit(units_meant("bytes" if snmp else name), unit, f"{place}, column {name}")
    if kind is None:
        lower = name.lower()
        kind = "counter" if snmp or "counter" in lower or lower.endswith("_total") else "volume"
    if width is None and kind == "counter":
        width = 64 if snmp and snmp[1] else 32 if snmp else _width(table, name, place)
    return Column(name, own, kind, width or 64)


def _unit(own: MeantUnits, stated: str | None, where: str) -> str:
    """Return the unit by name or by what was stated; refuse a contradiction, and a name that may mean two units."""
    if stated is not None:
        if own and stated not in own:
            what = f"is in {' or '.join(own)} by its name, and --unit says {stated}"
            raise TrafficError(what, where=where, value=stated, remedy="leave --unit out, or rename it")
        return stated
    if not own:
        raise TrafficError("does not say its unit", where=where, remedy=f"give --unit, one of {', '.join(UNITS)}")
    if len(own) > 1:
        what = f"may be in {' or in '.join(own)}: bits have a small b, bytes a capital B"
        raise TrafficError(what, where=where, value=own, remedy=f"give --unit {own[0]} or --unit {own[1]}")
    return own[0]


def _width(table: Any, name: str, place: str) -> int:
    """Without being told: 64 bits if a reading needs them, else 32."""
    values = numbers(table, name, place)
    return 64 if np.nanmax(values, initial=0) >= 2.0**32 else 32


def _refuse_mixture(values: tuple[Column, ...], place: str, *, asked: bool) -> None:
    units = sorted({column.unit for column in values})
    if len(units) > 1 and not asked:
        shown = ", ".join(f"{column.name} in {column.unit}" for column in values[:4])
        remedy = "choose columns of one unit with --columns"
        raise TrafficError(f"mixes units: {shown}", where=place, value=units, remedy=remedy)


def numbers(table: Any, name: str, place: str) -> NDArray[np.float64]:
    """Read a column as numbers; empty cells become NaN."""
    column = table[name]
    if pa.types.is_null(column.type):
        return np.full(table.num_rows, np.nan)
    if not _is_numeric(column.type):
        _refuse_text(column, name, place)
    # Whole numbers above 2^53, as counters of bytes have after 8 days at 100 Gbit/s, become the nearest double.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


_NO_NUMBER = "write one such as 1234.5, or leave the cell empty where nothing is known; --columns chooses other columns"


def _refuse_text(column: Any, name: str, place: str) -> None:
    for row, value in enumerate(column.to_pylist()):
        try:
            float(value if value is not None else 0)
        except (TypeError, ValueError):
            where = f"{at_row(place, row)}, column {name}"
            what = f"`{value}` is not a number"
            raise TrafficError(what, where=where, value=value, remedy=_NO_NUMBER) from None
    raise TrafficError(f"holds {column.type} and not numbers", where=f"{place}, column {name}", remedy="give numbers")


def readings(table: Any, column: Column, place: str) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Read a column of counter readings exactly, and which rows have one."""
    raw = table[column.name].combine_chunks()
    known = ~np.asarray(raw.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_floating(raw.type):
        known &= ~np.isnan(np.asarray(raw.to_numpy(zero_copy_only=False)))
    values = raw.to_pylist()
    exact = np.zeros(len(values), dtype=np.uint64)
    for row in np.flatnonzero(known):
        exact[row] = _reading(values[row], column, at_row(place, int(row)))
    return exact, known


def _reading(value: Any, column: Column, where: str) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or not 0 <= value < 2**column.width:
        what = f"{value} is no reading of a counter of {column.width} bits"
        remedy = "a reading is a whole number from 0; --width says how wide counters are"
        raise TrafficError(what, where=f"{where}, column {column.name}", value=value, remedy=remedy)
    return int(value)
