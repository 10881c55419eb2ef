"""Bounds, arithmetic and properties, by the engine's own numbers."""

import itertools

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean, number_of, seeds_text
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]


def _only_fct(data: Data, experiment: str, at: At) -> float:
    """Completion of the one flow of a run. Unit: us."""
    return float(data.runs(experiment, at)[0].result.flows["fct_us"][0])


def serialisation(data: Data, experiment: str, size: str, half: str) -> MeasuredNumber:
    """Time on the wire of one payload: twice what it takes longer than half of it, by which headers cancel."""
    whole, part = (_only_fct(data, experiment, {"size": value}) for value in (size, half))
    return MeasuredNumber(2 * (whole - part), note=f"{whole:.4f} us for {size}, {part:.4f} us for {half}")


def header_room(data: Data, experiment: str, at: At | None = None) -> MeasuredNumber:
    """Most control packets held, without the packet in service, by a port that returned headers because it was full."""
    runs = data.runs(experiment, at)
    rooms = []
    for run in runs:
        full = run.result.ports.filter(pl.col("returned") > 0)
        if not full.height:
            raise MissingRunsError("no header queue was ever full")
        rooms.append(float(np.max(full["peak_control"].to_numpy())))
    return MeasuredNumber(mean(rooms), note="largest number held by a port that had to return headers")


def refetch_time(
    data: Data, experiment: str, capacity: str, size: str, half: str, at: At | None = None
) -> MeasuredNumber:
    """Time that the receiver's link needs for as many payloads as a header queue holds headers. Unit: ms."""
    room = header_room(data, capacity, at).value or 0.0
    each = serialisation(data, experiment, size, half).value or 0.0
    return MeasuredNumber(room * each / 1000, note=f"{room:.0f} headers times {each:.4f} us")


def longest_round_trip(data: Data, experiment: str, least_queued: int, at: At | None = None) -> MeasuredNumber:
    """Longest time from the only copy of a packet, which arrived whole, to its ACK. Unit: us.

    The way there has to have been as full as it can be: somewhere in each tier a queue of `least_queued` packets.
    """
    longest, packets, fullest = 0.0, 0, float("inf")
    for run in data.runs(experiment, at):
        trips = _trips(run.result.packets)
        longest, packets = max(longest, float(np.max(trips, initial=0.0))), packets + len(trips)
        ports = run.result.ports.filter(pl.col("port").is_not_null()).group_by("level").agg(pl.col("peak_data").max())
        fullest = min(fullest, float(np.min(ports["peak_data"].to_numpy())))
    note = f"{packets} packets; the fullest queue of each tier held at least {fullest:.0f}"
    return MeasuredNumber(longest, holds=fullest >= least_queued, note=note)


def _trips(packets: pl.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Time from sending to ACK, of packets sent once and not NACKed. Unit: us."""
    key = ["flow", "number"]
    sent = packets.filter(pl.col("direction") == "sent", pl.col("kind") == "data").group_by(key)
    copies = sent.agg(pl.len().alias("copies"), pl.col("at_ps").min().alias("left"))
    acks = packets.filter(pl.col("direction") == "received", pl.col("kind") == "ack").group_by(key)
    both = copies.filter(pl.col("copies") == 1).join(acks.agg(pl.col("at_ps").min().alias("back")), on=key)
    return np.asarray((both["back"] - both["left"]).to_numpy() / 1e6)


def timeouts(data: Data, experiments: list[str], at: At | None = None) -> MeasuredNumber:
    """Retransmission timers that ran out, over all runs."""
    runs = [run for experiment in experiments for run in data.runs(experiment, at)]
    return MeasuredNumber(float(sum(run.result.summary.timeouts for run in runs)), note=f"{len(runs)} runs")


def dropped(data: Data, experiments: list[str]) -> MeasuredNumber:
    """Packets that full switches dropped, without headers that had been returned before, over all runs."""
    runs = [run for experiment in experiments for run in _some(data, experiment)]
    if not runs:
        raise MissingRunsError(f"none of {', '.join(experiments)} is part of this level")
    packets = [run.result.summary.packets for run in runs]
    silent = sum(count.dropped - count.returned_dropped for count in packets)
    again = sum(count.returned_dropped for count in packets)
    most = max(run.result.summary.flows.started for run in runs)
    return MeasuredNumber(
        float(silent), note=f"{len(runs)} runs, up to {most} flows; {again} headers met a second full queue"
    )


def _some(data: Data, experiment: str) -> list[Run]:
    try:
        return data.runs(experiment)
    except MissingRunsError:
        return []


def unloaded_window(data: Data, experiment: str, share: float) -> MeasuredNumber:
    """Smallest window with which one flow through an idle network reaches a share of the best rate. Unit: packets."""
    rates = {
        number_of(window): mean(
            [float(run.result.flows["window_gbps"][0]) for run in data.runs(experiment, {"window": window})]
        )
        for window in data.values(experiment, "window")
    }
    enough = min(window for window, rate in rates.items() if rate >= share * max(rates.values()))
    return MeasuredNumber(
        enough, note="IW: Gb/s " + ", ".join(f"{window:.0f}: {rate:.2f}" for window, rate in rates.items())
    )


def fair_share_floor(data: Data, experiment: str) -> MeasuredNumber:
    """Least goodput of the receiver's link over all numbers of unresponsive senders. Unit: % of the link."""
    shares = {
        number_of(run.at["senders"]): 10 * float(run.result.summary.goodput_gbps.total or 0)
        for run in data.runs(experiment)
    }
    least = min(shares.values())
    return MeasuredNumber(
        least, note="senders: % " + ", ".join(f"{n:.0f}: {share:.1f}" for n, share in sorted(shares.items()))
    )


def _shares(data: Data, experiment: str) -> dict[float, tuple[float, float]]:
    """Mean goodput and that of the slowest tenth, in % of the fair share, by number of unresponsive senders."""
    found: dict[float, list[tuple[float, float]]] = {}
    for run in data.runs(experiment):
        rates = np.sort(run.result.flows["window_gbps"].to_numpy())
        worst = rates[: max(1, len(rates) // 10)]
        shares = [float(np.mean(kept)) / (10 / len(rates)) * 100 for kept in (rates, worst)]
        found.setdefault(number_of(run.at["senders"]), []).append((shares[0], shares[1]))
    return {n: (mean([s[0] for s in all_]), mean([s[1] for s in all_])) for n, all_ in sorted(found.items())}


def _shares_text(shares: dict[float, tuple[float, float]]) -> str:
    return "senders: % mean / worst tenth " + ", ".join(f"{n:.0f}: {m:.2f} / {w:.1f}" for n, (m, w) in shares.items())


def cut_payload_falls(data: Data, experiments: list[str]) -> MeasuredProperty:
    """Whether NDP's switch delivers more than Cut Payload for any number of senders, and Cut Payload less with each."""
    ndp, cp = (_shares(data, experiment) for experiment in experiments)
    ties = [n for n in cp if n > 1 and ndp[n][0] <= cp[n][0] + 0.01]
    means = [mean_ for mean_, _ in cp.values()]
    falls = all(right < left for left, right in itertools.pairwise(means))
    note = f"not above for senders {[int(n) for n in ties]}; " if ties else ""
    note += f"NDP {_shares_text(ndp)}; Cut Payload {_shares_text(cp)}"
    return MeasuredProperty(holds=falls and not ties, note=note)


def cut_payload_phases(
    data: Data, experiments: list[str], least: float, within: float, apart: float
) -> MeasuredProperty:
    """Whether the slowest tenth of flows is near the mean with NDP's switch, and far below it with Cut Payload."""
    ndp, cp = (_shares(data, experiment) for experiment in experiments)
    near = all(m - w <= within for n, (m, w) in ndp.items() if n >= least)
    far = all(m - w >= apart or w < m / 10 for n, (m, w) in cp.items() if n >= least)
    return MeasuredProperty(holds=near and far, note=f"NDP {_shares_text(ndp)}; Cut Payload {_shares_text(cp)}")


def cut_payload_mtu(data: Data, experiments: list[str]) -> MeasuredProperty:
    """Whether Cut Payload loses goodput faster with short packets, for any number of senders above one."""
    nine, one = (_shares(data, experiment) for experiment in experiments)
    holds = all(one[n][0] * nine[1.0][0] < nine[n][0] * one[1.0][0] for n in one if n > 1)
    return MeasuredProperty(holds=holds, note=f"9000 B {_shares_text(nine)}; 1500 B {_shares_text(one)}")


def control_per_data(data: Data, experiment: str, early: str, late: str) -> MeasuredNumber:
    """Headers per data packet on a link whose queues never run empty, between the ends of two runs that begin alike.

    The ratio is exactly ten: any excess is part of a round that the end of a run cuts.
    """
    pairs = zip(data.runs(experiment, {"end": early}), data.runs(experiment, {"end": late}), strict=True)
    counts = [np.subtract(_served(second), _served(first)) for first, second in pairs]
    headers, whole = max(counts, key=lambda count: abs(count[0] - 10 * count[1]))
    over = headers - 10 * whole
    note = f"{headers} headers and {whole} data packets from {early} to {late}: {over:+} beyond whole rounds at most"
    return MeasuredNumber(float(headers / whole) if abs(over) > 10 else 10.0, note=f"{note}, {len(counts)} seeds")


def _served(run: Run) -> tuple[int, int]:
    """Headers and data packets that left the port which trims most."""
    port = run.result.ports.sort("trimmed")[-1]
    whole = int(port["data_packets"][0])
    return int(port["packets"][0]) - whole, whole


def all_complete(data: Data, experiment: str, at: At | None = None) -> MeasuredProperty:
    """Whether every flow ends with exactly its bytes delivered once."""
    runs = data.runs(experiment, at)
    wrong = 0
    for run in runs:
        flows = run.result.flows
        wrong += flows.filter(
            (pl.col("state") != "completed") | (pl.col("delivered_bytes") != pl.col("size_bytes"))
        ).height
    flows_in_all = sum(run.result.summary.flows.started for run in runs)
    lost = sum(run.result.summary.packets.lost for run in runs)
    return MeasuredProperty(
        holds=wrong == 0,
        note=f"{flows_in_all} flows, {lost} packets lost on links, {wrong} flows wrong, {seeds_text(runs)}",
    )


def sends_within_pulls(data: Data, experiment: str, window: int, at: At | None = None) -> MeasuredProperty:
    """Whether hosts send no more than their windows, the pulls, and what timers and returned headers allow."""
    runs = data.runs(experiment, at)
    worst = -1e18
    for run in runs:
        summary = run.result.summary
        pulls = run.result.control.filter(pl.col("kind").str.to_lowercase().str.contains("pull")).height
        allowed = window * summary.flows.started + pulls + summary.timeouts + summary.packets.headers_returned
        worst = max(worst, summary.packets.data_sent - allowed)
    return MeasuredProperty(holds=worst <= 0, note=f"packets beyond what is allowed: {worst:.0f}")


def goes_on(data: Data, experiments: list[str]) -> MeasuredProperty:
    """Whether every flow completes or is still moving at the end of its run: none failed, none stuck."""
    runs = [run for experiment in experiments for run in data.runs(experiment)]
    summaries = [run.result.summary for run in runs]
    failed = sum(summary.flows.failed for summary in summaries)
    stuck = sum(len(summary.stuck) for summary in summaries)
    note = (
        f"{len(runs)} runs, {sum(s.flows.completed for s in summaries)} flows completed, {failed} failed, {stuck} stuck"
    )
    return MeasuredProperty(holds=failed == 0 and stuck == 0, note=note)


def unexplained_timeouts(data: Data, experiments: list[str]) -> MeasuredNumber:
    """Timeouts that no lost packet explains, over all runs."""
    runs = [run for experiment in experiments for run in data.runs(experiment)]
    summaries = [run.result.summary for run in runs]
    excess = sum(s.unexplained_timeouts for s in summaries)
    total, lost = sum(s.timeouts for s in summaries), sum(s.packets.lost for s in summaries)
    return MeasuredNumber(float(excess), note=f"{total} timeouts, {lost} packets lost on links, {len(runs)} runs")


def small_packets(data: Data, experiment: str, below: int) -> MeasuredNumber:
    """Data packets shorter than `below` on the wire over all of them."""
    tables = [
        run.result.packets.filter(pl.col("direction") == "sent", pl.col("kind") == "data")
        for run in data.runs(experiment)
    ]
    packets = sum(table.height for table in tables)
    small = sum(table.filter(pl.col("wire_bytes") < below).height for table in tables)
    return MeasuredNumber(small / packets, note=f"{packets} packets")


def queue_bytes(_data: Data, packets: int, bytes: int) -> MeasuredNumber:
    """Room of a queue. Unit: kB."""
    return MeasuredNumber(packets * bytes / 1000, note=f"{packets} packets of {bytes} B")


def queue_ratio(_data: Data, ours: int, theirs: int) -> MeasuredNumber:
    """Ratio of two buffers."""
    return MeasuredNumber(ours / theirs, note=f"{ours} packets against {theirs}")
