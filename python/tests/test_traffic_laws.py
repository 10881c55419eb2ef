"""Choice of the law that fits: criteria, goodness of fit, and laws that the study does not have."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from pullnet.traffic import fit, weibull
from pullnet.traffic.fitting.criteria import Criteria, distance, plausibility
from pullnet.traffic.further import FURTHER_MODELS, Gamma, LogLogistic
from pullnet.traffic.models import MODELS, Exponential, Gaussian, LogNormal, Model, Weibull
from pullnet.traffic.sample import Floats
from tests.conftest import Pullnet

EVERY = (*MODELS, *FURTHER_MODELS)


def draws(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def test_a_shifted_exponential_is_not_called_exponential() -> None:
    """Its Q-Q plot is straight for any shift: gamma forgives a wrong place, the likelihood does not."""
    for seed in range(200):
        found = fit(10 + draws(seed).exponential(1.0, 200))
        assert found.whole.best != "exponential"
        assert "All data: exponential" not in found.verdict
        assert found.whole.behind("exponential") > 100


def test_what_is_called_the_law_is_not_contradicted_by_the_likelihood_ratio() -> None:
    # Coefficient of variation 0.12. One small value keeps the power law, which begins at the least, from fitting.
    found = fit(np.append(10 + draws(5).exponential(1.4, 2000), 0.5))
    assert found.whole.straightest == "exponential"
    assert found.whole.gammas["exponential"] > 0.95
    assert not found.fits
    assert "No model fits all data" in found.verdict
    assert "exponential has gamma" in found.verdict
    assert "its place or width is wrong" in found.verdict
    best = found.whole.best
    against = [ratio for ratio in found.whole.ratios if best in (ratio.first, ratio.second)]
    assert against
    assert all(ratio.favours in (None, best) for ratio in against)


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (LogNormal(2.0, 0.6), "log-normal"),
        (Weibull(2.2, 5.0), "Weibull"),
        (Exponential(0.2), "exponential"),
        (Gaussian(50.0, 3.0), "Gaussian"),
        (Gamma(3.0, 2.0), "gamma law"),
        (LogLogistic(4.0, 7.0), "log-logistic"),
    ],
)
def test_a_true_law_has_the_least_criterion_or_nearly_so(law: Model, name: str) -> None:
    found = [fit(law.rvs(3000, draws(seed)), models=EVERY) for seed in range(8)]
    assert sum(each.whole.best == name for each in found) >= 5
    # A Weibull of shape 1 is the exponential: one parameter more costs 2.
    assert all(each.whole.behind(name) < 12 for each in found)


def test_criteria_by_hand() -> None:
    sample = np.array([1.0, 2.0, 4.0, 8.0])
    found = fit(sample).whole.criteria["exponential"]
    likelihood = stats.expon.logpdf(sample, scale=3.75).sum()
    assert found.aic == pytest.approx(2 - 2 * likelihood)
    assert found.bic == pytest.approx(math.log(4) - 2 * likelihood)
    assert found.distance == pytest.approx(stats.kstest(sample, stats.expon(scale=3.75).cdf).statistic)


def test_goodness_of_fit_of_each_law() -> None:
    true = fit(LogNormal(2.0, 0.5).rvs(300, draws(3)), models=EVERY, bootstrap=100)
    p = {name: found.p if found.p is not None else math.nan for name, found in true.whole.criteria.items()}
    assert p["log-normal"] > 0.05
    assert p["exponential"] == 0.0
    assert p["Gaussian"] < 0.05
    assert "goodness of fit p = " in true.verdict


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("whole", [False, True])
def test_the_distance_of_a_large_sample_is_that_over_all_its_values(kind: type[Model], whole: bool) -> None:
    """A large sample is searched in blocks: none that has the largest distance may be left out."""
    for law in (LogNormal(2.0, 0.6), Weibull(0.7, 5.0), Gamma(3.0, 2.0)):
        drawn = law.rvs(20_001, draws(3))
        sample = np.sort(np.ceil(drawn) if whole else drawn)
        found = kind.fit(sample)
        share, steps = found.cdf(sample), np.arange(sample.size + 1) / sample.size
        assert distance(found, sample) == max((share - steps[:-1]).max(), (steps[1:] - share).max())


def test_a_large_sample_is_shown_to_a_law_at_few_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    cdf = LogNormal.cdf

    def counted(law: LogNormal, x: Floats) -> Floats:
        seen.append(len(x))
        return cdf(law, x)

    monkeypatch.setattr(LogNormal, "cdf", counted)
    sample = LogNormal(2.0, 0.6).rvs(100_000, draws(3))
    distance(LogNormal(2.0, 0.61), sample)
    assert sum(seen) < 20_000


@pytest.mark.parametrize("size", [16_383, 16_384, 100_000])
@pytest.mark.parametrize("shape", [0.05, 0.7, 2.2, 90.0])
def test_the_shape_of_a_large_weibull_sample_is_the_root_of_its_likelihood(size: int, shape: float) -> None:
    """A large sample is asked last: its part that is asked first gives a place to begin, not the answer."""
    x = Weibull(shape, 5.0).rvs(size, draws(size))
    found, _ = weibull.estimate(x)
    z = np.log(x) - np.log(x).max()

    def slope(c: float) -> float:
        return float(1.0 / c - z @ np.exp(c * z) / np.exp(c * z).sum() + z.mean())

    assert found == pytest.approx(optimize.brentq(slope, 0.5 * shape, 2.0 * shape, xtol=1e-15, rtol=1e-14), rel=1e-12)


def test_p_values_of_a_true_law_are_spread_evenly() -> None:
    values = []
    for seed in range(60):
        sample = Gamma(2.0, 1.0).rvs(80, draws(seed))
        law = Gamma.fit(sample)
        judged = plausibility(law, 80, Criteria(0.0, 0.0, distance(law, sample)), 60, seed)
        assert judged.p is not None
        values.append(judged.p)
    assert stats.kstest(values, "uniform").pvalue > 0.01


def test_the_gamma_law_is_that_of_scipy() -> None:
    sample = draws(4).gamma(2.5, 3.0, 4000)
    law = Gamma.fit(sample)
    shape, _, scale = stats.gamma.fit(sample, floc=0)
    assert (law.shape, law.scale) == pytest.approx((shape, scale), rel=1e-6)
    x = np.array([0.1, 1.0, 20.0, 900.0])
    reference = stats.gamma(law.shape, scale=law.scale)
    assert law.logpdf(x) == pytest.approx(reference.logpdf(x))
    assert law.logsf(x) == pytest.approx(reference.logsf(x), rel=1e-9)
    shares = np.array([0.001, 0.3, 0.95, 1 - 1e-9])
    assert law.ppf(shares) == pytest.approx(reference.ppf(shares), rel=1e-7)
    assert (law.mean(), law.var()) == pytest.approx((reference.mean(), reference.var()))
    assert law.evidence.standard_errors["shape"] == pytest.approx(0.05, rel=0.15)


def test_the_log_logistic_law_is_that_of_scipy() -> None:
    sample = stats.fisk.rvs(4.0, scale=7.0, size=4000, random_state=draws(6))
    law = LogLogistic.fit(sample)
    shape, _, scale = stats.fisk.fit(sample, floc=0)
    assert (law.shape, law.scale) == pytest.approx((shape, scale), rel=1e-3)
    reference = stats.fisk(law.shape, scale=law.scale)
    assert law.logpdf(sample).sum() >= stats.fisk.logpdf(sample, shape, scale=scale).sum() - 1e-9
    x = np.array([0.1, 1.0, 20.0, 1e3])
    assert law.logpdf(x) == pytest.approx(reference.logpdf(x))
    assert law.logsf(x) == pytest.approx(reference.logsf(x))
    shares = np.array([0.001, 0.3, 0.95, 1 - 1e-9])
    assert law.ppf(shares) == pytest.approx(reference.ppf(shares), rel=1e-6)
    assert (law.mean(), law.var()) == pytest.approx((reference.mean(), reference.var()))


@pytest.mark.parametrize("law", [Gamma(3.0, 2.0, xmin=9.0), LogLogistic(4.0, 7.0, xmin=8.0)])
def test_tails_are_found_again_and_integrate_to_one(law: Gamma | LogLogistic) -> None:
    sample = law.rvs(40_000, draws(8))
    assert sample.min() >= law.xmin
    found = type(law).fit_tail(sample, law.xmin)
    assert found.evidence.log_likelihood >= law.logpdf(sample).sum() - 1e-6
    errors = found.evidence.standard_errors
    assert abs(found.shape - law.shape) < 4 * errors["shape"]
    assert abs(found.scale - law.scale) < 4 * errors["scale"]
    assert law.mean() == pytest.approx(sample.mean(), rel=0.02)
    grid = law.isf(np.geomspace(1e-9, 1.0, 20_001))[::-1]
    assert np.trapezoid(law.pdf(grid), grid) == pytest.approx(1.0, abs=1e-4)
    assert law.logsf(law.isf(np.array([1e-5, 0.5]))) == pytest.approx(np.log([1e-5, 0.5]))


def test_the_gamma_law_far_out() -> None:
    law = Gamma(2.0, 1.0)
    assert law.logsf(np.array([2000.0]))[0] == pytest.approx(math.log(2001) - 2000, rel=1e-9)
    far = Gamma(2.0, 1.0, xmin=1500.0)
    assert far.logsf(far.isf(np.array([0.01])))[0] == pytest.approx(math.log(0.01), rel=1e-6)


def test_the_command_fits_all_laws(pullnet: Pullnet, tmp_path) -> None:  # type: ignore[no-untyped-def]
    rows = "".join(f"{300 * i},{value:.3f}\n" for i, value in enumerate(Gamma(3.0, 2e6).rvs(600, draws(2))))
    (tmp_path / "a.csv").write_text("time,bytes\n" + rows)
    done = pullnet("traffic", "fit", "a.csv", "--all-laws")
    assert done.returncode == 0, done.stderr
    assert "gamma law" in done.stdout
    assert "AIC+" in done.stdout
    assert pullnet("traffic", "fit", "a.csv", "--all-laws", "--models", "gamma").returncode == 2
    assert pullnet("traffic", "fit", "a.csv", "--models", "gamma,loglogistic").returncode == 0


@pytest.mark.filterwarnings("ignore")
def test_the_package_powerlaw_caps_alpha_and_so_trusts_the_log_normal() -> None:
    """Of a true power law of exponent 5 its default range keeps 3, and its ratio decides against the power law."""
    import powerlaw

    from pullnet.traffic.models import PowerLaw

    sample = PowerLaw(5.0, 1.0).rvs(2000, draws(1))
    theirs = powerlaw.Fit(sample, xmin=1.0, verbose=0)
    assert theirs.power_law.alpha == pytest.approx(3.0, abs=1e-6)
    ratio, p = theirs.distribution_compare("power_law", "lognormal", normalized_ratio=True)
    assert ratio < -10 and p < 1e-9
    ours = PowerLaw.fit_tail(sample, 1.0)
    assert ours.alpha == pytest.approx(5.0, abs=0.3)
