"""A picture of a sweep: a metric against what was varied first, a line for each combination of the rest."""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pullnet import pictures
from pullnet.errors import InputError
from pullnet.sweeps.axes import Axis, Value
from pullnet.sweeps.data import unit
from pullnet.sweeps.store import replacing, writing

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\D*)")
_MOST_LINES = 20
"""Lines that a picture has a legend for."""

Line = list[tuple[float, float, float]]
"""Place, mean, and half the width of the confidence interval (0 where there is none)."""


def numbers(values: Sequence[Value]) -> tuple[list[float], str] | None:
    """Return values as numbers with the unit that all of them have; `None` where they are words."""
    found = [_NUMBER.fullmatch(str(value)) for value in values if not isinstance(value, bool)]
    matches = [match for match in found if match]
    units = {match[2].strip() for match in matches}
    if len(matches) < len(values) or len(units) != 1:
        return None
    return [float(match[1]) for match in matches], units.pop()


def draw(points: pl.DataFrame, runs: pl.DataFrame, axes: Sequence[Axis], metric: str, path: Path) -> bool:
    """Draw a metric with its confidence intervals. Returns whether there was anything to draw."""
    here = points.filter((pl.col("metric") == metric) & pl.col("mean").is_not_null())
    if here.height == 0:
        return False
    drawn = lines(here, axes) if axes else {}
    has_legend = 1 < len(drawn) <= _MOST_LINES
    figure, drawing = pictures.sheet(7, 4.5, len(drawn) if has_legend else 0)
    words = axes_text(axes, metric)
    if axes:
        scale = numbers(axes[0].values)
        for name, line in drawn.items():
            xs, means, halves = zip(*line, strict=True)
            drawing.errorbar(xs, means, yerr=halves, label=name, marker="o", markersize=4, capsize=3, linewidth=1.5)
        if scale is None:
            drawing.set_xticks(range(len(axes[0].values)), [str(value) for value in axes[0].values], rotation=30)
        if has_legend:
            pictures.legend(drawing, "small")
    else:
        drawing.plot(runs["seed"].to_list(), runs[metric].to_list(), "o", markersize=4)
    drawing.set(xlabel=words[0], ylabel=words[1])
    drawing.grid(alpha=0.3)
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    with writing(path), replacing(path) as beside:
        figure.savefig(beside, dpi=120, format=path.suffix[1:])
    return True


def axes_text(axes: Sequence[Axis], metric: str) -> tuple[str, str]:
    """Labels of the axes of a picture."""
    of = unit(metric)
    scale = numbers(axes[0].values) if axes else None
    x = axes[0].path if axes else "seed"
    return (f"{x} ({scale[1]})" if scale and scale[1] else x), (f"{metric} ({of})" if of else metric)


def lines(here: pl.DataFrame, axes: Sequence[Axis]) -> dict[str, Line]:
    """Return the lines of a picture, each with its name."""
    first, *rest = axes
    scale = numbers(first.values)
    places = dict(zip(first.values, scale[0] if scale else range(len(first.values)), strict=True))
    found: dict[str, Line] = {}
    for row in here.iter_rows(named=True):
        name = ", ".join(f"{axis.path} {row[axis.path]}" for axis in rest)
        half = 0.0 if row["high"] is None else row["high"] - row["mean"]
        found.setdefault(name, []).append((places[row[first.path]], row["mean"], half))
    return {name: sorted(line) for name, line in found.items()}
