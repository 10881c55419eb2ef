"""Steps of tools/hardware.sh: steps.py STEP [ARGUMENT...]. Each prints one JSON object on its last line, or fails."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HARDWARE = Path(__file__).resolve().parent
ROOT = HARDWARE.parent
BUILD = HARDWARE / "build"
WARNINGS = ["-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-PINCONNECTEMPTY"]
# Models of the published switches: cycles of a frame beyond its beats, and bytes that a port may send in its turn.
PUBLISHED = {"reference": ("0", "1514"), "ndp": ("1", "1514"), "round-robin": ("1", "0")}
SIZES_OF_THE_STUDY = sorted({size for n in range(2, 48) for size in (32 * n, 32 * n + 1)} | {1514})
# Those of them that the models lose, by switch and clock in MHz, as docs/hardware.md has them.
PUBLISHED_LOSES = {
    ("ndp", "200"): {65, 97},
    ("ndp", "180"): {65, 97, 129, 161, 193, 225},
    ("ndp", "150"): set(SIZES_OF_THE_STUDY),
    ("reference", "200"): set(),
    ("reference", "180"): set(),
    ("reference", "150"): {size for size in SIZES_OF_THE_STUDY if size % 32 or size > 576},
}


def call(command: list[str], cwd: Path = HARDWARE, *, tells: bool = False) -> str:
    """Run a command and return what it printed; end with its messages if it fails.

    A command that `tells` shows its messages while it runs.
    """
    messages = None if tells else subprocess.PIPE
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=messages, text=True, check=False)
    if done.returncode != 0:
        said = f"{done.stdout[-3000:]}{(done.stderr or '')[-3000:]}"
        sys.exit(f"hardware: {' '.join(command[:6])} failed\n{said}")
    return done.stdout


def lint() -> dict[str, Any]:
    """Verilator's warnings are errors, for both switches, both bus widths and what is placed and routed."""
    tops = [["host_switch"], ["host_switch", "-GNDP=0"], ["host_switch", "-GW=256"]]
    tops += [["top_ecp5"], ["top_ecp5", "-GPORTS=2"], ["top_ecp5", "-GW=256"]]
    tops += [["top_ecp5", "-GPORTS=2", "-GW=256"]]
    for top in tops:
        files = ["-f", "files.f", "synth/top_ecp5.sv"]
        call(["verilator", "--lint-only", "-Irtl", *WARNINGS, "--top-module", *top, *files])
    return {"linted": len(tops)}


def _current(file: Path, made_from: list[Path]) -> bool:
    """Whether a file is newer than everything that it is made from."""
    return file.exists() and file.stat().st_mtime > max(path.stat().st_mtime for path in made_from)


def _verilate(name: str, top: str, parameters: list[str], sources: list[str]) -> None:
    """Build a simulation, unless it is newer than everything that it is made from."""
    program = BUILD / "bin" / name
    if _current(program, [*HARDWARE.glob("rtl/*"), *HARDWARE.glob("sim/*"), HARDWARE / "files.f", Path(__file__)]):
        return
    command = ["verilator", "-Irtl", "--cc", "--exe", "--build", "-j", "1", "-O3", "--x-assign", "fast", "-Wno-fatal"]
    # One file of C++ takes half the time of many with a precompiled header.
    command += ["--assert", "-DCHECKS", "--output-split", "0", *parameters]
    # Level 2 takes 1.6 times as long to compile, and the simulation is no faster.
    command += ["--top-module", top, "--Mdir", str(BUILD / f"obj-{name}"), "-CFLAGS", "-O1 -std=c++17"]
    command += ["-MAKEFLAGS", "OPT_FAST=-O1", "-o", f"../bin/{name}", *sources]
    (BUILD / "bin").mkdir(parents=True, exist_ok=True)
    call(command)


def _switch(name: str, *parameters: str, ports: int = 4) -> None:
    given = [*parameters, f"-GPORTS={ports}", "-CFLAGS", f"-DSWITCH_PORTS={ports}"]
    _verilate(name, "host_switch", given, ["-f", "files.f", "sim/main.cpp", "sim/line_rate.cpp"])


def build() -> dict[str, Any]:
    """The simulations, and the Rust switch whose outcomes they are compared with."""
    _switch("switch", "-GDATA_DEPTH=64")
    # Room in bytes for the shortest frames.
    _switch("reference", "-GNDP=0", "-GDATA_DEPTH=256")
    _verilate("published", "published", [], ["sim/published.sv", "sim/published.cpp"])
    call(["cargo", "build", "--quiet", "--release", "-p", "pullnet-hardware"], ROOT)
    return {"simulations": 3}


def _agrees(switch: str, known: str, frames: int, seed: str) -> dict[str, dict[str, Any]]:
    """Drive a simulation with random frames under the settings for this kind of switch; counts by settings."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = str(target / "release" / "pullnet-hardware")
    return dict(json.loads(call([program, known, str(BUILD / "bin" / switch), str(frames), seed])))


def _frames(profiles: dict[str, dict[str, Any]]) -> int:
    return sum(one["frames"] for one in profiles.values())


def agreement(frames: str = "1000000", seed: str = "1") -> dict[str, Any]:
    """Random frames, RTL beside the software switch; an eighth as many for the reference switch, which drops tails."""
    ours = _agrees("switch", "agreement", int(frames), seed)
    reference = _agrees("reference", "reference", int(frames) // 8, seed)
    return {
        "frames": _frames(ours),
        "reference_frames": _frames(reference),
        "disagreements": 0,
        "profiles": ours | reference,
    }


def _rates(switch: str, clock: str, frames: str, sizes: tuple[str, ...]) -> dict[str, Any]:
    lines = call([str(BUILD / "bin" / switch), clock, frames, *(sizes or ("64-1514",))]).splitlines()
    rows = [line.split() for line in lines]
    # A size falls behind where its backlog grows, or where a whole frame less than came has left: a run may end before
    # the buffers are full.
    least = 1 - 1 / int(frames)
    below = [
        int(row[0])
        for row in rows
        if row[2:5] != ["0", "0", "0"] or int(row[6]) > int(row[5]) + 1 or float(row[7]) < least
    ]
    most = max(max(int(row[5]), int(row[6])) for row in rows)
    worst = min(float(row[7]) for row in rows)
    return {"sizes": len(rows), "below": below, "most_frames_inside": most, "worst_fraction": worst}


def line_rate(clock: str = "200", frames: str = "100", *sizes: str) -> dict[str, Any]:
    """Lists sizes at which frames are lost, spoilt or delayed more and more: there must be none."""
    return _rates("switch", clock, frames, sizes)


def wide(frames: str = "125000", clock: str = "150", *sizes: str) -> dict[str, Any]:
    """Agreement and line rate of the switch with a bus of 256 bits."""
    _switch("wide", "-GW=256", "-GDATA_DEPTH=64")
    profiles = _agrees("wide", "agreement", int(frames), "1")
    return {"frames": _frames(profiles), "disagreements": 0, **_rates("wide", clock, "100", sizes)}


# The switches of two ports that are placed and routed whole, by the width of their bus.
TWO_PORTS = {"128": "two-port switch", "256": "two-port switch of 256 bits"}


def _check_bits(bits: str) -> None:
    if bits not in TWO_PORTS:
        sys.exit(f"hardware: the first argument is the width of the bus, {' or '.join(TWO_PORTS)}, and not {bits!r}")


def two_ports(bits: str = "128", clock: str = "90", frames: str = "100", *sizes: str) -> dict[str, Any]:
    """Line rate of the switch with two ports and a bus of so many bits, as it is placed and routed whole."""
    _check_bits(bits)
    name = f"two-ports-{bits}"
    _switch(name, f"-GW={bits}", "-GDATA_DEPTH=64", ports=2)
    return _rates(name, clock, frames, sizes)


def routed(bits: str = "256", frames: str = "300", *sizes: str) -> dict[str, Any]:
    """Line rate of two ports at the clock that routing has reached, in whole MHz."""
    _check_bits(bits)
    name = TWO_PORTS[bits]
    file = BUILD / "synthesis" / "synthesis.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    report = file.with_name(f"{name.replace(' ', '-')}.routed")
    if "fmax_mhz" not in found.get(name, {}) or not _current(report, [*HARDWARE.glob("rtl/*")]):
        sys.exit(f'hardware: the {name} has no clock for this RTL yet; `tools/hardware.sh route "{name}"` finds it')
    clock = int(found[name]["fmax_mhz"])
    return {"clock_mhz": clock, **two_ports(bits, str(clock), frames, *(sizes or ("64-1514",)))}


def published(switch: str = "ndp", clock: str = "200", frames: str = "12000", *sizes: str) -> dict[str, Any]:
    """Lists sizes at which the model of the published design loses frames; `mixed` is 64 B beside 1514 B.

    Where these sizes are known for the switch and the clock, others are a failure.
    """
    asked = sizes or tuple(str(size) for size in SIZES_OF_THE_STUDY)
    lines = call([str(BUILD / "bin" / "published"), *PUBLISHED[switch], clock, frames, *asked]).splitlines()
    rows = [line.split() for line in lines]
    fractions = {row[0]: float(row[3]) for row in rows}
    below = [row[0] for row in rows if row[2] != "0"]
    known = PUBLISHED_LOSES.get((switch, clock))
    wanted = [size for size in asked if size.isdigit() and int(size) in (known or ())]
    found = [size for size in below if size.isdigit() and int(size) in SIZES_OF_THE_STUDY]
    if known is not None and found != wanted:
        sys.exit(f"hardware: the model {switch} loses at {clock} MHz frames of {found} B, which should be {wanted}")
    return {
        "below": below,
        "fractions": fractions,
        "lost": sum(int(r[2]) for r in rows),
    }


def proofs() -> dict[str, Any]:
    """All properties by induction."""
    call([sys.executable, "formal/run.py", "build/proofs"])
    results = json.loads((BUILD / "proofs" / "proofs.json").read_text(encoding="utf-8"))
    return {"properties": sum(len(result["properties"]) for result in results.values()), "modules": results}


def mutants(*modules: str) -> dict[str, Any]:
    """Broken designs, one change each: a property fails for every one."""
    lines = call([sys.executable, "formal/mutants.py", "build/mutants", *modules]).splitlines()
    return {"mutants": len(lines), "seen": lines}


def directed() -> dict[str, Any]:
    """Directed tests in cocotb: golden vectors of the queue, and single frames through the switch."""
    return {"tests": int(call([sys.executable, "tests/run.py"]).splitlines()[-1])}


def synthesis(*modules: str) -> dict[str, Any]:
    """Cells of each module after synthesis for ECP5."""
    call([sys.executable, "synth/run.py", "build/synthesis", *modules], tells=True)
    return dict(json.loads((BUILD / "synthesis" / "synthesis.json").read_text(encoding="utf-8")))


def _placed(option: str, modules: tuple[str, ...]) -> dict[str, Any]:
    names = modules or ("switch",)
    call([sys.executable, "synth/run.py", "build/synthesis", option, *names], tells=True)
    results = json.loads((BUILD / "synthesis" / "synthesis.json").read_text(encoding="utf-8"))
    return {name: results[name] for name in names}


def place(*modules: str) -> dict[str, Any]:
    """Cells, and the clock that is estimated after placement: of the switch, or of the designs that are named."""
    return _placed("--place", modules)


def route(*modules: str) -> dict[str, Any]:
    """The same with place and route: the clock that is reached. Takes long."""
    return _placed("--route", modules)


def _vectors() -> list[tuple[str, bool]]:
    """Vectors of both queues of the RTL, and which of them tests/test_queue.py leaves out: they mark what leaves."""
    folder = ROOT / "vectors" / "qdisc"
    files = [*folder.glob("trim-*.jsonl"), *folder.glob("drop-tail-*.jsonl")]
    heads = {file.stem: json.loads(file.read_text(encoding="utf-8").split("\n", 1)[0]) for file in files}
    return [(name, head["config"].get("mark_at") == "dequeue") for name, head in heads.items()]


def features() -> dict[str, Any]:
    """Compare hardware/features/rtl.json with the parts of the rule that the RTL has; BLESS=1 rewrites the file."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "pullnet-hardware"
    found = json.loads(call([str(program), "features", str(BUILD / "bin" / "switch")]))
    # `directed` fails where a line of a vector differs.
    directed()
    found |= {name: "no: marks what arrives" if left_out else "yes" for name, left_out in _vectors()}
    file = HARDWARE / "features" / "rtl.json"
    text = json.dumps(found, indent=2, sort_keys=True) + "\n"
    if os.environ.get("BLESS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != text:
        sys.exit(
            f"hardware: {file} does not list what the simulation found; "
            f"BLESS=1 tools/hardware.sh features rewrites it\n{text}"
        )
    return {"features": len(found), "all": all(value == "yes" for value in found.values())}


def p4() -> dict[str, Any]:
    """Whether the P4 programs do what the paper says of its own."""
    call(["cargo", "build", "--quiet", "--release", "-p", "pullnet-hardware"], ROOT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found: dict[str, Any] = json.loads(call([str(target / "release" / "pullnet-hardware"), "p4"]))
    if not all(found.values()):
        sys.exit(f"hardware: a P4 program does not do what the paper says: {found}")
    return found


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "lint": lint,
    "build": build,
    "agreement": agreement,
    "line-rate": line_rate,
    "wide": wide,
    "two-ports": two_ports,
    "routed": routed,
    "published": published,
    "proofs": proofs,
    "mutants": mutants,
    "directed": directed,
    "features": features,
    "p4": p4,
    "synthesis": synthesis,
    "place": place,
    "route": route,
}


def main() -> None:
    """Carry out one step."""
    if len(sys.argv) < 2 or sys.argv[1] not in STEPS:
        sys.exit(f"hardware: no such step; there are {', '.join(STEPS)}")
    print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
