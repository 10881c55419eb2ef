"""Rates of flows, goodput of sessions and of incasts, which measures and pictures share."""

import numpy as np
import polars as pl

from pullnet.papers.measures.data import Data
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]

SYMBOL = 1436
"""Payload of a packet of 1500 B in `papers/thesis/scenarios`. Unit: bytes."""
PAYLOAD = 1436 / 1500
"""Share of a link that payload can have there.

The thesis counts a packet of 1500 B as 1500 B of data: 150 kB are 100 packets, which take 1.2 ms at 1 Gb/s. Goodputs
that are compared with stated ones are therefore divided by this share.
"""


def session_table(run: Run, tag: str) -> pl.DataFrame:
    """One row per session: payload, repair symbols, symbols that receivers did not need, and goodput in Gb/s, 0 if it
    has not ended.
    """
    flows = run.result.flows.filter(pl.col("tag") == tag)
    # Every receiver of a write gets all the payload; every sender of a read has a part of it.
    payload = pl.col("size_bytes").max() if tag == "replicate" else pl.col("size_bytes").sum()
    table = flows.group_by("session", maintain_order=True).agg(
        payload.alias("payload"),
        pl.col("start_ps").min(),
        pl.col("received_ps").max().alias("end_ps"),
        (pl.col("state") == "completed").all().alias("whole"),
        pl.col("retransmitted").sum().alias("repairs"),
        pl.col("surplus").sum(),
        pl.len().alias("rows"),
    )
    gbps = 8e3 * pl.col("payload") / (pl.col("end_ps") - pl.col("start_ps"))
    return table.with_columns(pl.when(pl.col("whole")).then(gbps).otherwise(0.0).alias("gbps"))


def goodputs(data: Data, experiment: str, tag: str, at: At) -> Array:
    """Goodput of all sessions of all seeds, ascending. Unit: Gb/s."""
    found = [session_table(run, tag)["gbps"].to_numpy() for run in data.runs(experiment, at)]
    return np.sort(np.concatenate(found))


def incast_rate(run: Run) -> float:
    """Payload of all flows until the last has arrived, or until the end of the run, over that time. Unit: Gb/s."""
    flows = run.result.flows.filter(pl.col("tag") == "incast")
    open_flows = flows["received_ps"].null_count() > 0
    end = run.result.summary.simulated_us * 1e6 if open_flows else int(flows["received_ps"].to_numpy().max())
    return float(flows["delivered_bytes"].sum()) * 8e3 / (end - int(flows["start_ps"].to_numpy().min()))


def window_rates(run: Run, tag: str | None = None) -> list[float]:
    """Payload rates of the flows in the measurement window, ascending. Unit: Gb/s."""
    flows = run.result.flows
    kept = flows if tag is None else flows.filter(pl.col("tag") == tag)
    return sorted(kept["window_gbps"].to_list())


def jain_index(rates: list[float]) -> float:
    """Jain's index of fairness: 1 where all rates are equal."""
    values = np.asarray(rates)
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def samples(run: Run, tag: str) -> pl.DataFrame:
    """Time at the end of each interval (s) and goodput in it (Gb/s), of all flows with a tag."""
    series = run.result.series.filter(pl.col("of") == "flow")
    step = series["at_ps"].unique().sort().diff().drop_nulls()[0]
    chosen = run.result.flows.filter(pl.col("tag") == tag)["flow"].to_list()
    sums = series.filter(pl.col("number").is_in(chosen)).group_by("at_ps").agg(pl.col("goodput_gbps").sum())
    return sums.sort("at_ps").select(((pl.col("at_ps") + step) / 1e12).alias("end_s"), "goodput_gbps")
