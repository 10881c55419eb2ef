"""`pullnet testbed compare`."""

from typing import TYPE_CHECKING

import typer

from pullnet import json_text
from pullnet.cli.diff import text
from pullnet.cli.testbed import HostCore, Json, Place, Prefer, on_testbed
from pullnet.runs.scenario import compiled

if TYPE_CHECKING:
    from pullnet.testbed.compare import Comparison, Row


@on_testbed(spin=True)
def compare(place: Place, host_core: HostCore = 0, prefer: Prefer = "group", as_json: Json = False) -> None:
    """Run a scenario in the simulator and on its testbed.

    Shows the results of both, and where they first differ.
    """
    from pullnet.testbed.compare import PROBES
    from pullnet.testbed.compare import compare as both
    from pullnet.testbed.play import Manner

    probes = [f"{path}={value}" for path, value in PROBES.items()]
    scenario = compiled(place.file, set=[*(place.settings or []), *probes])
    with place.brought_up() as bed:
        found = both(bed, scenario, Manner(host_core, prefer))
    if as_json:
        typer.echo(json_text.dumps(found.as_dict()))
    else:
        _show(found)


def _show(found: "Comparison") -> None:
    typer.echo(f"{'':34}{'simulator':>14}{'linux':>14}{'ratio':>9}")
    for row in found.rows:
        typer.echo(_line(row))
    typer.echo(text(found.packets))


def _line(row: "Row") -> str:
    name = f"{row.name}, {row.unit}" if row.unit else row.name
    values = "".join(f"{'-' if value is None else format(value, '.10g'):>14}" for value in (row.simulator, row.linux))
    return f"{name:34}{values}{'' if row.ratio is None else format(row.ratio, '9.3f')}"
