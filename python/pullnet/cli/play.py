"""`pullnet testbed play`."""

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pullnet import json_text
from pullnet.cli.options import out_directory
from pullnet.cli.testbed import HostCore, Json, Place, Prefer, on_testbed
from pullnet.results.directory import default_directory
from pullnet.runs.scenario import compiled, override_pairs

if TYPE_CHECKING:
    from pullnet.results.result import Result

ENDED_EARLY = 3


@on_testbed(spin=True)
def play(
    place: Place,
    host_core: HostCore = 0,
    prefer: Prefer = "group",
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="How many times.")] = 1,
    out: Annotated[
        Path | None,
        out_directory(
            "Where the result goes; results/NAME-linux-SEED if not given, and with --set a short hash of the settings."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    as_json: Json = False,
) -> None:
    """Play the scenario's flows on its testbed.

    Endpoints and results are those of the simulator. The testbed is made for the command and taken down
    afterwards unless it is up already. Wall-clock times of a shared machine are indications.
    """
    from pullnet.testbed.play import Manner
    from pullnet.testbed.play import play as play_rounds

    settings = place.settings or []
    scenario = compiled(place.file, set=settings)
    directory = out or default_directory(f"{scenario.name} linux", scenario.seed, settings=override_pairs(settings))
    with place.brought_up() as bed:
        manner = Manner(host_core, prefer)
        results = play_rounds(bed, scenario, rounds=rounds, out=directory, force=force, manner=manner)
    _tell(results, single=rounds == 1, as_json=as_json)
    raise typer.Exit(0 if all(result.summary.complete for result in results) else ENDED_EARLY)


def _tell(results: "list[Result]", *, single: bool, as_json: bool) -> None:
    from pullnet.cli.console import Output

    if as_json:
        summaries = [json.loads(result.summary_json) for result in results]
        typer.echo(json_text.dumps(summaries))
    elif single:
        from pullnet.results.show import show

        show(results[0], Output())
    else:
        _rounds(results)


def _rounds(results: "list[Result]") -> None:
    """One line for each round, and the median of all."""
    lasts = []
    for number, result in enumerate(results, 1):
        summary = result.summary
        lasts.append(summary.fct_us.max or float("nan"))
        typer.echo(
            f"round {number}: last flow {lasts[-1] / 1e3:.3f} ms, median {(summary.fct_us.p50 or 0) / 1e3:.3f} ms, "
            f"{summary.packets.trimmed} trimmed, {summary.packets.dropped} dropped, "
            f"{summary.packets.retransmitted} sent again, {summary.timeouts} timeouts"
        )
    ninth = sorted(lasts)[max(0, -(-len(lasts) * 9 // 10) - 1)]
    typer.echo(f"last flow: median {statistics.median(lasts) / 1e3:.3f} ms, 90th percentile {ninth / 1e3:.3f} ms")
    if results[0].path is not None:
        typer.echo(f"results: {results[0].path.parent}")
