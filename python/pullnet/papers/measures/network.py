"""Use of the whole network."""

import itertools

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredCurve, MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, mean, seeds_text, span
from pullnet.papers.measures.rates import samples
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]


def utilisation(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Mean utilisation."""
    values = data.utilisation(experiment, at)
    return MeasuredNumber(mean(values), note=f"{span(values)} over {seeds_text(data.runs(experiment, at))}")


def utilisation_lost(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Unused share of the capacity of all links, on average."""
    used = utilisation(data, experiment, at)
    return MeasuredNumber(1 - (used.value or 0.0), note=f"utilisation {used.note}")


def goodput_share(data: Data, experiment: str, hosts: int, rate: float = 10.0) -> MeasuredNumber:
    """All payload that arrives, over the rate of `hosts` links."""
    runs = data.runs(experiment)
    shares = [float(run.result.summary.goodput_gbps.total or 0) / (hosts * rate) for run in runs]
    return MeasuredNumber(mean(shares), note=f"{span(shares)} over {seeds_text(runs)}")


def utilisation_same(
    data: Data, experiment: str, key: str, first: Value, second: Value, points: float
) -> MeasuredProperty:
    """Whether two settings use the network alike, within `points` percentage points."""
    found = {str(value): mean(data.utilisation(experiment, {key: value})) for value in (first, second)}
    low, high = sorted(found.values())
    return MeasuredProperty(holds=high - low <= points / 100, details=found)


def utilisation_below(data: Data, experiments: list[str], key: str, at: At) -> MeasuredProperty:
    """Whether the network is used less in the first of two experiments than in the second at every value of `key`."""
    details: dict[str, float] = {}
    holds = True
    for value in data.values(experiments[0], key):
        found = [mean(data.utilisation(name, {**at, key: value})) for name in experiments]
        details |= {f"{key} {value} {name}": used for name, used in zip(experiments, found, strict=True)}
        less, more = found
        holds &= less < more
    return MeasuredProperty(holds=holds, details=details)


def falls_with_size(data: Data, experiment: str, least: float, most: float) -> MeasuredProperty:
    """Whether the utilisation falls with every larger network, in all by a stated number of points."""
    sizes = data.values(experiment, "k")
    values = [mean(data.utilisation(experiment, {"k": size})) for size in sizes]
    falls = all(after < before for before, after in itertools.pairwise(values))
    drop = 100 * (values[0] - values[-1])
    details = {f"{int(size) ** 3 // 4} hosts": value for size, value in zip(sizes, values, strict=True)}
    return MeasuredProperty(holds=falls and least <= drop <= most, details=details | {"drop points": drop})


def path_gain(data: Data, experiment: str, queue: str, larger: str) -> MeasuredNumber:
    """Gain in utilisation of paths in shuffled rounds over random paths; the gain has to shrink with larger queues."""
    gain, later = (_gain(data, experiment, size) for size in (queue, larger))
    note = f"{100 * gain:.1f} points with {queue}, {100 * later:.1f} with {larger}"
    return MeasuredNumber(gain, holds=later < gain, note=note)


def _gain(data: Data, experiment: str, queue: str) -> float:
    rounds, random = (
        max(
            mean(data.utilisation(experiment, {"queue": queue, "paths": paths, "window": window}))
            for window in data.values(experiment, "window")
        )
        for paths in ("permutation", "random")
    )
    return rounds - random


def _uplink_share(run: Run) -> float:
    packets = run.result.summary.packets
    return sum(packets.trimmed_by_tier.get(level, 0) for level in ("tor->agg", "agg->core")) / packets.data_sent


def _uplinks(data: Data, experiment: str, window: Value) -> tuple[float, float]:
    """Share of packets trimmed on the way up, with paths chosen by senders and by switches."""
    source, switch = (
        mean([_uplink_share(run) for run in data.runs(experiment, {"window": window, "forwarding": forwarding})])
        for forwarding in ("path", "random")
    )
    return source, switch


def uplink_trims(data: Data, experiment: str, window: str, forwarding: str) -> MeasuredNumber:
    """Packets trimmed on the way up over packets sent, at one initial window; those at others beside it."""
    by_window = {value: _uplinks(data, experiment, value) for value in data.values(experiment, "window")}
    column = 0 if forwarding == "path" else 1
    note = "IW: share " + ", ".join(f"{str(key).split()[0]}: {pair[column]:.3g}" for key, pair in by_window.items())
    if window not in by_window:
        return MeasuredNumber(note=f"IW {window} is not part of this level")
    return MeasuredNumber(by_window[window][column], note=note)


def uplink_ratio(data: Data, experiment: str, window: str, factor: float) -> MeasuredProperty:
    """Whether random paths trim more on the way up by a factor."""
    source, switch = _uplinks(data, experiment, window)
    details = {"sender": source, "switch": switch, "ratio": switch / max(source, 1e-12)}
    return MeasuredProperty(holds=switch >= factor * source, details=details)


def source_tor_trims(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Packets trimmed where they leave their first ToR, over packets sent."""
    runs = data.runs(experiment, at)
    shares = [
        run.result.summary.packets.trimmed_by_tier["tor->agg"] / run.result.summary.packets.data_sent for run in runs
    ]
    return MeasuredNumber(mean(shares), note=f"{span(shares)} over {seeds_text(runs)}")


def later_trims(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Packets trimmed later, over packets that left their first ToR whole."""
    runs = data.runs(experiment, at)
    shares = []
    for run in runs:
        packets = run.result.summary.packets
        first = packets.trimmed_by_tier["tor->agg"]
        shares.append((packets.trimmed - first) / (packets.data_sent - first))
    return MeasuredNumber(mean(shares), note=f"{span(shares)} over {seeds_text(runs)}")


def no_collapse(data: Data, experiment: str, share: float) -> MeasuredProperty:
    """Whether goodput holds with twice the connections."""
    found = {
        f"{number} connections": mean(
            [
                float(run.result.summary.goodput_gbps.total or 0)
                for run in data.runs(experiment, {"connections": number})
            ]
        )
        for number in (5, 10)
    }
    few, many = found.values()
    return MeasuredProperty(holds=many >= share * few, details=found)


def goodput_over_time(data: Data, experiment: str, tag: str, at: At | None = None) -> MeasuredCurve:
    """Goodput of a tag in the millisecond before each instant of the paper's curve. Unit: Gb/s."""
    tables = [samples(run, tag) for run in data.runs(experiment, at)]
    curve: list[tuple[float, ...]] = []
    for end, *_ in data.expected:
        near = [table.filter((pl.col("end_s") - end).abs() < 1e-6)["goodput_gbps"] for table in tables]
        curve.append((end, mean([float(found[0]) if len(found) else 0.0 for found in near])))
    return MeasuredCurve(curve=curve)


def dip_length(data: Data, experiment: str, tag: str, below: float, start_ms: float) -> MeasuredNumber:
    """For how long a flow's goodput stays below a rate from `start_ms` on. Unit: ms, in whole samples."""
    counts = []
    for run in data.runs(experiment):
        table = samples(run, tag).filter(pl.col("end_s") > start_ms / 1e3 + 1e-9)
        counts.append(float((table["goodput_gbps"] < below).sum()))
    return MeasuredNumber(max(counts), note=f"samples of 1 ms below {below} Gb/s")


def dip_depth(data: Data, experiment: str, tag: str, start_ms: float) -> MeasuredNumber:
    """Lowest goodput of a flow in a sample from `start_ms` on. Unit: Gb/s."""
    lows = [
        float(np.min(samples(run, tag).filter(pl.col("end_s") > start_ms / 1e3 + 1e-9)["goodput_gbps"].to_numpy()))
        for run in data.runs(experiment)
    ]
    return MeasuredNumber(mean(lows), note=span(lows))


def incast_duration(data: Data, experiment: str, tag: str) -> MeasuredNumber:
    """From the start of a tag's flows to their last byte. Unit: ms."""
    spans = []
    for run in data.runs(experiment):
        flows = run.result.flows.filter(pl.col("tag") == tag)
        done = flows["received_ps"].to_numpy()
        spans.append(float(done.max() - flows["start_ps"].to_numpy().min()) / 1e9)
    return MeasuredNumber(mean(spans), note=span(spans))


def wall_minutes(data: Data, experiment: str, simulated_ms: float, at: At | None = None) -> MeasuredNumber:
    """Wall-clock time for a stated simulated time, from what the runs took. Unit: minutes."""
    runs = data.runs(experiment, at)
    rates = [run.result.summary.cost.wall_s / run.result.summary.simulated_us for run in runs]
    minutes = mean(rates) * simulated_ms * 1000 / 60
    return MeasuredNumber(minutes, note=f"scaled from {runs[0].result.summary.simulated_us / 1000:.0f} ms simulated")
