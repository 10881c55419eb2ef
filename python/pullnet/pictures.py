"""A picture as a file, and beside it a CSV file with the same numbers."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


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
