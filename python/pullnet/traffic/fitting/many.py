"""Many traces, at several timescales each."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pullnet.arguments import typed
from pullnet.traffic.fitting.correlation import variation
from pullnet.traffic.fitting.result import Fitting, fit
from pullnet.traffic.models import MODELS, Model
from pullnet.traffic.sample import SampleError
from pullnet.traffic.volumes import Volumes


@dataclass(frozen=True)
class Unfitted:
    """A trace at a timescale that nothing can be fitted to."""

    trace: str
    timescale: float
    samples: int
    reason: str


@typed
def fit_many(
    volumes: Iterable[Volumes | Callable[[], Volumes]],
    *,
    models: Sequence[type[Model]] = MODELS,
    bootstrap: int = 0,
    seed: int = 1,
    threads: int = 1,
    capacity: float | None = None,
) -> list[Fitting | Unfitted]:
    """Fit every trace and timescale, in the order given; what cannot be fitted is told with its reason.

    Functions that make volumes are called when their turn comes, so that not all need to be in memory. With `threads`
    several are fitted at once; the results do not depend on it.
    """

    def one(item: Volumes | Callable[[], Volumes]) -> Fitting | Unfitted:
        data = item if isinstance(item, Volumes) else item()
        try:
            return fit(data, models=models, bootstrap=bootstrap, seed=seed, capacity=capacity)
        except SampleError as error:
            return Unfitted(data.trace, data.timescale, len(data.sample()), str(error))

    if threads <= 1:
        return [one(item) for item in volumes]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, volumes))


def gamma_variation(fittings: Iterable[Fitting]) -> Mapping[str, Mapping[str, float]]:
    """`v_gamma` of each trace and model: the standard deviation of gamma over the timescales of the trace."""
    gammas: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for fitting in fittings:
        for name, value in fitting.whole.gammas.items():
            gammas[fitting.trace][name].append(value)
    return {trace: {name: variation(values) for name, values in rows.items()} for trace, rows in gammas.items()}
