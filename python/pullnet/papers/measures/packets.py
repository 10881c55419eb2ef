"""Packets, classes of flows and completion times as the simulator of pHost's authors has them."""

import numpy as np
import polars as pl

from pullnet.papers.runs import Run

PAYLOAD, PACKET, CONTROL = 1460, 1500, 40
"""Bytes of a full packet without and with its header, and of a control packet."""
RACK = 17
"""Hosts of a rack in `papers/phost/scenarios`, the idle one included."""
SHORT, LONG = 100 * 1024, 10 * 1024 * 1024
"""Bounds of the classes of the authors' code."""


def with_headers(load: float) -> float:
    """The load of a scenario, which is one of payload, as pHost's authors count it."""
    return round(load * PACKET / PAYLOAD, 2)


def times(run: Run) -> pl.DataFrame:
    """Flows that completed: bytes, start, and in microseconds their time to the ACK and their least time there."""
    rate = float(run.result.hosts["rate_gbps"][0])
    packet, control = PACKET * 8e-3 / rate, CONTROL * 8e-3 / rate
    flows = run.result.flows.filter(pl.col("acknowledged_ps").is_not_null())
    inside = (flows["src"] // RACK == flows["dst"] // RACK).to_numpy()
    hops = np.where(inside, 2, 4)
    packets = -(-flows["size_bytes"].to_numpy() // PAYLOAD)
    # Links between switches are four times as fast, so that two of them take half the time of a header.
    least = packets * packet + 3 * control + 0.4 * hops + np.where(inside, 0, control)
    took = (flows["acknowledged_ps"] - flows["start_ps"]).to_numpy() / 1e6
    columns = {"took": took, "least": least, "slowdown": took / least}
    return flows.select("size_bytes", "start_ps", "received_ps").with_columns(**columns)
