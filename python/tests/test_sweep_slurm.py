"""`pullnet sweep --slurm` on a real Slurm; what needs no job to run, with stand-ins of its commands."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pullnet as api
from pullnet.sweeps import slurm as slurm_module

from . import slurm_cluster
from .conftest import COMMAND, PLAIN, WATCHDOG_S, Pullnet, wait_until
from .test_sweep import SLOW, records, rows

LACKING = slurm_cluster.missing()
needs_slurm = pytest.mark.skipif(
    bool(LACKING), reason=f"no {', '.join(LACKING)}; apt-get install slurmctld slurmd slurm-client munge"
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def call(environment: dict[str, str], folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [str(COMMAND), "sweep", "it.toml", "--slurm", "-o", "out", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    output, told = process.communicate(timeout=WATCHDOG_S)
    return process.returncode, output, told


def listed(folder: Path, number: int) -> list[int]:
    """Seeds of the runs that an array was given."""
    listing = json.loads((folder / "out" / "slurm" / f"{number}.json").read_text())
    return [run["seed"] for run in listing["runs"]]


@needs_slurm
def test_an_array_makes_all_runs_once(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ps\n0,1,9000,0\n")
    file = 'traffic.0={ kind = "flows", file = "flows.csv" }'
    varied = ["--over", "traffic.1.degree=4,8", "--seeds", "1..4", "--set", file, "--keep", "flows"]
    code, output, told = ended(call(slurm, tmp_path, *varied))
    assert code == 0, (output, told)
    assert "8 of 8 runs, 8 of them new" in output
    assert "makes 8 runs; its script and logs are in out/slurm" in told
    script = (tmp_path / "out" / "slurm" / "1.sh").read_text()
    assert "#SBATCH --array=0-2\n" in script, "one array, no larger than the site allows"
    assert len(list((tmp_path / "out" / "slurm").glob("*.sh"))) == 1
    here = api.sweep(tmp_path / "it.toml", {"traffic.1.degree": [4, 8]}, range(1, 5), set=[file])
    assert rows(tmp_path / "out")["fingerprint"].to_list() == here.runs["fingerprint"].to_list()
    assert rows(tmp_path / "out", "flows").group_by("traffic.1.degree", "seed").len().height == 8
    assert "0 of them new" in ended(call(slurm, tmp_path, *varied))[1]


@needs_slurm
def test_a_job_that_ends_early_is_gone_on_with(slurm: dict[str, str], tmp_path: Path) -> None:
    """Requeued in the middle, submitted again while it runs, then cancelled: nothing is lost or made twice."""
    (tmp_path / "it.toml").write_text(SLOW)
    assert ended(call(slurm, tmp_path, "--seeds", "1..12", "--no-wait"))[0] == 0
    number = (tmp_path / "out" / "slurm" / "1.job").read_text()
    wait_until(lambda: len(records(tmp_path / "out")) >= 2)
    subprocess.run(["scontrol", "requeue", number], env=slurm, capture_output=True, check=False)
    requeued = records(tmp_path / "out")
    process = call(slurm, tmp_path, "--seeds", "1..12")
    wait_until(lambda: len(records(tmp_path / "out")) > len(requeued))
    subprocess.run(["scancel", number], env=slurm, check=True)
    code, output, told = ended(process)
    kept = records(tmp_path / "out")
    assert f"job {number} of an earlier call is still at some of them" in told
    assert not (tmp_path / "out" / "slurm" / "2.sh").exists()
    assert (code, len(kept) < 12) == (2, True)
    assert told.count("its job has ended without it") == 12 - len(kept)
    assert kept.items() >= requeued.items()
    assert f"{len(kept)} of 12 runs" in output
    code, output, _ = ended(call(slurm, tmp_path, "--seeds", "1..12"))
    assert (code, f"12 of 12 runs, {12 - len(kept)} of them new" in output) == (0, True)
    assert len(listed(tmp_path, 2)) == 12 - len(kept)
    assert records(tmp_path / "out").items() > kept.items()
    assert rows(tmp_path / "out")["seed"].to_list() == list(range(1, 13))


@needs_slurm
def test_what_slurm_refuses_is_said(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    code, _, told = ended(call(slurm, tmp_path, "--slurm-option=--partition=nowhere"))
    assert code == 2
    assert "error: --slurm: sbatch " in told
    assert "Invalid partition name specified; see --slurm-option for options of your site\n" in told


@needs_slurm
def test_a_run_that_cannot_be_made_there_is_named(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(SLOW)
    process = call(slurm, tmp_path, "--seeds", "1..2", "--slurm-option=--begin=now+4")
    listing = tmp_path / "out" / "slurm" / "1.json"
    wait_until(lambda: listing.exists())
    text = listing.read_text()
    listing.write_text(text.replace(json.loads(text)["core"], "another"))
    code, _, told = ended(process)
    assert code == 2
    assert "error: seed 1: the worker has another build of pullnet than the one that asks; install the same" in told


def test_without_slurm_the_command_says_so(pullnet: Pullnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / "it.toml").write_text(PLAIN)
    done = pullnet("sweep", "it.toml", "--slurm", "-o", "out")
    assert done.returncode == 2
    assert done.stderr == (
        "error: --slurm: there is no command sbatch, squeue, scontrol here; call it where jobs are submitted, or leave "
        "out --slurm to run on this machine\n"
    )


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of a Slurm that takes jobs, numbers them after the folder's jobs, and never ends one."""
    commands = {
        "sbatch": 'sleep 0.3; for n in 1 2 3 4 5; do mkdir "$0.$n" 2>/dev/null && echo $n && exit; done',
        "squeue": "echo RUNNING",
        "scontrol": "",
    }
    (tmp_path / "bin").mkdir()
    for name, text in commands.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "it.toml").write_text(PLAIN)


@pytest.mark.usefixtures("stand_in")
def test_two_calls_at_once_submit_each_run_once(tmp_path: Path) -> None:
    both = [call(dict(os.environ), tmp_path, "--no-wait", "--seeds", seeds) for seeds in ("1..4", "3..6")]
    assert [ended(process)[0] for process in both] == [0, 0]
    assert sorted(listed(tmp_path, 1) + listed(tmp_path, 2)) == [1, 2, 3, 4, 5, 6]
    jobs = {(tmp_path / "out" / "slurm" / f"{number}.job").read_text() for number in (1, 2)}
    assert jobs == {"1", "2"}


def test_no_two_arrays_have_one_number(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: slurm_module.claim(tmp_path), range(40)))
    assert sorted(numbers) == list(range(1, 41))


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "1.json",
            "{",
            r"error: out/slurm/1.json: the list of runs of job 1 is damaged: .*; end that job with `scancel 1`",
        ),
        ("1.json", "[]", r"error: out/slurm/1.json: the list of runs of job 1 is damaged: "),
        ("1.job", "", r"error: out/slurm/1.job: '' is no number of a job; remove the file if its job has ended"),
    ],
)
def test_damaged_files_of_a_job_are_named(pullnet: Pullnet, tmp_path: Path, name: str, text: str, told: str) -> None:
    assert pullnet("sweep", "it.toml", "--slurm", "--no-wait", "-o", "out").returncode == 0
    (tmp_path / "out" / "slurm" / name).write_text(text)
    done = pullnet("sweep", "it.toml", "--slurm", "--no-wait", "-o", "out")
    assert done.returncode == 2
    assert re.match(told, done.stderr)


def test_an_option_of_several_lines_is_refused(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(PLAIN)
    done = pullnet("sweep", "it.toml", "--slurm", "--slurm-option", "--time=60\nrm -r x", "-o", "out")
    assert (done.returncode, done.stderr) == (
        2,
        "error: --slurm-option '--time=60\\nrm -r x': has a line break; give each option of sbatch by itself\n",
    )
