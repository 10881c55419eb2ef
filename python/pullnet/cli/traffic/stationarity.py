"""`pullnet traffic stationarity`."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import AsJson, Quiet, leave, print_json, say, table
from pullnet.cli.traffic.inputs import Inputs, reads
from pullnet.traffic.quantities import shown_count, shown_number, shown_time, timescales
from pullnet.traffic.stationary import INDEPENDENCE, MEANING, NULLS, SIGNIFICANCE, Stationarity, Verdict
from pullnet.traffic.stationary import stationarity as judge


@reads
def stationarity(
    inputs: Inputs,
    windows: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="TIMES",
            help="Lengths of windows, such as 1min,5min; a quarter and a sixteenth of the trace if not given. "
            "The whole is always tested.",
            show_default=False,
        ),
    ] = None,
    significance: Annotated[
        float, typer.Option(help="A null hypothesis is rejected below this p-value.")
    ] = SIGNIFICANCE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Test whether the level of a trace holds.

    The tests are ADF, Phillips-Perron and KPSS. Shows also how long the memory of the trace is.
    """
    lengths = None if windows is None else timescales(windows, "--window")
    reading = inputs.gather(quiet=quiet or as_json)
    found = [judge(item, windows=lengths, significance=significance) for item in reading.volumes]
    if as_json:
        print_json({"nulls": NULLS, "stationarity": [_json(item) for item in found]}, reading)
    else:
        _show(found)
    leave(reading)


def _json(item: Stationarity) -> dict[str, Any]:
    return asdict(item)


def _show(found: list[Stationarity]) -> None:
    console = Output()
    console.print(_tests(found))
    console.print(_memory(found))
    for line in _words(found):
        say(console, line)


def _tests(found: list[Stationarity]) -> Table:
    shown = table(["trace"], ["timescale", "window", "windows", *Verdict])
    for item in found:
        for length in item.lengths():
            counts = item.verdicts(length)
            cells = [str(counts[verdict]) for verdict in Verdict]
            scale, window = shown_time(item.timescale), shown_time(length)
            shown.add_row(item.trace, scale, window, str(sum(counts.values())), *cells)
    return shown


def _memory(found: list[Stationarity]) -> Table:
    shown = table(["trace"], ["timescale", "samples", "worth", "r(1)", "r(10)", "H var", "H R/S", "H Whittle"])
    for item in found:
        shown.add_row(item.trace, shown_time(item.timescale), *_memory_cells(item))
    return shown


def _memory_cells(item: Stationarity) -> list[str]:
    memory = item.memory
    lags = [shown_number(memory.autocorrelation.get(lag), ".2f") for lag in (1, 10)]
    estimate = memory.hurst
    if estimate is None:
        exponents = ["-", "-", "-"]
    else:
        whittle = " +- ".join(
            shown_number(each, ".2f") for each in (estimate.local_whittle, estimate.local_whittle_error)
        )
        others = (estimate.aggregated_variance, estimate.rescaled_range)
        exponents = [*(shown_number(each, ".2f") for each in others), whittle]
    return [str(item.samples), shown_number(memory.effective_samples, ".0f"), *lags, *exponents]


def _words(found: list[Stationarity]) -> Iterator[str]:
    for test, null in NULLS.items():
        yield f"{test} takes for true until the data speak against it: {null}."
    seen = {window.verdict for item in found for window in item.windows}
    for verdict in Verdict:
        if verdict in seen:
            yield f"{verdict}: {MEANING[verdict]}."
    for item in found:
        if item.left_out:
            left_out = shown_count(item.left_out, "bin")
            yield f"{item.trace}, {shown_time(item.timescale)}: {left_out} around gaps left out."
    yield "worth: independent samples that would say as much about the mean. r: autocorrelation at a lag in bins."
    yield "H: Hurst exponent by aggregated variance, R/S and local Whittle (the one to trust); 0.5 without long memory."
    yield INDEPENDENCE
