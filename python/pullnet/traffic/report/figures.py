"""The pictures of a study: what the paper draws, from our results."""

import math
from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np

from pullnet.traffic.billing.slots import EARLIEST
from pullnet.traffic.dimensioning import Dimensioning
from pullnet.traffic.fitting import Fitting, quantiles
from pullnet.traffic.fitting.correlation import STRONG
from pullnet.traffic.quantities import rate_unit, shown_time
from pullnet.traffic.report.pictures import Picture
from pullnet.traffic.studies import Item, Study
from pullnet.traffic.volumes import State

MOST_POINTS = 2000
"""Points of a line; more cannot be told apart."""

LINES_AT = 0.01
"""The eps whose capacities are drawn over the data."""

BINS = 60
"""Of a histogram."""

WIDEST = 1.5
"""End of the axis of a histogram."""


def of_study(study: Study) -> Iterator[Picture]:
    """All pictures that the study allows."""
    yield from capacities(study)
    yield from densities(study)
    yield from straightness(study)
    yield from gammas(study)
    yield from ratios(study)
    yield from misses(study)
    yield from percentiles(study)


def _by_timescale(study: Study) -> Iterator[tuple[float, list[Fitting]]]:
    fittings = sorted((each for each in study.fittings if each.timescale), key=lambda each: each.timescale or 0.0)
    for scale, group in groupby(fittings, key=lambda each: each.timescale):
        yield float(scale or 0.0), list(group)


def ratios(study: Study) -> Iterator[Picture]:
    """Normalised log-likelihood ratio of the power law to each model, a point for each trace."""
    for scale, fittings in _by_timescale(study):
        names = [model.name for model in fittings[0].tail.models if model.name != "power law"]
        found = {name: [each.against_power_law(name) for each in fittings] for name in names}
        series = {name: _numbered(ratio.normalised for ratio in column) for name, column in found.items()}
        circled = [
            (float(i), ratio.normalised)
            for column in found.values()
            for i, ratio in enumerate(column, 1)
            if ratio.circled
        ]
        yield Picture(
            f"ratios-{_file(scale)}",
            f"Power law against other laws, above xmin, T = {shown_time(scale)}",
            "trace",
            "normalised log-likelihood ratio R",
            series,
            "Below zero the other law fits the tail better than a power law. Circled: p > 0.1, so that the sign says "
            "nothing. The p-values take samples for independent.",
            circled=circled,
            levels={"no difference": 0.0},
        )


def gammas(study: Study) -> Iterator[Picture]:
    """Correlation coefficients in order, a line for each law."""
    for scale, fittings in _by_timescale(study):
        names = [model.name for model in fittings[0].whole.models if model.name != "power law"]
        series = {name: _numbered(sorted(_known(each.whole.gammas[name] for each in fittings))) for name in names}
        yield Picture(
            f"gamma-{_file(scale)}",
            f"Straightness of Q-Q plots, T = {shown_time(scale)}",
            "traces in order",
            "gamma",
            series,
            f"Correlation between the sorted samples and the quantiles of each law fitted to all data; above {STRONG} "
            "the study calls a fit strong.",
            levels={"strong": STRONG},
        )


def densities(study: Study) -> Iterator[Picture]:
    """Histograms of the worst anomalous trace and of the trace that the log-normal fits best."""
    items = [item for item in study.items if isinstance(item.fitting, Fitting)]
    if not items:
        return
    strange = [item for item in items if _of(item).anomalies]
    plain = [item for item in items if _of(item).fits] or [item for item in items if item not in strange]
    series = {}
    if plain:
        best = max(plain, key=lambda item: _gamma(item, _of(item).whole.best))
        series[f"{_label(best)}: {_follows(best)}"] = _histogram(best)
    if strange:
        worst = max(strange, key=lambda item: max(each.share for each in _of(item).anomalies))
        series[f"{_label(worst)}: {_of(worst).anomalies[0].where}"] = _histogram(worst)
    caption = "No trace has a mass of intervals near zero or at the capacity of the link."
    if strange:
        caption = f"No law fits {_label(worst)}: {'; '.join(str(each) for each in _of(worst).anomalies)}."
    yield Picture(
        "density",
        "Distribution of the rate",
        "rate / rate that 1 % of the intervals exceed",
        "share of the intervals",
        series,
        f"{caption} The last step holds all that is above {WIDEST:g}.",
        style="steps",
    )


def capacities(study: Study) -> Iterator[Picture]:
    """The rate over time, with the capacity that each rule requires."""
    sized = [item for item in study.items if item.dimensioning]
    if not sized:
        return
    item = max(sized, key=lambda each: _gamma(each, "log-normal") if isinstance(each.fitting, Fitting) else -1.0)
    found = item.dimensioning
    assert found is not None
    unit, factor = rate_unit(found.mean)
    eps = min((each.eps for each in found.capacities), key=lambda each: abs(each - LINES_AT))
    yield Picture(
        "capacity",
        f"{_label(item)}: capacities for eps = {eps:g}",
        "date (UTC)" if dated(item) else "time since the beginning (s)",
        f"rate ({unit})",
        {"traffic": _line(item, factor)},
        f"Each rule's smallest capacity that at most a share of {eps:g} of the intervals should reach.",
        style="line",
        levels=_levels(found, eps, factor),
        dates=dated(item),
    )


def dated(item: Item) -> bool:
    """Whether the times of a series are those of a calendar."""
    return item.volumes.start >= EARLIEST


def _levels(found: Dimensioning, eps: float, factor: float) -> dict[str, float]:
    chosen = [each for each in found.capacities if each.eps == eps]
    return {f"{each.rule} ({each.exceeded:.2g})": each.capacity / factor for each in chosen}


def _line(item: Item, factor: float) -> list[tuple[float, float]]:
    """The rate over time; of too many intervals the largest of each group, which is what a capacity has to hold."""
    rates = np.where(item.volumes.state == State.GAP, np.nan, item.volumes.rates()) / factor
    step = max(1, len(rates) // MOST_POINTS)
    full = rates[: len(rates) // step * step].reshape(-1, step)
    times = np.arange(len(full)) * step * item.volumes.timescale + (item.volumes.start if dated(item) else 0.0)
    known = ~np.isnan(full).all(axis=1)
    return list(zip(times[known].tolist(), np.nanmax(full[known], axis=1).tolist(), strict=True))


def misses(study: Study) -> Iterator[Picture]:
    """Mean over traces of |eps hat - eps|, by rule."""
    scores = study.scores
    for scale in dict.fromkeys(each.timescale for each in scores):
        series: dict[str, list[tuple[float, float]]] = {}
        errors: dict[str, list[float]] = {}
        for each in scores:
            if each.timescale == scale:
                series.setdefault(each.rule, []).append((each.eps, each.miss))
                errors.setdefault(each.rule, []).append(0.0 if math.isnan(each.error) else each.error)
        yield Picture(
            f"miss-{_file(scale)}",
            f"How far each rule misses its target, T = {shown_time(scale)}",
            "eps",
            "mean |share of intervals above - eps|",
            series,
            "Zero is perfect. Bars are standard errors over traces; rules are set apart a little. The empirical rule "
            "knows the very intervals that it is judged by.",
            errors=errors,
            logarithmic="x",
        )


def percentiles(study: Study) -> Iterator[Picture]:
    """Predicted 95th percentile beside the actual one."""
    for reading in dict.fromkeys(each.reading for each in study.predictions):
        chosen = [each for each in study.predictions if each.reading == reading]
        unit, factor = rate_unit(float(np.mean([each.actual for each in chosen])))
        series: dict[str, list[tuple[float, float]]] = {}
        for each in chosen:
            series.setdefault(each.rule, []).append((each.actual / factor, each.predicted / factor))
        yield Picture(
            f"percentile-{reading}",
            f"95th percentile of {reading}: predicted and actual",
            f"actual ({unit})",
            f"predicted ({unit})",
            series,
            "A point for each trace and law, fitted to the trace's short bins.",
            style="diagonal",
        )


def straightness(study: Study) -> Iterator[Picture]:
    """A Q-Q plot of the trace with most samples."""
    items = [item for item in study.items if isinstance(item.fitting, Fitting)]
    if not items:
        return
    item = max(items, key=lambda each: len(each.volumes))
    rates = item.volumes.rates()[item.volumes.state != State.GAP]
    unit, factor = rate_unit(float(rates.mean()))
    series = {}
    for model in _of(item).whole.models:
        if model.name != "power law":
            expected, got = quantiles(model, rates if model.keeps_zeros else rates[rates > 0])
            step = max(1, len(got) // (MOST_POINTS // 4))
            points = zip((expected[::step] / factor).tolist(), (got[::step] / factor).tolist(), strict=True)
            series[model.name] = list(points)
    yield Picture(
        "quantiles",
        f"{_label(item)}: Q-Q plot",
        f"quantile of the law ({unit})",
        f"sample ({unit})",
        series,
        "On the grey line a law has the quantiles of the samples.",
        style="diagonal",
    )


def _of(item: Item) -> Fitting:
    assert isinstance(item.fitting, Fitting)
    return item.fitting


def _gamma(item: Item, model: str) -> float:
    return float(np.nan_to_num(_of(item).whole.gammas[model], nan=-1.0))


def _follows(item: Item) -> str:
    fitting = _of(item)
    return f"{fitting.whole.best} fits" if fitting.fits else "no law fits"


def _histogram(item: Item) -> list[tuple[float, float]]:
    rates = item.volumes.rates()[item.volumes.state != State.GAP]
    # The mean of a trace that is mostly silent would be no scale for its peaks.
    scale = np.quantile(rates, 0.99) or rates.max()
    counts, edges = np.histogram(np.minimum(rates / scale, WIDEST), bins=BINS, range=(0.0, WIDEST))
    return list(zip(edges.tolist(), [*(counts / len(rates)).tolist(), 0.0], strict=True))


def _label(item: Item) -> str:
    return f"{item.volumes.trace}, {shown_time(item.volumes.timescale)}"


def _known(values: Iterable[float]) -> Iterator[float]:
    return (value for value in values if math.isfinite(value))


def _numbered(values: Iterable[float]) -> list[tuple[float, float]]:
    return [(float(i), float(value)) for i, value in enumerate(values, 1)]


def _file(scale: float) -> str:
    return shown_time(scale).replace(" ", "")
