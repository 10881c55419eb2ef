"""A result runs again from its own folder, with the files that its scenario names."""

import hashlib
import shutil
from pathlib import Path

import polars as pl
import pytest

import pullnet

from .conftest import Pullnet, summary_of

TOPOLOGY = """
[defaults]
rate = "10 Gbps"
delay = "1 us"
[[switch]]
name = "s"
""" + "".join(f'[[host]]\nname = "h{n}"\n[[link]]\nbetween = ["h{n}", "s"]\n' for n in range(4))

SCENARIO = """
name = "Files of every kind"
until = "all flows done"
[topology]
kind = "file"
file = "nets/star.toml"
[transport]
kind = "ndp"
[switch]
kind = "trim"
[[traffic]]
kind = "flows"
file = "a/flows.csv"
[[traffic]]
kind = "flows"
file = "b/flows.csv"
tag = "other"
[[traffic]]
kind = "flows"
file = "b/flows.csv"
start = "50 us"
[[traffic]]
kind = "flows"
file = "list.parquet"
[[traffic]]
kind = "matrix"
file = "{matrix}"
start_unit = "us"
[[traffic]]
kind = "poisson"
load = 0.3
flows = 20
sizes = { file = "sizes.csv", read = "linear" }
"""

MATRIX = "Nodes 4\nConnections 2\n0->1 id 1 start 3 size 20000\n1->2 id 2 start 5 size 9000\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A scenario that names files of every kind, two of one name, one in Parquet, one by its full path."""
    folder = tmp_path / "project"
    for name in ("nets", "a", "b"):
        (folder / name).mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere.cm"
    elsewhere.write_text(MATRIX)
    (folder / "nets/star.toml").write_text(TOPOLOGY)
    (folder / "a/flows.csv").write_text("src,dst,bytes,start\n0,1,90000,0 us\n")
    (folder / "b/flows.csv").write_text("src,dst,bytes,start\n2,3,45000,4 us\n")
    pl.DataFrame({"src": [3], "dst": [0], "bytes": [30000], "start_us": [7]}).write_parquet(folder / "list.parquet")
    (folder / "sizes.csv").write_text("bytes,cdf\n100,0\n20000,1\n")
    (folder / "scenario.toml").write_text(SCENARIO.replace("{matrix}", str(elsewhere)))
    return folder


def test_a_result_runs_again_wherever_it_is(pullnet: Pullnet, project: Path, tmp_path: Path) -> None:
    first = pullnet("run", "project/scenario.toml", "--out", "first", "--json", "--set", "seed=4")
    assert first.returncode == 0, first.stderr
    (tmp_path / "moved").mkdir()
    shutil.move(tmp_path / "first", tmp_path / "moved/away")
    shutil.rmtree(project)
    (tmp_path / "elsewhere.cm").unlink()
    assert pullnet("check", "moved/away/scenario.toml").returncode == 0
    again = pullnet("run", "moved/away/scenario.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
    third = pullnet("run", "again/scenario.toml", "--out", "third")
    assert third.returncode == 0, third.stderr
    places = ("moved/away", "again", "third")
    assert len({summary_of(tmp_path / place)["fingerprint"] for place in places}) == 1
    files = [sorted(str(f.relative_to(tmp_path / p)) for f in (tmp_path / p).rglob("*")) for p in places]
    assert files[0] == files[1] == files[2]


def test_inputs_keep_their_names_and_hashes(pullnet: Pullnet, project: Path, tmp_path: Path) -> None:
    assert pullnet("run", "project/scenario.toml", "--out", "out").returncode == 0
    kept = tmp_path / "out/inputs"
    rows = [line.partition("  ") for line in (kept / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, _, name in rows}
    assert set(sums) == {"star.toml", "flows.csv", "1/flows.csv", "list.parquet.csv", "elsewhere.cm", "sizes.csv"}
    for name, digest in sums.items():
        assert hashlib.sha256((kept / name).read_bytes()).hexdigest() == digest
    assert (kept / "1/flows.csv").read_text() == (project / "b/flows.csv").read_text()
    text = (tmp_path / "out/scenario.toml").read_text()
    assert text.count('file = "inputs/1/flows.csv"') == 2


def test_a_result_whose_inputs_were_changed_is_refused(pullnet: Pullnet, project: Path, tmp_path: Path) -> None:
    assert pullnet("run", "project/scenario.toml", "--out", "out").returncode == 0
    (tmp_path / "out/inputs/sizes.csv").write_text("bytes,cdf\n100,0\n30000,1\n")
    done = pullnet("run", "out/scenario.toml", "--out", "again")
    assert (done.returncode, done.stderr) == (
        2,
        "error: out/inputs/sizes.csv: is not what the result was made from (SHA-256); "
        "restore it, or remove out/inputs/SHA256SUMS to run with what is there\n",
    )
    (tmp_path / "out/inputs/SHA256SUMS").unlink()
    assert pullnet("run", "out/scenario.toml", "--out", "again").returncode == 0


def test_inputs_can_stay_where_they_are(pullnet: Pullnet, project: Path, tmp_path: Path) -> None:
    assert pullnet("run", "project/scenario.toml", "--out", "out", "--no-inputs").returncode == 0
    assert [file.name for file in (tmp_path / "out/inputs").iterdir()] == ["SHA256SUMS"]
    shutil.move(tmp_path / "out", tmp_path / "moved")
    assert pullnet("run", "moved/scenario.toml", "--out", "again").returncode == 0
    assert summary_of(tmp_path / "moved")["fingerprint"] == summary_of(tmp_path / "again")["fingerprint"]
    (project / "list.parquet").unlink()
    (project / "sizes.csv").write_text("bytes,cdf\n100,0\n30000,1\n")
    done = pullnet("run", "moved/scenario.toml", "--out", "third")
    assert done.returncode == 2
    assert "sizes.csv: is not what the result was made from" in done.stderr


def test_a_scenario_without_files_carries_none(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    assert pullnet("run", "small.toml", "--out", "out").returncode == 0
    assert not (tmp_path / "out/inputs").exists()


def test_results_of_the_api_run_again(project: Path, tmp_path: Path) -> None:
    jobs = [pullnet.Job(project / "scenario.toml", {"traffic.5.load": 0.2}, seed) for seed in (1, 2)]
    results = pullnet.run_many(jobs, workers=2, out=tmp_path / "many")
    for result in results:
        assert result.path is not None
        again = pullnet.run(result.path / "scenario.toml")
        assert again.summary.fingerprint == result.summary.fingerprint
        assert pullnet.load(result.path).scenario == result.scenario
