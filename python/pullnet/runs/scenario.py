"""Scenario files: reading, checking, what there is to choose from."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet import inputs
from pullnet._core import Scenario
from pullnet._core import catalogue as core_catalogue
from pullnet._core import picoseconds as core_picoseconds
from pullnet._core import schema as core_schema
from pullnet._core import template as core_template
from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.files import text_of
from pullnet.results.summary import Notice
from pullnet.runs.cost import available_bytes

if TYPE_CHECKING:
    import polars as pl

ScenarioSource = str | os.PathLike[str]
"""A path, `-` for standard input, or the text of a scenario itself (a string with a line break)."""

Overrides = Mapping[str, object] | Iterable[str]
"""Settings that replace those of the file: `{"transport.mtu": "1500 B"}` or `["transport.mtu=1500 B"]`."""

STANDARD_INPUT = "-"

CATALOGUES = ("protocols", "switches", "topologies", "traffic", "distributions", "probes", "warnings")


@dataclass(frozen=True)
class Checked:
    """A scenario without errors."""

    name: str
    seed: int
    hosts: int
    resolved: str
    """TOML text with every value and where it comes from."""
    warnings: list[Notice]
    """Warnings for the author; the scenario can be run regardless."""


@typed
def check(
    scenario: ScenarioSource, *, set: Overrides = (), seed: int | None = None, silence: Iterable[str] = ()
) -> Checked:
    """Check a scenario without running it. Raises `InputError` with every error at once.

    `silence` names warnings that are left out; `catalogue("warnings")` has all of them.
    """
    core = compiled(scenario, set=set, seed=seed, silence=silence)
    warnings = [Notice(*warning) for warning in core.warnings(available_bytes())]
    return Checked(core.name, core.seed, core.hosts, core.resolved, warnings)


@typed
def paths(
    scenario: ScenarioSource, src: int, dst: int, *, set: Overrides = (), seed: int | None = None
) -> "pl.DataFrame":
    """Return every path from host `src` to host `dst`, a row for each link on it.

    `row` is that of the link in the tables `ports`, `occupancy` and `port_series`; `path` is the number that the table
    `packets` has for what was sent.
    """
    import polars as pl

    core = compiled(scenario, set=set, seed=seed)
    beyond = next((host for host in (src, dst) if not 0 <= host < core.hosts), None)
    if beyond is not None:
        raise InputError(f"there is no host {beyond}; use 0 to {core.hosts - 1}")
    found = core.paths(src, dst)
    rows = [(path, hop, *link) for path, links in enumerate(found) for hop, link in enumerate(links)]
    columns = ["path", "hop", "row", "name", "rate_bps", "delay_ps"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a scenario file."""
    document: dict[str, Any] = json.loads(core_schema())
    return document


def choices(path: str) -> list[str]:
    """Return the words that the setting at `path` can be, such as `transport.kind`; none if it is no choice of words.

    A setting that several kinds of its table have, such as `transport.paths`, can be any word of these.
    """
    nodes = [schema()]
    for part in path.split("."):
        alternatives = _alternatives(nodes)
        inner = [node.get("items") if part.isdigit() else node.get("properties", {}).get(part) for node in alternatives]
        nodes = [node for node in inner if node]
    found = [word for node in _alternatives(nodes) for word in _words(node)]
    return list(dict.fromkeys(found))


def _alternatives(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    inner = [alternative for node in nodes for key in ("oneOf", "anyOf") for alternative in node.get(key, [])]
    return nodes + (_alternatives(inner) if inner else [])


def _words(node: dict[str, Any]) -> list[str]:
    if node.get("type") == "boolean":
        return ["true", "false"]
    return node.get("enum") or ([node["const"]] if "const" in node else [])


@typed
def catalogue(what: str) -> dict[str, str]:
    """Names and one line each, of one of `CATALOGUES`: `protocols`, `switches`, `probes` and others."""
    if what not in CATALOGUES:
        raise InputError(f"there is no list of `{what}`; use one of {', '.join(CATALOGUES)}")
    return dict(core_catalogue(what))


def template(name: str) -> str:
    """Return a scenario to start from, with a comment on every line."""
    return core_template(name)


def compiled(
    scenario: ScenarioSource, *, set: Overrides = (), seed: int | None = None, silence: Iterable[str] = ()
) -> Scenario:
    """Compile a scenario."""
    path, text = read(scenario)
    inputs.verify(Path(path).parent)
    replaced = override_pairs(set) + silenced(silence)
    if seed is not None:
        replaced.append(("seed", toml_value(seed)))
    return Scenario.compile(path, text, replaced)


def read(scenario: ScenarioSource) -> tuple[str, str]:
    """Name and text of a scenario; files that it names lie beside the name."""
    if isinstance(scenario, str) and "\n" in scenario:
        return "scenario", scenario
    path = os.fspath(scenario)
    if path == STANDARD_INPUT:
        return "standard input", text_of("standard input", sys.stdin.buffer)
    if not path:
        raise InputError("is empty; give a path, or a text with line breaks", keyword="scenario")
    try:
        return path, text_of(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; `pullnet new NAME` writes one to start from") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; name a scenario file in it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name a file that can be") from None


def silenced(names: Iterable[str]) -> list[tuple[str, str]]:
    """Overrides that silence warnings."""
    listed = [names] if isinstance(names, str) else list(names)
    known = catalogue("warnings")
    wrong = [name for name in listed if name not in known]
    if wrong:
        raise InputError(
            [f"there is no warning `{name}`; use one of {', '.join(known)}" for name in wrong], keyword="silence"
        )
    return [(f"warnings.{name}", "false") for name in listed]


def override_pairs(settings: Overrides) -> list[tuple[str, str]]:
    """Overrides as (path, TOML value)."""
    if isinstance(settings, str):
        settings = [settings]
    if isinstance(settings, Mapping):
        return [(path, _value_of(path, value)) for path, value in settings.items()]
    pairs = [(text, *text.partition("=")) for text in settings]
    wrong = [text for text, path, equals, _ in pairs if not path.strip() or not equals]
    if wrong:
        example = "write path=value, for instance --set topology.k=8"
        raise InputError([f"--set {text}: is not a setting and a value; {example}" for text in wrong])
    return [(path.strip(), value.strip()) for _, path, _, value in pairs]


def _value_of(path: str, value: object) -> str:
    try:
        return toml_value(value)
    except InputError as error:
        raise InputError([f"{path}: {line}" for line in error.errors]) from None


def toml_value(value: object) -> str:
    """Write a Python value as a scenario file does. A text stays bare, so that "8" may mean the number."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case Integral():
            return repr(int(value))
        case Real():
            return repr(float(value))
        case Mapping():
            return "{ " + ", ".join(f"{_quoted(key)} = {_inner(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_inner(item) for item in value) + "]"
        case _:
            raise InputError(f"{value!r} cannot stand in a scenario; use text, numbers, booleans, lists or dicts")


def picoseconds(option: str, text: str) -> int:
    """Read the time that an option states."""
    try:
        return core_picoseconds(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _inner(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else toml_value(value)


def _quoted(text: str) -> str:
    """Quote as JSON does, which is TOML but for the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
