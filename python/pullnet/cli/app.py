"""The list of commands."""

from typing import Annotated

import typer

from pullnet import __version__
from pullnet.cli.codes import codes
from pullnet.cli.compare import compare
from pullnet.cli.diff import diff
from pullnet.cli.host import host
from pullnet.cli.play import play
from pullnet.cli.reproduce import reproduce
from pullnet.cli.run import run
from pullnet.cli.spec import check, list_names, new, schema
from pullnet.cli.switch import switch, tell
from pullnet.cli.testbed import testbed
from pullnet.cli.traffic import app as traffic

app = typer.Typer(
    name="pullnet",
    help="A laboratory for data-centre transport.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pullnet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A laboratory for data-centre transport."""


app.command()(run)
app.command()(check)
app.command()(schema)
app.command("list")(list_names)
app.command()(new)
app.command()(reproduce)
app.command()(diff)
app.command()(switch)
app.command()(tell)
testbed.command()(play)
testbed.command()(compare)
app.add_typer(codes)
app.add_typer(host)
app.add_typer(testbed)
app.add_typer(traffic)
