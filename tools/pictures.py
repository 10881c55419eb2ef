"""Draws the pictures that explain the parts: tools/pictures.py writes docs/images/*.svg.

The picture of the crates is made from their manifests; a test compares all pictures with what this script draws.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

INK, FAINT, BLUE, ORANGE, GREEN = "#1b1f24", "#6b7280", "#dbe7f5", "#fbe3cd", "#dcefdc"


class Drawing:
    """An SVG under construction; places are in pixels from the top left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="13" role="img">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]

    def box(self, x: float, y: float, width: float, height: float, fill: str = BLUE) -> None:
        """A filled rectangle."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" fill="{fill}" stroke="{FAINT}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "middle", look: str = "") -> None:
        """One line of text; `look`: further attributes."""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{INK}"{look and " " + look}>{escape(words)}</text>'
        )

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        arrow: bool = False,
        look: str = "",
        colour: str = INK,
    ) -> None:
        """A line, perhaps with a head; `look`: further attributes."""
        head = ' marker-end="url(#head)"' if arrow else ""
        (x1, y1), (x2, y2) = start, end
        self._parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}"{head}{look and " " + look}/>'
        )

    def svg(self) -> str:
        """The whole picture."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"


HALO = 'font-size="11" stroke="white" stroke-width="4" paint-order="stroke"'
BOLD, SMALL, DASHED = 'font-weight="bold"', 'font-size="11"', 'stroke-dasharray="4 3"'


def exchange() -> str:
    """An NDP flow of four packets. A switch trims one of them."""
    drawing = Drawing(760, 680, "An NDP exchange: a data packet is trimmed, and its retransmission is pulled")
    sender, switch, receiver = 110, 380, 650
    for x, name in ((sender, "sender"), (switch, "switch that trims"), (receiver, "receiver")):
        drawing.text(x, 24, name, look=BOLD)
        drawing.line((x, 36), (x, 660), look=DASHED)

    def packet(start: tuple[float, float], end: tuple[float, float], words: str, at: float, look: str = "") -> None:
        (x1, y1), (x2, y2) = start, end
        drawing.line(start, end, arrow=True, look=look)
        drawing.text(x1 + at * (x2 - x1), y1 + at * (y2 - y1) + 4, words, look=HALO)

    packet((sender, 50), (switch, 110), "DATA 0, without a handshake", 0.5)
    packet((sender, 80), (switch, 140), "DATA 1", 0.5)
    packet((sender, 110), (switch, 170), "DATA 2: no room", 0.5)
    packet((switch, 114), (receiver, 174), "DATA 0", 0.4)
    packet((switch, 174), (receiver, 234), "header of DATA 2, ahead of data", 0.5, DASHED)
    packet((switch, 196), (receiver, 256), "DATA 1", 0.72)
    packet((receiver, 178), (sender, 298), "ACK 0, with pull 1", 0.75)
    packet((receiver, 238), (sender, 358), "NACK 2: it waits for a pull", 0.72)
    packet((receiver, 260), (sender, 380), "ACK 1", 0.42)
    packet((receiver, 300), (sender, 420), "PULL 2, a packet time after pull 1", 0.35)
    packet((sender, 302), (switch, 362), "DATA 2 again", 0.85)
    packet((switch, 366), (receiver, 426), "DATA 2", 0.5)
    packet((sender, 424), (switch, 484), "DATA 3", 0.5)
    packet((switch, 488), (receiver, 548), "DATA 3", 0.5)
    packet((receiver, 430), (sender, 550), "ACK 2", 0.3)
    packet((receiver, 552), (sender, 650), "ACK 3: the flow is complete", 0.5)
    return drawing.svg()


def manifests() -> Iterator[tuple[str, str, set[str]]]:
    """Wing, name and dependencies among ours of every crate; dependencies of tests do not count."""
    for path in sorted(ROOT.glob("crates/**/Cargo.toml")):
        manifest = tomllib.loads(path.read_text())
        folder = path.relative_to(ROOT / "crates").parts[0]
        # The crate of benchmarks has no other dependencies than those of its benchmarks.
        needs = manifest.get("dependencies") or manifest.get("dev-dependencies", {})
        ours = {name for name in needs if name.startswith("pullnet-")}
        yield (
            folder,
            manifest["package"]["name"].removeprefix("pullnet-"),
            {name.removeprefix("pullnet-") for name in ours},
        )


def floors(uses: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each wing: one above everything that it uses."""
    found: dict[str, int] = {}

    def floor(wing: str, above: tuple[str, ...] = ()) -> int:
        if wing in above:
            raise ValueError(f"the wings {', '.join(above)} use each other in a circle")
        found[wing] = 1 + max((floor(used, (*above, wing)) for used in uses[wing]), default=-1)
        return found[wing]

    for wing in uses:
        floor(wing)
    return found


def wrapped(names: list[str], width: int) -> list[str]:
    """The names in lines of at most `width` letters."""
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 2 > width:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + name
    return lines


def crates() -> str:
    """The crates by wing. Each wing stands above the wings that it uses."""
    crates = list(manifests())
    wing_of = {name: wing for wing, name, _ in crates}
    members: dict[str, list[str]] = {}
    uses: dict[str, set[str]] = {}
    for wing, name, used in crates:
        members.setdefault(wing, []).append(name)
        uses.setdefault(wing, set()).update({wing_of[other] for other in used if other in wing_of} - {wing})
    floor_of = floors(uses)
    top = max(floor_of.values())
    drawing = Drawing(960, 110 * (top + 1) + 30, "The crates by wing; each wing stands above the wings that it uses")
    for floor in range(top + 1):
        wings = sorted(wing for wing in floor_of if floor_of[wing] == floor)
        letters = [8 + sum(map(len, members[wing])) ** 0.8 for wing in wings]
        left, y = 20.0, 20 + 110 * (top - floor)
        for wing, share in zip(wings, letters, strict=True):
            width = (920 - 20 * (len(wings) - 1)) * share / sum(letters)
            drawing.box(left, y, width, 92, GREEN if floor == 0 else BLUE)
            drawing.text(left + width / 2, y + 18, f"crates/{wing}", look=BOLD)
            for number, line in enumerate(wrapped(sorted(members[wing]), max(12, int(width / 6.2)))[:4]):
                drawing.text(left + width / 2, y + 36 + 15 * number, line, look=SMALL)
            below = sorted(used for used in uses[wing])
            drawing.text(
                left + width / 2,
                y + 86,
                f"uses {', '.join(below)}" if below else "uses no other wing",
                look='font-size="10"',
            )
            left += width + 20
    return drawing.svg()


def window() -> str:
    """A port that is visited as late as its output allows."""
    drawing = Drawing(
        760, 300, "A late visit: arrivals collect in a port's inbox until one visit decides about all of them"
    )
    left, width, count = 110, 78, 8
    for number in range(count + 1):
        x = left + width * number
        drawing.line((x, 50), (x, 250), look=DASHED, colour=FAINT)
        if number < count:
            drawing.text(x + width / 2, 40, f"window {number}", look=SMALL)
    for y, name in ((90, "inbox"), (150, "visit"), (210, "link")):
        drawing.text(left - 10, y + 4, name, anchor="end")
        drawing.line((left, y), (left + width * count, y), colour=FAINT)
    for number, at in enumerate((0.3, 0.9, 1.7, 2.3, 3.6, 4.4)):
        drawing.box(left + width * at - 8, 80, 16, 20, ORANGE)
        drawing.text(left + width * at, 94, str(number + 1), look=SMALL)
    drawing.box(left, 198, 2.6 * width, 24)
    drawing.text(left + 1.3 * width, 214, "packet in service", look=SMALL)
    drawing.box(left + 2.6 * width, 198, 2.8 * width, 24)
    drawing.text(left + 4 * width, 214, "next packet: 1", look=SMALL)
    drawing.line((left + 5.4 * width, 210), (left + 6.3 * width, 210), arrow=True)
    drawing.text(left + 6.3 * width, 240, "packet 1 arrives at the next process", look=HALO)
    drawing.box(left + 5.1 * width, 138, 0.8 * width, 24, GREEN)
    drawing.text(left + 5.5 * width, 154, "one visit", look=SMALL)
    drawing.text(
        380,
        285,
        "Packet 1 is due in window 6: the visit in window 5 decides about all arrivals, in the right order.",
    )
    return drawing.svg()


def threads() -> str:
    """The threads of a host stack, and what they share."""
    drawing = Drawing(
        760, 330, "The threads of a host stack: the thread that holds the lock drives the engine and the interface"
    )
    for number, words in enumerate(("read waits: drives", "write", "accept sleeps")):
        drawing.box(20 + 170 * number, 20, 150, 50, ORANGE)
        drawing.text(95 + 170 * number, 42, f"application thread {number + 1}")
        drawing.text(95 + 170 * number, 60, words, look=SMALL)
    drawing.box(570, 20, 170, 50, ORANGE)
    drawing.text(655, 42, "background thread")
    drawing.text(655, 60, "drives when no other thread waits", look=SMALL)
    drawing.box(20, 120, 720, 80)
    drawing.text(380, 142, "one lock", look=BOLD)
    drawing.text(380, 162, "engine: streams, NDP, timers, pulls (no I/O, no clock of its own)")
    drawing.text(380, 182, "who waits for what; notices wake the thread whose condition holds", look=SMALL)
    for x in (95, 265, 435, 655):
        drawing.line((x, 70), (x, 118), arrow=True)
    drawing.box(20, 250, 720, 50, GREEN)
    drawing.text(380, 272, "interface: AF_PACKET, AF_XDP, UDP socket or DPDK")
    drawing.text(380, 290, "frames in bursts of 64 each way", look=SMALL)
    drawing.line((350, 200), (350, 248), arrow=True)
    drawing.line((410, 250), (410, 202), arrow=True)
    return drawing.svg()


PICTURES = {
    "ndp-exchange.svg": exchange,
    "crates.svg": crates,
    "port-window.svg": window,
    "host-threads.svg": threads,
}


def main() -> int:
    """Write all pictures."""
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
