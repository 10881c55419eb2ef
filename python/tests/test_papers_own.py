"""Papers of users: found by their folder, and refused with every error before anything runs."""

import json
from pathlib import Path

import pytest

from pullnet.errors import InputError
from pullnet.papers import own, page
from pullnet.papers.reproduce import Order

from .conftest import Pullnet

SCENARIO = """
until = "all flows done"
topology = { kind = "back-to-back" }
transport = { kind = "ndp" }
switch = { kind = "trim" }
traffic = [{ kind = "incast", degree = 1, size = "90 kB" }]
"""
EXPERIMENT = """
[one]
title = "One flow"
figure = "2"
scenario = "one.toml"
keys = { size = "traffic.0.size" }
axes.size = ["90 kB", "180 kB"]
smoke = { seeds = [1, 2], seconds = 1 }
"""
CLAIM = """
[[claim]]
id = "flows"
source = "section 1"
figure = "2"
priority = 1
setup = "two hosts"
metric = "flows that end"
expected = 1
unit = "flows"
tolerance = "None."
accept = { from = 1, to = 1 }
measure = "summary"
parameters = { experiment = "one", metric = "flows.completed" }
"""


def paper(folder: Path, claims: str = CLAIM, experiments: str = EXPERIMENT, title: str = 'title = "Mine"') -> Path:
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "one.toml").write_text(SCENARIO)
    (folder / "paper.toml").write_text(title)
    (folder / "experiments.toml").write_text(experiments)
    (folder / "claims.toml").write_text(claims)
    return folder


def test_a_folder_is_a_paper_and_a_figure_of_it_can_be_named(tmp_path: Path) -> None:
    place = paper(tmp_path / "mine")
    assert own.find(str(place)) == (place, None)
    assert own.find(f"{place}/2") == (place, "2")
    assert own.find("ndp/14") == ("ndp", "14")
    loaded = own.load(place)
    assert (loaded.name, loaded.title) == ("mine", "Mine")
    order = Order(loaded, "2", "smoke", None, tmp_path / "out")
    assert page.command(order) == f"pullnet reproduce {place}/2 --smoke"


def test_what_is_no_paper_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no paper `.*nosuch`; there are .*ndp.*, and folders of your own"):
        own.find(str(tmp_path / "nosuch"))


def test_it_runs_and_is_judged(pullnet: Pullnet, tmp_path: Path) -> None:
    curve = CLAIM.replace('"flows"', '"curve"', 1).replace('measure = "summary"', 'measure = "summary_curve"')
    curve = curve.replace('"flows.completed" }', '"fct_us.max", key = "size" }').replace(
        "from = 1, to = 1", "within = 500"
    )
    paper(tmp_path / "mine", CLAIM + curve + "curve = [[90, 80], [180, 160]]\n")
    done = pullnet("reproduce", "mine", "--smoke", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    flows, found = json.loads(done.stdout)
    assert (flows["verdict"], flows["measured"], found["verdict"]) == ("met", 1, "met")
    assert [x for x, _ in found["measured"]] == [90, 180]
    assert all(72 * x / 90 < y < 2 * 72 * x / 90 for x, y in found["measured"])
    assert (tmp_path / "out" / "mine-smoke" / "report.html").is_file()


@pytest.mark.parametrize(
    ("claims", "experiments", "error"),
    [
        (
            CLAIM.replace('"summary"', '"sumary"'),
            EXPERIMENT,
            r"claim flows: measure = 'sumary' is not known; near are .*summary",
        ),
        (
            CLAIM.replace(', metric = "flows.completed"', ""),
            EXPERIMENT,
            r"claim flows: .*missing a required argument: 'metric'",
        ),
        (CLAIM.replace('"one"', '"two"'), EXPERIMENT, r"claim flows: there is no experiment 'two'; there are one"),
        (CLAIM + CLAIM, EXPERIMENT, r"claim flows: there are two of this id"),
        (CLAIM.replace("priority = 1\n", ""), EXPERIMENT, r"mine: a \[\[claim\]\] .*'priority'"),
        (CLAIM + 'wide = "yes"\n', EXPERIMENT, r"mine: a \[\[claim\]\] .*unexpected key 'wide'"),
        (
            CLAIM,
            EXPERIMENT.replace("one.toml", "none.toml"),
            r"experiments.toml: \[one\]: scenario .*none.toml is not there",
        ),
        (CLAIM, EXPERIMENT.replace("smoke =", "tiny ="), r"\[one\]: has no level"),
        (CLAIM, EXPERIMENT.replace('title = "One flow"', ""), r"mine: the key 'title' is missing"),
        (CLAIM, EXPERIMENT.replace("[one]", "[one"), r"experiments.toml: .*line 2"),
        (CLAIM, EXPERIMENT.replace('"one.toml"', "3"), r"mine: "),
    ],
)
def test_errors_are_named(claims: str, experiments: str, error: str, tmp_path: Path) -> None:
    place = paper(tmp_path / "mine", claims, experiments)
    with pytest.raises(InputError, match=error):
        own.load(place)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    place = paper(tmp_path / "mine")
    (place / "claims.toml").unlink()
    with pytest.raises(InputError, match=r"claims.toml: is not there; a paper has"):
        own.load(place)


def test_a_number_that_no_run_has_is_refused_with_those_that_are_near(pullnet: Pullnet, tmp_path: Path) -> None:
    paper(tmp_path / "mine", CLAIM.replace("flows.completed", "flows.complete"))
    done = pullnet("reproduce", "mine", "--smoke", "--out", "out")
    assert done.returncode == 2
    assert "metric = 'flows.complete'" in done.stderr and "flows.completed" in done.stderr.replace("\n", "")
