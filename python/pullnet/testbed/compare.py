"""One scenario in both worlds: the simulator, and this machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pullnet import _core
from pullnet.results.diff import Difference, difference
from pullnet.results.result import Result
from pullnet.results.summary import Summary
from pullnet.runs.runner import Interruption, execute
from pullnet.testbed.bed import Bed
from pullnet.testbed.play import Manner, play

_STALL_AFTER_PS = 10**10
PROBES = {"probes.packets": "true"}
"""Settings that a comparison needs beside the scenario's own."""


@dataclass(frozen=True)
class Row:
    """A quantity in both worlds."""

    name: str
    unit: str
    simulator: float | None
    linux: float | None

    @property
    def ratio(self) -> float | None:
        """Linux over the simulator."""
        return self.linux / self.simulator if self.simulator and self.linux is not None else None


@dataclass(frozen=True)
class Comparison:
    """Results of a scenario in both worlds."""

    simulator: Result
    linux: Result
    packets: Difference

    @property
    def rows(self) -> list[Row]:
        """Completion times and what happened to packets."""
        one, other = (list(_quantities(result.summary)) for result in (self.simulator, self.linux))
        return [Row(name, unit, value, there) for (name, unit, value), (_, _, there) in zip(one, other, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = {row.name: {"simulator": row.simulator, "linux": row.linux, "ratio": row.ratio} for row in self.rows}
        return {"quantities": rows, "packets": self.packets.as_dict()}


def compare(bed: Bed, scenario: _core.Scenario, manner: Manner) -> Comparison:
    """Run a scenario in the simulator and play it on the testbed of its network."""
    interruption = Interruption()
    simulator = execute(
        scenario, threads=1, out=None, force=False, stall_after_ps=_STALL_AFTER_PS, interruption=interruption
    )
    if interruption.asked:
        raise KeyboardInterrupt
    linux = play(bed, scenario, manner=manner)[0]
    return Comparison(simulator, linux, difference(simulator, linux))


def _quantities(summary: Summary) -> Iterator[tuple[str, str, float | None]]:
    times, packets = summary.fct_us, summary.packets
    yield "flows completed", "", summary.flows.completed
    yield "completion time, median", "us", times.p50
    yield "completion time, 90th percentile", "us", times.p90
    yield "completion time, last", "us", times.max
    yield "data packets sent", "", packets.data_sent
    yield "sent again", "", packets.retransmitted
    yield "trimmed", "", packets.trimmed
    yield "returned", "", packets.returned
    yield "dropped", "", packets.dropped
    yield "timeouts", "", summary.timeouts
