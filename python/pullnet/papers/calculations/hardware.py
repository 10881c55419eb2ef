"""Checks of the hardware switch: steps of tools/hardware.sh, if there is a checkout with its tools."""

import json
import shutil
import subprocess
from typing import Any

from pullnet.papers.model import folder

NOT_POSSIBLE = 3
"""Exit code of tools/hardware.sh where a machine lacks what a step needs."""


def _step(*words: str) -> dict[str, Any]:
    """Result of a step. `skipped` says why it is not possible here, `failed` what its check found."""
    root = folder().resolve().parent
    script = root / "tools" / "hardware.sh"
    if not script.is_file() or not shutil.which("c++") or not shutil.which("cargo"):
        return {"skipped": "needs a checkout of pullnet, a C++ compiler and cargo"}
    done = subprocess.run([str(script), *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = "skipped" if done.returncode == NOT_POSSIBLE else "failed"
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {why: f"tools/hardware.sh {words[0]}: {last}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _has_none(found: dict[str, Any]) -> bool:
    return "skipped" in found or "failed" in found


def _built(*words: str) -> dict[str, Any]:
    built = _step("build")
    return built if _has_none(built) else _step(*words)


def hardware_published(seed: int, switch: str, clock: int, frames: int = 12000) -> dict[str, Any]:
    """Sizes at which the model of the published design loses frames, and the least fraction of the line rate."""
    del seed
    found = _built("published", switch, str(clock), str(frames))
    if _has_none(found):
        return found
    fractions = found["fractions"]
    return {
        "below": found["below"],
        "none_below": not found["below"],
        "all_below": len(found["below"]) == len(fractions),
        "exactly_65_and_97": found["below"] == ["65", "97"],
        "exactly_six": found["below"] == ["65", "97", "129", "161", "193", "225"],
        "has_65_and_97": {"65", "97"} <= set(found["below"]),
        "worst": min(fractions.values()),
        "at_65": fractions["65"],
        "at_64": fractions["64"],
        "fractions": fractions,
    }


def hardware_order(seed: int, clock: int, frames: int = 12000) -> dict[str, Any]:
    """Whether the reference is at least as fast as the NDP switch at every size, and faster at some."""
    both = [hardware_published(seed, switch, clock, frames) for switch in ("reference", "ndp")]
    for found in filter(_has_none, both):
        return found
    pairs = [(both[0]["fractions"][size], both[1]["fractions"][size]) for size in both[0]["fractions"]]
    ordered = all(reference >= ndp for reference, ndp in pairs) and any(reference > ndp for reference, ndp in pairs)
    return {"ordered": ordered}


def hardware_needs(seed: int, size: int) -> dict[str, Any]:
    """Clock from which the reference model loses nothing at a size. Unit: MHz."""
    del seed
    for clock in range(100, 260, 2):
        found = _built("published", "reference", str(clock), "12000", str(size))
        if _has_none(found):
            return found
        if not found["below"]:
            return {"mhz": clock}
    return {"failed": f"no clock below 260 MHz carries {size} B"}


def hardware_arbiter(seed: int, clock: int, frames: int = 3000) -> dict[str, Any]:
    """Frames that a queue of small packets loses beside three of large ones, under both arbiters."""
    del seed
    deficit = _built("published", "ndp", str(clock), str(frames), "mixed")
    plain = _built("published", "round-robin", str(clock), str(frames), "mixed")
    for found in filter(_has_none, (deficit, plain)):
        return found
    return {"deficit_lost": deficit["lost"], "plain_lost": plain["lost"], "holds": deficit["lost"] == 0 < plain["lost"]}


def hardware_line_rate(seed: int, clock: int, frames: int, sizes: str) -> dict[str, Any]:
    """Whether our switch holds the line rate at every size."""
    del seed
    found = _built("line-rate", str(clock), str(frames), *sizes.split())
    return found if _has_none(found) else {**found, "none_below": not found["below"]}


def hardware_agreement(seed: int, frames: int) -> dict[str, Any]:
    """Frames on which RTL and software switch agree; the step fails where they do not."""
    found = _built("agreement", str(frames), str(seed))
    return found if _has_none(found) else {**found, "agrees": found["disagreements"] == 0}


def hardware_p4(seed: int) -> dict[str, Any]:
    """Whether the P4 programs do what the paper says of its own; the paper's is run as it was published."""
    del seed
    found = _step("p4")
    return found if _has_none(found) else {**found, "holds": all(found.values())}


def hardware_proofs(seed: int) -> dict[str, Any]:
    """Properties that are proved by induction."""
    del seed
    return _step("proofs")


def hardware_synthesis(seed: int) -> dict[str, Any]:
    """Cells for ECP5: of the switch, of the reference switch, and of the queues that are the difference."""
    del seed
    found = _step("synthesis", "switch", "reference switch", "trim_queue", "tail_queue", "rewrite")
    if _has_none(found):
        return found
    ours, reference = found["switch"], found["reference switch"]
    queues = 4 * (found["trim_queue"]["lut"] - found["tail_queue"]["lut"])
    more = max(ours["lut"] - reference["lut"], 1)
    device = {"lut": 83640, "ff": 83640, "bram": 208}
    points = {f"{kind}_points": 100 * (ours[kind] - reference[kind]) / device[kind] for kind in device}
    cells = {kind: ours[kind] for kind in device}
    return {**cells, **points, "queues_share": queues / more, "within": max(points.values()) <= 3.2}
