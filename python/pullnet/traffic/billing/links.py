"""Which traces are the two directions of one link."""

import re
from collections.abc import Sequence

from pullnet.arguments import typed
from pullnet.traffic.billing.bill import Link
from pullnet.traffic.error import TrafficError
from pullnet.traffic.volumes import Volumes

_IN = "in|inbound|rx|received|ingress|input|download|ifhcinoctets|ifinoctets|inoctets"
_OUT = "out|outbound|tx|sent|egress|output|upload|ifhcoutoctets|ifoutoctets|outoctets"
_UNIT = "bytes|octets|bits|[kmgt]?bps|[kmgt]b|[kmgt]?bit|[kmgt]?bit/s"
_SIDES = re.compile(
    rf"(?:(?P<stem>.*?)[^a-z0-9]+)?(?:(?P<in>{_IN})|(?P<out>{_OUT}))(?P<index>[^a-z0-9][0-9]+)?(?:[^a-z0-9](?:{_UNIT}))?"
)


@typed
def pair(traces: Sequence[Volumes]) -> list[Link]:
    """Join traces by name: `x in` and `x out` (or rx/tx, ingress/egress, ifHCInOctets/ifHCOutOctets, ...) are a link.

    A trace whose name says no direction is a link of one, which counts as inbound.
    """
    links: dict[str, dict[str, Volumes]] = {}
    for trace in traces:
        name, side = _side(trace.trace)
        sides = links.setdefault(name, {})
        if side in sides:
            what = f"is the {side}bound traffic of `{name}`, and so is {sides[side].trace}"
            raise TrafficError(what, where=trace.trace, remedy="name the traces with --in and --out")
        sides[side] = trace
    return [Link(name, sides.get("in"), sides.get("out")) for name, sides in links.items()]


def chosen(traces: Sequence[Volumes], inbound: str | None, outbound: str | None) -> list[Link]:
    """Make one link of traces by name; without any name join them all by `pair`."""
    if inbound is None and outbound is None:
        return pair(traces)
    name = " / ".join(part for part in (inbound, outbound) if part is not None)
    return [Link(name, _named(traces, inbound), _named(traces, outbound))]


def _named(traces: Sequence[Volumes], name: str | None) -> Volumes | None:
    if name is None:
        return None
    found = [trace for trace in traces if trace.trace == name]
    if not found:
        names = ", ".join(trace.trace for trace in traces[:8]) + (", ..." if len(traces) > 8 else "")
        raise TrafficError(f"there is no trace `{name}`", value=name, remedy=f"use one of {names}")
    return found[0]


def _side(name: str) -> tuple[str, str]:
    match = _SIDES.fullmatch(name.lower())
    if match is None:
        return name, "in"
    stem = name[: match.end("stem")] if match["stem"] else ""
    index = (match["index"] or "").strip(" .:/_-")
    link = " ".join(part for part in (stem, index) if part) or "link"
    return link, "in" if match["in"] else "out"
