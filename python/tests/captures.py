"""Captures made in code."""

import struct
from fractions import Fraction

MICROS = 0xA1B2C3D4
NANOS = 0xA1B23C4D

Packet = tuple[float, int]
"""Time in seconds, length on the wire."""

SNAP = 20
"""Bytes kept of each packet, at most."""


def header(magic: int = MICROS, order: str = "<", *, major: int = 2) -> bytes:
    """The header of a pcap file."""
    return struct.pack(f"{order}IHHiIII", magic, major, 4, 0, 0, 65535, 1)


def record(time: float, length: int, *, magic: int = MICROS, order: str = "<", data: bytes | None = None) -> bytes:
    """A record of a pcap file."""
    per_second = 10**9 if magic == NANOS else 10**6
    ticks = round(Fraction(time) * per_second)
    data = bytes(min(length, SNAP)) if data is None else data
    return struct.pack(f"{order}IIII", ticks // per_second, ticks % per_second, len(data), length) + data


def pcap(packets: list[Packet], magic: int = MICROS, order: str = "<") -> bytes:
    """A pcap file."""
    return header(magic, order) + b"".join(record(time, length, magic=magic, order=order) for time, length in packets)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    """A section header."""
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str = "<") -> bytes:
    """An interface of Ethernet, in microseconds."""
    return block(1, struct.pack(f"{order}HHI", 1, 0, 0), order)


def enhanced(time: float, length: int, *, order: str = "<", flags: int | None = None, number: int = 0) -> bytes:
    """An enhanced packet block."""
    ticks, data = round(time * 1e6), bytes(min(length, SNAP))
    head = struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length)
    options = b"" if flags is None else struct.pack(f"{order}HHI", 2, 4, flags)
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def pcapng(packets: list[Packet], order: str = "<") -> bytes:
    """A pcapng file of one section and one interface."""
    blocks = b"".join(enhanced(time, length, order=order) for time, length in packets)
    return section(order) + interface(order) + blocks


def erf(packets: list[Packet]) -> bytes:
    """An ERF file of IPv4 records."""

    def one(time: float, length: int) -> bytes:
        ticks = round(time * 2**32)
        data = bytes(min(length, SNAP))
        return struct.pack("<Q", ticks) + struct.pack(">BBHHH", 22, 0, 16 + len(data), 0, length) + data

    return b"".join(one(time, length) for time, length in packets)


def steady(count: int, step: float = 0.01, start: float = 1_600_000_000.0, length: int = 100) -> list[Packet]:
    """Packets of one length at equal distances."""
    return [(start + index * step, length) for index in range(count)]
