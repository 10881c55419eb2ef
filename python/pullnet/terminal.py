"""Showing on a terminal how a run gets on."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pullnet import _core
from pullnet.progress import Speed, facts, simulated


class TerminalProgress:
    """A bar with simulated time, ETA, speed, memory and open flows."""

    def __init__(self, name: str) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[simulated]}"),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
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
