"""Contents of a paper's folder, typed and checked."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pullnet.errors import InputError
from pullnet.papers import tables
from pullnet.papers.tables import LEVELS
from pullnet.runs.seeds import seeds_of

Settings = dict[str, object]
Implied = dict[str, dict[str, Settings]]
"""Settings that a value of a name brings along."""
Value = str | int | float
Curve = list[tuple[float, ...]]


@dataclass(frozen=True)
class Point:
    """One setting of what an experiment varies."""

    at: dict[str, Value]
    set: Settings

    @property
    def text(self) -> str:
        """The setting in words."""
        return ", ".join(f"{name} {value}" for name, value in self.at.items())


@dataclass(frozen=True)
class Level:
    """How an experiment is run at one level."""

    points: list[Point]
    seeds: list[int]
    seconds: float
    """Approximate running time on one core. Unit: seconds."""


@dataclass(frozen=True)
class Experiment:
    """A scenario or a calculation, what is varied in it, and how far it is run at each level."""

    name: str
    title: str
    figure: str
    work: Path | str
    """A scenario's file, or the name of a calculation (`pullnet.papers.calculations`)."""
    levels: dict[str, Level]
    note: str


@dataclass(frozen=True)
class RustTest:
    """A test of the Rust workspace that shows what no run can."""

    package: str
    name: str

    @property
    def command(self) -> list[str]:
        """The command that runs the test."""
        return ["cargo", "test", "--quiet", "-p", self.package, self.name]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: its set-up, the accepted deviation, and how it is measured here."""

    id: str
    source: str
    figure: str
    priority: int
    setup: str
    metric: str
    expected: float | list[float] | str
    unit: str
    tolerance: str
    accept: Mapping[str, Any]
    measure: str
    parameters: dict[str, Any]
    curve: Curve
    why: str
    """Explanation of a result that differs from the expected one."""
    tests: list[RustTest]
    impossible: str
    """Why the claim cannot be tested at all; empty if it can."""
    deviation: str = ""
    """Why it is not compared as the source's reference has it (`papers/reference.toml`); empty where it is."""


@dataclass(frozen=True)
class Paper:
    """One source."""

    name: str
    title: str
    folder: Path
    experiments: dict[str, Experiment]
    claims: list[Claim] = field(repr=False)


def folder() -> Path:
    """Return the folder with one folder per paper: within the installed package, or that of the checkout."""
    return Path(__file__).resolve().parent / "data"


def names() -> list[str]:
    """Papers there are."""
    return sorted(file.parent.name for file in folder().glob("*/paper.toml"))


def load(paper: str | Path) -> Paper:
    """Read a paper's folder, by its name if it comes along."""
    if isinstance(paper, str) and paper not in names():
        raise InputError(f"there is no paper `{paper}`; there are {', '.join(names())}")
    place = folder() / paper if isinstance(paper, str) else paper
    name = paper if isinstance(paper, str) else place.resolve().name
    documents = {file: _toml(place / file) for file in ("paper.toml", "experiments.toml", "claims.toml")}
    tables.check(place, documents)
    about, varied, claimed = documents.values()
    experiments = {key: _experiment(place, key, table, about.get("more", {})) for key, table in varied.items()}
    return Paper(name, about["title"], place, experiments, [_claim(table) for table in claimed["claim"]])


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: is not there; a paper has paper.toml, experiments.toml and claims.toml") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name a folder with a paper") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None


def _experiment(place: Path, name: str, table: dict[str, Any], shared: Implied | None = None) -> Experiment:
    """One table of `experiments.toml`; `shared` are the settings that values imply in every experiment of the paper."""
    implied = [shared or {}, table.get("more", {})]
    levels = {level: _level(table, table[level], implied) for level in LEVELS if level in table}
    work = place / "scenarios" / table["scenario"] if "scenario" in table else str(table["calculation"])
    return Experiment(name, table["title"], table["figure"], work, levels, table.get("note", ""))


def _level(table: dict[str, Any], level: dict[str, Any], implied: list[Implied]) -> Level:
    axes = level.get("axes", table.get("axes", {}))
    listed = level.get("points", table.get("points", [{}]))
    always = {**table.get("set", {}), **level.get("set", {})}
    keys = table.get("keys", {})
    points = [_point(at, keys, implied, always) for given in listed for at in _combinations(given, axes)]
    return Level(points, seeds_of(level["seeds"]), level["seconds"])


def _combinations(given: dict[str, Value], axes: dict[str, list[Value]]) -> Iterator[dict[str, Value]]:
    for values in itertools.product(*axes.values()):
        yield {**given, **dict(zip(axes, values, strict=True))}


def _point(at: dict[str, Value], keys: dict[str, str], implied: list[Implied], always: Settings) -> Point:
    """Settings of a point: common ones, its own, and ones implied by its values, the experiment's own last."""
    settings = dict(always)
    for name, value in at.items():
        if name in keys:
            settings[keys[name]] = value
        for more in implied:
            settings |= more.get(name, {}).get(str(value), {})
    return Point(at, settings)


def _claim(table: dict[str, Any]) -> Claim:
    given = dict(table)
    tests = [RustTest(**test) for test in given.pop("tests", [])]
    curve = [tuple(float(number) for number in row) for row in given.pop("curve", [])]
    blank = {"measure": "", "parameters": {}, "accept": {}, "why": "", "impossible": "", "figure": "", "deviation": ""}
    return Claim(**{**blank, **given}, tests=tests, curve=curve)
