"""Results that follow from formulas and from numbers that a paper states, without any data."""

from pullnet.traffic import theory
from pullnet.traffic.dimensioning import EPSILONS, HEADROOM
from pullnet.traffic.fitting.correlation import STRONG

MAWI_PACKETS, MAWI_SECONDS, MAWI_RATE = 70e6, 900, 422e6
"""Mean packets of a MAWI trace, its length (s) and mean rate (bit/s), as the study states them."""

TRACES = {"CAIDA": 27, "MAWI": 107, "Twente": 40, "Waikato": 30, "Auckland": 25}
"""Traces of each archive, as the study states them."""

EXAMPLE_C1 = 344.8
"""Capacity by Meent's formula in the study's example. Unit: Mbit/s."""


def stated(_seed: int) -> dict[str, object]:
    """Combine numbers that the study states."""
    return {
        "traces": sum(TRACES.values()),
        "mawi_packet_bytes": MAWI_RATE * MAWI_SECONDS / 8 / MAWI_PACKETS,
        "rule_of_thumb": HEADROOM,
        "gamma_threshold": STRONG,
    }


def meent(_seed: int) -> dict[str, object]:
    """Evaluate Meent's formula: margins, exceedance of Gaussian and of log-normal traffic, ratio to the log-normal."""
    most = {eps: theory.most_of_meent_on_lognormal(eps) for eps in EPSILONS}
    return {
        "margin_growth": theory.safety_margin_increase(1e-2, 1e-4),
        "largest_c2_of_example": EXAMPLE_C1 * theory.most_of_lognormal_over_meent(0.01)[0],
        **{f"gaussian_exceedance_{eps:g}": theory.meent_on_gaussian(eps) for eps in EPSILONS},
        **{f"largest_exceedance_{eps:g}": share for eps, (share, _) in most.items()},
        **{f"cv_of_largest_{eps:g}": cv for eps, (_, cv) in most.items()},
        "gaussian_error_cv_0.4": theory.gaussian_error_on_lognormal(0.05, 0.4),
        "meent_error_cv_0.4": theory.meent_error_on_lognormal(0.05, 0.4),
    }
