"""Slowdowns beside those of pHost's authors: the least time is theirs, and their sizes are whole packets."""

import csv
from pathlib import Path

import pytest

import pullnet
from pullnet.papers import model
from pullnet.papers.measures import slowdowns
from pullnet.papers.measures.data import Data
from pullnet.papers.measures.packets import times, with_headers
from pullnet.papers.runs import Run

SCENARIOS = model.folder() / "phost" / "scenarios"
PAYLOAD = 1460


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_flow_alone_takes_the_least_time(tmp_path: Path, seed: int) -> None:
    """The RTS before its data takes 32 ns; a flow of more than eight packets waits for its first token."""
    settings = {"traffic.0.flows": 1, "traffic.0.sizes": {"fixed": f"{8 * PAYLOAD} B"}}
    pullnet.run(SCENARIOS / "standard.toml", set=settings, seed=seed, out=tmp_path / "out")
    table = times(Run({}, seed, tmp_path / "out"))
    assert table["took"][0] - table["least"][0] == pytest.approx(0.032, abs=0.01)
    inside = 8 * 1.2 + 0.096 + 0.8
    assert min(abs(table["least"][0] - least) for least in (inside, inside + 0.832)) < 1e-6


@pytest.mark.parametrize(("name", "packets"), [("imc10", 133.806), ("web-search", 1140.98), ("data-mining", 5116.6)])
def test_sizes_are_whole_packets_with_the_mean_of_the_source(name: str, packets: float) -> None:
    with (SCENARIOS / "sizes" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = [(int(row["bytes"]), float(row["cdf"])) for row in csv.DictReader(file)]
    assert all(size % PAYLOAD == 0 for size, _ in rows)
    shares = [share for _, share in rows]
    assert shares == sorted(shares) and shares[-1] == 1
    steps = zip(rows, [0.0, *shares], strict=False)
    mean = sum(size * (share - before) for (size, share), before in steps)
    assert mean / PAYLOAD == pytest.approx(packets, rel=1e-3)


def test_transports_whose_slowdowns_are_close_have_no_order() -> None:
    assert slowdowns._order({"a": 1.0, "b": 1.09, "c": 2.0}) == [("a", "c"), ("b", "c")]


def test_serving_by_size_meets_more_deadlines_than_by_deadline(tmp_path: Path) -> None:
    late = {"traffic.0.deadline": "100 us", "traffic.0.deadline_spread": "exponential", "traffic.0.flows": 400}
    edf = {"transport.source": "edf", "transport.destination": "edf"}
    runs = []
    for name, more in (("phost", {}), ("phost-edf", edf)):
        pullnet.run(SCENARIOS / "standard.toml", set={**late, **more}, seed=1, out=tmp_path / name)
        runs.append(Run({"protocol": name}, 1, tmp_path / name))
    found = slowdowns.size_meets_more_deadlines(Data({"deadlines": runs}), "deadlines", ["phost"])
    shares = [run.result.summary.deadlines.share_met for run in runs]
    assert list(found.details) == ["phost", "phost-edf"]
    assert list(found.details.values()) == [100 * share for share in shares if share is not None]
    assert found.holds == (found.details["phost"] > found.details["phost-edf"])


def test_loads_count_headers_as_the_authors_do() -> None:
    assert [with_headers(load) for load in (0.4867, 0.584, 0.876)] == [0.5, 0.6, 0.9]
