"""Measurements on this machine: NDP by the simulator's endpoints and by the host stack, beside the kernel's protocols.

Every function measures all that it compares in one go. Where the machine cannot, the result says why: `skipped`.
"""

import functools
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from pullnet import _core, scheduling
from pullnet.papers import machine
from pullnet.papers.machine import LINKS, Link, percentile, rounds
from pullnet.papers.model import folder
from pullnet.results.result import Result
from pullnet.runs.runner import run
from pullnet.testbed.incast import incast as kernel_incast
from pullnet.testbed.pair import pair

_DROP_TAIL = {"switch.kind": "drop-tail", "switch.queue": "8 packets"}
_CARRIERS = ("ndp", "tcp", "fast-open", "mptcp")
_SENDERS = 7
_LINKS_BEFORE = {"star": 1, "paper": 3}
"""Links that a first packet passes before the receiver's."""
_DELAY_US = 1.0
"""Delay of every link of the testbeds."""
_FULL = 0.97
"""Share of the best throughput that counts as full."""
_QUANTILES, _LARGEST = 100, 20


def _measured(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Measure alone, or say why not."""

    @functools.wraps(function)
    def once(*arguments: Any, **settings: Any) -> dict[str, Any]:
        if machine.missing():
            return {"skipped": machine.missing()}
        with machine.alone():
            return function(*arguments, **settings)

    return once


@_measured
def linux_calls(_seed: int, wait: str, batches: int, calls: int) -> dict[str, Any]:
    """Time calls of 1 kB, each on a new connection, between two hosts joined directly; carriers take turns."""
    spin = wait == "spin"
    times: dict[str, list[float]] = {carrier: [] for carrier in _CARRIERS}
    cpu: dict[str, list[float]] = {carrier: [] for carrier in _CARRIERS}
    with pair("measure-pair") as hosts, scheduling.for_a_while(scheduling.Schedule(None, "group")):
        one, other = ((host.namespace, host.ip, core) for core, host in enumerate(hosts))
        for _ in range(batches):
            for carrier in _CARRIERS:
                with scheduling.burst([0] if spin else []):
                    took, cost = _core.calls(carrier, (one, other), calls, 50, 1000, "cubic", spin)
                times[carrier] += took
                cpu[carrier].append(cost)
    found: dict[str, Any] = {}
    for carrier in _CARRIERS:
        name = carrier.replace("-", "_")
        found |= {f"{name}_p{percent}_us": percentile(times[carrier], percent) for percent in (50, 90, 99)}
        found[f"{name}_cpu_us"] = float(np.median(cpu[carrier]))
        found[f"ndp_over_{name}"] = found["ndp_p50_us"] / found[f"{name}_p50_us"]
        found[f"{name}_over_ndp"] = found[f"{name}_p50_us"] / found["ndp_p50_us"]
        found[f"{name}_quantiles_us"] = _quantiles(times[carrier])
    found["copies_us"] = found["fast_open_p50_us"] - found["ndp_p50_us"]
    found["ordered"] = found["ndp_p50_us"] < found["fast_open_p50_us"] < found["tcp_p50_us"]
    return found


@_measured
def linux_incast(seed: int, link: str, network: str, size: int, count: int, kernel_count: int) -> dict[str, Any]:
    """Let seven hosts answer one at the same time, by NDP, by TCP cubic and by MPTCP."""
    line = LINKS[link]
    settings = {**line.settings, "traffic.0.size": f"{size} B"}
    with machine.testbed(network, settings) as bed:
        played = rounds(bed, network, settings, seed, count)
    lasts = [float(result.summary.fct_us.max or 0) for result in played]
    optimum = _SENDERS * line.line_us(size) + _LINKS_BEFORE[network] * (line.packet_us + _DELAY_US)
    simulated = run(machine.scenario_file(network), set=settings, seed=seed).summary.fct_us.max
    found: dict[str, Any] = {
        "optimum_us": optimum,
        "ndp_p50_us": percentile(lasts, 50),
        "ndp_p90_us": percentile(lasts, 90),
        "ndp_over_optimum": percentile(lasts, 50) / optimum,
        "ndp_over_simulator": percentile(lasts, 50) / float(simulated or 1),
        "ndp_p90_over_median": percentile(lasts, 90) / percentile(lasts, 50),
        "ndp_trimmed": float(np.median([result.summary.packets.trimmed for result in played])),
        "ndp_dropped": sum(result.summary.packets.dropped for result in played),
    }
    return found | _kernel_incasts(line, network, size, kernel_count, found["ndp_p50_us"])


def _kernel_incasts(line: Link, network: str, size: int, count: int, ndp_us: float) -> dict[str, Any]:
    settings = {**line.settings, **_DROP_TAIL}
    found: dict[str, Any] = {}
    with (
        machine.testbed(network, settings) as bed,
        scheduling.for_a_while(scheduling.Schedule(0, "group")),
    ):
        for name, protocol in (("tcp", 0), ("mptcp", socket.IPPROTO_MPTCP)):
            times = kernel_incast(bed, size=size, rounds=count, congestion_control="cubic", protocol=protocol)
            lasts = [time * 1e3 for time in times.lasts_ms]
            found[f"{name}_p50_us"] = percentile(lasts, 50)
            found[f"{name}_p90_us"] = percentile(lasts, 90)
            found[f"{name}_over_ndp"] = percentile(lasts, 50) / ndp_us
            found[f"{name}_late_rounds"] = times.rounds_over_190_ms / len(lasts)
            found[f"{name}_dropped"] = times.dropped
    return found


@_measured
def linux_priority(seed: int, link: str, size: int, count: int) -> dict[str, Any]:
    """Let a short flow come to a host that six long ones come to, with and without priority, and alone."""
    line = LINKS[link]
    alone = {**line.settings, "traffic.0.degree": 1, "traffic.0.from": "7", "traffic.0.size": f"{size} B"}
    beside = {**line.settings, "traffic.1.size": f"{size} B"}
    first = {**beside, "traffic.1.priority": 1}
    with machine.testbed("paper", line.settings) as bed:
        times = {
            name: _short_us(rounds(bed, scenario, settings, seed, count))
            for name, scenario, settings in (
                ("idle", "paper", alone),
                ("priority", "priority", first),
                ("none", "priority", beside),
            )
        }
    return {
        **{f"{name}_us": value for name, value in times.items()},
        "priority_packets": (times["priority"] - times["idle"]) / line.packet_us,
        "none_packets": (times["none"] - times["idle"]) / line.packet_us,
        "ordered": times["idle"] < times["priority"] < times["none"],
    }


def _short_us(played: list[Result]) -> float:
    flows = [result.flows.filter(pl.col("tag") != "long")["fct_us"].item() for result in played]
    return percentile([float(time) for time in flows], 50)


@_measured
def linux_window(seed: int, link: str, windows: list[int], count: int) -> dict[str, Any]:
    """Send one long flow between two hosts with every initial window, here and in the simulator."""
    line, size = LINKS[link], 2_000_000
    shares: dict[str, list[tuple[int, float]]] = {"linux": [], "simulator": []}
    with machine.testbed("pair", line.settings) as bed:
        for window in windows:
            settings = {**line.settings, "transport.initial_window": f"{window} packets"}
            here = [float(result.summary.fct_us.max or 0) for result in rounds(bed, "pair", settings, seed, count)]
            there = run(machine.scenario_file("pair"), set=settings, seed=seed).summary.fct_us.max
            shares["linux"].append((window, line.line_us(size) / percentile(here, 50)))
            shares["simulator"].append((window, line.line_us(size) / float(there or 0)))
    needed = {world: _needed(points) for world, points in shares.items()}
    return {
        **{f"{world}_needed": window for world, window in needed.items()},
        **{f"{world}_shares": points for world, points in shares.items()},
        "linux_best": max(share for _, share in shares["linux"]),
        "more_than_simulated": needed["linux"] - needed["simulator"],
    }


def _needed(points: list[tuple[int, float]]) -> int:
    """Return the least window with full throughput."""
    best = max(share for _, share in points)
    return next(window for window, share in points if share >= _FULL * best)


@_measured
def linux_spacing(seed: int, link: str, count: int) -> dict[str, Any]:
    """Measure how far apart pulls leave a host to which seven send."""
    gaps, line = _pull_gaps(seed, link, count), LINKS[link]
    error = np.abs(gaps - line.packet_us)
    return {
        "nominal_us": line.packet_us,
        "median_us": float(np.median(gaps)),
        "median_over_nominal": float(np.median(gaps)) / line.packet_us,
        "mean_over_nominal": float(np.mean(gaps)) / line.packet_us,
        "median_error_us": float(np.median(error)),
        "p90_error_us": float(np.percentile(error, 90)),
        "quantiles_us": _quantiles(list(gaps)),
    }


def _pull_gaps(seed: int, link: str, count: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return times between two pulls. Unit: microseconds."""
    settings = {**LINKS[link].settings, "probes.control": "true"}
    with machine.testbed("star", LINKS[link].settings) as bed:
        played = rounds(bed, "star", settings, seed, count)
    return np.concatenate([np.diff(_pulls_us(result)) for result in played])


def _pulls_us(result: Result) -> "np.ndarray[Any, np.dtype[np.float64]]":
    pulls = result.control.filter((pl.col("host") == 0) & (pl.col("kind") == "pull"))
    return pulls["at_ps"].to_numpy().astype(float) / 1e6


def _quantiles(values: list[float]) -> list[tuple[float, float]]:
    """Return points of the distribution, the largest values one by one: between two points it is taken as even."""
    ordered = np.sort(np.asarray(values))
    last = len(ordered) - 1
    even = np.linspace(0, max(0, last - _LARGEST), _QUANTILES).astype(int)
    ranks = sorted({*(int(rank) for rank in even), *range(max(0, last - _LARGEST), last + 1)})
    return [((rank + 1) / len(ordered), float(ordered[rank])) for rank in ranks]


@_measured
def linux_spaced(seed: int, link: str, count: int, senders: int, sizes: list[str]) -> dict[str, Any]:
    """Feed the measured spacing of pulls into the simulator: a large incast with it, and with perfect spacing."""
    line = LINKS[link]
    quantiles = _quantiles(list(_pull_gaps(seed, link, count)))
    # The simulator's header has 64 B, the wire's 68 B: what is measured is a share of the time of a packet.
    scale = (line.payload + 64) / (line.payload + machine.HEADERS)
    spacing = ", ".join(f"{value * scale * 1e3:.0f} ns:{share:.6f}" for share, value in quantiles)
    settings = {
        "topology.link.rate": f"{line.rate_bps / 1e9:g} Gbps",
        "transport.mtu": f"{line.payload} B",
        "traffic.0.degree": senders,
        "limit": "60 s",
    }
    ratios = {}
    for size in sizes:
        perfect, imperfect = (
            run(
                folder() / "ndp" / "scenarios" / "incast.toml",
                set={**settings, **more, "traffic.0.size": size},
                seed=seed,
            )
            for more in ({}, {"transport.pull_spacing": spacing})
        )
        ratios[size] = float(imperfect.summary.fct_us.max or 0) / float(perfect.summary.fct_us.max or 1)
    return {"spacing": spacing, "ratios": ratios, "worst": max(abs(ratio - 1) for ratio in ratios.values())}
