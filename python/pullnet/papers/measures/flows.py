"""Throughput, latency and completion of flows."""

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredCurve, MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, mean, seeds_text, span
from pullnet.papers.measures.rates import jain_index, window_rates
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]


def slowest_flow(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Rate of the slowest flow, mean over seeds."""
    runs = data.runs(experiment, at)
    rates = [window_rates(run)[0] for run in runs]
    return MeasuredNumber(mean(rates), note=f"{span(rates)} over {seeds_text(runs)}")


def flow_rate(data: Data, experiment: str, flow: int, at: At | None = None) -> MeasuredNumber:
    """Rate of one flow, mean over seeds."""
    runs = data.runs(experiment, at)
    rates = [float(run.result.flows["window_gbps"][flow]) for run in runs]
    return MeasuredNumber(mean(rates), note=f"{span(rates)} over {seeds_text(runs)}")


def flows_below(data: Data, experiment: str, rate: float, at: At | None = None) -> MeasuredNumber:
    """How many flows stay below a rate, mean over seeds."""
    runs = data.runs(experiment, at)
    below = [[value for value in window_rates(run) if value < rate] for run in runs]
    counts = [float(len(found)) for found in below]
    all_below = [value for found in below for value in found]
    between = f" at {min(all_below):.2f} to {max(all_below):.2f} Gb/s" if all_below else ""
    return MeasuredNumber(mean(counts), note=f"{span(counts)} flows below {rate} Gb/s{between}, {seeds_text(runs)}")


def rates_by_rank(data: Data, experiment: str, at: At | None = None, jain: float = 0.0) -> MeasuredCurve:
    """Rate at each rank of the paper's curve, slowest first, mean over seeds; and Jain's fairness index."""
    runs = data.runs(experiment, at)
    rates = np.mean([window_rates(run) for run in runs], axis=0)
    fairness = mean([jain_index(window_rates(run)) for run in runs])
    curve: list[tuple[float, ...]] = [(rank, float(rates[int(rank)])) for rank, *_ in data.expected]
    note = f"mean {np.mean(rates):.3f} Gb/s, Jain index {fairness:.5f}, {seeds_text(runs)}"
    return MeasuredCurve(curve=curve, holds=fairness > jain, note=note)


def in_and_out_sums(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """The lower of what leaves A (four flows) and what enters E (from A and F)."""
    runs = data.runs(experiment, at)
    rates = np.mean([run.result.flows["window_gbps"].to_numpy() for run in runs], axis=0)
    leaving, entering = float(rates[:4].sum()), float(rates[3:].sum())
    return MeasuredNumber(min(leaving, entering), note=f"leaving A {leaving:.3f}, entering E {entering:.3f} Gb/s")


def in_and_out_equal(data: Data, experiment: str, ratio: float, at: At | None = None) -> MeasuredProperty:
    """Whether A divides its link evenly over its four flows."""
    runs = data.runs(experiment, at)
    rates = np.mean([run.result.flows["window_gbps"].to_numpy() for run in runs], axis=0)[:4]
    details = dict(zip(["A-B", "A-C", "A-D", "A-E"], map(float, rates), strict=True))
    return MeasuredProperty(holds=bool(rates.max() / rates.min() < ratio), details=details)


def _latencies(run: Run, after_us: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Latencies of the packets that were first sent later than `after_us`. Unit: us."""
    table = run.result.latency
    first_sent = (table["at_ps"] - table["latency_ps"]).to_numpy() / 1e6
    return np.asarray(table["latency_ps"].to_numpy()[first_sent >= after_us] / 1e6)


def median_latency(data: Data, experiment: str, after_us: float = 0.0, at: At | None = None) -> MeasuredNumber:
    """Median time from a packet's first sending to its ACK. Unit: us."""
    runs = data.runs(experiment, at)
    found = [_latencies(run, after_us) for run in runs]
    medians = [float(np.median(latencies)) for latencies in found]
    tail = np.percentile(np.concatenate(found), [90, 99])
    return MeasuredNumber(mean(medians), note=f"p90 {tail[0]:.0f} us, p99 {tail[1]:.0f} us, {seeds_text(runs)}")


def worst_slowdown(data: Data, experiment: str, tag: str, at: At | None = None) -> MeasuredNumber:
    """Longest completion of a tag's flows over the least that the idle network needs."""
    runs = data.runs(experiment, at)
    tables = [run.result.flows.filter(pl.col("tag") == tag, pl.col("slowdown").is_not_null()) for run in runs]
    slowdowns = pl.concat([table["slowdown"] for table in tables])
    times = pl.concat([table["fct_us"] for table in tables])
    note = f"{len(times)} transfers, {seeds_text(runs)}: median {np.median(times.to_numpy()):.0f} us, "
    note += f"p99 {times.quantile(0.99):.0f} us, idle {tables[0]['ideal_fct_us'][0]:.1f} us"
    return MeasuredNumber(float(np.max(slowdowns.to_numpy())), note=note)


def preferred_flow(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Completion of the one flow of higher priority. Unit: ms."""
    runs = data.runs(experiment, at)
    times = [_completion_ms(run, preferred=True) for run in runs]
    return MeasuredNumber(mean(times), note=f"{span(times)} ms over {seeds_text(runs)}")


def preferred_before_median(data: Data, experiment: str, factor: float, at: At | None = None) -> MeasuredProperty:
    """Whether the preferred flow is done in a fraction of the median of the others."""
    runs = data.runs(experiment, at)
    preferred = mean([_completion_ms(run, preferred=True) for run in runs])
    others = mean([_completion_ms(run, preferred=False) for run in runs])
    return MeasuredProperty(holds=preferred * factor < others, details={"preferred ms": preferred, "median ms": others})


def _completion_ms(run: Run, *, preferred: bool) -> float:
    flows = run.result.flows.filter((pl.col("priority") > 0) == preferred)
    return float(np.median(flows["fct_us"].drop_nulls().to_numpy())) / 1e3
