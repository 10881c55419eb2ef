"""`pullnet check`, `schema`, `list`, `new`, and what the command says of itself."""

import json
from pathlib import Path

import pytest

import pullnet as api

from .conftest import Pullnet

KNOWN = {
    "protocols": "ndp",
    "switches": "trim",
    "topologies": "fat-tree",
    "traffic": "incast",
    "distributions": "web-search",
    "probes": "port_series",
}


@pytest.mark.parametrize("what", KNOWN)
def test_lists_name_what_there_is(pullnet: Pullnet, what: str) -> None:
    done = pullnet("list", what)
    names = json.loads(pullnet("list", what, "--json").stdout)
    assert done.returncode == 0
    assert KNOWN[what] in names
    assert names == api.catalogue(what)
    for name in names:
        assert name in done.stdout


def test_an_unknown_list_is_refused(pullnet: Pullnet) -> None:
    assert pullnet("list", "everything").returncode == 2
    with pytest.raises(api.InputError, match="use one of protocols"):
        api.catalogue("everything")


def test_the_schema_knows_the_tables(pullnet: Pullnet) -> None:
    schema = json.loads(pullnet("schema").stdout)
    assert schema == api.schema()
    assert "2020-12" in schema["$schema"]
    assert {"topology", "transport", "switch", "traffic"} <= set(schema["properties"])


def test_a_new_scenario_checks_and_is_not_overwritten(pullnet: Pullnet, tmp_path: Path) -> None:
    assert pullnet("new", 'my "first"').returncode == 0
    path = tmp_path / 'my "first".toml'
    assert api.check(path).name == 'my "first"'
    for name in ("load-0.5", "my.v2", "x."):
        assert pullnet("new", name).returncode == 0
        assert (tmp_path / f"{name.rstrip('.')}.toml").exists()
    done = pullnet("new", 'my "first"')
    assert done.returncode == 2
    assert "exists already; choose another name" in done.stderr


def test_check_shows_the_resolved_scenario(pullnet: Pullnet, small: Path) -> None:
    done = pullnet("check", "small.toml", "--set", "topology.k=8", "--seed", "11")
    assert done.returncode == 0
    assert done.stdout == api.check(small, set=["topology.k=8"], seed=11).resolved.replace(str(small), "small.toml")


def test_the_command_shows_its_help_and_version(pullnet: Pullnet) -> None:
    assert pullnet("--version").stdout == f"pullnet {api.__version__}\n"
    help_text = pullnet("--help").stdout
    for command in ("run", "check", "schema", "list", "new"):
        assert f"  {command} " in help_text
    assert pullnet("fly").returncode == 2
