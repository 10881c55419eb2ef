"""Points and runs of a sweep, each with a name made from everything that its result depends on."""

import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pullnet import inputs
from pullnet._core import Scenario, __version__
from pullnet.errors import InputError
from pullnet.results.result import ALWAYS, PROBES
from pullnet.runs.identity import core_identity
from pullnet.runs.runner import MAX_THREADS
from pullnet.runs.scenario import Overrides, ScenarioSource, override_pairs, read, silenced
from pullnet.sweeps.axes import Axis, Over, Value, parse

MOST_RUNS = 100_000
"""Runs of one sweep."""

GroupNames = dict[str, set[str]]
"""Names that group results in a summary, by the path of the group: those of tags are at `by_tag`."""

_LETTERS = 32
"""Letters of a hash that name something: 128 bits."""

_MOST_ERRORS = 20
"""Distinct errors after which no more points are looked at."""


@dataclass(frozen=True)
class Point:
    """A scenario with its settings replaced, whole: it gives the same run in any place."""

    at: dict[str, Value]
    """The parameters that vary, each with its value here."""
    digest: str
    """Hash of the scenario without its seed, of its files and of the build."""
    text: str = field(repr=False)
    files: dict[str, bytes] = field(repr=False)

    @property
    def words(self) -> str:
        """The point in words."""
        return ", ".join(f"{path}={value}" for path, value in self.at.items())


@dataclass(frozen=True)
class Run:
    """A point with a seed."""

    point: Point
    seed: int
    key: str
    """Name of its record."""

    @property
    def words(self) -> str:
        """The run in words."""
        return ", ".join(filter(None, [self.point.words, f"seed {self.seed}"]))


@dataclass(frozen=True)
class Plan:
    """All points and seeds of a sweep."""

    name: str
    """Name of the scenario."""
    axes: list[Axis]
    settings: list[tuple[str, str]]
    seeds: list[int]
    points: list[Point]
    keep: tuple[str, ...]
    threads: int
    silenced: list[tuple[str, str]] = field(default_factory=list)
    group_names: GroupNames = field(default_factory=dict)
    """Names of all points."""

    @property
    def runs(self) -> list[Run]:
        """All runs: every point with the first seed, then with the next, so that half a sweep says something."""
        return [Run(point, seed, _key(point, seed)) for seed in self.seeds for point in self.points]


def make(
    scenario: ScenarioSource,
    over: Over,
    seeds: list[int] | None,
    *,
    set: Overrides = (),
    silence: Iterable[str] = (),
    keep: Iterable[str] = (),
    threads: int = 1,
) -> Plan:
    """Check everything before anything runs. Raises `InputError` with every error at once."""
    if not 1 <= threads <= MAX_THREADS:
        raise InputError(f"{threads} is out of range; use 1 to {MAX_THREADS}", keyword="threads")
    axes, settings = parse(over), override_pairs(set)
    varied = {axis.path for axis in axes}
    both = [f"--over {path}: is also given by --set; use one of them" for path, _ in settings if path in varied]
    if both:
        raise InputError(both)
    count = math.prod(len(axis.texts) for axis in axes)
    if count > MOST_RUNS:
        raise InputError(f"--over: the values combine to {count} points; use at most {MOST_RUNS}")
    quiet = silenced(silence)
    name, points, seed, names = _points(read(scenario), axes, settings + quiet, seeds)
    _refuse_equal(axes, points)
    listed = [seed] if seeds is None else seeds
    if len(points) * len(listed) > MOST_RUNS:
        product = f"{len(points)} points and {len(listed)} seeds are {len(points) * len(listed)} runs"
        raise InputError(f"--seeds: {product}; use at most {MOST_RUNS}")
    return Plan(name, axes, settings, listed, points, _kept(keep, points[0]), threads, quiet, names)


def _points(
    source: tuple[str, str], axes: list[Axis], settings: list[tuple[str, str]], seeds: list[int] | None
) -> tuple[str, list[Point], int, GroupNames]:
    """Compile every combination. Returns the scenario's name, the points, the seed of the file, and names of groups."""
    path, text = source
    inputs.verify(Path(path).parent)
    seeded = [("seed", str(seeds[0]))] if seeds else []
    points: list[Point] = []
    errors: dict[str, list[str]] = {}
    name, seed = "", 0
    names: GroupNames = {}
    for choice in itertools.product(*(range(len(axis.texts)) for axis in axes)):
        if len(errors) >= _MOST_ERRORS:
            break
        here = [(axis.path, axis.texts[at]) for axis, at in zip(axes, choice, strict=True)]
        try:
            core = Scenario.compile(path, text, settings + here + seeded)
        except InputError as error:
            for line in error.errors:
                errors.setdefault(_told(line, here), []).append(", ".join(f"{key}={value}" for key, value in here))
            continue
        name, seed = core.name, core.seed
        for group, found in core.group_names().items():
            names.setdefault(group, set()).update(found)
        at_here = {axis.path: axis.values[at] for axis, at in zip(axes, choice, strict=True)}
        points.append(_point(at_here, *inputs.packed(core)))
    if errors:
        count = math.prod(len(axis.texts) for axis in axes)
        raise InputError([_placed(line, where, count) for line, where in errors.items()])
    return name, points, seed, names


def _refuse_equal(axes: list[Axis], points: list[Point]) -> None:
    """Refuse values of a setting that come to the same scenarios, as `10 us` and `10us`: each run would count twice."""
    errors = []
    inner = len(points)
    for axis in axes:
        inner //= len(axis.texts)  # points in a row that have the same value, since the last setting varies fastest
        scenarios: list[list[str]] = [[] for _ in axis.texts]
        for number, point in enumerate(points):
            scenarios[number // inner % len(axis.texts)].append(point.digest)
        alike: dict[tuple[str, ...], list[str]] = {}
        for text, digests in zip(axis.texts, scenarios, strict=True):
            alike.setdefault(tuple(digests), []).append(text)
        errors += [
            f"--over {axis.path}: {' and '.join(texts)} come to the same scenario and would count twice; list one "
            "of them"
            for texts in alike.values()
            if len(texts) > 1
        ]
    if errors:
        raise InputError(errors)


def _told(line: str, here: list[tuple[str, str]]) -> str:
    """Name the option that the value came from."""
    for path, value in here:
        rest = line.removeprefix(f"--set {path}")
        if rest != line and rest[:1] in (":", "."):
            return f"--over {path}={value}{rest}"
    return line


def _placed(line: str, where: list[str], points: int) -> str:
    """Say at which points an error is, where it is not at all of them and does not say so itself."""
    if len(where) == points or line.startswith("--over "):
        return line
    others = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return f"{line} (at {where[0]}{others})"


def _point(at: dict[str, Value], text: str, files: dict[str, bytes]) -> Point:
    return Point(at, digest_of(text, files), text, files)


def digest_of(text: str, files: dict[str, bytes]) -> str:
    """Return the name of a point whose scenario is `text`. Raises `ValueError` if that is no TOML."""
    document = tomllib.loads(text)
    document.pop("seed", None)
    contents = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    whole = [document, contents, __version__, core_identity()]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()[:_LETTERS]


def _key(point: Point, seed: int) -> str:
    return hashlib.sha256(f"{point.digest} {seed}".encode()).hexdigest()[:_LETTERS]


def _kept(keep: Iterable[str], point: Point) -> tuple[str, ...]:
    """Check which tables are to be kept."""
    listed = [keep] if isinstance(keep, str) else list(dict.fromkeys(keep))
    probes = tomllib.loads(point.text).get("probes", {})
    errors = []
    for name in listed:
        ask = PROBES.get(name, "")
        if name not in (*ALWAYS, *PROBES):
            errors.append(f"--keep {name}: there is no such table; there are {', '.join((*ALWAYS, *PROBES))}")
        elif ask and not probes.get(ask.split()[0]):
            errors.append(f"--keep {name}: the scenario does not record it; ask for it under [probes] with {ask}")
    if errors:
        raise InputError(errors)
    return tuple(sorted(listed))
