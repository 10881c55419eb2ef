"""The summary of a run, typed. `summary.json` holds the same."""

import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from pullnet.html import Shown


@dataclass(frozen=True)
class FlowCounts:
    """Flows by their state: started = completed + failed + unfinished."""

    started: int
    """Flows that applications offered."""
    completed: int
    """Flows whose data have all arrived at the receiver."""
    failed: int
    """Flows that their sender gave up."""
    unfinished: int
    """Flows that were still open at the end."""
    endless: int
    """Unfinished flows of unlimited size."""


@dataclass(frozen=True)
class Spread:
    """How a set of values is spread; all `None` for an empty set."""

    min: float | None
    """Least value."""
    mean: float | None
    """Arithmetic mean."""
    p50: float | None
    """Median."""
    p90: float | None
    """90th percentile, interpolated linearly, as the others are."""
    p99: float | None
    """99th percentile."""
    max: float | None
    """Largest value."""


@dataclass(frozen=True)
class Range:
    """Mean and bounds across the hosts that receive."""

    mean: float | None
    """Mean over the hosts."""
    min: float | None
    """Smallest value of a host."""
    max: float | None
    """Largest value of a host."""


@dataclass(frozen=True)
class Goodput:
    """Payload received in the measurement window, Gb/s: of all, and per receiving host."""

    total: float | None
    """All hosts together."""
    mean: float | None
    """Mean over the hosts that receive."""
    min: float | None
    """Smallest value of a receiving host."""
    max: float | None
    """Largest value of a receiving host."""


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
    """Flows with a deadline."""
    met: int
    """Flows whose data had all arrived by their deadline."""
    missed: int
    """Flows with data missing at their deadline."""
    share_met: float | None
    """`met` over `met + missed`."""


@dataclass(frozen=True)
class CoflowSummary:
    """Coflows: each is completed when all its flows are."""

    started: int
    """Coflows with at least one started flow."""
    completed: int
    """Coflows whose flows are all completed."""
    cct_us: Spread
    """Time from the start of its first flow to the end of its last, of completed coflows."""


@dataclass(frozen=True)
class GroupSummary:
    """The flows of one tag, of one transport or of one tenant."""

    flows: FlowCounts
    """Its flows, by state."""
    fct_us: Spread
    """Completion times of its completed flows. Unit: us."""
    slowdown: Spread
    """Completion times of its completed flows over the least that the empty network needs."""
    goodput_gbps: float | None
    """Payload of its flows received in the measurement window, over its length. Unit: Gb/s."""
    deadlines: Deadlines
    """Its flows with a deadline."""


@dataclass(frozen=True)
class StuckFlow:
    """An open flow that had stood still for long when the run ended."""

    flow: int
    """Number of the flow."""
    src: int
    """Number of the sending host."""
    dst: int
    """Number of the receiving host."""
    bytes: int
    """Payload acknowledged."""
    size: int | None
    """Payload in all; `None` never ends."""
    last_progress_ps: int
    """When data of it was last acknowledged, or when it began. Unit: ps."""
    waiting_for: str
    """Reason why its sender waits, in words."""


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
    """Time that passed. Unit: s."""
    cpu_s: float
    """Processor time of all threads. Unit: s."""
    packet_hops: int
    """Links on the paths of all data packets that were delivered, added up."""
    packet_hops_per_cpu_s: float | None
    """`packet_hops` per second of processor time; `None` where that time is too short to be measured."""
    peak_rss_bytes: int
    """Peak memory of the process, other work included. Unit: bytes."""


@dataclass(frozen=True)
class Summary(Shown):
    """Summary of a run. Times in microseconds unless the name says otherwise."""

    world: str
    """Where it ran: `simulator` or `linux`."""
    scenario: str
    """Name of the scenario."""
    seed: int
    """Seed of the run."""
    threads: int
    """Threads of the simulator; no result depends on them."""
    version: str
    """Version of pullnet."""
    fingerprint: str
    """Hash of every delivery, completion, trim and drop with its time; 0 on Linux."""
    complete: bool
    """Whether the run went on to its stated end."""
    ended: str
    """`stated end`, `time limit` before all flows were done, or `interrupted`."""
    simulated_us: float
    """Time in the network at the end of the run."""
    window_us: list[float]
    """Begin and end of the measurement window."""
    flows: FlowCounts
    """All flows, by state."""
    failures: dict[str, int]
    """Number of failed flows by the reason of their sender."""
    fct_us: Spread
    """Completion times of completed flows."""
    slowdown: Spread
    """Completion times of completed flows over the least that the empty network needs; never below 1."""
    utilisation: Range
    """Payload that hosts received in the window, over what their links could have carried. A packet counts whole when
    its last bit has arrived: in a window of a few packet times a value can exceed 1, by one packet at most."""
    goodput_gbps: Goodput
    """Payload that hosts received in the window, over its length. Unit: Gb/s."""
    packets: PacketCounts
    """Packets by what became of them."""
    timeouts: int
    """Retransmission timers that ran out."""
    unexplained_timeouts: int
    """Timers that ran out without a lost or dropped packet that explains it."""
    by_tag: dict[str, GroupSummary]
    """The flows of each tag; of the empty tag where traffic has none."""
    by_transport: dict[str, GroupSummary]
    """The flows of each transport, by its name."""
    by_tenant: dict[str, GroupSummary]
    """The flows of each tenant, by its number; without flows that have none."""
    deadlines: Deadlines
    """All flows with a deadline."""
    coflows: CoflowSummary
    """All coflows."""
    stuck: list[StuckFlow]
    """Open flows that had stood still for long at the end."""
    warnings: list[Notice]
    """Warnings for the reader of the result; `silence=` and the table `[warnings]` leave some out."""
    cost: Cost
    """Cost of the run."""

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end."""
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
