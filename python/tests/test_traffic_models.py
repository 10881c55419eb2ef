"""Models of volumes against scipy, against their own laws, and against inputs that nothing can be fitted to."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from pullnet.traffic import halfline
from pullnet.traffic.models import MODELS, Exponential, Gaussian, LogNormal, Model, PowerLaw, Weibull
from pullnet.traffic.sample import SampleError

SHARES = [1e-9, 1e-3, 0.1, 0.5, 0.95, 0.999]
TAILS: list[Model] = [
    LogNormal(3.0, 0.7, 30.0),
    LogNormal(-40.0, 5.0, 30.0),
    Weibull(0.6, 4.0, 28.0),
    Weibull(3.0, 20.0, 28.0),
    Exponential(0.05, 28.0),
    Gaussian(20.0, 5.0, 28.0),
    Gaussian(20.0, 5.0, 12.0),
    PowerLaw(4.5, 28.0),
]
WHOLE: list[Model] = [LogNormal(3.0, 0.7), Weibull(1.4, 28.0), Exponential(0.04), Gaussian(25.0, 6.0)]


def draw(model: Model, size: int, seed: int = 1) -> Any:
    return model.rvs(size, np.random.default_rng(seed))


@pytest.mark.parametrize("model", TAILS + WHOLE, ids=repr)
def test_quantile_density_survival_and_moments_belong_together(model: Model) -> None:
    assert model.cdf(model.ppf(SHARES)) == pytest.approx(SHARES, rel=1e-6)
    assert model.sf(model.isf(SHARES)) == pytest.approx(SHARES, rel=1e-9)
    low, high = float(model.ppf(0.02)), float(model.ppf(0.9))
    assert integrate.quad(lambda x: float(model.pdf(x)), low, high)[0] == pytest.approx(0.88, rel=1e-6)
    mean = integrate.quad(lambda q: float(model.isf(q)), 0, 1, limit=500)[0]
    assert model.mean() == pytest.approx(mean, rel=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        square = integrate.quad(lambda q: float(model.isf(q)) ** 2, 0, 1, limit=500)[0]
    assert model.var() == pytest.approx(square - mean**2, rel=0.01)


@pytest.mark.parametrize("model", TAILS + WHOLE, ids=repr)
def test_fit_finds_the_law_that_made_the_sample(model: Model) -> None:
    sample = draw(model, 40_000)
    whole = model in WHOLE
    fitted = (
        type(model).fit(np.abs(sample)) if whole else type(model).fit_tail(sample, float(getattr(model, "xmin", 0)))
    )
    for name, error in fitted.evidence.standard_errors.items():
        assert abs(getattr(fitted, name) - getattr(model, name)) < 4 * error, name


def test_whole_fits_are_those_of_scipy() -> None:
    x = draw(LogNormal(3.0, 0.5), 5_000)
    sigma, _, scale = stats.lognorm.fit(x, floc=0)
    assert (LogNormal.fit(x).mu, LogNormal.fit(x).sigma) == pytest.approx((math.log(scale), sigma), rel=1e-9)
    shape, _, scale = stats.weibull_min.fit(x, floc=0)
    assert (Weibull.fit(x).shape, Weibull.fit(x).scale) == pytest.approx((shape, scale), rel=1e-4)
    assert (Gaussian.fit(x).mu, Gaussian.fit(x).sigma) == pytest.approx(stats.norm.fit(x))
    assert 1 / Exponential.fit(x).rate == pytest.approx(stats.expon.fit(x, floc=0)[1])


@pytest.mark.parametrize("kind", [LogNormal, Weibull, Gaussian])
@pytest.mark.parametrize("source", [LogNormal(3.0, 0.5), Weibull(1.8, 30.0), Gaussian(40.0, 8.0)], ids=lambda m: m.name)
def test_no_other_parameters_make_a_tail_likelier(kind: type[Model], source: Model) -> None:
    sample = draw(source, 3_000)
    xmin = float(np.quantile(sample, 0.6))
    fitted = kind.fit_tail(sample, xmin)
    tail = sample[sample >= xmin]

    def cost(parameters: Any) -> float:
        if parameters[1] <= 0 or (kind is Weibull and parameters[0] <= 0):
            return math.inf
        return -float(kind(*map(float, parameters), xmin=xmin).logpdf(tail).sum())  # type: ignore[call-arg]

    if fitted.evidence.limit is not None:
        pytest.skip("grows towards its limit without a maximum")
    start = [getattr(fitted, name) for name in fitted.parameters]
    best = optimize.minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    assert fitted.evidence.log_likelihood >= -best.fun - 1e-6


def test_standard_errors_are_the_spread_of_the_estimates() -> None:
    for model in TAILS[0], TAILS[2], TAILS[6], TAILS[7]:
        xmin = float(model.xmin)  # type: ignore[attr-defined]
        fits = [type(model).fit_tail(draw(model, 4_000, seed), xmin) for seed in range(60)]
        for name in model.parameters:
            spread = np.std([getattr(fit, name) for fit in fits])
            said = np.median([fit.evidence.standard_errors[name] for fit in fits])
            assert spread == pytest.approx(said, rel=0.35), (model, name)


@given(a=st.floats(-30, 900), t=st.floats(0, 20))
def test_survival_far_out_is_that_of_many_digits(a: float, t: float) -> None:
    mpmath = pytest.importorskip("mpmath")  # comes with powerlaw

    with mpmath.workdps(60):
        root2 = mpmath.sqrt(2)
        share = mpmath.erfc((mpmath.mpf(a) + t) / root2) / mpmath.erfc(mpmath.mpf(a) / root2)
        expected = float(mpmath.log(share))
    assert float(halfline.log_survival(np.asarray(t), a)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    back = halfline.inverse_survival(np.asarray(expected), a)
    # Near -30 everything that matters is far from the truncation point: there only the share can be compared.
    assert float(back) == pytest.approx(t, rel=1e-7, abs=1e-9) or expected > -1e-12


def test_the_whole_law_far_out_does_not_underflow() -> None:
    model = LogNormal(0.0, 1.0)
    assert float(model.logsf(math.exp(50.0))) == pytest.approx(-1254.831360, abs=1e-5)
    assert float(model.isf(1e-300)) == pytest.approx(math.exp(37.0471), rel=1e-3)


@pytest.mark.parametrize("kind", [LogNormal, Weibull])
def test_a_tail_heavier_than_a_power_law_ends_in_the_power_law(kind: type[Model]) -> None:
    quantiles = PowerLaw(2.5, 10.0).ppf(np.arange(1, 1000) / 1000.0)
    heavier = 10.0 * (quantiles / 10.0) ** np.linspace(0.5, 1.5, quantiles.size)
    fitted, law = kind.fit_tail(heavier, 10.0), PowerLaw.fit_tail(heavier, 10.0)
    assert fitted.evidence.limit == "power law"
    assert fitted.evidence.log_likelihood == pytest.approx(law.evidence.log_likelihood, rel=1e-9)
    assert all(math.isnan(error) for error in fitted.evidence.standard_errors.values())
    assert fitted.ppf(0.9) == pytest.approx(float(law.ppf(0.9)), rel=1e-6)


def test_a_gaussian_tail_heavier_than_an_exponential_ends_in_it() -> None:
    sample = draw(PowerLaw(3.0, 10.0), 500)
    fitted = Gaussian.fit_tail(sample, 10.0)
    assert fitted.evidence.limit == "exponential"
    expected = Exponential.fit_tail(sample, 10.0).evidence.log_likelihood
    assert fitted.evidence.log_likelihood == pytest.approx(expected, rel=1e-9)


@given(power=st.integers(-12, 12))
@settings(max_examples=25)
@pytest.mark.parametrize("kind", MODELS)
def test_the_unit_does_not_matter(kind: type[Model], power: int) -> None:
    sample = draw(LogNormal(3.0, 0.5), 400)
    factor = 10.0**power
    for unit, scaled in (
        (kind.fit(sample), kind.fit(sample * factor)),
        (kind.fit_tail(sample, 25.0), kind.fit_tail(sample * factor, 25.0 * factor)),
    ):
        assert scaled.ppf(0.95) == pytest.approx(float(unit.ppf(0.95)) * factor, rel=1e-6)


def test_zeros_are_left_out_and_counted_where_the_model_has_none() -> None:
    sample = [0.0, 2.0, 0.0, 3.0, 5.0]
    for kind in MODELS:
        evidence = kind.fit(sample).evidence
        kept = kind in (Exponential, Gaussian)
        assert (evidence.samples, evidence.zeros) == ((5, 0) if kept else (3, 2)), kind
    assert Gaussian.fit(sample).mu == 2.0
    assert LogNormal.fit_tail(sample, 3.0).evidence.below == 3


BAD: dict[str, tuple[Any, str]] = {
    "empty": ([], "sample: is empty; give at least 2 different values"),
    "one": ([4.0], "sample: has one value, 4; a log-normal model needs at least 2 different values"),
    "constant but for rounding": (
        [1e9, np.nextafter(1e9, 2e9)],
        "sample: all 2 values are 1e+09 but for rounding; a log-normal model needs at least 2 different values",
    ),
    "constant": ([7.0] * 5, "sample: all 5 values are 7; a log-normal model needs at least 2 different values"),
    "zeros": ([0.0, 0.0], "sample: no value is left; a log-normal model needs at least 2 different values"),
    "nan": (
        [1.0, math.nan, math.nan],
        "sample, value 1: is nan (and 1 more); drop what was not measured before fitting",
    ),
    "inf": ([1.0, math.inf], "sample, value 1: is inf; drop it or give its true value"),
    "negative": ([1.0, -2.0], "sample, value 1: is -2; a volume is at least 0"),
    "text": (["1", "many"], "sample: value 1 is 'many'; give a series of numbers"),
    "word": ("many", "sample: is not a series of numbers; give a series of numbers"),
    "table": ([[1.0, 2.0]], "sample: has 2 dimensions; give a series of numbers"),
    "number": (3.0, "sample: has 0 dimensions; give a series of numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_samples(name: str) -> None:
    sample, text = BAD[name]
    with pytest.raises(SampleError) as error:
        LogNormal.fit(sample)
    assert str(error.value) == text


def test_bad_tails_and_quantiles() -> None:
    with pytest.raises(SampleError, match="xmin: 0 is not a positive number; a tail starts above 0"):
        LogNormal.fit_tail([1.0, 2.0], 0)
    with pytest.raises(SampleError, match=r"sample above xmin 9: no value is left; a Weibull model needs at least 2"):
        Weibull.fit_tail([1.0, 2.0], 9)
    with pytest.raises(SampleError, match=r"quantile: 1.5 is no share; use 0 to 1"):
        Exponential(1.0).ppf(1.5)


@pytest.mark.parametrize("kind", MODELS)
def test_two_values_are_enough(kind: type[Model]) -> None:
    assert math.isfinite(kind.fit([1.0, 2.0]).evidence.log_likelihood)
    assert math.isfinite(kind.fit_tail([1.0, 2.0], 1.0).evidence.log_likelihood)
