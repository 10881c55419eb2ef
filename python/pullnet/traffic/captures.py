"""Captures: packets into bins, by the core."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullnet import _core
from pullnet.errors import InputError
from pullnet.traffic import anomalies
from pullnet.traffic.error import TrafficError
from pullnet.traffic.files import refuse_options
from pullnet.traffic.quantities import (
    STUDY_TIMESCALES,
    bits_per_second,
    picoseconds,
    shown_count,
    shown_rate,
    shown_time,
)
from pullnet.traffic.source import Note, Options, Source, trace_name
from pullnet.traffic.volumes import State, Volumes

OPTIONS: dict[str, Any] = {
    "filter": str | None,
    "capacity": str | float | None,
    "origin": str | float | None,
    "partial": bool,
    "most_bins": int | None,
}
"""Options for captures, and their types.

`filter`: terms joined by commas, of in, out, tcp, udp, icmp, proto N, src/dst/net PREFIX, interface N.
`capacity`: of the link, such as "1 Gbps"; without it saturation is inferred. `origin`: where bins begin: first (at the
first packet), aligned (at whole multiples of the timescale since 1970), or seconds since 1970. `partial`: keep the
last bin though it is not complete. `most_bins`: how many are kept in memory, of all timescales together.
"""

_PACKETS_AT_ONCE = 1 << 18
"""Packets between two looks at progress and at Ctrl-C."""


def load(path: str, options: Options) -> tuple[list[Volumes], Source]:
    """Read a capture; `-` is standard input."""
    refuse_options(path, "captures", {k: v for k, v in options.counters.items() if k not in OPTIONS})
    said = options.capture
    capacity = None if said.get("capacity") is None else bits_per_second(said["capacity"])
    scales = [_picoseconds(scale) for scale in options.timescales or STUDY_TIMESCALES]
    capture, bins, report = _read(path, scales, said, options)
    volumes, found = _volumes(trace_name(path), bins, capacity)
    if not volumes:
        span = shown_time(scales[0] / 1e12)
        raise TrafficError(f"is shorter than one bin of {span}", where=path, remedy="use a shorter timescale")
    notes = list(_notes(report, bins, volumes, capacity))
    damage = tuple(_damage(report, capture.compression))
    facts = _facts(capture, bins, report, found)
    return volumes, Source(path, capture.format, damage, tuple(notes), facts)


def _picoseconds(timescale: float) -> int:
    """Read a timescale as picoseconds, which the core holds in 64 bits."""
    found = picoseconds(timescale)
    if found >= 1 << 64:
        what = f"`{shown_time(timescale)}` is too long for the bins of a capture"
        raise TrafficError(what, value=timescale, remedy="use at most 213 d", keyword="timescale")
    return found


def _read(
    path: str, scales: list[int], said: Any, options: Options
) -> tuple[_core.Capture, list[_core.CaptureBins], _core.CaptureReport]:
    origin = None if said.get("origin") is None else str(said["origin"])
    most = said.get("most_bins")
    if most is not None and most < 1:
        raise TrafficError(f"{most} is out of range", value=most, remedy="use 1 or more", keyword="most_bins")
    total = None if path == "-" else os.stat(path).st_size  # noqa: PTH116 (standard input has no path)
    try:
        capture = _core.Capture(path, scales, said.get("filter"), origin, bool(said.get("partial", False)), most)
        more = True
        while more:
            more, used, _packets = capture.advance(_PACKETS_AT_ONCE)
            if options.progress is not None:
                options.progress(path, used, total)
        return capture, *capture.finish()
    except InputError as error:
        if error.keyword:  # a wrong option, which is no fault of the file
            what = str(error).removeprefix(f"{error.keyword}: ")
            raise TrafficError(what, keyword=error.keyword) from None
        raise TrafficError(str(error), where=path) from None


def _volumes(
    trace: str, bins: list[_core.CaptureBins], capacity: float | None
) -> tuple[list[Volumes], dict[str, float]]:
    volumes = []
    found: dict[str, float] = {}
    for scale in bins:
        counts = np.frombuffer(scale.byte_counts, dtype="<u8").astype(np.float64)
        if len(counts) == 0:
            continue
        state = np.zeros(len(counts), dtype=np.uint8)
        for first, end in scale.gaps:
            state[first:end] = State.GAP
        packets = np.frombuffer(scale.packet_counts, dtype="<u8").astype(np.int64)
        plain = Volumes(trace, scale.timescale_ps / 1e12, scale.start_s, counts, state, packets)
        marked, at = anomalies.mark(plain, capacity)
        volumes.append(marked)
        if at is not None:
            found[shown_time(plain.timescale)] = at
    return volumes, found


_PLACES = {
    "truncated": "the file ends within a record",
    "record": "no record that makes sense",
    "lengths": "a block whose two lengths differ",
}


def _damage(report: _core.CaptureReport, compression: str) -> Iterator[Note]:
    """Say what could not be read."""
    if report.skipped:
        text = (
            f"{report.skipped} of {report.length} bytes belong to no record that can be read; at least "
            f"{shown_count(report.records, 'record')} lost: {_places(report)}"
        )
        yield Note("skipped bytes", report.skipped, text)
    for kind, offset, _skipped, reason, unread in report.damage:
        if kind == "stream":
            what = "the file" if compression == "none" else f"the {compression} stream"
            text = (
                f"{what} breaks off after {offset} bytes of content ({reason}); {unread} stored bytes behind are unused"
            )
            yield Note("broken stream", unread, text)
    if report.without_time:
        text = f"{shown_count(report.without_time, 'packet')} without a time (simple packet blocks) in no bin"
        yield Note("packets without time", report.without_time, text)
    if report.without_interface:
        text = f"{shown_count(report.without_interface, 'packet')} of interfaces that are not described, in no bin"
        yield Note("packets without interface", report.without_interface, text)
    packets, volume = report.disbelieved
    if packets:
        text = (
            f"{shown_count(packets, 'packet')} ({volume} B) with times more than 10 s before or 1 day after the "
            "others; left out, and the bins around them are gaps"
        )
        yield Note("impossible times", packets, text)


def _places(report: _core.CaptureReport) -> str:
    places = [place for place in report.damage if place[0] != "stream"]
    texts = [
        f"bytes {offset} to {offset + skipped} ({_PLACES[kind]})" for kind, offset, skipped, _, _ in places if skipped
    ]
    shown = texts[:3]
    streams = len(report.damage) - len(places)
    more = report.places - streams - len(shown)
    return ", ".join(shown) + (f", and {more} more places" if more > 0 else "")


def _notes(
    report: _core.CaptureReport, bins: list[_core.CaptureBins], volumes: list[Volumes], capacity: float | None
) -> Iterator[Note]:
    """Say what was read by a rule."""
    if report.reordered:
        behind = shown_time(report.most_behind_ps / 1e12)
        packets = shown_count(report.reordered, "packet")
        text = f"{packets} out of order, by up to {behind}; each in the bin of its own time"
        yield Note("out of order", report.reordered, text)
    for kind, count, rest in (
        ("clock set forward", report.clock_set, "by more than 1 day; what lies between is a gap"),
        ("zero length", report.without_bytes, "of zero length; counted as packets of 0 bytes"),
        ("longer than on the wire", report.longer_than_wire, "longer than their stated length; counted as captured"),
        ("missed by the capture", report.missed, "that the capture says it missed; in no bin"),
        ("before the origin", report.before_origin[0], f"({report.before_origin[1]} B) before the origin; in no bin"),
        (
            "unclassified",
            report.unclassified[0],
            f"({report.unclassified[1]} B) that the filter cannot judge; left out",
        ),
    ):
        if count:
            thing = "time" if kind == "clock set forward" else "packet"
            before = "the clock was set forward " if kind == "clock set forward" else ""
            yield Note(kind, count, f"{before}{shown_count(count, thing)} {rest}")
    yield from _short(bins)
    yield from _above(volumes, capacity)


def _short(bins: list[_core.CaptureBins]) -> Iterator[Note]:
    for scale in bins:
        if len(scale.byte_counts) == 0:
            time = shown_time(scale.timescale_ps / 1e12)
            yield Note("too short", 1, f"shorter than one whole bin of {time}; nothing at this timescale")


def _above(volumes: list[Volumes], capacity: float | None) -> Iterator[Note]:
    for item in volumes if capacity is not None else []:
        count = int((item.rates() > 1.02 * (capacity or 0) + 1514 * 8 / item.timescale).sum())
        if count:
            text = f"{shown_count(count, 'bin')} of {shown_time(item.timescale)} above {shown_rate(capacity or 0)}"
            yield Note("above the capacity", count, f"{text}; is this the capacity?")


def _facts(
    capture: _core.Capture, bins: list[_core.CaptureBins], report: _core.CaptureReport, found: dict[str, float]
) -> dict[str, Any]:
    return {
        "compression": capture.compression,
        "content_bytes": report.length,
        "packets": report.counted[0],
        "wire_bytes": report.counted[1],
        "filtered_out": _pair(report.other),
        "unclassified": _pair(report.unclassified),
        "impossible_times": _pair(report.disbelieved),
        "before_origin": _pair(report.before_origin),
        "by_timescale": {
            shown_time(scale.timescale_ps / 1e12): {
                "incomplete_bins": _pair(scale.partial),
                "in_gaps": _pair(scale.in_gaps),
            }
            for scale in bins
        },
        "capacity_bps": found,
    }


def _pair(pair: tuple[int, int]) -> dict[str, int]:
    return {"packets": pair[0], "bytes": pair[1]}
