"""The ideal schedule against cases that are known and against a simulator that goes slot by slot."""

import random

import pytest

from pullnet.ideal import IdealFlow, ideal_ends


def test_a_flow_alone_takes_its_own_time() -> None:
    assert ideal_ends([IdealFlow(0, 1, 5, 7)]) == [12]
    assert ideal_ends([]) == []


def test_the_shorter_flow_goes_first_and_interrupts() -> None:
    # The second flow arrives when the first has eight left, and needs three.
    assert ideal_ends([IdealFlow(0, 2, 0, 10), IdealFlow(1, 2, 2, 3)]) == [13, 5]
    # It would need nine: it waits.
    assert ideal_ends([IdealFlow(0, 2, 0, 10), IdealFlow(1, 2, 2, 9)]) == [10, 19]


def test_flows_between_different_hosts_do_not_meet() -> None:
    assert ideal_ends([IdealFlow(0, 1, 0, 4), IdealFlow(1, 0, 0, 6), IdealFlow(2, 3, 1, 5)]) == [4, 6, 6]


def test_a_flow_whose_source_is_taken_leaves_its_destination_to_others() -> None:
    # The second flow waits for its source; the third has two left by then, and keeps the destination.
    flows = [IdealFlow(0, 1, 0, 2), IdealFlow(0, 2, 0, 3), IdealFlow(3, 2, 0, 4)]
    assert ideal_ends(flows) == [2, 7, 4]


def by_slots(flows: list[IdealFlow]) -> list[int]:
    """The same, one unit of time after the other."""
    left = [flow.work for flow in flows]
    ends = [0] * len(flows)
    now = 0
    while any(left):
        order = sorted((left[n], n) for n, flow in enumerate(flows) if left[n] > 0 and flow.start <= now)
        sources: set[int] = set()
        destinations: set[int] = set()
        for _, number in order:
            flow = flows[number]
            if flow.src in sources or flow.dst in destinations:
                continue
            sources.add(flow.src)
            destinations.add(flow.dst)
            left[number] -= 1
            if left[number] == 0:
                ends[number] = now + 1
        now += 1
    return ends


@pytest.mark.parametrize("seed", range(30))
def test_no_flow_ends_before_the_slots_allow(seed: int) -> None:
    chance = random.Random(seed)
    pairs = [chance.sample(range(5), 2) for _ in range(25)]
    flows = [IdealFlow(src, dst, chance.randrange(40), chance.randint(1, 12)) for src, dst in pairs]
    ends, slots = ideal_ends(flows), by_slots(flows)
    assert all(end >= flow.start + flow.work for end, flow in zip(ends, flows, strict=True))
    # Between arrivals and ends a served flow stays ahead of the flows behind it: slots change nothing.
    assert ends == slots


def test_flows_without_work_are_refused() -> None:
    with pytest.raises(ValueError, match="work 0 ps"):
        IdealFlow(0, 1, 0, 0)
