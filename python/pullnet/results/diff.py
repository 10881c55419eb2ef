"""Two runs of one scenario, packet by packet: where they first diverge, and what each host had received by then.

Both need the probe `packets`. Sent packets and received packets form separate sequences, for each host and flow: times
differ between two worlds, and so does the order between sent and received packets, without any consequence.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from pullnet.errors import InputError
from pullnet.results.columns import FLOWS, Kinds
from pullnet.results.result import Result

_BEFORE = 5
"""Packets before a parting that are shown."""
_PULLED = 8
"""Flag of a data packet that was sent on a pull (`NdpHeader`, packed)."""

Key = tuple[str, str, int, int, int]
"""Fate, kind, flags, number, extra: what makes two packets of a flow the same."""
Place = tuple[int, int, str]
"""Host, flow, direction."""


@dataclass(frozen=True)
class Packet:
    """A packet at a host."""

    at_us: float
    key: Key

    @property
    def text(self) -> str:
        """In words, for instance `data 17 trimmed`."""
        fate, kind, _, number, extra = self.key
        pull = f" with pull {extra}" if kind in ("ack", "nack") and extra else ""
        return f"{kind} {number}{pull}{'' if fate == 'whole' else ' ' + fate}"


@dataclass(frozen=True)
class Parting:
    """Where a sequence parts: the first packet that is not the same in both runs. None: the sequence has ended."""

    host: int
    flow: int
    direction: str
    position: int
    first: Packet | None
    second: Packet | None
    why: str = ""

    @property
    def at_us(self) -> float:
        """When, in the run that was there sooner."""
        return min(packet.at_us for packet in (self.first, self.second) if packet is not None)


@dataclass(frozen=True)
class Difference:
    """The result of a comparison of two runs."""

    names: tuple[str, str]
    sequences: int
    same: int
    packets: tuple[int, int]
    alike: int
    """Packets before the partings of their sequences."""
    partings: list[Parting]
    """One for each sequence that parts, in order of time."""
    before: tuple[list[str], list[str]]
    """Last actions of the host of the first difference before it, in each run."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def difference(first: Result, second: Result) -> Difference:
    """Compare the packets of two runs of one scenario."""
    runs = (_Run(first), _Run(second))
    places = sorted({*runs[0].sequences, *runs[1].sequences})
    partings = []
    alike = 0
    for place in places:
        rows = [run.sequences.get(place, []) for run in runs]
        position = _parting(*rows)
        alike += len(rows[0]) if position is None else position
        if position is not None:
            ends = [row[position] if position < len(row) else None for row in rows]
            partings.append(Parting(*place, position, ends[0], ends[1]))
    partings.sort(key=lambda parting: (parting.at_us, parting.host, parting.flow))
    before: tuple[list[str], list[str]] = ([], [])
    if partings:
        root = partings[0]
        partings[0] = replace(root, why=_why(root, *runs))
        before = (runs[0].before(root), runs[1].before(root))
    counts = (runs[0].count, runs[1].count)
    names = (_name(first), _name(second))
    return Difference(names, len(places), len(places) - len(partings), counts, alike, partings, before)


def _name(result: Result) -> str:
    return result.summary.world if result.path is None else f"{result.path} ({result.summary.world})"


_COLUMNS: Kinds = {
    "host": int,
    "flow": int,
    "direction": str,
    "at_ps": int,
    "fate": str,
    "kind": str,
    "flags": int,
    "number": int,
    "extra": int,
}
"""Columns of the table `packets` that a comparison reads."""


class _Run:
    """The packets of one run."""

    def __init__(self, result: Result) -> None:
        frame = result.needed("packets", _COLUMNS).select(list(_COLUMNS))
        self.count = frame.height
        self.sequences: dict[Place, list[Packet]] = {}
        for host, flow, direction, at, *key in frame.iter_rows():
            self.sequences.setdefault((host, flow, direction), []).append(Packet(at / 1e6, tuple(key)))

    def received(self, host: int, flow: int, until_us: float) -> list[Packet]:
        """Return what a host had received of a flow."""
        return [packet for packet in self.sequences.get((host, flow, "received"), []) if packet.at_us <= until_us]

    def before(self, parting: Parting) -> list[str]:
        """Return what the host of a parting did last in that flow, up to the packet that is another one."""
        host, flow = parting.host, parting.flow
        own = self.sequences.get((host, flow, parting.direction), [])
        until = own[parting.position].at_us if parting.position < len(own) else parting.at_us
        both = [
            (packet.at_us, f"{packet.at_us:.3f} us {direction} {packet.text}")
            for direction in ("received", "sent")
            for packet in self.sequences.get((host, flow, direction), [])
            if packet.at_us <= until
        ]
        return [text for _, text in sorted(both)[-_BEFORE:]]


def _parting(first: list[Packet], second: list[Packet]) -> int | None:
    for position, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.key != other.key:
            return position
    return None if len(first) == len(second) else min(len(first), len(second))


def _why(parting: Parting, first: _Run, second: _Run) -> str:
    if parting.direction == "received":
        return _why_received(parting, first, second)
    return _why_sent(parting, first, second)


def _why_received(parting: Parting, first: _Run, second: _Run) -> str:
    """Explain a difference in arrivals, which the network caused: another packet was trimmed, or the order changed."""
    one, other = parting.first, parting.second
    if one is None or other is None:
        return "one run got more packets than the other"
    if one.key[1:] == other.key[1:]:
        return "the same packet met another fate: a switch was asked at another moment, or its coin fell otherwise"
    place = (parting.host, parting.flow, "received")
    later = [
        any(wanted.key == packet.key for packet in run.sequences.get(place, []))
        for wanted, run in ((one, second), (other, first))
    ]
    if all(later):
        return "both got the two packets, in another order: they came by other paths, or one was sent again in between"
    missing = (one, parting.host, second) if not later[0] else (other, parting.host, first)
    fates = sorted({key[0] for key in _same_packet(missing[0], missing[2], place)})
    if fates:
        return f"{missing[0].text} met another fate in the other run: {', '.join(fates)}"
    return f"{missing[0].text} never came in the other run"


def _same_packet(packet: Packet, run: _Run, place: Place) -> Iterator[Key]:
    _, kind, _, number, _ = packet.key
    return (there.key for there in run.sequences.get(place, []) if (there.key[1], there.key[3]) == (kind, number))


def _why_sent(parting: Parting, first: _Run, second: _Run) -> str:
    """Explain a difference in departures. They follow from packets received before, and from timers."""
    host, flow = parting.host, parting.flow
    known = [
        run.received(host, flow, (packet.at_us if packet is not None else parting.at_us))
        for run, packet in ((first, parting.first), (second, parting.second))
    ]
    counts = [Counter(packet.text for packet in packets) for packets in known]
    only = [sorted((counts[0] - counts[1]).elements()), sorted((counts[1] - counts[0]).elements())]
    if not any(known) and parting.position == 0:
        return "neither had received anything of this flow: the runs begin it otherwise, as other transports do"
    if any(only):
        words = [
            f"only the {which} run had received {_few(texts)}"
            for which, texts in zip(_WHICH, only, strict=True)
            if texts
        ]
        return "; ".join(words)
    if [packet.key for packet in known[0]] != [packet.key for packet in known[1]]:
        return "both had received the same, in another order"
    timer = [packet for packet in (parting.first, parting.second) if packet is not None and _by_timer(packet)]
    if timer:
        return f"both had received the same of this flow; {timer[0].text} was sent because a timer ran out"
    return (
        "both had received the same of this flow: what came of other flows, or the pacing of pulls, made the difference"
    )


_WHICH = ("first", "second")


def _by_timer(packet: Packet) -> bool:
    _, kind, flags, _, _ = packet.key
    return kind == "probe" or (kind == "data" and not flags & _PULLED)


def _few(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def refuse_different(first: Result, second: Result) -> None:
    """Raise `InputError` for runs that have no flows in common."""
    flows = [result.needed("flows", FLOWS).select("src", "dst", "size_bytes").rows() for result in (first, second)]
    if flows[0] != flows[1]:
        raise InputError(
            f"{_name(first)} and {_name(second)}: have other flows; compare two runs of one scenario with one seed"
        )
