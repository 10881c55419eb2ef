"""The table beside the simulator of pHost's authors."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pullnet
from pullnet.papers import authors, model
from pullnet.papers.measures.data import Data
from pullnet.papers.measures.packets import times, with_headers
from pullnet.papers.runs import Run

SCENARIOS = model.folder() / "phost" / "scenarios"
LOAD = 0.584


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Some flows of IMC10 at load 0.6, with two seeds, in the place of two experiments."""
    folder = tmp_path_factory.mktemp("runs")
    runs = []
    for seed in (1, 2):
        settings = {"traffic.0.flows": 300, "transport.variant": "authors"}
        pullnet.run(SCENARIOS / "standard.toml", set=settings, seed=seed, out=folder / str(seed))
        runs.append(Run({"protocol": "phost-shipped", "load": LOAD}, seed, folder / str(seed)))
    return Data({"authors": runs, "authors-imc10": runs})


def test_every_row_belongs_to_an_experiment_and_a_transport() -> None:
    paper = model.load("phost")
    for row in authors.reference():
        points = [point.at for point in paper.experiments[row.experiment].levels["full"].points]
        loads = {str(with_headers(float(at["load"]))) if "load" in at else "" for at in points}
        assert row.protocol in {at["protocol"] for at in points}, row
        assert row.load in loads, row
        assert row.theirs >= 1 and row.statistic in {"mean", "p99", "nfct"}, row
        low, high = authors._bounds(row.flows)
        assert low < high, row


def test_a_row_has_the_flows_of_all_seeds(data: Data) -> None:
    tables = [times(run) for run in data.runs("authors")]
    both = np.concatenate([table["slowdown"].to_numpy() for table in tables])
    row = authors.Row("authors", "0.6", "phost-shipped", "all", "mean", 2.0, "a reason")
    assert row.beside(data)[6] == f"{both.mean():.2f}"
    assert replace(row, statistic="p99").beside(data)[6] == f"{np.sort(both)[int(0.99 * len(both))]:.2f}"
    took, least = (sum(float(table[column].to_numpy().sum()) for table in tables) for column in ("took", "least"))
    assert replace(row, statistic="nfct").beside(data)[6] == f"{took / least:.2f}"
    one = np.concatenate([t["slowdown"].to_numpy()[t["size_bytes"].to_numpy() == 1460] for t in tables])
    assert replace(row, flows="1 packet").beside(data)[6] == f"{one.mean():.2f}"


def test_only_what_differs_is_explained(data: Data) -> None:
    """By the reason that the reference has, or by the sample if theirs is one of the values that seeds have."""
    row = authors.Row("authors", "0.6", "phost-shipped", "all", "mean", 2.0, "a reason")
    ours = float(row.beside(data)[6])
    assert replace(row, theirs=ours).beside(data)[-1] == ""
    *_, difference, why = replace(row, theirs=2 * ours).beside(data)
    assert difference.startswith(("-49", "-50")) and why == "a reason"


def test_what_lies_among_the_seeds_needs_no_other_reason(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authors, "NOTABLE", 0.0)
    row = authors.Row("authors", "0.6", "phost-shipped", "1188-2107 packets", "p99", 2.0, "a reason")
    seeds = [float(value) for value in row.beside(data)[7].split()]
    assert replace(row, theirs=sum(seeds) / 2).beside(data)[-1] == authors.SAMPLE
    assert replace(row, theirs=max(seeds) + 0.1).beside(data)[-1] == "a reason"


def test_what_was_not_run_is_left_out(data: Data, tmp_path: Path) -> None:
    table, text = authors.write(data, tmp_path / "out")
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["experiment"], row["load"], row["protocol"]) for row in rows} == {
        ("authors", "0.6", "phost-shipped"),
        ("authors-imc10", "", "phost-shipped"),
    }
    assert len(text.read_text().splitlines()) == len(rows) + 2
    assert authors.write(Data({}), tmp_path / "none") == []
