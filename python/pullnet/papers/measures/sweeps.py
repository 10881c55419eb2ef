"""How utilisation depends on the initial window, the queue and the packet size."""

import itertools

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean, number_of
from pullnet.papers.model import Value


def _by_window(data: Data, experiment: str, at: dict[str, Value]) -> dict[float, float]:
    """Utilisation against the initial window, in packets."""
    found: dict[float, list[float]] = {}
    for run in data.runs(experiment, at):
        found.setdefault(number_of(run.at["window"]), []).append(float(run.result.summary.utilisation.mean or 0))
    return {window: mean(values) for window, values in sorted(found.items())}


def window_needed(data: Data, experiment: str, share: float, at: dict[str, Value] | None = None) -> MeasuredNumber:
    """Smallest window that reaches a share of the best utilisation; between two points by a straight line."""
    points = list(_by_window(data, experiment, at or {}).items())
    wanted = share * max(value for _, value in points)
    note = f"{100 * share:.0f}% of the best, {wanted:.4f}; " + _text(dict(points))
    for (left, low), (right, high) in zip([(0.0, 0.0), *points], points, strict=False):
        if high >= wanted:
            return MeasuredNumber(left + (right - left) * (wanted - low) / (high - low), note=note)
    return MeasuredNumber(note=note)


def _text(points: dict[float, float]) -> str:
    return "IW: utilisation " + ", ".join(f"{window:.0f}: {value:.4f}" for window, value in points.items())


def best_utilisation(data: Data, experiment: str, least: int, most: int, at: dict[str, Value]) -> MeasuredNumber:
    """Best utilisation with windows from `least` to `most`."""
    points = _by_window(data, experiment, at)
    chosen = {window: value for window, value in points.items() if least <= window <= most}
    if not chosen:
        raise MissingRunsError("these windows are not part of this level")
    return MeasuredNumber(max(chosen.values()), note=_text(chosen))


def utilisation_within(
    data: Data, experiment: str, least: int, most: int, low: float, high: float, at: dict[str, Value]
) -> MeasuredNumber:
    """Best utilisation with windows from `least` to `most`; it has to lie between bounds with every one of them."""
    best = best_utilisation(data, experiment, least, most, at)
    points = {window: value for window, value in _by_window(data, experiment, at).items() if least <= window <= most}
    return MeasuredNumber(best.value, holds=all(low <= value <= high for value in points.values()), note=best.note)


def queues_alike(data: Data, experiment: str, below: int) -> MeasuredNumber:
    """Largest difference between queues with windows under `below`. Unit: percentage points."""
    queues = [_by_window(data, experiment, {"queue": queue}) for queue in data.values(experiment, "queue")]
    windows = [window for window in queues[0] if window < below]
    differences = [100 * (max(q[w] for q in queues) - min(q[w] for q in queues)) for w in windows]
    return MeasuredNumber(max(differences), note=f"windows {', '.join(f'{window:.0f}' for window in windows)}")


def declines(data: Data, experiment: str, since: int, most: float, at: dict[str, Value]) -> MeasuredProperty:
    """Whether utilisation falls with every larger window from `since` on, by `most` points in all."""
    points = {window: value for window, value in _by_window(data, experiment, at).items() if window >= since}
    values = list(points.values())
    falls = all(after <= before for before, after in itertools.pairwise(values))
    details = {f"IW {window:.0f}": value for window, value in points.items()}
    return MeasuredProperty(holds=falls and 100 * (values[0] - values[-1]) <= most, details=details)


def queue_order(data: Data, experiment: str, window: str, about: float, slight: float) -> MeasuredProperty:
    """Whether a queue of 10 packets does no worse than one of 8, and that better than one of 6.

    The first by less than `slight` points, the second by about `about`, half as much more or less.
    """
    queues = ("6 packets", "8 packets", "10 packets")
    values = {queue: mean(data.utilisation(experiment, {"queue": queue, "window": window})) for queue in queues}
    six, eight, ten = values.values()
    first, second = 100 * (eight - six), 100 * (ten - eight)
    holds = ten >= eight > six and about / 2 <= first <= 1.5 * about and second < slight
    return MeasuredProperty(holds=holds, details=values | {"8 over 6, points": first, "10 over 8, points": second})


def throughput_drop(data: Data, experiment: str, packet: str, of: str, base: str = "9000 B") -> MeasuredNumber:
    """How much less the slowest flow (`min`) or all (`mean`) get with smaller packets, as a share."""
    rates = [_rate(data, experiment, size, of) for size in (packet, base)]
    return MeasuredNumber(1 - rates[0] / rates[1], note=f"{rates[0]:.3f} Gb/s at {packet}, {rates[1]:.3f} at {base}")


def _rate(data: Data, experiment: str, packet: str, of: str) -> float:
    runs = data.runs(experiment, {"packet": packet})
    spreads = [run.result.summary.goodput_gbps for run in runs]
    return mean([float((spread.min if of == "min" else spread.mean) or 0) for spread in spreads])


def falls_with_packet(data: Data, experiment: str, of: str = "mean") -> MeasuredProperty:
    """Whether throughput falls with every smaller packet."""
    sizes = data.values(experiment, "packet")
    rates = [_rate(data, experiment, size, of) for size in sizes]
    details = {str(size): rate for size, rate in zip(sizes, rates, strict=True)}
    return MeasuredProperty(holds=all(a < b for a, b in itertools.pairwise(rates)), details=details)


def spacing_cost(data: Data, experiment: str, base: str, other: str) -> MeasuredNumber:
    """Utilisation lost by imperfect spacing of pulls, as a share."""
    perfect, measured = (mean(data.utilisation(experiment, {"spacing": value})) for value in (base, other))
    return MeasuredNumber(1 - measured / perfect, note=f"{perfect:.4f} {base}, {measured:.4f} {other}")


def spacing_same(data: Data, experiment: str, base: str, other: str) -> MeasuredNumber:
    """Largest difference that imperfect spacing makes at any window, as a share."""
    curves = [_by_window(data, experiment, {"spacing": value}) for value in (base, other)]
    worst = max(abs(curves[1][window] / curves[0][window] - 1) for window in curves[0])
    return MeasuredNumber(
        worst, note="; ".join(f"{name}: {_text(c)}" for name, c in zip((base, other), curves, strict=True))
    )
