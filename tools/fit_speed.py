"""Measures fits of traffic volumes, beside the package powerlaw, and writes their table of docs/performance.md.

The search for xmin is timed in CPU seconds of one process, one after the other on the same samples: Pareto, of exponent
2.5, for which powerlaw needs no numerical optimisation. The study is 200 log-normal traces of 15 minutes at 5 ms,
100 ms, 1 s and 5 s: fits, capacities, percentiles, stationarity, pictures and page.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pages import PERFORMANCE, put

from pullnet.traffic import LogNormal, PowerLaw, fit_power_law, report
from pullnet.traffic.sample import Floats
from pullnet.traffic.study import study
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
    """A whole study of all traces and timescales, with its report."""
    volumes = [trace(index, timescale) for index in range(traces) for timescale in TIMESCALES]
    begin, cpu = time.monotonic(), cpu_of_all()
    found = study(volumes, jobs=jobs)
    with tempfile.TemporaryDirectory() as folder:
        report.write(found, Path(folder))
    wall, cpu = time.monotonic() - begin, cpu_of_all() - cpu
    samples = sum(len(item) for item in volumes)
    what = f"study: {traces} traces x 4 timescales, {len(found.fittings)} fits, with its report"
    return f"| {what} | {samples:,} | pullnet, {jobs} processes | {wall:.0f} s ({cpu:.0f} s CPU) | |"


def cpu_of_all() -> float:
    """CPU time of this process and of those that it has ended. Unit: s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


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
