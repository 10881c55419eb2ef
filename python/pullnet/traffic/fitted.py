"""Laws out of what `pullnet traffic fit --json` printed, for volumes that follow them."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pullnet.traffic.error import TrafficError
from pullnet.traffic.further import Gamma, LogLogistic
from pullnet.traffic.model import Model
from pullnet.traffic.models import Exponential, Gaussian, LogNormal, PowerLaw, Weibull


@dataclass(frozen=True, slots=True)
class Fitted:
    """The law of one trace at one timescale."""

    law: Model
    """Of the bytes in an interval."""
    timescale: float
    """Unit: s."""
    samples: int
    zeros: float
    """Share of the intervals that are empty and no part of the law."""


_LAWS: dict[str, Callable[[Mapping[str, float], float], Model]] = {
    LogNormal.name: lambda row, factor: LogNormal(row["mu"] + math.log(factor), row["sigma"]),
    Weibull.name: lambda row, factor: Weibull(row["shape"], row["scale"] * factor),
    Exponential.name: lambda row, factor: Exponential(row["rate"] / factor),
    Gaussian.name: lambda row, factor: Gaussian(row["mu"] * factor, row["sigma"] * factor),
    Gamma.name: lambda row, factor: Gamma(row["shape"], row["scale"] * factor),
    LogLogistic.name: lambda row, factor: LogLogistic(row["shape"], row["scale"] * factor),
    PowerLaw.name: lambda row, factor: PowerLaw(row["alpha"], row["xmin"] * factor),
}
"""Each law of `factor` times what a row of parameters describes."""


def read(path: Path, law: str, trace: str | None = None, timescale: float | None = None) -> Fitted:
    """Read the fit of a law to all data: of the first trace, or of the one at the timescale that are stated."""
    rows = _fits(path)
    named = [row for row in rows if trace in (None, row["trace"])]
    found = [row for row in named if timescale is None or math.isclose(row["timescale_s"], timescale)]
    if not found:
        there = ", ".join(f"{row['trace']} at {row['timescale_s']:g} s" for row in rows)
        raise TrafficError("there is no such fit", where=str(path), value=trace, remedy=f"use one of {there}")
    return _fitted(path, found[0], law)


def _fits(path: Path) -> list[dict[str, Any]]:
    """The fits of a file that have all that is needed; one without makes the file a wrong one."""
    remedy = "give what `pullnet traffic fit --json` printed"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows: list[dict[str, Any]] = list(document["fits"])
        for row in rows:
            row["trace"], float(row["timescale_s"]), int(row["zeros"]), 1 / row["samples"], row["all_data"]["models"]
    except OSError as error:
        raise TrafficError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="name a file that is there"
        ) from None
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        raise TrafficError("holds no fits of volumes", where=str(path), remedy=remedy) from None
    if not rows:
        raise TrafficError("holds no fits", where=str(path), remedy=remedy)
    return rows


def _fitted(path: Path, row: dict[str, Any], law: str) -> Fitted:
    models = {str(model.get("name")): model for model in row["all_data"]["models"]}
    if law not in models or law not in _LAWS:
        raise TrafficError(
            f"has no fit of the {law}", where=str(path), value=law, remedy=f"use one of {', '.join(models)}"
        )
    length = float(row["timescale_s"])
    try:
        found = _LAWS[law](models[law], length / 8)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        what = f"the {law} of {row['trace']} has no parameters"
        raise TrafficError(what, where=str(path), value=law, remedy="use another law with --model") from None
    zeros = 0.0 if found.keeps_zeros else row["zeros"] / row["samples"]
    return Fitted(found, length, row["samples"], zeros)
