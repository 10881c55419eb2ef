"""Flows that stand still, as lines for people."""

from pullnet._core import Stuck
from pullnet.results.summary import StuckFlow

LISTED = 10
"""So many are shown; `summary.json` has all."""


def stuck_flow(flow: Stuck | StuckFlow) -> str:
    """One flow in one line."""
    size = "endless" if flow.size is None else f"{flow.size} B"
    where = f"flow {flow.flow}, host {flow.src} to host {flow.dst}"
    since = f"{flow.last_progress_ps / 1e6:g} us"
    return f"{where}: {flow.bytes} B of {size}, last moved at {since}, waits for {flow.waiting_for}"
