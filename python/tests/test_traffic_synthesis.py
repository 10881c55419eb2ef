"""Volumes made from laws: the law comes back from a fit, the memory from its estimators."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from pullnet.cli import status
from pullnet.traffic import TrafficError, as_volumes, read, write
from pullnet.traffic.hurst import local_whittle, whittle_frequencies
from pullnet.traffic.model import Model
from pullnet.traffic.models import Exponential, LogNormal, PowerLaw, Weibull
from pullnet.traffic.noise import autocorrelation, fractional_noise
from pullnet.traffic.synthesis import Memory, law_named, law_of, like, long_memory, measured_memory, synthesise

from .conftest import Pullnet

LAWS = [law_of(name, 5e6, 0.3) for name in ("log-normal", "Weibull", "Gaussian")] + [Exponential(2e-7)]


@given(st.sampled_from(["log-normal", "Weibull", "Gaussian"]), st.floats(1e3, 1e12), st.floats(0.01, 3))
def test_a_law_has_the_mean_and_variation_that_it_was_asked_for(name: str, mean: float, cv: float) -> None:
    law = law_of(name, mean, cv)
    assert law.mean() == pytest.approx(mean, rel=1e-6)
    assert law.std() == pytest.approx(cv * mean, rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("hurst", [None, 0.8])
def test_a_fit_recovers_the_law(law: Model, hurst: float | None) -> None:
    # Without memory within 4 standard errors of the fit. With it a mean is off by count^(H-1) deviations and not by
    # count^-0.5: the errors are larger by that ratio.
    count = 20_000
    made = synthesise(law, count, timescale=0.1, memory=None if hurst is None else long_memory(hurst), seed=3)
    fitted = type(law).fit(made.volumes.bytes)
    wider = 1.0 if hurst is None else count ** (hurst - 0.5)
    for name in law.parameters:
        error = fitted.evidence.standard_errors[name]
        assert abs(getattr(fitted, name) - getattr(law, name)) < 4 * error * wider, name


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_marginal_is_the_law(law: Model) -> None:
    made = synthesise(law, 20_000, timescale=0.1, seed=4)
    distance = stats.kstest(made.volumes.bytes, lambda x: np.asarray(law.cdf(x))).statistic
    assert distance < 1.95 / math.sqrt(20_000)  # exceeded once in 1000 series


@pytest.mark.parametrize("hurst", [0.6, 0.8])
def test_the_memory_is_that_asked_for(hurst: float) -> None:
    # A skewed law hides a little of it: bound 0.05 beyond 3 standard errors, below only.
    made = synthesise(law_of("log-normal", 5e6, 0.4), 32_768, timescale=0.1, memory=long_memory(hurst), seed=5)
    error = 0.5 / math.sqrt(whittle_frequencies(32_768))
    found = local_whittle(made.volumes.bytes)
    assert hurst - 0.05 - 3 * error < found < hurst + 3 * error
    scores = special.ndtri((stats.rankdata(made.volumes.bytes) - 0.5) / 32_768)
    assert abs(local_whittle(scores) - hurst) < 3 * error


def test_a_measured_memory_comes_back() -> None:
    # An autoregression: r(k) = 0.8^k. 30,000 samples: an autocorrelation is off by about 0.013 (Bartlett); 4 of these.
    rng = np.random.default_rng(6)
    series = np.zeros(30_000)
    noise = rng.standard_normal(30_000) * 0.6
    for i in range(1, len(series)):
        series[i] = 0.8 * series[i - 1] + noise[i]
    measured = as_volumes(np.exp(0.3 * series) * 1e6, timescale=1.0)[0]
    made = like(measured, seed=7)
    assert made.negative == 0
    wanted = autocorrelation(np.log(measured.bytes), 8)
    found = autocorrelation(np.log(made.volumes.bytes), 8)
    np.testing.assert_allclose(found, wanted, atol=4 * 0.013 * math.sqrt(2))
    np.testing.assert_allclose(wanted, 0.8 ** np.arange(9), atol=4 * 0.013)


@given(st.integers(2, 200), st.integers(1, 400), st.integers(0, 2**32))
def test_a_measured_memory_belongs_to_a_series_of_any_length(known: int, wanted: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(known) + 1
    memory = measured_memory(as_volumes(values, timescale=1.0)[0])
    made = synthesise(LAWS[0], wanted, timescale=1.0, memory=memory, seed=seed)
    assert len(made.volumes) == wanted
    assert made.negative == 0


def test_an_impossible_memory_is_repaired_and_said() -> None:
    impossible = Memory("impossible", lambda count: np.concatenate([[1.0], np.full(count - 1, -0.5)]))
    made = synthesise(LAWS[0], 100, timescale=1.0, memory=impossible)
    assert made.negative > 0.1
    assert "of its spectrum is negative and was set to 0" in made.notes()[0]


@given(st.integers(0, 2**40))
def test_the_same_seed_gives_the_same_volumes_and_whole_bytes(seed: int) -> None:
    one, other = (synthesise(LAWS[1], 50, timescale=1.0, seed=seed).volumes.bytes for _ in range(2))
    assert one.tolist() == other.tolist() == np.rint(one).tolist()


def test_empty_intervals_are_kept() -> None:
    values = np.where(
        np.arange(10_000) % 4 == 0, 0.0, 1e6 * np.exp(0.3 * np.random.default_rng(8).standard_normal(10_000))
    )
    made = like(as_volumes(values, timescale=1.0)[0], measured=False, seed=9)
    assert np.mean(made.volumes.bytes == 0) == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 10_000))


def test_a_gaussian_below_zero_is_raised_and_counted() -> None:
    made = synthesise(law_of("Gaussian", 100, 1.0), 10_000, timescale=1.0)
    assert made.raised == pytest.approx(1587, abs=4 * 37)
    assert made.notes() == [f"{made.raised} volumes would have been below zero and are 0"]
    assert made.volumes.bytes.min() == 0


def test_laws_are_found_however_they_are_written() -> None:
    names = ("lognormal", "Log-Normal", "weibull", "power-law")
    assert [law_named(name) for name in names] == [LogNormal, LogNormal, Weibull, PowerLaw]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: law_named("pareto"), "`pareto` is not a law; use one of log-normal, Weibull, exponential,"),
        (lambda: law_of("lognormal", 0, 0.3), "a mean of 0; use a volume above 0"),
        (lambda: law_of("lognormal", 1, None), "no cv; give the standard deviation as a share of the mean, above 0 "),
        (lambda: law_of("weibull", 1, 50), "cv 50; give the standard deviation as a share of the mean, above 0 an"),
        (lambda: law_of("exponential", 1, 0.3), "cv 0.3: an exponential law has 1; leave it out"),
        (lambda: law_of("power law", 1, 0.3), "a power law is not told by mean and cv; fit it to a trace, with --from"),
        (lambda: synthesise(LAWS[0], 0, timescale=1.0), "0 intervals; use 1 to 100,000,000"),
        (lambda: synthesise(LAWS[0], 9, timescale=1.0, zeros=1), "a share of 1 empty intervals; use at least 0 and"),
        (lambda: synthesise(LAWS[0], 9, timescale=1.0, seed=-1), "a seed of -1; use a whole number of at least 0"),
        (lambda: long_memory(1.2), "a Hurst exponent of 1.2; use a number between 0 and 1"),
        (
            lambda: measured_memory(as_volumes([3.0, 3, 3], timescale=1.0)[0]),
            "trace: does not vary, so that it has no autocorrelation; use --autocorrelation none, or another trace",
        ),
        (lambda: synthesise(PowerLaw(1.001, 1.0), 50, timescale=1.0), "PowerLaw(alpha=1.001, xmin=1.0) has volumes"),
    ],
)  # fmt: skip
def test_what_cannot_be_made(call: object, text: str) -> None:
    with pytest.raises(TrafficError) as error:
        call()  # type: ignore[operator]
    assert str(error.value).startswith(text)


STATED = (
    "--mean",
    "400 Mbps",
    "--cv",
    "0.3",
    "--timescale",
    "100ms",
    "--duration",
    "15min",
    "--seed",
    "7",
    "-o",
    "v.csv",
)


def test_the_command_makes_what_was_stated(pullnet: Pullnet, tmp_path: Path) -> None:
    made = pullnet("traffic", "synthesise", *STATED, "--autocorrelation", "hurst=0.8", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["parameters"]["sigma"] == pytest.approx(math.sqrt(math.log(1.09)))
    volumes = read(tmp_path / "v.csv")[0]
    assert (len(volumes), volumes.timescale) == (9000, 0.1)
    # H = 0.8: the mean is off by about 9000^-0.2 = 0.16 deviations.
    assert volumes.bytes.mean() == pytest.approx(5e6, rel=4 * 0.16 * 0.3)
    again = pullnet("traffic", "synthesise", *STATED[:-1], "w.csv", "--autocorrelation", "hurst=0.8")
    assert again.stdout.startswith("w.csv: 9000 intervals of 100 ms, mean ")
    assert (tmp_path / "w.csv").read_bytes() == (tmp_path / "v.csv").read_bytes()


def test_a_law_without_a_mean_is_told(pullnet: Pullnet) -> None:
    assert pullnet("traffic", "synthesise", *STATED).returncode == 0
    of_trace = ("traffic", "synthesise", "--from", STATED[-1], "-o", "x.csv", "--model")
    assert "the law has no mean" in pullnet(*of_trace, "power law").stderr
    assert "the law has no mean" not in pullnet(*of_trace, "log-normal").stderr


FIT = json.dumps(
    {
        "fits": [
            {
                "trace": "a",
                "timescale_s": 1.0,
                "samples": 100,
                "zeros": 0,
                "all_data": {"models": [{"name": "log-normal", "mu": None, "sigma": 1.0}]},
            }
        ]
    }
)
"""A fit without an estimate."""


@pytest.mark.parametrize("law", ["log-normal", "Weibull", "exponential", "Gaussian", "power law"])
def test_a_printed_fit_makes_what_the_trace_makes(pullnet: Pullnet, tmp_path: Path, law: str) -> None:
    assert pullnet("traffic", "synthesise", *STATED).returncode == 0
    fit = pullnet("traffic", "fit", STATED[-1], "--json")
    assert fit.returncode == 0, fit.stderr
    (tmp_path / "fit.json").write_text(fit.stdout)
    made = [
        pullnet("traffic", "synthesise", "--from", source, "--model", law, "-o", "x.csv", "--json")
        for source in (STATED[-1], "fit.json")
    ]
    assert [each.returncode for each in made] == [0, 0], made[1].stderr
    trace, printed = (json.loads(each.stdout) for each in made)
    assert printed["parameters"] == pytest.approx(trace["parameters"], rel=1e-6)
    assert printed["bytes"] == pytest.approx(trace["bytes"], rel=1e-6)
    assert (printed["intervals"], printed["timescale_s"]) == (trace["intervals"], trace["timescale_s"])


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("{", (), "holds no fits of volumes"),
        ("[1]", (), "holds no fits of volumes"),
        ('{"fits": []}', (), "holds no fits"),
        ('{"fits": [{"trace": "a", "timescale_s": null}]}', (), "holds no fits of volumes"),
        (FIT, ("--trace", "b"), "use one of a at 1 s"),
        (FIT, ("--timescale", "2s"), "use one of a at 1 s"),
        (FIT, ("--model", "weibull"), "has no fit of the Weibull"),
        (FIT, (), "has no parameters"),
        (FIT, ("--autocorrelation", "measured"), "has no parameters"),
    ],
)
def test_what_is_no_fit_is_refused(
    pullnet: Pullnet, tmp_path: Path, text: str, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "fit.json").write_text(text)
    refused = pullnet("traffic", "synthesise", "--from", "fit.json", "-o", "x.csv", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr and "Traceback" not in refused.stderr


def test_the_command_goes_on_from_what_it_made(pullnet: Pullnet, tmp_path: Path) -> None:
    noise = fractional_noise(5000, 0.7, np.random.default_rng(1))
    values = np.rint(1e6 * np.exp(0.3 * noise))
    write(as_volumes(values, timescale=0.1, trace="t")[0], tmp_path / "a.csv")
    made = pullnet(
        "traffic", "synthesise", "--from", "a.csv", "--autocorrelation", "measured", "-o", "b.parquet", "--json"
    )
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert (document["intervals"], document["negative_share"]) == (5000, 0)
    assert document["parameters"]["sigma"] == pytest.approx(0.3, abs=0.03)
    judged = pullnet("traffic", "stationarity", "b.parquet", "--json")
    assert json.loads(judged.stdout)["stationarity"][0]["memory"]["hurst"]["local_whittle"] == pytest.approx(
        0.7, abs=0.12
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("-o", "x.csv"), 'error: neither --from nor --mean; give a trace, or --mean "400 Mbps" --cv 0.3'),
        (STATED[:6] + STATED[8:], "error: no --duration; give for instance --timescale 100ms --duration 15min"),
        (
            (*STATED, "--autocorrelation", "measured"),
            "error: --autocorrelation: nothing is measured without a trace in --from; give one, or use h",
        ),
        (
            (*STATED, "--autocorrelation", "hurst=x"),
            "error: --autocorrelation: `hurst=x` is none; use none, measured, or h",
        ),
        ((*STATED, "--model", "pareto"), "error: `pareto` is not a law; use one of log-normal"),
        ((*STATED[:-1], "x.txt"), "error: x.txt: ends in `.txt`; use .parquet or .csv"),
        (("--from", "no.csv", "-o", "x.csv"), "error: no.csv: there is no such file"),
    ],
)
def test_what_the_command_refuses(pullnet: Pullnet, arguments: tuple[str, ...], text: str) -> None:
    refused = pullnet("traffic", "synthesise", *arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith(text), refused.stderr


def test_one_interval_is_no_plural(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = "traffic synthesise --mean 1Mbps --cv 0.3 --timescale 1s --duration 1s -o"
    assert status([*command.split(), str(tmp_path / "a.csv")]) == 0
    assert "a.csv: 1 interval of 1 s, " in capfd.readouterr().out
