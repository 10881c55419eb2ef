"""`pullnet run`: what it leaves, what it refuses, how it ends."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import pullnet as api
from pullnet.runs.progress import remaining

from .conftest import COMMAND, SMALL, WATCHDOG_S, Pullnet, summary_of, wait_until

TABLES = {"flows", "hosts", "ports", "occupancy", "series", "latency", "control"}

PROMISED = {
    "": "scenario seed threads version fingerprint simulated_us flows fct_us slowdown utilisation goodput_gbps packets "
    "timeouts cost",
    "flows": "started completed failed unfinished",
    "fct_us": "min mean p50 p90 p99 max",
    "slowdown": "mean p50 p99",
    "utilisation": "mean min max",
    "packets": "data_sent data_delivered trimmed returned dropped retransmitted trimmed_by_tier",
    "cost": "wall_s cpu_s packet_hops packet_hops_per_cpu_s peak_rss_bytes",
}


def test_a_run_leaves_a_whole_directory(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    done = pullnet("run", "small.toml")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "results" / "small-3"
    assert {file.name for file in folder.iterdir()} == {"scenario.toml", "summary.json"} | {
        f"{name}.parquet" for name in TABLES
    }
    assert "result: results/small-3" in done.stdout
    assert [entry.name for entry in folder.parent.iterdir()] == ["small-3"]


def test_the_summary_has_what_is_promised(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    done = pullnet("run", "small.toml", "--json", "--quiet", "--out", "out")
    (summary,) = json.loads(done.stdout)
    assert summary == summary_of(tmp_path / "out")
    for part, keys in PROMISED.items():
        assert set(keys.split()) <= set(summary[part] if part else summary), part
    assert summary["flows"] == {"started": 24, "completed": 24, "failed": 0, "unfinished": 0, "endless": 0}
    assert (summary["ended"], summary["complete"]) == ("stated end", True)


def test_tables_and_summary_agree(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    pullnet("run", "small.toml", "--out", "out")
    summary = summary_of(tmp_path / "out")
    table = {name: pl.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in TABLES}
    flows = table["flows"]
    assert flows["state"].to_list() == ["completed"] * 24
    assert flows["delivered_bytes"].sum() == 16 * 90_000 + 8 * 45_000 == flows["size_bytes"].sum()
    assert flows["fct_us"].quantile(0.99, "linear") == pytest.approx(summary["fct_us"]["p99"])
    assert flows["slowdown"].min() >= 1.0  # type: ignore[operator]
    assert flows["retransmitted"].sum() == summary["packets"]["retransmitted"]
    assert table["ports"]["trimmed"].sum() == summary["packets"]["trimmed"] > 0
    assert table["series"]["delivered_bytes"].sum() == flows["delivered_bytes"].sum()
    assert table["latency"].height == summary["packets"]["data_sent"] - summary["packets"]["retransmitted"]
    assert (table["ports"]["utilisation"] <= 1.0).all()
    held = table["occupancy"].group_by("row").agg(pl.col("time_ps").sum()).get_column("time_ps")
    assert (held <= round(summary["simulated_us"] * 1e6)).all()


SHORT_WINDOW = """
duration = "400 us"
topology = { kind = "star", hosts = 2, link = { rate = "10 Gbps", delay = "1 us" } }
transport = { kind = "ndp", mtu = "9000 B" }
switch = { kind = "trim" }
traffic = [{ kind = "permutation", size = "endless" }]
"""


@pytest.mark.parametrize("length_us", [5, 10, 97])
def test_utilisation_exceeds_one_by_one_packet_at_most(length_us: int) -> None:
    windows = [{"measure.from": f"{start} us", "measure.to": f"{start + length_us} us"} for start in range(200, 208)]
    found = [value for window in windows for value in api.run(SHORT_WINDOW, set=window).hosts["utilisation"]]
    assert max(found) <= 1 + 9000 * 8 / (length_us * 10_000)
    # Two packets of 7.2 us end in some windows of 10 us: the column's documentation says why.
    assert length_us == 97 or max(found) > 1.4


def test_columns_say_their_unit_and_meaning(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    pullnet("run", "small.toml", "--out", "out")
    for name in TABLES:
        for field in pq.read_schema(tmp_path / "out" / f"{name}.parquet"):
            assert field.metadata[b"doc"], (name, field.name)
            if field.name.endswith("_ps"):
                assert field.metadata[b"unit"] == b"ps"


def test_nothing_but_the_cost_depends_on_threads(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    for threads in ("1", "2"):
        assert pullnet("run", "small.toml", "--out", threads, "--threads", threads).returncode == 0
    one, two = summary_of(tmp_path / "1"), summary_of(tmp_path / "2")
    assert {key for key in one if one[key] != two[key]} <= {"threads", "cost"}
    for name in TABLES:
        first, second = (pl.read_parquet(tmp_path / threads / f"{name}.parquet") for threads in ("1", "2"))
        assert first.equals(second), name


def test_the_resolved_scenario_runs_to_the_same_result(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    pullnet("run", "small.toml", "--out", "first", "--set", "topology.link.delay=2 us", "--seed", "9")
    assert pullnet("run", "first/scenario.toml", "--out", "second").returncode == 0
    first, second = summary_of(tmp_path / "first"), summary_of(tmp_path / "second")
    assert first["fingerprint"] == second["fingerprint"]
    assert second["seed"] == 9


def test_several_scenarios_go_to_places_of_their_own(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(small.read_text().replace('"Small"', '"Other"'))
    done = pullnet("run", "small.toml", "other.toml", "--out", "both", "--json")
    assert [summary["scenario"] for summary in json.loads(done.stdout)] == ["Small", "Other"]
    assert {folder.name for folder in (tmp_path / "both").iterdir()} == {"small-3", "other-3"}


def test_two_results_in_one_place_are_refused_before_anything_runs(
    pullnet: Pullnet, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text(small.read_text())
    done = pullnet("run", "small.toml", "other.toml")
    assert done.returncode == 2
    assert done.stderr == (
        "error: other.toml: its result would go to results/small-3, and so would that of small.toml; "
        "give them different names, or run them one by one with --out\n"
    )
    assert not (tmp_path / "results").exists()


REFUSED = {
    "no such file": (
        ["run", "nowhere.toml"],
        "error: nowhere.toml: there is no such file; `pullnet new NAME` writes one to start from\n",
    ),
    "a folder": (["run", "."], "error: .: this is a folder; name a scenario file in it\n"),
    "not text": (["check", "bytes.toml"], "error: bytes.toml: byte 0 is not UTF-8; save the file as UTF-8 text\n"),
    "existing result": (
        ["run", "small.toml", "--out", "kept"],
        "error: kept: exists already; choose another with --out, or replace it with --force\n",
    ),
    "something that --force does not replace": (
        ["run", "small.toml", "--out", "taken"],
        "error: taken: holds something else than a result and is not replaced; choose another with --out\n",
    ),
    "a file that --force does not replace": (
        ["run", "small.toml", "--out", "small.toml"],
        "error: small.toml: is not a directory; choose another with --out\n",
    ),
    "something else in its place": (
        ["run", "small.toml", "--out", "taken", "--force"],
        "error: taken: holds something else than a result and is not replaced; choose another with --out\n",
    ),
    "a file in its place": (
        ["run", "small.toml", "--out", "small.toml", "--force"],
        "error: small.toml: is not a directory; choose another with --out\n",
    ),
    "not writable": (
        ["run", "small.toml", "--out", "small.toml/out"],
        "error: small.toml/out: cannot be written: small.toml is not a directory; choose another with --out\n",
    ),
    "not an override": (
        ["run", "small.toml", "--set", "seed"],
        "error: --set seed: is not a setting and a value; write path=value, for instance --set topology.k=8\n",
    ),
    "no threads": (["run", "small.toml", "--threads", "0"], "error: --threads: 0 is out of range; use 1 to 256\n"),
    "no name": (["new", ""], "error: NAME: is no name of a file; write for instance: pullnet new my\n"),
    "another ending": (["new", "own.md"], "error: own.md: a scenario is a TOML file; write: pullnet new own.toml\n"),
    "another ending in a folder": (
        ["new", "taken/own.TXT"],
        "error: taken/own.TXT: a scenario is a TOML file; write: pullnet new taken/own.toml\n",
    ),
    "a folder as a name": (
        ["new", "taken/"],
        "error: taken/: is no name of a file; write for instance: pullnet new my\n",
    ),
    "a time without unit": (
        ["run", "small.toml", "--stall-after", "5"],
        'error: --stall-after: `5` has no unit; use one of ps, ns, us, ms, s, for instance "1 us"\n',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused_in_words(pullnet: Pullnet, small: Path, tmp_path: Path, case: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("years of work")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "summary.json").write_text("{}")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    arguments, message = REFUSED[case]
    done = pullnet(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert (tmp_path / "taken" / "thesis.txt").read_text() == "years of work"
    assert not list(tmp_path.glob(".*unfinished*"))


def test_every_error_of_every_scenario_at_once(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    wrong = small.read_text().replace("k = 4", "k = 5").replace('"90 kB"', '"90"')
    (tmp_path / "wrong.toml").write_text(wrong)
    for command in ("run", "check"):
        done = pullnet(command, "wrong.toml", "nowhere.toml")
        lines = done.stderr.splitlines()
        assert done.returncode == 2
        assert [line.split(":")[1].strip() for line in lines] == ["wrong.toml", "wrong.toml", "nowhere.toml"]


def test_force_replaces_a_result(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    assert pullnet("run", "small.toml", "--out", "out").returncode == 0
    assert pullnet("run", "small.toml", "--out", "out", "--force", "--seed", "5").returncode == 0
    assert summary_of(tmp_path / "out")["seed"] == 5
    assert {entry.name for entry in tmp_path.iterdir()} == {"small.toml", "out"}


def test_flows_cut_by_the_limit_exit_with_3(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    done = pullnet("run", "small.toml", "--out", "out", "--set", "limit=20 us")
    assert done.returncode == 3
    assert "ended early: the time limit came before all flows were done" in done.stdout
    summary = summary_of(tmp_path / "out")
    assert (summary["complete"], summary["ended"], summary["simulated_us"]) == (False, "time limit", 20.0)
    assert summary["flows"]["unfinished"] > 0


def test_a_run_to_a_fixed_time_is_complete(pullnet: Pullnet, long: Path, tmp_path: Path) -> None:
    done = pullnet("run", "long.toml", "--out", "out", "--set", "duration=50 us")
    assert done.returncode == 0
    assert summary_of(tmp_path / "out")["flows"]["endless"] == 16


def catches(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal, as the kernel says."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_what_there_is(long: Path, tmp_path: Path, number: signal.Signals) -> None:
    command = [str(COMMAND), "run", "long.toml", "--out", "out"]
    # These tests may run without a terminal whose loss matters.
    as_usual = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=as_usual)
    # Python itself catches SIGINT only: who catches the others is ready for all.
    wait_until(lambda: catches(running, signal.SIGTERM) and catches(running, signal.SIGHUP))
    running.send_signal(number)
    output, _ = running.communicate(timeout=WATCHDOG_S)
    assert running.returncode == 3
    assert "interrupted: everything here ends where the run was broken off" in output
    summary = summary_of(tmp_path / "out")
    assert (summary["complete"], summary["ended"]) == (False, "interrupted")
    assert (tmp_path / "out" / "PARTIAL").is_file()
    assert pl.read_parquet(tmp_path / "out" / "flows.parquet").height == 24


def test_a_second_interruption_throws_the_result_away_and_says_so(small: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pullnet import cli; from pullnet.results.result import Result\n"
        "def interrupt_twice(*arguments):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "Result.write = interrupt_twice\n"
        "sys.exit(cli.status(['run', 'small.toml', '--out', 'out']))\n"
    )
    done = interpreted(script, tmp_path)
    assert (done.returncode, done.stderr) == (3, "interrupted: small.toml has no result\n")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_killed_run_leaves_nothing_that_looks_whole(long: Path, tmp_path: Path) -> None:
    running = subprocess.Popen([str(COMMAND), "run", "long.toml", "--out", "out"], cwd=tmp_path)
    wait_until(lambda: list(tmp_path.glob(".out.unfinished*")))
    running.kill()
    running.wait(timeout=WATCHDOG_S)
    assert not (tmp_path / "out").exists()


def test_progress_is_shown_on_a_terminal(long: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    command = [str(COMMAND), "run", "long.toml", "--out", "out"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=terminal, stdout=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    shown = ""
    while "flows open" not in shown:
        shown += os.read(controller, 4096).decode(errors="replace")
    running.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the terminal is gone when the run is
        while os.read(controller, 4096):
            pass
    assert running.wait(timeout=WATCHDOG_S) == 3
    assert "of 100000 ms" in shown
    assert "M packet-hops/s" in shown
    assert "MB" in shown


@dataclass(frozen=True)
class Step:
    now_ps: int
    end_ps: int | None


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step(2 * 10**9, 20 * 10**9), ", ETA 0:01:30"),
        (Step(0, 20 * 10**9), ""),
        (Step(2 * 10**9, None), ""),
    ],
)
def test_a_log_says_how_long_it_will_take(step: Any, said: str) -> None:
    assert remaining(step, 10.0) == said


def test_flows_that_stand_still_at_the_end_are_named(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    fault = '\n[[fault]]\nplace = "host 0"\ndown = true\nfrom = "5 us"\n'
    small.write_text(small.read_text() + fault)
    done = pullnet("run", "small.toml", "--out", "out", "--stall-after", "1 ms", "--set", "limit=50 ms")
    assert done.returncode == 3
    stuck = summary_of(tmp_path / "out")["stuck"]
    assert len(stuck) > 8
    assert all(flow["waiting_for"] for flow in stuck)
    named = [line for line in done.stdout.splitlines() if line.startswith("stuck: flow")]
    assert len(named) == min(10, len(stuck))
    assert all(", waits for " in line for line in named)


def interpreted(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A script that an interpreter of its own has run, in `folder`."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


def test_a_panic_is_reported_as_a_fault_of_ours(tmp_path: Path) -> None:
    script = (
        "import sys; from pullnet import _core, cli; import pullnet.cli.run as run\n"
        "run.execute = lambda *_, **__: _core.provoke_fault('two packets in one place')\n"
        "sys.exit(cli.status(['run', 'small.toml']))"
    )
    (tmp_path / "small.toml").write_text(SMALL)
    done = interpreted(script, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("fault in pullnet: two packets in one place, at crates/py/src/fault.rs:")
    assert "Please report it" in done.stderr
    assert not (tmp_path / "results").exists()


IMPATIENT = """until = "all flows done"
[topology]
kind = "fat-tree"
k = 4
[transport]
kind = "ndp"
timeout = "30 us"
queued_headers = "0 packets"
[switch]
kind = "trim"
[[traffic]]
kind = "incast"
size = "450 kB"
"""


def test_timeouts_without_a_lost_packet_are_reported(pullnet: Pullnet, tmp_path: Path) -> None:
    scenario = tmp_path / "impatient.toml"
    scenario.write_text(IMPATIENT, encoding="utf-8")
    ran = pullnet("run", scenario, "--out", tmp_path / "result")
    summary = summary_of(tmp_path / "result")
    assert summary["unexplained_timeouts"] == summary["timeouts"] > 0
    assert "of them without a lost packet" in ran.stdout
    flows = pl.read_parquet(tmp_path / "result/flows.parquet")
    assert flows["unexplained_timeouts"].sum() == summary["timeouts"]
    assert flows["lost"].sum() == 0


def test_check_speaks_json(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(small.read_text().replace("k = 4", "k = 5"))
    done = pullnet("check", "small.toml", "wrong.toml", "--json")
    right, wrong = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (2, "")
    assert (right["scenario"], right["errors"], right["hosts"], right["name"]) == ("small.toml", [], 16, "Small")
    assert 'kind = "fat-tree"' in right["resolved"]
    message = "wrong.toml:9:5: topology.k: 5 is not possible; use an even number from 2 to 128"
    assert wrong == {"scenario": "wrong.toml", "errors": [message], "warnings": []}
    assert pullnet("check", "small.toml", "--json").returncode == 0


def test_a_flow_list_in_parquet_is_refused_by_its_row(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    rows = {"src": [0, 1], "dst": [1, 99], "bytes": [9000, 9000], "start_us": [0.5, 1.5]}
    pl.DataFrame(rows).write_parquet(tmp_path / "list.parquet")
    small.write_text(small.read_text() + '[[traffic]]\nkind = "flows"\nfile = "list.parquet"\n')
    done = pullnet("check", "small.toml")
    assert done.returncode == 2
    assert done.stderr.endswith(
        '"list.parquet" cannot be used: row 2: host 99 is beyond the block\'s 16 hosts; use 0 to 15\n'
    )


LITTLE_ROOM = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A command whose files may have 8 kB: enough for all but the largest tables, also where paths are long."""


def test_where_there_is_no_room_for_tables_the_summary_is_kept(small: Path, tmp_path: Path) -> None:
    command = [str(COMMAND), "run", str(small), "--out", str(tmp_path / "out"), "--quiet"]
    limited = [sys.executable, "-c", LITTLE_ROOM, *command]
    ran = subprocess.run(limited, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert ran.returncode == 2, ran.stderr
    missing = tmp_path / "out" / "flows.parquet"
    assert f"error: {missing}: cannot be written: File too large; the summary and all that" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert summary_of(tmp_path / "out")["complete"]
    there = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"hosts.parquet", "scenario.toml", "PARTIAL"} <= there
    assert missing.name not in there
    assert missing.name in (tmp_path / "out" / "PARTIAL").read_text()


def test_a_series_of_too_many_rows_is_left_out_and_all_else_kept(small: Path, tmp_path: Path) -> None:
    fine = {"limit": "9 ms", "traffic.0.size": "900 kB", "probes.series.interval": "1 ns", "probes.series.per": "flow"}
    with pytest.raises(api.InputError) as refused:
        api.run(small, set=fine, out=tmp_path / "out")
    (reason,) = refused.value.errors
    assert re.search(
        r'out/series.parquet: .*interval = "1 ns" makes [0-9]+ rows in .* use at least "[0-9]+ ns"', reason
    )
    kept = api.load(tmp_path / "out")
    assert kept.summary.complete
    assert set(kept.table_names) == TABLES - {"series"}
    assert reason.split(": ")[2].split(";")[0] in (tmp_path / "out" / "PARTIAL").read_text()
    in_memory = api.run(small, set=fine)
    assert in_memory.flows.height == 24
    for result in (in_memory, kept):
        with pytest.raises(api.NotRecordedError, match=r"`series` was left out: .* makes"):
            _ = result.series


def test_a_run_that_shall_outlive_its_terminal_does(tmp_path: Path) -> None:
    script = (
        "import os, signal; from pullnet.runs import runner; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with runner.interruptible() as interruption:\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    assert not interruption.asked\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    assert interruption.asked\n"
    )
    done = interpreted(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


INTERRUPTED_WRITING = (
    "import os, signal, sys; from pullnet import cli; from pullnet.results.result import Result\n"
    "write = Result.write\n"
    "def write_and_interrupt(*arguments):\n"
    "    os.kill(os.getpid(), signal.SIGTERM)\n"
    "    Result.write = write\n"
    "    write(*arguments)\n"
    "Result.write = write_and_interrupt\n"
    "sys.exit(cli.status(['run', *sys.argv[1:], '--out', 'out']))\n"
)


def test_who_interrupts_the_writing_of_a_result_gets_it_whole(small: Path, tmp_path: Path) -> None:
    done = interpreted(INTERRUPTED_WRITING, tmp_path, "small.toml")
    assert (done.returncode, done.stderr) == (3, "interrupted: while out was written, which is whole\n")
    assert "result: out" in done.stdout
    there = {file.name for file in (tmp_path / "out").iterdir()}
    assert there == {"scenario.toml", "summary.json"} | {f"{name}.parquet" for name in TABLES}


def test_scenarios_that_an_interruption_leaves_out_are_named(small: Path, tmp_path: Path) -> None:
    (tmp_path / "next.toml").write_text(small.read_text().replace("Small", "Next"))
    done = interpreted(INTERRUPTED_WRITING, tmp_path, "small.toml", "next.toml", "--json")
    assert done.returncode == 3
    assert done.stderr.splitlines()[1:] == ["interrupted: next.toml was not run"]
    assert [summary["scenario"] for summary in json.loads(done.stdout)] == ["Small"]


def test_of_two_runs_into_one_place_none_is_lost(small: Path, tmp_path: Path) -> None:
    script = (
        "import pathlib, sys; from pullnet import cli; from pullnet.results import directory\n"
        "fill = directory._write_result\n"
        "def come_second(result, folder):\n"
        "    taken = pathlib.Path('out'); taken.mkdir(); (taken / 'summary.json').write_text('of the other')\n"
        "    return fill(result, folder)\n"
        "directory._write_result = come_second\n"
        "sys.exit(cli.status(['run', 'small.toml', '--out', 'out']))\n"
    )
    done = interpreted(script, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: out: was made by somebody else during the run; the result is in out-")
    assert (tmp_path / "out" / "summary.json").read_text() == "of the other"
    assert summary_of(tmp_path / done.stderr.split()[-1])["complete"]
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_run_needs_nobody_who_reads(small: Path, tmp_path: Path, closed: str) -> None:
    shell = f'"$0" "$@" {1 if closed == "stdout" else 2}>&-'
    command = ["sh", "-c", shell, str(COMMAND), "run", "small.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0
    assert ("result: out" in done.stdout) == (closed == "stderr")
    assert summary_of(tmp_path / "out")["complete"]


def test_where_the_output_goes_may_be_full(small: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(COMMAND), "run", "small.toml", "--out", "out"]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=WATCHDOG_S, check=False
        )
    assert (done.returncode, done.stderr) == (2, "error: the output cannot be written: No space left on device\n")
    assert summary_of(tmp_path / "out")["complete"]
