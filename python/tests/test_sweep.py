"""`pullnet sweep` and `pullnet.sweep` on this machine: what is run, kept, counted, refused, and how it ends."""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import pullnet as api
from pullnet.results import tables
from pullnet.sweeps import axes, data, figure, local
from pullnet.sweeps.store import Record, Store

from .conftest import COMMAND, PLAIN, WATCHDOG_S, Pullnet, wait_until

# Half a second of a core and more: long enough to be caught at it.
SLOW = PLAIN.replace('until = "all flows done"\nlimit = "100 ms"', 'duration = "200 ms"').replace("90 kB", "endless")


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    return path


def rows(folder: Path, name: str = "runs") -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def records(folder: Path) -> dict[str, int]:
    """When each record was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "runs").rglob("[0-9a-f]*.json")}


def test_every_combination_is_run_once_with_every_seed(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    windows, degrees = ["10 packets", "23 packets"], [4, 8]
    varied = ["--over", f"transport.initial_window={','.join(windows)}", "--over", "traffic.1.degree=4..8..4"]
    done = pullnet("sweep", "plain.toml", *varied, "--seeds", "1..3", "-o", "out", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = rows(tmp_path / "out")
    asked = [(seed, window, degree) for seed in (1, 2, 3) for window in windows for degree in degrees]
    assert found.select("seed", "transport.initial_window", "traffic.1.degree").rows() == asked
    assert found["run"].n_unique() == 12
    for row in found.filter(pl.col("seed") == 2).iter_rows(named=True):
        changed = {path: row[path] for path in ("transport.initial_window", "traffic.1.degree")}
        single = api.run(plain, set=changed, seed=2).summary
        assert row["fingerprint"] == single.fingerprint
        assert (row["fct_us.p99"], row["flows.completed"]) == (single.fct_us.p99, single.flows.completed)
        assert row["by_tag.incast.fct_us.p50"] == single.by_tag["incast"].fct_us.p50
    units = {field.name: field.metadata.get(b"unit") for field in pq.read_schema(tmp_path / "out" / "runs.parquet")}
    assert (units["fct_us.p99"], units["goodput_gbps.total"], units["cost.cpu_s"]) == (b"us", b"Gb/s", b"s")


def test_only_what_is_missing_is_run(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    first = ["sweep", "plain.toml", "--over", "topology.k=4,6", "-o", "out"]
    assert "4 of 4 runs, 4 of them new; in out" in pullnet(*first, "--seeds", "1,2").stdout
    before, data = records(tmp_path / "out"), rows(tmp_path / "out")
    again = pullnet(*first, "--seeds", "1,2")
    assert "4 of 4 runs, 0 of them new; in out" in again.stdout
    assert records(tmp_path / "out") == before
    assert_frame_equal(rows(tmp_path / "out"), data)
    assert "6 of 6 runs, 2 of them new" in pullnet(*first, "--seeds", "1..3").stdout
    assert records(tmp_path / "out").items() > before.items()
    assert_frame_equal(rows(tmp_path / "out").filter(pl.col("seed") < 3), data)


def test_runs_are_known_by_their_content(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    """Settings, files and seeds make another run; the name of the file and how a value is written do not."""
    listed = 'traffic.0={ kind = "flows", file = "flows.csv" }'
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,9000,0\n")

    def new(file: str, *more: str) -> int:
        done = pullnet("sweep", file, "-o", "out", "--seeds", "5", "--json", *more)
        assert done.returncode == 0, done.stderr
        count: int = json.loads(done.stdout)["runs"]["new"]
        return count

    assert new("plain.toml") == 1
    (tmp_path / "copy.toml").write_text("# the same\n" + PLAIN)
    assert new("copy.toml", "--over", "topology.k=4") == 0
    assert new("plain.toml", "--set", "transport.initial_window=9 packets") == 1
    assert new("plain.toml", "--set", listed) == 1
    assert new("plain.toml", "--set", listed) == 0
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,18000,0\n")
    assert new("plain.toml", "--set", listed) == 1
    found = rows(tmp_path / "out")
    assert found["fingerprint"].to_list() == [api.run(plain, set=[listed], seed=5).summary.fingerprint]


def test_points_have_mean_and_confidence_interval(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    pullnet("sweep", "plain.toml", "--over", "traffic.1.degree=8,4", "--seeds", "1..4", "-o", "out", "--json")
    runs, points = rows(tmp_path / "out"), rows(tmp_path / "out", "points")
    here = points.filter(pl.col("metric") == "fct_us.p99")
    assert here["traffic.1.degree"].to_list() == [8, 4], "in the order in which they were asked for"
    for row in here.iter_rows(named=True):
        values = runs.filter(pl.col("traffic.1.degree") == row["traffic.1.degree"])["fct_us.p99"].to_list()
        # Student's t for three degrees of freedom, from a printed table.
        half = 3.182446 * statistics.stdev(values) / 2
        assert (row["runs"], row["missing"], row["unit"]) == (4, 0, "us")
        assert row["mean"] == pytest.approx(statistics.mean(values))
        assert (row["low"], row["high"]) == pytest.approx((row["mean"] - half, row["mean"] + half), rel=1e-6)
    assert not {"seed", "threads", "traffic.1.degree"} & set(points["metric"])


def test_one_seed_has_no_interval_and_missing_values_are_counted(plain: Path) -> None:
    found = api.sweep(SLOW, {"duration": ["1 us"]}, [1, 2])
    (row,) = found.of("fct_us.p99").rows(named=True)
    assert (row["runs"], row["missing"], row["mean"], row["low"]) == (0, 2, None, None)
    (alone,) = api.sweep(plain, seeds=[4]).of("fct_us.p99").rows(named=True)
    assert (alone["runs"], alone["sd"], alone["low"], alone["high"]) == (1, None, None, None)
    assert alone["mean"] == api.run(plain, seed=4).summary.fct_us.p99
    with pytest.raises(api.InputError, match=r"no run has a value; there is nothing to draw"):
        found.plot("fct_us.p99", plain.with_suffix(".png"))


def test_tables_of_all_runs_carry_the_parameters(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    over = ["--over", "transport.initial_window=10 packets,23 packets", "--seeds", "1,2", "--keep", "flows"]
    assert pullnet("sweep", "plain.toml", *over, "-o", "out").returncode == 0
    table = rows(tmp_path / "out", "flows")
    assert table.columns[:2] == ["transport.initial_window", "seed"]
    here = table.filter((pl.col("transport.initial_window") == "10 packets") & (pl.col("seed") == 2))
    single = api.run(plain, set={"transport.initial_window": "10 packets"}, seed=2)
    assert_frame_equal(here.drop("transport.initial_window", "seed"), single.flows)
    assert table.height == 4 * single.flows.height


def test_tables_that_do_not_fit_together_are_refused(plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    api.sweep(plain, seeds=[1, 2], keep=["hosts"], out=out, workers=1)
    before = (out / "hosts.parquet").read_bytes()
    key, kept = api.load_sweep(out).runs["run"][0], Store(out)
    table = tables.parquet(pl.DataFrame({"host": [1]}).to_arrow())
    kept.save(Record(key, json.dumps(kept.load(key)), {"hosts": table}))
    with pytest.raises(api.InputError, match="--keep hosts: its columns are not the same at all points; leave it out"):
        api.sweep(plain, seeds=[1, 2], keep=["hosts"], out=out, workers=1)
    assert (out / "hosts.parquet").read_bytes() == before
    assert [path.name for path in out.glob(".*")] == [".lock"]


def test_a_parameter_and_a_column_of_the_same_name_stand_beside_each_other(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(PLAIN)
    over = ["--over", 'transport={ kind = "ndp" },{ kind = "phost" }', "--keep", "flows"]
    done = pullnet("sweep", "plain.toml", *over, "-o", "out")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "out", "flows").group_by("transport", "flows.transport").len().sort("transport")
    assert found.select("transport", "flows.transport").rows() == [
        ('{ kind = "ndp" }', "ndp"),
        ('{ kind = "phost" }', "phost"),
    ]
    schema = pq.read_schema(tmp_path / "out" / "flows.parquet")
    assert schema.field("size_bytes").metadata[b"unit"] == b"B"


def test_a_point_runs_again_from_what_is_kept(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,9000,0\n")
    listed = 'traffic.0={ kind = "flows", file = "flows.csv" }'
    pullnet("sweep", "plain.toml", "--set", listed, "--seeds", "8", "-o", "out")
    (tmp_path / "flows.csv").unlink()
    (kept,) = (tmp_path / "out" / "points").glob("*/scenario.toml")
    assert api.run(kept, seed=8).summary.fingerprint == rows(tmp_path / "out")["fingerprint"][0]


def test_processes_and_one_process_come_to_the_same(plain: Path) -> None:
    alone, shared = (api.sweep(plain, ["topology.k=4,6"], "1..3", workers=count).runs for count in (1, 2))
    same = [name for name in alone.columns if not name.startswith("cost.")]
    assert_frame_equal(alone.select(same), shared.select(same))


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [str(COMMAND), "sweep", "slow.toml", "-o", "out", "--jobs", "2", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# So many runs that a sweep is still at work however late a test looks at it.
ENDLESS = ("--seeds", "1..1000")


def children(pid: int) -> list[int]:
    """Workers of a process, without the tracker that Python puts beside them."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_an_interruption_loses_nothing(pullnet: Pullnet, slow: Path, tmp_path: Path) -> None:
    process = started(tmp_path, *ENDLESS)
    wait_until(lambda: len(records(tmp_path / "out")) >= 2)
    process.send_signal(signal.SIGINT)
    output, told = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 3
    assert "stopping once the runs that have begun are done, which are kept" in told
    kept = records(tmp_path / "out")
    assert 2 <= len(kept) < 1000
    assert f"{len(kept)} of 1000 runs" in output
    assert sorted(rows(tmp_path / "out")["seed"]) == list(range(1, len(kept) + 1))
    more = len(kept) + 3
    again = pullnet("sweep", "slow.toml", "-o", "out", "--seeds", f"1..{more}", "--jobs", "2")
    assert f"{more} of {more} runs, 3 of them new" in again.stdout
    assert records(tmp_path / "out").items() > kept.items()
    assert sorted(rows(tmp_path / "out")["seed"]) == list(range(1, more + 1))


def test_a_second_interruption_leaves_at_once_and_keeps_what_is_done(slow: Path, tmp_path: Path) -> None:
    process = started(tmp_path, "--seeds", "1..4", "--set", "duration=100 s")
    workers = wait_until(lambda: children(process.pid))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "Ctrl-C again leaves at once" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 3
    wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers))


def test_workers_end_with_a_sweep_that_is_killed(pullnet: Pullnet, slow: Path, tmp_path: Path) -> None:
    process = started(tmp_path, *ENDLESS)
    wait_until(lambda: records(tmp_path / "out"))
    workers = children(process.pid)
    assert workers
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=WATCHDOG_S)
    wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers))
    kept = records(tmp_path / "out")
    more = len(kept) + 3
    assert pullnet("sweep", "slow.toml", "-o", "out", "--seeds", f"1..{more}").returncode == 0
    assert records(tmp_path / "out").items() >= kept.items()
    assert sorted(rows(tmp_path / "out")["seed"]) == list(range(1, more + 1))


def test_a_worker_that_is_killed_is_replaced(slow: Path, tmp_path: Path) -> None:
    process = started(tmp_path, "--seeds", "1..8")
    os.kill(wait_until(lambda: children(process.pid))[0], signal.SIGKILL)
    output, told = process.communicate(timeout=WATCHDOG_S)
    assert (process.returncode, "error" in told) == (0, False)
    assert "8 of 8 runs, 8 of them new" in output
    assert sorted(rows(tmp_path / "out")["seed"]) == list(range(1, 9))


def test_a_run_that_is_not_to_mind_an_interruption_does_not(slow: Path, tmp_path: Path) -> None:
    """Workers leave Ctrl-C to the sweep, and shells have what runs in the background ignore it."""
    line = f"trap '' INT; exec {COMMAND} run slow.toml --set 'duration=100 s' -o out --quiet"
    process = subprocess.Popen(["bash", "-c", line], cwd=tmp_path)
    wait_until(lambda: list(tmp_path.glob(".out.unfinished*")))
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(WATCHDOG_S) == 3


def test_what_kills_its_process_every_time_is_given_up() -> None:
    found = dict(local.side_by_side(_dies_at_three, [1, 3, 5], 1, local.NEVER, lambda: None))
    assert (found[1], found[5]) == (None, None)
    assert "its process was killed 3 times" in str(found[3])


def test_what_runs_beside_it_is_not_given_up() -> None:
    found = dict(local.side_by_side(_dies_at_three, [0.2, 3, 0.3, 0.4, 0.5], 2, local.NEVER, lambda: None))
    assert [number for number, outcome in found.items() if outcome is not None] == [3]
    assert len(found) == 5


def _dies_at_three(number: float) -> None:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number < 1:
        time.sleep(number)


def test_progress_tells_when_the_rest_will_be_done(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from pullnet.sweeps import progress

    now = 100.0
    monkeypatch.setattr("pullnet.sweeps.progress.time.monotonic", lambda: now)
    tally = progress.Tally("Small", 40, 10)
    now += 4
    tally.step()
    assert capsys.readouterr().err == "", "not yet time for a line"
    now += 8
    tally.step(failed=True)
    assert capsys.readouterr().err == "Small: 12 of 40 runs, 1 failed, ETA 0:02:48\n"
    tally = progress.Tally("Unequal", 40, 10, work=100.0)
    now += 12
    tally.step(work=25.0)
    assert capsys.readouterr().err == "Unequal: 11 of 40 runs, ETA 0:00:36\n", "a quarter of the work is done"
    now += 12
    tally.enter("measuring claim 3 of 9")
    assert capsys.readouterr().err == "Unequal: measuring claim 3 of 9\n"


REFUSED = {
    "no values": (
        ["--over", "topology.k"],
        "error: --over topology.k: names no values; write path=values, for instance --over topology.k=4,8,12 or "
        "--over traffic.0.degree=10..100..10\n",
    ),
    "one value is impossible": (
        ["--over", "topology.k=4,5,6"],
        "error: --over topology.k=5: 5 is not possible; use an even number from 2 to 128\n",
    ),
    "no such setting": (
        ["--over", "topology.kk=4"],
        'error: --over topology.kk=4: is not a setting here; did you mean "k"?\n',
    ),
    "the seed": (
        ["--over", "seed=1,2"],
        "error: --over seed: seeds are no setting to sweep over; use --seeds, for instance --seeds 1..50\n",
    ),
    "twice in a list": (
        ["--over", "topology.k=4,4"],
        "error: --over topology.k: 4 stands there twice; list each value once\n",
    ),
    "twice in other words": (
        ["--over", "topology.k=4,6", "--over", "traffic.1.start=10 us,0.01 ms,20 us,10us", "--seeds", "1"],
        "error: --over traffic.1.start: 10 us and 0.01 ms and 10us come to the same scenario and would count twice; "
        "list one of them\n",
    ),
    "a number twice": (
        ["--over", "transport.pull_rate=1,1.0,0.5", "--over", "topology.k=4,6"],
        "error: --over transport.pull_rate: 1 and 1.0 come to the same scenario and would count twice; list one of "
        "them\n",
    ),
    "two lists": (
        ["--over", "topology.k=4", "--over", "topology.k=6"],
        "error: --over topology.k: is given twice; list all its values once\n",
    ),
    "fixed and varied": (
        ["--over", "topology.k=4", "--set", "topology.k=6"],
        "error: --over topology.k: is also given by --set; use one of them\n",
    ),
    "a range the wrong way": (
        ["--over", "traffic.1.degree=8..4"],
        "error: --over traffic.1.degree: 8..4 is an empty range; write first..last or first..last..step\n",
    ),
    "a step of zero": (
        ["--over", "traffic.1.degree=1..5..0"],
        "error: --over traffic.1.degree: 1..5..0 has a step of 0; use 1 or more\n",
    ),
    "an endless range": (
        ["--over", "traffic.1.degree=1..99999999999"],
        "error: --over traffic.1.degree: 1..99999999999 has 99999999999 values; use at most 100000, or a larger step\n",
    ),
    "too many points": (
        ["--over", "traffic.1.degree=1..1000", "--over", "traffic.0.tag=1..1000"],
        "error: --over: the values combine to 1000000 points; use at most 100000\n",
    ),
    "a seed twice": (
        ["--seeds", "1,2,1"],
        "error: --seeds: 1 is named twice and would count twice; name each seed once\n",
    ),
    "no such table": (
        ["--keep", "colours"],
        "error: --keep colours: there is no such table; there are flows, hosts, ports, occupancy, series, port_series, "
        "latency, control, packets, hops, incidents, timeouts\n",
    ),
    "a table that is not recorded": (
        ["--keep", "latency"],
        "error: --keep latency: the scenario does not record it; ask for it under [probes] with latency = true\n",
    ),
    "certainty": (
        ["--confidence", "1"],
        "error: --confidence: 1.0 is out of range; use a number between 0 and 1, such as 0.95\n",
    ),
    "something else in its place": (
        ["--out", "taken"],
        "error: taken: holds something else than a sweep; choose another with --out\n",
    ),
    "a file in its place": (
        ["--out", "plain.toml"],
        "error: plain.toml: cannot be written: File exists; runs that are done are kept, choose another place with "
        "--out or make room\n",
    ),
    "no scheduler": (
        ["--on", "localhost"],
        "error: --on localhost: is no scheduler; write dask://HOST:PORT, for instance dask://127.0.0.1:8786\n",
    ),
    "two places": (["--on", "dask://127.0.0.1:1", "--slurm"], "error: --on and --slurm: use one of them\n"),
    "no array": (
        ["--slurm-option=--partition=x"],
        "error: --slurm-option: is for --slurm; add it, or leave this out\n",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused(pullnet: Pullnet, plain: Path, tmp_path: Path, case: str) -> None:
    arguments, message = REFUSED[case]
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("")
    done = pullnet("sweep", "plain.toml", *arguments, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (2, message, "")
    assert not (tmp_path / "results").exists()


def test_an_unknown_metric_is_refused_with_what_is_near(pullnet: Pullnet, plain: Path) -> None:
    done = pullnet("sweep", "plain.toml", "--metric", "fct_us.p95")
    assert done.returncode == 2
    assert re.match(r"error: --metric fct_us.p95: no run has it; did you mean fct_us.p\d\d or", done.stderr)
    assert not (plain.parent / "results").exists(), "before anything runs"
    assert pullnet("sweep", "plain.toml", "--metric", "fct_us.p90").returncode == 0


UNKNOWN_NAMES = {
    "by_tag.nosuch.fct_us.p90": "no point has the tag 'nosuch'; use one of a.b, bulk, incast",
    "by_tag.a.flows.started": "no point has the tag 'a'; use one of a.b, bulk, incast",
    "by_transport.tcp.fct_us.p90": "no point has the transport 'tcp'; use one of ndp",
    "by_tenant.red.fct_us.p90": "no point has the tenant 'red'; none has a tenant",
    "packets.trimmed_by_tier.tor": "no point has the tier 'tor'; use one of ",
}


def test_names_that_no_point_has_are_refused_before_anything_runs(pullnet: Pullnet, plain: Path) -> None:
    metrics = [part for name in UNKNOWN_NAMES for part in ("--metric", name)]
    done = pullnet("sweep", "plain.toml", "--over", "traffic.1.tag=a.b,incast", *metrics)
    assert done.returncode == 2
    assert not (plain.parent / "results").exists()
    for line, (name, reason) in zip(done.stderr.splitlines(), UNKNOWN_NAMES.items(), strict=True):
        assert line.startswith(f"error: --metric {name}: {reason}"), line


def test_a_name_that_one_point_has_is_accepted(pullnet: Pullnet, plain: Path) -> None:
    over = ["--over", "traffic.1.tag=a.b,incast", "--metric", "by_tag.a.b.flows.started"]
    done = pullnet("sweep", "plain.toml", *over)
    assert done.returncode == 0, done.stderr


def test_an_error_about_a_name_lists_a_few_of_many() -> None:
    many = {"by_tag": {f"tag {number}" for number in range(100)}}
    error = data.unknown_name("by_tag.tag 1000.flows.started", many)
    assert error is not None and "tag 100, " not in error
    assert error.endswith("and 92 more") and "tag 10," in error
    assert data.unknown_name("by_tag.tag 10.flows.started", many) is None
    assert data.unknown_name("failures.any", many) is None


def test_every_metric_of_a_run_can_be_asked_for(plain: Path) -> None:
    found = api.sweep(plain, set=["traffic.1.tag=a/b.x_us.flows"])
    assert [name for name in found.metrics if not data.is_metric(name)] == []
    assert not any(map(data.is_metric, ["seed", "complete", "fct_us", "fct_us.p99.x", "by_tag.a", "", "warnings"]))


def test_a_tag_has_no_unit_and_makes_no_folder(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    name = "by_tag.a/b.x_us.flows.completed"
    done = pullnet("sweep", "plain.toml", "--set", "traffic.1.tag=a/b.x_us", "--metric", name, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["runs", name]
    assert (tmp_path / "out" / "by_tag.a_b.x_us.flows.completed.png").is_file()
    assert data.unit("by_tag.a_s.slowdown.p99") == data.unit("packets.trimmed_by_tier.x_bytes") == ""
    assert data.unit("by_tag.a_s.fct_us.p99") == "us"


def test_a_mean_says_over_how_many_runs_it_is(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    first = sorted(api.sweep(plain, seeds=range(1, 5)).runs["fct_us.min"])
    ended = next(number for number in (1, 2, 3) if first[number] > first[number - 1])
    short = f"limit={(first[ended - 1] + first[ended]) / 2:.3f} us"
    metrics = ["--metric", "fct_us.p99", "--metric", "flows.started"]
    done = pullnet("sweep", "plain.toml", "--set", short, "--seeds", "1..4", *metrics, "-o", "out")
    words = done.stdout.split("\n")[1].split()
    assert words[0] == "4"
    assert " ".join(words).count(f"({ended} of 4)") == 1


def test_runs_that_cannot_be_made_are_named_and_the_rest_is_kept(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    pullnet("sweep", "plain.toml", "--seeds", "1", "-o", "out")
    (record,) = (tmp_path / "out" / "runs").rglob("*.json")
    others = [folder for folder in (f"{number:02x}" for number in range(256)) if folder != record.parent.name]
    for folder in others:  # where no record can be put
        (tmp_path / "out" / "runs" / folder).write_text("")
    done = pullnet("sweep", "plain.toml", "--seeds", "1,2", "-o", "out")
    assert done.returncode == 2
    assert re.match(r"error: seed 2: out/runs/..: cannot be written: File exists; runs that are done", done.stderr)
    assert rows(tmp_path / "out")["seed"].to_list() == [1]


def test_what_changes_nothing_is_warned_of(pullnet: Pullnet, plain: Path) -> None:
    over = ["sweep", "plain.toml", "--over", "traffic.1.tag=one,two", "--over", "traffic.1.degree=4,8"]
    expected = "warning: traffic.1.tag: its values change no fingerprint [unchanged_result]\n"
    assert expected in pullnet(*over, "-o", "a").stdout
    assert expected not in pullnet(*over, "-o", "b", "--silence", "unchanged_result").stdout


def test_a_dry_run_runs_nothing(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    done = pullnet("sweep", "plain.toml", "--over", "topology.k=4..8..2", "--seeds", "1..50", "--dry-run")
    assert (done.returncode, done.stdout) == (
        0,
        "topology.k: 4, 6, 8\n3 points, 50 seeds: 150 runs, 150 of them still to be made; in results/small-sweep\n",
    )
    assert not (tmp_path / "results").exists()


def test_what_is_shown_and_drawn(pullnet: Pullnet, plain: Path, tmp_path: Path) -> None:
    over = ["--over", "switch.data_queue=4 packets,8 packets", "--seeds", "1..3", "--metric", "packets.trimmed"]
    done = pullnet("sweep", "plain.toml", *over)
    folder = tmp_path / "results" / "small-sweep"
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["switch.data_queue", "runs", "packets.trimmed"]
    assert [line[:9] for line in lines[:2]] == ["4 packets", "8 packets"]
    assert (folder / "packets.trimmed.png").stat().st_size > 5000
    document = json.loads(pullnet("sweep", "plain.toml", *over, "--json").stdout)
    trimmed = rows(folder).group_by("switch.data_queue", maintain_order=True).agg(pl.col("packets.trimmed").mean())
    means = [point["metrics"]["packets.trimmed"]["mean"] for point in document["points"]]
    assert means == pytest.approx(trimmed["packets.trimmed"].to_list())
    assert document["runs"] == {"asked": 6, "there": 6, "new": 0, "failed": 0}


def test_an_early_end_shows_in_the_exit_code(pullnet: Pullnet, plain: Path) -> None:
    done = pullnet("sweep", "plain.toml", "--set", "limit=20 us", "--seeds", "1,2")
    assert done.returncode == 3
    assert "warning: unfinished_flows in 2 of 2 runs" in done.stdout


def test_a_sweep_from_python(plain: Path, tmp_path: Path) -> None:
    found = api.sweep(plain, {"topology.k": [4, 6], "transport.mtu": ["1500 B"]}, range(1, 3), out=tmp_path / "out")
    assert (found.asked, found.runs.height, found.path) == (4, 4, tmp_path / "out")
    assert found.of("fct_us.p99").columns == [
        *("topology.k", "transport.mtu", "runs", "missing", "mean", "sd", "low", "high", "unit")
    ]
    loaded = api.load_sweep(tmp_path / "out")
    assert_frame_equal(loaded.runs, found.runs)
    assert_frame_equal(loaded.points, found.points)
    assert loaded.plot("fct_us.p99", tmp_path / "picture.svg").read_text().startswith("<?xml")
    nowhere = re.escape(f"{tmp_path}/no/a.svg: there is no folder {tmp_path}/no; make it first")
    with pytest.raises(api.InputError, match=nowhere):
        loaded.plot("fct_us.p99", tmp_path / "no" / "a.svg")
    with pytest.raises(api.InputError, match="of: metric=5 is of the wrong type; give text"):
        loaded.of(5)  # type: ignore[arg-type]
    with pytest.raises(api.InputError, match="kept no table `flows`; name it in `keep`"):
        found.table("flows")
    with pytest.raises(api.InputError, match=r"no run has it; did you mean fct_us\.p99"):
        found.of("fct.p99")
    with pytest.raises(api.InputError, match="is not a sweep that has run"):
        api.load_sweep(tmp_path)


def test_a_sweep_without_a_folder_stays_in_memory(plain: Path, tmp_path: Path) -> None:
    found = api.sweep(PLAIN, seeds=[1, 2], keep=["flows"])
    assert found.path is None
    assert found.table("flows").height == 2 * api.run(plain).flows.height


def test_wrong_numbers_from_python_are_refused() -> None:
    with pytest.raises(api.InputError, match="threads: 0 is out of range; use 1 to 256"):
        api.sweep(PLAIN, threads=0)
    with pytest.raises(api.InputError, match="workers: 0 is out of range; use 1 or more"):
        api.sweep(PLAIN, workers=0)
    with pytest.raises(api.InputError, match="is no scheduler; write dask://HOST:PORT"):
        api.sweep(PLAIN, on="tcp://127.0.0.1:8786")
    for seeds in ([], [-1], [1, 1], [2**63]):
        with pytest.raises(api.InputError, match="--seeds"):
            api.sweep(PLAIN, seeds=seeds)
    with pytest.raises(api.InputError, match=r"sweep: seeds\[0\]='1' is of the wrong type; give a whole number"):
        api.sweep(PLAIN, seeds=["1"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("text", "texts", "values"),
    [
        ("a=1,2", ["1", "2"], [1, 2]),
        ("a=1,2.5", ["1", "2.5"], [1.0, 2.5]),
        ("a=1..3", ["1", "2", "3"], [1, 2, 3]),
        ("a=-4..4..4, 9", ["-4", "0", "4", "9"], [-4, 0, 4, 9]),
        ("a=true,false", ["true", "false"], [True, False]),
        ("a=10 us,20 us", ["10 us", "20 us"], ["10 us", "20 us"]),
        ("a=\"1,5\",'x,y'", ['"1,5"', "'x,y'"], ["1,5", "x,y"]),
        ("a=[1, 2],{ b = [3, 4] }", ["[1, 2]", "{ b = [3, 4] }"], ["[1, 2]", "{ b = [3, 4] }"]),
        ("a=1,ndp", ["1", "ndp"], ["1", "ndp"]),
        ("a=../x.csv", ["../x.csv"], ["../x.csv"]),
    ],
)
def test_values_are_read_as_they_are_meant(text: str, texts: list[str], values: list[object]) -> None:
    (axis,) = axes.parse([text])
    assert (list(axis.texts), list(axis.values)) == (texts, values)
    assert [type(value) for value in axis.values] == [type(value) for value in values]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=1, max_size=5))
def test_any_values_are_read_or_refused(values: list[str]) -> None:
    try:
        (axis,) = axes.parse([f"a={','.join(values)}"])
    except api.InputError:
        return
    assert len(axis.texts) == len(axis.values) == len(set(axis.texts))


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ((4, 8), ([4.0, 8.0], "")),
        (("10 us", "20 us"), ([10.0, 20.0], "us")),
        (("10 us", "1 ms"), None),
        (("ndp", "tcp"), None),
        ((True, False), None),
    ],
)
def test_places_on_an_axis(values: tuple[Any, ...], scale: object) -> None:
    assert figure.numbers(values) == scale


def test_a_script_can_use_several_processes(plain: Path, tmp_path: Path) -> None:
    text = (
        "import pullnet\nif __name__ == '__main__':\n"
        "    print(pullnet.sweep('plain.toml', seeds=range(1, 5), workers=2).runs.height)\n"
    )
    (tmp_path / "script.py").write_text(text)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("4\n", 0)


def test_a_script_without_the_guard_is_told_to_have_it(slow: Path, tmp_path: Path) -> None:
    script = f"import pullnet\npullnet.sweep({str(slow)!r}, seeds=range(1, 9), workers=2)\n"
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
    assert done.stderr.count("Traceback") == 1
