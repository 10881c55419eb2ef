"""The records of kernels belong to the scripts as they are."""

import json
import tomllib

import pytest

from .page_examples import ROOT

FOLDER = ROOT / "vectors" / "kernel"
RECORDED = {path.name: json.loads(path.read_text())["scripts"] for path in sorted(FOLDER.glob("linux-*.json"))}
SCRIPTS = tomllib.loads((FOLDER / "scripts.toml").read_text())["script"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script["name"])
def test_a_script_was_recorded_as_it_is(script: dict[str, object]) -> None:
    found = [runs[script["name"]] for runs in RECORDED.values() if script["name"] in runs]
    assert found
    for run in found:
        assert {key: run["script"][key] for key in script} == script
        assert 1 <= len(run["rounds"]) <= run["script"]["rounds"]


def test_no_other_script_was_recorded() -> None:
    names = {script["name"] for script in SCRIPTS}
    assert all(set(runs) <= names for runs in RECORDED.values())


def test_acks_were_delayed_where_they_should_be() -> None:
    for run in (run for runs in RECORDED.values() for run in runs.values() if run["script"]["protocol"] == "tcp"):
        last = run["rounds"][-1]
        if run["script"]["delayed_ack"]:
            first, _, end = last["sent"][0].partition("-")
            assert last["acks"][0] <= (int(end) - int(first) + 2) // 2 + 1
