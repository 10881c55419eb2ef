"""`pullnet traffic`: a module for each command, and a line here.

A command is a function with the name of its module. The module is imported only when the command is called: importing
numpy, scipy and arch takes a second, and other commands do without.
"""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from pullnet.cli.help import in_plain_words

COMMANDS = (
    "volumes",
    "fit",
    "dimension",
    "bill",
    "stationarity",
    "synthesise",
    "study",
)
"""In the order of help."""


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
        single.command(name)(getattr(import_module(f"{__name__}.{name}"), name))
        return in_plain_words(typer.main.get_command(single))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command. Where there is none of that name, the error suggests the nearest one."""
        self.commands: Any = dict.fromkeys(COMMANDS)  # typer suggests these keys; the modules are still not imported
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="traffic",
    cls=_Lazy,
    help="Traffic volumes: what load a link carries, how large it must be, what it will cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
