"""What a sweep keeps in its folder: damaged and changed files, several requests, and two sweeps at once."""

import re
import subprocess
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import pullnet as api
from pullnet.sweeps import plan, work
from pullnet.sweeps.store import Store

from .conftest import COMMAND, WATCHDOG_S, Pullnet
from .test_sweep import records, rows


def test_a_record_that_is_damaged_is_made_again(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    command = ["sweep", "plain.toml", "--seeds", "1..3", "-o", "out", "--keep", "flows"]
    pullnet(*command)
    before = rows(tmp_path / "out")
    one, two, _ = sorted((tmp_path / "out" / "runs").rglob("*.json"))
    one.write_text(one.read_text()[:50])
    two.with_suffix(".flows.parquet").unlink()
    assert "3 of 3 runs, 2 of them new" in pullnet(*command).stdout
    stable = ["seed", "run", "fingerprint", "fct_us.p99"]
    assert_frame_equal(rows(tmp_path / "out").select(stable), before.select(stable))


@pytest.mark.parametrize("damage", ["a number", "a table", "half a table", "another run's record", "no object"])
def test_what_was_changed_on_disk_is_made_again_and_said(
    pullnet: Pullnet, plain: Path, tmp_path: Path, damage: str
) -> None:
    command = ["sweep", "plain.toml", "--seeds", "1,2", "-o", "out", "--keep", "flows"]
    pullnet(*command)
    before, table = rows(tmp_path / "out"), (tmp_path / "out" / "flows.parquet").read_bytes()
    one, two = (Store(tmp_path / "out").record(key) for key in before["run"])
    flows = one.with_suffix(".flows.parquet")
    match damage:
        case "a number":
            one.write_text(re.sub(r'"p99": ([\d.]+)', r'"p99": 1\1', one.read_text(), count=1))
        case "a table":
            rows(flows.parent, flows.stem).with_columns(size_bytes=1).write_parquet(flows)
        case "half a table":
            flows.write_bytes(flows.read_bytes()[:100])
        case "another run's record":
            one.write_bytes(two.read_bytes())
        case _:
            one.write_text("[1, 2]")
    done = pullnet(*command)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 runs, 1 of them new" in done.stdout
    place = one.relative_to(tmp_path)
    assert done.stderr == f"1 run made again, because records or tables of theirs were changed: {place}\n"
    stable = ["seed", "run", "fingerprint", "fct_us.p99"]
    assert_frame_equal(rows(tmp_path / "out").select(stable), before.select(stable))
    assert (tmp_path / "out" / "flows.parquet").read_bytes() == table
    assert pullnet(*command).stderr == ""


def test_tables_of_earlier_requests_are_kept_with_their_runs(plain: Path, tmp_path: Path) -> None:
    for keep in ("flows", "hosts"):
        api.sweep(plain, keep=[keep], out=tmp_path / "out")
    before = records(tmp_path / "out")
    assert api.sweep(plain, keep=["flows", "hosts"], out=tmp_path / "out").table("flows").height
    assert records(tmp_path / "out") == before


@pytest.mark.parametrize("damage", ["a setting", "cut", "a file", "gone"])
def test_a_scenario_that_was_changed_in_the_folder_is_restored(plain: Path, tmp_path: Path, damage: str) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,9000,0\n")
    listed = ['traffic.0={ kind = "flows", file = "flows.csv" }']
    first = api.sweep(plain, seeds=[1], set=listed, out=tmp_path / "out", workers=1)
    (kept,) = (tmp_path / "out" / "points").glob("*/scenario.toml")
    flows, whole = kept.parent / "inputs" / "flows.csv", kept.read_text()
    match damage:
        case "a setting":
            kept.write_text(whole.replace('"9 kB"', '"1500 B"', 1))
        case "cut":
            kept.write_text(whole[: len(whole) // 2])
        case "a file":
            flows.write_text("src,dst,bytes,start_ps\n0,1,90000,0\n")
        case _:
            flows.unlink()
    again = api.sweep(plain, seeds=[1, 2], set=listed, out=tmp_path / "out", workers=1)
    assert again.runs["fingerprint"][0] == first.runs["fingerprint"][0]
    assert again.runs["fingerprint"][1] == api.run(plain, set=listed, seed=2).summary.fingerprint
    assert flows.read_text().endswith("0,1,9000,0\n")


def test_a_scenario_that_was_changed_after_the_sweep_began_is_refused(plain: Path, tmp_path: Path) -> None:
    planned, store = plan.make(plain, [], [1]), Store(tmp_path / "out")
    store.open(planned)
    place = store.scenario(planned.points[0].digest)
    (task,) = work.tasks(planned, planned.runs, store)
    assert work.carry_out(task) is not None
    place.write_text("# a comment changes nothing\n" + place.read_text())
    assert work.carry_out(task) is not None
    place.write_text(place.read_text().replace('"9 kB"', '"1500 B"', 1))
    with pytest.raises(api.InputError, match=r"scenario.toml: it, or a file that it names, has been changed since"):
        work.carry_out(task)


def test_two_sweeps_in_one_folder_leave_the_tables_of_one(tmp_path: Path, plain: Path) -> None:
    """Both make their runs, and write tables and pictures at once."""
    assert plain.is_file()
    shared = [str(COMMAND), "sweep", "plain.toml", "-o", "out", "--keep", "flows", "--jobs", "1"]
    for _ in range(3):
        both = [
            subprocess.Popen([*shared, *more], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for more in (["--seeds", "1..8"], ["--seeds", "5..20", "--over", "topology.k=4,6"])
        ]
        for process in both:
            _, told = process.communicate(timeout=WATCHDOG_S)
            assert (process.returncode, told) == (0, "")
        loaded = api.load_sweep(tmp_path / "out")
        assert loaded.asked in (8, 32)
        assert loaded.runs.height == loaded.asked
        assert loaded.of("fct_us.p99")["runs"].sum() == loaded.asked
        assert loaded.table("flows")["seed"].unique().sort().to_list() == loaded.runs["seed"].unique().sort().to_list()
    assert [path.name for path in (tmp_path / "out").glob(".*")] == [".lock"]


def test_tables_of_different_requests_are_not_taken_for_one(plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = api.sweep(plain, seeds=[1], keep=["flows", "hosts"], out=out)
    other = (out / "points.parquet").read_bytes()
    second = api.sweep(plain, seeds=[1, 2], keep=["flows"], out=out)
    assert not (out / "hosts.parquet").exists()
    with pytest.raises(api.InputError, match=r"hosts.parquet: cannot be read: No such file"):
        first.table("hosts")
    with pytest.raises(api.InputError, match=r"flows.parquet: is not of the request in sweep.json"):
        first.table("flows")
    with pytest.raises(api.InputError, match="kept no table `hosts`"):
        second.table("hosts")
    (out / "points.parquet").write_bytes(other)
    with pytest.raises(api.InputError, match=r"points.parquet: is not of the request in sweep.json, .*run the sweep"):
        api.load_sweep(out)
