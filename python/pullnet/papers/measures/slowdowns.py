"""Slowdowns as pHost's authors take them: completion over that of the flow alone in their network.

Their flows end when the final ACK is back at the source, and their switches cut through, as those of the scenarios do.
"""

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredCurve, MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, mean, seeds_text, span
from pullnet.papers.measures.packets import SHORT, times, with_headers
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]

TIE = 0.1
"""Mean slowdowns that differ by less count as equal in an order of transports."""


def _sum(column: pl.Series) -> float:
    return float(np.sum(column.to_numpy()))


def _slowdowns(run: Run, low: float = 0, high: float = float("inf")) -> Array:
    """Slowdowns of the flows of `low` to `high` bytes, the upper bound excluded."""
    table = times(run).filter((pl.col("size_bytes") >= low) & (pl.col("size_bytes") < high))
    return np.asarray(table["slowdown"].to_numpy(), dtype=float)


def _mean(data: Data, experiment: str, at: At, low: float = 0, high: float = float("inf")) -> float:
    found = [_slowdowns(run, low, high) for run in data.runs(experiment, at)]
    return mean([float(values.mean()) for values in found if len(values)])


def _tail(data: Data, experiment: str, at: At, high: float = float("inf")) -> float:
    """99th percentile, of all seeds together."""
    return float(np.percentile(np.concatenate([_slowdowns(run, 0, high) for run in data.runs(experiment, at)]), 99))


def mean_slowdown(data: Data, experiment: str, at: At, tail: float) -> MeasuredNumber:
    """Mean slowdown of all flows; `tail` is the 99th percentile that the reference has."""
    runs = data.runs(experiment, at)
    means = [float(_slowdowns(run).mean()) for run in runs]
    short = _tail(data, experiment, at, SHORT)
    note = f"{span(means)} over {seeds_text(runs)}; p99 {_tail(data, experiment, at):.2f} for {tail}"
    return MeasuredNumber(mean(means), note=f"{note}; p99 below 100 KiB {short:.2f}")


def slowdown_by_load(data: Data, experiment: str, protocol: str) -> MeasuredCurve:
    """Mean slowdown against the load, which counts headers."""
    loads = [float(load) for load in data.values(experiment, "load")]
    curve: list[tuple[float, ...]] = [
        (with_headers(load), _mean(data, experiment, {"protocol": protocol, "load": load})) for load in loads
    ]
    tails = [f"{_tail(data, experiment, {'protocol': protocol, 'load': load}, SHORT):.2f}" for load in loads]
    return MeasuredCurve(curve=curve, note=f"p99 of flows below 100 KiB: {', '.join(tails)}")


def means_alike(
    data: Data, experiments: list[str], protocols: list[str], within: float, low: float = 0, high: float = 1e18
) -> MeasuredProperty:
    """Whether the mean slowdowns of some transports differ by a share at most, in each experiment."""
    details: dict[str, float] = {}
    for experiment in experiments:
        means = [_mean(data, experiment, {"protocol": protocol}, low, high) for protocol in protocols]
        details[f"{experiment} {protocols[0]} over {protocols[1]}"] = means[0] / means[1]
        details[f"{experiment} spread"] = max(means) / min(means) - 1
    spreads = [value for name, value in details.items() if name.endswith("spread")]
    return MeasuredProperty(holds=max(spreads) <= within, details=details)


def slowdown_ratio(data: Data, experiments: list[str], over: str, under: str) -> MeasuredNumber:
    """Mean slowdown of a transport over that of another one; the largest of the experiments."""
    ratios = {
        name: _mean(data, name, {"protocol": over}) / _mean(data, name, {"protocol": under}) for name in experiments
    }
    return MeasuredNumber(max(ratios.values()), note=", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))


def short_dominate(data: Data, experiments: list[str], protocol: str, within: float) -> MeasuredProperty:
    """Whether the mean of all flows is that of the short ones, up to a share."""
    at: At = {"protocol": protocol}
    ratios = {name: _mean(data, name, at) / _mean(data, name, at, high=SHORT) for name in experiments}
    return MeasuredProperty(holds=all(abs(ratio - 1) < within for ratio in ratios.values()), details=ratios)


def worst_by_far(
    data: Data, experiments: list[str], worst: str, others: list[str], tail: bool = False
) -> MeasuredProperty:
    """Whether short flows of a transport are slower than those of others, by more than these differ."""
    details: dict[str, float] = {}
    holds = True
    for name in experiments:
        values = [
            _tail(data, name, {"protocol": protocol}, SHORT)
            if tail
            else _mean(data, name, {"protocol": protocol}, high=SHORT)
            for protocol in [*others, worst]
        ]
        details |= {f"{name} {protocol}": value for protocol, value in zip([*others, worst], values, strict=True)}
        holds &= values[-1] - max(values[:-1]) > max(values[:-1]) - min(values[:-1])
    return MeasuredProperty(holds=holds, details=details)


def alike_in_every_mix(data: Data, experiment: str, within: float) -> MeasuredProperty:
    """Largest difference of two transports over all mixes of short and long flows."""
    details: dict[str, float] = {}
    for short in sorted({str(run.at["short"]) for run in data.runs(experiment)}):
        means = [_mean(data, experiment, {"protocol": name, "short": short}) for name in ("phost", "pfabric")]
        details[short.removeprefix("sizes/").removesuffix(".csv")] = means[0] / means[1]
    return MeasuredProperty(holds=all(abs(ratio - 1) <= within for ratio in details.values()), details=details)


def _order(means: dict[str, float]) -> list[tuple[str, str]]:
    """Pairs whose first is faster than the second, ties left out."""
    return [(a, b) for a in means for b in means if means[a] * (1 + TIE) < means[b]]


def same_order_at_each_load(data: Data, experiments: list[str]) -> MeasuredProperty:
    """Whether no two transports change places with the load. Transports within a tenth of each other share a place."""
    details: dict[str, float] = {}
    swapped = False
    for name in experiments:
        orders = []
        for load in data.values(name, "load"):
            protocols = sorted({str(run.at["protocol"]) for run in data.runs(name, {"load": load})})
            means = {protocol: _mean(data, name, {"protocol": protocol, "load": load}) for protocol in protocols}
            details |= {f"{name} {float(load):.2f} {protocol}": value for protocol, value in means.items()}
            orders.append(set(_order(means)))
        pairs = set().union(*orders)
        swapped |= any((b, a) in pairs for a, b in pairs)
    return MeasuredProperty(holds=not swapped, details=details)


def _received(run: Run) -> float:
    """Payload of the flows that had arrived when the last one started, over the time until then. Unit: Gb/s."""
    table = times(run)
    last = int(table["start_ps"].to_numpy().max())
    return _sum(table.filter(pl.col("received_ps") <= last)["size_bytes"]) * 8e3 / last


def throughput_alike(data: Data, experiments: list[str], protocols: list[str], within: float) -> MeasuredProperty:
    """Whether transports deliver the same flows at the same rate."""
    details: dict[str, float] = {}
    for name in experiments:
        rates = [mean([_received(run) for run in data.runs(name, {"protocol": p})]) for p in protocols]
        details |= {f"{name} {p} Gb/s": rate for p, rate in zip(protocols, rates, strict=True)}
        details[f"{name} spread"] = max(rates) / min(rates) - 1
    spreads = [value for key, value in details.items() if key.endswith("spread")]
    return MeasuredProperty(holds=max(spreads) <= within, details=details)


def _deadlines(run: Run, mean_us: float) -> tuple[Array, Array, Array]:
    """Deadlines as the source draws them, what was drawn, and how long flows took. Unit: us."""
    table = times(run).sort("start_ps", "size_bytes")
    drawn = np.random.default_rng(run.seed).exponential(mean_us, len(table))
    return np.maximum(drawn, 1.25 * table["least"].to_numpy()), drawn, np.asarray(table["took"].to_numpy())


def deadlines_met_alike(
    data: Data, experiment: str, protocols: list[str], mean_us: float, points: float
) -> MeasuredProperty:
    """Share of deadlines met, in percent, where transports do not know of them."""
    details = {}
    for protocol in protocols:
        found = [_deadlines(run, mean_us) for run in data.runs(experiment, {"protocol": protocol})]
        details[protocol] = 100 * mean([float((took <= limit).mean()) for limit, _, took in found])
    return MeasuredProperty(holds=max(details.values()) - min(details.values()) <= points, details=details)


def deadline_generator(data: Data, experiment: str, protocol: str, mean_us: float) -> MeasuredNumber:
    """Mean of the exponential from which deadlines are drawn; none may be below 1.25 times the least time."""
    found = [_deadlines(run, mean_us) for run in data.runs(experiment, {"protocol": protocol})]
    drawn = np.concatenate([values for _, values, _ in found])
    off = abs(float(drawn.mean()) - mean_us) / (mean_us / np.sqrt(len(drawn)))
    note = f"{len(drawn)} draws have a mean of {drawn.mean():.1f} us, {off:.1f} standard errors away"
    return MeasuredNumber(
        mean_us, holds=off < 4 and all((limit >= drawn).all() for limit, drawn, _ in found), note=note
    )


def size_meets_more_deadlines(data: Data, experiment: str, protocols: list[str]) -> MeasuredProperty:
    """Share of deadlines met, in percent: for each transport, whether serving by size meets more than by deadline."""
    details = {}
    for protocol in [name for each in protocols for name in (each, f"{each}-edf")]:
        shares = [run.result.summary.deadlines.share_met for run in data.runs(experiment, {"protocol": protocol})]
        details[protocol] = 100 * mean([share for share in shares if share is not None])
    return MeasuredProperty(holds=all(details[each] > details[f"{each}-edf"] for each in protocols), details=details)


def pending_is_bounded(data: Data, experiment: str, protocol: str, most: float) -> MeasuredProperty:
    """Packets pending, as a share of the packets that have arrived, after a half and at the end of the arrivals."""
    shares: dict[str, list[float]] = {"half": [], "end": []}
    for run in data.runs(experiment, {"protocol": protocol}):
        table = times(run)
        last = float(table["start_ps"].to_numpy().max())
        for name, at in (("half", last / 2), ("end", last)):
            begun = table.filter(pl.col("start_ps") <= at)
            waiting = begun.filter(pl.col("received_ps") > at)
            shares[name].append(_sum(waiting["size_bytes"]) / _sum(begun["size_bytes"]))
    details = {name: mean(values) for name, values in shares.items()}
    return MeasuredProperty(holds=details["end"] <= most * details["half"], details=details)


def tenant_shares(
    data: Data, experiment: str, tenant: str, even: str, skewed: str, low: float, high: float
) -> MeasuredProperty:
    """Share of a tenant in what is delivered: within bounds with one transport, and outside them with another one."""
    shares = {}
    for protocol in (even, skewed):
        found = []
        for run in data.runs(experiment, {"protocol": protocol}):
            flows = run.result.flows
            own = flows.filter(pl.col("tenant") == tenant)
            found.append(_sum(own["window_bytes"]) / _sum(flows["window_bytes"]))
        shares[protocol] = mean(found)
    return MeasuredProperty(holds=low <= shares[even] <= high < shares[skewed], details=shares)


def incast_difference(data: Data, experiment: str, protocols: list[str], of: str) -> MeasuredNumber:
    """Largest difference between transports over all numbers of senders: mean of the flows (`flow`), or the last."""
    worst, notes = 0.0, []
    for senders in data.values(experiment, "senders"):
        times = []
        for protocol in protocols:
            tables = [
                run.result.flows["fct_us"] for run in data.runs(experiment, {"senders": senders, "protocol": protocol})
            ]
            times.append(mean([float(np.mean(t.to_numpy()) if of == "flow" else np.max(t.to_numpy())) for t in tables]))
        worst = max(worst, max(times) / min(times) - 1)
        notes.append(f"{senders}: " + ", ".join(f"{time / 1e3:.1f}" for time in times))
    return MeasuredNumber(worst, note=f"ms of {', '.join(protocols)}; senders {'; '.join(notes)}")


def insensitive_to_queue(data: Data, experiment: str, within: float) -> MeasuredProperty:
    """Mean slowdown by room of a port, next to that of the largest one."""
    rooms = data.values(experiment, "queue")
    details = {str(room): _mean(data, experiment, {"queue": room}) for room in rooms}
    last = details[str(rooms[-1])]
    return MeasuredProperty(holds=all(abs(value / last - 1) <= within for value in details.values()), details=details)


def needs_nothing_of_switches(data: Data, experiment: str) -> MeasuredProperty:
    """Whether all flows complete over drop-tail switches that neither mark nor trim."""
    runs = data.runs(experiment)
    packets = [run.result.summary.packets for run in runs]
    open_flows = sum(run.result.summary.flows.started - run.result.summary.flows.completed for run in runs)
    touched = sum(found.marked + found.trimmed for found in packets)
    details = {"flows not completed": float(open_flows), "packets marked or trimmed": float(touched)}
    details["dropped"] = float(sum(found.dropped for found in packets))
    return MeasuredProperty(holds=open_flows == 0 and touched == 0, details=details)


def fast_and_flexible(data: Data, experiment: str, tenants: str) -> MeasuredProperty:
    """Whether Fastpass is slow for short flows, pFabric divides tenants unevenly, and pHost does neither."""
    short = {
        protocol: _mean(data, experiment, {"protocol": protocol}, high=SHORT)
        for protocol in ("phost", "pfabric", "fastpass")
    }
    shares = tenant_shares(data, tenants, "imc10", "phost-tenants", "pfabric", 0.45, 0.55)
    fast = short["phost"] <= (1 + TIE) * short["pfabric"] and short["fastpass"] > 1.5 * short["phost"]
    return MeasuredProperty(holds=bool(fast and shares.holds), details=short | shares.details)
