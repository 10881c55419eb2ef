"""Reading files of any kind: captures, counters, and volumes that were written before."""

import itertools
import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pullnet.arguments import refuse_other_types, typed
from pullnet.files import refuse_named_pipe
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import Timescale, timescales
from pullnet.traffic.source import Options, PathLike, Source, plain_name
from pullnet.traffic.volumes import Volumes


@dataclass(frozen=True, slots=True)
class Reading:
    """Volumes, and the files they come from."""

    volumes: list[Volumes]
    sources: list[Source]

    @property
    def damaged(self) -> bool:
        """Whether anything could not be read."""
        return any(source.damage for source in self.sources)


class DamagedInput(UserWarning):
    """A part of an input could not be read; the rest was."""


@typed
def read(path: PathLike, *, timescales: str | Iterable[Timescale] | None = None, **options: Any) -> list[Volumes]:
    """Read a capture, counters, or volumes. A damaged input gives what is readable, and a `DamagedInput` warning.

    Further options of captures are `filter`, `capacity`, `origin`, `partial` and `most_bins`; of counters `unit`,
    `kind`, `columns`, `interval`, `width`, `missing`, `capacity`, `input_timezone`, `time_format`, `stamps` and
    `decimal`. `pullnet traffic volumes --help` explains them; `most_bins` limits the bins in memory.
    """
    reading = load([path], make_options(timescales, **options))
    for source in reading.sources:
        for note in source.damage:
            warnings.warn(f"{source.path}: {note.text}", DamagedInput, stacklevel=2)
    return reading.volumes


def make_options(
    wanted: str | Iterable[Timescale] | None = None,
    *,
    progress: Callable[[str, int, int | None], None] | None = None,
    **others: Any,
) -> Options:
    """Sort options by the kind of file that they are for."""
    from pullnet.traffic import captures, counters

    kinds = captures.OPTIONS | counters.OPTIONS
    unknown = sorted(set(others) - set(kinds))
    if unknown:
        known = ", ".join(sorted(kinds))
        raise TrafficError(f"there is no option `{unknown[0]}`", value=unknown[0], remedy=f"use one of {known}")
    for name, value in others.items():
        refuse_other_types("read", name, value, kinds[name])
    return Options(
        None if wanted is None else tuple(timescales(wanted)),
        {name: value for name, value in others.items() if name in captures.OPTIONS},
        {name: value for name, value in others.items() if name in counters.OPTIONS},
        progress,
    )


def options_of(path: PathLike) -> frozenset[str]:
    """Return the options that a file has a use for, by its name."""
    from pullnet.traffic import captures, counters

    return frozenset(captures.OPTIONS if is_capture(path) else counters.OPTIONS)


@typed
def load(paths: Iterable[PathLike], options: Options | None = None) -> Reading:
    """Read files, with what was found out about each."""
    options = options or Options()
    names = [os.fspath(path) for path in paths]
    _refuse_twice(names)
    mixed = len({is_capture(name) for name in names}) > 1
    volumes: list[Volumes] = []
    sources: list[Source] = []
    for name in names:
        found, source = _load(name, _of_kind(options, name) if mixed else options)
        taken = {item.trace for item in volumes}
        volumes += [_renamed(item, taken) for item in found]
        sources.append(source)
    return Reading(volumes, sources)


def _refuse_twice(names: list[str]) -> None:
    """Refuse a file that is named twice, by the same name or another: its traffic would count twice."""
    seen: dict[object, str] = {}
    for name in names:
        key: object = name
        with suppress(OSError):
            key = _identity(name) if name != "-" else name
        if key in seen:
            again = "" if seen[key] == name else f", as `{seen[key]}` before"
            raise TrafficError(f"is given twice{again}", where=name, value=name, remedy="name each file once")
        seen[key] = name


def _identity(name: str) -> tuple[int, int]:
    found = Path(name).stat()
    return found.st_dev, found.st_ino


def _of_kind(options: Options, name: str) -> Options:
    """Keep the options that a file has a use for; the others are for the files of the other kind beside it."""
    return replace(options, counters={}) if is_capture(name) else replace(options, capture={})


def _renamed(volumes: Volumes, taken: set[str]) -> Volumes:
    """Give a trace a name that none of another file has: `a`, `a (2)`, ..."""
    if volumes.trace not in taken:
        return volumes
    names = (f"{volumes.trace} ({count})" for count in itertools.count(2))
    return replace(volumes, trace=next(name for name in names if name not in taken))


def _load(path: str, options: Options) -> tuple[list[Volumes], Source]:
    if path != "-":
        _refuse_unreadable(path)
        if _is_table(path):
            return _load_table(path, options)
    from pullnet.traffic import captures

    return captures.load(path, options)


def _load_table(path: str, options: Options) -> tuple[list[Volumes], Source]:
    from pullnet.traffic import counters, exports, files, flows

    if path.lower() != plain_name(path) and plain_name(path).endswith(".parquet"):
        remedy = "decompress it; Parquet compresses its columns itself"
        raise TrafficError("is a compressed Parquet file", where=path, remedy=remedy)
    if path.lower().endswith(".parquet") and (found := files.of_parquet(path, options)) is not None:
        return found
    if exports.is_export(path):
        return counters.load(path, exports.table(path), options)
    said = options.counters
    table = files.table(path, said.get("decimal"), times_as_text=said.get("time_format") is not None)
    if files.is_volumes(table.column_names):
        return files.load(path, table.combine_chunks().to_batches(), options)
    if flows.is_flows(table.column_names):
        return flows.load(path, table, options)
    return counters.load(path, table, options)


def is_capture(path: PathLike) -> bool:
    """Whether a file is read as a capture, by its name."""
    return not _is_table(os.fspath(path))


def _is_table(path: str) -> bool:
    return plain_name(path).endswith((".csv", ".parquet", ".tsv", ".txt", ".json", ".xml", ".rrd"))


def _refuse_unreadable(path: str) -> None:
    file = Path(path)
    if file.is_dir():
        raise TrafficError("is a folder", where=path, remedy="name the files in it")
    refuse_named_pipe(path)
    try:
        with file.open("rb"):
            return
    except FileNotFoundError:
        raise TrafficError("there is no such file", where=path, remedy="name one that is there") from None
    except OSError as error:
        raise TrafficError(f"cannot be read: {error.strerror}", where=path, remedy="name a file that can be") from None
