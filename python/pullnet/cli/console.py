"""Writing for people: as wide as it has to be, so that nothing is cut."""

from typing import Any

from rich.console import Console
from rich.table import Table

_UNBOUNDED = 100_000
"""Wider than any line. Unit: characters."""


class Output(Console):
    """A console that cuts nothing: a table is as wide as it needs, and sentences are broken on terminals only.

    A terminal that is narrower than a table breaks its lines; what reads from a pipe gets each row whole.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal:
            self.width = _UNBOUNDED

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `rich` does, tables in their natural width."""
        tables = [each for each in objects if isinstance(each, Table)]
        before = self.width
        unbounded = self.options.update(width=_UNBOUNDED, max_width=_UNBOUNDED)
        self.width = max([before, *(self.measure(each, options=unbounded).maximum for each in tables)])
        try:
            super().print(*objects, **options)
        finally:
            self.width = before
