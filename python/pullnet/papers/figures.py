"""Pictures of claims: the paper's points beside ours, with a CSV file next to each."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from pullnet.papers import deadline_figures, linux_figures, thesis_figures
from pullnet.papers.judge import Outcome
from pullnet.papers.measures.cells import IDEAL, cells
from pullnet.papers.measures.completions import last_us
from pullnet.papers.measures.data import Data, MissingRunsError, mean, number_of
from pullnet.papers.measures.packets import with_headers
from pullnet.papers.measures.rates import window_rates
from pullnet.papers.measures.slowdowns import slowdown_by_load
from pullnet.papers.picture import Picture, Points, draw
from pullnet.papers.runs import Run


def of_claim(outcome: Outcome) -> Picture | None:
    """Return a picture of a claim that has a curve."""
    claim, measured = outcome.claim, outcome.measured
    if not claim.curve or measured is None or not measured.curve:
        return None
    columns = range(1, len(claim.curve[0]))
    names = ["returned", "NACKed"] if len(columns) > 1 else [""]
    ours, paper = (
        {names[column - 1]: [(row[0], row[column]) for row in rows] for column in columns}
        for rows in (measured.curve, claim.curve)
    )
    xs = [row[0] for row in claim.curve]
    log = min(xs) >= 1 and max(xs) > 1000
    return Picture(claim.id, claim.metric, _x_name(claim.metric), claim.unit, ours, paper, log=log)


def _x_name(metric: str) -> str:
    for word, name in (("rank", "flow, slowest first"), ("time", "time (s)"), ("senders", "senders")):
        if word in metric:
            return name
    return ""


def _cdf(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Points:
    """Quantiles, at most 400 of them."""
    shares = np.linspace(0, 1, min(400, len(values)))
    return [(float(x), float(share)) for x, share in zip(np.quantile(values, shares), shares, strict=True)]


def latencies(data: Data) -> Picture:
    """Fig. 4 of NDP."""
    ours = {}
    for name in ("latency-permutation", "latency-random", "incast-135", "incast-1350"):
        runs = [run for run in data.runs(name) if run.at.get("window", "15 packets") == "15 packets"]
        tables = [run.result.latency["latency_ps"].to_numpy() / 1e6 for run in runs]
        ours[name] = _cdf(np.concatenate(tables))
    return Picture("fig4-latency", "Packet delivery latency", "us", "share of packets", ours, log=True)


def windows(data: Data) -> Picture:
    """Fig. 17 of NDP."""
    ours = {}
    for queue in data.values("window", "queue"):
        ours[f"{queue}, 9000 B"] = _utilisations(data, "window", "window", {"queue": queue})
    ours["8 packets, 1500 B"] = _utilisations(data, "window-1500", "window", {})
    return Picture("fig17-window", "Permutation, 432 hosts", "initial window (packets)", "utilisation", ours)


def _utilisations(data: Data, experiment: str, key: str, at: dict[str, str | int | float]) -> Points:
    found: dict[float, list[float]] = {}
    for run in data.runs(experiment, at):
        found.setdefault(number_of(run.at[key]), []).append(float(run.result.summary.utilisation.mean or 0))
    return [(x, mean(values)) for x, values in sorted(found.items())]


def sizes(data: Data) -> Picture:
    """Utilisation against the size of the network."""
    points = [(k**3 / 4, value) for k, value in _utilisations(data, "scale", "k", {})]
    paper = {"(128 hosts)": [(128.0, 0.98)]}
    return Picture("scaling", "Permutation", "hosts", "utilisation", {"": points}, paper, log=True)


def transfers(data: Data) -> Picture:
    """Fig. 15 of NDP."""
    tables = [
        run.result.flows.filter(pl.col("tag") == "probe")["fct_us"].drop_nulls() for run in data.runs("probe-90k")
    ]
    ours = {"90 kB": _cdf(pl.concat(tables).to_numpy())}
    return Picture("fig15-fct", "90 kB transfers beside four flows per host", "us", "share of transfers", ours)


def _by_transport(data: Data, experiment: str) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in data.runs(experiment):
        found.setdefault(str(run.at["transport"]), []).append(run)
    return found


def rates_side_by_side(data: Data) -> Picture:
    """Fig. 14 of NDP, all transports."""
    ours = {
        name: [(float(i), float(rate)) for i, rate in enumerate(np.mean([window_rates(run) for run in runs], axis=0))]
        for name, runs in _by_transport(data, "permutation").items()
    }
    return Picture("fig14-rates", "Permutation, 432 hosts", "flow, slowest first", "Gb/s", ours)


def transfers_side_by_side(data: Data) -> Picture:
    """Fig. 15 of NDP, all transports."""
    ours = {}
    for name, runs in _by_transport(data, "transfers").items():
        tables = [run.result.flows.filter(pl.col("tag") == "probe")["fct_us"].drop_nulls() for run in runs]
        ours[name] = _cdf(pl.concat(tables).to_numpy())
    title = "90 kB transfers beside four flows per host"
    return Picture("fig15-fct", title, "us", "share of transfers", ours, log=True)


def incasts_side_by_side(data: Data) -> Picture:
    """Fig. 16 of NDP, all transports."""
    ours = {}
    for name, runs in _by_transport(data, "incast").items():
        found: dict[float, list[float]] = {}
        for run in runs:
            found.setdefault(number_of(run.at["senders"]), []).append(last_us(run) / 1e3)
        ours[name] = [(senders, mean(values)) for senders, values in sorted(found.items())]
    return Picture("fig16-incast", "N hosts send 450 kB to one", "senders", "last flow (ms)", ours)


def packet_sizes(data: Data) -> Picture:
    """Fig. 1 of the artifact evaluation."""
    ours: dict[str, Points] = {"mean": [], "slowest": []}
    for packet in data.values("packet-size", "packet"):
        spreads = [run.result.summary.goodput_gbps for run in data.runs("packet-size", {"packet": packet})]
        ours["mean"].append((number_of(packet), mean([float(spread.mean or 0) for spread in spreads])))
        ours["slowest"].append((number_of(packet), mean([float(spread.min or 0) for spread in spreads])))
    return Picture("fig1-packet-size", "Permutation, 432 hosts", "payload (B)", "Gb/s per flow", ours, log=True)


def sweep_transfers(data: Data) -> Picture:
    """Figs. 3 to 5 of the artifact evaluation."""
    ours: dict[str, list[pl.Series]] = {}
    for run, flows_per_host in [(run, number) for number in (1, 4) for run in data.runs(f"sweep-{number}")]:
        name = f"{run.at['sizes']} {flows_per_host}:1"
        flows = run.result.flows.filter(pl.col("tag") == "probe")
        ours.setdefault(name, []).append(flows["fct_us"].drop_nulls())
    cdfs = {name: _cdf(pl.concat(tables).to_numpy()) for name, tables in ours.items()}
    return Picture("fig3-5-fct", "Completion of the probe's transfers", "us", "share of transfers", cdfs, log=True)


def slowdowns_by_load(workload: str) -> Callable[[Data], Picture]:
    """Mean slowdown of each transport of pHost's paper, and of the ideal schedule, against the load."""

    def picture(data: Data) -> Picture:
        name = f"load-{workload}"
        protocols = sorted({str(run.at["protocol"]) for run in data.runs(name)})
        ours: dict[str, Points] = {}
        for protocol in protocols:
            curve = slowdown_by_load(data, name, protocol).curve or []
            ours[protocol] = [(load, value) for load, value in curve]
        for cell in cells(data, name):
            if cell.transport == IDEAL and cell.size_class == "all" and cell.load is not None:
                ours.setdefault(IDEAL, []).append((with_headers(cell.load), cell.mean))
        return Picture(f"slowdown-{name}", f"Mean slowdown, {workload}", "load", "slowdown", ours)

    return picture


def side_by_side(workload: str, size_class: str, value: str) -> Callable[[Data], Picture]:
    """A value of each transport's flows of one size class, and of the ideal schedule, against the load."""

    def picture(data: Data) -> Picture:
        ours: dict[str, Points] = {}
        for cell in cells(data, workload):
            if cell.size_class == size_class and cell.load is not None:
                ours.setdefault(cell.transport, []).append((cell.load, float(getattr(cell, value))))
        name = f"{workload}-{value}-{'short' if '<' in size_class else 'all'}"
        title = f"{workload}: {value} slowdown, {size_class}"
        return Picture(name, title, "load", "slowdown", ours, log_y=True)

    return picture


COMPARED = (("all", "mean"), ("<100 KiB", "p99"))

OTHERS: dict[str, dict[str, Callable[[Data], Picture]]] = {
    "d3": deadline_figures.ALL,
    "ndp": {"4": latencies, "17": windows, "scaling": sizes, "15": transfers},
    "ndp-baselines": {"14": rates_side_by_side, "15": transfers_side_by_side, "16": incasts_side_by_side},
    "ndp-linux": linux_figures.ALL,
    "phost": {f"load {workload}": slowdowns_by_load(workload) for workload in ("imc10", "web-search", "data-mining")},
    "thesis": thesis_figures.ALL,
    "comparison": {
        f"load {workload} {value}": side_by_side(workload, size_class, value)
        for workload in ("imc10", "web-search", "data-mining")
        for size_class, value in COMPARED
    },
    "ndp-artifact-evaluation": {"1": packet_sizes, "3-5": sweep_transfers},
}
"""Pictures that belong to no single claim, by paper and figure; another word tells two of one figure apart."""


def all_of(
    paper: str, figure: str | None, data: Data, outcomes: list[Outcome], folder: Path
) -> dict[str, list[Picture]]:
    """Draw everything that the runs allow; return the pictures by figure."""
    found: dict[str, list[Picture]] = {}
    for outcome in outcomes:
        if picture := of_claim(outcome):
            found.setdefault(outcome.claim.figure, []).append(picture)
    for name, function in OTHERS.get(paper, {}).items():
        of = name.split()[0]
        if figure in (None, of):
            try:
                found.setdefault(of, []).append(function(data))
            except MissingRunsError:
                continue
    for pictures in found.values():
        for picture in pictures:
            draw(picture, folder)
    return found
