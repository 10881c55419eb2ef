"""A study as a folder: `report.html` (one self-contained page), pictures with CSV, and tables."""

import base64
import csv
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pullnet import json_text
from pullnet.arguments import typed
from pullnet.traffic.dimensioning import RULES
from pullnet.traffic.quantities import shown_number, shown_rate, shown_time
from pullnet.traffic.report import figures, pictures, summary
from pullnet.traffic.report.pictures import Picture
from pullnet.traffic.source import Source
from pullnet.traffic.stationary import INDEPENDENCE, MEANING, NULLS
from pullnet.traffic.studies import Item, Study

FEW_ROWS = 40
"""A longer table is folded up."""


@typed
def write(study: Study, folder: Path, sources: Sequence[Source] = ()) -> Path:
    """Write everything into `folder`; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [(picture, pictures.write(picture, folder / "figures")) for picture in figures.of_study(study)]
    _tables(study, folder)
    page = folder / "report.html"
    page.write_text(_render(study, drawn, sources), encoding="utf-8")
    return page


def _render(study: Study, drawn: list[tuple[Picture, Path]], sources: Sequence[Source]) -> str:
    environment = Environment(
        loader=PackageLoader("pullnet.traffic.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"time": shown_time, "rate": shown_rate, "gigabits": _gigabits, "number": shown_number}
    shown = [{"picture": picture, "data": _embedded(path)} for picture, path in drawn]
    return environment.get_template("report.html.j2").render(
        study=study,
        rows=study.rows(),
        sources=sources,
        sentences=summary.sentences(study),
        capacities=list(summary.capacities(study)),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        few=FEW_ROWS,
        pictures=shown,
        rules=RULES,
        nulls=NULLS,
        meaning=MEANING,
        independence=INDEPENDENCE,
        tested=[_tested(item) for item in study.items if item.stationarity],
        left_out=study.left_out(),
    )


def _gigabits(rate: float) -> str:
    """Return a rate in Gbit/s, the unit in which links are bought."""
    return shown_number(rate / 1e9)


def _embedded(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _tested(item: Item) -> dict[str, Any]:
    found = item.stationarity
    assert found is not None
    hurst = found.memory.hurst
    return {
        "trace": found.trace,
        "timescale": found.timescale,
        "samples": found.samples,
        "whole": found.windows[0].verdict.value if found.windows else "-",
        "effective": found.memory.effective_samples,
        "hurst": [hurst.aggregated_variance, hurst.rescaled_range, hurst.local_whittle] if hurst else None,
    }


def _tables(study: Study, folder: Path) -> None:
    document = {
        "rows": study.rows(),
        "variation_of_gamma": study.variation,
        "scores": [asdict(each) for each in study.scores],
        "predictions": [asdict(each) for each in study.predictions],
        "nrmse": [asdict(each) for each in study.nrmse],
        "left_out": study.left_out(),
        "unpredicted": study.unpredicted,
    }
    (folder / "summary.json").write_text(json_text.dumps(document) + "\n", encoding="utf-8")
    _csv(folder / "scores.csv", [asdict(each) for each in study.scores])
    _csv(folder / "predictions.csv", [asdict(each) for each in study.predictions])


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(json_text.known(rows))
