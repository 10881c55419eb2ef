"""Everything at once, for many traces at several timescales: fits, capacities, predictions, stationarity."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from pullnet.arguments import typed
from pullnet.errors import InputError
from pullnet.html import Shown
from pullnet.traffic.billing.nrmse import Nrmse, Prediction, nrmse, predictions
from pullnet.traffic.dimensioning import EPSILONS, Dimensioning, Score, dimension, score
from pullnet.traffic.error import TrafficError
from pullnet.traffic.fitting import Fitting, Unfitted, fit, gamma_variation
from pullnet.traffic.models import PowerLaw
from pullnet.traffic.stationary import Stationarity, stationarity
from pullnet.traffic.volumes import State, Volumes
from pullnet.workers import ADVICE, leave_if_importing

PREDICTED_AT = 0.1
"""Bins of the trace that percentiles are predicted from: those of this length, or the next longer ones. Unit: s."""

GROUP_BINS = 100
"""Bins of a group whose percentile is predicted: 10 s of 100 ms, as in the study."""

LEAST_GROUPS = 20
"""A shorter trace has shorter groups, so that there are about as many."""

MOST_TESTED = 5_000
"""Samples up to which stationarity is tested: the tests take a time that grows faster than the sample."""


BLAS_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a study."""

    eps: Sequence[float] = EPSILONS
    bootstrap: int = 0
    """Repeats that say how sure the power law is; 0: none."""
    seed: int = 1
    capacity: float | None = None
    """Of the link. Unit: bit/s."""
    stationarity: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """One trace at one timescale."""

    volumes: Volumes
    fitting: Fitting | Unfitted
    dimensioning: Dimensioning | None
    stationarity: Stationarity | None
    skipped: dict[str, str] = field(default_factory=dict)
    """Parts that were left out, with the reason."""


@dataclass(frozen=True, slots=True)
class Study(Shown):
    """Results of a study."""

    items: tuple[Item, ...]
    predictions: tuple[Prediction, ...]
    unpredicted: dict[str, str]
    """Traces without a predicted percentile, with the reason."""

    @property
    def fittings(self) -> list[Fitting]:
        """Of the items that could be fitted."""
        return [item.fitting for item in self.items if isinstance(item.fitting, Fitting)]

    @property
    def scores(self) -> list[Score]:
        """How far rules of capacity miss, over traces."""
        return score(item.dimensioning for item in self.items if item.dimensioning)

    @property
    def nrmse(self) -> list[Nrmse]:
        """How far predictions of percentiles miss, over traces."""
        return nrmse(self.predictions)

    @property
    def variation(self) -> dict[str, dict[str, float]]:
        """Standard deviation of gamma over timescales, by trace and model."""
        return {trace: dict(models) for trace, models in gamma_variation(self.fittings).items()}

    def rows(self) -> list[dict[str, object]]:
        """One flat object for each item that could be fitted."""
        return [_row(item, item.fitting) for item in self.items if isinstance(item.fitting, Fitting)]

    def left_out(self) -> list[dict[str, object]]:
        """One flat object for each part of an item that was left out, with the reason."""
        return [
            {"trace": item.volumes.trace, "timescale_s": item.volumes.timescale, "part": part, "reason": why}
            for item in self.items
            for part, why in item.skipped.items()
        ]


Progress = Callable[[int, int], None]
"""Told how many of how many items are done."""


@typed
def study(
    volumes: Iterable[Volumes], options: Options | None = None, *, jobs: int = 1, progress: Progress | None = None
) -> Study:
    """Examine volumes; results do not depend on `jobs`, the number of processes."""
    every = list(volumes)
    if not every:
        raise TrafficError("no volumes to study", remedy="give at least one file with traffic in it")
    items = []
    for item in _examined(every, options or Options(), jobs):
        items.append(item)
        if progress:
            progress(len(items), len(every))
    found, missing = _predicted(every)
    return Study(tuple(items), tuple(found), missing)


def _examined(every: list[Volumes], options: Options, jobs: int) -> Iterator[Item]:
    if jobs <= 1 or len(every) < 2:
        yield from (examine(volumes, options) for volumes in every)
        return
    one = partial(_found, options=options)
    leave_if_importing()
    try:
        with _one_thread_each(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            parts = pool.map(one, every, chunksize=max(1, min(16, len(every) // (4 * jobs))))
            for volumes, found in zip(every, parts, strict=True):
                yield Item(volumes, *found)
    except BrokenProcessPool:
        raise InputError(f"study: a worker process ended before its traces were examined. {ADVICE}") from None


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Have processes that are started meanwhile do linear algebra on one thread: there are as many as cores."""
    before = os.environ.get(BLAS_THREADS)
    os.environ[BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[BLAS_THREADS]
        else:
            os.environ[BLAS_THREADS] = before


def examine(volumes: Volumes, options: Options) -> Item:
    """Examine one trace at one timescale; what cannot be done is told with its reason."""
    return Item(volumes, *_found(volumes, options))


Found = tuple[Fitting | Unfitted, Dimensioning | None, Stationarity | None, dict[str, str]]
"""Results for a series, without its volumes: worker processes need not send these back."""


def _found(volumes: Volumes, options: Options) -> Found:
    skipped: dict[str, str] = {}
    fitting = _fitted(volumes, options)
    if isinstance(fitting, Unfitted):
        skipped["fit"] = fitting.reason
    sized = _attempt(lambda: dimension(volumes, eps=options.eps), "dimensioning", skipped)
    tested = _attempt(lambda: _stationarity(volumes), "stationarity", skipped) if options.stationarity else None
    return fitting, sized, tested, skipped


def _fitted(volumes: Volumes, options: Options) -> Fitting | Unfitted:
    try:
        return fit(volumes, bootstrap=options.bootstrap, seed=options.seed, capacity=options.capacity)
    except TrafficError as error:
        return Unfitted(volumes.trace, volumes.timescale, len(volumes.sample()), str(error))


Part = TypeVar("Part")


def _attempt(work: Callable[[], Part], part: str, skipped: dict[str, str]) -> Part | None:
    try:
        return work()
    except TrafficError as error:
        skipped[part] = str(error)
        return None


def _stationarity(volumes: Volumes) -> Stationarity:
    if len(volumes) > MOST_TESTED:
        what = f"{len(volumes)} bins are more than the {MOST_TESTED} that a study tests"
        remedy = "ask `pullnet traffic stationarity`, which has no bound and looks at windows too"
        raise TrafficError(what, where=volumes.trace, value=len(volumes), remedy=remedy)
    return stationarity(volumes, windows=())


def _predicted(every: list[Volumes]) -> tuple[list[Prediction], dict[str, str]]:
    """Predict the 95th percentile of each trace, from its bins of 100 ms or the next longer ones."""
    found: list[Prediction] = []
    missing: dict[str, str] = {}
    for trace, scales in by_trace(every).items():
        longer = [volumes for volumes in scales if volumes.timescale >= PREDICTED_AT * (1 - 1e-9)]
        chosen = (longer or scales)[0]
        try:
            found += predictions([chosen], group=_group(chosen))
        except TrafficError as error:
            missing[trace] = str(error)
    return found, missing


def by_trace(every: Iterable[Volumes]) -> dict[str, list[Volumes]]:
    """Gather the timescales of each trace, the shortest first; traces in the order given."""
    found: dict[str, list[Volumes]] = {}
    for volumes in every:
        found.setdefault(volumes.trace, []).append(volumes)
    return {trace: sorted(scales, key=lambda volumes: volumes.timescale) for trace, scales in found.items()}


def _group(volumes: Volumes) -> float:
    bins = max(1, min(GROUP_BINS, len(volumes) // LEAST_GROUPS))
    return bins * volumes.timescale


def _row(item: Item, fitting: Fitting) -> dict[str, object]:
    names = [model.name for model in fitting.tail.models if model.name != PowerLaw.name]
    ratios = {name: fitting.against_power_law(name) for name in names}
    rates = item.volumes.rates()[item.volumes.state != State.GAP]
    mean = float(rates.mean())
    return {
        "trace": fitting.trace,
        "timescale_s": item.volumes.timescale,
        "samples": fitting.samples,
        "zeros": fitting.zeros,
        "mean_bps": mean,
        "cv": float(rates.std()) / mean if mean else math.nan,
        "tail": fitting.power_law.tail,
        "alpha": fitting.power_law.alpha,
        "xmin_bps": fitting.power_law.xmin,
        "best_of_tail": fitting.tail.best,
        "against_power_law": {name: {"R": ratio.normalised, "p": ratio.p} for name, ratio in ratios.items()},
        "goodness": fitting.goodness.p if fitting.goodness else None,
        "gamma": dict(fitting.whole.gammas),
        "best_of_all": fitting.whole.best,
        "anomalies": [str(anomaly) for anomaly in fitting.anomalies],
        "verdict": fitting.verdict,
        "capacity_bps": _by_rule(item.dimensioning, "capacity"),
        "exceeded": _by_rule(item.dimensioning, "exceeded"),
    }


def _by_rule(found: Dimensioning | None, what: str) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for each in found.capacities if found else ():
        table.setdefault(each.rule, {})[f"{each.eps:g}"] = getattr(each, what)
    return table
