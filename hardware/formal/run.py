"""Proves the properties of the modules: run.py OUT [MODULE...]. Writes OUT/proofs.json."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"

# Module, parameters, induction depth. Widths and depths are small where the module has them as parameters: no property
# depends on them.
TASKS = {
    "fifo": ("-G WIDTH=4 -G DEPTH=4", 6),
    "short_fifo": ("-G WIDTH=4 -G DEPTH=4", 3),
    "deep_fifo": ("-G WIDTH=4 -G DEPTH=8", 3),
    "free_list": ("-G COUNT=4 -G WIDTH=4", 3),
    "header_plan": ("", 3),
    "skid": ("-G WIDTH=4", 4),
    "round_robin": ("-G N=4", 3),
    "cell_turns": ("-G N=4", 3),
    "tail_queue": ("-G DEPTH=4", 3),
    "trim_queue": ("-G DATA_DEPTH=4 -G CONTROL_DEPTH=4", 3),
    "releaser": ("-G SOURCES=3 -G COPIES=2 -G HEADS=4", 3),
    "egress": ("-G W=256 -G DEPTH=8", 3),
    "admission": ("-G FIXED=1 -G ROUTES=1 -G LEARNED=2 -G HEADS=4 -G BOUNDS=4", 3),
    "parser": ("-G W=256", 6),  # its headers are in fewer beats
    "ingress": ("-G W=16 -G DEPTH=8 -G CELLS=8 -G TICKETS=16 -G BANKS=3 -G BODY_CELLS=2", 3),
}
# Modules inside of others; their own properties are proved along.
PARTS = {"deep_fifo": ["short_fifo.sv"], "free_list": ["fifo.sv"], "tail_queue": ["fifo.sv"]}
# The same for larger modules, whose parts are proved by themselves only.
LARGE = {
    "cell_turns": ["round_robin.sv"],
    "releaser": ["round_robin.sv"],
    "egress": ["short_fifo.sv", "deep_fifo.sv", "header_plan.sv", "rewrite.sv"],
    "admission": ["short_fifo.sv", "round_robin.sv", "skid.sv", "table_lookup.sv"],
    "ingress": ["short_fifo.sv", "deep_fifo.sv", "skid.sv", "parser.sv"],
}
# Replacements of RTL files in the proof of a module.
STAND_INS = {"ingress": {"parser.sv": HERE / "parser_timing.sv"}}
# Seconds after which a search ends without a verdict.
LIMITS = {"prove": 900, "cover": 900, "bmc": 3600}
TEMPLATE = """[options]
mode {mode}
depth {depth}
timeout {limit}
[engines]
smtbmc {memories}z3
[script]
read_slang --threads 1 {defines}-I . {files} --top {top} {parameters}
prep -top {top}
[files]
{paths}
"""


def properties(module: str) -> tuple[list[str], list[str]]:
    """Names of the asserted and of the covered properties."""
    text = (HERE / f"{module}_props.svh").read_text(encoding="utf-8")
    labelled = re.findall(r"^    (\w+): (?:if \(.*?\)\s*)?(assert|cover) \(", text, re.M | re.S)
    return [n for n, kind in labelled if kind == "assert"], [n for n, kind in labelled if kind == "cover"]


def defines(module: str, mode: str) -> str:
    """Options that say which properties are read, and whether the input is narrowed to find something sooner."""
    names = ["FORMAL_LARGE"] if module in LARGE else ["FORMAL", *["PART"] * (module in PARTS)]
    narrow = {"cover": ["COVER"], "bmc": ["BROKEN"]}.get(mode, [])
    return "".join(f"-D {name}=1 " for name in [*names, *narrow])


def run(out: Path, module: str, mode: str, instead: dict[str, Path] | None = None) -> tuple[str, float]:
    """Run one proof, with some files in place of those of the RTL.

    Gives the verdict of sby (PASS, FAIL, TIMEOUT, UNKNOWN or ERROR) and how long it took.
    """
    parameters, depth = TASKS[module]
    names = ["pullnet_pkg.sv", *PARTS.get(module, ()), *LARGE.get(module, ()), f"{module}.sv"]
    proved = [f"{module}.sv", *PARTS.get(module, ())]
    replaced = STAND_INS.get(module, {}) | (instead or {})
    sources = [replaced.get(name, RTL / name) for name in names]
    paths = sources + [HERE / f"{Path(name).stem}_props.svh" for name in proved]
    paths += RTL.glob("*_ports.svh")
    task = out / f"{module}_{mode}.sby"
    depth = {"cover": 30, "bmc": 16}.get(mode, depth)
    listed = "\n".join(sorted({str(path.resolve()) for path in paths}))
    filled = TEMPLATE.format(
        mode=mode,
        depth=depth,
        limit=LIMITS[mode],
        files=" ".join(source.name for source in sources),
        top=module,
        parameters=parameters,
        paths=listed,
        defines=defines(module, mode),
        # Memories of wide words are faster as registers.
        memories="--nomem " * (module in LARGE),
    )
    task.write_text(filled, encoding="utf-8")
    begun = time.monotonic()
    done = subprocess.run(["sby", "-f", task.name], cwd=out, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    (out / f"{module}_{mode}.log").write_text(log, encoding="utf-8")
    verdict = re.search(r"DONE \((\w+), rc=", log)
    return verdict[1] if verdict else "ERROR", time.monotonic() - begun


def failed(out: Path, module: str) -> list[str]:
    """Names of the properties that bounded model checking saw fail."""
    log = (out / f"{module}_bmc.log").read_text(encoding="utf-8")
    lines = (HERE / f"{module}_props.svh").read_text(encoding="utf-8").splitlines()
    found = set()
    for line in re.findall(rf"failed assertion .*? at {module}_props\.svh:(\d+)", log):
        labels = [re.match(r"    (\w+): ", text) for text in lines[: int(line)]]
        found.add([label[1] for label in labels if label][-1])
    return sorted(found)


def main() -> None:
    """Run every proof and write what came out."""
    if len(sys.argv) < 2:
        sys.exit("usage: run.py OUT [MODULE...]")
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    results = {}
    for module in sys.argv[2:] or TASKS:
        asserted, covered = properties(module)
        verdict, seconds = run(out, module, "prove")
        passed = verdict == "PASS"
        reached = not covered or run(out, module, "cover")[0] == "PASS"
        results[module] = {"properties": asserted, "proved": passed, "covered": covered, "reached": reached}
        word = "proved" if passed else f"NOT PROVED ({verdict})"
        print(f"{module}: {len(asserted)} properties {word} in {seconds:.0f} s", flush=True)
        if not reached:
            print(f"{module}: a covered state is NOT REACHED", flush=True)
    (out / "proofs.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if not all(result["proved"] and result["reached"] for result in results.values()):
        sys.exit(f"some properties are not proved; see the logs in {out}")


if __name__ == "__main__":
    main()
