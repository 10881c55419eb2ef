"""The ideal schedules against known cases, a simulator that goes slot by slot, and what defines each of them."""

import random
from collections import defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from pullnet.errors import InputError
from pullnet.ideal import IdealFlow, earliest_deadline, fair_rates, fair_share, ideal_ends


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


def test_the_earliest_deadline_goes_first_and_interrupts() -> None:
    # The second flow is longer, but its deadline is earlier; the third one has none and waits for both.
    flows = [IdealFlow(0, 3, 0, 10, 50), IdealFlow(1, 3, 2, 20, 30), IdealFlow(2, 3, 0, 1)]
    assert earliest_deadline(flows) == [30, 22, 31]
    # Among equal deadlines the one with less left goes first.
    assert earliest_deadline([IdealFlow(0, 3, 0, 10, 50), IdealFlow(1, 3, 0, 9, 50)]) == [19, 9]


def test_a_flow_that_cannot_be_in_time_leaves_its_links_to_others() -> None:
    flows = [IdealFlow(0, 2, 0, 10, 9), IdealFlow(1, 2, 0, 10, 15)]
    assert earliest_deadline(flows) == [None, 10]
    assert earliest_deadline(flows, give_up=False) == [10, 20]
    # The second flow waits until it is too late for it, and the first one is not delayed by that.
    assert earliest_deadline([IdealFlow(0, 2, 0, 10, 10), IdealFlow(1, 2, 0, 10, 19)]) == [10, None]


def deadlines_met(flows: list[IdealFlow], order: tuple[int, ...]) -> bool:
    """Whether one link that serves whole flows in this order meets all deadlines. All flows start at 0."""
    now = 0
    for number in order:
        now += flows[number].work
        deadline = flows[number].deadline
        if deadline is not None and now > deadline:
            return False
    return True


@pytest.mark.parametrize("seed", range(30))
def test_one_link_meets_all_deadlines_if_any_order_does(seed: int) -> None:
    chance = random.Random(seed)
    works = [chance.randint(1, 10) for _ in range(5)]
    flows = [IdealFlow(src, 9, 0, work, chance.randint(work, 40)) for src, work in enumerate(works)]
    possible = any(deadlines_met(flows, order) for order in permutations(range(5)))
    assert (None not in earliest_deadline(flows)) == possible


def test_flows_share_a_link_equally() -> None:
    assert fair_share([]) == []
    assert fair_share([IdealFlow(0, 1, 5, 7)]) == [12]
    assert fair_share([IdealFlow(src, 3, 0, 10) for src in range(3)]) == [30, 30, 30]
    # Half of the link each until the first one ends at 4; the other one has 6 of 8 left then.
    assert fair_share([IdealFlow(0, 3, 0, 2), IdealFlow(1, 3, 0, 8)]) == [4, 10]
    # Eight alone, two of ten left: half of the link until both end.
    assert fair_share([IdealFlow(0, 3, 0, 10), IdealFlow(1, 3, 8, 2)]) == [12, 12]


def test_rates_are_max_min_fair_over_several_links() -> None:
    # Three flows to host 9 have a third each, so the other flow of source 0 has two thirds.
    flows = [IdealFlow(0, 9, 0, 100), IdealFlow(1, 9, 0, 100), IdealFlow(2, 9, 0, 100), IdealFlow(0, 8, 0, 100)]
    assert fair_share(flows) == [300, 300, 300, 150]


def test_ends_are_rounded_up_to_picoseconds() -> None:
    # Thirds of a link: 3 x 7 until the first ends, then halves.
    assert fair_share([IdealFlow(src, 3, 0, work) for src, work in enumerate([7, 8, 9])]) == [21, 23, 24]
    # The last flow comes when the others have a seventh left each, which takes them 8/7 at an eighth of the link.
    # They end at 8 instead of 7.14, when it has a quarter of its own.
    flows = [IdealFlow(src, 9, 0, 1) for src in range(7)] + [IdealFlow(7, 9, 6, 1)]
    assert fair_share(flows) == [8] * 7 + [9]


@pytest.mark.parametrize("seed", range(30))
def test_every_flow_is_among_the_fastest_of_a_full_link(seed: int) -> None:
    # This is what max-min fairness means: no rate can grow without taking from one that is not larger.
    chance = random.Random(seed)
    hosts = [chance.sample(range(6), 2) for _ in range(20)]
    pairs = [(src, dst) for src, dst in hosts]
    rates = fair_rates(pairs)
    users: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (src, dst), rate in zip(pairs, rates, strict=True):
        users["from", src].append(rate)
        users["to", dst].append(rate)
    assert all(sum(on_link) <= 1 + 1e-9 for on_link in users.values())
    for (src, dst), rate in zip(pairs, rates, strict=True):
        both = (users["from", src], users["to", dst])
        assert any(sum(on_link) >= 1 - 1e-9 and rate >= max(on_link) - 1e-9 for on_link in both)


@pytest.mark.parametrize("seed", range(30))
def test_shares_and_deadlines_leave_no_link_idle(seed: int) -> None:
    chance = random.Random(seed)
    flows = [IdealFlow(src, 9, chance.randrange(60), chance.randint(1, 12)) for src in range(9)]
    last = 0
    for flow in sorted(flows, key=lambda flow: flow.start):
        last = max(last, flow.start) + flow.work
    assert last <= max(fair_share(flows)) <= last + len(flows)
    late = [end for end in earliest_deadline(flows, give_up=False) if end is not None]
    assert max(late) == max(ideal_ends(flows)) == last
    # No schedule of one link has a smaller sum of completion times than the flow with the least left first.
    assert sum(fair_share(flows)) >= sum(ideal_ends(flows))
    assert sum(late) >= sum(ideal_ends(flows))


def test_flows_without_work_are_refused() -> None:
    with pytest.raises(ValueError, match="work 0 ps"):
        IdealFlow(0, 1, 0, 0)


def test_a_deadline_before_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="deadline 4 ps"):
        IdealFlow(0, 1, 5, 1, 4)


@pytest.mark.parametrize(
    ("flow", "error"),
    [
        ({"work": float("nan")}, "IdealFlow: work=nan is no whole number of picoseconds"),
        ({"work": 10.5}, "IdealFlow: work=10.5 is no whole number of picoseconds"),
        ({"start": "0"}, "IdealFlow: start='0' is no whole number of picoseconds"),
        ({"deadline": 20.5}, "IdealFlow: deadline=20.5 is no whole number of picoseconds"),
        ({"src": "a"}, "IdealFlow: src='a' is no whole number; give one"),
        ({"dst": -1}, "hosts are numbered from 0: src 0, dst -1"),
    ],
)
def test_values_that_no_schedule_can_count_are_refused(flow: dict[str, Any], error: str) -> None:
    # A flow whose work was NaN was left out of the ends without a word.
    with pytest.raises(InputError, match=error):
        IdealFlow(**{"src": 0, "dst": 1, "start": 0, "work": 10, **flow})


def test_pairs_of_numpy_are_taken_and_triples_refused() -> None:
    assert fair_rates(np.array([[0, 1], [0, 2]])) == [0.5, 0.5]  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"pairs: \(0, 1, 2\) is no pair"):
        fair_rates([(0, 1, 2)])  # type: ignore[list-item]
