"""`pullnet check`, `schema`, `list` and `new`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pullnet import json_text
from pullnet.cli.run import Scenarios, Seed, Settings, Silence
from pullnet.errors import InputError
from pullnet.files import whole
from pullnet.results.summary import Notice
from pullnet.runs import scenario as scenario_files

What = Literal["protocols", "switches", "topologies", "traffic", "distributions", "probes", "warnings"]


def check(
    scenarios: Scenarios,
    settings: Settings = None,
    seed: Seed = None,
    silence: Silence = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print errors and warnings, and what was resolved, as JSON: a list.")
    ] = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print a line of JSON for each scenario.")] = False,
) -> None:
    """Report all errors and warnings of scenarios at once.

    Prints every value in force and its origin: a line of a file, --set, or the default. Runs nothing.
    """
    findings = [_finding(scenario, settings or [], seed, silence or []) for scenario in scenarios]
    errors = [line for finding in findings for line in finding["errors"]]
    if as_json or as_lines:
        lines = [json_text.dumps(finding, indent=None) for finding in findings]
        typer.echo("\n".join(lines) if as_lines else json_text.dumps(findings))
        raise typer.Exit(2 if errors else 0)
    for warning in (warning for finding in findings for warning in finding["warnings"]):
        typer.echo(f"warning: {Notice(**warning)}", err=True)
    if errors:
        raise InputError(list(dict.fromkeys(errors)))
    typer.echo("\n".join(finding["resolved"] for finding in findings).rstrip("\n"))


def _finding(scenario: Path, settings: list[str], seed: int | None, silence: list[str]) -> dict[str, Any]:
    try:
        checked = scenario_files.check(scenario, set=settings, seed=seed, silence=silence)
    except InputError as error:
        return {"scenario": str(scenario), "errors": error.for_commands(), "warnings": []}
    return {"scenario": str(scenario), "errors": [], **asdict(checked)}


def paths(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="A scenario file; - is standard input.", show_default=False)
    ],
    src: Annotated[int, typer.Argument(metavar="SRC", min=0, help="Number of the sending host.", show_default=False)],
    dst: Annotated[int, typer.Argument(metavar="DST", min=0, help="Number of the receiving host.", show_default=False)],
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the links as JSON: a list.")] = False,
) -> None:
    """Show every path between two hosts, link by link.

    Each link has the number of its row in the table of ports of a result.
    """
    links = scenario_files.paths(scenario, src, dst, set=settings or [])
    if as_json:
        typer.echo(json_text.dumps(links.to_dicts()))
        return
    from rich.table import Table

    from pullnet.cli.console import Output

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("path", "hop", "row", "Gb/s", "delay in us"):
        table.add_column(heading, justify="right")
    table.add_column("link")
    for path, hop, row, name, rate, delay in links.iter_rows():
        table.add_row(str(path), str(hop), str(row), f"{rate / 1e9:g}", f"{delay / 1e6:g}", name)
    Output(markup=False, highlight=False).print(table)


def schema() -> None:
    """Print the JSON schema of a scenario file, for editors."""
    typer.echo(json_text.dumps(scenario_files.schema()))


def list_names(
    what: Annotated[
        What,
        typer.Argument(
            metavar="WHAT",
            help="One of protocols, switches, topologies, traffic, distributions, probes, warnings.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what a scenario can choose from."""
    names = scenario_files.catalogue(what)
    if as_json:
        typer.echo(json_text.dumps(names))
        return
    from rich.table import Table

    from pullnet.cli.console import Output

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, summary in names.items():
        table.add_row(name, summary)
    Output(markup=False, highlight=False).print(table)


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the scenario, with or without .toml.", show_default=False)
    ],
) -> None:
    """Write a scenario to start from: NAME.toml."""
    name = name.rstrip(".")
    ending = Path(name).suffix
    if ending[1:].isalpha() and ending != ".toml":  # load-0.5 and my.v2 have no ending
        raise InputError(f"{name}: a scenario is a TOML file; write: pullnet new {Path(name).with_suffix('.toml')}")
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise InputError(f"{name or 'NAME'}: is no name of a file; write for instance: pullnet new my")
    try:
        with whole(path), path.open("x", encoding="utf-8") as file:
            file.write(scenario_files.template(path.stem))
    except FileExistsError:
        raise InputError(f"{path}: exists already; choose another name") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; choose another place") from None
    typer.echo(f"{path} written; run it with: pullnet run {path}")
