"""A picture, and a CSV file with the same numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pullnet import pictures

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Picture(pictures.Titled):
    """A plot of named series: our results as lines, and the paper's as marks."""

    ours: dict[str, Points]
    paper: dict[str, Points] = field(default_factory=dict)
    log: bool = False
    log_y: bool = False


def draw(picture: Picture, folder: Path) -> Path:
    """Write NAME.png and NAME.csv."""
    header = ["origin", "series", picture.x, picture.y]
    return pictures.write(folder, picture.name, header, _rows(picture), partial(_png, picture))


def _rows(picture: Picture) -> Iterator[list[object]]:
    for origin, series in (("ours", picture.ours), ("paper", picture.paper)):
        for name, points in series.items():
            yield from ([origin, name, x, y] for x, y in points)


def _png(picture: Picture, path: Path) -> None:
    figure, axes = pictures.sheet(7, 4.5, len(picture.ours) + len(picture.paper))
    ours = "pullnet" if picture.paper else ""
    for name, points in picture.ours.items():
        axes.plot(*zip(*points, strict=True), label=f"{ours} {name}".strip(), linewidth=1.5)
    for name, points in picture.paper.items():
        axes.plot(*zip(*points, strict=True), "x", color="black", label=f"paper {name}".strip(), markersize=5)
    scales = {"xscale": "log" if picture.log else "linear", "yscale": "log" if picture.log_y else "linear"}
    axes.set(title=picture.title, xlabel=picture.x, ylabel=picture.y, **scales)
    axes.grid(alpha=0.3)
    pictures.legend(axes, "small")
    figure.savefig(path, dpi=120)
