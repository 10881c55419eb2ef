"""Results of studies of traffic volumes: rows of one trace at one timescale each, and predictions over traces."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from statistics import median
from typing import Any

from pullnet.papers.judge import MeasuredNumber, MeasuredProperty
from pullnet.papers.measures.data import Data, MissingRunsError, mean
from pullnet.papers.model import Value

TRUSTED = 0.1
"""A likelihood ratio is trusted where its p-value is below this."""

Row = Mapping[str, Any]


def _rows(data: Data, experiment: str) -> list[Row]:
    rows = [row for run in data.runs(experiment) for row in run.numbers["rows"]]
    if not rows:
        raise MissingRunsError(f"experiment {experiment} has no rows")
    return rows


def calculated(data: Data, experiment: str, of: str) -> MeasuredNumber | MeasuredProperty:
    """Return one number that a calculation came to, or whether it holds; with several runs their mean."""
    found = [run.numbers[of] for run in data.runs(experiment)]
    notes = {str(run.numbers.get("note", "")) for run in data.runs(experiment)} - {""}
    if all(isinstance(value, bool) for value in found):
        return MeasuredProperty(holds=all(found), note="; ".join(sorted(notes)))
    return MeasuredNumber(mean([float(value) for value in found]), note="; ".join(sorted(notes)))


def _favours(row: Row, model: str, side: str) -> bool:
    """Whether the ratio between the power law and a model is on one side, and trusted."""
    ratio = row["against_power_law"].get(model)
    if ratio is None or ratio["p"] is None or ratio["p"] >= TRUSTED:
        return False
    return bool(ratio["R"] > 0) if side == "power law" else bool(ratio["R"] < 0)


def _share(flags: Iterable[bool]) -> float:
    return mean([float(flag) for flag in flags])


def favoured(data: Data, experiment: str, model: str, side: str, least: float) -> MeasuredProperty:
    """Whether at least a share of traces favours the power law, or the model against it, with a trusted ratio."""
    rows = _rows(data, experiment)
    ours = _share(_favours(row, model, side) for row in rows)
    other = _share(_favours(row, model, "model" if side == "power law" else "power law") for row in rows)
    details = {f"for {side}": ours, "against": other, "undecided": 1 - ours - other, "series": float(len(rows))}
    return MeasuredProperty(holds=ours >= least, details=details)


def share_favoured(data: Data, experiment: str, model: str) -> MeasuredNumber:
    """Share of series with a trusted ratio for a model against the power law."""
    rows = _rows(data, experiment)
    by_scale = {
        name: _share(_favours(row, model, "model") for row in group) for name, group in _by_timescale(rows).items()
    }
    note = ", ".join(f"{name} {share:.3f}" for name, share in by_scale.items())
    return MeasuredNumber(_share(_favours(row, model, "model") for row in rows), note=note)


def fit_order(data: Data, experiment: str) -> MeasuredProperty:
    """Whether the log-normal beats the power law more often than the Weibull law, and that than the exponential."""
    rows = _rows(data, experiment)
    details = {name: _share(_favours(row, name, "model") for row in rows) for name in ("log-normal", "Weibull")}
    details["exponential"] = _share(_favours(row, "exponential", "model") for row in rows)
    details["power law over exponential"] = _share(_favours(row, "exponential", "power law") for row in rows)
    better = details["log-normal"] > details["Weibull"] > 0
    worse = details["power law over exponential"] > details["exponential"]
    return MeasuredProperty(holds=better and worse, details=details)


def power_law_rejected(data: Data, experiment: str) -> MeasuredNumber:
    """Share of traces whose goodness of fit rejects the power law."""
    values = [row["goodness"] for row in _rows(data, experiment) if row["goodness"] is not None]
    if not values:
        raise MissingRunsError("no goodness of fit was calculated")
    return MeasuredNumber(_share(value < TRUSTED for value in values), note=f"{len(values)} series")


def best_at_every_timescale(data: Data, experiment: str, least: float) -> MeasuredProperty:
    """Whether the log-normal is trusted to beat the power law for a share of traces, at each timescale."""
    shares = {}
    for name, rows in _by_timescale(_rows(data, experiment)).items():
        shares[name] = _share(_favours(row, "log-normal", "model") for row in rows)
    return MeasuredProperty(holds=min(shares.values()) >= least, details=shares)


def _by_timescale(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[float, list[Row]] = {}
    for row in rows:
        found.setdefault(float(row["timescale_s"]), []).append(row)
    return {f"{scale:g} s": found[scale] for scale in sorted(found)}


def _gammas(rows: Iterable[Row], model: str) -> list[float]:
    return [float(row["gamma"][model]) for row in rows if row["gamma"].get(model) is not None]


def typical_gamma(data: Data, experiment: str, model: str) -> MeasuredNumber:
    """Median over traces and timescales of the correlation coefficient."""
    values = sorted(_gammas(_rows(data, experiment), model))
    if not values:
        raise MissingRunsError("no correlation coefficient was calculated")
    return MeasuredNumber(median(values), note=f"{len(values)} values from {values[0]:.4f} to {values[-1]:.4f}")


def gamma_order(data: Data, experiment: str) -> MeasuredNumber:
    """Share of traces and timescales whose coefficient is larger for the log-normal than for the Gaussian."""
    found = [tuple(row["gamma"].get(name) for name in ("log-normal", "Gaussian")) for row in _rows(data, experiment)]
    pairs = [pair for pair in found if None not in pair]
    return MeasuredNumber(_share(ours > gaussian for ours, gaussian in pairs), note=f"{len(pairs)} series")


def gamma_falls(data: Data, experiment: str) -> MeasuredProperty:
    """Whether the median coefficient of the log-normal is smaller at every longer timescale."""
    medians = {
        name: median(_gammas(rows, "log-normal")) for name, rows in _by_timescale(_rows(data, experiment)).items()
    }
    values = list(medians.values())
    return MeasuredProperty(holds=all(a > b for a, b in pairwise(values)), details=medians)


def _variation(rows: Iterable[Row], model: str) -> dict[str, float]:
    """Standard deviation of the coefficient over timescales, by trace."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["gamma"].get(model) is not None:
            found.setdefault(row["trace"], []).append(row["gamma"][model])
    return {name: _deviation(values) for name, values in found.items() if len(values) > 1}


def _deviation(values: list[float]) -> float:
    centre = mean(values)
    return float(mean([(value - centre) ** 2 for value in values]) ** 0.5)


def largest_variation(data: Data, experiment: str, model: str) -> MeasuredNumber:
    """Largest standard deviation of the coefficient over timescales."""
    found = _variation(_rows(data, experiment), model)
    worst = max(found, key=lambda name: found[name])
    over = sum(value > 0.045 for value in found.values())
    return MeasuredNumber(
        found[worst], note=f"{worst}; median {median(found.values()):.4f}; {over} of {len(found)} above"
    )


def variation_order(data: Data, experiment: str) -> MeasuredProperty:
    """Whether the coefficient of the log-normal varies less over timescales, in the median, than the Gaussian's."""
    rows = _rows(data, experiment)
    details = {model: median(_variation(rows, model).values()) for model in ("log-normal", "Gaussian")}
    return MeasuredProperty(holds=details["log-normal"] < details["Gaussian"], details=details)


def mean_exceedance(data: Data, experiment: str, rule: str, eps: float) -> MeasuredNumber:
    """Mean over traces and timescales of the share of intervals that exceed the capacity."""
    values = [row["exceeded"][rule][f"{eps:g}"] for row in _rows(data, experiment)]
    return MeasuredNumber(mean(values), note=f"{len(values)} series, {min(values):.4g} to {max(values):.4g}")


def meent_misses(data: Data, experiment: str) -> MeasuredProperty:
    """Whether Meent's capacity misses the target at every timescale and eps by over a tenth of it."""
    details = {}
    for name, rows in _by_timescale(_rows(data, experiment)).items():
        for eps in rows[0]["exceeded"]["Meent"]:
            details[f"eps {eps} at {name}"] = mean([row["exceeded"]["Meent"][eps] for row in rows])
    missed = [abs(value / float(cell.split()[1]) - 1) > 0.1 for cell, value in details.items()]
    return MeasuredProperty(holds=all(missed), details=details)


def exceedance_order(data: Data, experiment: str, least: float) -> MeasuredProperty:
    """Whether the log-normal misses the target less than the Weibull law, and that less than Meent's formula.

    A cell is a timescale and an eps; the order has to hold in a share of the cells.
    """
    order = ("log-normal", "Weibull", "Meent")
    cells = []
    for rows in _by_timescale(_rows(data, experiment)).values():
        for eps in rows[0]["exceeded"]["Meent"]:
            misses = [mean([abs(row["exceeded"][rule][eps] - float(eps)) for row in rows]) for rule in order]
            cells.append(misses)
    details = {
        "whole order": _share(a < b < c for a, b, c in cells),
        "log-normal before Weibull": _share(a < b for a, b, _ in cells),
        "log-normal before Meent": _share(a < c for a, _, c in cells),
        "Weibull before Meent": _share(b < c for _, b, c in cells),
        "cells": float(len(cells)),
    }
    return MeasuredProperty(holds=details["whole order"] >= least, details=details)


def nrmse_order(data: Data, experiment: str, reading: str) -> MeasuredProperty:
    """Whether the log-normal predicts the 95th percentile best in every group of series."""
    groups = [(str(run.at.get("series", "")), run.numbers["nrmse"]) for run in data.runs(experiment)]
    details: dict[str, float] = {}
    holds = []
    for name, found in groups:
        values = {
            each["rule"]: each["nrmse"] for each in found if each["reading"] == reading and each["nrmse"] is not None
        }
        if values:
            details |= {f"{name} {rule}".strip(): value for rule, value in values.items()}
            holds.append(min(values, key=lambda rule: values[rule]) == "log-normal")
    if not holds:
        raise MissingRunsError("no percentile was predicted")
    return MeasuredProperty(holds=all(holds), details=details)


def variance_falls(data: Data, experiment: str) -> MeasuredProperty:
    """Whether the variance of the rate is smaller at every longer timescale, in every trace."""
    series: dict[str, dict[float, float]] = {}
    for row in _rows(data, experiment):
        series.setdefault(row["trace"], {})[row["timescale_s"]] = (row["cv"] * row["mean_bps"]) ** 2
    falls = []
    for by_scale in series.values():
        values = [by_scale[scale] for scale in sorted(by_scale)]
        falls.append(all(a > b for a, b in pairwise(values)))
    return MeasuredProperty(holds=all(falls), details={"series": float(len(falls)), "falling": float(sum(falls))})


def recovered(data: Data, experiment: str, of: str, at: dict[str, Value]) -> MeasuredNumber:
    """Return one number of an experiment on samples of a known law."""
    runs = data.runs(experiment, at)
    repeats = sum(int(str(run.numbers["repeats"])) for run in runs)
    return MeasuredNumber(mean([float(run.numbers[of]) for run in runs]), note=f"{repeats} samples")


def worst_coverage(data: Data, experiment: str, at: dict[str, Value]) -> MeasuredNumber:
    """Share of 95% intervals that hold the true parameter, for the parameter where it is farthest from 0.95."""
    found: dict[str, list[float]] = {}
    for run in data.runs(experiment, at):
        for name, share in run.numbers["covered"].items():
            found.setdefault(name, []).append(share)
    shares = {name: mean(values) for name, values in found.items()}
    worst = max(shares, key=lambda name: abs(shares[name] - 0.95))
    return MeasuredNumber(shares[worst], note=", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
