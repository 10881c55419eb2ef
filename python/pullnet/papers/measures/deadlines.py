"""Application throughput as D3's authors have it: the share of flows that met their deadline."""

import itertools

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures import responses
from pullnet.papers.measures.data import Data, MissingRunsError, mean, seeds_text
from pullnet.papers.measures.responses import At

DRASTIC = 0.9
"""Application throughput below this counts as a collapse; the source says no more than "drastically"."""
PERCENTILES = (1, 5, 50, 95, 99)


def _text(shares: dict[float, float]) -> str:
    return ", ".join(f"{value:.0f}: {share:.4f}" for value, share in sorted(shares.items()))


def _interval(shares: dict[float, float]) -> str:
    best = responses.supported(shares)
    above = [value for value in shares if value > best]
    if not above:
        return f"at least {best:.0f}, the largest that was run"
    return f"between {best:.0f} and {min(above):.0f}"


def supported_rate(data: Data, experiment: str, protocol: str, at: At | None = None) -> MeasuredNumber:
    """Largest arrival rate of the grid with the goal met; the note has the next one."""
    shares = responses.met_on_grid(data, experiment, "rate", {**(at or {}), "protocol": protocol})
    note = f"{_interval(shares)}; " if responses.supported(shares) else f"below {min(shares):.0f}; "
    return MeasuredNumber(responses.supported(shares), note=note + _text(shares))


def share_met(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Application throughput at one setting."""
    flows = responses.joined(data, experiment, at)
    return MeasuredNumber(
        responses.met(data, experiment, at), note=f"{len(flows)} responses, {seeds_text(data.runs(experiment, at))}"
    )


def share_lost_and_missed(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Share of responses that lost packets and missed their deadline."""
    flows = responses.joined(data, experiment, at)
    both = flows.filter(~pl.col("deadline_met") & (pl.col("lost") > 0))
    lost = flows.filter(pl.col("lost") > 0)
    return MeasuredNumber(len(both) / len(flows), note=f"{len(lost)} of {len(flows)} responses lost packets")


def supported_ratio(data: Data, experiment: str, over: list[str], under: str) -> MeasuredNumber:
    """Supported rate over that of another transport, the least of several; none counts as the smallest rate."""
    shares = {name: responses.met_on_grid(data, experiment, "rate", {"protocol": name}) for name in [*over, under]}
    rates = {name: responses.supported(found) for name, found in shares.items()}
    bottom = max(rates[under], min(shares[under]))
    note = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
    if not rates[under]:
        note += f"; {under} supports less than {bottom:.0f}, so that this is a lower bound"
    return MeasuredNumber(min(rates[name] for name in over) / bottom, note=note)


def median_ratio(data: Data, experiment: str, over: str, under: str, rate: int) -> MeasuredNumber:
    """Median completion time of a transport over that of another one."""
    medians = [
        float(np.median(responses.completion_times(data, experiment, {"protocol": name, "rate": rate})))
        for name in (over, under)
    ]
    return MeasuredNumber(medians[0] / medians[1], note=f"{over} {medians[0]:.3g} ms, {under} {medians[1]:.3g} ms")


def times_alike(data: Data, experiment: str, protocols: list[str], rates: list[int], within: float) -> MeasuredProperty:
    """Whether two transports have the same percentiles of the completion time, up to a share, at each rate."""
    details: dict[str, float] = {}
    for rate in rates:
        found = [responses.completion_times(data, experiment, {"protocol": name, "rate": rate}) for name in protocols]
        first, second = (np.percentile(times, PERCENTILES) for times in found)
        worst = int(np.argmax(np.abs(first / second - 1)))
        details[f"{rate}/s p{PERCENTILES[worst]} {protocols[0]} over {protocols[1]}"] = float(
            first[worst] / second[worst]
        )
    return MeasuredProperty(holds=all(abs(ratio - 1) <= within for ratio in details.values()), details=details)


def deadlines_in_order(
    data: Data, experiment: str, order: list[str], above: int, to: int, key: str = "rate", at: At | None = None
) -> MeasuredProperty:
    """Whether transports keep their order by deadlines met, at every value of `key` above one and up to another."""
    shares = {name: responses.met_by(data, experiment, key, {**(at or {}), "protocol": name}) for name in order}
    rates = [rate for rate in shares[order[0]] if above < rate <= to]
    if not rates:
        raise MissingRunsError(f"no such {key} is part of this level")
    holds = all(
        shares[better][rate] > shares[worse][rate] for better, worse in itertools.pairwise(order) for rate in rates
    )
    unit = "/s" if key == "rate" else f" {key}"
    details = {f"{rate:.0f}{unit} {name}": shares[name][rate] for rate in rates for name in order}
    return MeasuredProperty(holds=holds, details=details)


def _collapse(shares: dict[float, float]) -> float | None:
    """Rate at which application throughput falls below `DRASTIC`; between two points by a straight line."""
    for (left, high), (right, low) in itertools.pairwise(sorted(shares.items())):
        if low < DRASTIC <= high:
            return left + (right - left) * (high - DRASTIC) / (high - low)
    return None


def collapse_rate(data: Data, experiment: str, protocol: str) -> MeasuredNumber:
    """Rate at which application throughput collapses."""
    shares = responses.met_on_grid(data, experiment, "rate", {"protocol": protocol})
    found = _collapse(shares)
    if found is None:
        return MeasuredNumber(holds=False, details={"no collapse up to": max(shares)}, note=_text(shares))
    return MeasuredNumber(found, note=_text(shares))


def collapse_between_links(data: Data, experiment: str, protocol: str, rate: int) -> MeasuredProperty:
    """Whether a collapse at some rate lies between those with the slowest and the fastest link."""
    details = {}
    for link in data.values(experiment, "link"):
        shares = responses.met_on_grid(data, experiment, "rate", {"protocol": protocol, "link": link})
        details[str(link)] = _collapse(shares) or max(shares)
    return MeasuredProperty(holds=min(details.values()) <= rate <= max(details.values()), details=details)


def quenching_pays(
    data: Data, experiment: str, own: str, without: str, rate: int, factor: float, at: At | None = None
) -> MeasuredProperty:
    """Whether quenching gives so many times the application throughput at a rate."""
    where: At = {**(at or {}), "rate": rate}
    details = {name: responses.met(data, experiment, {**where, "protocol": name}) for name in (own, without)}
    return MeasuredProperty(holds=details[own] >= factor * details[without], details=details)


def met_alike(data: Data, experiment: str, protocols: list[str], below: int, points: float) -> MeasuredProperty:
    """Whether two transports meet the same share of deadlines below a rate, up to some percentage points."""
    first, second = (responses.met_by(data, experiment, "rate", {"protocol": name}) for name in protocols)
    differences = {f"{rate:.0f}/s": 100 * abs(first[rate] - second[rate]) for rate in first if rate < below}
    return MeasuredProperty(holds=max(differences.values()) <= points, details=differences)


def peak_load(data: Data, experiment: str, own: str, others: list[str]) -> MeasuredNumber:
    """Supported senders of a flash crowd over those of the best of others; mean over the deadlines."""
    ratios, notes = [], []
    for name in data.values(experiment, "mean"):
        shares = {
            p: responses.met_on_grid(data, experiment, "senders", {"protocol": p, "mean": name}) for p in (own, *others)
        }
        most = {protocol: responses.supported(found) for protocol, found in shares.items()}
        least = min(shares[own])
        ratios.append(most[own] / max(least, *(most[other] for other in others)))
        notes.append(f"{name}: " + ", ".join(f"{protocol} {count:.0f}" for protocol, count in most.items()))
    return MeasuredNumber(mean(ratios), note="; ".join(notes))


def missed_ratio(data: Data, experiment: str, over: str, under: str, rates: list[int]) -> MeasuredNumber:
    """Deadlines that one transport missed over those that another one missed, over some rates together."""
    missed = {
        name: mean([1 - responses.met(data, experiment, {"protocol": name, "rate": rate}) for rate in rates])
        for name in (over, under)
    }
    note = ", ".join(f"{name} missed {share:.4f}" for name, share in missed.items())
    return MeasuredNumber(missed[over] / missed[under], note=note)


def quenching_saves(data: Data, experiment: str, own: str, without: str, rate: int) -> MeasuredProperty:
    """Whether less of what is delivered belongs to flows that missed their deadline."""
    details = {
        name: responses.wasted_share(data, experiment, {"protocol": name, "rate": rate}) for name in (own, without)
    }
    return MeasuredProperty(holds=details[own] < details[without], details=details)


def first_of_all(
    data: Data, experiment: str, key: str, own: str, others: list[str], at: At | None = None
) -> MeasuredProperty:
    """Whether a transport supports at least as much as every other one."""
    shares = {
        name: responses.met_on_grid(data, experiment, key, {**(at or {}), "protocol": name}) for name in (own, *others)
    }
    details = {name: responses.supported(found) for name, found in shares.items()}
    return MeasuredProperty(holds=details[own] >= max(details.values()), details=details)


def insensitive(data: Data, experiment: str, each: int, points: float) -> MeasuredProperty:
    """Whether no setting alone changes the share of deadlines met by more than some percentage points."""
    base = responses.met(data, experiment, {"case": "none x 1", "each": each})
    cases = sorted({str(run.at["case"]) for run in data.runs(experiment)} - {"none x 1"})
    changes = {case: 100 * (responses.met(data, experiment, {"case": case, "each": each}) - base) for case in cases}
    worst = dict(sorted(changes.items(), key=lambda item: -abs(item[1]))[:6])
    return MeasuredProperty(holds=max(map(abs, changes.values())) <= points, details=worst, note=f"base {base:.4f}")


def loss_in_every_setting(data: Data, experiment: str, protocol: str, rate: int, least: float) -> MeasuredProperty:
    """Whether responses lose packets and miss their deadline whatever the queue and the initial window are."""
    details = {}
    for queue in data.values(experiment, "queue"):
        for window in data.values(experiment, "window"):
            at: At = {"protocol": protocol, "rate": rate, "queue": queue, "window": window}
            details[f"queue {queue}, window {window}"] = share_lost_and_missed(data, experiment, at).value or 0.0
    return MeasuredProperty(holds=min(details.values()) > least, details=details)


def same_order_in_every_setup(data: Data, experiment: str, order: list[str]) -> MeasuredProperty:
    """Whether each transport supports at least the rate of the next one, in every set-up."""
    details: dict[str, float] = {}
    holds = True
    for name in sorted({str(run.at["setup"]) for run in data.runs(experiment)}):
        rates = []
        for protocol in order:
            rates.append(
                responses.supported(
                    responses.met_on_grid(data, experiment, "rate", {"setup": name, "protocol": protocol})
                )
            )
            details[f"{name} {protocol}"] = rates[-1]
        holds &= all(better >= worse for better, worse in itertools.pairwise(rates))
    return MeasuredProperty(holds=holds, details=details)
