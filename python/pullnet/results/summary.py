"""The summary of a run, typed. `summary.json` holds the same."""

import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True)
class FlowCounts:
    """Flows by their state: started = completed + failed + unfinished."""

    started: int
    completed: int
    failed: int
    unfinished: int
    endless: int
    """Unfinished flows of unlimited size."""


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
    """Packets over the whole run.

    Each data packet that was sent or copied is one of these in the end: `data_sent + copied = data_delivered +
    headers_delivered + headers_returned + data_dropped + data_lost + in_flight`.
    """

    data_sent: int
    """Data packets that hosts sent, repetitions included."""
    data_delivered: int
    """Data packets that arrived whole. A packet that was sent again and arrived twice counts twice."""
    data_unique: int
    """Of these, packets that a receiver took as new: no repetitions, none discarded because an earlier one was
    missing."""
    marked: int
    """Packets marked by switches (ECN, congestion experienced)."""
    trimmed: int
    """Payloads that switches cut off."""
    returned: int
    """Headers that switches sent back to their sender."""
    dropped: int
    """Packets of any kind dropped because there was no room."""
    lost: int
    """Packets of any kind lost on links: down, lossy or corrupting."""
    retransmitted: int
    """Data packets that hosts sent again."""
    copied: int
    """Data packets that switches made, beside the hosts' own: copies for several receivers."""
    in_flight: int
    """Data packets, whole or as headers, still in the network at the end."""
    headers_delivered: int
    """Headers of trimmed packets that arrived at the receiver."""
    headers_returned: int
    """Headers that arrived back at their sender."""
    data_dropped: int
    """Of the dropped packets, packets that carried data or had been data."""
    returned_dropped: int
    """Of the dropped packets, headers that had been sent back once and found no room on their way."""
    data_lost: int
    """Of the lost packets, packets that carried data or had been data."""
    trimmed_by_tier: dict[str, int]
    """Trimmed payloads by the tiers that the port joins, as `tor->host`."""


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
class Notice:
    """A warning: a result that probably is not what it seems."""

    name: str
    """Its name: `pullnet list warnings` has all of them, `silence=` and the table `[warnings]` take it."""
    place: str
    """Where the setting was written, as `file:line:column`; empty for the result as a whole."""
    setting: str
    """The setting; empty for the whole scenario."""
    message: str
    """The problem, and a value that would work."""

    def __str__(self) -> str:
        where = "".join(f"{part}: " for part in (self.place, self.setting) if part)
        return f"{where}{self.message} [{self.name}]"


@dataclass(frozen=True)
class Cost:
    """Cost of the run."""

    wall_s: float
    cpu_s: float
    packet_hops: int
    packet_hops_per_cpu_s: float | None
    peak_rss_bytes: int


@dataclass(frozen=True)
class Summary:
    """Summary of a run. Times in microseconds unless the name says otherwise."""

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
    warnings: list[Notice]
    """Warnings for the reader of the result; `silence=` and the table `[warnings]` leave some out."""
    cost: Cost

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end."""
        return self.ended == "interrupted"

    def _repr_html_(self) -> str:
        from pullnet.results import notebook

        return notebook.summary(self)

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
