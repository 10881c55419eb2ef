"""Pictures in the form of the study, from plain series; each is written as PNG with a CSV of its numbers beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pullnet import pictures

Series = Mapping[str, Sequence[tuple[float, float]]]
"""Points (x, y) by name."""


APART = 1.05
"""Ratio between the x of one series with bars and of the next, so that bars do not hide each other."""


@dataclass(frozen=True)
class Picture(pictures.Titled):
    """A plot of named series of points, some of them circled."""

    series: Series
    caption: str
    """Description of the picture, in a sentence or two."""
    style: str = "marks"
    """`marks`, `line`, `steps` or `diagonal` (marks beside the line y = x)."""
    circled: Sequence[tuple[float, float]] = ()
    errors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Standard errors of a series' points, drawn as bars."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Horizontal lines by name."""
    logarithmic: str = ""
    """Axes that are: any of `x` and `y`."""
    dates: bool = False
    """Whether x is Unix time, shown as dates (UTC)."""


def write(picture: Picture, folder: Path) -> Path:
    """Write NAME.png and NAME.csv; returns the path of the PNG."""
    header = ["series", picture.x, picture.y, *(["standard error"] if picture.errors else [])]
    return pictures.write(folder, picture.name, header, _rows(picture), partial(_draw, picture))


def _rows(picture: Picture) -> Iterator[list[object]]:
    for name, points in picture.series.items():
        extra = [[error] for error in picture.errors.get(name, ())] or [[]] * len(points)
        yield from ([name, *point, *error] for point, error in zip(points, extra, strict=True))
    yield from (["circled", x, y] for x, y in picture.circled)
    yield from ([name, "", level] for name, level in picture.levels.items())


def _draw(picture: Picture, path: Path) -> None:
    from matplotlib.figure import Figure  # not by pyplot, whose backend is the caller's

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    for number, (name, points) in enumerate(picture.series.items()):
        if name in picture.errors:
            xs, ys = zip(*((x * APART**number, y) for x, y in points), strict=True)
            axes.errorbar(xs, ys, yerr=picture.errors[name], fmt=".", label=name, capsize=3, alpha=0.8)
        else:
            _plot(axes, picture.style, name, _in_days(points) if picture.dates else points)
    if picture.circled:
        xs, ys = zip(*picture.circled, strict=True)
        axes.scatter(xs, ys, label="circled: p > 0.1", facecolors="none", edgecolors="black", s=70, linewidths=1)
    _lines(axes, picture)
    axes.set(title=picture.title, xlabel=picture.x, ylabel=picture.y)
    _scales(axes, picture.logarithmic)
    if picture.dates:
        _dates(axes)
    elif picture.x.startswith("trace"):
        axes.locator_params(axis="x", integer=True)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=110)


def _in_days(points: Iterable[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Unix times as matplotlib counts them."""
    return [(x / 86_400.0, y) for x, y in points]


def _plot(axes: Any, style: str, name: str, points: Iterable[tuple[float, float]]) -> None:
    columns = tuple(zip(*points, strict=True))
    if not columns:
        return
    match style:
        case "line":
            axes.plot(*columns, label=name, linewidth=1.3)
        case "steps":
            axes.step(*columns, where="post", label=name, linewidth=0.8)
        case _:
            axes.plot(*columns, ".", label=name, markersize=5, alpha=0.8)


def _lines(axes: Any, picture: Picture) -> None:
    for number, (name, level) in enumerate(picture.levels.items(), len(picture.series)):
        axes.axhline(level, label=name, linewidth=1.1, linestyle="--", color=f"C{number}")
    if picture.style == "diagonal":
        ends = [value for points in picture.series.values() for point in points for value in point]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="grey", linewidth=0.8, label="equal")


def _scales(axes: Any, logarithmic: str) -> None:
    if "x" in logarithmic:
        axes.set_xscale("log")
    if "y" in logarithmic:
        axes.set_yscale("log")


def _dates(axes: Any) -> None:
    """Label the x axis, which is in days since 1970, by dates."""
    from matplotlib import dates

    locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
