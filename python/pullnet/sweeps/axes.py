"""Axes of a sweep: paths of settings, and the values of each."""

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pullnet.errors import InputError
from pullnet.runs.scenario import toml_value

Value = bool | int | float | str

Over = Mapping[str, object] | Iterable[str]
"""`{"topology.k": [4, 8]}`, or as the command takes it, `["topology.k=4,8"]`."""

EXAMPLE = "write path=values, for instance --over topology.k=4,8,12 or --over traffic.0.degree=10..100..10"

MOST_VALUES = 100_000
"""Values of one setting."""

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Axis:
    """A setting and its values, as a scenario writes them and as they stand in a table."""

    path: str
    texts: tuple[str, ...]
    values: tuple[Value, ...]


def parse(over: Over) -> list[Axis]:
    """Read axes. Raises `InputError` with everything that is wrong."""
    axes: list[Axis] = []
    errors: list[str] = []
    for path, given in _pairs(over, errors):
        try:
            axes.append(_axis(path, given))
        except InputError as error:
            errors += error.errors
    paths = [axis.path for axis in axes]
    errors += [f"--over {path}: is given twice; list all its values once" for path in _repeated(paths)]
    if errors:
        raise InputError(errors)
    return axes


def _pairs(over: Over, errors: list[str]) -> Iterator[tuple[str, object]]:
    if isinstance(over, Mapping):
        yield from over.items()
        return
    for text in [over] if isinstance(over, str) else over:
        path, equals, values = text.partition("=")
        if path.strip() and equals:
            yield path.strip(), values
        else:
            errors.append(f"--over {text}: names no values; {EXAMPLE}")


def _axis(path: str, given: object) -> Axis:
    if path == "seed":
        raise InputError("--over seed: seeds are no setting to sweep over; use --seeds, for instance --seeds 1..50")
    if path == "warnings":
        raise InputError("--over warnings: no result depends on warnings; use --silence NAME to leave one out")
    texts = _texts(path, given)
    if not texts or "" in texts:
        raise InputError(f"--over {path}: a value is empty; {EXAMPLE}")
    twice = _repeated(texts)
    if twice:
        raise InputError(f"--over {path}: {', '.join(twice)} stands there twice; list each value once")
    return Axis(path, tuple(texts), tuple(_alike([_typed(text) for text in texts], texts)))


def _texts(path: str, given: object) -> list[str]:
    if isinstance(given, str):
        return [text for part in _split(given) for text in _spread(path, part.strip())]
    if isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        return [toml_value(value) for value in itertools.islice(given, MOST_VALUES + 1)]
    return [toml_value(given)]


def _split(text: str) -> Iterator[str]:
    """Split at commas that stand in no quotes and no brackets."""
    start, quote, open_brackets = 0, "", ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and (quote == "'" or text[at - 1] != "\\") else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _CLOSING:
            open_brackets += _CLOSING[letter]
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets = open_brackets[:-1]
        elif letter == "," and not open_brackets:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _spread(path: str, text: str) -> list[str]:
    """Return the numbers of a range, or the text itself."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return [text]
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if step == 0:
        raise InputError(f"--over {path}: {text} has a step of 0; use 1 or more")
    count = (last - first) // step + 1
    if count < 1:
        raise InputError(f"--over {path}: {text} is an empty range; write first..last or first..last..step")
    if count > MOST_VALUES:
        raise InputError(f"--over {path}: {text} has {count} values; use at most {MOST_VALUES}, or a larger step")
    return [str(number) for number in range(first, last + 1, step)]


def _typed(text: str) -> Value:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _alike(values: list[Value], texts: list[str]) -> list[Value]:
    """Give all values of a column one type."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1:
        return values
    if kinds == {int, float}:
        return [float(value) for value in values]
    return [value if isinstance(value, str) else text for value, text in zip(values, texts, strict=True)]


def _repeated(texts: list[str]) -> list[str]:
    return sorted({text for text in texts if texts.count(text) > 1}) if len(set(texts)) < len(texts) else []
