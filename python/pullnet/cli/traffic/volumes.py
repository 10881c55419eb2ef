"""`pullnet traffic volumes`."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import AsJson, Quiet, leave, print_json
from pullnet.cli.traffic.inputs import Inputs, reads, refuse_replacing
from pullnet.traffic.files import check_place, state_counts, write
from pullnet.traffic.quantities import shown_rate, shown_time
from pullnet.traffic.volumes import State, Volumes


@reads
def volumes(
    inputs: Inputs,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the bins, .parquet or .csv.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count the bytes in each interval of captures and counters."""
    if out is not None:
        check_place(out)
        refuse_replacing(inputs.files, out)
    reading = inputs.gather(quiet=quiet)
    if out is not None:
        write(reading.volumes, out)
    if as_json:
        print_json({"volumes": [_summary(item) for item in reading.volumes]}, reading)
    else:
        Output().print(_table(reading.volumes))
    leave(reading)


def _summary(volumes: Volumes) -> dict[str, object]:
    return {
        "trace": volumes.trace,
        "timescale_s": volumes.timescale,
        "start_s": volumes.start,
        "bins": len(volumes),
        "bytes": float(volumes.bytes.sum()),
        "packets": None if volumes.packets is None else int(volumes.packets.sum()),
        "bins_by_state": {state.name.lower(): int((volumes.state == state).sum()) for state in State},
        "intervals": [
            {"from_s": begin, "to_s": end, "state": state.name.lower()} for begin, end, state in volumes.intervals()
        ],
    }


def _table(every: list[Volumes]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("trace", overflow="fold", min_width=12)
    for heading in ("timescale", "bins", "mean", "largest", "gaps", "outages", "full"):
        table.add_column(heading, justify="right", no_wrap=True)
    for item in every:
        table.add_row(*_row(item))
    return table


def _row(volumes: Volumes) -> list[str]:
    known = volumes.rates()[volumes.state != State.GAP]
    mean, largest = (shown_rate(known.mean()), shown_rate(known.max())) if len(known) else ("-", "-")
    counts = [str(count) for count in state_counts(volumes).values()]
    return [volumes.trace, shown_time(volumes.timescale), str(len(volumes)), mean, largest, *counts]
