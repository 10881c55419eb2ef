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
        (CLAIM.replace("priority = 1\n", ""), EXPERIMENT, r"claims.toml: claim flows: priority: is missing; write"),
        (CLAIM + 'wide = "yes"\n', EXPERIMENT, r"claims.toml: claim flows: wide: is no key here"),
        (
            CLAIM,
            EXPERIMENT.replace("one.toml", "none.toml"),
            r"experiments.toml: \[one\]: scenario .*none.toml is not there",
        ),
        (CLAIM, EXPERIMENT.replace("smoke = { seeds = [1, 2], seconds = 1 }", ""), r"\[one\]: has no level"),
        (CLAIM, EXPERIMENT.replace('title = "One flow"', ""), r"experiments.toml: one.title: is missing"),
        (CLAIM, EXPERIMENT.replace("[one]", "[one"), r"experiments.toml: .*line 2"),
        (CLAIM, EXPERIMENT.replace('"one.toml"', "3"), r"experiments.toml: one.scenario: 3 is not text; write"),
        (CLAIM, EXPERIMENT.replace("seconds = 1", "seconds = -1"), r"one.smoke.seconds: -1 is not a number above 0"),
        (CLAIM, EXPERIMENT.replace("[1, 2]", '"2..x"'), r"experiments.toml: one.smoke.seeds: .*2\.\.x"),
        (CLAIM, EXPERIMENT.replace("[1, 2]", '"1..999999999"'), r"one.smoke.seeds: .*at most"),
        (CLAIM, EXPERIMENT.replace('["90 kB", "180 kB"]', "[]"), r"one.axes: {'size': \[\]} is not a table of lists"),
        (CLAIM, EXPERIMENT.replace("axes.size", "axes.bytes"), r"one.axes.bytes: sets nothing; add .*keys.bytes ="),
        (CLAIM, EXPERIMENT + "[[two]]\n", r"experiments.toml: two: \[{}\] is no experiment"),
        (CLAIM, EXPERIMENT + 'colour = "red"\n', r"one.colour: is no key here; use one of title"),
        (CLAIM, "", r"experiments.toml: has no experiment; write"),
        ("", EXPERIMENT, r"claims.toml: claim: there is none; write a table \[\[claim\]\]"),
        (CLAIM.replace("to = 1", 'to = "one"'), EXPERIMENT, r"claim flows: accept.to: 'one' is not a number"),
        (CLAIM.replace("from = 1", "from = 2"), EXPERIMENT, r"claim flows: accept.from: 2 is above to = 1; exchange"),
        (
            CLAIM.replace("accept = { from = 1, to = 1 }", ""),
            EXPERIMENT,
            r"claim flows: accept: accepts anything; state",
        ),
        (CLAIM.replace("from = 1, to = 1", "form = 1"), EXPERIMENT, r"accept.form: is no key here; use `from`"),
        (
            CLAIM.replace("priority = 1", "priority = true"),
            EXPERIMENT,
            r"claim flows: priority: true is not a whole number",
        ),
        (CLAIM.replace('id = "flows"', "id = 5"), EXPERIMENT, r"claim number 1: id: 5 is not text"),
        (
            CLAIM.replace('"flows.completed" }', '"flows.completed", at = { size = "1 kB" } }'),
            EXPERIMENT,
            r"claim flows: parameters.at: no level of \[one\] has the point size 1 kB; it has size 90 kB; size 180 kB",
        ),
        (CLAIM + "curve = [[1], [2, 3]]\n", EXPERIMENT, r"claim flows: curve: .* is not a list of points"),
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


@pytest.mark.parametrize(
    ("title", "error"),
    [
        ("", r"paper.toml: title: is missing; write for instance title ="),
        ("title = 5", r"paper.toml: title: 5 is not text"),
        ('title = "Mine"\nauthor = "me"', r"paper.toml: author: is no key here; use one of title, more"),
    ],
)
def test_errors_of_the_title_are_named(title: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=error):
        own.load(paper(tmp_path / "mine", title=title))


def test_all_errors_of_all_files_come_at_once(tmp_path: Path) -> None:
    place = paper(tmp_path / "mine", CLAIM.replace('"1"', "1").replace("priority = 1", "priority = 0"), "", "")
    with pytest.raises(InputError) as error:
        own.load(place)
    assert [line.split(":")[0].rpartition("/")[2] for line in error.value.errors] == [
        "paper.toml",
        "experiments.toml",
        "claims.toml",
    ]
