"""Claims of the artifact evaluation about several transports: packet sizes, transfers beside load, Homa's messages."""

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean, number_of, seeds_text
from pullnet.papers.measures.probe import TAG
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
BASE = "9000 B"
"""Size that smaller packets are compared with."""


def _rate(run: Run, header: int) -> float:
    """Mean rate of the flows, in whole packets if `header` bytes of each are not payload. Unit: Gb/s."""
    packet = number_of(run.at["packet"])
    return float(run.result.summary.goodput_gbps.mean or 0) * packet / (packet - header)


def _losses(data: Data, experiment: str, transport: str, header: int) -> dict[str, float]:
    """Share of the rate with packets of 9000 B that each smaller size loses, largest size first; means over seeds."""
    at: At = {"transport": transport}
    sizes = {str(run.at["packet"]) for run in data.runs(experiment, at)}
    ordered = sorted(sizes, key=number_of, reverse=True)
    rates = {
        size: mean([_rate(run, header) for run in data.runs(experiment, {**at, "packet": size})]) for size in ordered
    }
    if BASE not in rates or len(rates) == 1:
        raise MissingRunsError(f"this level leaves out packets of {BASE}, or all smaller ones")
    return {size: 1 - rate / rates[BASE] for size, rate in rates.items() if size != BASE}


def _loss(data: Data, experiment: str, transport: str, header: int, packet: str) -> float:
    """Share of the rate that one size loses."""
    losses = _losses(data, experiment, transport, header)
    if packet not in losses:
        raise MissingRunsError(f"this level leaves out packets of {packet}")
    return losses[packet]


def _loss_text(losses: dict[str, float]) -> str:
    return "lost " + ", ".join(f"{loss:.3f} at {size}" for size, loss in losses.items())


def packet_size_effect(data: Data, experiment: str, transport: str, header: int, least: int) -> MeasuredNumber:
    """Largest change of the mean rate with packets of `least` bytes or more, as a share of the rate with 9000 B."""
    losses = {k: v for k, v in _losses(data, experiment, transport, header).items() if number_of(k) >= least}
    if not losses:
        raise MissingRunsError(f"this level leaves out packets from {least} B to {BASE}")
    return MeasuredNumber(max(map(abs, losses.values())), note=_loss_text(losses))


def loss_with_packet(data: Data, experiment: str, transports: list[str], header: int, packet: str) -> MeasuredNumber:
    """Share of the rate that a packet size loses, largest of all transports."""
    losses = {name: _loss(data, experiment, name, header, packet) for name in transports}
    return MeasuredNumber(max(losses.values()), note=", ".join(f"{name} {loss:.3f}" for name, loss in losses.items()))


def loss_sets_in(data: Data, experiment: str, transport: str, header: int, share: float) -> MeasuredNumber:
    """Largest packet with which more than a share of the rate is lost; the loss has to grow with every smaller one."""
    losses = _losses(data, experiment, transport, header)
    below = {size: loss for size, loss in losses.items() if loss > share}
    grows = all(a < b for a, b in itertools.pairwise(below.values()))
    return MeasuredNumber(max(map(number_of, below), default=0.0), holds=grows, note=_loss_text(losses))


def loss_order(
    data: Data, experiments: list[str], packet: str, header: int, order: list[str], factor: float, alike: float
) -> MeasuredProperty:
    """Whether small packets cost NDP `factor` times as much as the next, this more than the last two, and these alike.

    `experiments` are that of NDP, which counts packets by their payload, and that of the other transports.
    """
    first, others = experiments
    found = {order[0]: _loss(data, first, order[0], 0, packet)}
    found |= {name: _loss(data, others, name, header, packet) for name in order[1:]}
    most, second, *last = found.values()
    holds = most >= factor * second and second > max(last) and max(last) - min(last) <= alike
    return MeasuredProperty(holds=holds, details=found)


def _probes(run: Run) -> pl.DataFrame:
    return run.result.flows.filter(pl.col("tag") == TAG)


def _median(data: Data, experiment: str, at: At) -> float:
    """Median completion of the transfers that ended. Unit: us."""
    times = pl.concat([_probes(run)["fct_us"] for run in data.runs(experiment, at)]).drop_nulls()
    if times.is_empty():
        raise MissingRunsError(f"no transfer of {at['transport']} ended in {experiment}, {at['sizes']}: run more seeds")
    return float(np.median(times.to_numpy()))


def _medians(data: Data, experiments: list[str], names: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Median completion of each workload in each experiment, by transport. Unit: us."""
    for experiment in experiments:
        for sizes in sorted({str(run.at["sizes"]) for run in data.runs(experiment)}):
            medians = {name: _median(data, experiment, {"sizes": sizes, "transport": name}) for name in names}
            yield f"{sizes} {experiment.split('-')[1]}:1", medians


def fastest_at_the_median(data: Data, experiments: list[str], first: str, others: list[str]) -> MeasuredProperty:
    """Whether the median transfer ends sooner than with all other transports, in each workload and experiment."""
    cells = list(_medians(data, experiments, [first, *others]))
    details = {f"{place} {name} over {first}": found[name] / found[first] for place, found in cells for name in others}
    note = "; ".join(f"{place} us: {', '.join(f'{t:.0f}' for t in found.values())}" for place, found in cells)
    return MeasuredProperty(holds=min(details.values()) > 1, details=details, note=note)


def timeouts_of(data: Data, experiments: list[str], transports: list[str]) -> MeasuredNumber:
    """Timeouts of all flows of some transports, over all runs."""
    counts = {
        f"{name} {experiment.split('-')[1]}:1": sum(
            run.result.summary.timeouts for run in data.runs(experiment, {"transport": name})
        )
        for name in transports
        for experiment in experiments
    }
    return MeasuredNumber(
        float(sum(counts.values())), note=", ".join(f"{name}: {count}" for name, count in counts.items())
    )


def more_seeds_with_timeouts(data: Data, experiment: str, over: str, under: str, at: At) -> MeasuredProperty:
    """Seeds in which a timer of a transport's transfers ran out; more than with another transport."""
    late = {}
    for name in (over, under):
        runs = data.runs(experiment, {**at, "transport": name})
        late[name] = sum(bool(_probes(run)["timeouts"].sum() > 0) for run in runs)
    note = f"{under} {late[under]}, of {seeds_text(data.runs(experiment, at))}"
    return MeasuredProperty(float(late[over]), holds=late[over] > late[under], note=note)


def _size_classes(run: Run, classes: int) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Slowdowns of as many messages each, from the smallest ones to the largest."""
    table = run.result.flows.filter(pl.col("slowdown").is_not_null()).sort("size_bytes", maintain_order=True)
    return np.array_split(table["slowdown"].to_numpy().astype(float), classes)


def slowdown_below(data: Data, experiment: str, lower: str, upper: str, classes: int) -> MeasuredProperty:
    """Whether median and 99th percentile of slowdowns are lower with a transport, in each class of message sizes.

    The details are the largest ratios of each workload.
    """
    details: dict[str, float] = {}
    for workload in sorted({str(run.at["messages"]) for run in data.runs(experiment)}):
        pairs = [
            [_size_classes(run, classes) for run in data.runs(experiment, {"messages": workload, "transport": name})]
            for name in (lower, upper)
        ]
        ours, theirs = ([np.concatenate(each) for each in zip(*runs, strict=True)] for runs in pairs)
        for q, name in ((0.5, "median"), (0.99, "p99")):
            ratios = [float(np.quantile(a, q) / np.quantile(b, q)) for a, b in zip(ours, theirs, strict=True)]
            details[f"{workload} {name}, {lower} over {upper}"] = max(ratios)
    return MeasuredProperty(holds=max(details.values()) < 1, details=details)


def least_used(data: Data, experiment: str, first: str, others: list[str]) -> MeasuredProperty:
    """Whether a network with more messages than it can carry is used less with a transport than with all others."""
    details = {name: mean(data.utilisation(experiment, {"transport": name})) for name in (first, *others)}
    return MeasuredProperty(holds=details[first] < min(details[name] for name in others), details=details)


def sometimes_slower(data: Data, experiment: str, first: str, second: str, key: str) -> MeasuredProperty:
    """Whether flows take longer in the mean with the first transport than with the second, at some value of `key`."""
    details = {}
    for value in data.values(experiment, key):
        means = []
        for name in (first, second):
            runs = data.runs(experiment, {key: value, "transport": name})
            means.append(mean(pl.concat([run.result.flows["fct_us"].drop_nulls() for run in runs])))
        details[f"{key} {value}: {first} over {second}"] = means[0] / means[1]
    return MeasuredProperty(holds=max(details.values()) > 1, details=details)
