"""The table of `pullnet reproduce phost` beside the simulator of its authors: every statistic of theirs, and ours."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from pullnet.papers.measures.cells import CLASSES
from pullnet.papers.measures.data import Data, MissingRunsError
from pullnet.papers.measures.packets import LONG, PAYLOAD, times, with_headers
from pullnet.papers.model import Value, folder

REFERENCE = folder() / "phost" / "authors.csv"
NOTABLE = 0.05
"""A difference of a larger share of the reference is explained."""
SAMPLE = "theirs is among the values of our seeds"
COLUMNS = ("experiment", "load", "protocol", "flows", "statistic", "theirs", "ours", "seeds", "difference", "why")


@dataclass(frozen=True)
class Row:
    """A statistic of a transport in a situation, and why ours differs where it does."""

    experiment: str
    load: str
    protocol: str
    flows: str
    statistic: str
    theirs: float
    why: str

    def beside(self, data: Data) -> tuple[str, ...]:
        """The row with what was measured, of all seeds together and of each alone, by `COLUMNS`."""
        tables = self._flows(data)
        ours, each = self._of(pl.concat(tables)), [self._of(table) for table in tables]
        off = ours / self.theirs - 1
        why = SAMPLE if min(each) <= self.theirs <= max(each) else self.why
        place = (self.experiment, self.load, self.protocol, self.flows, self.statistic)
        values = (f"{self.theirs:.2f}", f"{ours:.2f}", " ".join(f"{value:.2f}" for value in each), f"{100 * off:+.1f}%")
        return (*place, *values, why if abs(off) > NOTABLE else "")

    def _flows(self, data: Data) -> list[pl.DataFrame]:
        """Flows of the row's sizes, by seed."""
        at: dict[str, Value] = {"protocol": self.protocol}
        if self.load:
            at["load"] = _load(data, self.experiment, float(self.load))
        low, high = _bounds(self.flows)
        here = (pl.col("size_bytes") >= low) & (pl.col("size_bytes") < high)
        return [times(run).filter(here) for run in data.runs(self.experiment, at)]

    def _of(self, flows: pl.DataFrame) -> float:
        """The statistic of these flows."""
        slowdowns = np.sort(flows["slowdown"].to_numpy())
        match self.statistic:
            case "mean":
                return float(slowdowns.mean())
            case "p99":
                return float(slowdowns[int(0.99 * len(slowdowns))])  # as the authors' code has it
            case "nfct":
                return float(flows["took"].to_numpy().sum() / flows["least"].to_numpy().sum())
        raise ValueError(f"{REFERENCE}: there is no statistic {self.statistic!r}")


def write(data: Data, folder: Path) -> list[Path]:
    """Write authors.csv and authors.md for everything that was run."""
    found = []
    for row in reference():
        try:
            found.append(row.beside(data))
        except MissingRunsError:
            continue
    if not found:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    table, text = folder / "authors.csv", folder / "authors.md"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found])
    lines = [f"| {' | '.join(row)} |" for row in [COLUMNS, ("---",) * len(COLUMNS), *found]]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [table, text]


def reference() -> list[Row]:
    """Everything that the authors' simulator was measured at."""
    with REFERENCE.open(encoding="utf-8") as file:
        return [_row(line) for line in csv.DictReader(file)]


def _row(line: dict[str, str]) -> Row:
    place = (line["experiment"], line["load"], line["protocol"], line["flows"], line["statistic"])
    return Row(*place, theirs=float(line["theirs"]), why=line["why"])


def _load(data: Data, experiment: str, headers: float) -> Value:
    """The load of a scenario that is `headers` with headers."""
    for load in data.values(experiment, "load"):
        if with_headers(float(load)) == headers:
            return float(load)
    raise MissingRunsError(f"experiment {experiment} at load {headers} is not part of this level")


def _bounds(flows: str) -> tuple[float, float]:
    """Sizes from the first bound on and below the second: a class of the authors' code, or flows of some packets."""
    if flows in CLASSES:
        return CLASSES[flows]
    if flows == "<10 MiB":
        return 0.0, float(LONG)
    least, _, most = flows.split()[0].partition("-")
    return float(least) * PAYLOAD, float(most or least) * PAYLOAD + 1
