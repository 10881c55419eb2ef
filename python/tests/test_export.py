"""Topologies and flows as files of other simulators, and back."""

import subprocess
import sys
from pathlib import Path

import pytest

import pullnet
from pullnet.errors import InputError

from .conftest import Pullnet

TREE = """name = "tree"
until = "all flows done"
[topology]
kind = "fat-tree"
k = 4
link = { rate = "10 Gbps", delay = "1 us" }
agg_link = { rate = "40 Gbps", delay = "700 ns" }
[transport]
kind = "ndp"
[switch]
kind = "trim"
[[traffic]]
kind = "random"
size = "30 kB"
start = "1.5 us"
priority = 2
tag = "some, tag"
"""


def from_file(name: str) -> str:
    return TREE.replace('kind = "fat-tree"\nk = 4\n', f'kind = "file"\nfile = "{name}"\n').replace(
        'link = { rate = "10 Gbps", delay = "1 us" }\nagg_link = { rate = "40 Gbps", delay = "700 ns" }\n', ""
    )


@pytest.mark.parametrize("name", ["net.toml", "net.topo", "net.txt"])
def test_a_topology_runs_alike_from_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / "tree.toml").write_text(TREE)
    pullnet.export_topology(tmp_path / "tree.toml", tmp_path / name)
    (tmp_path / "again.toml").write_text(from_file(name))
    one, other = pullnet.run(tmp_path / "tree.toml"), pullnet.run(tmp_path / "again.toml")
    assert other.ports["packets"].sum() > 0
    assert other.flows["ideal_fct_us"].to_list() == pytest.approx(one.flows["ideal_fct_us"].to_list())
    if name == "net.topo":  # a tree from any file is the same tree
        assert other.summary.fingerprint == one.summary.fingerprint


MATRIX = {
    "flows.csv": ("flows", ""),
    "flows.cm": ("matrix", 'start_unit = "ps"\n'),
    "flows.txt": ("matrix", 'format = "hpcc"\n'),
}


@pytest.mark.parametrize("name", MATRIX)
def test_flows_start_alike_from_every_format(tmp_path: Path, name: str) -> None:
    result = pullnet.run(TREE)
    pullnet.export_flows(result, tmp_path / name)
    kind, more = MATRIX[name]
    head, _, _ = TREE.partition("[[traffic]]")
    (tmp_path / "again.toml").write_text(f'{head}[[traffic]]\nkind = "{kind}"\nfile = "{name}"\n{more}')
    again = pullnet.run(tmp_path / "again.toml")
    kept = ["src", "dst", "size_bytes", "start_ps"] + ([] if name == "flows.txt" else ["priority"])
    kept += ["tag"] if name == "flows.csv" else []
    assert again.flows.select(kept).sort(kept).equals(result.flows.select(kept).sort(kept))


def test_a_flow_list_keeps_deadlines_tenants_coflows_and_receivers(tmp_path: Path) -> None:
    jobs = 'deadline = "300 us"\ntenant = "a, b"\ncoflow = "block"\n[[traffic]]\nkind = "random"\nsize = "9 kB"\n'
    result = pullnet.run(TREE + jobs)
    pullnet.export_flows(result, tmp_path / "flows.csv")
    head, _, _ = TREE.partition("[[traffic]]")
    (tmp_path / "again.toml").write_text(f'{head}[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n')
    again = pullnet.run(tmp_path / "again.toml")
    kept = ["src", "dst", "size_bytes", "start_ps", "priority", "tag", "tenant", "deadline_ps", "coflow"]
    assert result.flows["deadline_ps"].null_count() == result.flows["coflow"].null_count() == 16
    assert again.flows.select(kept).sort(kept).equals(result.flows.select(kept).sort(kept))


def test_a_session_to_several_receivers_stays_one(tmp_path: Path) -> None:
    sessions = TREE.replace('kind = "random"', 'kind = "replicate"').replace('"ndp"', '"scdp"')
    result = pullnet.run(sessions)
    pullnet.export_flows(result, tmp_path / "flows.csv")
    head, _, _ = sessions.partition("[[traffic]]")
    (tmp_path / "again.toml").write_text(f'{head}[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n')
    again = pullnet.run(tmp_path / "again.toml")
    assert again.summary.packets.copied == result.summary.packets.copied > 0
    assert again.flows.select("src", "dst", "session").equals(result.flows.select("src", "dst", "session"))


def test_senders_that_results_do_not_name_are_said(tmp_path: Path) -> None:
    head, _, _ = TREE.replace('"ndp"', '"scdp"').partition("[[traffic]]")
    (tmp_path / "list.csv").write_text("src,dst,bytes,start\n1,2,9000,0 s\n3;4;5,0,90000,0 s\n")
    scenario = tmp_path / "joined.toml"
    scenario.write_text(f'{head}[[traffic]]\nkind = "flows"\nfile = "list.csv"\n')
    for name in ("a.csv", "a.cm", "a.txt"):
        with pytest.raises(InputError) as refused:
            pullnet.export_flows(pullnet.run(scenario), tmp_path / name)
        said = "flow 1 has 3 senders, of which results name only the first, host 3; run the scenario of the result"
        assert said in str(refused.value)
    plain = pullnet.run(scenario, set={"traffic.0.parts": "plain"})
    pullnet.export_flows(plain, tmp_path / "a.csv")
    rows = [line.split(",")[:3] for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    assert rows == [["1", "2", "9000"], ["3", "0", "30000"], ["4", "0", "30000"], ["5", "0", "30000"]]


def test_a_matrix_states_the_hosts_of_the_network(tmp_path: Path) -> None:
    pullnet.export_flows(pullnet.run(TREE, set={"traffic.0.hosts": "0,1"}), tmp_path / "flows.cm")
    assert (tmp_path / "flows.cm").read_text().startswith("Nodes 16\nConnections 2\n")


def test_the_command_writes_both(tmp_path: Path, pullnet: Pullnet) -> None:
    (tmp_path / "tree.toml").write_text(TREE)
    assert pullnet("export", "topology", "tree.toml", "net.txt").returncode == 0
    assert (tmp_path / "net.txt").read_text().startswith("36 20 48\n16 17 18")
    assert pullnet("run", "tree.toml", "-o", "r", "--quiet").returncode == 0
    assert pullnet("export", "flows", "r", "flows.cm").returncode == 0
    assert (tmp_path / "flows.cm").read_text().startswith("Nodes 16\nConnections 16\n")


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    result = pullnet.run(TREE)
    with pytest.raises(InputError, match=r"ending `.xls` names no format; use .csv, .cm, .txt"):
        pullnet.export_flows(result, tmp_path / "a.xls")
    with pytest.raises(InputError, match="cannot be written: No such file or directory; choose another place"):
        pullnet.export_flows(result, tmp_path / "none" / "a.csv")
    star = TREE.replace('kind = "fat-tree"\nk = 4\n', 'kind = "star"\nhosts = 4\n').replace("agg_link", "# agg_link")
    with pytest.raises(InputError, match="this format describes trees of two or three tiers only"):
        pullnet.export_topology(star, tmp_path / "a.topo")
    endless = TREE.replace('size = "30 kB"', 'size = "endless"').replace(
        'until = "all flows done"', 'duration = "9 us"'
    )
    with pytest.raises(InputError, match=r"never ends, which this format cannot say; write a .csv or .cm file"):
        pullnet.export_flows(pullnet.run(endless), tmp_path / "a.txt")


FULL = """
import resource, sys
import numpy as np
import pullnet
from pullnet import traffic
from pullnet.cli import status
result = pullnet.run(sys.argv[1])
load = traffic.Volumes("a", 1.0, 0.0, np.random.default_rng(1).random(9_000), np.zeros(9_000, dtype=np.uint8))
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
for name in ("flows.csv", "flows.cm"):
    try:
        pullnet.export_flows(result, name)
    except pullnet.InputError as error:
        print(error)
for name in ("load.csv", "load.parquet"):
    try:
        traffic.write(load, name)
    except traffic.TrafficError as error:
        print(error)
status(["export", "topology", sys.argv[1], "net.toml"])
status(["new", "mine"])
"""


def test_a_file_that_finds_no_room_is_not_left_in_part(tmp_path: Path) -> None:
    (tmp_path / "tree.toml").write_text(TREE)
    command = [sys.executable, "-c", FULL, "tree.toml"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    assert done.stdout.count("cannot be written: File too large") == 6, done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["tree.toml"]
