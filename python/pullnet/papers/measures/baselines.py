"""NDP beside other transports: who uses a network better, who ends first, and who is hurt more."""

import itertools
from collections.abc import Callable
from typing import TypedDict

import numpy as np
import polars as pl

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.completions import last_us, overhead
from pullnet.papers.measures.data import Data, mean, number_of, seeds_text, span
from pullnet.papers.measures.rates import jain_index, samples, window_rates
from pullnet.papers.model import Value
from pullnet.papers.runs import Run

At = dict[str, Value]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]


class Step(TypedDict):
    """A transport above another one, and by how much at least and at most."""

    above: str
    below: str
    least: float
    most: float


def _at(transport: str, at: At | None) -> At:
    return {**(at or {}), "transport": transport}


def utilisation_steps(data: Data, experiment: str, steps: list[Step], at: At | None = None) -> MeasuredProperty:
    """Whether each transport uses the network better than another by a difference within bounds."""
    names = dict.fromkeys(name for step in steps for name in (step["above"], step["below"]))
    found = {name: mean(data.utilisation(experiment, _at(name, at))) for name in names}
    holds = all(step["least"] <= found[step["above"]] - found[step["below"]] <= step["most"] for step in steps)
    return MeasuredProperty(holds=holds, details=found)


def utilisation_gain(data: Data, experiment: str, over: str, under: str, key: str) -> MeasuredNumber:
    """Utilisation of a transport less that of another one, mean over the values of `key`."""
    gains = {}
    for value in data.values(experiment, key):
        ours, theirs = (mean(data.utilisation(experiment, {key: value, "transport": name})) for name in (over, under))
        gains[f"{key} {value}"] = ours - theirs
    return MeasuredNumber(
        mean(list(gains.values())), note=", ".join(f"{name}: {gain:.4f}" for name, gain in gains.items())
    )


def _ordered(
    data: Data, experiment: str, order: list[str], of: Callable[[Run], float], at: At | None
) -> MeasuredProperty:
    """Whether a value falls from each transport to the next; means over seeds."""
    found = {name: mean([of(run) for run in data.runs(experiment, _at(name, at))]) for name in order}
    return MeasuredProperty(holds=all(a > b for a, b in itertools.pairwise(found.values())), details=found)


def fairness_order(data: Data, experiment: str, order: list[str]) -> MeasuredProperty:
    """Whether Jain's index of the rates falls from each transport to the next."""
    return _ordered(data, experiment, order, lambda run: jain_index(window_rates(run)), None)


def slowest_flow_order(data: Data, experiment: str, order: list[str]) -> MeasuredProperty:
    """Whether the rate of the slowest flow falls from each transport to the next. Unit: Gb/s."""
    return _ordered(data, experiment, order, lambda run: window_rates(run)[0], None)


def _times(data: Data, experiment: str, transport: str, tag: str | None, at: At | None) -> Array:
    """Completion times of all flows of all seeds, of one tag if one is named. Unit: us."""
    tables = [run.result.flows for run in data.runs(experiment, _at(transport, at))]
    kept = [table if tag is None else table.filter(pl.col("tag") == tag) for table in tables]
    return np.concatenate([table["fct_us"].drop_nulls().to_numpy() for table in kept])


def _quantiles(
    data: Data, experiment: str, names: list[str], quantiles: list[float], tag: str | None, at: At | None
) -> dict[str, list[float]]:
    times = {name: _times(data, experiment, name, tag, at) for name in names}
    return {name: [float(np.quantile(values, q)) for q in quantiles] for name, values in times.items()}


def _quantile_text(found: dict[str, list[float]], quantiles: list[float]) -> str:
    each = (f"{name} {value:.0f}" for name, values in found.items() for value in values)
    return f"us at {' and '.join(f'{q:g}' for q in quantiles)}: " + ", ".join(each)


def time_ratio(
    data: Data,
    experiment: str,
    over: str,
    under: str,
    quantiles: list[float],
    tag: str | None = None,
    at: At | None = None,
) -> MeasuredNumber:
    """Completion time of a transport over that of another one; of several ratios the one furthest from their mean."""
    found = _quantiles(data, experiment, [over, under], quantiles, tag, at)
    ratios = [ours / theirs for ours, theirs in zip(found[over], found[under], strict=True)]
    furthest = max(ratios, key=lambda ratio: abs(ratio - mean(ratios)))
    note = f"{', '.join(f'{ratio:.2f}' for ratio in ratios)}; {_quantile_text(found, quantiles)}"
    return MeasuredNumber(furthest, note=note)


def times_within(
    data: Data,
    experiment: str,
    over: str,
    under: str,
    quantiles: list[float],
    low: float,
    high: float,
    tag: str | None = None,
    at: At | None = None,
) -> MeasuredProperty:
    """Whether a transport's completion times over another one's lie between bounds at every quantile."""
    found = _quantiles(data, experiment, [over, under], quantiles, tag, at)
    pairs = zip(quantiles, found[over], found[under], strict=True)
    details = {f"ratio at {q:g}": ours / theirs for q, ours, theirs in pairs}
    holds = all(low <= ratio <= high for ratio in details.values())
    return MeasuredProperty(holds=holds, details=details, note=_quantile_text(found, quantiles))


def time_order(
    data: Data, experiment: str, order: list[str], quantiles: list[float], tag: str | None = None, at: At | None = None
) -> MeasuredProperty:
    """Whether completion times grow from each transport to the next at every quantile. Unit: us."""
    found = _quantiles(data, experiment, order, quantiles, tag, at)
    holds = all(a[i] < b[i] for a, b in itertools.pairwise(found.values()) for i in range(len(quantiles)))
    details = {f"{name} at {q:g}": v for name, values in found.items() for q, v in zip(quantiles, values, strict=True)}
    return MeasuredProperty(holds=holds, details=details)


def _by_senders(data: Data, experiment: str, transport: str, of: Callable[[Run], float]) -> dict[float, float]:
    """Mean over seeds, against the number of senders."""
    found: dict[float, list[float]] = {}
    for run in data.runs(experiment, {"transport": transport}):
        found.setdefault(number_of(run.at["senders"]), []).append(of(run))
    return {senders: mean(values) for senders, values in sorted(found.items())}


def _number_text(found: dict[float, float], digits: int = 4) -> str:
    return ", ".join(f"{senders:.0f}: {value:.{digits}g}" for senders, value in found.items())


def mean_overhead(data: Data, experiment: str, transport: str) -> MeasuredNumber:
    """Overhead of the last flow over the optimum, mean over the numbers of senders, as a fraction."""
    found = _by_senders(data, experiment, transport, lambda run: overhead(run) / 100)
    return MeasuredNumber(mean(list(found.values())), note=f"by senders {_number_text(found)}")


def worst_mean_overhead(data: Data, experiment: str, transport: str) -> MeasuredNumber:
    """Overhead of the last flow over the optimum, mean over seeds, largest of all numbers of senders, as a fraction."""
    found = _by_senders(data, experiment, transport, lambda run: overhead(run) / 100)
    return MeasuredNumber(max(found.values()), note=f"by senders {_number_text(found)}")


def _spread(run: Run) -> float:
    """Slowest flow over the fastest."""
    return last_us(run) / float(run.result.flows["fct_us"].to_numpy().min())


def slowest_over_fastest(data: Data, experiment: str, transport: str) -> MeasuredNumber:
    """Completion of the slowest flow over that of the fastest, largest of all numbers of senders."""
    found = _by_senders(data, experiment, transport, _spread)
    return MeasuredNumber(max(found.values()), note=f"by senders {_number_text(found, 3)}")


def spread_has_a_knee(data: Data, experiment: str, transport: str, small: float, large: float) -> MeasuredProperty:
    """Whether flows end together with the fewest senders and far apart with the most."""
    found = _by_senders(data, experiment, transport, _spread)
    values = list(found.values())
    details = {f"{senders:.0f} senders": value for senders, value in found.items()}
    return MeasuredProperty(holds=values[0] <= small and values[-1] >= large, details=details)


def completion_order(data: Data, experiment: str, order: list[str], least: int, alike: float = 0.0) -> MeasuredProperty:
    """Whether the last flow ends later with each transport than with the one before, at every number of senders.

    With `alike` the first two are to end together, up to that share.
    """
    found = {name: _by_senders(data, experiment, name, lambda run: last_us(run) / 1e3) for name in order}
    numbers = [n for n in found[order[0]] if n >= least]
    grows = order[1:] if alike else order
    holds = all(found[a][n] < found[b][n] for a, b in itertools.pairwise(grows) for n in numbers)
    if alike:
        first, second = order[:2]
        holds &= all(abs(found[second][n] / found[first][n] - 1) <= alike for n in numbers)
    details = {f"{name}, {n:.0f} senders, ms": found[name][n] for n in numbers for name in order}
    return MeasuredProperty(holds=holds, details=details)


def last_completion_ratio(data: Data, experiment: str, over: str, under: str, senders: int) -> MeasuredNumber:
    """Completion of the last flow with a transport over that with another one."""
    ours, theirs = (
        mean([last_us(run) / 1e3 for run in data.runs(experiment, {"transport": name, "senders": senders})])
        for name in (over, under)
    )
    return MeasuredNumber(ours / theirs, note=f"{over} {ours:.1f} ms, {under} {theirs:.1f} ms")


def used_and_done_in_order(
    data: Data, permutation: str, incast: str, used: list[str], done: list[str], senders: int
) -> MeasuredProperty:
    """Whether utilisation falls and the last flow ends later from each transport to the next."""
    shares = {name: mean(data.utilisation(permutation, {"transport": name})) for name in used}
    ends = {}
    for name in done:
        runs = data.runs(incast, {"transport": name, "senders": senders})
        ends[f"{name} ms"] = mean([last_us(run) / 1e3 for run in runs])
    holds = all(a > b for a, b in itertools.pairwise(shares.values()))
    holds &= all(a < b for a, b in itertools.pairwise(ends.values()))
    return MeasuredProperty(holds=holds, details=shares | ends)


def highest_goodput(
    data: Data, experiment: str, tag: str, after_ms: float, until_ms: float, at: At | None = None
) -> MeasuredNumber:
    """Highest goodput of a tag's flows in a sample between two times; mean over seeds. Unit: Gb/s."""
    runs = data.runs(experiment, at)
    tops = [float(_between(run, tag, after_ms, until_ms).max()) for run in runs]
    return MeasuredNumber(mean(tops), note=f"{span(tops)} over {seeds_text(runs)}")


def _between(run: Run, tag: str, after_ms: float, until_ms: float) -> Array:
    inside = (pl.col("end_s") > after_ms / 1e3 + 1e-9) & (pl.col("end_s") <= until_ms / 1e3 + 1e-9)
    return samples(run, tag).filter(inside)["goodput_gbps"].to_numpy().astype(float)


def damage_order(
    data: Data, experiment: str, least: str, others: list[str], tag: str, after_ms: float, factor: float, rate: float
) -> MeasuredProperty:
    """Whether a flow loses less with one transport than with all others by a factor: goodput below `rate`, in MB."""
    found = {name: mean(_damages(data, experiment, name, tag, after_ms, rate)) for name in (least, *others)}
    return MeasuredProperty(holds=all(found[name] >= factor * found[least] for name in others), details=found)


def _damages(data: Data, experiment: str, transport: str, tag: str, after_ms: float, rate: float) -> list[float]:
    runs = data.runs(experiment, {"transport": transport})
    lost = [np.clip(rate - _between(run, tag, after_ms, float("inf")), 0, None) for run in runs]
    # A sample lasts 1 ms: Gb/s times 1 ms are an eighth of a MB.
    return [float(values.sum()) / 8 for values in lost]


def share_of_tag(data: Data, experiment: str, tags: list[str]) -> MeasuredNumber:
    """Goodput of the first tag's flows over that of all, in the measurement window."""
    runs = data.runs(experiment)
    rates = [[float(_window_gbps(run, tag)) for tag in tags] for run in runs]
    shares = [values[0] / sum(values) for values in rates]
    text = ", ".join(f"{tag} {mean([values[i] for values in rates]):.2f} Gb/s" for i, tag in enumerate(tags))
    return MeasuredNumber(mean(shares), note=f"{text}, {seeds_text(runs)}")


def _window_gbps(run: Run, tag: str) -> float:
    return float(run.result.flows.filter(pl.col("tag") == tag)["window_gbps"].to_numpy().sum())
