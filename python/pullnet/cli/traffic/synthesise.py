"""`pullnet traffic synthesise`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pullnet import json_text
from pullnet.cli.traffic.common import AsJson
from pullnet.cli.traffic.inputs import Inputs, reads_one, refuse_replacing
from pullnet.traffic import fitted
from pullnet.traffic.error import TrafficError
from pullnet.traffic.files import write
from pullnet.traffic.model import Model
from pullnet.traffic.models import LogNormal
from pullnet.traffic.quantities import bits_per_second, seconds, shown_count, shown_rate, shown_time
from pullnet.traffic.synthesis import (
    Memory,
    Synthetic,
    law_named,
    law_of,
    long_memory,
    measured_memory,
)
from pullnet.traffic.synthesis import (
    synthesise as make,
)
from pullnet.traffic.volumes import Volumes


@dataclass(frozen=True)
class _Recipe:
    law: Model
    timescale: float
    count: int
    zeros: float = 0.0
    source: Volumes | None = None


@reads_one
def synthesise(
    inputs: Inputs,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Where the volumes go, .csv or .parquet.", show_default=False),
    ],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Trace whose law is fitted and taken: volumes, counters, a capture; or the JSON of a fit.",
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which trace of that file; the first unless given.", show_default=False),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="LAW", help="log-normal, Weibull, Gaussian, exponential; of a trace also power law.")
    ] = LogNormal.name,
    mean: Annotated[
        str | None, typer.Option(metavar="RATE", help='Mean rate, as "400 Mbps"; not with --from.', show_default=False)
    ] = None,
    cv: Annotated[
        float | None, typer.Option(help="Standard deviation over mean; not with --from.", show_default=False)
    ] = None,
    timescale: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of an interval, as 100ms.", show_default=False)
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="As 15min; as long as the trace unless given.", show_default=False),
    ] = None,
    autocorrelation: Annotated[
        str, typer.Option(metavar="WHICH", help="none, measured (with --from), or hurst=0.8.")
    ] = "none",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Make volumes that follow a law.

    They are independent, or have a memory. Equal seeds give equal volumes.
    """
    if source is not None:
        refuse_replacing([source], out)
    if source is None:
        recipe = _stated(model, mean, cv, timescale, duration)
    elif source.suffix == ".json":
        recipe = _of_fit(source, trace, model, timescale, duration)
    else:
        recipe = _fitted(source, trace, inputs, model, timescale, duration)
    if source is not None and (mean is not None or cv is not None):
        raise TrafficError("--mean and --cv say nothing beside --from", remedy="leave them out, or --from")
    memory = _memory(autocorrelation, recipe.source)
    made = make(recipe.law, recipe.count, timescale=recipe.timescale, memory=memory, zeros=recipe.zeros, seed=seed)
    write(made.volumes, out)
    if as_json:
        typer.echo(json_text.dumps(_json(made, recipe, autocorrelation, seed, out)))
        return
    rate = made.volumes.rates().mean()
    length = shown_time(recipe.timescale)
    law = (
        f"{recipe.law.name} ({', '.join(f'{name} {getattr(recipe.law, name):.6g}' for name in recipe.law.parameters)})"
    )
    typer.echo(
        f"{out}: {shown_count(recipe.count, 'interval')} of {length}, mean {shown_rate(rate)}, {law}, seed {seed}"
    )
    for note in made.notes():
        typer.echo(f"repaired: {note}", err=True)
    if math.isinf(recipe.law.mean()):
        typer.echo("note: the law has no mean: that of the volumes grows with their number", err=True)


def _stated(law: str, mean: str | None, cv: float | None, timescale: str | None, duration: str | None) -> _Recipe:
    if mean is None:
        raise TrafficError("neither --from nor --mean", remedy='give a trace, or --mean "400 Mbps" --cv 0.3')
    if timescale is None or duration is None:
        missing = "--timescale" if timescale is None else "--duration"
        raise TrafficError(f"no {missing}", remedy="give for instance --timescale 100ms --duration 15min")
    length = seconds(timescale, "--timescale")
    volume = bits_per_second(mean, "--mean") * length / 8
    return _Recipe(law_of(law, volume, cv), length, _count(duration, length))


def _fitted(
    source: Path, trace: str | None, inputs: Inputs, law: str, timescale: str | None, duration: str | None
) -> _Recipe:
    every = Inputs([source], timescale, inputs.said).gather(quiet=True).volumes
    found = next((item for item in every if trace in (None, item.trace)), None)
    if found is None:
        names = ", ".join(dict.fromkeys(item.trace for item in every))
        raise TrafficError(f"there is no trace `{trace}`", where=str(source), value=trace, remedy=f"use one of {names}")
    sample = found.sample()
    model = law_named(law).fit(sample)
    zeros = 0.0 if model.keeps_zeros else float((sample == 0).mean())
    count = len(found) if duration is None else _count(duration, found.timescale)
    return _Recipe(model, found.timescale, count, zeros, found)


def _of_fit(source: Path, trace: str | None, law: str, timescale: str | None, duration: str | None) -> _Recipe:
    length = None if timescale is None else seconds(timescale, "--timescale")
    found = fitted.read(source, law_named(law).name, trace, length)
    count = found.samples if duration is None else _count(duration, found.timescale)
    return _Recipe(found.law, found.timescale, count, found.zeros)


def _count(duration: str, timescale: float) -> int:
    count = round(seconds(duration, "--duration") / timescale)
    if count < 1:
        raise TrafficError("--duration: is shorter than an interval", value=duration, remedy="use a longer one")
    return count


def _memory(which: str, source: Volumes | None) -> Memory | None:
    if which == "none":
        return None
    if which == "measured":
        if source is None:
            what = "--autocorrelation: nothing is measured without a trace in --from"
            raise TrafficError(what, remedy="give one, or use hurst=0.8, or none")
        return measured_memory(source)
    name, _, value = which.partition("=")
    try:
        exponent = float(value) if name == "hurst" else float("nan")
    except ValueError:
        exponent = float("nan")
    if exponent != exponent:
        remedy = "use none, measured, or hurst=0.8"
        raise TrafficError(f"--autocorrelation: `{which}` is none", value=which, remedy=remedy)
    return long_memory(exponent)


def _json(made: Synthetic, recipe: _Recipe, memory: str, seed: int, out: Path) -> dict[str, Any]:
    law = recipe.law
    return {
        "file": str(out),
        "intervals": recipe.count,
        "timescale_s": recipe.timescale,
        "law": law.name,
        "parameters": {name: getattr(law, name) for name in law.parameters},
        "empty_share": recipe.zeros,
        "autocorrelation": memory,
        "seed": seed,
        "bytes": float(made.volumes.bytes.sum()),
        "negative_share": made.negative,
        "raised_to_zero": made.raised,
        "notes": made.notes(),
    }
