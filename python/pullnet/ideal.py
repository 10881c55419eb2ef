"""The ideal schedule: a fabric as one big switch that always serves the flow with the least left.

Whenever a flow arrives or ends, flows are taken in order of what they have left, and each one whose source and
destination are both free has the whole link until the next such moment (shortest remaining processing time, greedy
maximal matching). No transport knows as much; comparisons show it beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import merge


@dataclass(frozen=True, slots=True)
class IdealFlow:
    """A flow as the ideal schedule sees it. Times are whole picoseconds, so that sums are exact."""

    src: int
    dst: int
    start: int
    """When it arrives. Picoseconds."""
    work: int
    """How long it takes on the link of its source when it is alone, headers included. Picoseconds."""

    def __post_init__(self) -> None:
        if self.start < 0 or self.work <= 0:
            raise ValueError(f"a flow starts at 0 or later and has work: start {self.start} ps, work {self.work} ps")


def ideal_ends(flows: Sequence[IdealFlow]) -> list[int]:
    """When each flow has left its source under the ideal schedule, in picoseconds, in the order of `flows`.

    The time of the path is not part of it: add what the network adds to every flow, such as propagation.
    All hosts have links of one rate, and a host sends and receives at the same time.
    """
    arrivals = sorted(range(len(flows)), key=lambda number: (flows[number].start, number))
    ends = [0] * len(flows)
    left = [flow.work for flow in flows]
    waiting: list[tuple[int, int]] = []
    now, arrived = 0, 0
    while waiting or arrived < len(arrivals):
        if not waiting:
            now = max(now, flows[arrivals[arrived]].start)
        first_new = arrived
        while arrived < len(arrivals) and flows[arrivals[arrived]].start <= now:
            arrived += 1
        new = sorted((left[number], number) for number in arrivals[first_new:arrived])
        waiting = list(merge(waiting, new))
        served = _matching(waiting, flows)
        span = left[served[0]]
        if arrived < len(arrivals):
            span = min(span, flows[arrivals[arrived]].start - now)
        now += span
        for number in served:
            left[number] -= span
            if left[number] == 0:
                ends[number] = now
        waiting = sorted((left[number], number) for _, number in waiting if left[number] > 0)
    return ends


def _matching(waiting: Sequence[tuple[int, int]], flows: Sequence[IdealFlow]) -> list[int]:
    """The flows that are served: in order of what they have left, each one whose hosts are both free."""
    sources: set[int] = set()
    destinations: set[int] = set()
    served = []
    for _, number in waiting:
        flow = flows[number]
        if flow.src not in sources and flow.dst not in destinations:
            sources.add(flow.src)
            destinations.add(flow.dst)
            served.append(number)
    return served
