"""All models fitted to the volumes of one trace at one timescale, compared, and said in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pullnet.arguments import typed
from pullnet.html import Shown
from pullnet.traffic.fitting.anomalies import Anomaly, anomalies, marked
from pullnet.traffic.fitting.correlation import STRONG, straightness
from pullnet.traffic.fitting.criteria import Criteria, criteria, plausibility
from pullnet.traffic.fitting.powerlaw import Goodness, PowerLawFit, PowerLawSearch, Uncertainty
from pullnet.traffic.fitting.ratios import Ratio, all_ratios, ratios_of
from pullnet.traffic.further import FURTHER_MODELS
from pullnet.traffic.models import MODELS, Model, PowerLaw
from pullnet.traffic.quantities import shown_time
from pullnet.traffic.sample import Floats, SampleError, checked, varied
from pullnet.traffic.volumes import State, Volumes

FEW = 50
"""Below this many values in the tail, the paper warns, estimates are not to be relied on."""


@dataclass(frozen=True)
class Tail:
    """The models above the `xmin` of the power law, each renormalised to start there."""

    models: tuple[Model, ...]
    ratios: tuple[Ratio, ...]
    """Of all pairs, each once."""
    best: str
    """The model with the largest likelihood."""
    rivals: tuple[str, ...]
    """Models that the ratio cannot tell from the best (p of 0.1 or more)."""

    def ratio(self, first: str, second: str) -> Ratio:
        """The comparison of two models, named in either order."""
        for ratio in self.ratios:
            if (ratio.first, ratio.second) == (first, second):
                return ratio
            if (ratio.first, ratio.second) == (second, first):
                return ratio.reversed()
        raise KeyError(first, second)


@dataclass(frozen=True)
class Whole:
    """The models on all data."""

    models: tuple[Model, ...]
    gammas: Mapping[str, float]
    """Correlation between the samples and the quantiles of each model."""
    ratios: tuple[Ratio, ...]
    """Of all pairs on the positive samples. Without the power law, which has no density below its `xmin`."""
    straightest: str
    """The model with the largest gamma."""
    criteria: Mapping[str, Criteria]
    """AIC, BIC and goodness of fit of each model."""

    @property
    def best(self) -> str:
        """The model with the least AIC. A straight Q-Q plot alone forgives a wrong place and width."""
        return min(self.criteria, key=lambda name: (np.nan_to_num(self.criteria[name].aic, nan=np.inf), name))

    def behind(self, name: str) -> float:
        """How far the AIC of a model is above the least one."""
        return self.criteria[name].aic - self.criteria[self.best].aic


@dataclass(frozen=True)
class Fitting(Shown):
    """Law of a trace at one timescale. Values are rates in bit/s if `timescale` is known, else as given."""

    trace: str
    timescale: float | None
    """Unit: s."""
    samples: int
    zeros: int
    """Samples that are zero: left out of models without a zero."""
    gaps: int
    """Bins without data: not samples."""
    power_law: PowerLawFit
    tail: Tail
    whole: Whole
    anomalies: tuple[Anomaly, ...]
    uncertainty: Uncertainty | None = None
    goodness: Goodness | None = None

    def against_power_law(self, name: str) -> Ratio:
        """The power law compared with a model above `xmin`: below zero favours the model, as in the study."""
        return self.tail.ratio(PowerLaw.name, name)

    @property
    def fits(self) -> bool:
        """Whether any model describes all data: there is no anomaly, and the likeliest has a gamma above 0.95."""
        return not self.anomalies and self.whole.gammas[self.whole.best] > STRONG

    @property
    def verdict(self) -> str:
        """The result in a sentence or two."""
        return f"{self._body()} {self._tail()}"

    def _body(self) -> str:
        if self.anomalies:
            return f"No model fits, because {'; and '.join(str(anomaly) for anomaly in self.anomalies)}."
        best, value = self.whole.best, self.whole.gammas[self.whole.best]
        if value > STRONG:
            return f"All data: {best} (gamma {value:.3f}{self._plausible(best)})."
        text = f"No model fits all data: the likeliest, {best}, has gamma {value:.3f}, and {STRONG} is asked for"
        straightest = self.whole.straightest
        if straightest != best and self.whole.gammas[straightest] > STRONG:
            text += (
                f"; {straightest} has gamma {self.whole.gammas[straightest]:.3f}, but its place or width is wrong "
                f"(AIC {self.whole.behind(straightest):.4g} larger)"
            )
        return text + "."

    def _plausible(self, name: str) -> str:
        found = self.whole.criteria[name]
        return "" if found.p is None else f", goodness of fit p = {found.p:.2f}"

    def _tail(self) -> str:
        law = self.power_law
        share = f"above xmin ({law.tail} of {law.samples} values)"
        found = f"The tail {share}: {self.tail.best}"
        if self.tail.rivals:
            found += f"; not to be told from it: {', '.join(self.tail.rivals)}"
        if law.tail < FEW:
            found += f"; fewer than {FEW} values are few"
        if self.goodness is not None:
            how = "plausible" if self.goodness.plausible else "rejected"
            found += f"; a power law is {how} (p = {self.goodness.p:.3f}, to {self.goodness.precision:.3f})"
        return found + "."


@typed
def fit(
    data: Volumes | ArrayLike,
    *,
    models: Sequence[type[Model]] = MODELS,
    bootstrap: int = 0,
    seed: int = 1,
    threads: int = 1,
    capacity: float | None = None,
    trace: str = "sample",
) -> Fitting:
    """Fit all `models` to `data`: the volumes of a trace, taken as rates in bit/s, or any series of numbers.

    `bootstrap` repeats, if any, say how sure the power law is and whether it is plausible; 2500 give p to 0.01.
    `capacity` of the link is in bit/s, or in the unit of the series. Raises `SampleError` for what cannot be fitted.
    """
    timescale, gaps = None, 0
    if isinstance(data, Volumes):
        trace, timescale = data.trace, data.timescale
        values = data.rates()[data.state != State.GAP]
        gaps = len(data) - values.size
    else:
        values = checked(data, trace)
    if values.size == 0:
        raise SampleError("has no samples, only gaps", where=trace, remedy="give at least 2 different values")
    try:
        fitted = _fit(values, _with_power_law(models), capacity)
    except SampleError as error:
        raise SampleError(error.what, where=_place(trace, timescale), value=error.value, remedy=error.remedy) from None
    known = _judged(data, fitted.anomalies)
    odd = known + _marked(data, values, known)
    fitted = replace(fitted, trace=trace, timescale=timescale, gaps=gaps, anomalies=odd)
    return _bootstrapped(fitted, values, bootstrap, seed, threads) if bootstrap else fitted


def _judged(data: object, found: tuple[Anomaly, ...]) -> tuple[Anomaly, ...]:
    """Say of a mass near zero whether the reader of the trace took it for outages, or for silences."""
    if not isinstance(data, Volumes):
        return found
    out = bool((data.state == State.OUTAGE).any())
    return tuple(replace(each, outage=out) if each.where == "near zero" else each for each in found)


def _marked(data: object, values: Floats, known: tuple[Anomaly, ...]) -> tuple[Anomaly, ...]:
    if not isinstance(data, Volumes):
        return ()
    state = data.state[data.state != State.GAP]
    places = {anomaly.where for anomaly in known}
    outages = () if "near zero" in places else marked("near zero", values, state == State.OUTAGE)
    full = () if "at capacity" in places else marked("at capacity", values, state == State.SATURATED)
    return outages + full


def _place(trace: str, timescale: float | None) -> str:
    return trace if timescale is None else f"{trace} at {shown_time(timescale)}"


def _with_power_law(models: Sequence[type[Model]]) -> tuple[type[Model], ...]:
    return (*(model for model in (*MODELS, *FURTHER_MODELS) if model in models or model is PowerLaw),)


def _fit(values: Floats, models: tuple[type[Model], ...], capacity: float | None) -> Fitting:
    positive = values[values > 0]
    varied(positive, "sample", "a fit")
    # Sorted once: a sort takes as long as an estimate, unless it finds the sample in order.
    ordered = np.sort(values)
    rising = ordered[values.size - positive.size :]
    law = PowerLawSearch(rising).fit()
    return Fitting(
        trace="",
        timescale=None,
        samples=values.size,
        zeros=values.size - positive.size,
        gaps=0,
        power_law=law,
        tail=_fit_tail(positive[positive >= law.xmin], law, models),
        whole=_fit_whole(values, ordered, rising, models),
        anomalies=anomalies(ordered, capacity),
    )


def _fit_tail(sample: Floats, law: PowerLawFit, models: tuple[type[Model], ...]) -> Tail:
    fitted = [model.fit_tail(sample, law.xmin) for model in models]
    ratios = all_ratios(fitted, sample)
    best = max(fitted, key=lambda model: model.evidence.log_likelihood).name
    tail = Tail(tuple(fitted), ratios, best, ())
    others = [model.name for model in fitted if model.name != best]
    return replace(tail, rivals=tuple(name for name in others if tail.ratio(best, name).circled))


def _fit_whole(values: Floats, ordered: Floats, rising: Floats, models: tuple[type[Model], ...]) -> Whole:
    """Fit models to `values`; `ordered` are these in order, `rising` those of them above zero."""
    found = [model.fit_checked(values) for model in models]
    fitted = tuple(model for model, _ in found)
    above = values > 0
    compared = [
        (model, logs if logs.size == rising.size else logs[above])
        for model, logs in found
        if model.name != PowerLaw.name
    ]
    ratios = ratios_of([model for model, _ in compared], [logs for _, logs in compared])
    gammas = {model.name: straightness(model, ordered if model.keeps_zeros else rising) for model in fitted}
    straightest = max(gammas, key=lambda name: (np.nan_to_num(gammas[name], nan=-1.0), name))
    return Whole(fitted, gammas, ratios, straightest, criteria(fitted, ordered, rising))


def _bootstrapped(fitted: Fitting, values: Floats, repeats: int, seed: int, threads: int) -> Fitting:
    search = PowerLawSearch(values)
    goodness = search.goodness(fitted.power_law, repeats, seed=seed, threads=threads)
    uncertainty = search.uncertainty(repeats, seed=seed, threads=threads)
    whole = fitted.whole
    judged = {}
    for model in whole.models:
        size = fitted.samples if model.keeps_zeros else fitted.samples - fitted.zeros
        judged[model.name] = plausibility(model, size, whole.criteria[model.name], repeats, seed)
    return replace(fitted, whole=replace(whole, criteria=judged), uncertainty=uncertainty, goodness=goodness)
