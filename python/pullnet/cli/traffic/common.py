"""Common parts of the commands on traffic volumes: tables, problems of inputs, exit codes."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from pullnet import json_text
from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import Reading
from pullnet.traffic.source import Note, Source

PARTIAL = 3
"""Exit code: a part of the input could not be read."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]


def numbers(text: str, option: str) -> list[float]:
    """Read numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise TrafficError(
            f"--{option}: `{text}` is no list of numbers", value=text, remedy="use for instance 0.05,0.01"
        ) from None


def say(console: Console, line: str) -> None:
    """Print a sentence as it is, in lines as wide as the terminal."""
    console.print(line, markup=False, highlight=False)


def table(words: Iterable[str], numbers: Iterable[str], title: str | None = None) -> Table:
    """Begin a table: columns of words, then of numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for heading in words:
        made.add_column(heading, overflow="fold")
    for heading in numbers:
        made.add_column(heading, justify="right")
    return made


def leave(reading: Reading) -> None:
    """End the command: with 3 if a part of the input could not be read."""
    raise typer.Exit(PARTIAL if reading.damaged else 0)


def say_sources(sources: list[Source]) -> None:
    """Say what could not be read, and what was read by a rule."""
    for source in sources:
        for note in source.damage:
            typer.echo(f"unreadable: {source.path}: {note.text}", err=True)
        for note in source.repairs:
            typer.echo(f"note: {source.path}: {note.text}", err=True)


def print_json(document: dict[str, Any], reading: Reading) -> None:
    """Print `document` with the inputs under `inputs`."""
    typer.echo(json_text.dumps({"inputs": [source_json(source) for source in reading.sources], **document}))


def source_json(source: Source) -> dict[str, Any]:
    """Return what is known of a source, for JSON."""
    return {
        "path": source.path,
        "format": source.format,
        **source.facts,
        "unreadable": [_note(note) for note in source.damage],
        "notes": [_note(note) for note in source.repairs],
    }


def _note(note: Note) -> dict[str, Any]:
    return asdict(note)
