"""The papers that ship: complete, consistent, and found."""

import inspect
import sys
from pathlib import Path

import pytest

import pullnet
from pullnet.errors import InputError
from pullnet.papers import calculations, model
from pullnet.papers.judge import BOUNDS, unfit
from pullnet.papers.measures import ALL, kinds_of
from pullnet.papers.reproduce import used_by
from pullnet.runs.seeds import parse_seeds

PAPERS = model.names()
ON_THE_MACHINE = ["ndp-hardware", "ndp-linux"]


def test_no_measure_has_the_name_of_another() -> None:
    """Claims name measures without their module."""
    modules = {function.__module__ for function in ALL.values()}
    own = [
        name
        for module in modules
        for name, function in vars(sys.modules[module]).items()
        if inspect.isfunction(function) and function.__module__ == module and not name.startswith("_")
    ]
    assert len(own) == len(set(own)) == len(ALL)


def test_every_measure_measures() -> None:
    """A public helper in one of these modules would be a measure that no claim can name."""
    returned = {name: kinds_of(function) for name, function in ALL.items()}
    assert {name: kinds for name, kinds in returned.items() if not set(kinds) <= set(BOUNDS)} == {}


def test_papers_are_found() -> None:
    assert PAPERS == [
        "comparison",
        "d3",
        "ndp",
        "ndp-artifact-evaluation",
        "ndp-baselines",
        "ndp-hardware",
        "ndp-linux",
        "phost",
        "thesis",
        "traffic-volumes",
    ]


@pytest.fixture(scope="module", params=PAPERS)
def paper(request: pytest.FixtureRequest) -> model.Paper:
    return model.load(request.param)


def test_ids_are_unique(paper: model.Paper) -> None:
    ids = [claim.id for claim in paper.claims]
    assert len(ids) == len(set(ids))


def test_every_claim_says_what_it_is_and_can_be_judged(paper: model.Paper) -> None:
    for claim in paper.claims:
        assert claim.source and claim.setup and claim.metric and claim.tolerance, claim.id
        assert claim.priority in (1, 2, 3), claim.id
        assert bool(claim.measure) + bool(claim.tests) + bool(claim.impossible) == 1, claim.id
        assert claim.impossible or claim.accept, claim.id


def test_every_claim_is_judged_by_what_its_measure_gives(paper: model.Paper) -> None:
    for claim in paper.claims:
        assert not claim.measure or list(unfit(claim, kinds_of(ALL[claim.measure]))) == [], claim.id


def test_every_claim_names_a_measure_and_experiments_that_exist(paper: model.Paper) -> None:
    for claim in paper.claims:
        assert not claim.measure or claim.measure in ALL, claim.id
        assert set(used_by(claim)) <= set(paper.experiments), claim.id


def test_every_experiment_serves_a_claim(paper: model.Paper) -> None:
    assert set(paper.experiments) == {name for claim in paper.claims for name in used_by(claim)}


def test_every_curve_is_accepted_by_distance(paper: model.Paper) -> None:
    for claim in paper.claims:
        distances = {"within", "within_relative", "bands"} & set(claim.accept)
        assert bool(claim.curve) == bool(distances), claim.id


def test_every_scenario_compiles_at_every_point(paper: model.Paper) -> None:
    for experiment in paper.experiments.values():
        for level in experiment.levels.values():
            for point in level.points:
                if isinstance(experiment.work, Path):
                    pullnet.check(experiment.work, set=point.set)


def test_every_calculation_takes_the_values_of_its_points(paper: model.Paper) -> None:
    for experiment in paper.experiments.values():
        for level in experiment.levels.values():
            for point in level.points:
                if isinstance(experiment.work, str):
                    inspect.signature(calculations.ALL[experiment.work]).bind(1, **point.at, **point.set)


def test_every_scenario_is_used(paper: model.Paper) -> None:
    used = {experiment.work for experiment in paper.experiments.values() if isinstance(experiment.work, Path)}
    assert used == set((paper.folder / "scenarios").glob("*.toml"))


def test_every_paper_says_what_it_covers(paper: model.Paper) -> None:
    text = (paper.folder / "README.md").read_text()
    for part in ("covered", "contradicts itself", "not met"):
        assert part in text, part


def test_smoke_stays_short() -> None:
    levels = [e.levels.get("smoke") for name in PAPERS for e in model.load(name).experiments.values()]
    assert sum(level.seconds for level in levels if level) < 60


def quick_seconds(paper: str) -> float:
    levels = [experiment.levels.get("quick") for experiment in model.load(paper).experiments.values()]
    return sum(level.seconds for level in levels if level)


def test_quick_stays_under_ten_minutes_for_any_paper() -> None:
    for name in PAPERS:
        if name not in ON_THE_MACHINE:
            assert quick_seconds(name) <= 1200, f"{name}: two cores share it"
    assert sum(map(quick_seconds, ON_THE_MACHINE)) < 600, "it needs both"


def test_chance_is_met_with_five_seeds_at_least() -> None:
    """Of every experiment that a claim of priority 1 rests on, at the quick level."""
    for name in PAPERS:
        if name in ON_THE_MACHINE:
            continue
        paper = model.load(name)
        for experiment in {used for claim in paper.claims if claim.priority == 1 for used in used_by(claim)}:
            found = paper.experiments[experiment]
            if isinstance(found.work, Path) and "quick" in found.levels:
                assert len(found.levels["quick"].seeds) >= 5, (name, experiment)


def test_unknown_papers_are_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="there are comparison, d3, ndp, ndp-artifact-evaluation"):
        model.load("ndpp")


@pytest.mark.parametrize(
    ("text", "seeds"), [("1", [1]), ("1,2,5", [1, 2, 5]), ("1..4", [1, 2, 3, 4]), ("3,8..9", [3, 8, 9])]
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1..", "5..1", "1,5..1", "1,,2", "-1"])
def test_wrong_seeds_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="for instance"):
        parse_seeds(text)


def test_points_are_combined_and_bring_their_settings(tmp_path: Path) -> None:
    (tmp_path / "paper.toml").write_text('title = "x"')
    (tmp_path / "claims.toml").write_text("claim = []")
    (tmp_path / "experiments.toml").write_text(
        """
        [e]
        title = "t"
        figure = "1"
        scenario = "s.toml"
        keys = { k = "topology.k" }
        set = { a = 1 }
        points = [{ k = 4 }, { k = 8 }]
        axes.mode = ["on", "off"]
        more.mode.off = { b = 2 }
        quick = { seeds = "1..2", seconds = 1, set = { a = 3 } }
        """
    )
    level = model._experiment(tmp_path, "e", model._toml(tmp_path / "experiments.toml")["e"]).levels["quick"]
    assert [point.at for point in level.points] == [{"k": k, "mode": m} for k in (4, 8) for m in ("on", "off")]
    assert level.points[1].set == {"a": 3, "topology.k": 4, "b": 2}
    assert level.seeds == [1, 2]
    shared: model.Implied = {"mode": {"on": {"c": 4}, "off": {"b": 1, "d": 5}}}
    level = model._experiment(tmp_path, "e", model._toml(tmp_path / "experiments.toml")["e"], shared).levels["quick"]
    assert level.points[0].set == {"a": 3, "topology.k": 4, "c": 4}
    assert level.points[1].set == {"a": 3, "topology.k": 4, "b": 2, "d": 5}
