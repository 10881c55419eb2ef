"""Scenario files: reading, checking, what there is to choose from."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pullnet import _core, inputs
from pullnet.errors import InputError

ScenarioSource = str | os.PathLike[str]
"""A path, or the text of a scenario itself (a string with a line break)."""

Overrides = Mapping[str, object] | Iterable[str]
"""Settings that replace those of the file: `{"transport.mtu": "1500 B"}` or `["transport.mtu=1500 B"]`."""

CATALOGUES = ("protocols", "switches", "topologies", "traffic", "distributions")


@dataclass(frozen=True)
class Checked:
    """A scenario without errors."""

    name: str
    seed: int
    hosts: int
    resolved: str
    """TOML text with every value and where it comes from."""


def check(scenario: ScenarioSource, *, set: Overrides = (), seed: int | None = None) -> Checked:
    """Check a scenario without running it. Raises `InputError` with every error at once."""
    core = compiled(scenario, set=set, seed=seed)
    return Checked(core.name, core.seed, core.hosts, core.resolved)


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a scenario file."""
    document: dict[str, Any] = json.loads(_core.schema())
    return document


def catalogue(what: str) -> dict[str, str]:
    """Names and one line each, of `protocols`, `switches`, `topologies`, `traffic` or `distributions`."""
    if what not in CATALOGUES:
        raise InputError(f"there is no list of `{what}`; use one of {', '.join(CATALOGUES)}")
    return dict(_core.catalogue(what))


def template(name: str) -> str:
    """Return a scenario to start from, with a comment on every line."""
    return _core.template(name)


def compiled(scenario: ScenarioSource, *, set: Overrides = (), seed: int | None = None) -> _core.Scenario:
    """Compile a scenario."""
    path, text = _read(scenario)
    inputs.verify(Path(path).parent)
    replaced = override_pairs(set)
    if seed is not None:
        replaced.append(("seed", toml_value(seed)))
    return _core.Scenario.compile(path, text, replaced)


def _read(scenario: ScenarioSource) -> tuple[str, str]:
    """Name and text of a scenario; files that it names lie beside the name."""
    if isinstance(scenario, str) and "\n" in scenario:
        return "scenario", scenario
    path = os.fspath(scenario)
    try:
        return path, Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; `pullnet new NAME` writes one to start from") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; name a scenario file in it") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def override_pairs(settings: Overrides) -> list[tuple[str, str]]:
    """Overrides as (path, TOML value)."""
    if isinstance(settings, str):
        settings = [settings]
    if isinstance(settings, Mapping):
        return [(path, toml_value(value)) for path, value in settings.items()]
    pairs = [(text, *text.partition("=")) for text in settings]
    wrong = [text for text, path, equals, _ in pairs if not path.strip() or not equals]
    if wrong:
        example = "write path=value, for instance --set topology.k=8"
        raise InputError([f"--set {text}: is not a setting and a value; {example}" for text in wrong])
    return [(path.strip(), value.strip()) for _, path, _, value in pairs]


def toml_value(value: object) -> str:
    """Write a Python value as a scenario file does. A text stays bare, so that "8" may mean the number."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return repr(value)
        case Mapping():
            return "{ " + ", ".join(f"{_quoted(key)} = {_inner(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_inner(item) for item in value) + "]"
        case _:
            raise InputError(f"{value!r} cannot stand in a scenario; use text, numbers, booleans, lists or dicts")


def picoseconds(option: str, text: str) -> int:
    """Read the time that an option states."""
    try:
        return _core.picoseconds(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _inner(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else toml_value(value)


def _quoted(text: str) -> str:
    """Quote as JSON does, which is TOML but for the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
