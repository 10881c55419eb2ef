"""Traffic of known law, and real traffic, through everything that the study does."""

import math
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from pullnet.papers.calculations import data
from pullnet.traffic import read
from pullnet.traffic.fitting import fit, recovery
from pullnet.traffic.fitting.correlation import STRONG
from pullnet.traffic.fitting.ratios import TRUSTED, Ratio, all_ratios
from pullnet.traffic.models import LogNormal, Model, PowerLaw
from pullnet.traffic.sample import Floats
from pullnet.traffic.studies import Options, Study, study
from pullnet.traffic.synthesis import law_named, law_of, long_memory, synthesise
from pullnet.traffic.volumes import State, Volumes

FINEST, FACTORS = 0.1, (1, 10, 50)
"""Bins of synthetic traces: 100 ms, 1 s, 5 s. Unit of the first: s."""

TRACE = 900.0
"""Length of a synthetic trace, as most of the study's. Unit: s."""

MEMORY = 0.8
"""Hurst exponent of synthetic traces: in the middle of what is measured on links."""

CVS = (0.1, 1.0)
"""Coefficients of variation of synthetic traces at 100 ms lie between these, evenly in the logarithm."""


def synthetic(seed: int, traces: int) -> dict[str, object]:
    """Study log-normal traces with long memory, over the timescales of the study from 100 ms on."""
    made = [volumes for number in range(traces) for volumes in _trace(seed, number)]
    return _numbers(study(made, Options(stationarity=False)))


def _trace(seed: int, number: int) -> Iterator[Volumes]:
    rng = np.random.default_rng([seed, number])
    cv = float(np.exp(rng.uniform(*np.log(CVS))))
    law = law_of("log-normal", 5e6, cv)
    count = round(TRACE / FINEST)
    name = f"synthetic {number} (cv {cv:.2f})"
    own = int(rng.integers(2**32))
    fine = synthesise(law, count, timescale=FINEST, memory=long_memory(MEMORY), seed=own, trace=name).volumes
    yield from (fine if factor == 1 else fine.coarser(factor) for factor in FACTORS)


def _numbers(found: Study) -> dict[str, object]:
    return {"rows": found.rows(), "nrmse": [asdict(each) for each in found.nrmse], "unpredicted": found.unpredicted}


def real(_seed: int, series: str, bootstrap: int = 0) -> dict[str, object]:
    """Study real traffic: captures or counters that are shipped, or local series where there are any."""
    volumes = _real(series)
    if not volumes:
        return {"rows": [], "nrmse": [], "unpredicted": {}}
    return _numbers(study(volumes, Options(bootstrap=bootstrap, stationarity=False)))


def _real(series: str) -> list[Volumes]:
    if series == "captures":
        return [each for name in data.shipped(".pcap", ".pcapng") for each in read(name, timescales="100ms,1s,5s")]
    if series == "counters":
        return [each for name in data.shipped(".csv") for each in _coarser(read(name, unit="bytes"), (1, 3, 12))]
    return [each for file in data.local() for each in _coarser(read(file, unit=data.LOCAL[file.name]), (1, 3, 12))]


def _coarser(every: list[Volumes], factors: tuple[int, ...]) -> list[Volumes]:
    return [each.coarser(factor) for each in every for factor in factors if len(each) // factor >= 20]


def fine(_seed: int) -> dict[str, object]:
    """Study the shipped captures from 10 ms on: how rates vary, and how straight Q-Q plots are, over timescales."""
    every = [each for name in data.shipped(".pcap", ".pcapng") for each in read(name, timescales="10ms,100ms,1s,5s")]
    return _numbers(study(every, Options(stationarity=False)))


def below_1ms(_seed: int) -> dict[str, object]:
    """Fit the busiest shipped capture at 0.5 ms: how much is nothing or one packet, and whether a law fits."""
    busiest = max((each for name in data.shipped(".pcap") for each in read(name, timescales="500us")), key=_rate)
    found = fit(busiest)
    few = float(np.mean(np.asarray(busiest.packets) <= 1)) if busiest.packets is not None else math.nan
    return {
        "nothing_fits": found.whole.gammas[found.whole.straightest] <= STRONG or bool(found.anomalies),
        "note": f"{busiest.trace}: {few:.1%} of the bins hold no packet or one; {found.verdict}",
    }


def _rate(volumes: Volumes) -> float:
    return float(volumes.rates().mean())


KNOWN: dict[str, Model] = {
    "log-normal": law_of("log-normal", 5e6, 0.3),
    "Weibull": law_of("Weibull", 5e6, 0.3),
    "exponential": law_of("exponential", 5e6),
    "Gaussian": law_of("Gaussian", 5e6, 0.15),
    "power law": PowerLaw(2.5, 1.0),
}
"""Laws that samples are drawn from. The Gaussian is narrow, so that no volume is below zero."""


def known_law(seed: int, law: str, samples: int, repeats: int) -> dict[str, object]:
    """Fit samples of a known law: how often 95% intervals hold the parameters, and which law is chosen."""
    truth = KNOWN[law]
    chosen = [_chosen(law, drawn) for drawn in recovery.draws(truth, samples, repeats, seed)]
    covered = {name: recovery.covered(truth, name, samples, repeats, seed=seed) for name in truth.parameters}
    return {
        "chosen_share": sum(right for right, _ in chosen) / repeats,
        "wrongly_trusted_share": sum(wrong for _, wrong in chosen) / repeats,
        "covered": {name: count / repeats for name, count in covered.items()},
        "repeats": repeats,
    }


def _chosen(law: str, drawn: Floats) -> tuple[bool, bool]:
    """Whether the law has the largest likelihood on all data, and whether another is trusted to beat it."""
    if law == PowerLaw.name:
        tail = fit(drawn).tail
        beaten = any(tail.ratio(law, name).favours == name for name in ("exponential", "Gaussian"))
        return tail.best == law or law in tail.rivals, beaten
    models = [law_named(name).fit(drawn) for name in ("log-normal", "Weibull", "exponential", "Gaussian")]
    best = max(models, key=lambda model: float(model.logpdf(drawn).sum())).name
    ours = [ratio for ratio in all_ratios(models, drawn) if law in (ratio.first, ratio.second)]
    # A special case is never better than the general law; its own test says whether that is needed.
    enough = any(best in (ratio.first, ratio.second) and _not_rejected(ratio, law) for ratio in ours)
    beaten = any(ratio.favours not in (None, law) for ratio in ours if ratio.nested is None)
    return best == law or enough, beaten


def _not_rejected(ratio: Ratio, special: str) -> bool:
    return ratio.nested == special and ratio.p_nested is not None and ratio.p_nested >= TRUSTED


def goodness(seed: int, law: str, samples: int, repeats: int, bootstrap: int) -> dict[str, object]:
    """How often the goodness of fit rejects a power law at 0.1, on samples of a law: 0.1 of them if it is one."""
    rejected = recovery.implausible(KNOWN[law], samples, repeats, bootstrap=bootstrap, seed=seed)
    return {"rejected_share": rejected / repeats, "repeats": repeats}


def anomalies(seed: int, repeats: int) -> dict[str, object]:
    """Damage log-normal traffic: 6% of the time out, or cut at a capacity; and leave as much alone."""
    counts = {"outage": 0, "clipped": 0, "sound": 0}
    for number in range(repeats):
        fine, *_ = _trace(seed, number)
        for kind, volume in _damaged(fine).items():
            counts[kind] += not _of(fine, volume)
    return {
        "outages_found": counts["outage"] / repeats,
        "clipping_found": counts["clipped"] / repeats,
        "sound_refused": counts["sound"] / repeats,
        "found": counts == {"outage": repeats, "clipped": repeats, "sound": 0},
        "note": f"{repeats} traces of each kind; {counts['sound']} sound ones refused",
    }


def _damaged(volumes: Volumes) -> dict[str, Floats]:
    sound = np.array(volumes.bytes)
    out = sound.copy()
    out[: int(0.06 * len(out))] = 0.0
    return {"sound": sound, "outage": out, "clipped": np.minimum(sound, np.quantile(sound, 0.9))}


def _of(volumes: Volumes, volume: Floats) -> bool:
    state = np.full(len(volume), State.OK, dtype=np.uint8)
    return fit(Volumes(volumes.trace, volumes.timescale, volumes.start, volume, state)).fits


def sum_of_lognormals(seed: int, repeats: int) -> dict[str, object]:
    """A day as a sum of independent log-normal quarters of an hour: how straight its log-normal Q-Q plot is."""
    gammas = []
    for number in range(repeats):
        rng = np.random.default_rng([seed, number])
        laws = [law_of("log-normal", float(rng.uniform(1e6, 9e6)), 0.3) for _ in range(96)]
        days = np.sum([law.rvs(2000, rng) for law in laws], axis=0)
        gammas.append(float(fit(days, models=(LogNormal,)).whole.gammas["log-normal"]))
    return {"least_gamma": min(gammas), "note": f"{repeats} mixtures of 96 quarters of an hour, 2000 days each"}
