"""Runs the directed tests; the last line is their number."""

import os
import re
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

HERE = Path(__file__).resolve().parent
HARDWARE = HERE.parent


def main() -> None:
    """Build and run each test bench."""
    sources = [HARDWARE / line for line in (HARDWARE / "files.f").read_text(encoding="utf-8").split()]
    # Python takes most of the time of a test, the compiler most of the time of a build.
    os.environ["MAKEFLAGS"] = "OPT_FAST=-O0"
    count = 0
    benches = (("queue_bench", "test_queue", {}), ("host_switch", "test_switch", {"DATA_DEPTH": 8}))
    for top, module, parameters in benches:
        build = HARDWARE / "build" / f"cocotb-{top}"
        runner = get_runner("verilator")
        arguments = ["--assert", "-DCHECKS", "-Wno-fatal", "-O3", "--x-assign", "fast", "--output-split", "0"]
        extra = [HERE / "queue_bench.sv"] if top == "queue_bench" else []
        runner.build(
            sources=[*sources, *extra],
            includes=[HARDWARE / "rtl"],
            hdl_toplevel=top,
            build_args=arguments,
            parameters=parameters,
            build_dir=build,
            timescale=("1ns", "1ps"),
            log_file=str(HARDWARE / "build" / f"cocotb-{top}.log"),
        )
        log = HARDWARE / "build" / f"cocotb-{top}-test.log"
        results = runner.test(
            hdl_toplevel=top,
            test_module=module,
            build_dir=build,
            test_dir=HERE,
            log_file=str(log),
            results_xml=str(HARDWARE / "build" / f"{module}.xml"),
        )
        tests, failed = get_results(results)
        if failed or not tests:
            text = log.read_text(encoding="utf-8") if log.exists() else ""
            sys.exit(f"{failed} of {tests} tests of {module} failed\n{re.sub(chr(27) + r'.*?m', '', text)[-3000:]}")
        count += tests
    print(count)


if __name__ == "__main__":
    main()
