"""Progress of a run as lines for a log. `pullnet.cli.terminal` shows it in a terminal."""

import sys
import time
from datetime import timedelta
from types import TracebackType
from typing import Self

from pullnet._core import Progress, Simulation
from pullnet.runs.cost import rss_bytes

LINE_EVERY_S = 10.0
"""How often a line goes to a log that is no terminal. Unit: seconds."""


class Speed:
    """Packet-hops per second of wall time, smoothed over about a second."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._hops = 0
        self.value = 0.0

    def update(self, hops: int) -> float:
        """Take in that `hops` have been made so far."""
        now = time.monotonic()
        elapsed = now - self._at
        if elapsed > 0:
            latest = (hops - self._hops) / elapsed
            weight = min(1.0, elapsed) if self.value else 1.0
            self.value += weight * (latest - self.value)
            self._at, self._hops = now, hops
        return self.value


class LineProgress:
    """A line on standard error now and then, for logs; none if `every_s` is infinite."""

    def __init__(self, name: str, every_s: float = LINE_EVERY_S) -> None:
        self._name = name
        self._every = every_s
        self._speed = Speed()
        self._began = time.monotonic()
        self._next = self._began + every_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def update(self, _simulation: Simulation, progress: Progress) -> None:
        """Write a line if it is time for one."""
        speed = self._speed.update(progress.packet_hops)
        if time.monotonic() >= self._next:
            self._next += self._every
            left = remaining(progress, time.monotonic() - self._began)
            self.say([f"{self._name}: {simulated(progress)}{left}, {facts(progress, speed)}"])

    def say(self, lines: list[str]) -> None:
        """Write lines at once."""
        print(*lines, sep="\n", file=sys.stderr, flush=True)


def simulated(progress: Progress) -> str:
    """Return "3.20 of 20 ms"."""
    now = f"{progress.now_ps / 1e9:.2f}"
    return f"{now} ms" if progress.end_ps is None else f"{now} of {progress.end_ps / 1e9:g} ms"


def remaining(progress: Progress, elapsed_s: float) -> str:
    """Return ", ETA 0:01:20" if the rest goes on as `elapsed_s` went; nothing where no end is stated."""
    if progress.end_ps is None or progress.now_ps == 0:
        return ""
    left_s = elapsed_s * (progress.end_ps - progress.now_ps) / progress.now_ps
    return f", ETA {timedelta(seconds=round(left_s))}"


def facts(progress: Progress, speed: float) -> str:
    """Return "5.2 M packet-hops/s, 212 MB, 431 flows open"."""
    open_flows = progress.started - progress.done - progress.failed
    parts = [f"{speed / 1e6:.1f} M packet-hops/s", f"{rss_bytes() / 1e6:.0f} MB", f"{open_flows} flows open"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    return ", ".join(parts)
