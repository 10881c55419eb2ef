"""Runs as one array job of Slurm, on machines that share the sweep's folder."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pullnet import json_text
from pullnet.errors import InputError
from pullnet.runs.identity import core_identity
from pullnet.sweeps.local import Outcome, Stop
from pullnet.sweeps.plan import Plan, Run
from pullnet.sweeps.progress import Tally
from pullnet.sweeps.store import Store, replace, writing

FOLDER = "slurm"
"""Where scripts, lists of runs, job numbers and logs lie within the folder of a sweep."""

_ELEMENTS = 1000
"""Elements of an array; a site may allow fewer (MaxArraySize). Each takes its share of the runs."""

_LOOK_EVERY_S = 1.0
_GRACE_S = 10.0
"""How long a shared disk may take to show what another machine has written. Unit: seconds."""

_SCRIPT = """#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --output={logs}
#SBATCH --cpus-per-task={threads}
#SBATCH --requeue
{options}# Makes the runs of the list beside this script that are not there yet.
# Element N of the array takes the runs N, N + {count}, N + {twice} and so on; begun again it goes on where it was.
cd {folder} && exec {python} -m pullnet.sweeps.array {root} {listed} "$SLURM_ARRAY_TASK_ID" {count}
"""


@dataclass(frozen=True)
class Manner:
    """How an array is submitted."""

    options: Sequence[str] = ()
    """Further options of sbatch, such as `--partition=long`."""
    wait: bool = True
    """Stay until all runs are there."""

    def __post_init__(self) -> None:
        for option in self.options:
            if len(f"{option}.".splitlines()) > 1 or "\0" in option:
                raise InputError(f"--slurm-option {option!r}: has a line break; give each option of sbatch by itself")


def on_slurm(
    plan: Plan, store: Store, waiting: list[Run], manner: Manner, stop: Stop, tally: Tally
) -> Iterator[tuple[Run, Outcome]]:
    """Submit what no job is at yet; yield runs as their records appear."""
    _require()
    for run in waiting:
        store.forget_errors(run.key)
    with store.locked():  # a call at the same time waits, and finds the job of this one
        jobs = _jobs(store)
        taken = {key for job in jobs for key in job.keys}
        free = [run for run in waiting if run.key not in taken]
        if free:
            jobs.append(submit(plan, store, free, manner))
    if free:
        tally.say(f"job {jobs[-1].number} makes {len(free)} runs; its script and logs are in {store.root / FOLDER}")
    for job in jobs[: -1 if free else None]:
        tally.say(f"job {job.number} of an earlier call is still at some of them")
    if manner.wait:
        yield from _await(plan, store, waiting, jobs, stop, tally)


@dataclass(frozen=True)
class Job:
    """A submitted array."""

    number: str
    keys: frozenset[str]


def _await(
    plan: Plan, store: Store, waiting: list[Run], jobs: "list[Job]", stop: Stop, tally: Tally
) -> Iterator[tuple[Run, Outcome]]:
    missing, ended_at = list(waiting), 0.0
    while missing and not stop.asked:
        lives = any(_lives(job.number) for job in jobs)
        for run in list(missing):
            errors = store.errors(run.key)
            if errors or store.has(run, plan.keep):
                missing.remove(run)
                yield run, InputError(errors) if errors else None
        ended_at = 0.0 if lives else ended_at or time.monotonic()
        if ended_at and time.monotonic() - ended_at > _GRACE_S:
            break
        tally.tick()
        if missing:
            time.sleep(_LOOK_EVERY_S)
    if not stop.asked:
        logs = store.root / FOLDER
        for run in missing:
            yield run, InputError(f"its job has ended without it; see the logs in {logs}, and run the command again")


def write(plan: Plan, store: Store, runs: Sequence[Run], manner: Manner) -> Path:
    """Write the script of an array and its list of runs. Returns the script."""
    folder = store.root / FOLDER
    count = min(len(runs), _ELEMENTS, _most_elements())
    with writing(store.root):
        folder.mkdir(parents=True, exist_ok=True)
        number = claim(folder)
        listed, script = folder.absolute() / f"{number}.json", folder.absolute() / f"{number}.sh"
        listing = {
            "core": core_identity(),
            "keep": plan.keep,
            "threads": plan.threads,
            "runs": [{"key": run.key, "point": run.point.digest, "seed": run.seed} for run in runs],
        }
        replace(listed, json_text.dumps(listing, indent=None).encode())
        text = _SCRIPT.format(
            name=re.sub(r"[^A-Za-z0-9_.-]+", "-", plan.name).strip("-") or "sweep",
            last=count - 1,
            logs=shlex.quote(f"{folder.absolute()}/%A-%a.log"),
            threads=plan.threads,
            options="".join(f"#SBATCH {option}\n" for option in manner.options),
            listed=shlex.quote(str(listed)),
            count=count,
            twice=2 * count,
            folder=shlex.quote(str(Path.cwd())),
            python=shlex.quote(sys.executable),
            root=shlex.quote(str(store.root.absolute())),
        )
        replace(script, text.encode())
    return script


def claim(folder: Path) -> int:
    """Return the number of a new array; no other process gets the same, even on a disk without locks."""
    while True:
        number = 1 + max((int(path.stem) for path in folder.glob("*.sh") if path.stem.isdecimal()), default=0)
        with suppress(FileExistsError):
            (folder / f"{number}.sh").touch(exist_ok=False)
            return number


def submit(plan: Plan, store: Store, runs: Sequence[Run], manner: Manner) -> Job:
    """Write an array and hand it to Slurm."""
    script = write(plan, store, runs, manner)
    done = subprocess.run(["sbatch", "--parsable", str(script)], capture_output=True, text=True, check=False)
    number = done.stdout.strip().partition(";")[0]
    if done.returncode or not number.isdecimal():
        reason = "; ".join((done.stderr.strip() or done.stdout.strip()).splitlines())
        raise InputError(f"--slurm: sbatch {script} was refused: {reason}; see --slurm-option for options of your site")
    replace(script.with_suffix(".job"), number.encode())
    return Job(number, frozenset(run.key for run in runs))


def _jobs(store: Store) -> list[Job]:
    """Return the jobs of this folder that have not ended."""
    found = []
    for path in sorted((store.root / FOLDER).glob("*.job")):
        number = path.read_text(encoding="utf-8", errors="replace").strip()
        if not (number.isascii() and number.isdecimal()):
            raise InputError(f"{path}: {number!r} is no number of a job; remove the file if its job has ended")
        if _lives(number):
            found.append(Job(number, _listed(path.with_suffix(".json"), number)))
    return found


def _listed(path: Path, number: str) -> frozenset[str]:
    """Return the keys of the runs that an array was given."""
    try:
        return frozenset(run["key"] for run in json.loads(path.read_bytes())["runs"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{path}: the list of runs of job {number} is damaged: {error}; end that job with `scancel {number}`, and "
            f"remove {path.with_suffix('.job')}"
        ) from None


def _lives(number: str) -> bool:
    """Whether a job waits or runs. One that Slurm has forgotten does not; a controller that is away says nothing."""
    command = ["squeue", "--noheader", "--format=%T", "--states=all", f"--jobs={number}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return "Invalid job id" not in done.stderr
    return any(state not in _ENDED for state in done.stdout.split())


_ENDED = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED"),
    *("NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
)


def _most_elements() -> int:
    done = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=False)
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
    return max(1, int(found[1]) - 1) if found else _ELEMENTS


def _require() -> None:
    missing = [name for name in ("sbatch", "squeue", "scontrol") if shutil.which(name) is None]
    if missing:
        raise InputError(
            f"--slurm: there is no command {', '.join(missing)} here; call it where jobs are submitted, or leave out "
            "--slurm to run on this machine"
        )
