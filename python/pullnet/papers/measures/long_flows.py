"""Throughput and queues of long flows, as D3's authors have them (Figs. 14b and 16)."""

import itertools

import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures import responses
from pullnet.papers.measures.data import Data, mean
from pullnet.papers.measures.responses import GOAL, At


def aggregate_throughput(data: Data, experiment: str, protocol: str, expected: float) -> MeasuredNumber:
    """Median or mean throughput of all long flows together, whichever is furthest from what is expected."""
    found = responses.aggregates(data, experiment, {"protocol": protocol})
    worst = max((value for pair in found.values() for value in pair), key=lambda value: abs(value - expected))
    note = ", ".join(
        f"{flows} flows: median {median:.4f}, mean {average:.4f}" for flows, (median, average) in found.items()
    )
    return MeasuredNumber(worst, note=note)


def throughput_is_constant(data: Data, experiment: str, protocol: str, within: float) -> MeasuredProperty:
    """Whether the mean throughput does not depend on the number of flows."""
    found = {
        f"{flows} flows": pair[1]
        for flows, pair in responses.aggregates(data, experiment, {"protocol": protocol}).items()
    }
    return MeasuredProperty(holds=max(found.values()) <= (1 + within) * min(found.values()), details=found)


def mean_queue(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Mean queue over all numbers of flows. Unit: kB."""
    found = responses.mean_queues(data, experiment, at)
    return MeasuredNumber(
        mean(list(found.values())), note=", ".join(f"{flows} flows {kb:.2f}" for flows, kb in found.items())
    )


def long_flow_queue_ratio(data: Data, experiment: str, over: str, under: str) -> MeasuredNumber:
    """Mean queue of a transport over that of another one, both over all numbers of flows."""
    queues = {name: responses.mean_queues(data, experiment, {"protocol": name}) for name in (over, under)}
    means = {name: mean(list(found.values())) for name, found in queues.items()}
    each = ", ".join(f"{flows} flows {queues[over][flows] / queues[under][flows]:.2f}" for flows in queues[over])
    return MeasuredNumber(
        means[over] / means[under], note=f"{over} {means[over]:.2f} kB, {under} {means[under]:.2f} kB; {each}"
    )


def queues_in_order(data: Data, experiment: str, order: list[str], within: float) -> MeasuredProperty:
    """Whether queues have their order at every number of flows, at equal throughput of the first and the last."""
    queues = {name: responses.mean_queues(data, experiment, {"protocol": name}) for name in order}
    rates = {name: responses.aggregates(data, experiment, {"protocol": name}) for name in order}
    numbers = list(queues[order[0]])
    ordered = all(queues[a][n] > queues[b][n] for a, b in itertools.pairwise(order) for n in numbers)
    first, last = order[0], order[-1]
    alike = all(abs(rates[last][n][1] / rates[first][n][1] - 1) <= within for n in numbers)
    details = {f"{name} kB": mean(list(queues[name].values())) for name in order}
    details |= {f"{name} Gb/s": mean([pair[1] for pair in rates[name].values()]) for name in order}
    return MeasuredProperty(holds=ordered and alike, details=details)


def queue_with_settings(data: Data, experiment: str, over: str, under: str) -> MeasuredNumber:
    """Ratio of two mean queues, each with a setting of its own; the note has all settings that were run."""
    found = {name: mean_queue(data, experiment, {"setting": name}).value or 0.0 for name in _settings(data, experiment)}
    note = ", ".join(f"{name} {kb:.2f} kB" for name, kb in found.items())
    return MeasuredNumber(found[over] / found[under], note=note)


def _settings(data: Data, experiment: str) -> list[str]:
    return sorted({str(run.at["setting"]) for run in data.runs(experiment)})


def bottlenecks_are_used(data: Data, experiment: str, protocol: str, used: float, at: At) -> MeasuredProperty:
    """Utilisation of two bottlenecks in a row and deadlines met across both; a share of the links has to be used."""
    where: At = {**at, "protocol": protocol}
    details = {}
    for name in ("first -> second", "second -> third"):
        ports = [run.result.ports.filter(pl.col("name") == name) for run in data.runs(experiment, where)]
        details[name] = mean(pl.concat(ports)["utilisation"])
    details["deadlines met"] = responses.met(data, experiment, where)
    for tag in ("both", "first", "second"):
        flows = [run.result.flows.filter(pl.col("tag") == tag) for run in data.runs(experiment, where)]
        details[f"{tag} Mb/s"] = 1e3 * mean(pl.concat(flows)["window_gbps"])
    holds = min(details["first -> second"], details["second -> third"]) >= used and details["deadlines met"] >= GOAL
    return MeasuredProperty(holds=holds, details=details)


def long_flow_rate(data: Data, experiment: str, protocol: str, rate: int) -> MeasuredNumber:
    """Throughput of each long flow beside the responses."""
    return MeasuredNumber(responses.long_rate(data, experiment, {"protocol": protocol, "rate": rate}))


def long_flows_keep_up(
    data: Data, experiment: str, own: str, others: list[str], rates: list[int], within: float
) -> MeasuredProperty:
    """Whether long flows have at least what others have, up to a share, and less the more responses there are."""
    found = {
        name: [responses.long_rate(data, experiment, {"protocol": name, "rate": rate}) for rate in rates]
        for name in (own, *others)
    }
    falls = all(later < before for before, later in zip(found[own], found[own][1:], strict=False))
    keeps_up = all(
        ours >= (1 - within) * theirs for name in others for ours, theirs in zip(found[own], found[name], strict=True)
    )
    details = {f"{rate}/s {name}": value for name in found for rate, value in zip(rates, found[name], strict=True)}
    return MeasuredProperty(holds=falls and keeps_up, details=details)
