"""`pullnet check`, `schema`, `list` and `new`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pullnet import json_text
from pullnet import scenario as scenario_files
from pullnet.cli.run import Scenarios, Seed, Settings
from pullnet.errors import InputError

What = Literal["protocols", "switches", "topologies", "traffic", "distributions"]


def check(
    scenarios: Scenarios,
    settings: Settings = None,
    seed: Seed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print errors, or what was resolved, as JSON.")] = False,
) -> None:
    """Name every error at once, or show the scenario with every value and where it comes from."""
    findings = [_finding(scenario, settings or [], seed) for scenario in scenarios]
    errors = [line for finding in findings for line in finding["errors"]]
    if as_json:
        typer.echo(json_text.dumps(findings))
        raise typer.Exit(2 if errors else 0)
    if errors:
        raise InputError(errors)
    typer.echo("\n".join(finding["resolved"] for finding in findings).rstrip("\n"))


def _finding(scenario: Path, settings: list[str], seed: int | None) -> dict[str, Any]:
    try:
        checked = scenario_files.check(scenario, set=settings, seed=seed)
    except InputError as error:
        return {"scenario": str(scenario), "errors": error.errors}
    return {"scenario": str(scenario), "errors": [], **asdict(checked)}


def schema() -> None:
    """Print the JSON schema of a scenario file, for editors."""
    typer.echo(json_text.dumps(scenario_files.schema()))


def list_names(
    what: Annotated[
        What,
        typer.Argument(
            metavar="WHAT", help="One of protocols, switches, topologies, traffic, distributions.", show_default=False
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what a scenario can choose from."""
    names = scenario_files.catalogue(what)
    if as_json:
        typer.echo(json_text.dumps(names))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, summary in names.items():
        table.add_row(name, summary)
    Console(markup=False, highlight=False).print(table)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario.", show_default=False)],
) -> None:
    """Write a scenario to start from: NAME.toml."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise InputError(f"{name or 'NAME'}: is no name of a file; write for instance: pullnet new my")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(scenario_files.template(path.stem))
    except FileExistsError:
        raise InputError(f"{path}: exists already; choose another name") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; choose another place") from None
    typer.echo(f"{path} written; run it with: pullnet run {path}")
