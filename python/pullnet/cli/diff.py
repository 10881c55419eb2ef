"""`pullnet diff`, and what `pullnet testbed compare` shows of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pullnet import json_text

if TYPE_CHECKING:
    from pullnet.results.diff import Difference, Packet

Folder = Annotated[Path, typer.Argument(metavar="RESULT", help="Directory of a result.", show_default=False)]


def diff(
    first: Folder,
    second: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two runs of a scenario packet by packet.

    Shows where they first differ, and why. Both need `probes.packets = true` and the same flows, thus one seed. Exits
    with 0 also if they differ.
    """
    from pullnet.results.diff import difference, refuse_different
    from pullnet.results.result import load

    results = load(first), load(second)
    refuse_different(*results)
    found = difference(*results)
    typer.echo(json_text.dumps(found.as_dict()) if as_json else text(found))


def text(found: "Difference") -> str:
    """Return a difference in words."""
    shares = [f"{found.alike / max(1, count):.1%} of {count} packets" for count in found.packets]
    lines = [
        f"first: {found.names[0]}",
        f"second: {found.names[1]}",
        f"{found.same} of {found.sequences} sequences (what a host sent or received of a flow) are the same;",
        f"up to their differences {found.alike} packets: {shares[0]} of the first run, {shares[1]} of the second",
    ]
    if found.partings:
        lines += _parting(found)
    return "\n".join(lines)


def _parting(found: "Difference") -> list[str]:
    root = found.partings[0]
    lines = [
        f"first difference: host {root.host}, flow {root.flow}, packet {root.position + 1} that it {root.direction}",
        f"  first:  {_packet(root.first)}",
        f"  second: {_packet(root.second)}",
        f"  why: {root.why}",
    ]
    for which, before in zip(("first", "second"), found.before, strict=True):
        lines += [f"  up to there in the {which} run:", *(f"    {line}" for line in before)]
    return lines


def _packet(packet: "Packet | None") -> str:
    return "nothing more" if packet is None else f"{packet.text} at {packet.at_us:.3f} us"
