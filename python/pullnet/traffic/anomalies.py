"""Outages and saturation in volumes; the rules are those of the core (crates/traffic/volumes, `anomaly`)."""

from dataclasses import replace

import numpy as np

from pullnet import _core
from pullnet.traffic.volumes import State, Volumes


def mark(volumes: Volumes, capacity: float | None = None) -> tuple[Volumes, float | None]:
    """Judge every bin again, except gaps. Also returns the given or inferred capacity. Unit: bit/s.

    An outage is a run of bins near zero that the trace does not explain; saturation is mass at the capacity. The rules
    are in `docs/traffic.md`.
    """
    known = np.where(volumes.state == State.GAP, State.GAP, State.OK).astype(np.uint8)
    per_bin = None if capacity is None else capacity / 8 * volumes.timescale
    states, found = _core.mark_anomalies(volumes.bytes.astype("<f8").tobytes(), known.tobytes(), per_bin)
    marked = replace(volumes, state=np.frombuffer(states, dtype=np.uint8))
    return marked, None if found is None else found * 8 / volumes.timescale
