"""Pairs of pictures: what the paper prints, redrawn from its numbers, and what was measured, on the same axes."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pullnet import pictures
from pullnet.papers.judge import Outcome
from pullnet.papers.picture import Picture, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_VALUES = 14
"""In one picture; more are drawn in several."""
MOST_MARKS = 30
"""A curve of more points is a line without marks."""
MARKS = ("o", "s", "^", "D")
INK = ("#0550ae", "#9a3412", "#166534", "#6b21a8", "#57606a", "#0e7490", "#a16207", "#be185d")

Span = tuple[float, float]


@dataclass(frozen=True)
class Pair:
    """Two panels with the same axes, as PNG. `paper` is empty where the paper prints no numbers of it."""

    title: str
    alt: str
    paper: bytes
    ours: bytes


@dataclass(frozen=True)
class Value:
    """A claim about a number, or about a range."""

    name: str
    paper: Span
    ours: Span


def of_picture(picture: Picture) -> Pair:
    """Return the panels of a picture with curves."""
    points = [point for series in (picture.ours, picture.paper) for curve in series.values() for point in curve]
    across = _margins([x for x, _ in points], log=picture.log)
    up = _margins([y for _, y in points], log=picture.log_y)

    def panel(series: dict[str, Points], style: str) -> bytes:
        def fill(axes: Axes) -> None:
            _curves(axes, series, style)
            _frame(axes, picture.x, across, log=picture.log)
            axes.set(ylabel=picture.y, ylim=up, yscale="log" if picture.log_y else "linear")

        return _png(fill, lines=max(len(picture.ours), len(picture.paper)))

    names = ", ".join(name for name in picture.ours if name) or "one series"
    alt = f"{picture.title}: {picture.y or 'value'} against {picture.x or 'what is varied'}; {names}"
    return Pair(picture.title, alt, panel(picture.paper, "--") if picture.paper else b"", panel(picture.ours, "-"))


def _curves(axes: Axes, series: dict[str, Points], style: str) -> None:
    for number, (name, points) in enumerate(series.items()):
        ink, shape = INK[number % len(INK)], MARKS[number // len(INK) % len(MARKS)]
        mark = shape if len(points) <= MOST_MARKS else ""
        (line,) = axes.plot(*zip(*points, strict=True), linestyle=style, color=ink, label=name, linewidth=1.4)
        line.set(marker=mark, markersize=3.5)
    if any(series):
        pictures.legend(axes, "x-small")


def of_values(outcomes: list[Outcome]) -> list[Pair]:
    """Return pairs of the claims whose expected and measured values are numbers, those of a unit together."""
    units: dict[str, list[Value]] = {}
    for outcome in outcomes:
        if value := _value(outcome):
            units.setdefault(outcome.claim.unit, []).append(value)
    return [
        _pair(unit, values[start : start + MOST_VALUES])
        for unit, values in units.items()
        for start in range(0, len(values), MOST_VALUES)
    ]


def _value(outcome: Outcome) -> Value | None:
    claim, measured = outcome.claim, outcome.measured
    if measured is None or measured.value is None or claim.unit == "boolean" or isinstance(claim.expected, str):
        return None
    ends = claim.expected if isinstance(claim.expected, list) else [claim.expected]
    return Value(claim.id, (min(ends), max(ends)), (measured.value, measured.value))


def _pair(unit: str, values: list[Value]) -> Pair:
    every = [end for value in values for span in (value.paper, value.ours) for end in span]
    log = min(every) > 0 and max(every) > 100 * min(every)
    across = _margins(every, log=log)
    names = [value.name for value in values]

    def panel(spans: list[Span]) -> bytes:
        def fill(axes: Axes) -> None:
            for row, span in enumerate(spans):
                axes.plot(span, [row, row], "o-", color=INK[0], markersize=5, linewidth=4)
            axes.set_yticks(range(len(names)), names, fontsize=7)
            axes.set_ylim(len(names) - 0.5, -0.5)
            _frame(axes, unit.strip("-") or "value", across, log=log)

        return _png(fill, height=1.0 + 0.32 * len(names))

    title = f"Values in {unit}" if unit.strip("-") else "Values without a unit"
    alt = f"{title}: {', '.join(names)}; the table of this figure has the numbers"
    return Pair(title, alt, panel([value.paper for value in values]), panel([value.ours for value in values]))


def _frame(axes: Axes, name: str, across: Span, *, log: bool) -> None:
    axes.set(xlabel=name, xlim=across, xscale="log" if log else "linear")
    axes.grid(alpha=0.3)


def _margins(values: list[float], *, log: bool) -> Span:
    """From a little below the least value to a little above the largest."""
    known = [value for value in values if value > 0 or not log]
    low, high = min(known, default=0.1), max(known, default=1.0)
    if log:
        factor = (high / low) ** 0.05 if high > low else 1.5
        return low / factor, high * factor
    margin = (high - low) * 0.05 or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def _png(fill: Callable[[Axes], None], height: float = 3.4, lines: int = 0) -> bytes:
    figure, axes = pictures.sheet(5, height, lines)
    fill(axes)
    target = io.BytesIO()
    figure.savefig(target, dpi=110)
    return target.getvalue()
