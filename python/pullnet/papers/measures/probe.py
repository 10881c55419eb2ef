"""A closed loop of transfers beside a loaded network."""

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean, seeds_text
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
TAG = "probe"
PERIOD_US = 2_000_000.0
"""Counts are scaled to the two seconds that the source simulates."""


def _done(run: Run) -> pl.DataFrame:
    """Transfers that ended, with the time until their sender knew it: what the source's simulator reports."""
    flows = run.result.flows.filter(pl.col("tag") == TAG, pl.col("acknowledged_ps").is_not_null())
    return flows.with_columns(((pl.col("acknowledged_ps") - pl.col("start_ps")) / 1e6).alias("time_us"))


def _scaled(run: Run, value: float) -> float:
    return value * PERIOD_US / run.result.summary.simulated_us


def _counts(data: Data, experiment: str, at: At | None) -> list[float]:
    return [_scaled(run, float(_done(run).height)) for run in data.runs(experiment, at)]


def completed_range(data: Data, experiment: str, low: float, high: float, at: At | None = None) -> MeasuredProperty:
    """Whether the number of transfers in two seconds lies between bounds, for every seed."""
    counts = _counts(data, experiment, at)
    details = {"fewest": min(counts), "mean": mean(counts), "most": max(counts)}
    return MeasuredProperty(
        holds=low <= min(counts) and max(counts) <= high, details=details, note=seeds_text(data.runs(experiment, at))
    )


def completed_median(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Median over seeds of the transfers in two seconds."""
    counts = _counts(data, experiment, at)
    return MeasuredNumber(
        float(np.median(counts)), note=f"{min(counts):.0f} to {max(counts):.0f} over {len(counts)} seeds"
    )


def completed_alike(data: Data, experiment: str, within: float, at: At | None = None) -> MeasuredProperty:
    """Whether no timer ran out and all seeds complete nearly as many transfers."""
    runs = data.runs(experiment, at)
    counts = _counts(data, experiment, at)
    spread = float(np.std(counts) / mean(counts))
    timeouts = float(sum(run.result.summary.timeouts for run in runs))
    details = {"timeouts": timeouts, "fewest": min(counts), "most": max(counts), "std/mean": spread}
    return MeasuredProperty(holds=timeouts == 0 and spread <= within, details=details)


ENOUGH = 500
"""Extremes of fewer transfers do not compare with those of two seconds, some 1200."""


def _extremes(data: Data, experiment: str, at: At | None) -> list[tuple[float, float]]:
    """Shortest and longest transfer of each seed. Unit: us."""
    tables = [_done(run)["time_us"].to_numpy() for run in data.runs(experiment, at)]
    if min(len(table) for table in tables) < ENOUGH:
        raise MissingRunsError(f"this level makes fewer than {ENOUGH} transfers per seed, too few for their extremes")
    return [(float(np.min(table)), float(np.max(table))) for table in tables]


def shortest_time(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Mean over seeds of the shortest transfer, ACK included. Unit: us."""
    times = [shortest for shortest, _ in _extremes(data, experiment, at)]
    return MeasuredNumber(mean(times), note=f"{min(times):.1f} to {max(times):.1f} us over {len(times)} runs")


def longest_time(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Mean over seeds of the longest transfer, ACK included. Unit: ms."""
    times = [longest / 1e3 for _, longest in _extremes(data, experiment, at)]
    return MeasuredNumber(mean(times), note=f"{min(times):.2f} to {max(times):.2f} ms over {len(times)} runs")


def megabytes(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Payload of completed transfers in two seconds, mean over seeds. Unit: MB."""
    sums = [_scaled(run, float(np.sum(_done(run)["size_bytes"].to_numpy()))) / 1e6 for run in data.runs(experiment, at)]
    return MeasuredNumber(mean(sums), note=f"{min(sums):.0f} to {max(sums):.0f} MB over {len(sums)} seeds")


def seeds_with_timeouts(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Seeds in which a timer of a probe's transfer ran out."""
    runs = data.runs(experiment, at)
    late = [run.seed for run in runs if run.result.flows.filter(pl.col("tag") == TAG)["timeouts"].sum() > 0]
    return MeasuredNumber(float(len(late)), note=f"of {len(runs)}" + (f": {late}" if late else ""))


def time_follows_size(data: Data, experiment: str, least: float, at: At | None = None) -> MeasuredProperty:
    """Whether transfers take longer the larger they are: correlation of ranks."""
    table = pl.concat([_done(run).select("size_bytes", "time_us") for run in data.runs(experiment, at)])
    correlation = float(table.select(pl.corr("size_bytes", "time_us", method="spearman")).item())
    return MeasuredProperty(
        holds=correlation >= least, details={"rank correlation": correlation, "transfers": table.height}
    )
