"""Completion times of transports side by side: a cell per situation, transport and size class, and the ideal schedule.

Slowdowns are those of the runs: completion at the receiver over the least time of the unloaded network.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from pullnet.ideal import IdealFlow, ideal_ends
from pullnet.papers.measures.data import Data, mean
from pullnet.papers.measures.packets import LONG, PACKET, PAYLOAD, SHORT
from pullnet.papers.model import Value
from pullnet.papers.runs import Run
from pullnet.results.result import load as load_result

IDEAL = "ideal"
CLASSES = {
    "all": (0.0, float("inf")),
    "<100 KiB": (0.0, float(SHORT)),
    "100 KiB-10 MiB": (float(SHORT), float(LONG)),
    ">=10 MiB": (float(LONG), float("inf")),
}
HEADER = PACKET - PAYLOAD


@dataclass(frozen=True)
class Cell:
    """What came out of a transport in a situation, for flows of one size class."""

    experiment: str
    setting: str
    """What the situation is beside the transport, such as "load 0.6"; empty where nothing else is varied."""
    load: float | None
    transport: str
    size_class: str
    flows: int
    mean: float
    p50: float
    p99: float
    goodput: float
    """Payload per receiving host, of all classes. Unit: Gb/s. NaN for the ideal."""
    unfinished: int


def _slowdowns(run: Run) -> pl.DataFrame:
    """Sizes and slowdowns; flows that did not complete have none."""
    return run.result.flows.select("size_bytes", "slowdown")


@lru_cache(maxsize=256)
def _ideal(folder: Path) -> pl.DataFrame:
    """Sizes and slowdowns of the flows of a result under the ideal schedule. Every claim and picture asks again."""
    result = load_result(folder)
    rate = float(result.hosts["rate_gbps"][0])
    flows = result.flows.filter(pl.col("ideal_fct_us").is_not_null())
    sizes = flows["size_bytes"].to_numpy()
    wire = sizes + -(-sizes // PAYLOAD) * HEADER
    work = np.rint(wire * 8e3 / rate).astype(np.int64)
    columns = zip(flows["src"], flows["dst"], flows["start_ps"], work, strict=True)
    ends = np.array(ideal_ends([IdealFlow(int(s), int(d), int(at), int(w)) for s, d, at, w in columns]))
    least = flows["ideal_fct_us"].to_numpy()
    took = (ends - flows["start_ps"].to_numpy() - work) / 1e6 + least
    return pl.DataFrame({"size_bytes": sizes, "slowdown": took / least})


def _goodput(run: Run) -> float:
    """Payload received until the last flow starts, or until the last ends if all start at once, per receiving host."""
    flows = run.result.flows.filter(pl.col("received_ps").is_not_null())
    last = int(run.result.flows["start_ps"].to_numpy().max())
    until = last if last > 0 else int(flows["received_ps"].to_numpy().max())
    received = flows.filter(pl.col("received_ps") <= until)["size_bytes"].to_numpy().sum()
    return float(received) * 8e3 / until / run.result.flows["dst"].n_unique()


def _cells(at: tuple[str, str, float | None, str], table: pl.DataFrame, goodput: float) -> Iterator[Cell]:
    for name, (low, high) in CLASSES.items():
        rows = table.filter((pl.col("size_bytes") >= low) & (pl.col("size_bytes") < high))
        done = rows["slowdown"].drop_nulls().to_numpy()
        if len(rows):
            spread = [float(np.mean(done)), *map(float, np.percentile(done, [50, 99]))] if len(done) else [np.nan] * 3
            yield Cell(*at, name, len(rows), spread[0], spread[1], spread[2], goodput, len(rows) - len(done))


def cells(data: Data, experiment: str) -> list[Cell]:
    """All cells of an experiment, the ideal first in each situation; seeds are taken together."""
    found: list[Cell] = []
    situations = dict.fromkeys(tuple(_situation(run).items()) for run in data.runs(experiment))
    for situation in situations:
        at = dict(situation)
        names = list(dict.fromkeys(str(run.at["protocol"]) for run in data.runs(experiment, at)))
        setting = ", ".join(f"{name} {value}" for name, value in situation)
        place = (experiment, setting, float(at["load"]) if "load" in at else None)
        bound = [_ideal(run.folder) for run in data.runs(experiment, {**at, "protocol": names[0]})]
        found += _cells((*place, IDEAL), pl.concat(bound), float("nan"))
        for name in names:
            runs = data.runs(experiment, {**at, "protocol": name})
            table, goodput = pl.concat([_slowdowns(run) for run in runs]), mean([_goodput(run) for run in runs])
            found += _cells((*place, name), table, goodput)
    return found


def _situation(run: Run) -> dict[str, Value]:
    """Settings of a run that all transports have in common."""
    return {name: value for name, value in run.at.items() if name != "protocol"}
