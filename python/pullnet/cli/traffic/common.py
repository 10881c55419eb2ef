"""What the commands on traffic volumes share: files in, what was wrong with them, exit codes."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from pullnet import json_text
from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import Note, Options, Reading, Source, load, make_options

PARTIAL = 3
"""Exit code: a part of the input could not be read."""

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES...",
        help="Captures (pcap, pcapng, ERF; plain, .gz or .zst), counters or volumes (CSV, Parquet); - for a capture "
        "on standard input.",
        show_default=False,
    ),
]
Timescales = Annotated[
    str | None,
    typer.Option(
        "--timescale",
        metavar="TIMES",
        help="Lengths of bins, such as 5ms,100ms,1s,5s. Captures: these four unless given; others: what they have.",
        show_default=False,
    ),
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="TERMS",
        help="Captures: count only packets that are all of these, joined by commas: in, out, tcp, udp, icmp, proto N, "
        "src PREFIX, dst PREFIX, net PREFIX, interface N.",
        show_default=False,
    ),
]
Capacity = Annotated[
    str | None,
    typer.Option(
        "--capacity", metavar="RATE", help='Of the link, such as "1 Gbps"; inferred if not given.', show_default=False
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="UNIT",
        help="Counters: bytes, kB, MB, GB, bits, kbit, Mbit, Gbit, or one of these per second such as Mbit/s; needed "
        "where column names do not say it.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]


def gather(files: list[Path], timescale: str | None = None, *, quiet: bool = False, **options: Any) -> Reading:
    """Read the files of a command line, with progress; say on standard error what was wrong with them."""
    given = {name: value for name, value in options.items() if value is not None}
    with _progress(quiet=quiet) as shown:
        reading = load(files, _with_progress(make_options(timescale, **given), shown))
    say_sources(reading.sources)
    return reading


def numbers(text: str, option: str) -> list[float]:
    """Read numbers between commas."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise TrafficError(
            f"--{option}: `{text}` is no list of numbers", value=text, remedy="use for instance 0.05,0.01"
        )
    return found


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


class _Bar:
    """A bar of bytes read, on a terminal."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TransferSpeedColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._task = self._bar.add_task("reading", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def update(self, path: str, done: int, total: int | None) -> None:
        """Show the latest."""
        self._bar.update(self._task, description=Path(path).name, completed=done, total=total)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[_Bar | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _Bar(Console(stderr=True)) as bar:
        yield bar


def _with_progress(options: Options, bar: _Bar | None) -> Options:
    if bar is None:
        return options
    return Options(options.timescales, options.capture, options.counters, bar.update)
