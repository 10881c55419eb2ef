"""Measures of responses with deadlines, and of the long flows beside them.

Responses count that started within the measurement window; a flow that was given up has missed its deadline.
Where a flow's deadline lies behind the end of the run, it does not count. Seeds are taken together.
"""

import numpy as np
import polars as pl

from pullnet.papers.measures.data import Data, MissingRunsError, mean
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]

GOAL = 0.99
"""Share of deadlines that has to be met: "supported" means this."""
LEAST_GRID = 4
"""Points among which something may be searched for."""
PACKET = 1500
"""Bytes of a packet on the wire."""


def of_run(run: Run) -> pl.DataFrame:
    """The responses of a run that count, deadlines met or not."""
    low, high = (micros * 1e6 for micros in run.result.summary.window_us)
    started = pl.col("start_ps").is_between(low, high)
    return run.result.flows.filter((pl.col("tag") == "response") & pl.col("deadline_met").is_not_null() & started)


def joined(data: Data, experiment: str, at: At) -> pl.DataFrame:
    """The responses of all seeds."""
    return pl.concat([of_run(run) for run in data.runs(experiment, at)])


def met(data: Data, experiment: str, at: At) -> float:
    """Share of responses that met their deadline."""
    return data.once("met", experiment, at, lambda: mean(joined(data, experiment, at)["deadline_met"].cast(pl.Float64)))


def met_by(data: Data, experiment: str, key: str, at: At) -> dict[float, float]:
    """Application throughput against the rate or the number of senders, over the points that were run."""
    values = {float(run.at[key]): run.at[key] for run in data.runs(experiment, at)}
    return {value: met(data, experiment, {**at, key: setting}) for value, setting in sorted(values.items())}


def met_on_grid(data: Data, experiment: str, key: str, at: At) -> dict[float, float]:
    """The same, for what is searched for among the points: three of them are no search."""
    shares = met_by(data, experiment, key, at)
    if len(shares) < LEAST_GRID:
        raise MissingRunsError(f"this level has {len(shares)} points only of experiment {experiment}")
    return shares


def supported(shares: dict[float, float]) -> float:
    """Largest point that has the goal met there and at all smaller ones; 0 if not even the smallest has."""
    best = 0.0
    for value, share in sorted(shares.items()):
        if share < GOAL:
            break
        best = value
    return best


def completion_times(data: Data, experiment: str, at: At) -> Array:
    """Completion times of responses that were completed. Unit: ms."""
    return np.asarray(joined(data, experiment, at)["fct_us"].drop_nulls().to_numpy() / 1e3, dtype=float)


def long_rate(data: Data, experiment: str, at: At) -> float:
    """Mean throughput of a long flow. Unit: Mb/s."""
    flows = [run.result.flows.filter(pl.col("tag") == "long") for run in data.runs(experiment, at)]
    return 1e3 * mean(pl.concat(flows)["window_gbps"])


def aggregates(data: Data, experiment: str, at: At) -> dict[int, tuple[float, float]]:
    """Median and mean over intervals of what arrives, by number of long flows. Unit: Gb/s."""
    found: dict[int, tuple[float, float]] = {}
    for flows in data.values(experiment, "flows"):
        rates = []
        for run in data.runs(experiment, {**at, "flows": flows}):
            begin = run.result.summary.window_us[0] * 1e6
            series = run.result.series.filter((pl.col("of") == "total") & (pl.col("at_ps") >= begin))
            rates.append(series["goodput_gbps"].to_numpy())
        joined = np.concatenate(rates)
        found[int(flows)] = (float(np.median(joined)), float(np.mean(joined)))
    return found


def mean_queues(data: Data, experiment: str, at: At) -> dict[int, float]:
    """Mean over time of what the bottleneck holds, the packet in service included, by number of flows. Unit: kB."""
    found = {}
    for flows in data.values(experiment, "flows"):
        held = []
        for run in data.runs(experiment, {**at, "flows": flows}):
            ports = run.result.ports
            held.append(float(ports.filter(pl.col("name").str.ends_with("-> host 0"))["mean_data"][0]))
        found[int(flows)] = mean(held) * PACKET / 1e3
    return found


def _wasted(run: Run) -> float:
    """Share of the responses' bytes that arrived for nothing: their flows missed the deadline."""
    flows = of_run(run)
    delivered = flows["delivered_bytes"].cast(pl.Float64).to_numpy()
    missed = ~flows["deadline_met"].to_numpy()
    return float(np.sum(delivered * missed) / np.sum(delivered))


def wasted_share(data: Data, experiment: str, at: At) -> float:
    """Mean over seeds of the share of delivered bytes that belong to flows that missed their deadline."""
    return mean([_wasted(run) for run in data.runs(experiment, at)])
