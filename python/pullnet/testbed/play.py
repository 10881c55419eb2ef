"""A scenario's flows on a testbed, carried by the simulator's own endpoints."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pullnet import _core, scheduling
from pullnet.results.directory import refuse_existing, staged
from pullnet.results.result import Result
from pullnet.runs.cost import Meter
from pullnet.runs.runner import Interruption, interruptible, result_of
from pullnet.scheduling import Preference, Schedule
from pullnet.testbed.bed import HOST_CORE, Bed

_SLICE_S = 1.0
"""How long hosts play before Python looks after signals: longer than most rounds, which are not to be disturbed."""


@dataclass(frozen=True)
class Manner:
    """How hosts are scheduled: on which core, and how they and the switches are preferred while a round is played."""

    core: int = HOST_CORE
    preference: Preference = "group"


def play(
    bed: Bed,
    scenario: _core.Scenario,
    *,
    rounds: int = 1,
    out: Path | None = None,
    force: bool = False,
    manner: Manner | None = None,
    stall_after_ps: int = 10**10,
) -> list[Result]:
    """Play a scenario on a testbed with its network, so many times, and return the results.

    With `out` they are also written: to that directory, or with several rounds to `round-1` and so on in it. After
    Ctrl-C the last result says in its summary that it was interrupted.
    """
    places = [None if out is None else out if rounds == 1 else out / f"round-{number + 1}" for number in range(rounds)]
    for target in filter(None, places):
        refuse_existing(target, force=force)
    manner = manner or Manner()
    hosts = _core.Play(scenario, [bed.plan.namespace(host.name) for host in bed.plan.hosts])
    results: list[Result] = []
    with interruptible() as interruption, _on_core(manner):
        for place in places:
            with contextlib.ExitStack() as stack:
                staging = None if place is None else stack.enter_context(staged(place, force=force))
                text = scenario.resolved if staging is None else staging.carry(scenario, copy=True)
                record = _round(bed, hosts, manner, interruption, stall_after_ps)
                result = result_of(record, text)
                results.append(result if staging is None else staging.place(result))
            if interruption.asked:
                break
    return results


@contextlib.contextmanager
def _on_core(manner: Manner) -> Iterator[None]:
    # A machine with one core has no other one to give to the hosts.
    core = manner.core if manner.core in os.sched_getaffinity(0) else None
    preference: Preference = "normal" if manner.preference == "fifo" else manner.preference
    with scheduling.for_a_while(Schedule(core, preference)):
        yield


def _round(
    bed: Bed, hosts: _core.Play, manner: Manner, interruption: Interruption, stall_after_ps: int
) -> _core.Record:
    before, meter = json.dumps(bed.status()), Meter()
    threads = [0, *bed.switch_threads()] if manner.preference == "fifo" else []
    with scheduling.burst(threads):
        hosts.begin()
        while not hosts.advance(_SLICE_S) and not interruption.asked:
            pass
    cost = (meter.wall_s, meter.cpu_s, meter.peak_rss_bytes)
    return hosts.finish(before, json.dumps(bed.status()), interruption.asked, stall_after_ps, cost)
