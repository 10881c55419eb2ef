"""The tables of a paper's folder as they are written: every key, its type, and what else can be told before a run."""

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pullnet.errors import InputError
from pullnet.runs.seeds import seeds_of

LEVELS = ("smoke", "quick", "full")
"""Names of levels: for a test machine, in under ten minutes, or as far as the paper went."""

Errors = Iterator[tuple[str, str]]
"""Pairs of a key, with the keys above it, and what is wrong with it."""


@dataclass(frozen=True)
class Kind:
    """A type of value, with a value to write."""

    what: str
    example: str
    fits: Callable[[Any], bool]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _scalar(value: object) -> bool:
    return isinstance(value, bool | str) or _number(value)


def _tables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(fits(each) for each in value)


TEXT = Kind("text", '"..."', lambda value: isinstance(value, str))
NUMBER = Kind("a number", "1.5", _number)
ABOVE_ZERO = Kind("a number above 0", "10", lambda value: _number(value) and value > 0)
NOT_BELOW_ZERO = Kind("a number from 0 on", "0.15", lambda value: _number(value) and value >= 0)
COUNT = Kind("a whole number from 1 on", "1", lambda value: _number(value) and isinstance(value, int) and value > 0)
SWITCH = Kind("true or false", "true", lambda value: isinstance(value, bool))
TABLE = Kind("a table", "{ ... }", lambda value: isinstance(value, dict))
TABLES = Kind("a list of tables", "[{ ... }]", _list_of(lambda value: isinstance(value, dict)))
NAMES = Kind(
    "a table of texts",
    '{ load = "traffic.0.load" }',
    lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
)
AXES = Kind(
    "a table of lists with texts or numbers",
    "{ load = [0.2, 0.4] }",
    lambda value: isinstance(value, dict) and all(_list_of(_scalar)(each) for each in value.values()),
)
POINTS = Kind(
    "a list of tables with texts or numbers",
    "[{ load = 0.2 }]",
    _list_of(lambda value: isinstance(value, dict) and all(map(_scalar, value.values()))),
)
IMPLIED = Kind(
    "a table of settings for each value of a name",
    '{ load = { "0.2" = { "traffic.0.hosts" = 8 } } }',
    lambda value: isinstance(value, dict) and all(_tables(each) for each in value.values()),
)
SEEDS = Kind("text or a list of whole numbers", '"1..20"', lambda value: isinstance(value, str | list))
EXPECTED = Kind(
    "a number, a list of numbers, or text",
    '"..."',
    lambda value: _number(value) or isinstance(value, str) or _list_of(_number)(value),
)
CURVE = Kind(
    "a list of points",
    "[[1, 2.5], [2, 5]]",
    _list_of(lambda row: _list_of(_number)(row) and len(row) > 1),
)

PAPER = {"title": TEXT, "more": IMPLIED}
EXPERIMENT = {
    **dict.fromkeys(("title", "figure", "scenario", "calculation", "note"), TEXT),
    **dict.fromkeys(("set", *LEVELS), TABLE),
    "more": IMPLIED,
    "keys": NAMES,
    "axes": AXES,
    "points": POINTS,
}
LEVEL = {"seeds": SEEDS, "seconds": ABOVE_ZERO, "set": TABLE, "axes": AXES, "points": POINTS}
CLAIM = {
    **dict.fromkeys(("id", "source", "setup", "metric", "unit", "tolerance", "figure"), TEXT),
    **dict.fromkeys(("measure", "why", "impossible", "deviation"), TEXT),
    **dict.fromkeys(("accept", "parameters"), TABLE),
    "priority": COUNT,
    "expected": EXPECTED,
    "curve": CURVE,
    "tests": TABLES,
}
ACCEPT = {
    **dict.fromkeys(("from", "to"), NUMBER),
    **dict.fromkeys(("within", "within_relative"), NOT_BELOW_ZERO),
    **dict.fromkeys(("holds", "ruled_out"), SWITCH),
    "bands": TABLES,
}
BAND = {"below": NUMBER, "within": NOT_BELOW_ZERO, "within_relative": NOT_BELOW_ZERO}
TEST = {"package": TEXT, "name": TEXT}
NEEDED_OF_CLAIM = ("id", "source", "priority", "setup", "metric", "expected", "unit", "tolerance")
BOUNDS = ("from", "to", "within", "within_relative", "holds", "bands")


def of_paper(table: Mapping[str, Any]) -> Errors:
    """Errors of `paper.toml`."""
    yield from _keys(table, PAPER, ("title",))


def of_experiments(tables: Mapping[str, Any], shared: Mapping[str, Any]) -> Errors:
    """Errors of `experiments.toml`; `shared` are the values that imply settings in every experiment."""
    if not tables:
        yield "", "has no experiment; write a table such as [incast]"
    for name, table in tables.items():
        if not isinstance(table, dict):
            yield name, f"{table!r} is no experiment; write a table [{name}]"
            continue
        yield from ((f"{name}.{key}", error) for key, error in _experiment(table, shared))


def _experiment(table: Mapping[str, Any], shared: Mapping[str, Any]) -> Errors:
    work = () if "calculation" in table else ("scenario",)
    found = list(_keys(table, EXPERIMENT, ("title", "figure", *work)))
    yield from found
    for level in LEVELS:
        inner = table.get(level)
        if isinstance(inner, dict):
            yield from ((f"{level}.{key}", error) for key, error in _level(inner))
    if found or "calculation" in table:
        return
    known = {*table.get("keys", {}), *table.get("more", {}), *shared}
    for axis in table.get("axes", {}):
        if axis not in known:
            yield f"axes.{axis}", f'sets nothing; add the setting that it stands for: keys.{axis} = "traffic.0.load"'


def _level(table: Mapping[str, Any]) -> Errors:
    yield from _keys(table, LEVEL, ("seeds", "seconds"))
    if SEEDS.fits(table.get("seeds")):
        try:
            seeds_of(table["seeds"])
        except InputError as error:
            yield "seeds", re.sub(r"^--seeds:? ", "", str(error))


def of_claims(document: Mapping[str, Any]) -> Errors:
    """Errors of `claims.toml`."""
    claims = document.get("claim", [])
    if not TABLES.fits(claims):
        yield "claim", "there is none; write a table [[claim]] for each claim"
        return
    yield from _keys(document, {"claim": TABLES}, ())
    for number, table in enumerate(claims, 1):
        name = table.get("id") if isinstance(table.get("id"), str) else f"number {number}"
        yield from ((f"claim {name}: {key}", error) for key, error in _claim(table))


def _claim(table: Mapping[str, Any]) -> Errors:
    yield from _keys(table, CLAIM, NEEDED_OF_CLAIM)
    yield from _listed("tests", table.get("tests"), TEST, tuple(TEST))
    accept = table.get("accept", {})
    if not isinstance(accept, dict) or table.get("impossible") or table.get("tests"):
        return
    found = [*_keys(accept, ACCEPT, ()), *_listed("bands", accept.get("bands"), BAND, ())]
    yield from ((f"accept.{key}", error) for key, error in found)
    if not any(bound in accept for bound in BOUNDS):
        yield "accept", f"accepts anything; state one of {', '.join(BOUNDS)}, as {'{ from = 0, to = 10 }'}"
    elif not found and accept.get("from", 0) > accept.get("to", accept.get("from", 0)):
        yield "accept.from", f"{accept['from']} is above to = {accept['to']}; exchange them"


def _listed(name: str, given: object, known: Mapping[str, Kind], needed: tuple[str, ...]) -> Errors:
    """Errors inside the tables of a list."""
    for number, table in enumerate(given if isinstance(given, list) and TABLES.fits(given) else []):
        yield from ((f"{name}.{number}.{key}", error) for key, error in _keys(table, known, needed))


def _keys(table: Mapping[str, Any], known: Mapping[str, Kind], needed: tuple[str, ...]) -> Errors:
    """Keys that are missing, unknown, or of another type."""
    for key in needed:
        if key not in table:
            yield key, f"is missing; write for instance {key} = {known[key].example}"
    for key, value in table.items():
        kind = known.get(key)
        if kind is None:
            near = difflib.get_close_matches(key, known, 1, 0.5)
            yield key, f"is no key here; use {f'`{near[0]}`' if near else 'one of ' + ', '.join(known)}"
        elif not kind.fits(value):
            yield key, f"{_shown(value)} is not {kind.what}; write for instance {key} = {kind.example}"


def _shown(value: object) -> str:
    text = "true" if value is True else "false" if value is False else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check(place: Path, documents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse the files of a folder, by name, with all their errors at once."""
    shared = documents["paper.toml"].get("more", {})
    found = {
        "paper.toml": of_paper(documents["paper.toml"]),
        "experiments.toml": of_experiments(documents["experiments.toml"], shared if isinstance(shared, dict) else {}),
        "claims.toml": of_claims(documents["claims.toml"]),
    }
    errors = [
        f"{place / name}: {key + ': ' if key else ''}{error}" for name, each in found.items() for key, error in each
    ]
    if errors:
        raise InputError(errors)
