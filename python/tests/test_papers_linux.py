"""The paper that is measured on this machine: what is skipped says why, and what is measured is judged."""

import json
from pathlib import Path

import pytest

from pullnet.papers import machine, model
from pullnet.papers.calculations import linux
from pullnet.papers.judge import NOT_RUN, VERDICTS
from pullnet.papers.machine import LINKS, percentile
from pullnet.papers.measures import ALL
from pullnet.papers.measures.data import Data, MissingRunsError
from pullnet.papers.reproduce import Order, reproduce
from pullnet.papers.runs import Run
from pullnet.sweeps.progress import Tally

from .conftest import Pullnet
from .test_testbed import needs_namespaces


def data(tmp_path: Path, **experiments: list[dict[str, object]]) -> Data:
    """Runs that came to these numbers."""
    runs: dict[str, list[Run]] = {}
    for name, numbers in experiments.items():
        for point, values in enumerate(numbers):
            folder = tmp_path / name / str(point)
            folder.mkdir(parents=True)
            (folder / "numbers.json").write_text(json.dumps(values))
            runs.setdefault(name, []).append(Run({"size": point}, 1, folder))
    return Data(runs)


def test_without_namespaces_every_claim_is_not_run_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "missing", lambda: "a testbed needs root")
    order = Order(model.load("ndp-linux"), None, "smoke", None, tmp_path)
    outcomes = reproduce(order, Tally("", 0, 0, quiet=True)).outcomes
    assert {outcome.verdict for outcome in outcomes} == {NOT_RUN}
    reasons = {outcome.claim.id: outcome.why for outcome in outcomes}
    assert reasons["linux-calls-tcp"] == "not possible here: a testbed needs root"


@needs_namespaces
def test_the_smallest_level_measures_and_judges(pullnet: Pullnet, tmp_path: Path) -> None:
    done = pullnet("reproduce", "ndp-linux", "--smoke", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    claims = {claim["id"]: claim for claim in json.loads(done.stdout)}
    assert all(claim["verdict"] in VERDICTS for claim in claims.values())
    # How fast the machine is today is no matter of this test: that everything was measured is.
    for name in ("linux-calls-tcp", "linux-incast-1g", "linux-incast-tcp-tail", "linux-pacing-1500"):
        assert claims[name]["verdict"] != NOT_RUN, name
    assert (tmp_path / "out/ndp-linux-smoke/figures/fig12-spacing.png").is_file()


def test_numbers_are_taken_over_runs_with_a_note_of_each(tmp_path: Path) -> None:
    runs = data(tmp_path, e=[{"x": 3.0, "cpu": 5.0}, {"x": 1.0, "cpu": 7.0}, {"x": 2.0, "cpu": 9.0}])
    taken = {take: ALL["here"](runs, "e", "x", take=take).value for take in ("min", "median", "max")}
    assert taken == {"min": 1.0, "median": 2.0, "max": 3.0}
    assert ALL["here"](runs, "e", "x", at={"size": 1}).value == 1.0
    assert ALL["here"](runs, "e", "x", beside=["cpu"]).note == "size 0: 3, size 1: 1, size 2: 2, cpu: 7"


def test_what_has_to_hold_has_to_hold_in_all(tmp_path: Path) -> None:
    runs = data(tmp_path, one=[{"ordered": True}, {"ordered": True}], other=[{"ordered": False}])
    assert ALL["here"](runs, "one", "ordered").holds is True
    assert ALL["holds_in"](runs, ["one", "other"], "ordered").holds is False
    ratios = data(tmp_path / "ratio", a=[{"x": 6.0}], b=[{"y": 2.0}])
    assert ALL["ratio"](ratios, ["a", "b"], "x", "y").value == 3.0


def test_a_tail_of_timeouts_is_held_against_their_timer(tmp_path: Path) -> None:
    late: dict[str, object] = {"tcp_late_rounds": 0.5, "tcp_p90_us": 230e3}
    assert ALL["late_when_lost"](data(tmp_path / "1", e=[late, {**late, "tcp_late_rounds": 0.0}]), "e").holds is True
    assert ALL["late_when_lost"](data(tmp_path / "2", e=[late, {**late, "tcp_p90_us": 90e3}]), "e").holds is False
    assert ALL["late_when_lost"](data(tmp_path / "3", e=[{**late, "tcp_late_rounds": 0.0}]), "e").holds is False


def test_a_run_that_was_not_possible_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingRunsError, match="not possible here: no root"):
        ALL["here"](data(tmp_path, e=[{"skipped": "no root"}]), "e", "x")


def test_a_check_that_failed_does_not_hold(tmp_path: Path) -> None:
    measured = ALL["here"](data(tmp_path, e=[{"x": True}, {"failed": "RTL and reference disagree"}]), "e", "x")
    assert (measured.holds, measured.note) == (False, "RTL and reference disagree")


def test_the_line_takes_as_long_as_its_frames() -> None:
    link = LINKS["1 Gb/s, 1500 B"]
    assert link.packet_us == pytest.approx(12.112)
    assert 7 * link.line_us(450_000) == pytest.approx(26_571.6, abs=0.1)
    assert percentile([3.0, 1.0, 2.0, 4.0], 50) == 2.0


def test_a_measured_distribution_keeps_its_largest_values_one_by_one() -> None:
    points = linux._quantiles([float(value) for value in range(1, 1001)])
    assert points[-1] == (1.0, 1000.0)
    assert points[-2] == (0.999, 999.0)
    assert [share for share, _ in points] == sorted(share for share, _ in points)
