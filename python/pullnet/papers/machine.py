"""Tools shared by experiments on this machine: testbeds that are there for a while, rounds, links."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pullnet import _core
from pullnet.errors import InputError
from pullnet.papers.model import folder
from pullnet.results.result import Result
from pullnet.runs.scenario import compiled
from pullnet.testbed import Bed, down, kernel, read, up
from pullnet.testbed.play import Manner, play

HEADERS = 78
"""Bytes of a frame beside NDP's payload."""
_LOCK = Path(tempfile.gettempdir()) / "pullnet-measure.lock"
_BURST = Manner(preference="fifo")

Settings = dict[str, object]


@dataclass(frozen=True)
class Link:
    """A rate, and the frames on it."""

    rate_bps: float
    payload: int
    """Bytes of a full packet's payload."""

    @property
    def settings(self) -> Settings:
        """Settings of a scenario with such links."""
        return {"topology.link.rate": f"{self.rate_bps / 1e9:g} Gbps", "transport.mtu": f"{self.payload} B"}

    @property
    def packet_us(self) -> float:
        """Time of a full frame on the line."""
        return (self.payload + HEADERS) * 8e6 / self.rate_bps

    def line_us(self, size: int) -> float:
        """Time on the line of all frames that carry `size` bytes."""
        return (size + -(-size // self.payload) * HEADERS) * 8e6 / self.rate_bps


LINKS = {"1 Gb/s, 1500 B": Link(1e9, 1436), "5 Gb/s, 9000 B": Link(5e9, 8936)}


@cache
def missing() -> str:
    """Why nothing can be measured here; empty if it can."""
    try:
        kernel.require()
        probe = f"pn-probe-{os.getpid()}"
        kernel.add(probe)
        kernel.delete(probe)
    except InputError as error:
        return str(error)
    return ""


def scenario_file(name: str) -> Path:
    """Return one of the testbeds of the paper's folder."""
    return folder() / "ndp-linux" / "testbeds" / f"{name}.toml"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold the lock that admits one measurement at a time, over all processes."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def testbed(name: str, settings: Settings) -> Iterator[Bed]:
    """Give a testbed whose switches spin; afterwards it is gone."""
    plan = read(scenario_file(name), f"measure-{name}", set=_texts(settings), spin=True)
    bed = up(plan)
    try:
        yield bed
    finally:
        down(None, plan.name)


def _texts(settings: Settings) -> list[str]:
    return [f"{path}={value}" for path, value in settings.items()]


def compiled_at(name: str, settings: Settings, seed: int) -> _core.Scenario:
    """Compile one of the testbeds' scenarios."""
    return compiled(scenario_file(name), set=settings, seed=seed)


def rounds(bed: Bed, name: str, settings: Settings, seed: int, count: int) -> list[Result]:
    """Play a scenario so many times after once that does not count: then memory is where it is needed."""
    scenario = compiled_at(name, settings, seed)
    return play(bed, scenario, rounds=count + 1, manner=_BURST)[1:]


def percentile(values: list[float], percent: float) -> float:
    """Percentile, by nearest rank."""
    return float(np.percentile(np.asarray(values), percent, method="inverted_cdf"))
