"""Which law the volumes of a trace follow: power law, log-normal, Weibull, exponential or Gaussian."""

from pullnet.traffic.fitting.anomalies import Anomaly, anomalies
from pullnet.traffic.fitting.correlation import gamma, quantiles, variation
from pullnet.traffic.fitting.many import Unfitted, fit_many, gamma_variation
from pullnet.traffic.fitting.powerlaw import (
    Goodness,
    Interval,
    PowerLawFit,
    PowerLawSearch,
    Uncertainty,
    fit_power_law,
    repeats_for,
)
from pullnet.traffic.fitting.ratios import Ratio, all_ratios, likelihood_ratio
from pullnet.traffic.fitting.result import Fitting, Tail, Whole, fit

__all__ = [
    "Anomaly",
    "Fitting",
    "Goodness",
    "Interval",
    "PowerLawFit",
    "PowerLawSearch",
    "Ratio",
    "Tail",
    "Uncertainty",
    "Unfitted",
    "Whole",
    "all_ratios",
    "anomalies",
    "fit",
    "fit_many",
    "fit_power_law",
    "gamma",
    "gamma_variation",
    "likelihood_ratio",
    "quantiles",
    "repeats_for",
    "variation",
]
