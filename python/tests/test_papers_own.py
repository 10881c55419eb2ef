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
CURVE = (
    CLAIM.replace('"flows"', '"curve"', 1)
    .replace('measure = "summary"', 'measure = "summary_curve"')
    .replace('"flows.completed" }', '"fct_us.max", key = "size" }')
    .replace("from = 1, to = 1", "within = 500")
    + "curve = [[90, 80], [180, 160]]\n"
)


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
    paper(tmp_path / "mine", CLAIM + CURVE)
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
        (
            CLAIM.replace("from = 1, to = 1", "holds = true"),
            EXPERIMENT,
            r"claims.toml: claim flows: accept.holds: measure summary gives a number; use from, to, within, within_rel",
        ),
        (
            CLAIM.replace("from = 1, to = 1", "bands = [{ within = 1 }]"),
            EXPERIMENT,
            r"claim flows: accept.bands: measure summary gives a number; use from",
        ),
        (
            CLAIM.replace("from = 1, to = 1", "within = 1").replace("expected = 1", 'expected = "all"'),
            EXPERIMENT,
            r"claim flows: accept.within: is a distance from expected = 'all', which is no number; use from, to",
        ),
        (
            CURVE.replace("within = 500", "from = 1, to = 500"),
            EXPERIMENT,
            r"claim curve: accept.from: measure summary_curve gives a curve; use within, within_relative, bands",
        ),
        (CURVE.partition("curve = [[")[0], EXPERIMENT, r"claim curve: curve: is missing; write the points"),
        (
            CURVE.replace("within = 500", "bands = [{ width = 1 }]"),
            EXPERIMENT,
            r"claim curve: accept.bands.0.width: is no key here; use `within`",
        ),
        (
            CURVE.replace('key = "size"', 'key = "nokey"'),
            EXPERIMENT,
            r"claim curve: parameters.key: nokey is not varied by \[one\], which varies size",
        ),
        (
            CURVE,
            EXPERIMENT.replace('"90 kB", ', '"endless", '),
            r"claim curve: parameters.key: size has the value 'endless' in \[one\], which is no number",
        ),
        (
            CURVE,
            EXPERIMENT.replace('"180 kB"', '"1 MB"'),
            r"claim curve: parameters.key: size has values of several units in \[one\]: 90 kB, 1 MB; write all",
        ),
        (
            CURVE.replace("[180, 160]", "[18, 160]"),
            EXPERIMENT,
            r"claim curve: curve: no level of \[one\] has size = 18; they have 90 kB, 180 kB",
        ),
        (CLAIM.replace('"one"', '["one"]'), EXPERIMENT, r"claim flows: .*experiment=\['one'\] is of the wrong type"),
        (
            CLAIM.replace('"flows.completed" }', '"flows.completed", at = { size = ["90 kB"] } }'),
            EXPERIMENT,
            r"claim flows: parameters.at: no level of \[one\] has the point size \['90 kB'\]",
        ),
        (
            CLAIM.replace("flows.completed", "flows.complete"),
            EXPERIMENT,
            r"claim flows: parameters.metric: flows.complete is no number of a summary; did you mean flows.completed",
        ),
        (CLAIM, EXPERIMENT.replace("[1, 2]", "[1, 1]"), r"one.smoke.seeds: 1 is named twice and would count twice"),
        (CLAIM, EXPERIMENT.replace("[1, 2]", "[1.5, -3]"), r"one.smoke.seeds: 1.5 is no seed; use"),
        (CLAIM, EXPERIMENT.replace("[1, 2]", '"1,5..1"'), r"one.smoke.seeds: .*5..1 is an empty range"),
        (CLAIM, EXPERIMENT.replace('"180 kB"', "[180]"), r"one.axes: .* is not a table of lists with texts or numbers"),
        (CLAIM, EXPERIMENT + "more = { size = 5 }\n", r"one.more: .* is not a table of settings for each value"),
        (CLAIM + "tests = [{ package = 'x' }]\n", EXPERIMENT, r"claim flows: tests.0.name: is missing; write"),
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
    paper(tmp_path / "mine", CLAIM.replace("flows.completed", "by_tag.bulk.flows.completed"))
    done = pullnet("reproduce", "mine", "--smoke", "--out", "out")
    assert done.returncode == 2
    assert "error: claim flows: metric = 'by_tag.bulk.flows.completed'" in done.stderr
    assert "did you mean by_tag.incast.flows.completed or" in done.stderr


def test_a_measure_that_finds_nothing_of_its_kind_says_so(pullnet: Pullnet, tmp_path: Path) -> None:
    missing = CLAIM.replace('"summary"', '"window_needed"').replace('metric = "flows.completed"', "share = 0.9")
    paper(tmp_path / "mine", missing)
    done = pullnet("reproduce", "mine", "--smoke", "--out", "out")
    assert done.returncode == 2
    told = "error: claim flows: measure window_needed cannot measure these runs: KeyError: 'window'; it is written for"
    assert told in done.stderr


def test_a_scenario_that_cannot_run_is_refused_before_others_do(pullnet: Pullnet, tmp_path: Path) -> None:
    second = EXPERIMENT.replace("[one]", "[two]").replace("180 kB", "180 kX")
    paper(tmp_path / "mine", CLAIM + CLAIM.replace('"flows"', '"b"').replace('"one"', '"two"'), EXPERIMENT + second)
    done = pullnet("reproduce", "mine", "--smoke", "--out", "out")
    assert done.returncode == 2
    assert "error: two: size 180 kX: --set traffic.0.size: " in done.stderr
    assert not list((tmp_path / "out").rglob("summary.json"))


def test_a_run_is_made_again_where_a_file_of_its_scenario_changed(pullnet: Pullnet, tmp_path: Path) -> None:
    place = paper(tmp_path / "mine", CLAIM.replace("flows.completed", "packets.data_unique"))
    traffic = '[{ kind = "incast", degree = 1, size = "90 kB" }, { kind = "flows", file = "flows.csv" }]'
    (place / "scenarios" / "one.toml").write_text(f"{SCENARIO.partition('traffic')[0]}traffic = {traffic}\n")

    def measured(bytes: int) -> tuple[float, str]:
        (place / "scenarios" / "flows.csv").write_text(f"src,dst,bytes,start_us\n0,1,{bytes},0\n")
        done = pullnet("reproduce", "mine", "--smoke", "--json", "--out", "out")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]["measured"], done.stderr

    first, _ = measured(9000)
    second, told = measured(900_000)
    assert second > first + 90
    assert "4 runs, about" in told
    again, told = measured(900_000)
    assert again == second
    assert "4 of them done before" in told


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
