"""`pullnet traffic`: a module for each command, and a line here."""

import typer

from pullnet.cli.traffic.stationarity import stationarity
from pullnet.cli.traffic.volumes import volumes

app = typer.Typer(
    name="traffic",
    help="Traffic volumes: what load a link carries, how large it must be, what it will cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command()(volumes)
app.command()(stationarity)
