"""`pullnet traffic`: a module for each command, and a line here.

A command is a function with the name of its module. The module is imported only when the command is called: importing
numpy, scipy and arch takes a second, and other commands do without.
"""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from pullnet.cli.help import epilog, in_plain_words

COMMANDS = {
    "volumes": epilog(
        "pullnet traffic volumes capture.pcap.gz --timescale 100ms,1s -o volumes.parquet",
        "pullnet traffic volumes month.csv --unit bytes --capacity '10 Gbps' -o counters.parquet",
        "tcpdump -i eth0 -c 100000 -w - | pullnet traffic volumes - --timescale 100ms",
    ),
    "fit": epilog(
        "pullnet traffic fit volumes.parquet",
        "pullnet traffic fit volumes.parquet --timescale 1s --bootstrap 2500 --json > fit.json",
    ),
    "dimension": epilog("pullnet traffic dimension volumes.parquet --eps 0.1,0.01"),
    "bill": epilog(
        "pullnet traffic bill counters.parquet --month 2014-04 --timezone Europe/Berlin",
        "pullnet traffic bill month.csv --unit bytes --commit '500 Mbps' --price 2.50 --invoice bill.pdf",
    ),
    "stationarity": epilog("pullnet traffic stationarity volumes.parquet --timescale 100ms --window 10s,30s"),
    "synthesise": epilog(
        "pullnet traffic synthesise --mean '400 Mbps' --cv 0.3 --timescale 100ms --duration 15min -o law.csv",
        "pullnet traffic synthesise --from volumes.parquet --autocorrelation measured --seed 7 -o more.csv",
    ),
    "study": epilog("pullnet traffic study *.pcap.gz -o report"),
}
"""The end of each command's help; commands in the order of help."""


class _Lazy(TyperGroup):
    """A group whose commands are imported when they are used."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """Names, in the order of help."""
        return list(COMMANDS)

    def get_command(self, _ctx: Any, name: str) -> Any:
        """Import a command."""
        if name not in COMMANDS:
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(name, epilog=COMMANDS[name])(getattr(import_module(f"{__name__}.{name}"), name))
        return in_plain_words(typer.main.get_command(single))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command. Where there is none of that name, the error suggests the nearest one."""
        self.commands: Any = dict.fromkeys(COMMANDS)  # typer suggests these keys; the modules are still not imported
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="traffic",
    cls=_Lazy,
    help="Measure the load of links, their size and their cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
