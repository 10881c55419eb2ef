"""Options that several commands have."""

from typing import Any

import typer


def out_directory(help: str) -> Any:
    """Make the option `--out DIR`; `help` says what is written there."""
    return typer.Option("--out", "-o", metavar="DIR", help=help, show_default=False)
