"""Arguments of the public functions: a value of another type is refused by name, before it fails deep inside."""

import os
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal, ParamSpec, TypeVar

from pullnet.errors import InputError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def typed(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let `function` refuse arguments of other types than it declares, as an `InputError`.

    The items of lists, tuples, sets and dicts are looked at, too; an iterator is not, since that would consume it.
    """
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    kinds: dict[str, Any] = {}

    @wraps(function)
    def call(*positional: Parameters.args, **named: Parameters.kwargs) -> Returned:
        if not kinds:
            kinds.update(declared(function))
        for name, value in (*zip(names, positional, strict=False), *named.items()):
            refuse_other_types(function.__name__, name, value, kinds.get(name, Any))
        return function(*positional, **named)

    return call


def declared(function: Callable[..., object]) -> dict[str, Any]:
    """Return the type of each parameter that `function` declares."""
    annotations = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    return {name: _evaluated(kind, function) for name, kind in annotations.items()} or {"": Any}


def _evaluated(kind: Any, function: Callable[..., object]) -> Any:
    """Evaluate an annotation that is text because its names are imported for type checkers only."""
    if not isinstance(kind, str):
        return _plain(kind)
    known = {"os": os, "Path": Path, "Iterable": Iterable, "Mapping": Mapping, "Callable": Callable}
    return eval(kind, known | function.__globals__)


class Array:
    """Stands for what NumPy makes an array of: its own type for that is a union of a dozen protocols."""


def _plain(kind: Any) -> Any:
    parts = typing.get_args(kind) if _union(kind) else ()
    if not any(getattr(part, "__module__", "").startswith("numpy") for part in parts):
        return kind
    own = [part for part in parts if getattr(part, "__module__", "").startswith("pullnet")]
    return typing.Union[*own, Array]


def refuse_other_types(function: str, name: str, value: object, kind: Any) -> None:
    """Raise `InputError` unless `value`, or each item in it, is of the declared type `kind`."""
    place, wrong = _misfit(name, value, kind)
    if place:
        raise InputError(
            f"{function}: {place}={_shown(wrong)} is of the wrong type; give {_words(_part(place, name, kind))}"
        )


def _misfit(place: str, value: object, kind: Any) -> tuple[str, object]:
    """Return the place of the first part of `value` that does not fit, and that part; ("", None) if all fits."""
    if _union(kind):
        found = [_misfit(place, value, each) for each in typing.get_args(kind)]
        if any(not where for where, _ in found):
            return "", None
        inside = [(where, part) for where, part in found if where != place]
        return inside[0] if inside else (place, value)
    if not _fits(value, kind):
        return place, value
    items: Iterable[tuple[object, object, Any]] = ()
    arguments = typing.get_args(kind)
    if isinstance(value, Mapping) and arguments:
        items = [(key, key, arguments[0]) for key in value]
    elif isinstance(value, list | set | frozenset) or (isinstance(value, tuple) and _origin(kind) is not tuple):
        items = [(number, item, arguments[0]) for number, item in enumerate(value) if arguments]
    for number, item, of in items:
        where, part = _misfit(f"{place}[{number!r}]", item, of)
        if where:
            return where, part
    return "", None


def _union(kind: Any) -> bool:
    return _origin(kind) in (types.UnionType, typing.Union)


def _origin(kind: Any) -> Any:
    return typing.get_origin(kind)


def _fits(value: object, kind: Any) -> bool:
    if kind is Any or isinstance(kind, TypeVar):
        return True
    if kind is None or kind is type(None):
        return value is None
    origin = _origin(kind) or kind
    if origin is Literal:
        return value in typing.get_args(kind)
    if origin in _NUMBERS:
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    if origin in (os.PathLike, Path):
        return isinstance(value, str | os.PathLike)
    if origin is type:
        return isinstance(value, type) and issubclass(value, typing.get_args(kind)[0])
    if _protocol(origin):
        return all(hasattr(type(value), name) for name in _members(origin))
    if origin is Array:
        return _many(value, (float,)) or hasattr(value, "__array__")
    if origin in _MANY:
        return _many(value, typing.get_args(kind))
    try:
        return isinstance(value, origin)
    except TypeError:  # a protocol that can only be checked before the program runs
        return True


def _many(value: object, of: tuple[Any, ...]) -> bool:
    """Whether `value` has items; text has only items of text. An array of NumPy is a sequence, too."""
    if isinstance(value, str | bytes):
        return not of or _fits_any(value, of[0])
    return hasattr(value, "__iter__") or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))


_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}
"""Also numbers of NumPy; a `bool` is none."""


def _fits_any(value: object, kind: Any) -> bool:
    return any(_fits(value, each) for each in (typing.get_args(kind) if _union(kind) else (kind,)))


def _protocol(kind: Any) -> bool:
    return getattr(kind, "_is_protocol", False) and kind.__module__.startswith("pullnet")


def _members(protocol: Any) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_")]


def _part(place: str, name: str, kind: Any) -> Any:
    """Return the type of the items if `place` is one of those."""
    if place == name:
        return kind
    kinds = typing.get_args(kind) if _union(kind) else (kind,)
    inner = [typing.get_args(each)[0] for each in kinds if typing.get_args(each) and _origin(each) is not os.PathLike]
    return inner[0] if inner else kind


_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
    bytes: ("bytes", "bytes"),
    bool: ("True or False", "True or False"),
    os.PathLike: ("a path", "paths"),
    Path: ("a path", "paths"),
    None: ("None", "None"),
    type(None): ("None", "None"),
    abc.Callable: ("a function", "functions"),
    Array: ("an array or a list of numbers", "arrays"),
}
"""One and several of a type."""
_MANY = (abc.Iterable, abc.Sequence, list, tuple, set)


def _words(kind: Any, *, several: bool = False) -> str:
    """Return a type in words, for instance "a list of texts or None"."""
    if _union(kind):
        words = list(dict.fromkeys(_words(each, several=several) for each in typing.get_args(kind)))
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    origin, arguments = _origin(kind) or kind, typing.get_args(kind)
    if origin is Literal:
        return " or ".join(repr(each) for each in arguments)
    if origin in _MANY:
        return f"a list of {_words(arguments[0], several=True)}" if arguments else "a list"
    if origin is abc.Mapping:
        return f"a dict of {_words(arguments[0], several=True)}"
    if origin in _WORDS:
        return _WORDS[origin][several]
    if _protocol(origin):
        return f"an object with `{'`, `'.join(_members(origin))}`"
    name = (arguments[0] if origin is type else origin).__name__
    what = f"class of {name}" if origin is type else name
    return what if several else f"{'an' if what[0] in 'AEIOU' else 'a'} {what}"


def _shown(value: object) -> str:
    """Return a short value as Python writes it, else its type."""
    if value is None or isinstance(value, str | bytes | int | float | list | tuple | dict | set):
        short = Repr()
        short.maxstring = short.maxother = 60
        return short.repr(value)
    if isinstance(value, type):
        return f"class {value.__name__}"
    return f"<{type(value).__name__}>"
