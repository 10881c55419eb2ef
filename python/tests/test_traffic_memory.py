"""Noise of known autocorrelation, Hurst exponents, tests of stationarity."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pullnet.traffic import TrafficError, Volumes, as_volumes
from pullnet.traffic.hurst import aggregated_variance, hurst, local_whittle, rescaled_range, whittle_frequencies
from pullnet.traffic.noise import autocorrelation, embed, fractional_autocorrelation, fractional_noise
from pullnet.traffic.stationary import Test as OneTest
from pullnet.traffic.stationary import Verdict, longest_stretch, memory, stationarity, unit_root_tests, verdict

EXPONENTS = (0.5, 0.6, 0.7, 0.8, 0.9)


def series(seed: int, count: int = 2000) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count)


@given(st.floats(0.01, 0.99), st.integers(1, 300))
def test_fractional_noise_can_always_be_embedded(exponent: float, count: int) -> None:
    embedding = embed(fractional_autocorrelation(count, exponent))
    assert embedding.negative == 0
    assert embedding.count == count
    assert np.mean(embedding.roots**2) == pytest.approx(1)


@pytest.mark.parametrize("exponent", [0.3, 0.5, 0.8])
def test_the_embedding_gives_back_the_autocorrelation_exactly(exponent: float) -> None:
    rho = fractional_autocorrelation(64, exponent)
    covariance = np.fft.ifft(embed(rho).roots ** 2).real[:64]
    np.testing.assert_allclose(covariance, rho, atol=1e-12)


def test_drawn_noise_has_the_covariance_that_was_asked_for() -> None:
    # 20,000 draws of 8 samples: a covariance is off by about 1/sqrt(20000) = 0.007; 5 of these is the bound.
    embedding = embed(fractional_autocorrelation(8, 0.8))
    rng = np.random.default_rng(5)
    draws = np.array([embedding.draw(rng) for _ in range(20_000)])
    wanted = fractional_autocorrelation(8, 0.8)[np.abs(np.subtract.outer(np.arange(8), np.arange(8)))]
    np.testing.assert_allclose(draws.T @ draws / len(draws), wanted, atol=5 * 0.0071 * np.sqrt(2))


def test_an_impossible_autocorrelation_says_what_was_cut_off() -> None:
    embedding = embed(np.array([1.0, 0.9, -0.9, 0.9]))
    assert embedding.negative > 0.1
    assert np.mean(embedding.roots**2) == pytest.approx(1)


@pytest.mark.parametrize("exponent", [0, 1, -0.5, float("nan")])
def test_a_hurst_exponent_lies_between_0_and_1(exponent: float) -> None:
    with pytest.raises(TrafficError, match="use a number between 0 and 1"):
        fractional_noise(10, exponent, np.random.default_rng(0))


@given(st.integers(0, 2**32), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_autocorrelation_does_not_depend_on_level_and_unit(seed: int, level: float, unit: float) -> None:
    values = series(seed, 100)
    np.testing.assert_allclose(autocorrelation(level + unit * values, 20), autocorrelation(values, 20), atol=1e-4)


def test_autocorrelation_by_hand() -> None:
    # Mean 2.5; deviations -1.5 -0.5 0.5 1.5; sum of squares 5; lag 1: 0.75 - 0.25 + 0.75 = 1.25; lag 3: -2.25.
    np.testing.assert_allclose(autocorrelation(np.array([1.0, 2, 3, 4]), 3), [1, 0.25, -0.3, -0.45])


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_local_whittle_recovers_the_exponent(exponent: float) -> None:
    # 30 series of 4096 samples: the mean lies within 3 standard errors, which are 1/(2 sqrt(m)) / sqrt(30), and the
    # spread is what theory says within a third.
    rng = np.random.default_rng(7)
    embedding = embed(fractional_autocorrelation(4096, exponent))
    found = np.array([local_whittle(embedding.draw(rng)) for _ in range(30)])
    error = 0.5 / np.sqrt(whittle_frequencies(4096))
    assert abs(found.mean() - exponent) < 3 * error / np.sqrt(30)
    assert found.std(ddof=1) == pytest.approx(error, rel=1 / 3)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_older_estimators_are_biased_as_known(exponent: float) -> None:
    # Means of n samples share the error of the overall mean: aggregated variance is low, the more so for large H;
    # R/S is high for small H (Anis and Lloyd 1976) and low for large. Bounds: 0.06 either way up to 0.8, 0.08 at 0.9.
    rng = np.random.default_rng(8)
    embedding = embed(fractional_autocorrelation(4096, exponent))
    draws = [embedding.draw(rng) for _ in range(20)]
    variance = np.mean([aggregated_variance(draw) for draw in draws])
    ratio = np.mean([rescaled_range(draw) for draw in draws])
    bound = 0.08 if exponent > 0.85 else 0.06
    assert -bound < variance - exponent < 0.01
    assert abs(ratio - exponent) < bound


def test_exponents_order_series_by_memory() -> None:
    rng = np.random.default_rng(9)
    found = [hurst(fractional_noise(8192, exponent, rng)) for exponent in (0.5, 0.7, 0.9)]
    for method in ("aggregated_variance", "rescaled_range", "local_whittle"):
        assert all(getattr(low, method) < getattr(high, method) for low, high in pairwise(found))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.arange(100.0), "100 samples are too few for a Hurst exponent; give at least 208"),
        (np.full(300, 3.0), "all samples are equal; a constant has no Hurst exponent"),
        (np.append(series(0), np.nan), "has samples that are no number; give the longest stretch without gaps"),
    ],
)
def test_series_without_an_exponent(values: np.ndarray, text: str) -> None:
    with pytest.raises(TrafficError) as error:
        hurst(values)
    assert str(error.value) == text


def test_a_random_walk_has_a_unit_root_and_white_noise_has_none() -> None:
    # At 5 % each test errs on 5 % of series that its null hypothesis describes: 40 series, at most 8 wrong (p < 0.001).
    rng = np.random.default_rng(10)
    steps = rng.standard_normal((40, 500))
    walks = [verdict(unit_root_tests(np.cumsum(step))) for step in steps]
    noises = [verdict(unit_root_tests(step)) for step in steps]
    assert sum(found is not Verdict.UNIT_ROOT for found in walks) <= 8
    assert sum(found is not Verdict.STATIONARY for found in noises) <= 8


def test_a_shift_of_the_level_is_a_change() -> None:
    # By half a deviation; a large shift looks like a unit root to ADF (Perron 1989).
    values = series(3) + np.repeat([0.0, 0.5], 1000)
    assert verdict(unit_root_tests(values)) is Verdict.CHANGING


def one(name: str, rejected: bool) -> OneTest:
    return OneTest(name, 0.0, 0.0, 0, rejected)


@pytest.mark.parametrize(
    ("adf", "pp", "kpss", "wanted"),
    [
        (True, True, False, Verdict.STATIONARY),
        (True, True, True, Verdict.CHANGING),
        (False, False, True, Verdict.UNIT_ROOT),
        (False, False, False, Verdict.UNDECIDED),
        (True, False, False, Verdict.UNDECIDED),
        (False, True, True, Verdict.UNDECIDED),
    ],
)
def test_verdicts(adf: bool, pp: bool, kpss: bool, wanted: Verdict) -> None:
    assert verdict((one("ADF", adf), one("Phillips-Perron", pp), one("KPSS", kpss))) is wanted


@pytest.mark.parametrize("count", [130, 180, 207, 208])
def test_a_short_series_is_tested_though_it_shows_no_exponent(count: int) -> None:
    volumes = Volumes("short", 5.0, 0.0, np.exp(series(1)[:count]), np.zeros(count, np.uint8))
    found = stationarity(volumes, windows=())
    assert len(found.windows[0].tests) == 3
    assert (found.memory.hurst is None) == (count < 208)


def test_a_series_that_changes_at_its_very_end_only_shows_no_exponent() -> None:
    assert memory(np.append(np.zeros(208), 5.0)).hurst is None


def test_a_constant_is_stationary_without_a_test() -> None:
    assert unit_root_tests(np.full(60, 2.0)) == ()
    assert verdict(()) is Verdict.STATIONARY


def volumes(values: np.ndarray, **options: object) -> Volumes:
    return as_volumes(values, timescale=1.0, missing="gap")[0]


def test_windows_cover_the_trace_and_gaps_are_left_out() -> None:
    values = np.abs(series(4, 1000)) * 1e6
    values[100] = np.nan
    found = stationarity(volumes(values))
    assert (found.samples, found.left_out) == (899, 101)
    assert found.lengths() == [899, 224, 56]
    assert [sum(found.verdicts(length).values()) for length in found.lengths()] == [1, 4, 16]
    assert found.windows[1].start == 101


def test_long_windows_are_joined_to_means() -> None:
    found = stationarity(volumes(np.abs(series(4, 45_000))), windows=[])
    assert [(window.samples, window.joined, window.verdict) for window in found.windows] == [
        (45_000, 3, Verdict.STATIONARY)
    ]


def test_the_longest_stretch_begins_where_it_does() -> None:
    start, values = longest_stretch(volumes(np.array([np.nan, 1, 2, np.nan, 3, 4, 5])))
    assert (start, values.tolist()) == (4, [3, 4, 5])


def test_independent_samples_are_worth_what_they_are() -> None:
    found = memory(np.abs(series(6, 4000)))
    assert found.effective_samples == pytest.approx(4000, rel=0.2)
    slow = memory(np.exp(fractional_noise(4000, 0.9, np.random.default_rng(1))))
    assert slow.effective_samples < 400


@pytest.mark.parametrize(
    ("values", "options", "text"),
    [
        (np.arange(30.0), {}, "trace: 30 samples in a row are too few for tests of stationarity; give at least 50, "),
        (np.full(60, np.nan), {}, "trace: has nothing but gaps; "),
        (np.arange(100.0), {"windows": [10.0]}, "trace: a window of 10 s holds 10 of 100 samples; use 50 s to 100 s"),
        (
            np.arange(100.0),
            {"windows": [7200.0]},
            "trace: a window of 2 h holds 7200 of 100 samples; use 50 s to 100 s",
        ),
        (np.arange(100.0), {"windows": [1e3]}, "trace: a window of 1000 s holds 1000 of 100 samples; use 50 s to"),
        (np.arange(100.0), {"significance": 5.0}, "a significance of 5; use a number between 0 and 1, such as 0.05"),
    ],
)
def test_questions_that_have_no_answer(values: np.ndarray, options: dict[str, object], text: str) -> None:
    with pytest.raises(TrafficError) as error:
        stationarity(volumes(values), **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(text)
