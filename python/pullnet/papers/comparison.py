"""Tables of transports side by side, beside the ideal schedule: CSV with every cell, Markdown to read."""

import csv
import math
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path

from pullnet.papers.measures.cells import Cell, cells
from pullnet.papers.measures.data import Data, MissingRunsError

UNITS = {"goodput": "goodput_gbps"}
HEAD = "| transport | all: mean, p50, p99 | below 100 KiB | 100 KiB to 10 MiB | from 10 MiB | Gb/s | unfinished |"


def write(experiments: Iterable[str], data: Data, folder: Path) -> list[Path]:
    """Write comparison.csv and comparison.md for those of the experiments that were run."""
    found: list[Cell] = []
    for experiment in experiments:
        try:
            found += cells(data, experiment)
        except MissingRunsError:
            continue
    if not found:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    return [_csv(found, folder / "comparison.csv"), _markdown(found, folder / "comparison.md")]


def _csv(found: list[Cell], path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([UNITS.get(field.name, field.name) for field in fields(Cell)])
        writer.writerows(["" if _is_absent(value) else value for value in astuple(cell)] for cell in found)
    return path


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _markdown(found: list[Cell], path: Path) -> Path:
    lines = ["Slowdowns: mean, median and 99th percentile of each size class.", ""]
    situations = dict.fromkeys((cell.experiment, cell.setting) for cell in found)
    for experiment, setting in situations:
        here = [cell for cell in found if (cell.experiment, cell.setting) == (experiment, setting)]
        lines += [f"## {', '.join(filter(None, [experiment, setting]))}", "", HEAD, "|---" * 7 + "|"]
        for transport in dict.fromkeys(cell.transport for cell in here):
            lines.append(_row({cell.size_class: cell for cell in here if cell.transport == transport}))
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _row(classes: dict[str, Cell]) -> str:
    every = classes["all"]
    spreads = [_spread(classes.get(name)) for name in ("all", "<100 KiB", "100 KiB-10 MiB", ">=10 MiB")]
    goodput = "" if math.isnan(every.goodput) else f"{every.goodput:.2f}"
    return f"| {every.transport} | {' | '.join(spreads)} | {goodput} | {every.unfinished} |"


def _spread(cell: Cell | None) -> str:
    return "" if cell is None else f"{cell.mean:.2f}, {cell.p50:.2f}, {cell.p99:.2f}"
