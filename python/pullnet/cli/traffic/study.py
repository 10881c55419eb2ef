"""`pullnet traffic study`."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import AsJson, Quiet, leave, numbers, print_json, say, table
from pullnet.cli.traffic.inputs import Inputs, reads
from pullnet.cli.traffic.shares import EPS, Eps
from pullnet.results.directory import staged
from pullnet.traffic import report
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import bits_per_second, shown_time
from pullnet.traffic.reading import Reading
from pullnet.traffic.studies import Options, Progress, Study
from pullnet.traffic.studies import study as examine


@reads
def study(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the report goes.", show_default=False)],
    eps: Eps = EPS,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", help="Repeats that say whether a power law is plausible; 0: not asked.", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0)] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", help="Series examined at once; the cores unless given.", min=1, max=256, show_default=False
        ),
    ] = None,
    stationarity: Annotated[bool, typer.Option(help="Test whether levels hold.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace a report that is there.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run all analyses and write a report.

    Fits, capacities, predicted percentiles and stationarity go to DIR/report.html, with pictures.
    """
    capacity = inputs.said.get("capacity")
    rate = None if capacity is None else bits_per_second(capacity)
    options = Options(numbers(eps, "eps"), bootstrap, seed, rate, stationarity)
    with staged(out, force=force) as staging:
        reading = inputs.gather(quiet=quiet or as_json)
        workers = jobs or os.cpu_count() or 1
        found = examine(reading.volumes, options, jobs=workers, progress=_progress(quiet=quiet or as_json))
        if not found.fittings:
            raise TrafficError("\n".join(item.skipped["fit"] for item in found.items))
        staging.fill(lambda folder: _write(found, folder, reading))
    if as_json:
        print_json({"report": str(out / "report.html"), **_json(found)}, reading)
    else:
        _show(found, out)
    leave(reading)


def _write(found: Study, folder: Path, reading: Reading) -> None:
    report.write(found, folder, reading.sources)


def _progress(*, quiet: bool) -> Progress | None:
    if quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r\x1b[Kexamined {done} of {total}" + ("\n" if done == total else ""))
        sys.stderr.flush()

    return show


def _json(found: Study) -> dict[str, object]:
    return {
        "series": len(found.items),
        "rows": found.rows(),
        "scores": [asdict(each) for each in found.scores],
        "nrmse": [asdict(each) for each in found.nrmse],
        "left_out": found.left_out(),
        "unpredicted": found.unpredicted,
    }


def _show(found: Study, out: Path) -> None:
    console = Output()
    shown = table(["trace"], ["timescale", "samples"])
    shown.add_column("what was found")
    for each in found.fittings:
        shown.add_row(each.trace, shown_time(each.timescale or 0.0), str(each.samples), each.verdict)
    console.print(shown)
    for part in found.left_out():
        say(console, f"left out: {part['part']}: {part['reason']}")
    say(console, f"The report is {out / 'report.html'}")
