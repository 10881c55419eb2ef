"""The summary of a run, typed. `summary.json` holds the same."""

import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True)
class FlowCounts:
    """What became of flows: started = completed + failed + unfinished."""

    started: int
    completed: int
    failed: int
    unfinished: int
    endless: int
    """Of the unfinished, those that never end."""


@dataclass(frozen=True)
class Spread:
    """How a set of values is spread; all `None` for an empty set."""

    min: float | None
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True)
class Range:
    """Mean and bounds across the hosts that receive."""

    mean: float | None
    min: float | None
    max: float | None


@dataclass(frozen=True)
class Goodput:
    """Payload received in the measurement window, Gb/s: of all, and per receiving host."""

    total: float | None
    mean: float | None
    min: float | None
    max: float | None


@dataclass(frozen=True)
class PacketCounts:
    """Packets over the whole run."""

    data_sent: int
    data_delivered: int
    marked: int
    trimmed: int
    returned: int
    dropped: int
    lost: int
    retransmitted: int
    in_flight: int
    headers_delivered: int
    headers_returned: int
    data_dropped: int
    returned_dropped: int
    data_lost: int
    trimmed_by_tier: dict[str, int]


@dataclass(frozen=True)
class Deadlines:
    """Flows with a deadline; of the rest of `stated` the run ended before it could be told."""

    stated: int
    met: int
    missed: int
    share_met: float | None
    """`met` over `met + missed`."""


@dataclass(frozen=True)
class CoflowSummary:
    """Coflows: each is completed when all its flows are."""

    started: int
    completed: int
    cct_us: Spread
    """Time from the start of its first flow to the end of its last, of completed coflows."""


@dataclass(frozen=True)
class GroupSummary:
    """The flows of one tag, of one transport or of one tenant."""

    flows: FlowCounts
    fct_us: Spread
    slowdown: Spread
    goodput_gbps: float | None
    deadlines: Deadlines


@dataclass(frozen=True)
class StuckFlow:
    """An open flow that had stood still for long when the run ended."""

    flow: int
    src: int
    dst: int
    bytes: int
    """Payload acknowledged."""
    size: int | None
    """Payload in all; `None` never ends."""
    last_progress_ps: int
    waiting_for: str


@dataclass(frozen=True)
class Cost:
    """What the run cost."""

    wall_s: float
    cpu_s: float
    packet_hops: int
    packet_hops_per_cpu_s: float | None
    peak_rss_bytes: int


@dataclass(frozen=True)
class Summary:
    """What a run came to. Times in microseconds unless the name says otherwise."""

    world: str
    """Where it ran: `simulator` or `linux`."""
    scenario: str
    seed: int
    threads: int
    version: str
    fingerprint: str
    """Hash of every delivery, completion, trim and drop with its time; 0 on Linux."""
    complete: bool
    ended: str
    """`stated end`, `time limit` before all flows were done, or `interrupted`."""
    simulated_us: float
    window_us: list[float]
    flows: FlowCounts
    failures: dict[str, int]
    fct_us: Spread
    slowdown: Spread
    utilisation: Range
    goodput_gbps: Goodput
    packets: PacketCounts
    timeouts: int
    unexplained_timeouts: int
    """Timers that ran out without a lost or dropped packet that explains it."""
    by_tag: dict[str, GroupSummary]
    by_transport: dict[str, GroupSummary]
    by_tenant: dict[str, GroupSummary]
    deadlines: Deadlines
    coflows: CoflowSummary
    stuck: list[StuckFlow]
    cost: Cost

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the run."""
        return self.ended == "interrupted"

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Summary":
        """Read what `summary.json` holds. Raises `KeyError` for a missing key."""
        summary: Summary = _read(cls, document)
        return summary


def _read(kind: Any, value: Any) -> Any:
    """Build `kind`, a dataclass or a container of them, from what JSON gives."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{field.name: _read(hints[field.name], value[field.name]) for field in fields(kind)})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        return {key: _read(arguments[1], item) for key, item in value.items()}
    if origin is list:
        return [_read(arguments[0], item) for item in value]
    if origin is types.UnionType:
        return None if value is None else _read(arguments[0], value)
    return float(value) if kind is float else value
