"""Measures of experiments on this machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

_PERCENTILE = {"min": 0, "median": 50, "max": 100}
LATE_MS = 190
"""Longer times include the shortest retransmission timeout of Linux, 200 ms."""


def _numbers(runs: list[Run], of: str) -> list[Any]:
    for run in runs:
        if "skipped" in run.numbers:
            raise MissingRunsError(f"not possible here: {run.numbers['skipped']}")
    return [run.numbers[of] for run in runs]


def here(
    data: Data,
    experiment: str,
    of: str,
    take: str = "median",
    at: dict[str, Value] | None = None,
    beside: Sequence[str] = (),
) -> MeasuredNumber | MeasuredProperty:
    """Take a number over the runs of an experiment, or whether something holds in all of them.

    The note has it for each run, and what else is wanted `beside` it. A check that failed does not hold; one that is
    not possible here was not run.
    """
    runs = data.runs(experiment, at)
    failed = [run.numbers["failed"] for run in runs if "failed" in run.numbers]
    if failed:
        return MeasuredProperty(holds=False, note=failed[0])
    values = _numbers(runs, of)
    if all(isinstance(value, bool) for value in values):
        details = {_name(run): float(value) for run, value in zip(runs, values, strict=True)}
        return MeasuredProperty(holds=all(values), details=details)
    notes = [f"{_name(run)}: {value:.4g}" for run, value in zip(runs, values, strict=True)]
    notes += [f"{name}: {float(np.median(_numbers(runs, name))):.4g}" for name in beside]
    taken = float(np.percentile(np.asarray(values, dtype=float), _PERCENTILE[take]))
    return MeasuredNumber(taken, note=", ".join(notes))


def sizes_within(
    data: Data, experiment: str, of: str, most: float, smallest: float, at: dict[str, Value] | None = None
) -> MeasuredProperty:
    """Whether a number stays below `most` at every size, at the smallest one below `smallest`."""
    runs = data.runs(experiment, at)
    values = _numbers(runs, of)
    least = min(float(run.at["size"]) for run in runs)
    limits = [smallest if float(run.at["size"]) == least else most for run in runs]
    details = {_name(run): value for run, value in zip(runs, values, strict=True)}
    return MeasuredProperty(holds=all(v <= limit for v, limit in zip(values, limits, strict=True)), details=details)


def numbers_within(data: Data, experiment: str, bounds: dict[str, list[float]]) -> MeasuredProperty:
    """Whether the medians of several numbers lie each between its bounds."""
    parts = {of: float(here(data, experiment, of).value or 0.0) for of in bounds}
    return MeasuredProperty(holds=all(low <= parts[of] <= high for of, (low, high) in bounds.items()), details=parts)


def ordered_within(
    data: Data, experiment: str, of: str, beside: str, most: float, at: dict[str, Value] | None = None
) -> MeasuredProperty:
    """Whether something holds at every point, and the number `beside` it is at most `most` at every one."""
    runs = data.runs(experiment, at)
    holds, numbers = _numbers(runs, of), _numbers(runs, beside)
    details = {_name(run): value for run, value in zip(runs, numbers, strict=True)}
    return MeasuredProperty(holds=all(holds) and max(numbers) <= most, details=details)


def holds_in(data: Data, experiments: list[str], of: str) -> MeasuredProperty:
    """Whether something holds in several experiments."""
    parts = {experiment: here(data, experiment, of) for experiment in experiments}
    details = {experiment: float(part.holds is True) for experiment, part in parts.items()}
    return MeasuredProperty(holds=all(part.holds for part in parts.values()), details=details)


def ratio(data: Data, experiments: list[str], over: str, under: str) -> MeasuredNumber:
    """Ratio of a number of one experiment to that of another."""
    parts = [here(data, experiment, of) for experiment, of in zip(experiments, (over, under), strict=True)]
    values = [part.value or 0.0 for part in parts]
    return MeasuredNumber(values[0] / values[1], note=f"{values[0]:.4g} over {values[1]:.4g}")


def _name(run: Run) -> str:
    texts = [f"{key} {value}" for key, value in run.at.items()]
    return ", ".join(texts) or f"seed {run.seed}"


def late_when_lost(data: Data, experiment: str) -> MeasuredProperty:
    """Whether TCP's 90th percentile is beyond the least retransmission timeout wherever rounds were that late."""
    runs = data.runs(experiment)
    shares, tails = (_numbers(runs, of) for of in ("tcp_late_rounds", "tcp_p90_us"))
    late = [tail / 1e3 for share, tail in zip(shares, tails, strict=True) if share > 0.1]
    details = {"points with late rounds": float(len(late)), "of": float(len(runs))}
    if late:
        details["least 90th percentile (ms)"] = min(late)
    return MeasuredProperty(holds=bool(late) and min(late) >= LATE_MS, details=details)
