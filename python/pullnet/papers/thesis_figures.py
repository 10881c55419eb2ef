"""Pictures of the thesis: ranked goodput of sessions, incast, and the initial window."""

from collections.abc import Callable

import numpy as np

from pullnet.papers.measures.data import Data, mean, number_of
from pullnet.papers.measures.rates import goodputs, incast_rate
from pullnet.papers.picture import Picture, Points


def _ranked(data: Data, experiment: str, tag: str, at: dict[str, str | int | float]) -> Points:
    """Goodput by rank, slowest first, as a share of the sessions; at most 400 points."""
    rates = goodputs(data, experiment, tag, at)
    shares = np.linspace(0, 1, min(400, len(rates)))
    return [(float(share), float(rate)) for share, rate in zip(shares, np.quantile(rates, shares), strict=True)]


def ranked(experiment: str, tag: str, figure: str, title: str) -> Callable[[Data], Picture]:
    """Ranked goodput with every protocol, at every load there is."""

    def picture(data: Data) -> Picture:
        ours: dict[str, Points] = {}
        for run in data.runs(experiment):
            name = " ".join(str(value) for value in run.at.values())
            if name not in ours:
                ours[name] = _ranked(data, experiment, tag, run.at)
        return Picture(f"fig{figure}-{experiment}", title, "share of sessions", "Gb/s", ours)

    return picture


def incasts(experiment: str, figure: str) -> Callable[[Data], Picture]:
    """Goodput against the number of senders."""

    def picture(data: Data) -> Picture:
        found: dict[str, dict[float, list[float]]] = {}
        for run in data.runs(experiment):
            name = " ".join(str(run.at[key]) for key in ("protocol", "size") if key in run.at)
            found.setdefault(name, {}).setdefault(number_of(run.at["senders"]), []).append(incast_rate(run))
        ours = {
            name: [(senders, mean(rates)) for senders, rates in sorted(points.items())]
            for name, points in found.items()
        }
        return Picture(f"fig{figure}-{experiment}", "Incast", "senders", "Gb/s", ours)

    return picture


def windows(data: Data) -> Picture:
    """Fig. 12a of SCDP."""
    found = data.values("window", "window")
    points = [(number_of(at), float(np.median(goodputs(data, "window", "session", {"window": at})))) for at in found]
    return Picture("fig12a-window", "Unicast sessions of 1.5 MB", "initial window (symbols)", "Gb/s", {"scdp": points})


ALL: dict[str, Callable[[Data], Picture]] = {
    "scdp-5": ranked("write", "replicate", "5", "Writes to three replicas"),
    "scdp-6": ranked("read", "fetch", "6", "Reads of data with three replicas"),
    "scdp-11a": incasts("incast", "11a"),
    "scdp-12": windows,
    "poly-1a": ranked("poly-write", "replicate", "1a", "Polyraptor and TCP: writes"),
    "poly-1b": ranked("poly-read", "fetch", "1b", "Polyraptor and TCP: reads"),
    "poly-1c": incasts("poly-incast", "1c"),
}
"""Pictures by figure."""
