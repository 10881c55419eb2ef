"""Two runs packet by packet: where they part is found, and explained by what each side knew."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import pullnet
from pullnet.errors import InputError
from pullnet.results.diff import Difference, difference, refuse_different
from pullnet.results.result import Result

ROOT = Path(__file__).parents[2]
PAIR = ROOT / "scenarios/testbed/back-to-back.toml"

PULLED, SYN = 8, 1
SENDER, RECEIVER = 1, 0


@pytest.fixture(scope="module")
def summary() -> str:
    return pullnet.run(PAIR).summary_json


Row = tuple[int, float, str, str, str, int, int, int]
"""Host, microseconds, direction, fate, kind, flags, number, extra."""


def result(summary: str, rows: list[Row]) -> Result:
    names = ["host", "at_us", "direction", "fate", "kind", "flags", "number", "extra"]
    columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    columns["at_ps"] = [round(float(at) * 1e6) for at in columns.pop("at_us")]
    columns["flow"] = [0] * len(rows)
    return Result(summary, "", {"packets": pa.table(columns)})


def compared(summary: str, first: list[Row], second: list[Row]) -> Difference:
    return difference(result(summary, first), result(summary, second))


PUSHED: list[Row] = [
    (SENDER, 1.0, "sent", "whole", "data", SYN, 0, 0),
    (SENDER, 2.0, "sent", "whole", "data", SYN, 1, 0),
]


def test_a_run_is_the_same_as_itself() -> None:
    once = pullnet.run(PAIR, set={"probes.packets": True})
    again = pullnet.run(PAIR, set={"probes.packets": True})
    found = difference(once, again)
    assert (found.partings, found.same) == ([], found.sequences)
    assert found.alike == once.packets.height > 1000


def test_times_alone_are_no_difference(summary: str) -> None:
    later: list[Row] = [(host, at + 7.5, *rest) for host, at, *rest in PUSHED]  # type: ignore[misc]
    assert compared(summary, PUSHED, later).partings == []


def test_a_packet_that_a_switch_trimmed_in_one_run_only_is_named(summary: str) -> None:
    first: list[Row] = [*PUSHED, (RECEIVER, 9.0, "received", "trimmed", "data", SYN, 1, 0)]
    second: list[Row] = [*PUSHED, (RECEIVER, 9.5, "received", "whole", "data", SYN, 1, 0)]
    root = compared(summary, first, second).partings[0]
    assert (root.host, root.direction, root.position) == (RECEIVER, "received", 0)
    assert "another fate" in root.why


def test_what_a_sender_did_is_explained_by_what_it_had_heard(summary: str) -> None:
    heard: Row = (SENDER, 11.0, "received", "whole", "nack", 0, 1, 0)
    pull: Row = (SENDER, 12.0, "received", "whole", "pull", 0, 1, 0)
    again: Row = (SENDER, 12.0, "sent", "whole", "data", PULLED, 1, 0)
    new: Row = (SENDER, 12.0, "sent", "whole", "data", PULLED, 2, 0)
    found = compared(summary, [*PUSHED, heard, pull, again], [*PUSHED, pull, new, (SENDER, 13.0, *heard[2:])])
    sent = next(parting for parting in found.partings if parting.direction == "sent")
    assert (sent.position, sent.first and sent.first.text, sent.second and sent.second.text) == (2, "data 1", "data 2")
    # The received packets are the root cause: they came first.
    assert found.partings[0].direction == "received"
    assert found.partings[0].why.startswith("both got the two packets, in another order")


def test_only_one_run_knew(summary: str) -> None:
    ack: Row = (SENDER, 11.0, "received", "whole", "ack", 4, 0, 1)
    new: Row = (SENDER, 11.0, "sent", "whole", "data", PULLED, 2, 0)
    other: Row = (SENDER, 10.9, "sent", "whole", "probe", 0, 1, 0)
    found = compared(summary, [*PUSHED, ack, new], [*PUSHED, other, ack])
    assert found.partings[0].why == "only the first run had received ack 0 with pull 1"
    assert found.before[0][-2:] == ["11.000 us received ack 0 with pull 1", "11.000 us sent data 2"]


def test_a_timer_is_named(summary: str) -> None:
    again: Row = (SENDER, 1002.0, "sent", "whole", "data", SYN, 0, 0)
    found = compared(summary, [*PUSHED, again], PUSHED)
    assert (found.partings[0].second, found.partings[0].position) == (None, 2)
    assert found.partings[0].why.endswith("data 0 was sent because a timer ran out")


def test_a_flow_that_begins_otherwise_is_not_blamed_on_a_timer(summary: str) -> None:
    data: Row = (SENDER, 10.0, "sent", "whole", "data", SYN, 0, 0)
    syn: Row = (SENDER, 10.0, "sent", "whole", "syn", 0, 0, 0)
    found = compared(summary, [data], [syn])
    assert found.partings[0].why.startswith("neither had received anything of this flow: the runs begin it otherwise")


def test_runs_of_other_scenarios_are_refused() -> None:
    one, other = (pullnet.run(PAIR, set={"traffic.0.size": size}) for size in ("1 MB", "2 MB"))
    with pytest.raises(InputError, match="have other flows"):
        refuse_different(one, other)


def test_the_command_shows_the_first_difference(tmp_path: Path) -> None:
    star = ROOT / "scenarios/testbed/star.toml"
    for seed in (1, 2):
        pullnet.run(star, seed=seed, set={"probes.packets": True}, out=tmp_path / str(seed))
    program = [sys.executable, "-m", "pullnet", "diff", str(tmp_path / "1")]
    shown = subprocess.run([*program, str(tmp_path / "2")], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "first difference: host" in shown.stdout
    assert "why: " in shown.stdout
    same = subprocess.run([*program, str(tmp_path / "1"), "--json"], capture_output=True, text=True, check=False)
    assert json.loads(same.stdout)["partings"] == []
