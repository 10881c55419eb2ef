"""Noticing that nothing moves although flows are open."""

from collections.abc import Callable

from pullnet._core import Progress, Simulation, Stuck
from pullnet.results.stuck import LISTED, stuck_flow

DEFAULT_AFTER = "20 ms"
"""Simulated time without a delivered data packet; well above the longest retransmission timeout of the defaults."""


class StallDetector:
    """Says once per stall which flows are stuck and what their senders wait for."""

    def __init__(self, after_ps: int, say: Callable[[list[str]], None]) -> None:
        self._after_ps = after_ps
        self._say = say
        self._moved = (0, 0)
        self._said = False

    def update(self, simulation: Simulation, progress: Progress) -> None:
        """Compare with the last time that a packet arrived."""
        hops, since = self._moved
        open_flows = progress.started - progress.done - progress.failed
        if progress.packet_hops != hops or open_flows <= 0:
            self._moved = (progress.packet_hops, progress.now_ps)
            self._said = False
        elif progress.now_ps - since >= self._after_ps and not self._said:
            self._said = True
            self._say(describe(simulation.stuck(since, LISTED), progress, since, open_flows))


def describe(stuck: list[Stuck], progress: Progress, since_ps: int, open_flows: int) -> list[str]:
    """Say what stands still, the longest wait first."""
    quiet = f"{(progress.now_ps - since_ps) / 1e9:g} ms"
    head = f"stalled: no data packet has arrived for {quiet} of simulated time while {open_flows} flows are open"
    return [head, *(f"  {stuck_flow(flow)}" for flow in stuck)]
