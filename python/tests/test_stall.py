"""When a run counts as stalled, and what is said of it."""

from dataclasses import dataclass, replace
from typing import Any

from pullnet.runs.stall import StallDetector

MS = 10**9


@dataclass(frozen=True)
class Step:
    now_ps: int
    packet_hops: int
    started: int = 3
    done: int = 1
    failed: int = 0


@dataclass(frozen=True)
class Flow:
    flow: int = 7
    src: int = 1
    dst: int = 2
    bytes: int = 9000
    size: int | None = 90_000
    last_progress_ps: int = 5 * MS
    waiting_for: str = "a pull"


class Simulation:
    """Lists stuck flows, and notes the start time of each query."""

    def __init__(self) -> None:
        self.asked_since: list[int] = []

    def stuck(self, since_ps: int, limit: int) -> list[Flow]:
        self.asked_since.append(since_ps)
        return [Flow(), replace(Flow(), flow=8, size=None)][:limit]


def said(steps: list[Step]) -> tuple[list[list[str]], list[int]]:
    heard: list[list[str]] = []
    simulation: Any = Simulation()
    detector = StallDetector(20 * MS, heard.append)
    for step in steps:
        whatever: Any = step
        detector.update(simulation, whatever)
    return heard, simulation.asked_since


def test_a_stall_is_said_once_and_names_flows_and_what_they_wait_for() -> None:
    heard, since = said([Step(5 * MS, 10), Step(15 * MS, 10), Step(25 * MS, 10), Step(45 * MS, 10)])
    assert since == [5 * MS]
    assert heard == [
        [
            "stalled: no data packet has arrived for 20 ms of simulated time while 2 flows are open",
            "  flow 7, host 1 to host 2: 9000 B of 90000 B, last moved at 5000 us, waits for a pull",
            "  flow 8, host 1 to host 2: 9000 B of endless, last moved at 5000 us, waits for a pull",
        ]
    ]


def test_a_second_stall_is_said_again() -> None:
    heard, _ = said([Step(5 * MS, 10), Step(30 * MS, 10), Step(31 * MS, 11), Step(60 * MS, 11)])
    assert len(heard) == 2


def test_a_network_that_moves_or_has_no_open_flow_is_not_stalled() -> None:
    moving = [Step(at * 30 * MS, at) for at in range(1, 5)]
    idle = [Step(at * 30 * MS, 9, done=3) for at in range(1, 5)]
    assert said(moving)[0] == said(idle)[0] == []
