"""A picture as a file, and beside it a CSV file with the same numbers."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Titled:
    """What every picture has."""

    name: str
    """Of the file, without ending."""
    title: str
    x: str
    """Name and unit of the horizontal axis."""
    y: str
    """Name and unit of the vertical axis."""


def write(
    folder: Path, name: str, header: Sequence[str], rows: Iterable[Sequence[object]], draw: Callable[[Path], None]
) -> Path:
    """Write NAME.csv and, by `draw`, NAME.png into `folder`; returns the path of the PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    path = folder / f"{name}.png"
    draw(path)
    return path
