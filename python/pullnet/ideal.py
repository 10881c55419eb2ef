"""Ideal schedules: a fabric as one big switch, whose only limits are the links of the hosts.

Three schedules that know every flow at once, as references for transports that do not:

- `ideal_ends`: the flow with the least left first (shortest remaining processing time, greedy maximal matching);
- `earliest_deadline`: the flow with the earliest deadline first, and flows that can no longer be in time given up;
- `fair_share`: every flow at its max-min fair rate (`fair_rates`), whatever its size and deadline.

The first two serve a flow at the whole link rate or not at all. All of them reschedule whenever a flow arrives or ends.
All hosts have links of one rate, and a host sends and receives at the same time. Ends are in picoseconds, in the order
of the flows. They do not include the path: add what the network adds to every flow, such as propagation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from pullnet.arguments import typed
from pullnet.errors import InputError


@dataclass(frozen=True, slots=True)
class IdealFlow:
    """A flow as an ideal schedule sees it. Times are whole picoseconds."""

    src: int
    dst: int
    start: int
    """When it arrives. Picoseconds."""
    work: int
    """How long it takes on the link of its source when it is alone, headers included. Picoseconds."""
    deadline: int | None = None
    """When it should have left its source, on the clock of `start`. Picoseconds. None: no deadline.
    Only `earliest_deadline` reads it."""

    def __post_init__(self) -> None:
        for name, unit in (("src", ""), ("dst", ""), ("start", " of picoseconds"), ("work", " of picoseconds")):
            _refuse_fractions(name, getattr(self, name), unit)
        if self.deadline is not None:
            _refuse_fractions("deadline", self.deadline, " of picoseconds")
        if self.src < 0 or self.dst < 0:
            raise InputError(f"hosts are numbered from 0: src {self.src}, dst {self.dst}")
        if self.start < 0 or self.work <= 0:
            raise InputError(f"a flow starts at 0 or later and has work: start {self.start} ps, work {self.work} ps")
        if self.deadline is not None and self.deadline < self.start:
            raise InputError(f"a flow starts before its deadline: start {self.start} ps, deadline {self.deadline} ps")


def _refuse_fractions(name: str, value: object, unit: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"IdealFlow: {name}={value!r} is no whole number{unit}; give one")


@typed
def ideal_ends(flows: Sequence[IdealFlow]) -> list[int]:
    """When each flow has left its source if the flow with the least left goes first."""
    ends = _matched_ends(flows, lambda number, left: (left, number), give_up=False)
    return [end for end in ends if end is not None]


@typed
def earliest_deadline(flows: Sequence[IdealFlow], *, give_up: bool = True) -> list[int | None]:
    """When each flow has left its source if the flow with the earliest deadline goes first.

    Equal deadlines are served in order of what is left. Flows without a deadline come after all others, likewise.
    With `give_up`, a flow that could not be in time even at the whole link rate is dropped and has None as its end.
    Without it, the flow ends late.

    On one link this meets all deadlines if any schedule does. If not all can be met, another choice of flows may meet
    more: the count of deadlines met is a strong reference, but no upper bound.
    """

    def urgency(number: int, left: int) -> tuple[int, ...]:
        deadline = flows[number].deadline
        return (deadline is None, deadline or 0, left, number)

    return _matched_ends(flows, urgency, give_up)


@typed
def fair_share(flows: Sequence[IdealFlow]) -> list[int]:
    """When each flow has left its source if all flows have max-min fair rates.

    Every end of a flow is rounded up to a whole picosecond, during which its share stays unused.
    """
    arrivals = _Arrivals(flows)
    ends = [0] * len(flows)
    hosts = np.unique([(flow.src, flow.dst) for flow in flows], return_inverse=True)[1].reshape(-1, 2)
    left = np.array([flow.work for flow in flows], dtype=float)
    active = np.array([], dtype=np.int64)
    while active.size or arrivals.remain:
        active = np.append(active, np.array(arrivals.come(idle=not active.size), dtype=np.int64))
        rates = _fair_rates(hosts[active])
        span = arrivals.advance(max(1, ceil((left[active] / rates).min() - _NOTHING)))
        left[active] -= span * rates
        for number in active[left[active] <= _NOTHING]:
            ends[number] = arrivals.now
        active = active[left[active] > _NOTHING]
    return ends


@typed
def fair_rates(pairs: Sequence[tuple[int, int]]) -> list[float]:
    """Max-min fair shares of the link rate for flows between these pairs of source and destination."""
    if len(pairs) == 0:
        return []
    if wrong := next((pair for pair in pairs if len(pair) != 2), None):
        raise InputError(f"fair_rates: pairs: {wrong!r} is no pair; give (source, destination)")
    hosts = np.unique(pairs, return_inverse=True)[1].reshape(-1, 2)
    return [float(rate) for rate in _fair_rates(hosts)]


_NOTHING = 0.001
"""Picoseconds of work that `fair_share` does not tell from none, because its rates are rounded."""


class _Arrivals:
    """The time of a schedule, and the flows that have not arrived by then."""

    def __init__(self, flows: Sequence[IdealFlow]) -> None:
        self.now = 0
        self._next_first = sorted(range(len(flows)), key=lambda number: (flows[number].start, number), reverse=True)
        self._flows = flows

    @property
    def remain(self) -> bool:
        """Whether any flow has not arrived yet."""
        return bool(self._next_first)

    def come(self, *, idle: bool) -> list[int]:
        """The flows that have arrived since the last call. An idle schedule moves on to the next arrival first."""
        if idle:
            self.now = max(self.now, self._flows[self._next_first[-1]].start)
        come = []
        while self._next_first and self._flows[self._next_first[-1]].start <= self.now:
            come.append(self._next_first.pop())
        return come

    def advance(self, span: int) -> int:
        """Moves on by `span` picoseconds, but not beyond the next arrival. Returns by how much."""
        if self._next_first:
            span = min(span, self._flows[self._next_first[-1]].start - self.now)
        self.now += span
        return span


def _matched_ends(
    flows: Sequence[IdealFlow], urgency: Callable[[int, int], tuple[int, ...]], give_up: bool
) -> list[int | None]:
    """When each flow ends if a greedy matching serves flows in ascending order of `urgency(number, left)`."""
    arrivals = _Arrivals(flows)
    ends: list[int | None] = [None] * len(flows)
    left = [flow.work for flow in flows]
    waiting: list[int] = []

    def in_time(number: int) -> bool:
        deadline = flows[number].deadline
        return deadline is None or arrivals.now + left[number] <= deadline

    while waiting or arrivals.remain:
        waiting += arrivals.come(idle=not waiting)
        if give_up:
            # A flow that is served stays in time, so nothing is missed by looking only when a flow arrives or ends.
            waiting = [number for number in waiting if in_time(number)]
            if not waiting:
                continue
        waiting.sort(key=lambda number: urgency(number, left[number]))
        served = _matching(waiting, flows)
        span = arrivals.advance(min(left[number] for number in served))
        for number in served:
            left[number] -= span
            if left[number] == 0:
                ends[number] = arrivals.now
        waiting = [number for number in waiting if left[number] > 0]
    return ends


def _matching(waiting: Iterable[int], flows: Sequence[IdealFlow]) -> list[int]:
    """The flows that are served: in the order of `waiting`, each one whose hosts are both free."""
    sources: set[int] = set()
    destinations: set[int] = set()
    served = []
    for number in waiting:
        flow = flows[number]
        if flow.src not in sources and flow.dst not in destinations:
            sources.add(flow.src)
            destinations.add(flow.dst)
            served.append(number)
    return served


def _fair_rates(hosts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Max-min fair rates of flows, from a row with source and destination for each. Hosts are numbered from 0."""
    # A link is a host and a direction: even away from the host, odd towards it.
    links = 2 * hosts + np.array([0, 1])
    number = int(links.max()) + 1
    room = np.ones(number)
    rates = np.zeros(len(hosts))
    open_flows = np.arange(len(hosts))
    while open_flows.size:
        ends = links[open_flows]
        count = np.bincount(ends.ravel(), minlength=number)
        share = room / np.maximum(count, 1)
        rate = share[ends].min(axis=1)
        # A link is a bottleneck if no flow on it has less elsewhere. That fixes the rates of all its flows.
        least = np.full(number, np.inf)
        np.minimum.at(least, ends.ravel(), rate.repeat(2))
        fixed = (least >= share)[ends].any(axis=1)
        rates[open_flows[fixed]] = rate[fixed]
        room -= np.bincount(ends[fixed].ravel(), weights=rate[fixed].repeat(2), minlength=number)
        open_flows = open_flows[~fixed]
    return rates
