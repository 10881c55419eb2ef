"""A picture as a file, and beside it a CSV file with the same numbers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_INSIDE = 10
"""Lines that a legend within the axes has room for. One of more lines stands beside them."""
_ROWS = 20
"""Rows of a legend beside the axes."""
_COLUMN = 2.3
"""Width of each of its columns. Unit: inches."""
_DASHES = ("-", "--", ":", "-.")


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


def sheet(width: float, height: float, lines: int) -> tuple[Figure, Axes]:
    """Return a figure for `lines` lines, wide enough for their legend, and its axes. Sizes are in inches.

    Lines beyond the tenth are dashed, for the colours repeat.
    """
    from matplotlib import rcParams
    from matplotlib.figure import Figure  # not by pyplot, whose backend is the caller's
    from matplotlib.rcsetup import cycler

    figure = Figure(figsize=(width + _COLUMN * _columns(lines), height), layout="constrained")
    axes = figure.subplots()
    axes.set_prop_cycle(cycler(linestyle=_DASHES) * rcParams["axes.prop_cycle"])
    return figure, axes


def legend(axes: Axes, size: str) -> None:
    """Add a legend of all lines that have a name; `size` of its letters: `small`."""
    lines = len(axes.get_legend_handles_labels()[1])
    if not lines:
        return
    if columns := _columns(lines):
        axes.figure.legend(loc="outside right upper", ncols=columns, fontsize=size)
    else:
        axes.legend(fontsize=size)


def _columns(lines: int) -> int:
    """Columns of a legend beside the axes; 0 if it has room within them."""
    return -(-lines // _ROWS) if lines > MOST_INSIDE else 0
