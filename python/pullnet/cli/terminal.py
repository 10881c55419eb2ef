"""Showing on a terminal how a run gets on."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from pullnet import _core
from pullnet.runs.progress import Speed, facts, simulated

_ROOM = 130
"""Width that a bar with all its texts takes, for a name of some thirty characters. Unit: characters."""


def _columns(width: int) -> list[ProgressColumn]:
    if width >= _ROOM:
        before = [_text("{task.description}"), BarColumn(bar_width=24), _text("{task.fields[simulated]}")]
        return [*before, _text("ETA"), TimeRemainingColumn(), _text("{task.fields[facts]}")]
    lines = "{task.description}\n{task.fields[simulated]}\n{task.fields[facts]}\nETA"
    return [_text(lines), TimeRemainingColumn(table_column=Column(vertical="bottom"))]


def _text(text: str) -> TextColumn:
    """Return a column whose text is broken rather than cut."""
    return TextColumn(text, table_column=Column(no_wrap=False, overflow="fold"), markup=False)


class TerminalProgress:
    """A bar with simulated time, ETA, speed, memory and open flows; on a narrow terminal the same in lines."""

    def __init__(self, name: str, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._bar = Progress(*_columns(console.width), console=console, transient=True)
        self._task: TaskID = self._bar.add_task(name, total=None, simulated="", facts="setting up")
        self._speed = Speed()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def update(self, _simulation: _core.Simulation, progress: _core.Progress) -> None:
        """Show the latest."""
        self._bar.update(
            self._task,
            total=progress.end_ps,
            completed=progress.now_ps,
            simulated=simulated(progress),
            facts=facts(progress, self._speed.update(progress.packet_hops)),
        )

    def say(self, lines: list[str]) -> None:
        """Write lines above the bar."""
        for line in lines:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
