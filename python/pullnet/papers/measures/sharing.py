"""How flows share one link: incast, outcast, convergence, and the load of core switches."""

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, mean, number_of, span
from pullnet.papers.measures.rates import PAYLOAD, At, incast_rate
from pullnet.papers.runs import Run


def incast_goodput(
    data: Data, experiment: str, least: dict[str, float], most: dict[str, float], payload: float = 1.0
) -> MeasuredProperty:
    """Goodput by protocol and number of senders: at least so much at every number, at most so much at the largest.

    `payload` is the share of a link that counts as all of it.
    """
    details: dict[str, float] = {}
    holds = True
    for protocol in [*least, *most]:
        rates: dict[str, list[float]] = {}
        for run in data.runs(experiment, {"protocol": protocol}):
            name = " ".join(str(run.at[key]) for key in ("size", "senders") if key in run.at)
            rates.setdefault(name, []).append(incast_rate(run) / payload)
        found = {name: mean(values) for name, values in rates.items()}
        details |= {f"{protocol} {name}": value for name, value in found.items()}
        largest = max(number_of(name.split()[-1]) for name in found)
        if protocol in least:
            holds &= min(found.values()) >= least[protocol]
        else:
            last = [value for name, value in found.items() if number_of(name.split()[-1]) == largest]
            holds &= max(last) <= most[protocol]
    return MeasuredProperty(holds=holds, details=details)


def incast_times_lower(
    data: Data, experiment: str, at: At, protocols: list[str], quantiles: list[float]
) -> MeasuredProperty:
    """Whether flows of an incast take less time with the first protocol, at each quantile."""
    found = []
    for protocol in protocols:
        tables = [
            run.result.flows.filter(pl.col("tag") == "incast")
            for run in data.runs(experiment, at | {"protocol": protocol})
        ]
        found.append(np.quantile(pl.concat(tables)["fct_us"].drop_nulls().to_numpy() / 1e3, quantiles))
    details = {
        f"{protocol} {quantile}": float(value)
        for protocol, values in zip(protocols, found, strict=True)
        for quantile, value in zip(quantiles, values, strict=True)
    }
    return MeasuredProperty(holds=bool((found[0] < found[1]).all()), details=details)


def _groups(run: Run) -> dict[str, float]:
    """Goodput of each group of flows while all groups have some, as the thesis counts it. Unit: Mb/s."""
    flows, series = run.result.flows, run.result.series
    tags = flows["tag"].unique(maintain_order=True).to_list()
    ends = flows.group_by("tag").agg(pl.col("received_ps").max())["received_ps"].to_numpy()
    until = int(np.min(ends))
    names = dict(enumerate(tags))
    found: dict[str, float] = {}
    for index, name in names.items():
        own = series.filter((pl.col("of") == "tag") & (pl.col("number") == index) & (pl.col("at_ps") < until))
        found[name] = float(own["delivered_bytes"].sum()) * 8e6 / until / PAYLOAD
    return found


def group_goodput(data: Data, experiment: str, at: At, group: str) -> MeasuredNumber:
    """Goodput of one group of flows, or of all (`total`), while both groups have some. Unit: Mb/s."""
    runs = data.runs(experiment, at)
    groups = [_groups(run) for run in runs]
    rates = [sum(found.values()) if group == "total" else found[group] for found in groups]
    return MeasuredNumber(mean(rates), note=span(rates))


def group_goodput_gbps(data: Data, experiment: str, at: At, group: str) -> MeasuredNumber:
    """The same in Gb/s."""
    found = group_goodput(data, experiment, at, group)
    return MeasuredNumber((found.value or 0) / 1e3, note=f"{found.note} Mb/s")


def groups_share(data: Data, experiment: str, unfair: str, fair: str, ratio: float, within: float) -> MeasuredProperty:
    """Whether far flows get `ratio` times as much as near ones with one protocol, and as much with another."""
    details = {}
    for protocol in (unfair, fair):
        groups = [_groups(run) for run in data.runs(experiment, {"protocol": protocol})]
        details[f"{protocol} far/near"] = mean([found["far"] / found["near"] for found in groups])
    starved, even = details.values()
    return MeasuredProperty(holds=starved >= ratio and abs(even - 1) <= within, details=details)


def groups_alike(data: Data, experiment: str, low: float, high: float) -> MeasuredProperty:
    """Whether far flows together get about as much as near ones with every protocol."""
    details: dict[str, float] = {}
    for protocol in sorted({str(run.at["protocol"]) for run in data.runs(experiment)}):
        groups = [_groups(run) for run in data.runs(experiment, {"protocol": protocol})]
        details[protocol] = mean([found["far"] / found["near"] for found in groups])
    return MeasuredProperty(holds=all(low <= value <= high for value in details.values()), details=details)


def near_flows_get_less(data: Data, experiment: str, at: At) -> MeasuredProperty:
    """Whether near flows together get less than far ones while both have some."""
    groups = [_groups(run) for run in data.runs(experiment, at)]
    details = {name: mean([found[name] for found in groups]) for name in ("near", "far")}
    return MeasuredProperty(holds=details["near"] < details["far"], details=details)


def _shares(run: Run, settle_ps: float) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Rates of the active flows over their share of the payload rate of the link, once settled. By interval."""
    flows, series = run.result.flows, run.result.series.filter(pl.col("of") == "flow")
    starts = flows.sort("flow")["start_ps"].to_numpy().astype(float)
    found = []
    for at in series["at_ps"].unique().sort().to_list():
        active = [flow for flow, start in enumerate(starts) if start <= at]
        if at < max(starts[flow] for flow in active) + settle_ps:
            continue
        rates = [
            float(series.filter((pl.col("at_ps") == at) & (pl.col("number") == flow))["goodput_gbps"].sum())
            for flow in active
        ]
        found.append(np.asarray(rates) * len(active) / PAYLOAD)
    return found


def shares_settle(data: Data, experiment: str, at: At, settle_ms: float, within: float) -> MeasuredProperty:
    """Whether each of n flows gets 1/n of the payload rate from `settle_ms` after the latest has started."""
    worst = 0.0
    for run in data.runs(experiment, at):
        worst = max([worst, *(float(np.abs(shares - 1).max()) for shares in _shares(run, settle_ms * 1e9))])
    return MeasuredProperty(holds=worst <= within, details={"largest distance from the fair share": worst})


def shares_alike(data: Data, experiment: str, protocols: list[str], settle_ms: float, jain: float) -> MeasuredProperty:
    """Least Jain index, with each protocol, of the active flows' mean rates between one start and the next."""
    details = {}
    for protocol in protocols:
        found = []
        for run in data.runs(experiment, {"protocol": protocol}):
            shares = _shares(run, settle_ms * 1e9)
            for count in {len(one) for one in shares}:
                rates = np.mean([one for one in shares if len(one) == count], axis=0)
                found.append(float(rates.sum() ** 2 / (count * (rates**2).sum())))
        details[protocol] = min(found)
    return MeasuredProperty(holds=min(details.values()) >= jain, details=details)


def core_balance(data: Data, experiment: str, even: str, uneven: str, low: float, high: float) -> MeasuredProperty:
    """Coefficient of variation of the data packets that each port of a core switch receives, by forwarding."""
    details = {}
    for forwarding in (even, uneven):
        found = []
        for run in data.runs(experiment, {"forwarding": forwarding}):
            packets = run.result.ports.filter(pl.col("level") == "agg->core")["data_packets"].to_numpy().astype(float)
            found.append(float(packets.std() / packets.mean()))
        details[forwarding] = mean(found)
    return MeasuredProperty(holds=details[even] < low and details[uneven] > high, details=details)
