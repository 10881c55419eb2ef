"""Fits of power laws and their alternatives: known laws, published samples, the package powerlaw, wrong input."""

import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from pullnet import traffic
from pullnet.cli import status
from pullnet.traffic import Exponential, Gaussian, LogNormal, PowerLaw, TrafficError, Weibull
from pullnet.traffic.fitting import (
    Unfitted,
    fit,
    fit_many,
    fit_power_law,
    gamma,
    gamma_variation,
    likelihood_ratio,
    recovery,
    repeats_for,
)
from pullnet.traffic.model import Model
from pullnet.traffic.volumes import State, Volumes

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    powerlaw = pytest.importorskip("powerlaw")


def draw(model: Model, size: int, seed: int = 1) -> Any:
    return model.rvs(size, np.random.default_rng(seed))


def published(name: str) -> Any:
    """A sample of the paper, from the package powerlaw or the folder that PULLNET_DATA names."""
    folder = os.environ.get("PULLNET_DATA")
    path = Path(folder, "powerlaw", f"{name}.txt") if folder else None
    if path is not None and path.exists():
        return np.loadtxt(path)
    return np.asarray(powerlaw.load_test_dataset(name), dtype=float)


def theirs(sample: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return powerlaw.Fit(sample, verbose=0, **options)


# Table 6.1 of Clauset, Shalizi and Newman: xmin, alpha and its error, values in the tail.
PAPER = {
    "words": (True, 7, 1.95, 0.02, 2958),
    "blackouts": (False, 230e3, 2.3, 0.3, 59),
    "cities": (False, 52.46e3, 2.37, 0.08, 580),
    "terrorism": (True, 12, 2.4, 0.2, 547),
    "flares": (False, 323, 1.79, 0.02, 1711),
}


@pytest.mark.parametrize("name", PAPER)
def test_published_samples(name: str) -> None:
    discrete, xmin, alpha, error, tail = PAPER[name]
    fitted = fit_power_law(published(name), discrete=discrete, distance="before steps")
    assert fitted.xmin == pytest.approx(xmin, rel=1e-3)
    assert fitted.tail == tail
    assert abs(fitted.alpha - alpha) < error
    both = fit_power_law(published(name), discrete=discrete)
    assert both.xmin == pytest.approx(xmin, rel=0.01)  # only that of the cities differs: 52648 and 52457


@pytest.mark.parametrize("name", PAPER)
def test_powerlaw_gives_the_same(name: str) -> None:
    discrete = PAPER[name][0]
    sample = published(name)
    fitted = fit_power_law(sample, discrete=discrete, distance="before steps")
    other = theirs(sample, discrete=discrete, **({} if sample.size < 10_000 else {"xmin": fitted.xmin}))
    # Of whole numbers powerlaw estimates approximately, and searches to 1e-4.
    tolerance = 2e-3 if discrete else 1e-9
    assert other.xmin == fitted.xmin
    assert other.power_law.alpha == pytest.approx(fitted.alpha, rel=tolerance)
    distance = other.power_law.D
    assert distance == pytest.approx(fitted.distance, rel=0.03 if discrete else 1e-9)


@pytest.mark.parametrize("alpha", [2.0, 2.7])
def test_powerlaw_finds_the_same_xmin(alpha: float) -> None:
    body = draw(LogNormal(0.0, 0.4), 700)
    sample = np.concatenate([body[body < 1.5], draw(PowerLaw(alpha, 1.5), 400)])
    fitted, other = fit_power_law(sample, distance="before steps"), theirs(sample)
    assert (other.xmin, other.n_tail) == (fitted.xmin, fitted.tail)
    assert (other.alpha, other.D) == pytest.approx((fitted.alpha, fitted.distance), rel=1e-9)


def test_powerlaw_measures_the_distance_on_one_side_of_the_steps() -> None:
    sample = np.asarray([1.0, 3.0])
    fitted = fit_power_law(sample, xmin=1.0)
    true = stats.kstest(sample, PowerLaw(fitted.alpha, 1.0).cdf).statistic
    assert fitted.distance == pytest.approx(true, rel=1e-12)
    assert true == pytest.approx(0.5)  # after the first step: the model has nothing there yet, the data half
    one_sided = theirs(sample, xmin=1.0).power_law.D
    assert one_sided == pytest.approx(0.5 - math.exp(-2.0))
    assert fit_power_law(sample, xmin=fitted.xmin, distance="before steps").distance == pytest.approx(one_sided)


def test_powerlaw_is_approximate_where_values_are_whole_and_xmin_is_10_or_more() -> None:
    sample = published("terrorism")
    tail = sample[sample >= 12]
    ours, other = fit_power_law(sample, xmin=12, discrete=True), theirs(sample, xmin=12, discrete=True).power_law.alpha

    def likelihood(alpha: float) -> float:
        return float(-alpha * np.log(tail).sum() - tail.size * np.log(special.zeta(alpha, 12)))

    assert abs(other - ours.alpha) > 1e-3
    assert likelihood(ours.alpha) > likelihood(other)
    assert likelihood(ours.alpha) >= max(likelihood(ours.alpha + step) for step in (-1e-6, 1e-6))


def test_powerlaw_takes_a_nested_model_for_needed_whatever_the_sign() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from powerlaw.statistics import loglikelihood_ratio

    # A general model that is a little worse, which can only be its optimiser's fault, comes out as significant.
    ratio, p = loglikelihood_ratio(np.full(50, 0.1), np.full(50, 0.0), nested=True)
    assert ratio == pytest.approx(5.0) and p < 0.01
    sample = draw(Exponential(1.0), 2_000) + 1e-9
    found = likelihood_ratio(Exponential.fit(sample), Weibull.fit(sample), sample)
    assert found.nested == "exponential" and found.ratio <= 0
    assert found.p_nested == pytest.approx(stats.chi2.sf(-2 * found.ratio, 1), rel=1e-9)


def test_powerlaw_caps_alpha_at_3_and_so_trusts_the_log_normal() -> None:
    sample = draw(PowerLaw(5.0, 1.0), 2_000)
    other = theirs(sample, xmin=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ratio, p = other.distribution_compare("power_law", "lognormal", normalized_ratio=True)
    assert other.power_law.alpha == pytest.approx(3.0)
    assert ratio < -15 and p < 1e-50
    ours = fit_power_law(sample, xmin=1.0)
    assert ours.alpha == pytest.approx(5.0, abs=0.2)
    found = likelihood_ratio(PowerLaw(ours.alpha, 1.0), LogNormal.fit_tail(sample, 1.0), sample)
    assert abs(found.normalised) < 1.6, "neither law is trusted"
    page = (Path(__file__).parents[2] / "docs" / "traffic.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `alpha` above 3 |"))
    assert "capped at 3" in row and f"its R is {ratio:.0f}" in row


@pytest.mark.parametrize("name", ["words", "cities", "blackouts", "flares"])
def test_a_log_normal_tail_is_at_least_as_likely_as_that_of_powerlaw(name: str) -> None:
    sample = published(name)
    law = fit_power_law(sample, distance="before steps")
    tail = sample[sample >= law.xmin]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs(sample, xmin=law.xmin).lognormal
        theirs_likelihood = LogNormal(float(other.mu), float(other.sigma), law.xmin).logpdf(tail).sum()
    assert LogNormal.fit_tail(sample, law.xmin).evidence.log_likelihood >= float(theirs_likelihood) - 1e-6


def test_a_ratio_is_that_of_the_formula() -> None:
    sample = draw(LogNormal(1.0, 0.5), 300)
    first, second = LogNormal.fit(sample), Weibull.fit(sample)
    found = likelihood_ratio(first, second, sample)
    differences = first.logpdf(sample) - second.logpdf(sample)
    deviation = math.sqrt(float(((differences - differences.mean()) ** 2).mean()))
    assert found.ratio == pytest.approx(float(differences.sum()))
    assert found.p == pytest.approx(float(special.erfc(abs(found.ratio) / (math.sqrt(2 * 300) * deviation))))
    assert found.reversed().normalised == -found.normalised


LAWS: list[Model] = [LogNormal(19.0, 0.3), Weibull(2.0, 1e8), Gaussian(1e8, 2e7), PowerLaw(2.5, 1e8)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_law_that_made_the_samples_is_the_best_on_all_data(law: Model) -> None:
    best = [fit(np.abs(draw(law, 9_000, seed))).whole.best for seed in range(10)]
    assert best == [law.name] * 10


def within(count: int, repeats: int, probability: float) -> bool:
    low, high = recovery.bounds(repeats, probability)
    return low <= count <= high


def test_false_alarms_are_as_rare_as_p_says() -> None:
    assert within(recovery.false_alarms(500, 300), 300, 0.1)


def test_a_true_power_law_is_rejected_once_in_ten() -> None:
    # p is one of 101 numbers; 11 of them are 0.1 or less.
    assert recovery.implausible(PowerLaw(2.5, 1.0), 300, 200) <= recovery.bounds(200, 11 / 101)[1]


@pytest.mark.parametrize(("law", "name"), [(LAWS[0], "mu"), (LAWS[1], "shape"), (LAWS[2], "sigma"), (LAWS[3], "alpha")])
def test_the_truth_is_within_two_standard_errors_in_95_percent(law: Model, name: str) -> None:
    assert within(recovery.covered(law, name, 400, 300), 300, 0.95)


def test_the_ratio_finds_a_tail_that_is_no_power_law() -> None:
    cut = LogNormal(0.0, 0.5, 1.0)  # all of it above its median: the search keeps much of it
    assert recovery.favoured(cut, "log-normal", 20_000, 5)["power law"] == 0
    assert recovery.favoured(PowerLaw(2.5, 1.0), "exponential", 2_000, 20) == {"power law": 20}
    assert recovery.best_models(LAWS[1], 2_000, 5) == {"Weibull": 5}


def test_gamma_is_that_of_a_qq_plot() -> None:
    sample = draw(LogNormal(3.0, 0.5), 200)
    shares = np.arange(1, 201) / 201
    expected = np.corrcoef(np.sort(sample), np.exp(3.0 + 0.5 * special.ndtri(shares)))[0, 1]
    assert gamma(LogNormal(3.0, 0.5), sample) == pytest.approx(float(expected), rel=1e-12)


def test_masses_near_zero_and_at_capacity_fit_nothing() -> None:
    normal = draw(LogNormal(19.0, 0.3), 9_000)
    out, clipped = normal.copy(), np.minimum(normal, np.quantile(normal, 0.94))
    out[1000:1500] = 0.0
    assert fit(normal).fits
    for sample, words in (out, "near zero"), (clipped, "at capacity"):
        found = fit(sample)
        assert not found.fits
        assert found.verdict.startswith("No model fits, because ") and words in found.verdict
    assert fit(out).zeros == 500


def series(trace: str, values: Any, timescale: float = 1.0, **states: Any) -> Volumes:
    state = np.zeros(len(values), dtype=np.uint8)
    for name, where in states.items():
        state[where] = State[name.upper()]
    return Volumes(trace, timescale, 0.0, np.asarray(values, dtype=float), state)


def test_volumes_are_fitted_as_rates_and_gaps_are_no_samples() -> None:
    values = draw(LogNormal(12.0, 0.4), 500)
    whole = fit(series("a", values, 0.1))
    assert whole.power_law.xmin == pytest.approx(80 * fit(values).power_law.xmin)
    values[:20] = 0.0
    gaps = fit(series("a", values, 0.1, gap=slice(0, 20)))
    assert (gaps.samples, gaps.gaps, gaps.zeros) == (480, 20, 0)
    values[:20] = 1000.0
    marked = fit(series("a", values, 0.1, outage=slice(0, 20)))
    assert "the link was out" in marked.verdict


def test_many_are_the_same_with_threads_and_say_what_could_not_be_fitted() -> None:
    items = [series(f"t{i}", draw(LogNormal(12.0, 0.4), 300, i), scale) for i in range(3) for scale in (1.0, 5.0)]
    items.append(series("constant", np.full(9, 7.0)))
    one, two = fit_many(items, bootstrap=20), fit_many(iter(items), bootstrap=20, threads=2)
    assert [str(item) for item in one] == [str(item) for item in two]
    refused = one[-1]
    assert isinstance(refused, Unfitted)
    assert refused.reason == "constant at 1 s: all 9 values are 56; a fit needs at least 2 different values"
    fitted = [item for item in one if not isinstance(item, Unfitted)]
    assert 0 <= gamma_variation(fitted)["t0"]["log-normal"] < 0.1


def test_bootstrap_is_stated_and_repeatable() -> None:
    sample = draw(PowerLaw(2.5, 1.0), 400)
    one, same, other = (
        fit(sample, bootstrap=50, seed=seed, threads=threads) for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    assert (one.uncertainty, one.goodness) == (same.uncertainty, same.goodness)
    assert one.uncertainty != other.uncertainty
    assert one.goodness is not None and one.goodness.repeats == 50
    assert one.goodness.precision == pytest.approx(0.0707, abs=1e-4)
    assert (repeats_for(0.01), repeats_for(0.05)) == (2500, 100)


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "empty": ([], {}, "sample: is empty; give at least 2 different values"),
    "one": ([4.0], {}, "sample: has one value, 4; a fit needs at least 2 different values"),
    "constant": ([7.0] * 5, {}, "sample: all 5 values are 7; a fit needs at least 2 different values"),
    "zeros": ([0.0] * 5, {}, "sample: no value is left; a fit needs at least 2 different values"),
    "nan": ([1.0, math.nan], {}, "sample, value 1: is nan; drop what was not measured before fitting"),
    "inf": ([math.inf, 1.0], {}, "sample, value 0: is inf; drop it or give its true value"),
    "negative": ([1.0, -2.0, -3.0], {}, "sample, value 1: is -2 (and 1 more); a volume is at least 0"),
    "text": (["1", "x"], {}, "sample: value 1 is 'x'; give a series of numbers"),
    "repeats": ([1.0, 2.0], {"bootstrap": -1}, "bootstrap: -1 repeats of a bootstrap; use 1 to 10000000, such as 2500"),
    "large": ([1e200, 1.0], {}, "sample, value 0: is 1e+200; use 0 or 1e-150 to 1e150"),
    "tiny": ([1.0, 1e-200], {}, "sample, value 1: is 1e-200; use 0 or 1e-150 to 1e150"),
    "seed": ([1.0, 2.0], {"bootstrap": 5, "seed": -1}, "seed: -1 is no seed; use 0 to 18446744073709551615"),
    "trace": ([1.0], {"trace": "uplink"}, "uplink: has one value, 1; a fit needs at least 2 different values"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_samples(name: str) -> None:
    sample, options, text = BAD[name]
    with pytest.raises(TrafficError) as error:
        fit(sample, **options)
    assert str(error.value) == text


def test_other_wrong_questions() -> None:
    with pytest.raises(TrafficError, match=r"value 1 is 2.5; a discrete power law has whole numbers from 1 to 1e15"):
        fit_power_law([1.0, 2.5], discrete=True)
    with pytest.raises(TrafficError, match=r"precision: 0 is no precision; use 0.0002 to 0.5, such as 0.01"):
        repeats_for(0.0)
    with pytest.raises(
        TrafficError, match=r"sample above xmin 9: fewer than 2 different values are left; use a smaller"
    ):
        fit_power_law([1.0, 2.0], xmin=9)
    with pytest.raises(traffic.TrafficError) as error:
        fit(series("out", np.zeros(5), gap=slice(0, 5)))
    assert str(error.value) == "out: has no samples, only gaps; give at least 2 different values"


def test_two_distinct_values_are_fitted() -> None:
    found = fit([1.0, 2.0, 2.0, 1.0], bootstrap=10)
    assert found.power_law.tail == 4 and "fewer than 50 values are few" in found.verdict


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{i * 300},{value:.0f}" for i, value in enumerate(draw(LogNormal(20.0, 0.4), 400)))
    Path("link.csv").write_text(f"time_s,uplink_bytes\n{rows}\n", encoding="utf-8")
    return Path("link.csv")


def test_command(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["traffic", "fit", str(table), "--bootstrap", "50"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "All data: log-normal (gamma" in shown and "(bootstrap, 50 repeats, seed 1)" in shown
    assert status(["traffic", "fit", str(table), "--json", "--models", "lognormal,weibull", "--precision", "0.1"]) == 0
    found = json.loads(capsys.readouterr().out)["fits"][0]
    assert [model["name"] for model in found["tail"]["models"]] == ["log-normal", "Weibull", "power law"]
    assert found["goodness"]["repeats"] == 25 and found["all_data"]["best"] == "log-normal"


WRONG = {
    (
        "--models",
        "pareto",
    ): "--models: `pareto` is no model; use some of log-normal, weibull, exponential, gaussian, power law, gamma, "
    "log-logistic",
    ("--bootstrap", "0"): "--bootstrap: 0 repeats; use 1 or more, such as 2500",
    ("--bootstrap", "5", "--precision", "0.1"): "--bootstrap and --precision are both given; give one of them",
    ("--precision", "2"): "--precision: 2 is no precision; use 0.0002 to 0.5, such as 0.01",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options(options: tuple[str, ...], table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["traffic", "fit", str(table), *options]) == 2
    assert WRONG[options] in " ".join(capsys.readouterr().err.split())


def test_a_file_that_cannot_be_fitted(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"{i * 300},5" for i in range(9))
    Path("flat.csv").write_text(f"time_s,down_bytes\n{rows}\n", encoding="utf-8")
    assert status(["traffic", "fit", "flat.csv"]) == 2
    assert "needs at least 2 different values" in capsys.readouterr().err
    assert status(["traffic", "fit", "flat.csv", str(table)]) == 3
    captured = capsys.readouterr()
    assert "not fitted: " in captured.err and "log-normal" in captured.out
