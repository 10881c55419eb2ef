"""Measures how fast packets of a capture fall into bins, beside dpkt and tshark, and writes the table of
docs/performance.md.

Each row is a fresh process; the figure is packets by CPU time (user and system) of the whole process, start included,
the best of several runs. The capture is made on the spot: pcap with microseconds, 100 bytes kept of each packet. The
others take long and read its begin: dpkt a tenth, tshark an eightieth.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pages import PERFORMANCE, put

SNAP = 100
TIMESCALES = ("5ms", "100ms", "1s", "5s")

DPKT = """
import sys, dpkt
from collections import defaultdict
scales = (0.005, 0.1, 1.0, 5.0)
bins = [defaultdict(int) for _ in scales]
first = None
with open(sys.argv[1], "rb") as file:
    for time, data in dpkt.pcap.Reader(file):
        first = time if first is None else first
        for scale, counts in zip(scales, bins):
            counts[int((time - first) // scale)] += len(data)
print([sum(counts.values()) for counts in bins])
"""


def write_capture(path: Path, packets: int) -> None:
    """Write a pcap of packets 5 us apart on average, of every length that Ethernet has."""
    ethernet = bytes(12) + b"\x08\x00"
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 1280, 0, 0, 64, 6, 0, 0x0A000001, 0xC0000209)
    data = (ethernet + ip + bytes(SNAP))[:SNAP]
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAP, 1))
        for number in range(packets):
            scattered = (number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 40
            micros = 1_600_000_000_000_000 + number * 5 + scattered % 5
            head = struct.pack("<IIII", micros // 10**6, micros % 10**6, SNAP, 60 + scattered % 1455)
            file.write(head + data)


def cpu_seconds(command: list[str]) -> float:
    """CPU time of a process and its children, user and system. Unit: s."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def commands(whole: Path, tenth: Path, little: Path) -> Iterator[tuple[str, list[str]]]:
    """A candidate: its name and its command."""
    pullnet = str(Path(sys.executable).with_name("pullnet"))
    volumes = [pullnet, "traffic", "volumes", str(whole), "--timescale", ",".join(TIMESCALES), "--quiet"]
    yield "pullnet traffic volumes", volumes
    yield "the same with --filter tcp", [*volumes, "--filter", "tcp"]
    yield "dpkt, four dictionaries", [sys.executable, "-c", DPKT, str(tenth)]
    if shutil.which("tshark"):
        statistics = [word for scale in ("0.005", "0.1", "1", "5") for word in ("-z", f"io,stat,{scale},BYTES")]
        yield "tshark -q -z io,stat (four times)", ["tshark", "-r", str(little), "-n", "-q", *statistics]


def table(packets: int, repeats: int) -> str:
    """The table, with ratios to pullnet."""
    lines = ["| what | packets | CPU time | packets per CPU-second | pullnet is faster by |", "|---|--:|--:|--:|--:|"]
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(folder) / f"{part}.pcap": packets // part for part in (1, 10, 80)}
        for file, count in files.items():
            write_capture(file, count)
        ours = 0.0
        for name, command in commands(*files):
            count = next(count for file, count in files.items() if str(file) in command)
            seconds = min(cpu_seconds(command) for _ in range(repeats))
            rate = count / seconds
            ours = ours or rate
            lines.append(f"| {name} | {count / 1e6:g} M | {seconds:.2f} s | {rate / 1e6:.2f} M | {ours / rate:.1f} |")
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--packets", type=int, default=8_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    found = table(arguments.packets, arguments.repeats)
    if arguments.write:
        put(PERFORMANCE, "traffic_performance", found)
    else:
        print(found)


if __name__ == "__main__":
    main()
