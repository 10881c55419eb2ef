"""The examples of docs/formats.md are files that scenarios take."""

import re
from pathlib import Path

import pytest

import pullnet

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
FOUND = re.findall(r"<!-- example: (\w+) (\S+)( \S+)? -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [(kind, name, text) for kind, name, _, text in FOUND]
MORE = {name: setting.strip() for _, name, setting, _ in FOUND}
"""Further settings of a table that names the file."""

SCENARIO = """
until = "all flows done"
[topology]
{topology}
[transport]
kind = "ndp"
[switch]
kind = "trim"
[[traffic]]
{traffic}
"""
STAR = 'kind = "star"\nhosts = 2'
INCAST = 'kind = "incast"\nsize = "90 kB"\ndegree = 1'


def parts(kind: str, name: str) -> dict[str, str]:
    """Tables of a scenario that name a file."""
    match kind:
        case "topology":
            return {"topology": f'kind = "file"\nfile = "{name}"\n{MORE.get(name, "")}', "traffic": INCAST}
        case "sizes":
            sizes = f'sizes = {{ file = "{name}", read = "steps" }}'
            return {"topology": STAR, "traffic": f'kind = "poisson"\nload = 0.5\nflows = 9\n{sizes}'}
        case _:
            return {"topology": STAR, "traffic": f'kind = "{kind}"\nfile = "{name}"'}


@pytest.mark.parametrize(("kind", "name", "text"), EXAMPLES, ids=[name for _, name, _ in EXAMPLES])
def test_an_example_runs(tmp_path: Path, kind: str, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(**parts(kind, name)))
    flows = pullnet.run(scenario, silence=["timeout_below_round_trip"]).summary.flows
    assert flows.completed == flows.started > 0


def test_every_format_has_an_example() -> None:
    endings = {(kind, Path(name).suffix) for kind, name, _ in EXAMPLES}
    assert endings >= {("topology", ending) for ending in (".toml", ".topo", ".txt", ".xml")}
    assert {kind for kind, _ in endings} == {"topology", "flows", "matrix", "sizes"}


def test_paths_name_links_by_direction(tmp_path: Path) -> None:
    text = next(text for _, name, text in EXAMPLES if name == "net.toml")
    (tmp_path / "net.toml").write_text(text)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(**parts("topology", "net.toml")))
    there, back = pullnet.paths(scenario, 0, 1), pullnet.paths(scenario, 1, 0)
    assert there.filter(path=1)["name"].to_list() == ["a -> left", "left -> right", "right -> b"]
    assert there["path"].max() == back["path"].max() == 1
    assert there.filter(path=0)["rate_bps"].to_list() == [10_000_000_000, 10_000_000_000, 25_000_000_000]
    assert back.filter(path=0)["rate_bps"].to_list() == [25_000_000_000, 5_000_000_000, 10_000_000_000]
    assert back.filter(path=0)["delay_ps"].to_list() == [1_000_000, 3_000_000, 1_000_000]
    for ends in ((0, 0), (0, 2)):
        with pytest.raises(pullnet.InputError):
            pullnet.paths(scenario, *ends)


def test_rows_of_paths_are_rows_of_ports(tmp_path: Path) -> None:
    text = SCENARIO.format(topology='kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2', traffic=INCAST)
    result = pullnet.run(text, set={"probes.port_series": {"interval": "10 us"}})
    links = pullnet.paths(text, 0, 3)
    joined = links.join(result.ports.select("row", "name"), on="row", suffix="_of_port")
    assert joined.height == links.height == 8
    assert joined["name"].to_list() == joined["name_of_port"].to_list()
    assert hasattr(result, "port_series")
    assert not hasattr(result, "latency")
    assert set(result.port_series["name"]) <= set(result.ports["name"])


def test_a_host_uses_all_the_nics_that_its_file_gives_it(tmp_path: Path) -> None:
    text = next(text for _, name, text in EXAMPLES if name == "nics.toml")
    (tmp_path / "nics.toml").write_text(text)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(**parts("topology", "nics.toml")).replace("90 kB", "9 MB"))
    result = pullnet.run(scenario)
    assert pullnet.paths(scenario, 0, 1)["path"].max() == 1
    used = result.ports.filter(result.ports["name"].is_in(["a nics -> left", "a nics -> right"]))["packets"].to_list()
    assert min(used) > 0.45 * sum(used) > 0
    rate = 9e6 * 8 / result.flows["fct_us"][0] / 1e3
    assert 40 < rate < 50, "two NICs of 25 Gb/s"
