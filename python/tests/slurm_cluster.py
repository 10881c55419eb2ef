"""A Slurm of one node on this machine: its own munged, slurmctld and slurmd, on loopback and in a folder of its own."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .conftest import wait_until

NEEDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")

_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

_CONF = """
ClusterName=pullnet
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
MaxArraySize=4
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Commands that are not installed: Debian has them in slurmctld, slurmd, slurm-client and munge."""
    return [name for name in NEEDS if shutil.which(name, path=_PATH) is None]


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Start everything; yields the environment that commands need. An array has three elements at most."""
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    folder.chmod(0o755)
    user = pwd.getpwuid(os.getuid()).pw_name
    ports = {"controller": _free_port(), "daemon": _free_port()}
    (folder / "slurm.conf").write_text(_CONF.format(host=host, folder=folder, user=user, **ports))
    environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["--key-file", "munge.key", "--socket", "munge.socket", "--pid-file", "munge.pid", "--seed-file", "seed"]
    options = [word if word.startswith("-") else str(folder / word) for word in munge]
    with ExitStack() as stack:
        log = stack.enter_context((folder / "output.log").open("w"))

        def start(*command: str) -> None:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)

        start("munged", "--foreground", "--force", "--num-threads=2", "--log-file", str(folder / "munge.log"), *options)
        wait_until(lambda: (folder / "munge.socket").exists())
        start("slurmctld", "-D", "-i")
        start("slurmd", "-D", "-N", host)
        wait_until(lambda: _says(environment, "sinfo", "--noheader", "--format=%t") == "idle")
        yield environment
        _says(environment, "scancel", "--user", user)
        wait_until(lambda: not _says(environment, "squeue", "--noheader"))


def _says(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
