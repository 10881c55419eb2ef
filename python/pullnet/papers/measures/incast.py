"""Many senders, one receiver."""

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredCurve, MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.completions import PAYLOAD_US, WIRE_US, full_packets, last_us, overhead
from pullnet.papers.measures.data import Data, mean, microseconds, number_of, seeds_text, span
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]


def last_completion(data: Data, experiment: str, scale: float = 1.0, at: At | None = None) -> MeasuredNumber:
    """Time until the last packet has arrived. Unit: us, times `scale`."""
    runs = data.runs(experiment, at)
    times = [last_us(run) * scale for run in runs]
    return MeasuredNumber(mean(times), note=f"{span(times, 7)} over {seeds_text(runs)}")


def payload_overhead(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Last arrival over the time that the payload alone takes on the receiver's link, less one."""
    runs = data.runs(experiment, at)
    shares = [last_us(run) / (full_packets(run) * PAYLOAD_US) - 1 for run in runs]
    return MeasuredNumber(mean(shares), note=f"{span(shares)} over {seeds_text(runs)}")


def payload_overhead_range(data: Data, experiment: str, least: int, low: float, high: float) -> MeasuredProperty:
    """Whether the payload overhead stays between bounds for all numbers of senders from `least`."""
    runs = [run for run in data.runs(experiment) if number_of(run.at["senders"]) >= least]
    shares = [last_us(run) / (full_packets(run) * PAYLOAD_US) - 1 for run in runs]
    return MeasuredProperty(
        holds=low <= min(shares) and max(shares) <= high, details={"least": min(shares), "most": max(shares)}
    )


def returned_share(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Headers sent back over payloads cut off."""
    runs = data.runs(experiment, at)
    shares = [run.result.summary.packets.returned / max(1, run.result.summary.packets.trimmed) for run in runs]
    packets = mean([float(full_packets(run)) for run in runs])
    causes = [mean([cause(run) for run in runs]) / packets for cause in (_bounces, _nacks)]
    note = f"{span(shares)} over {seeds_text(runs)}; per packet {causes[0]:.3f} returned, {causes[1]:.3f} NACKed"
    return MeasuredNumber(mean(shares), note=note)


def _bounces(run: Run) -> float:
    return float(run.result.summary.packets.headers_returned)


def _nacks(run: Run) -> float:
    return float(run.result.summary.packets.headers_delivered)


def trims_after(data: Data, experiment: str, after_us: float, at: At | None = None) -> MeasuredNumber:
    """Packets that the receiver NACKed after the first window had been served, as a share of those after it."""
    runs = data.runs(experiment, at)
    late = pl.col("at_ps") > after_us * 1e6
    tables = [run.result.control for run in runs]
    nacks = sum(table.filter(late, pl.col("kind").str.to_lowercase().str.contains("nack")).height for table in tables)
    served = sum(full_packets(run) - after_us / WIRE_US for run in runs)
    return MeasuredNumber(nacks / served, note=f"{nacks} NACKs after {after_us / 1000:.3g} ms, {seeds_text(runs)}")


def trims_by_place(data: Data, experiment: str, factor: float, at: At | None = None) -> MeasuredProperty:
    """Whether trimming happens at the receiver's ToR, less above it, and hardly ever on the way up."""
    runs = data.runs(experiment, at)
    tiers = [run.result.summary.packets.trimmed_by_tier for run in runs]
    places = {"tor->host": ["tor->host"], "agg->tor": ["agg->tor"], "uplinks": ["tor->agg", "agg->core"]}
    counts = {
        place: mean([float(sum(tier.get(level, 0) for level in levels)) for tier in tiers])
        for place, levels in places.items()
    }
    down, above, up = counts.values()
    return MeasuredProperty(holds=down > factor * above and above > factor * up, details=counts)


def idle_between_arrivals(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Time that the receiver's link idled between its first packet and its last. Headers are served, too. Unit: us."""
    runs = data.runs(experiment, at)
    idle = [_idle_us(run) for run in runs]
    trims = [float(run.result.summary.packets.trimmed) for run in runs]
    # Where nothing is trimmed nothing is fetched again, and the link cannot idle for it. Less than no time would mean
    # that the link served something after the last packet.
    holds = min(trims) > 0 and min(idle) > -1e-3
    return MeasuredNumber(max(*idle, 0.0), holds=holds, note=f"{span(trims)} packets trimmed, {seeds_text(runs)}")


def _idle_us(run: Run) -> float:
    arrived = np.sort(microseconds(run.result.flows, "received_ps"))
    busy = float(microseconds(_bottleneck(run), "busy_ps")[0])
    # The first packet was served before it arrived.
    return round(float(arrived[-1] - arrived[0]) - (busy - WIRE_US), 6)


def _bottleneck(run: Run) -> pl.DataFrame:
    """The port with most trims, or without any trims the port with most packets."""
    return run.result.ports.sort("trimmed", "data_packets").tail(1)


def completion_curve(data: Data, experiment: str, first: bool = False) -> MeasuredCurve:
    """Completion of the last flow, or the first, against the number of senders. Unit: ms."""
    return MeasuredCurve(curve=_curve(data, experiment, _first_ms if first else lambda run: last_us(run) / 1e3))


def _first_ms(run: Run) -> float:
    return float(microseconds(run.result.flows, "received_ps").min()) / 1e3


def _curve(data: Data, experiment: str, value: Callable[[Run], float], at: At | None = None) -> list[tuple[float, ...]]:
    """Mean over seeds, against the number of senders."""
    found: dict[float, list[float]] = {}
    for run in data.runs(experiment, at):
        found.setdefault(number_of(run.at["senders"]), []).append(value(run))
    return [(senders, mean(values)) for senders, values in sorted(found.items())]


def completion_spread(data: Data, experiment: str) -> MeasuredNumber:
    """Largest ratio of the slowest to the fastest flow, less one, over all numbers of senders."""
    curve = _curve(data, experiment, lambda run: last_us(run) / 1e3 / _first_ms(run) - 1)
    senders, spread = max(curve, key=lambda point: point[1])
    return MeasuredNumber(spread, note=f"largest with {senders:.0f} senders")


def overhead_curve(data: Data, experiment: str, at: At | None = None, few: str | None = None) -> MeasuredCurve:
    """Overhead of the last flow over the optimum, against the number of senders. Unit: %.

    The paper's curve is one run for each number of senders, and few senders differ much from seed to seed. Where the
    experiment `few` has many seeds, the paper's run has to be such as one of them: a rank test over all these numbers
    of senders (`_rank`, `_combined`), in place of a distance at each.
    """
    mean_of = dict(_pairs(_curve(data, experiment, overhead, at)))
    if few is None:
        return MeasuredCurve(curve=list(mean_of.items()))
    found: dict[float, list[float]] = {}
    for run in data.runs(few):
        found.setdefault(number_of(run.at["senders"]), []).append(overhead(run))
    wanted = dict(_pairs(data.expected))
    ranked = {n: _rank(wanted[n], values) for n, values in found.items() if n in wanted}
    chance = _combined(list(ranked.values()))
    spreads = "; ".join(
        f"{n:.0f} senders: {wanted[n]:.2f} among {min(found[n]):.2f} to {max(found[n]):.2f}, p {p:.2f}"
        for n, p in sorted(ranked.items())
    )
    curve: list[tuple[float, ...]] = sorted((n, value) for n, value in mean_of.items() if n not in ranked)
    note = f"ranks among {len(data.runs(few)) // len(found)} seeds, together p = {chance:.3f}; {spreads}"
    return MeasuredCurve(curve=curve, holds=chance >= SIGNIFICANT, note=note)


SIGNIFICANT = 0.05
"""Chance below which a value is not one of ours."""


def _rank(value: float, among: list[float]) -> float:
    """Two-sided chance of a rank as far out as that of `value`, if it were drawn like those `among` which it stands."""
    below = sum(other < value for other in among)
    above = sum(other > value for other in among)
    return min(1.0, 2 * (min(below, above) + 1) / (len(among) + 1))


def _combined(chances: list[float]) -> float:
    """Chance of several independent tests together (Fisher)."""
    statistic = -2 * float(np.sum(np.log(chances)))
    # The tail of chi-squared with an even number of degrees of freedom is a finite sum.
    terms = np.cumprod([1.0, *(statistic / 2 / k for k in range(1, len(chances)))])
    return float(np.exp(-statistic / 2) * terms.sum())


def _pairs(curve: list[tuple[float, ...]]) -> list[tuple[float, float]]:
    return [(row[0], row[1]) for row in curve]


def worst_overhead(data: Data, experiment: str, least: int = 1, at: At | None = None) -> MeasuredNumber:
    """Largest overhead over the optimum from `least` senders on, as a fraction."""
    curve = [point for point in _curve(data, experiment, overhead, at) if point[0] >= least]
    senders, worst = max(curve, key=lambda point: point[1])
    return MeasuredNumber(worst / 100, note=f"largest of {len(curve)} points with {senders:.0f} senders")


def repetition_curve(data: Data, experiment: str, at: At | None = None) -> MeasuredCurve:
    """Headers returned and NACKs per data packet, against the number of senders."""
    bounces = _curve(data, experiment, lambda run: _bounces(run) / full_packets(run), at)
    nacks = _curve(data, experiment, lambda run: _nacks(run) / full_packets(run), at)
    return MeasuredCurve(curve=[(*bounce, nack[1]) for bounce, nack in zip(bounces, nacks, strict=True)])


def repetitions(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Headers returned plus NACKs per data packet."""
    runs = data.runs(experiment, at)
    sums = [(_bounces(run) + _nacks(run)) / full_packets(run) for run in runs]
    causes = [mean([cause(run) / full_packets(run) for run in runs]) for cause in (_bounces, _nacks)]
    return MeasuredNumber(mean(sums), note=f"{causes[0]:.3f} returned + {causes[1]:.3f} NACKed, {seeds_text(runs)}")


def bounces_overtake(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Number of senders from which more headers are returned than NACKed, between the points by a straight line."""
    curve = _curve(data, experiment, lambda run: (_bounces(run) - _nacks(run)) / full_packets(run), at)
    return _crossing(curve, 0.0)


def bounced_twice(data: Data, experiment: str, pushed_share: float, at: At | None = None) -> MeasuredNumber:
    """Number of senders from which more headers are returned than packets were pushed."""
    return _crossing(_curve(data, experiment, lambda run: _bounces(run) / full_packets(run), at), pushed_share)


def _crossing(curve: list[tuple[float, ...]], level: float) -> MeasuredNumber:
    for (left, below), (right, above) in itertools.pairwise(curve):
        if below <= level < above:
            return MeasuredNumber(
                left + (right - left) * (level - below) / (above - below), note=f"{left:.0f} to {right:.0f}"
            )
    return MeasuredNumber(holds=False, details={"points without a crossing": len(curve)})


def imperfect_incast(data: Data, experiment: str) -> MeasuredNumber:
    """Largest difference that imperfect spacing of pulls makes to the last completion, at any flow and packet size."""
    found: dict[str, float] = {}
    for size in data.values(experiment, "size"):
        for packet in ("1500", "9000"):
            perfect, measured = (
                mean([last_us(run) for run in data.runs(experiment, {"size": size, "spacing": f"{kind}-{packet}"})])
                for kind in ("perfect", "measured")
            )
            found[f"{size} in {packet} B"] = abs(measured / perfect - 1)
    return MeasuredNumber(
        max(found.values()), note=", ".join(f"{name}: {100 * value:.2f}%" for name, value in found.items())
    )
