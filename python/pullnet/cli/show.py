"""`pullnet show`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pullnet import json_text

Folders = Annotated[list[Path], typer.Argument(metavar="RESULT...", help="Directories of results.", show_default=False)]


def show(
    folders: Folders,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summaries as a JSON array.")] = False,
) -> None:
    """Print the summaries of results, as `pullnet run` printed them.

    Exits with 0 also where a run ended early or flows failed.
    """
    from pullnet.cli.console import Output
    from pullnet.results.result import load
    from pullnet.results.show import show as print_result

    results = [load(folder) for folder in folders]
    if as_json:
        typer.echo(json_text.dumps([json.loads(result.summary_json) for result in results]))
        return
    for result in results:
        print_result(result, Output())
