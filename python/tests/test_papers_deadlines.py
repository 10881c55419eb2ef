"""Deadlines met, as D3's paper counts them."""

from pathlib import Path

import polars as pl
import pytest

import pullnet
from pullnet.papers import model
from pullnet.papers.measures import deadlines, responses
from pullnet.papers.measures.data import Data, MissingRunsError
from pullnet.papers.model import Settings
from pullnet.papers.runs import Run

PAPER = model.load("d3")
SCENARIOS = PAPER.folder / "scenarios"
SHORT: Settings = {"traffic.0.until": "200 ms", "duration": "300 ms", "measure.from": "50 ms", "measure.to": "200 ms"}


def protocol(name: str) -> Settings:
    """Settings of a protocol in the paper's experiments."""
    points = PAPER.experiments["rack"].levels["full"].points
    chosen = next(point.set for point in points if point.at["protocol"] == name)
    return {key: value for key, value in chosen.items() if key.startswith(("transport", "switch"))}


def test_what_is_supported_has_everything_below_supported_too() -> None:
    assert responses.supported({100: 1.0, 200: 0.991, 300: 0.98, 400: 0.995}) == 200
    assert responses.supported({100: 0.98, 200: 1.0}) == 0
    assert responses.supported({100: 0.99}) == 100


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of D3 at twice what the link carries."""
    out = tmp_path_factory.mktemp("deadlines") / "out"
    settings = {**protocol("d3"), **SHORT, "traffic.0.rate": 5000, "duration": "210 ms"}
    pullnet.run(SCENARIOS / "rack.toml", set=settings, out=out)
    return Run({"protocol": "d3", "rate": 10000}, 1, out)


def test_what_counts_are_responses_of_the_window_whose_deadline_has_passed(crowded: Run) -> None:
    counted, flows = responses.of_run(crowded), crowded.result.flows
    assert counted["start_ps"].min() >= 50e9 and counted["start_ps"].max() <= 200e9  # type: ignore[operator]
    assert set(counted["tag"]) == {"response"}
    inside = flows.filter((pl.col("tag") == "response") & pl.col("start_ps").is_between(50e9, 200e9))
    left_out = inside.filter(pl.col("deadline_met").is_null())
    assert 0 < len(left_out) == len(inside) - len(counted)
    assert (left_out["deadline_ps"] > 210e9).all()


def test_a_flow_that_was_given_up_has_missed_its_deadline(crowded: Run) -> None:
    counted = responses.of_run(crowded)
    quenched = counted.filter(pl.col("reason").str.starts_with("quenched"))
    assert len(quenched) > 10
    assert not quenched["deadline_met"].any()


def test_bytes_are_wasted_on_flows_that_missed(crowded: Run) -> None:
    counted = responses.of_run(crowded)
    missed = int(counted.filter(~pl.col("deadline_met"))["delivered_bytes"].sum())
    share = responses.wasted_share(Data({"rack": [crowded]}), "rack", {})
    assert share == pytest.approx(missed / int(counted["delivered_bytes"].sum()))
    assert 0 < share < 1


def test_a_collapse_lies_between_the_points_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {1000.0: 1.0, 1500.0: 1.0, 2000.0: 0.95, 3000.0: 0.85}
    monkeypatch.setattr(responses, "met_by", lambda *_: shares)
    assert deadlines.collapse_rate(Data({}), "rack", "d3").value == pytest.approx(2500)
    shares[3000.0] = 0.91
    found = deadlines.collapse_rate(Data({}), "rack", "d3")
    assert found.holds is False and found.details == {"no collapse up to": 3000}
    del shares[3000.0]
    with pytest.raises(MissingRunsError, match="3 points only"):
        deadlines.collapse_rate(Data({}), "rack", "d3")


@pytest.mark.parametrize("name", ["d3", "rcp", "tcp-10", "d2tcp", "ndp", "phost-edf", "pfabric-edf"])
def test_every_protocol_has_packets_of_1500_bytes(name: str, tmp_path: Path) -> None:
    settings = {**protocol(name), "traffic.0.rate": 1, "traffic.0.until": "1 us", "duration": "50 ms"}
    settings |= {"measure.from": "0 ms", "measure.to": "50 ms"}
    result = pullnet.run(SCENARIOS / "rack.toml", set=settings, out=tmp_path / "out")
    senders = result.ports.filter(pl.col("name").is_in(["host 1 -> switch 0", "host 2 -> switch 0"]))
    sizes = senders["bytes"].to_numpy() / senders["data_packets"].to_numpy()
    assert sizes == pytest.approx([1500, 1500], rel=0.03)


def test_rates_are_those_of_both_senders_together() -> None:
    for experiment in PAPER.experiments.values():
        for level in experiment.levels.values():
            for at in [point.at for point in level.points if {"rate", "each"} <= set(point.at)]:
                assert 2 * int(at["each"]) == int(at["rate"]), experiment.name


def test_all_hosts_but_the_aggregator_send_in_each_round(tmp_path: Path) -> None:
    settings = {**protocol("rcp"), "topology.hosts": 6}
    flows = pullnet.run(SCENARIOS / "flash.toml", set=settings, out=tmp_path / "out").flows
    rounds = flows.group_by("start_ps").agg(pl.col("src").sort(), pl.col("dst").unique())
    assert len(rounds) == 10
    assert rounds["src"].to_list() == [[1, 2, 3, 4, 5]] * 10
    assert rounds["dst"].to_list() == [[0]] * 10


def test_what_was_measured_at_a_point_is_not_read_again() -> None:
    data, reads = Data({}), []

    def read(value: float) -> float:
        reads.append(value)
        return value

    assert data.once("met", "rack", {"rate": 100, "protocol": "d3"}, lambda: read(0.5)) == 0.5
    same = data.expecting([]).once("met", "rack", {"protocol": "d3", "rate": 100}, lambda: read(0.6))
    other = [
        data.once("met", "rack", {"rate": 200, "protocol": "d3"}, lambda: read(0.7)),
        data.once("met", "flash", {"rate": 100, "protocol": "d3"}, lambda: read(0.8)),
        data.once("late", "rack", {"rate": 100, "protocol": "d3"}, lambda: read(0.9)),
    ]
    assert (same, other, reads) == (0.5, [0.7, 0.8, 0.9], [0.5, 0.7, 0.8, 0.9])
