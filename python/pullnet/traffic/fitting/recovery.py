"""How often the methods are right where the truth is known: samples drawn from a law, fitted as if it were unknown.

Counts are compared with the bounds of a binomial law; see `bounds`. Every repeat has a random stream of its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import stats

from pullnet.traffic.fitting.powerlaw import PowerLawSearch
from pullnet.traffic.fitting.ratios import TRUSTED, likelihood_ratio
from pullnet.traffic.fitting.result import fit
from pullnet.traffic.models import Exponential, Model, Weibull
from pullnet.traffic.sample import Floats


def bounds(repeats: int, probability: float, confidence: float = 0.999) -> tuple[int, int]:
    """Between which counts a binomial one lies with `confidence`."""
    rest = 0.5 * (1.0 - confidence)
    low, high = stats.binom.ppf([rest, 1.0 - rest], repeats, probability)
    return int(low), int(high)


def draws(law: Model, size: int, repeats: int, seed: int) -> Iterator[Floats]:
    """Samples of a law, negative values of a Gaussian turned round."""
    for number in range(repeats):
        yield np.abs(law.rvs(size, np.random.default_rng([seed, number])))


def best_models(law: Model, size: int, repeats: int, *, seed: int = 1) -> Mapping[str, int]:
    """How often each model is the best on all data of samples of `law`."""
    return Counter(fit(sample).whole.straightest for sample in draws(law, size, repeats, seed))


def favoured(law: Model, other: str, size: int, repeats: int, *, seed: int = 1) -> Mapping[str | None, int]:
    """How often the ratio above `xmin` favours the power law, the `other` model, or neither."""
    return Counter(fit(sample).against_power_law(other).favours for sample in draws(law, size, repeats, seed))


def implausible(law: Model, size: int, repeats: int, *, bootstrap: int = 100, seed: int = 1, threads: int = 1) -> int:
    """Samples of `law` whose power law is rejected (p of 0.1 or less): a tenth, if `law` is a power law."""
    count = 0
    for number, sample in enumerate(draws(law, size, repeats, seed)):
        search = PowerLawSearch(sample)
        count += not search.goodness(search.fit(), bootstrap, seed=number, threads=threads).plausible
    return count


def false_alarms(size: int, repeats: int, *, seed: int = 1) -> int:
    """Exponential samples for which the nested test calls a Weibull needed: a tenth, if its p-value is right."""
    count = 0
    for sample in draws(Exponential(1.0), size, repeats, seed):
        positive = sample[sample > 0]
        ratio = likelihood_ratio(Exponential.fit(positive), Weibull.fit(positive), positive)
        count += ratio.p_nested is not None and ratio.p_nested < TRUSTED
    return count


def covered(law: Model, parameter: str, size: int, repeats: int, *, seed: int = 1) -> int:
    """Samples whose estimate is within 1.96 standard errors of the truth: 95%, if the errors are right."""
    count, truth = 0, float(getattr(law, parameter))
    for sample in draws(law, size, repeats, seed):
        fitted = type(law).fit_tail(sample, law.support) if law.support > 0 else type(law).fit(sample)
        count += abs(getattr(fitted, parameter) - truth) < 1.96 * fitted.evidence.standard_errors[parameter]
    return count
