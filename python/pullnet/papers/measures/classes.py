"""Completion times and goodput of flows by classes of size, beside other traffic."""

import itertools

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, number_of
from pullnet.papers.model import Value

At = dict[str, Value]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]

QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def _flows(data: Data, experiment: str, at: At, low: float, high: float, tag: str = "session") -> pl.DataFrame:
    """Flows of more than `low` and at most `high` bytes that have arrived, of all seeds."""
    size = pl.col("size_bytes")
    wanted = (pl.col("tag") == tag) & (size > low) & (size <= high) & pl.col("fct_us").is_not_null()
    found = pl.concat([run.result.flows.filter(wanted) for run in data.runs(experiment, at)])
    if not len(found):
        raise MissingRunsError(f"no flow of {low:g} to {high:g} bytes has arrived")
    return found


def _times(data: Data, experiment: str, at: At, low: float, high: float, tag: str = "session") -> Array:
    """Completion times. Unit: ms."""
    return np.asarray(_flows(data, experiment, at, low, high, tag)["fct_us"].to_numpy() / 1e3, dtype=float)


def times_lower(
    data: Data, experiment: str, protocols: list[str], classes: list[list[float]], grows: bool = True
) -> MeasuredProperty:
    """Whether flows take less time with the first protocol than with the second, in the mean of each class and load.

    With `grows`, the difference also has to be larger at the highest load than at the lowest.
    """
    details: dict[str, float] = {}
    holds = True
    for low, high in classes:
        gaps = []
        for load in data.values(experiment, "load"):
            means = [
                float(_times(data, experiment, {"load": load, "protocol": p}, low, high).mean()) for p in protocols
            ]
            details |= {f"{high / 1e3:.0f} kB {load} {p}": v for p, v in zip(protocols, means, strict=True)}
            gaps.append(means[1] - means[0])
        holds &= min(gaps) > 0 and (not grows or gaps[-1] > gaps[0])
    return MeasuredProperty(holds=bool(holds), details=details)


def tails_lower(data: Data, experiment: str, protocols: list[str], high: float, ratio: float) -> MeasuredProperty:
    """Whether the 99th percentile is lower with the first protocol, and there less than `ratio` times the mean."""
    details: dict[str, float] = {}
    holds = True
    for load in data.values(experiment, "load"):
        found = [_times(data, experiment, {"load": load, "protocol": p}, 0, high) for p in protocols]
        tails = [float(np.percentile(times, 99)) for times in found]
        own = tails[0] / float(found[0].mean())
        details |= {f"{load} {p}": tail for p, tail in zip(protocols, tails, strict=True)} | {f"{load} p99/mean": own}
        holds &= tails[0] < tails[1] and own < ratio
    return MeasuredProperty(holds=bool(holds), details=details)


def rates_higher(
    data: Data, experiment: str, protocols: list[str], low: float, high: float, loads: list[float]
) -> MeasuredProperty:
    """Whether the goodput of a class is higher with the first protocol at every quantile."""
    details: dict[str, float] = {}
    holds = True
    for load in loads:
        found = []
        for protocol in protocols:
            flows = _flows(data, experiment, {"load": load, "protocol": protocol}, low, high)
            found.append(np.quantile((8e-3 * flows["size_bytes"] / flows["fct_us"]).to_numpy(), QUANTILES))
        ahead = found[0] > found[1]
        details[f"{load} quantiles ahead"] = float(ahead.sum())
        details |= {f"{load} median {p}": float(rates[3]) for p, rates in zip(protocols, found, strict=True)}
        holds &= bool(ahead.all())
    return MeasuredProperty(holds=holds, details=details)


def tail_time(data: Data, experiment: str, at: At, high: float) -> MeasuredNumber:
    """99th percentile of the completion of flows up to `high` bytes. Unit: ms."""
    times, small = (_times(data, experiment, at, 0, most) for most in (high, 1e4))
    note = f"{len(times)} flows; of those up to 10 kB {np.percentile(small, 99):.3f} ms"
    return MeasuredNumber(float(np.percentile(times, 99)), note=note)


def tails_shift(
    data: Data, experiments: list[str], at: At, protocols: list[str], high: float, most: float
) -> MeasuredProperty:
    """Growth of the 99th percentile from the first experiment to the second: little with one protocol only."""
    details = {}
    for protocol in protocols:
        before, after = (
            float(np.percentile(_times(data, name, at | {"protocol": protocol}, 0, high), 99)) for name in experiments
        )
        details[protocol] = after / before - 1
    first, second = (details[protocol] for protocol in protocols)
    return MeasuredProperty(holds=abs(first) <= most < second, details=details)


def slower_with(data: Data, experiments: list[str], protocol: str, high: float) -> MeasuredProperty:
    """Whether flows up to `high` bytes take longer in the first experiment than in the second, at every load."""
    details: dict[str, float] = {}
    holds = True
    for load in data.values(experiments[0], "load"):
        at: At = {"load": load, "protocol": protocol}
        means = [float(_times(data, name, at, 0, high).mean()) for name in experiments]
        details |= {f"{name} {load}": value for name, value in zip(experiments, means, strict=True)}
        holds &= means[0] > means[1]
    return MeasuredProperty(holds=bool(holds), details=details)


def largest_reduction(data: Data, experiments: list[str], protocols: list[str], high: float) -> MeasuredNumber:
    """Largest reduction of the mean time of flows up to `high` bytes, over experiments and loads."""
    best, note = -1.0, ""
    for name in experiments:
        for load in data.values(name, "load"):
            means = [float(_times(data, name, {"load": load, "protocol": p}, 0, high).mean()) for p in protocols]
            if 1 - means[0] / means[1] > best:
                best, note = 1 - means[0] / means[1], f"{name} at {load}: {means[0]:.3f} for {means[1]:.3f} ms"
    return MeasuredNumber(best, note=note)


def drawn_classes(
    data: Data, experiment: str, bounds: list[float], shares: list[float], mean_bytes: float
) -> MeasuredProperty:
    """Whether the flows that were drawn have these shares of classes and this mean, within four standard errors."""
    tables = [run.result.flows.filter(pl.col("tag") == "session") for run in data.runs(experiment)]
    sizes = pl.concat(tables)["size_bytes"].to_numpy().astype(float)
    counts = np.histogram(sizes, [0, *bounds, np.inf])[0] / len(sizes)
    errors = np.sqrt(np.asarray(shares) * (1 - np.asarray(shares)) / len(sizes))
    details = {f"class {at}": float(share) for at, share in enumerate(counts, 1)} | {"mean MB": sizes.mean() / 1e6}
    near = bool((np.abs(counts - shares) <= 4 * errors).all())
    return MeasuredProperty(
        holds=near and abs(sizes.mean() - mean_bytes) <= 4 * sizes.std() / np.sqrt(len(sizes)), details=details
    )


def protocols_beside(data: Data, experiment: str, bounds: list[float]) -> MeasuredProperty:
    """Mean time of each class with each protocol; it holds if all flows have arrived."""
    details: dict[str, float] = {}
    holds = True
    for protocol in sorted({str(run.at["protocol"]) for run in data.runs(experiment)}):
        for low, high in zip([0.0, *bounds], [*bounds, float("inf")], strict=True):
            times = _times(data, experiment, {"protocol": protocol}, low, high, "poisson")
            details[f"{protocol} up to {number_of(high) / 1e3:g} kB, ms"] = float(times.mean())
        for run in data.runs(experiment, {"protocol": protocol}):
            holds &= run.result.summary.flows.completed == run.result.summary.flows.started
    return MeasuredProperty(holds=holds, details=details)


def slower_by_load(data: Data, experiment: str, protocol: str, classes: list[list[float]]) -> MeasuredProperty:
    """Whether flows of each class take longer with a protocol at the highest load than at the lowest."""
    loads = data.values(experiment, "load")
    details: dict[str, float] = {}
    holds = True
    for low, high in classes:
        means = [
            float(_times(data, experiment, {"load": load, "protocol": protocol}, low, high).mean())
            for load in (loads[0], loads[-1])
        ]
        details |= {f"{high / 1e3:.0f} kB {load}": v for load, v in zip((loads[0], loads[-1]), means, strict=True)}
        holds &= means[0] < means[1]
    return MeasuredProperty(holds=bool(holds), details=details)


def _goodput(data: Data, experiment: str, at: At) -> float:
    """Median goodput of all flows. Unit: Gb/s."""
    tables = [run.result.flows.filter(pl.col("fct_us").is_not_null()) for run in data.runs(experiment, at)]
    flows = pl.concat(tables)
    return float(np.median((8e-3 * flows["size_bytes"] / flows["fct_us"]).to_numpy()))


def _goodput_by(data: Data, experiment: str, key: str, at: At | None = None) -> dict[float, float]:
    values = data.values(experiment, key)
    return {number_of(value): _goodput(data, experiment, (at or {}) | {key: value}) for value in values}


def flow_window_needed(data: Data, experiment: str, share: float, at: At) -> MeasuredNumber:
    """Smallest window whose median goodput reaches a share of the best; between two points by a straight line."""
    points = list(_goodput_by(data, experiment, "window", at).items())
    wanted = share * max(value for _, value in points)
    note = "Gb/s at " + ", ".join(f"{window:.0f}: {value:.3f}" for window, value in points)
    for (left, low), (right, high) in zip([(0.0, 0.0), *points], points, strict=False):
        if high >= wanted:
            return MeasuredNumber(left + (right - left) * (wanted - low) / (high - low), note=note)
    raise MissingRunsError("no window reaches it")


def flow_flat_beyond(data: Data, experiment: str, since: float, within: float, at: At) -> MeasuredProperty:
    """Whether median goodput changes little from window `since` on."""
    points = {w: value for w, value in _goodput_by(data, experiment, "window", at).items() if w >= since}
    details = {f"IW {window:.0f}": value for window, value in points.items()}
    return MeasuredProperty(holds=min(points.values()) >= (1 - within) * max(points.values()), details=details)


def flow_goodput_falls(data: Data, experiment: str, key: str) -> MeasuredProperty:
    """Whether median goodput falls with every higher value of a setting."""
    points = _goodput_by(data, experiment, key)
    values = list(points.values())
    falls = all(after < before for before, after in itertools.pairwise(values))
    return MeasuredProperty(holds=falls, details={f"{key} {at:g}": value for at, value in points.items()})


def short_sessions(
    data: Data, experiment: str, tag: str, goodput: float, low_ms: float, high_ms: float
) -> MeasuredProperty:
    """Whether the median goodput and the median time of short flows are as they should be."""
    flows = _flows(data, experiment, {}, 0, float("inf"), tag)
    times = flows["fct_us"].to_numpy() / 1e3
    rates = (8e-3 * flows["size_bytes"] / flows["fct_us"]).to_numpy()
    rate, time = float(np.median(rates)), float(np.median(times))
    return MeasuredProperty(holds=rate >= goodput and low_ms <= time <= high_ms, details={"Gb/s": rate, "ms": time})


def senders_of(data: Data, experiment: str, tag: str) -> MeasuredNumber:
    """Number of hosts that send flows of a kind."""
    found = {run.result.flows.filter(pl.col("tag") == tag)["src"].n_unique() for run in data.runs(experiment)}
    return MeasuredNumber(float(max(found)), note=f"{len(found)} number over all runs")
