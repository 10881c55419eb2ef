"""What all readers of files share: options, notes about an input, names."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Note:
    """Something about an input that its reader counted."""

    kind: str
    """A word for programs, such as `truncated record`."""
    count: int
    text: str
    """For people: what, how many, where."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, and how."""

    path: str
    format: str
    damage: tuple[Note, ...] = ()
    """Parts that could not be read. Any of them makes the exit code 3."""
    repairs: tuple[Note, ...] = ()
    """Parts that were read by a stated rule: timestamps going back, counters that wrapped."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Counts by name, for instance `packets`."""


@dataclass(frozen=True, slots=True)
class Options:
    """How files are read. An option that does not apply to a kind of file is refused."""

    timescales: tuple[float, ...] | None = None
    """Unit: s. `None`: what the file has; for captures those of the study."""
    capture: Mapping[str, Any] = field(default_factory=dict)
    """Options of `captures.read`."""
    counters: Mapping[str, Any] = field(default_factory=dict)
    """Options of `counters.read`."""
    progress: Callable[[str, int, int | None], None] | None = None
    """Told now and then: which file, bytes read, and bytes in all if known."""


def shown_ending(file: Path) -> str:
    """Describe the ending of a file name, for an error about it."""
    return f"ends in `{file.suffix}`" if file.suffix else "has no ending that says what is to be written"


def plain_name(path: str) -> str:
    """Return the name of a file in small letters, without the ending of its compression."""
    return path.lower().removesuffix(".gz").removesuffix(".zst")


def trace_name(path: str) -> str:
    """Return the name of a file without folders and endings: `a/b.pcap.gz` is `b`."""
    name = Path(path).name
    for ending in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(ending)
    stem, dot, ending = name.rpartition(".")
    known = ("pcap", "pcapng", "cap", "erf", "csv", "tsv", "txt", "parquet", "dump", "ntar", "json", "xml", "rrd")
    return stem if dot and ending.lower() in known and stem else name
