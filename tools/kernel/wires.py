"""Two hosts of this kernel, each in a network namespace of its own; every frame between them passes this program.

The namespaces have no names: they end with the process.
"""

import ctypes
import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x4000_0000
ETH_P_IP = 0x0800
SIOCETHTOOL = 0x8946
# Checksums, scatter-gather, segmentation (TSO, GSO) and GRO: all in frames of their own, whole, as on a wire.
OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)
MTU = 1500


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)} (needs root)")


def _new_namespace() -> int:
    _checked(LIBC.unshare(CLONE_NEWNET), "a new network namespace")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


@contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Sockets and commands of this block are in the namespace."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _checked(LIBC.setns(namespace, CLONE_NEWNET), "entering a network namespace")
        yield
    finally:
        _checked(LIBC.setns(before, CLONE_NEWNET), "leaving a network namespace")
        os.close(before)


def ip(arguments: str) -> None:
    """Run `ip` in the current namespace."""
    subprocess.run(["ip", *arguments.split()], check=True)


def sysctl(name: str, value: int | str) -> None:
    """Set a value of the current namespace."""
    (Path("/proc/sys") / name.replace(".", "/")).write_text(f"{value}\n", encoding="ascii")


def _without_offloads(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value)).ljust(40, b"\0")
            # Interfaces without the offload refuse; there is nothing to switch off then.
            LIBC.ioctl(control.fileno(), ctypes.c_ulong(SIOCETHTOOL), ctypes.c_char_p(request))


@dataclass(frozen=True)
class Line:
    """A line from the sending to the receiving host: sockets at the script's end of either host's interface."""

    near: socket.socket
    far: socket.socket


class Hosts:
    """Sender and receiver, with `lines` interfaces each: 10.78.LINE.1 and 10.78.LINE.2."""

    def __init__(self, lines: int, settings: dict[str, int | str], *, quick_acks: bool) -> None:
        self.sender = _new_namespace()
        self.receiver = _new_namespace()
        self.middle = _new_namespace()
        for namespace in (self.sender, self.receiver):
            with inside(namespace):
                for name, value in settings.items():
                    sysctl(name, value)
                ip("link set lo up")
        self.lines = [self._line(number, quick_acks=quick_acks) for number in range(lines)]

    def close(self) -> None:
        """The namespaces and what is in them go with the last descriptor."""
        for namespace in (self.sender, self.receiver, self.middle):
            os.close(namespace)

    def _line(self, number: int, *, quick_acks: bool) -> Line:
        sockets = []
        for host, namespace in ((1, self.sender), (2, self.receiver)):
            inner, outer = f"eth{number}", f"m{host}x{number}"
            with inside(namespace):
                middle = f"/proc/{os.getpid()}/fd/{self.middle}"
                own = f"{inner} mtu {MTU} address {_mac(number, host)}"
                ip(f"link add {own} type veth peer name {outer} netns {middle}")
                _without_offloads(inner)
                ip(f"link set {inner} up")
                ip(f"address add 10.78.{number}.{host}/24 dev {inner}")
            with inside(self.middle):
                ip(f"link set {outer} up")
                end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
                end.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
                end.bind((outer, ETH_P_IP))
                end.setblocking(False)
                sockets.append(end)
        self._routes(number, quick_acks=quick_acks)
        return Line(*sockets)

    def _routes(self, number: int, *, quick_acks: bool) -> None:
        """Every address of the other host is reached through every line, and its Ethernet address is known."""
        for host, namespace in ((1, self.sender), (2, self.receiver)):
            other = 3 - host
            quick = " quickack 1" if quick_acks else ""
            with inside(namespace):
                for line in range(number + 1):
                    address = f"10.78.{line}.{other}"
                    ip(f"route add {address}/32 dev eth{number} metric {1 + (line != number)}{quick}")
                    ip(f"neighbour replace {address} lladdr {_mac(number, other)} dev eth{number}")


def _mac(line: int, host: int) -> str:
    return f"02:00:00:00:{line:02x}:{host:02x}"


def frames(end: socket.socket) -> list[bytes]:
    """All TCP segments that have come so far."""
    found: list[bytes] = []
    while True:
        try:
            frame = end.recv(2048)
        except BlockingIOError:
            return found
        if frame[23] == socket.IPPROTO_TCP:
            found.append(frame)


def wait(ends: list[socket.socket], seconds: float) -> bool:
    """Wait for a frame; return whether one came."""
    return bool(select.select(ends, [], [], max(seconds, 0))[0])


def gather(ends: list[socket.socket], seconds: float) -> list[list[bytes]]:
    """All frames of the next `seconds`, by line."""
    until = time.monotonic() + seconds
    found: list[list[bytes]] = [[] for _ in ends]
    while True:
        for line, end in enumerate(ends):
            found[line] += frames(end)
        left = until - time.monotonic()
        if left <= 0:
            return found
        wait(ends, left)


@dataclass(frozen=True)
class Segment:
    """Fields of a frame that scripts read."""

    seq: int
    payload: int
    syn: bool

    @classmethod
    def of(cls, frame: bytes) -> "Segment":
        """Read the headers of a frame."""
        length = int.from_bytes(frame[16:18])
        tcp = 14 + 4 * (frame[14] & 15)
        header = 4 * (frame[tcp + 12] >> 4)
        payload = 14 + length - tcp - header
        return cls(int.from_bytes(frame[tcp + 4 : tcp + 8]), payload, bool(frame[tcp + 13] & 2))


def marked(frame: bytes) -> bytes:
    """The same with Congestion Experienced; as it is if it is not ECN-capable."""
    if frame[15] & 3 == 0:
        return frame
    header = bytearray(frame[14:34])
    header[1] |= 3
    header[10:12] = b"\0\0"
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack("!H", ~total & 0xFFFF)
    return frame[:14] + bytes(header) + frame[34:]
