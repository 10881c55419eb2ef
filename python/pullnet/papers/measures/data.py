"""The runs that measures look at."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from pullnet.papers.judge import Measured
from pullnet.papers.model import Curve, Value
from pullnet.papers.runs import Run


class MissingRunsError(LookupError):
    """The level that was run leaves out what a measure needs."""


class Data:
    """Runs of all experiments that were made."""

    def __init__(self, runs: Mapping[str, list[Run]], expected: Curve | None = None) -> None:
        self._runs = runs
        self._known: dict[str, float] = {}
        self.expected = expected or []
        """The paper's curve, for measures that are taken at its points."""

    def runs(self, experiment: str, at: Mapping[str, Value] | None = None) -> list[Run]:
        """Return the runs of an experiment, those at a setting if one is given."""
        wanted = at or {}
        found = [run for run in self._runs.get(experiment, []) if agrees(wanted, run.at)]
        if not found:
            setting = ", ".join(f"{key} {value}" for key, value in wanted.items())
            raise MissingRunsError(
                f"experiment {experiment}{f' at {setting}' if setting else ''} is not part of this level"
            )
        return found

    def values(self, experiment: str, key: str) -> list[Any]:
        """Return the settings of `key` that were run, ascending where they are numbers."""
        found = list(dict.fromkeys(run.at[key] for run in self.runs(experiment) if key in run.at))
        return sorted(found, key=number_of) if all(map(has_number, found)) else found

    def utilisation(self, experiment: str, at: Mapping[str, Value] | None = None) -> list[float]:
        """Payload goodput of the hosts that receive over the rate of their links, of every run at a setting."""
        return [float(run.result.summary.utilisation.mean or 0.0) for run in self.runs(experiment, at)]

    def expecting(self, curve: Curve) -> "Data":
        """Return the same runs, beside another expected curve."""
        same = Data(self._runs, curve)
        same._known = self._known
        return same

    def once(self, name: str, experiment: str, at: Mapping[str, Value], measure: Callable[[], float]) -> float:
        """Measure, or return what was measured under this name at this setting before.

        Claims, tables and pictures need the same points, and reading a thousand runs takes seconds.
        """
        key = f"{name} {experiment} {sorted(at.items())}"
        if key not in self._known:
            self._known[key] = measure()
        return self._known[key]


Measure = Callable[..., Measured]


def agrees(wanted: Mapping[str, Value], at: Mapping[str, Value]) -> bool:
    """Whether a point has every value that is wanted."""
    return all(key in at and at[key] == value for key, value in wanted.items())


def number_of(value: Value) -> float:
    """Return the number at the start of a setting: 23 for "23 packets"."""
    return float(str(value).split()[0])


def has_number(value: Value) -> bool:
    """Whether a setting starts with a number."""
    try:
        number_of(value)
    except (ValueError, IndexError):
        return False
    return True


def unit_of(value: Value) -> str:
    """Return what follows the number of a setting: "packets" for "23 packets"."""
    return str(value).partition(" ")[2].strip()


def mean(values: "list[float] | pl.Series") -> float:
    """Mean of what must not be empty."""
    if len(values) == 0:
        raise MissingRunsError("nothing was measured")
    return float(np.mean(np.asarray(values, dtype=float)))


def span(values: list[float], digits: int = 4) -> str:
    """Write the mean, with the range where there is one."""
    text = f"{mean(values):.{digits}g}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}g} to {max(values):.{digits}g})"


def seeds_text(runs: list[Run]) -> str:
    """Say over how many seeds something was taken."""
    count = len({run.seed for run in runs})
    return f"{count} seed{'s' if count > 1 else ''}"


def microseconds(frame: pl.DataFrame, column: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return a column of picoseconds in microseconds, without missing values."""
    return frame[column].drop_nulls().to_numpy().astype(float) / 1e6
