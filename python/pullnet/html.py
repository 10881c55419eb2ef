"""HTML for notebooks: tables, and which view shows an object."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

_VIEWS: dict[str, Callable[[Any], str]] = {}


def show_by(package: str, view: Callable[[Any], str]) -> None:
    """Have `view` make the HTML of all objects of `Shown` classes in `package` and below it."""
    _VIEWS[package] = view


class Shown:
    """An object that notebooks show as HTML, by the view of the package of its class.

    The class need not know its view: views stand above the classes that they show.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        package = type(self).__module__
        while package not in _VIEWS:
            package = package.rpartition(".")[0]
        return _VIEWS[package](self)


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first cell of a row is its heading. All texts are escaped."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
