"""How far nextpnr has come, by its log: placing takes minutes and routing hours, and it says nothing else."""

import re
import subprocess
import sys
import time
from pathlib import Path

# Seconds between two looks at the log, and between two lines about it.
LOOK, TELL = 2, 60
# Bytes at the end of a log that hold its latest round.
END = 20_000


def stage(log: str) -> str:
    """The present work of nextpnr, by the end of its log."""
    routed = re.findall(r"iter=(\d+) wires=\d+ overused=(\d+)", log)
    if routed:
        number, wanted = routed[-1]
        return f"routing, round {number}: {int(wanted):,} wires are wanted by two nets or more"
    if "Routing" in log or "router" in log:
        return "routing"
    refined = re.findall(r"at iteration #(\d+):", log)
    if refined:
        return f"placing, refinement {refined[-1]}"
    placed = re.findall(r"iter=(\d+) steplen=", log)
    # Some cells are given sites between two rounds, all others behind the last one.
    if log.rfind("legalising") > log.rfind("steplen="):
        return "placing each cell at a site of its own"
    return f"placing, round {placed[-1]}" if placed else "placing"


def watched(command: list[str], cwd: Path, log: Path, name: str) -> tuple[int, str]:
    """Run nextpnr, and say on stderr once a minute what it does. Returns its exit code and its messages."""
    began = told = time.monotonic()
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                _, messages = process.communicate(timeout=LOOK)
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if now - told >= TELL:
                    told = now
                    end = log.read_bytes()[-END:].decode(errors="replace") if log.exists() else ""
                    print(f"{name}: {(now - began) / 60:.0f} min, {stage(end)}", file=sys.stderr, flush=True)
                continue
            except BaseException:
                process.terminate()
                raise
            return process.returncode, messages
