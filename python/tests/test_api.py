"""The Python API."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pullnet
from pullnet.results.result import ALWAYS, PROBES

from .conftest import LONG, SMALL, wait_until

PLAIN = SMALL[: SMALL.index("[probes]")]


def test_a_run_from_text_has_tables_and_a_summary() -> None:
    result = pullnet.run(SMALL, seed=7)
    assert isinstance(result.summary, pullnet.Summary)
    assert (result.summary.seed, result.summary.flows.completed) == (7, 24)
    for table in (result.flows, result.hosts, result.ports, result.occupancy, result.series, result.latency):
        assert isinstance(table, pl.DataFrame)
        assert table.height > 0
    assert set(result.control["kind"]) >= {"pull"}
    assert result.columns("flows")["fct_us"].unit == "us"
    assert result.flows is result.flows
    assert result.path is None


def test_settings_can_be_given_as_values_or_as_text() -> None:
    by_value = pullnet.run(PLAIN, set={"topology.k": 6, "transport.mtu": "1500 B", "traffic.1.degree": 5})
    by_text = pullnet.run(PLAIN, set=["topology.k=6", 'transport.mtu="1500 B"', "traffic.1.degree=5"])
    assert by_value.summary.flows.started == 54 + 5
    assert by_value.summary.fingerprint == by_text.summary.fingerprint


def test_a_result_can_be_written_and_loaded(tmp_path: Path) -> None:
    result = pullnet.run(SMALL, out=tmp_path / "out")
    loaded = pullnet.load(tmp_path / "out")
    assert (loaded.summary, loaded.scenario, loaded.path) == (result.summary, result.scenario, tmp_path / "out")
    assert loaded.table_names == result.table_names
    for name in result.table_names:
        assert_frame_equal(loaded.table(name), result.table(name))
        assert loaded.columns(name) == result.columns(name)


def test_a_table_that_was_not_recorded_says_how_to_get_it() -> None:
    result = pullnet.run(PLAIN)
    with pytest.raises(pullnet.NotRecordedError, match=r"no table `latency`.*\[probes\].*latency = true"):
        _ = result.latency
    with pytest.raises(pullnet.NotRecordedError, match="there are flows, hosts, ports"):
        result.table("colours")


def test_probes_do_not_change_a_run() -> None:
    assert pullnet.run(PLAIN).summary.fingerprint == pullnet.run(SMALL).summary.fingerprint


def test_all_errors_come_at_once() -> None:
    wrong = SMALL.replace("k = 4", "k = 5").replace('"90 kB"', '"90"')
    with pytest.raises(pullnet.InputError) as caught:
        pullnet.run(wrong)
    assert len(caught.value.errors) == 2
    assert str(caught.value) == "\n".join(caught.value.errors)
    with pytest.raises(pullnet.InputError) as again:
        pullnet.check(wrong)
    assert again.value.errors == caught.value.errors
    assert pickle.loads(pickle.dumps(caught.value)).errors == caught.value.errors


def test_check_knows_where_values_come_from() -> None:
    checked = pullnet.check(SMALL, set={"topology.k": 8}, seed=5)
    assert (checked.name, checked.seed, checked.hosts) == ("Small", 5, 128)
    origins = {line.split(" = ")[0]: line.rsplit("# ")[-1] for line in checked.resolved.splitlines() if "# " in line}
    assert origins["k"] == "--set"
    assert origins["name"] == "scenario:2"
    assert "default" in origins.values()


def test_runs_side_by_side_equal_runs_one_by_one(tmp_path: Path) -> None:
    jobs = [pullnet.Job(PLAIN, {"topology.k": k}, seed) for k in (4, 6) for seed in (1, 2)]
    results = pullnet.run_many(jobs, workers=2, keep=["flows"], out=tmp_path / "all")
    for job, result in zip(jobs, results, strict=True):
        alone = pullnet.run(job.scenario, set=job.set, seed=job.seed)
        assert result.summary.fingerprint == alone.summary.fingerprint
        assert_frame_equal(result.flows, alone.flows)
    assert sorted(folder.name for folder in (tmp_path / "all").iterdir()) == ["0000", "0001", "0002", "0003"]


def test_a_table_that_was_not_kept_is_not_called_unrecorded() -> None:
    kept = pullnet.run(PLAIN).keep({"flows"})
    with pytest.raises(pullnet.NotRecordedError, match=r"`hosts` was left out: `keep` does not name it"):
        _ = kept.hosts


def test_names_of_tables_to_keep_are_checked_and_one_name_is_not_taken_for_its_letters() -> None:
    assert pullnet.run_many([PLAIN], keep="flows")[0].flows.height > 0
    assert pullnet.run(PLAIN).keep("flows").table_names == ["flows"]
    for keep in ("flow", ["flows", "flow"]):
        with pytest.raises(
            pullnet.InputError, match=r"^keep: there is no table `flow`; there are flows, hosts, ports, "
        ):
            pullnet.run_many([PLAIN], keep=keep)


def test_a_script_without_the_guard_is_told_to_have_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import pullnet\npullnet.run_many([{PLAIN!r}])\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert 'with the call below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
    assert done.stderr.count("Traceback") == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nothing", r"nothing: there is no such folder; `pullnet run` writes one for each result and prints its name"),
        ("one/summary.json", r"one/summary\.json: this is a file of a result; name its folder: .*/one$"),
        ("a.toml", r"a\.toml: this is a file; name the folder of a result, which `pullnet run` writes"),
        (".", r": this is no result itself; name .*/one$"),
        ("sweep", r"sweep: this is a sweep, whose tables pullnet\.load_sweep reads"),
        ("empty", r"empty: is not a result: it has no summary\.json; name a folder that `pullnet run` wrote"),
    ],
)
def test_what_is_no_result_is_called_by_what_it_is(tmp_path: Path, name: str, error: str) -> None:
    for folder in ("one", "sweep", "empty"):
        (tmp_path / folder).mkdir()
    for file in ("one/summary.json", "a.toml", "sweep/sweep.json"):
        (tmp_path / file).write_text("{}")
    with pytest.raises(pullnet.InputError, match=error):
        pullnet.load(tmp_path / name)


def test_a_table_that_is_missing_on_disk_is_asked_for_with_the_name_of_its_result(tmp_path: Path) -> None:
    pullnet.run(PLAIN, out=tmp_path / "one")
    with pytest.raises(pullnet.NotRecordedError, match=r"/one: the run kept no table `packets`; ask for it under "):
        _ = pullnet.load(tmp_path / "one").packets


def test_completion_offers_every_table_and_every_name_has_its_words() -> None:
    result = pullnet.run(PLAIN)
    assert {*ALWAYS, *PROBES} <= set(dir(result))
    public = {name: value for name, value in vars(pullnet.Result).items() if not name.startswith("_")}
    assert {"incidents", "timeouts", "waits"} <= public.keys()
    assert [name for name, value in public.items() if not value.__doc__] == []


def test_a_result_is_not_taken_for_a_sweep(tmp_path: Path) -> None:
    pullnet.run(PLAIN, out=tmp_path / "one")
    with pytest.raises(pullnet.InputError, match=r"one: this is the result of one run; load it by pullnet\.load$"):
        pullnet.load_sweep(tmp_path / "one")
    with pytest.raises(
        pullnet.InputError, match=r"is not a sweep that has run: No such file or directory: .*sweep\.json"
    ):
        pullnet.load_sweep(tmp_path / "nothing")


def test_a_job_that_fails_does_not_take_others_with_it() -> None:
    jobs: list[pullnet.Job | tuple[str, dict[str, object], int]] = [
        (PLAIN, {"topology.k": 5}, 1),
        (PLAIN, {}, 1),
    ]
    outcomes = dict(pullnet.iter_many(jobs, workers=1))
    assert isinstance(outcomes[0], pullnet.InputError)
    assert isinstance(outcomes[1], pullnet.Result)
    with pytest.raises(pullnet.InputError):
        pullnet.run_many(jobs, workers=1)


def test_a_flow_list_in_parquet_runs_as_its_csv_does(tmp_path: Path) -> None:
    flows = pl.DataFrame(
        {"src": [0, 5, 9], "dst": [1, 1, 2], "bytes": [9_000, 45_000, 100], "start": ["0 us", "3 us", "1 us"]}
    )
    flows.write_csv(tmp_path / "flows.csv")
    flows.write_parquet(tmp_path / "flows.parquet")
    head = PLAIN[: PLAIN.index("[[traffic]]")]
    fingerprints = []
    for kind in ("csv", "parquet"):
        path = tmp_path / f"{kind}.toml"
        path.write_text(f'{head}\n[[traffic]]\nkind = "flows"\nfile = "flows.{kind}"\n')
        fingerprints.append(pullnet.run(path).summary.fingerprint)
    assert fingerprints[0] == fingerprints[1]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flows.parquet").write_text("src,dst\n")
    path = tmp_path / "bad.toml"
    path.write_text(f'{PLAIN[: PLAIN.index("[[traffic]]")]}\n[[traffic]]\nkind = "flows"\nfile = "flows.parquet"\n')
    with pytest.raises(pullnet.InputError, match="it is not a Parquet file"):
        pullnet.check(path)


def test_a_fault_in_rust_is_an_error_in_python() -> None:
    from pullnet import _core

    with pytest.raises(pullnet.InternalError, match=r"a bad day, at crates/py/src/fault\.rs:\d+"):
        _core.provoke_fault("a bad day")


def test_a_run_can_be_driven_from_another_thread() -> None:
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(pullnet.run, LONG, set={"duration": "20 us"}).result().summary.complete


def test_ctrl_c_is_raised_after_what_there_is_has_been_written(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        wait_until(lambda: signal.getsignal(signal.SIGINT) is not before)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        pullnet.run(LONG, out=tmp_path / "out")
    other.join()
    assert pullnet.load(tmp_path / "out").summary.ended == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
