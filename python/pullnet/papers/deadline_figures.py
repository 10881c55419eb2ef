"""Pictures of deadlines met: D3 beside other transports."""

from collections.abc import Callable

import numpy as np

from pullnet.papers.measures import responses
from pullnet.papers.measures.data import Data
from pullnet.papers.model import Value
from pullnet.papers.picture import Picture, Points

At = dict[str, Value]


def _named(data: Data, experiment: str, key: str) -> list[str]:
    return sorted({str(run.at[key]) for run in data.runs(experiment)})


def _points(found: dict[float, float]) -> Points:
    return sorted(found.items())


def by_rate(data: Data) -> Picture:
    """Table 1 of D3, as curves."""
    ours = {
        name: _points(responses.met_by(data, "rack", "rate", {"protocol": name}))
        for name in _named(data, "rack", "protocol")
    }
    return Picture("table1-met", "Responses beside long flows", "responses per second", "share of deadlines met", ours)


def quenching(data: Data) -> Picture:
    """Fig. 15 of D3, with the bytes that were delivered for nothing."""
    ours: dict[str, Points] = {}
    for name in ("d3", "d3-no-quench"):
        found = responses.met_by(data, "rack", "rate", {"protocol": name})
        ours[f"{name}, deadlines met"] = _points(found)
        at = [(rate, {"protocol": name, "rate": int(rate)}) for rate in found]
        ours[f"{name}, bytes wasted"] = [
            (rate, responses.wasted_share(data, "rack", dict(where))) for rate, where in at
        ]
    return Picture("fig15-quenching", "Flow quenching", "responses per second", "share", ours)


def completion(data: Data) -> Picture:
    """Fig. 14a of D3: medians and 99th percentiles."""
    ours: dict[str, Points] = {}
    for name in ("d3", "rcp", "tcp-10", "tcp-300"):
        for percent in (50, 99):
            points = []
            for rate in sorted({int(run.at["rate"]) for run in data.runs("rack", {"protocol": name})}):
                times = responses.completion_times(data, "rack", {"protocol": name, "rate": rate})
                points.append((float(rate), float(np.percentile(times, percent))))
            ours[f"{name}, p{percent}"] = points
    return Picture("fig14-fct", "Completion of responses", "responses per second", "ms", ours, log_y=True)


def queues(data: Data) -> Picture:
    """Fig. 16b of D3."""
    ours = {}
    for name in _named(data, "long", "protocol"):
        found = responses.mean_queues(data, "long", {"protocol": name})
        ours[name] = [(float(flows), kb) for flows, kb in found.items()]
    return Picture("fig16-queue", "Long flows to one host", "flows", "mean queue (kB)", ours, log_y=True)


def flash_crowds(length: str) -> Callable[[Data], Picture]:
    """Deadlines met in flash crowds with deadlines of a mean length."""

    def picture(data: Data) -> Picture:
        ours = {
            name: _points(responses.met_by(data, "flash", "senders", {"protocol": name, "mean": length}))
            for name in sorted({str(run.at["protocol"]) for run in data.runs("flash", {"mean": length})})
        }
        title = f"Flash crowd, mean deadline {length}"
        return Picture(f"flash-{length.replace(' ', '-')}", title, "senders", "share of deadlines met", ours)

    return picture


def tree(data: Data) -> Picture:
    """Deadlines met between random hosts of four racks."""
    ours = {
        name: _points(responses.met_by(data, "tree", "each", {"protocol": name}))
        for name in _named(data, "tree", "protocol")
    }
    return Picture(
        "tree-met", "Four racks under a root", "responses per host and second", "share of deadlines met", ours
    )


def sensitivity(data: Data) -> Picture:
    """What each setting that no source states changes in the share of deadlines met."""
    ours: dict[str, Points] = {}
    rates = data.values("sensitivity", "each")
    for each in rates:
        base = responses.met(data, "sensitivity", {"case": "none x 1", "each": each})
        for name in [name for name in _named(data, "sensitivity", "parameter") if name != "none"]:
            runs = data.runs("sensitivity", {"parameter": name, "each": each})
            factors = {float(run.at["factor"]): str(run.at["case"]) for run in runs}
            points = [
                (factor, 100 * (responses.met(data, "sensitivity", {"case": case, "each": each}) - base))
                for factor, case in factors.items()
            ]
            ours[f"{name}, {2 * each}/s"] = sorted({1.0: 0.0, **dict(points)}.items())
    title = "Settings that the sources do not state"
    return Picture("sensitivity", title, "times its default", "change of deadlines met (points)", ours)


ALL: dict[str, Callable[[Data], Picture]] = {
    "table1": by_rate,
    "fig14": completion,
    "fig15": quenching,
    "fig16": queues,
    "flash tight": flash_crowds("20 ms"),
    "flash moderate": flash_crowds("30 ms"),
    "flash lax": flash_crowds("40 ms"),
    "tree": tree,
    "sensitivity": sensitivity,
}
