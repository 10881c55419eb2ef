"""Packets of a run as a capture that Wireshark reads.

A simulated packet has the addresses and lengths of a real one, and behind UDP a header of its own (version 15) with the
columns of the table `packets`; docs/how-to/wireshark.md has its layout. No host accepts or sends it.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pullnet._core import __version__
from pullnet.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_SIMULATED = 0xF0
"""Version 15, which no host sends, in the high bits; the fate is in the low ones."""
_FATES = {"whole": 0, "trimmed": 1, "returned": 2}
_HOME_PORT = 61199
_FIRST_PATH_PORT = 49152
_NO_PATH = 0xFFFF
_NO_PATH_PORT = _FIRST_PATH_PORT - 1
"""Source port where the path is not known, or is above the last label of the wire format."""
_NETWORK = 10 << 24
"""Host 0 has address 10.0.0.1, host 1 has 10.0.0.2, and so on."""
_LAST_HOST = 2**24 - 2
_KEPT = 64
"""Bytes of each frame in the file: Ethernet, IPv4, UDP and the header of 22 bytes; the least of a frame on Ethernet."""
_CHUNK = 1 << 18
"""Packets written at a time."""

_FRAME = np.dtype(
    [
        ("to", "u1", 6),
        ("from", "u1", 6),
        ("ethertype", ">u2"),
        ("ip", ">u2", 6),
        ("source", ">u4"),
        ("destination", ">u4"),
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("udp_length", ">u2"),
        ("udp_check", ">u2"),
        ("version", "u1"),
        ("flags", "u1"),
        ("kind", "S8"),
        ("flow", ">u4"),
        ("number", ">u4"),
        ("extra", ">u4"),
    ]
)
_BLOCK = np.dtype(
    [
        ("type", "<u4"),
        ("length", "<u4"),
        ("interface", "<u4"),
        ("high", "<u4"),
        ("low", "<u4"),
        ("kept", "<u4"),
        ("original", "<u4"),
        ("frame", _FRAME),
        ("length_again", "<u4"),
    ]
)
_ETHERNET, _IPV4, _UDP = 14, 20, 8


def parts(packets: "pl.DataFrame", path: str) -> Iterator[bytes]:
    """Return the bytes of a capture of these packets, part by part. `path` names the file in errors."""
    here, there = packets["host"].to_numpy(), packets["peer"].to_numpy()
    most = int(max(here.max(initial=0), there.max(initial=0)))
    if most > _LAST_HOST:
        raise InputError(
            f"{path}: host {most} has no address in 10.0.0.0/8; the last one with an address is {_LAST_HOST}"
        )
    return _written(packets, here)


def _written(packets: "pl.DataFrame", here: Any) -> Iterator[bytes]:
    yield _section()
    hosts = np.unique(here)
    for host in hosts.tolist():
        yield _interface(f"host {host}")
    interfaces = np.searchsorted(hosts, here)
    for begin in range(0, packets.height, _CHUNK):
        part = packets.slice(begin, _CHUNK)
        yield _blocks(part, interfaces[begin : begin + _CHUNK]).tobytes()


def _blocks(packets: "pl.DataFrame", interfaces: Any) -> Any:
    blocks = np.zeros(packets.height, _BLOCK)
    nanoseconds = packets["at_ps"].to_numpy().astype(np.uint64) // np.uint64(1000)
    sent_length = np.maximum(packets["wire_bytes"].to_numpy().astype(np.uint32), _KEPT)
    whole_frame = packets["fate"].to_numpy() == "whole"
    blocks["type"] = 6
    blocks["length"] = blocks["length_again"] = _BLOCK.itemsize
    blocks["interface"] = interfaces
    blocks["high"], blocks["low"] = nanoseconds >> np.uint64(32), nanoseconds & np.uint64(0xFFFFFFFF)
    blocks["kept"] = _KEPT
    # A trim takes the payload and leaves the lengths in the headers.
    blocks["original"] = np.where(whole_frame, sent_length, _KEPT)
    _fill(blocks["frame"], packets, sent_length)
    return blocks


def _fill(frame: Any, packets: "pl.DataFrame", sent_length: Any) -> None:
    sent = packets["direction"].to_numpy() == "sent"
    here, there = (packets[name].to_numpy().astype(np.uint32) + 1 for name in ("host", "peer"))
    source, destination = np.where(sent, here, there), np.where(sent, there, here)
    for name, host in (("from", source), ("to", destination)):
        frame[name][:, 0] = 2  # locally administered
        frame[name][:, 2:] = host.astype(">u4").view(np.uint8).reshape(-1, 4)
    frame["ethertype"] = 0x0800
    frame["source"], frame["destination"] = source + _NETWORK, destination + _NETWORK
    length = np.minimum(sent_length - _ETHERNET, 0xFFFF)
    words = frame["ip"]
    words[:, 0], words[:, 1], words[:, 4] = 0x4500, length, 64 << 8 | 17
    total = words.astype(np.uint32).sum(axis=1)
    for name in ("source", "destination"):
        total += (frame[name] >> 16).astype(np.uint32) + (frame[name] & 0xFFFF).astype(np.uint32)
    for _ in range(2):
        total = (total >> 16) + (total & 0xFFFF)
    words[:, 5] = total ^ 0xFFFF
    # The path is known where the packet was sent, and is the source port as on the wire.
    source_port = packets["path"].fill_null(_NO_PATH).to_numpy().astype(np.uint32) + _FIRST_PATH_PORT
    frame["source_port"] = np.where(source_port > 0xFFFF, _NO_PATH_PORT, source_port)
    frame["destination_port"] = _HOME_PORT
    frame["udp_length"] = length - _IPV4
    frame["version"] = _SIMULATED + packets["fate"].replace_strict(_FATES, default=0).to_numpy()
    for name in ("flags", "flow", "number", "extra"):
        frame[name] = packets[name].to_numpy()
    frame["kind"] = packets["kind"].to_numpy().astype("S8")


def _section() -> bytes:
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _option(4, f"pullnet {__version__}".encode()) + _option(0, b"")
    return _framed(0x0A0D0D0A, body)


def _interface(name: str) -> bytes:
    nanoseconds = b"\x09"
    body = struct.pack("<HHI", 1, 0, _KEPT) + _option(2, name.encode()) + _option(9, nanoseconds) + _option(0, b"")
    return _framed(1, body)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _framed(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length
