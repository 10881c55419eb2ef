"""When the flows of an incast have ended, and what an ideal network needs for them; measures share it."""

import numpy as np

from pullnet.papers.measures.data import microseconds
from pullnet.papers.runs import Run

WIRE_US = 9064 * 8 / 10_000
"""A full packet with its header at 10 Gb/s. Unit: us."""
PAYLOAD_US = 9000 * 8 / 10_000
PATH_US = 5 * WIRE_US + 6
"""From the first bit sent to the first packet's last bit at the last switch: the artifact's constant. Unit: us."""


def last_us(run: Run) -> float:
    """From the start to the last arrival; every flow has to have ended."""
    flows = run.result.flows
    if flows["received_ps"].null_count():
        return float("inf")
    return float(microseconds(flows, "received_ps").max() - microseconds(flows, "start_ps").min())


def full_packets(run: Run) -> int:
    """Full packets that all flows come to."""
    sizes = run.result.flows["size_bytes"].to_numpy()
    return int(np.ceil(sizes / 9000).sum())


def overhead(run: Run) -> float:
    """Percent over the time on the wire plus the way there, as the artifact counts."""
    return 100 * (last_us(run) / (full_packets(run) * WIRE_US + PATH_US) - 1)
