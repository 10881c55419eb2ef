"""`pullnet traffic fit`."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import PARTIAL, AsJson, Quiet, leave, print_json, say
from pullnet.cli.traffic.inputs import Inputs, reads
from pullnet.traffic.error import TrafficError
from pullnet.traffic.fitting import Fitting, Unfitted, fit_many, gamma_variation, repeats_for
from pullnet.traffic.further import FURTHER_MODELS, Gamma
from pullnet.traffic.models import MODELS, Model, PowerLaw
from pullnet.traffic.quantities import bits_per_second, shown_count, shown_number, shown_rate, shown_time

CIRCLE = "\N{WHITE CIRCLE}"


@reads
def fit(
    inputs: Inputs,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Of log-normal, weibull, exponential, gaussian, gamma, log-logistic; the first four unless given. The "
            "power law always is.",
            show_default=False,
        ),
    ] = None,
    all_laws: Annotated[bool, typer.Option("--all-laws", help="Fit the gamma and the log-logistic law, too.")] = False,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Repeats that say how sure the power law is and whether it is plausible; 2500 give p to 0.01. None "
            "unless given.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            help="Take as many repeats as give p to this standard error: 1/4 E^-2.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0, max=2**64 - 1)] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Traces fitted at once; the cores unless given.", min=1, show_default=False)
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the law that volumes follow.

    Laws are the power law, log-normal, Weibull, exponential and Gaussian; more by --all-laws. The power law is
    fitted after Clauset, Shalizi and Newman; the others by maximum likelihood above the same least value and on
    all data. R compares them with the power law: below zero favours the model, a circle says p > 0.1.
    """
    chosen = _models(models, all_laws=all_laws)
    repeats = _repeats(bootstrap, precision)
    capacity = inputs.said.get("capacity")
    rate = None if capacity is None else bits_per_second(capacity)
    reading = inputs.gather(quiet=quiet or as_json)
    found = fit_many(
        reading.volumes,
        models=chosen,
        bootstrap=repeats,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        capacity=rate,
    )
    fitted = [item for item in found if isinstance(item, Fitting)]
    unfitted = [item for item in found if isinstance(item, Unfitted)]
    if not fitted:
        raise TrafficError("\n".join(item.reason for item in unfitted))
    for item in unfitted:
        typer.echo(f"not fitted: {item.reason}", err=True)
    if as_json:
        print_json(document(fitted, unfitted), reading)
    else:
        _show(fitted)
    if unfitted:
        raise typer.Exit(PARTIAL)
    leave(reading)


def _models(names: str | None, *, all_laws: bool) -> tuple[type[Model], ...]:
    every = (*MODELS, *FURTHER_MODELS)
    if all_laws and names is not None:
        raise TrafficError("--models and --all-laws are both given", remedy="give one of them")
    if names is None:
        return every if all_laws else MODELS
    known = {_plain(model.name): model for model in every}
    chosen = [name.strip().lower().replace("lognormal", "log-normal") for name in names.split(",") if name.strip()]
    chosen = [_plain(name.replace("loglogistic", "log-logistic")) for name in chosen]
    for name in chosen:
        if name not in known:
            raise TrafficError(f"--models: `{name}` is no model", value=name, remedy=f"use some of {', '.join(known)}")
    return tuple(known[name] for name in chosen) or MODELS


def _plain(name: str) -> str:
    return "gamma" if name == Gamma.name else name.lower()


def _repeats(bootstrap: int | None, precision: float | None) -> int:
    if bootstrap is not None and precision is not None:
        raise TrafficError("--bootstrap and --precision are both given", remedy="give one of them")
    if precision is not None:
        return repeats_for(precision)
    if bootstrap is not None and bootstrap < 1:
        raise TrafficError(f"--bootstrap: {bootstrap} repeats", value=bootstrap, remedy="use 1 or more, such as 2500")
    return bootstrap or 0


def document(fitted: Sequence[Fitting], unfitted: Sequence[Unfitted]) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "fits": [_fitting(item) for item in fitted],
        "unfitted": [asdict(item) for item in unfitted],
        "gamma_variation": gamma_variation(fitted),
    }


def _fitting(item: Fitting) -> dict[str, Any]:
    return {
        "trace": item.trace,
        "timescale_s": item.timescale,
        "samples": item.samples,
        "zeros": item.zeros,
        "gaps": item.gaps,
        "power_law": asdict(item.power_law),
        "goodness": None if item.goodness is None else {**asdict(item.goodness), "p": item.goodness.p},
        "uncertainty": None if item.uncertainty is None else asdict(item.uncertainty),
        "tail": {
            "best": item.tail.best,
            "rivals": item.tail.rivals,
            "models": [_model(model) for model in item.tail.models],
            "ratios": [asdict(ratio) for ratio in item.tail.ratios],
        },
        "all_data": {
            "best": item.whole.best,
            "straightest": item.whole.straightest,
            "criteria": {name: asdict(found) for name, found in item.whole.criteria.items()},
            "gamma": dict(item.whole.gammas.items()),
            "models": [_model(model) for model in item.whole.models],
            "ratios": [asdict(ratio) for ratio in item.whole.ratios],
        },
        "anomalies": [{**asdict(anomaly), "text": str(anomaly)} for anomaly in item.anomalies],
        "fits": item.fits,
        "verdict": item.verdict,
    }


def _model(model: Model) -> dict[str, Any]:
    evidence = model.evidence
    return {
        "name": model.name,
        **{name: getattr(model, name) for name in model.parameters},
        "xmin": model.support,
        "standard_errors": dict(evidence.standard_errors.items()),
        "log_likelihood": evidence.log_likelihood,
        "samples": evidence.samples,
        "zeros": evidence.zeros,
        "limit": evidence.limit,
    }


def _show(fitted: Sequence[Fitting]) -> None:
    console = Output()
    console.print(_tails(fitted))
    console.print(_whole(fitted))
    console.print(_criteria(fitted))
    for line in _words(fitted):
        say(console, line)


def _alternatives(fitted: Sequence[Fitting]) -> list[str]:
    return [model.name for model in fitted[0].tail.models if model.name != PowerLaw.name]


def _table(numbers: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("trace", overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


SHORT = {
    "log-normal": "logn",
    "Weibull": "Weib",
    "exponential": "exp",
    "Gaussian": "Gauss",
    "power law": "power",
    "gamma law": "gamma",
    "log-logistic": "loglog",
}
"""Headings: five models are to fit into a line."""


def _tails(fitted: Sequence[Fitting]) -> Table:
    names = _alternatives(fitted)
    table = _table(["T", "xmin", "tail", "alpha", *(f"R {SHORT[name]}" for name in names)])
    for item in fitted:
        law = item.power_law
        alpha = f"{shown_number(law.alpha, '.2f')}+-{shown_number(law.standard_error, '.2f')}"
        cells = [_time(item), shown_rate(law.xmin), str(law.tail), alpha, *(_ratio(item, name) for name in names)]
        table.add_row(item.trace, *cells)
    return table


def _ratio(item: Fitting, name: str) -> str:
    ratio = item.against_power_law(name)
    return f"{CIRCLE if ratio.circled else ''}{shown_number(ratio.normalised, '.1f')}"


def _whole(fitted: Sequence[Fitting]) -> Table:
    names = [model.name for model in fitted[0].whole.models]
    table = _table(["T", "samples", "zeros", *(f"gamma\n{SHORT[name]}" for name in names), "best"])
    for item in fitted:
        gammas = [shown_number(item.whole.gammas[name], ".3f") for name in names]
        best = item.whole.best if item.fits else "none"
        table.add_row(item.trace, _time(item), str(item.samples), str(item.zeros), *gammas, best)
    return table


def _criteria(fitted: Sequence[Fitting]) -> Table:
    names = [model.name for model in fitted[0].whole.models]
    table = _table(["T", *(f"AIC+\n{SHORT[name]}" for name in names), "D", "p"])
    for item in fitted:
        found = item.whole.criteria[item.whole.best]
        cells = [shown_number(item.whole.behind(name), ".4g") for name in names]
        table.add_row(item.trace, _time(item), *cells, f"{found.distance:.3f}", shown_number(found.p, ".2f"))
    return table


def _time(item: Fitting) -> str:
    return "-" if item.timescale is None else shown_time(item.timescale)


def _words(fitted: Sequence[Fitting]) -> Iterator[str]:
    for item in fitted:
        yield f"{item.trace}, {_time(item)}: {item.verdict}"
        if item.zeros:
            yield f"{item.trace}, {_time(item)}: {item.zeros} zeros were left out of models that have none."
        if item.gaps:
            yield f"{item.trace}, {_time(item)}: {shown_count(item.gaps, 'bin')} without data left out."
        if item.uncertainty is not None:
            yield f"{item.trace}, {_time(item)}: {_spread(item)}"
    for trace, values in gamma_variation(fitted).items():
        known = [f"{name} {value:.3f}" for name, value in values.items() if value == value]
        if known:
            yield f"{trace}: gamma varies over the timescales by (v_gamma) {', '.join(known)}."
    yield f"R: log-likelihood ratio to the power law above xmin, normalised; {CIRCLE}: p > 0.1, which says nothing."
    yield "AIC+: how far Akaike's criterion is above the least, above 10 decisively worse; D, p: goodness of that fit."
    yield "gamma: correlation of samples and quantiles of the model on all data; 0.95 is asked for."
    yield "p-values take samples for independent: `pullnet traffic stationarity` says how far they are not."


def _spread(item: Fitting) -> str:
    spread = item.uncertainty
    assert spread is not None
    return (
        f"xmin {shown_rate(item.power_law.xmin)} +- {shown_rate(spread.xmin.deviation)}, "
        f"alpha {item.power_law.alpha:.2f} +- {spread.alpha.deviation:.2f}, "
        f"tail {item.power_law.tail} +- {spread.tail.deviation:.0f} "
        f"(bootstrap, {spread.repeats} repeats, seed {spread.seed})."
    )
