"""Sessions of one sender and several receivers, or the other way round: goodput until the last host has everything."""

import itertools

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean, number_of, seeds_text, span
from pullnet.papers.measures.rates import PAYLOAD, SYMBOL, Array, At, goodputs, session_table
from pullnet.papers.runs import Run

ALIKE = 0.02
"""Medians that differ by less count as equal where an order allows that."""


def _points(data: Data, experiment: str) -> list[At]:
    """Settings of an experiment beside its protocols, lightest load first."""
    found: list[At] = []
    for run in data.runs(experiment):
        at = {key: value for key, value in run.at.items() if key != "protocol"}
        if at not in found:
            found.append(at)
    return sorted(found, key=lambda at: [number_of(value) for value in at.values()])


def _text(at: At) -> str:
    return " ".join(str(value) for value in at.values())


def _medians(data: Data, experiment: str, tag: str, at: At, protocols: list[str]) -> list[float]:
    return [float(np.median(goodputs(data, experiment, tag, at | {"protocol": name}))) for name in protocols]


def sessions_above(data: Data, experiment: str, tag: str, at: At, above: float) -> MeasuredNumber:
    """Share of the sessions with a goodput above `above` Gb/s, as the thesis counts it; unended sessions have none."""
    rates = goodputs(data, experiment, tag, at) / PAYLOAD
    quartiles = ", ".join(f"{rate:.3f}" for rate in np.quantile(rates, [0.05, 0.25, 0.5, 0.75, 0.95]))
    note = f"{len(rates)} sessions; quantiles 5, 25, 50, 75, 95%: {quartiles} Gb/s"
    return MeasuredNumber(float((rates > above).mean()), note=note)


def goodput_order(
    data: Data, experiment: str, tag: str, order: list[str], alike: list[str] | None = None, grows: bool = False
) -> MeasuredProperty:
    """Whether medians fall in this order at every load; a protocol of `alike` may also equal the next one.

    With `grows`, the first one's lead over the second also has to be larger at the heaviest load than at the lightest.
    """
    details: dict[str, float] = {}
    holds, leads = True, []
    for at in _points(data, experiment):
        medians = _medians(data, experiment, tag, at, order)
        details |= {f"{_text(at)} {name}": value for name, value in zip(order, medians, strict=True)}
        for name, (higher, lower) in zip(order, itertools.pairwise(medians), strict=False):
            holds &= higher > lower * (1 - ALIKE if name in (alike or []) else 1)
        leads.append(medians[0] - medians[1])
    return MeasuredProperty(holds=holds and (not grows or leads[-1] > leads[0]), details=details)


def goodput_over(data: Data, experiment: str, tag: str, at: At, over: str, under: str) -> MeasuredNumber:
    """Median goodput with one protocol over that with another, less one."""
    medians = _medians(data, experiment, tag, at, [over, under])
    return MeasuredNumber(medians[0] / medians[1] - 1, note=f"{over} {medians[0]:.4f}, {under} {medians[1]:.4f} Gb/s")


def largest_goodput_gain(data: Data, experiments: list[str], at: At, gains: list[list[str]]) -> MeasuredNumber:
    """Largest gain in median goodput over the best of the others, each experiment's protocols with the first ahead."""
    found, notes = [], []
    for experiment, names in zip(experiments, gains, strict=True):
        tag = "replicate" if "write" in experiment else "fetch"
        medians = _medians(data, experiment, tag, at, names)
        found.append(medians[0] / max(medians[1:]) - 1)
        texts = [f"{name} {value:.3f}" for name, value in zip(names, medians, strict=True)]
        notes.append(f"{experiment}: {', '.join(texts)}")
    return MeasuredNumber(max(found), note="; ".join(notes))


def long_flow_goodput(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Mean goodput of the long flows in the measurement window, as the thesis counts it. Unit: Gb/s."""
    runs = data.runs(experiment, at)
    found = [mean(run.result.flows.filter(pl.col("tag") == "long")["window_gbps"]) / PAYLOAD for run in runs]
    return MeasuredNumber(mean(found), note=f"{span(found)} over {seeds_text(runs)}")


def _unneeded(run: Run) -> tuple[Array, float]:
    """Symbols that reached receivers without need, by write that ended, and the source symbols that all got."""
    table = session_table(run, "replicate").filter(pl.col("whole"))
    source_symbols = -(-table["payload"].to_numpy() // SYMBOL) * table["rows"].to_numpy()
    return np.asarray(table["surplus"].to_numpy(), dtype=float), float(source_symbols.sum())


def unneeded_symbols(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Symbols that reached receivers that could decode their block without them, as a share of the source symbols."""
    runs = data.runs(experiment, at)
    found = [(unneeded.sum() / needed, float(np.median(unneeded))) for unneeded, needed in map(_unneeded, runs)]
    shares = [share for share, _ in found]
    return MeasuredNumber(
        mean(shares), note=f"{span(shares)}; median {mean([m for _, m in found]):.1f} symbols a session"
    )


def waste_grows(data: Data, experiment: str, protocol: str) -> MeasuredProperty:
    """Whether the receivers of a session get more symbols without need the heavier the load, as the mean of all."""
    details: dict[str, float] = {}
    for at in _points(data, experiment):
        runs = data.runs(experiment, at | {"protocol": protocol})
        details[_text(at)] = mean([float(_unneeded(run)[0].mean()) for run in runs])
    values = list(details.values())
    return MeasuredProperty(holds=all(a <= b for a, b in itertools.pairwise(values)), details=details)


def _by_window(data: Data, experiment: str, at: At) -> dict[float, float]:
    """Median goodput against the initial window."""
    windows = data.values(experiment, "window")
    return {
        number_of(window): float(np.median(goodputs(data, experiment, "session", at | {"window": window})))
        for window in windows
    }


def session_window_needed(data: Data, experiment: str, share: float, at: At | None = None) -> MeasuredNumber:
    """Smallest window whose median goodput reaches a share of the best; between two points by a straight line."""
    points = _by_window(data, experiment, at or {})
    wanted = share * max(points.values())
    note = ", ".join(f"{window:.0f}: {value:.3f}" for window, value in points.items())
    for (left, low), (right, high) in zip([(0.0, 0.0), *points.items()], points.items(), strict=False):
        if high >= wanted:
            return MeasuredNumber(left + (right - left) * (wanted - low) / (high - low), note=f"Gb/s at {note}")
    raise MissingRunsError("no window reaches it")


def flat_beyond(data: Data, experiment: str, since: float, within: float, at: At | None = None) -> MeasuredProperty:
    """Whether median goodput changes little from window `since` on."""
    points = {window: value for window, value in _by_window(data, experiment, at or {}).items() if window >= since}
    details = {f"IW {window:.0f}": value for window, value in points.items()}
    return MeasuredProperty(holds=min(points.values()) >= (1 - within) * max(points.values()), details=details)


def _repairs(data: Data, experiment: str, at: At) -> list[float]:
    """Mean number of repair symbols of a session, by seed."""
    return [float(np.mean(session_table(run, "session")["repairs"].to_numpy())) for run in data.runs(experiment, at)]


def repairs_per_session(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Repair symbols sent in a session: one for each trimmed symbol, and two for each block that lost any."""
    found = _repairs(data, experiment, at)
    return MeasuredNumber(mean(found), note=span(found))


def repairs_grow(data: Data, experiment: str, at: At | None = None) -> MeasuredProperty:
    """Whether sessions with larger initial windows send more repair symbols."""
    details = {
        str(window): mean(_repairs(data, experiment, (at or {}) | {"window": window}))
        for window in data.values(experiment, "window")
    }
    return MeasuredProperty(holds=all(a <= b for a, b in itertools.pairwise(details.values())), details=details)


def _decoded(data: Data, experiment: str, at: At) -> list[float]:
    """Share of the sessions that lost a symbol, by seed."""
    tables = [session_table(run, "session").filter(pl.col("whole")) for run in data.runs(experiment, at)]
    return [float((table["repairs"].to_numpy() > 0).mean()) for table in tables]


def decoded_share(data: Data, experiment: str, at: At) -> MeasuredNumber:
    """Share of the sessions that had to be decoded, since a symbol was lost."""
    found = _decoded(data, experiment, at)
    return MeasuredNumber(mean(found), note=span(found))


def decoding_grows(data: Data, experiment: str, keys: list[str]) -> MeasuredProperty:
    """Whether more sessions have to be decoded the higher each setting is, the others being equal."""
    points: list[At] = []
    for point in _points(data, experiment):
        # Settings that follow from these are left out.
        at = {key: point[key] for key in keys}
        points += [at] if at not in points else []
    details = {_text(at): mean(_decoded(data, experiment, at)) for at in points}
    holds = True
    for key in keys:
        for at in points:
            higher = [value for value in data.values(experiment, key) if number_of(value) > number_of(at[key])]
            after = [details.get(_text(at | {key: value})) for value in higher[:1]]
            holds &= all(value is None or value >= details[_text(at)] for value in after)
    return MeasuredProperty(holds=holds, details=details)


def sessions_all_end(data: Data, experiment: str, dead: int, trouble: str) -> MeasuredProperty:
    """Whether every session ends, and only those with host `dead` fail, and only where it dies."""
    open_sessions = failed = wrong = runs = 0
    for run in data.runs(experiment):
        flows = run.result.flows
        lost = flows.filter(pl.col("state") == "failed")
        touched = lost.filter((pl.col("dst") == dead) | ((pl.col("senders") == 1) & (pl.col("src") == dead)))
        runs, failed = runs + 1, failed + lost.height
        open_sessions += flows.filter(pl.col("state") == "unfinished").height
        wrong += lost.height - (touched.height if run.at["trouble"] == trouble else 0)
    details = {"runs": float(runs), "unfinished": float(open_sessions)}
    details |= {"failed with the dead host": float(failed - wrong), "failed without": float(wrong)}
    return MeasuredProperty(holds=open_sessions == 0 and wrong == 0, details=details)


def goodput_by_number(data: Data, experiment: str, tag: str, least: float, pull: float = 0.0) -> MeasuredProperty:
    """Whether a session has `least` of the payload rate of a link however many hosts it has.

    With `pull`, the bytes of a pull, receivers may have less where their pulls alone fill the link to the one sender.
    """
    details: dict[str, float] = {}
    holds = True
    for many in data.values(experiment, "hosts"):
        rate = float(np.median(goodputs(data, experiment, tag, {"hosts": many})))
        most = min(PAYLOAD, SYMBOL / (pull * many)) if pull else PAYLOAD
        details[str(many)] = rate
        holds &= rate >= least * most
    return MeasuredProperty(holds=holds, details=details)


def skewed_goodput(data: Data, experiment: str, least: float) -> MeasuredProperty:
    """Goodput of a read from three hosts where some are slow, over what their links and the reader's allow."""
    details = {}
    for slow in data.values(experiment, "slow"):
        rate = float(np.median(goodputs(data, experiment, "fetch", {"slow": slow})))
        details[f"{slow} slow, Gb/s"] = rate
    return MeasuredProperty(holds=min(details.values()) >= least * PAYLOAD, details=details)


def goodput_below(data: Data, experiment: str, tag: str, protocol: str, below: float) -> MeasuredProperty:
    """Whether the median goodput is less than a share of the payload rate of one link."""
    rates = goodputs(data, experiment, tag, {"protocol": protocol})
    share = float(np.median(rates)) / PAYLOAD
    return MeasuredProperty(holds=share < below, details={"median share of the link": share})


def both_orders(data: Data, experiment: str, tag: str, orders: list[list[str]]) -> MeasuredProperty:
    """Whether medians fall in each order at every load, and the first one's lead grows with the load in each."""
    found = [goodput_order(data, experiment, tag, order, grows=True) for order in orders]
    details = {name: value for one in found for name, value in one.details.items()}
    return MeasuredProperty(holds=all(one.holds for one in found), details=details)
