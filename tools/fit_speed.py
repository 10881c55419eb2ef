"""Measures fits of traffic volumes, beside the package powerlaw, and writes their table of docs/performance.md.

The search for xmin is timed in CPU seconds of one process, one after the other on the same samples: Pareto, of exponent
2.5, for which powerlaw needs no numerical optimisation. The study is 200 log-normal traces of 15 minutes at 5 ms,
100 ms, 1 s and 5 s, from a Parquet file: reading, fits, capacities, percentiles, stationarity, pictures and page.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pages import PERFORMANCE, put

from pullnet.traffic import LogNormal, PowerLaw, fit_power_law, write
from pullnet.traffic.sample import Floats
from pullnet.traffic.volumes import Volumes

DURATION = 900.0
TIMESCALES = (0.005, 0.1, 1.0, 5.0)


def pareto(size: int) -> Floats:
    """Samples of a power law."""
    return PowerLaw(2.5, 1.0).rvs(size, np.random.default_rng(1))


def timed(work: Callable[[], object]) -> float:
    """CPU time of `work`. Unit: s."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def search_of_powerlaw(sample: Floats) -> None:
    """The search for xmin by the package powerlaw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import powerlaw

        powerlaw.Fit(sample, verbose=0)


def beside(size: int) -> Iterator[str]:
    """Both searches on the same samples."""
    sample = pareto(size)
    ours = min(timed(lambda: fit_power_law(sample)) for _ in range(3))
    yield f"| search for xmin | {size:,} | pullnet | {ours:.2g} s CPU | |"
    theirs = timed(lambda: search_of_powerlaw(sample))
    yield f"| search for xmin | {size:,} | powerlaw 2.0.0 | {theirs:.0f} s CPU | {theirs / ours:.0f} times |"


def large(size: int) -> str:
    """A search that powerlaw would need days for."""
    sample = pareto(size)
    return f"| search for xmin | {size:,} | pullnet | {timed(lambda: fit_power_law(sample)):.2g} s CPU | |"


def trace(index: int, timescale: float) -> Volumes:
    """A trace of the study: mean 400 Mbit/s, the less even the shorter the timescale."""
    rng = np.random.default_rng([index, round(timescale * 1000)])
    sigma = 0.2 + 0.3 * rng.random() + 0.05 * np.log(5.0 / timescale)
    values = LogNormal(np.log(5e7 * timescale) - 0.5 * sigma**2, sigma).rvs(round(DURATION / timescale), rng)
    return Volumes(f"trace {index}", timescale, 0.0, values, np.zeros(values.size, dtype=np.uint8))


def whole(traces: int, jobs: int) -> str:
    """The command `study` on a Parquet file of all traces and timescales: reading, examining, report."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traces.parquet"
        volumes = [trace(index, timescale) for index in range(traces) for timescale in TIMESCALES]
        samples, series = sum(len(item) for item in volumes), len(volumes)
        write(volumes, file)
        del volumes
        pullnet = str(Path(sys.executable).with_name("pullnet"))
        out = str(Path(folder) / "report")
        command = [pullnet, "traffic", "study", str(file), "-o", out, "--jobs", str(jobs), "--quiet"]
        wall, cpu, peak = watched(command)
    what = f"study FILE.parquet: {traces} traces x 4 timescales, {series} fits, reading and report included"
    spent = f"{wall:.0f} s ({cpu:.0f} s CPU), {peak / 1e9:.1f} GB"
    return f"| {what} | {samples:,} | pullnet, {jobs} processes | {spent} | |"


def watched(command: list[str]) -> tuple[float, float, float]:
    """Wall-clock time, CPU time, and the largest memory of a command with its processes (PSS). Units: s, s, bytes."""
    begin, before, peak = time.monotonic(), cpu_of_all(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, sum(memory(member) for member in members(process.pid)))
            time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"fit_speed: {' '.join(command)} ended with {process.returncode}")
    return time.monotonic() - begin, cpu_of_all() - before, peak


def members(session: int) -> Iterator[Path]:
    """The processes of a session."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "stat").read_text().rpartition(")")[2].split()[3] == str(session):
                yield folder
        except OSError:
            continue


def memory(process: Path) -> int:
    """Memory of a process; what it shares with others in parts. Unit: bytes."""
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def cpu_of_all() -> float:
    """CPU time of the children that have ended. Unit: s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print the table or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write the table into {PERFORMANCE.name}")
    parser.add_argument("--beside", type=int, default=100_000, help="samples of the comparison with powerlaw")
    parser.add_argument("--large", type=int, default=5_000_000, help="samples of the large search")
    parser.add_argument("--traces", type=int, default=200, help="traces of the study")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the study")
    options = parser.parse_args()
    rows = [large(options.large), whole(options.traces, options.jobs), *beside(options.beside)]
    heading = ["| what | samples | by | time | ratio |", "|---|--:|---|--:|--:|"]
    table = "\n".join([*heading, *rows])
    if options.write:
        put(PERFORMANCE, "fit_speed", table)
    sys.stdout.write(table + "\n")


if __name__ == "__main__":
    main()
