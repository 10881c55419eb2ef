"""Progress over many runs: a bar on a terminal, a line now and then in a log, nothing if `quiet`."""

import math
import sys
import time
from datetime import timedelta
from types import FrameType, TracebackType
from typing import Self

from pullnet.runs.progress import LINE_EVERY_S
from pullnet.runs.runner import Interruption


class Tally:
    """Counts runs and tells when the rest will be done.

    `work`: what the runs that are left cost together, in the unit of `step`; by default one for each run.
    """

    def __init__(self, name: str, total: int, done: int, *, work: float | None = None, quiet: bool = False) -> None:
        self.name, self.total, self.done, self.failed = name, total, done, 0
        self._work, self._worked = total - done if work is None else work, 0.0
        self._last = self._stage = ""
        self.before = done
        self._began = time.monotonic()
        self._every = math.inf if quiet else LINE_EVERY_S
        self._next = self._began + self._every
        self._bar = _Bar(self) if not quiet and sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def step(self, last: str = "", *, work: float = 1.0, failed: bool = False) -> None:
        """Count a run that cost `work`; `last` says which it was."""
        self._worked += work
        self._last = f": {last}" if last else ""
        self.done += 1
        self.failed += failed
        self.tick()

    def enter(self, stage: str) -> None:
        """Tell what is done now that all runs are there."""
        self._stage = stage
        self.tick()

    def tick(self) -> None:
        """Tell if it is time to."""
        if self._bar:
            self._bar.update()
        elif time.monotonic() >= self._next:
            self._next += self._every
            self.say(f"{self.name}: {self.text}")

    @property
    def text(self) -> str:
        """How far it is: "37 of 100 runs, 1 failed, ETA 0:02:10", or what follows the runs."""
        if self._stage:
            return self._stage
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total} runs{failed}{self._remaining}{self._last}"

    @property
    def _remaining(self) -> str:
        if not self._worked or self.done >= self.total:
            return ""
        left = max(0.0, self._work - self._worked)
        left_s = (time.monotonic() - self._began) / self._worked * left
        return f", ETA {timedelta(seconds=round(left_s))}"

    def say(self, line: str) -> None:
        """Write a line at once."""
        if self._bar:
            self._bar.say(line)
        elif self._every < math.inf:
            print(line, file=sys.stderr, flush=True)


class _Bar:
    """A bar of `rich`, which only terminals need."""

    def __init__(self, tally: Tally) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._tally = tally
        columns = (TextColumn(tally.name, markup=False), BarColumn(), TextColumn("{task.fields[text]}", markup=False))
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=tally.total, completed=tally.done, text=tally.text)
        self.start, self.stop = self._bar.start, self._bar.stop

    def update(self) -> None:
        """Show the latest."""
        self._bar.update(self._task, completed=self._tally.done, text=self._tally.text)

    def say(self, line: str) -> None:
        """Write a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


class Asking(Interruption):
    """Ctrl-C once: begin nothing new, and keep what has been begun. Twice: leave at once."""

    def __init__(self, tally: Tally, what_then: str) -> None:
        super().__init__()
        self._tally, self._what_then = tally, what_then

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """Remember the first time; the second time, stop at once."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._tally.say(self._what_then)
