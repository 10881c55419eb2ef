"""Files of a command line, and how they are read: the same options for every command on traffic volumes."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pullnet.cli.traffic.common import say_sources
from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import Reading, load, make_options, options_of
from pullnet.traffic.source import Options

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES...",
        help="Captures (pcap, pcapng, ERF; plain, .gz or .zst), counters or volumes (CSV, Parquet, exports of RRD "
        "and Prometheus); - for a capture on standard input.",
        show_default=False,
    ),
]
Text = str | None
_HIDDEN: dict[str, Any] = {"show_default": False}

READING: dict[str, Any] = {
    "timescale": Annotated[
        Text,
        typer.Option(
            metavar="TIMES",
            help="Lengths of bins, such as 5ms,100ms,1s,5s. Captures: these four unless given; others: what they have.",
            **_HIDDEN,
        ),
    ],
    "capacity": Annotated[
        Text,
        typer.Option(metavar="RATE", help='Capacity of the link, such as "1 Gbps"; inferred if not given.', **_HIDDEN),
    ],
    "filter": Annotated[
        Text,
        typer.Option(
            metavar="TERMS",
            help="Captures: count only packets that are all of these, joined by commas: in, out, tcp, udp, icmp, proto "
            "N, src PREFIX, dst PREFIX, net PREFIX, interface N.",
            **_HIDDEN,
        ),
    ],
    "origin": Annotated[
        Text,
        typer.Option(
            metavar="WHEN",
            help="Captures: where bins begin: first (packet), aligned (whole multiples), or seconds since 1970; first "
            "unless given.",
            **_HIDDEN,
        ),
    ],
    "partial": Annotated[bool, typer.Option("--partial", help="Captures: keep the last bin though it is incomplete.")],
    "unit": Annotated[
        Text,
        typer.Option(
            metavar="UNIT",
            help="Counters: bytes, kB, MB, GB, KiB, bits, kbit, Mbit, Gbit and so on, or one of these per second such "
            "as Mbit/s; needed where column names do not say it.",
            **_HIDDEN,
        ),
    ],
    "kind": Annotated[
        Text,
        typer.Option(metavar="KIND", help="Counters: volume (per interval) or counter (that goes up).", **_HIDDEN),
    ],
    "width": Annotated[int | None, typer.Option(metavar="BITS", help="Counters that go up: 32 or 64 bits.", **_HIDDEN)],
    "interval": Annotated[
        Text,
        typer.Option(metavar="TIME", help="Counters: length of an interval; from their times unless given.", **_HIDDEN),
    ],
    "columns": Annotated[
        Text,
        typer.Option(
            metavar="NAMES", help="Counters: the columns to read, joined by commas; all unless given.", **_HIDDEN
        ),
    ],
    "missing": Annotated[
        Text,
        typer.Option(metavar="WHAT", help="Counters: empty cells: gap (unless given) or error.", **_HIDDEN),
    ],
    "input_timezone": Annotated[
        Text,
        typer.Option(
            metavar="ZONE",
            help="Counters: zone of times that state none, such as Europe/Berlin; UTC unless given.",
            **_HIDDEN,
        ),
    ],
    "time_format": Annotated[
        Text,
        typer.Option(metavar="FORM", help="Counters: form of times, such as '%d/%m/%Y %H:%M'.", **_HIDDEN),
    ],
    "stamps": Annotated[
        Text,
        typer.Option(
            metavar="WHICH", help="Counters: times are the begin (unless given) or the end of intervals.", **_HIDDEN
        ),
    ],
    "decimal": Annotated[
        Text,
        typer.Option(metavar="MARK", help="Counters: point or comma; seen from the file unless given.", **_HIDDEN),
    ],
}
"""Options of reading, by name."""


@dataclass(frozen=True)
class Inputs:
    """The files of a command line, and what was said of reading them."""

    files: list[Path]
    timescale: str | None = None
    said: dict[str, Any] = field(default_factory=dict)
    """Options that were given, without the timescale."""

    def of(self, files: list[Path], mixed: bool) -> "Inputs":
        """Return a part of the files; of `mixed` kinds, with the options that those have a use for."""
        known = options_of(str(files[0]))
        said = {name: value for name, value in self.said.items() if name in known} if mixed else self.said
        return Inputs(files, self.timescale, said)

    def gather(self, timescale: str | None = None, *, quiet: bool = False, **defaults: Any) -> Reading:
        """Read the files, with progress; say on standard error what was wrong with them.

        `timescale` and `defaults` hold where the command line says nothing else.
        """
        options = {**defaults, **self.said}
        with _progress(quiet=quiet) as shown:
            made = make_options(timescale if self.timescale is None else self.timescale, **options)
            reading = load(self.files, _with_progress(made, shown))
        say_sources(reading.sources)
        return reading


def refuse_replacing(files: Iterable[Path], out: Path) -> None:
    """Refuse to write over a file that is read: a measurement would be lost."""
    for file in files:
        with suppress(OSError):
            if out.samefile(file):
                raise TrafficError(
                    "is also what is read, and would be lost", where=str(out), remedy="write to another file"
                )


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command whose first parameter is `inputs: Inputs` the argument FILES and all options of reading."""
    return _with_options(command, files=True, names=tuple(READING))


def reads_one(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that names its file in an option of its own the options of reading, but not the timescale."""
    return _with_options(command, files=False, names=tuple(name for name in READING if name != "timescale"))


def _with_options(command: Callable[..., None], *, files: bool, names: tuple[str, ...]) -> Callable[..., None]:
    @wraps(command)
    def run(**given: Any) -> None:
        named = given.pop("files", [])
        said = {name: value for name in names if (value := given.pop(name)) not in (None, False)}
        command(Inputs(named, said.pop("timescale", None), said), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "inputs"]
    first = [inspect.Parameter("files", keyword, annotation=Files)] if files else []
    shared = [
        inspect.Parameter(name, keyword, annotation=READING[name], default=False if name == "partial" else None)
        for name in names
    ]
    tail = [each for each in own if each.name in ("as_json", "quiet")]
    others = [each for each in own if each not in tail]
    parameters = [*first, *others, *shared, *tail]
    run.__signature__ = inspect.Signature([each.replace(kind=keyword) for each in parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
