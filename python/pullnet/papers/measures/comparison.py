"""Transports side by side: slowdowns by size class, goodput and unfinished flows, beside the ideal schedule."""

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.cells import HEADER, IDEAL, Cell, cells
from pullnet.papers.measures.data import Data, mean
from pullnet.papers.measures.packets import PAYLOAD


def _place(cell: Cell) -> str:
    return cell.experiment if cell.load is None else f"{cell.experiment} {cell.load}"


def _means(data: Data, experiments: list[str]) -> dict[str, dict[str, Cell]]:
    """Cells of all sizes by situation and transport."""
    places: dict[str, dict[str, Cell]] = {}
    for experiment in experiments:
        for cell in cells(data, experiment):
            if cell.size_class == "all":
                places.setdefault(_place(cell), {})[cell.transport] = cell
    return places


def every_flow_ends(data: Data, experiments: list[str]) -> MeasuredNumber:
    """Flows that did not complete, over all transports and situations."""
    open_flows = {
        f"{place} {name}": float(cell.unfinished)
        for place, row in _means(data, experiments).items()
        for name, cell in row.items()
        if cell.unfinished
    }
    note = ", ".join(f"{name}: {count:.0f}" for name, count in open_flows.items())
    return MeasuredNumber(sum(open_flows.values()), note=note or "none")


def ideal_is_least(data: Data, experiments: list[str]) -> MeasuredNumber:
    """Least mean slowdown of a transport over that of the ideal schedule, over all situations."""
    ratios = {
        f"{place} {name}": cell.mean / row[IDEAL].mean
        for place, row in _means(data, experiments).items()
        for name, cell in row.items()
        if name != IDEAL
    }
    closest = min(ratios, key=lambda name: ratios[name])
    return MeasuredNumber(ratios[closest], note=f"closest: {closest}")


def incast_beside_optimum(data: Data, experiment: str, protocols: list[str]) -> MeasuredNumber:
    """Largest time of an incast over the time that the receiver's link needs for its packets, over `protocols`."""
    details = {}
    for protocol in protocols:
        times = []
        for run in data.runs(experiment, {"protocol": protocol}):
            flows, rate = run.result.flows, float(run.result.hosts["rate_gbps"][0])
            sizes = flows["size_bytes"].to_numpy()
            wire = float((sizes + -(-sizes // PAYLOAD) * HEADER).sum())
            times.append(float(flows["received_ps"].to_numpy().max()) / (wire * 8e3 / rate))
        details[protocol] = mean(times)
    note = ", ".join(f"{name} {value:.3f}" for name, value in details.items())
    return MeasuredNumber(max(details.values()), note=note)


def short_tail_below(data: Data, experiments: list[str], protocols: list[str], others: list[str]) -> MeasuredProperty:
    """Whether the 99th percentile of flows below 100 KiB is lower with each of `protocols` than with all `others`."""
    details: dict[str, float] = {}
    for experiment in experiments:
        places: dict[str, dict[str, float]] = {}
        for cell in cells(data, experiment):
            if cell.size_class == "<100 KiB":
                places.setdefault(_place(cell), {})[cell.transport] = cell.p99
        for place, row in places.items():
            details[place] = max(row[name] for name in protocols) / min(row[name] for name in others)
    return MeasuredProperty(holds=max(details.values()) < 1, details=details)
