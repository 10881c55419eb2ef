"""Namespaces, links, offloads: what the kernel is told, by `ip` and a few system calls."""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from pullnet.errors import InputError

_NETNS = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
# linux/ethtool.h: commands that switch off checksums (receive, send), scatter-gather, and the merging of segments.
_OFFLOADS = {"rx": 0x15, "tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
_libc = ctypes.CDLL(None, use_errno=True)


def require() -> None:
    """Refuse with what is missing."""
    missing = []
    if os.geteuid() != 0:
        missing.append("root (it makes network namespaces); run it with sudo")
    if shutil.which("ip") is None:
        missing.append("the command ip (on Debian: apt-get install iproute2)")
    if missing:
        raise InputError([f"a testbed needs {what}" for what in missing])


def ip(arguments: list[str], batch: Iterable[str] | None = None) -> str:
    """Run `ip`, with a batch on its standard input if there is one."""
    text = None if batch is None else "\n".join(batch) + "\n"
    command = ["ip", *arguments] if text is None else ["ip", *arguments, "-batch", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def inode(namespace: str) -> int | None:
    """Inode number of a namespace, which identifies it; None if there is none of this name."""
    try:
        return (_NETNS / namespace).stat().st_ino
    except FileNotFoundError:
        return None


def add(namespace: str) -> int:
    """Make a namespace and return its inode."""
    ip(["netns", "add", namespace])
    made = inode(namespace)
    if made is None:
        raise InputError(f"{namespace}: the namespace vanished while it was made")
    return made


def delete(namespace: str) -> None:
    """Remove a namespace, with its links."""
    ip(["netns", "del", namespace])


def is_bare(namespace: str) -> bool:
    """Whether a namespace has no interface but lo: nothing was put into it yet."""
    links = json.loads(ip(["-n", namespace, "-json", "link", "show"]) or "[]")
    return [link.get("ifname") for link in links] == ["lo"]


def processes(namespace: str) -> list[int]:
    """Processes that live in a namespace."""
    return [int(pid) for pid in ip(["netns", "pids", namespace]).split()]


def started(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot, or None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def threads(pid: int, name: str) -> list[int]:
    """Return the threads of a process that have this name."""
    found = []
    for folder in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text(encoding="utf-8", errors="replace").strip() == name:
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread in a namespace: sockets that it makes belong there for good."""
    with Path("/proc/thread-self/ns/net").open("rb") as home, (_NETNS / namespace).open("rb") as there:
        _enter(there.fileno(), namespace)
        try:
            yield
        finally:
            _enter(home.fileno(), "its own namespace")


def _enter(descriptor: int, name: str) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise InputError(f"{name}: cannot be entered: {os.strerror(ctypes.get_errno())}")


def set_sysctl(values: dict[str, str]) -> None:
    """Set sysctls of the calling thread's namespace; sysctls unknown to this kernel are skipped."""
    for name, value in values.items():
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")


def offloads_off(interface: str) -> None:
    """Let an interface of this namespace send and receive frames as they are on the line."""
    for command in _OFFLOADS.values():
        # An offload that an interface cannot switch is already off, or fixed.
        with contextlib.suppress(OSError):
            _offload(interface, command, on=False)


def merge_segments(interface: str) -> None:
    """Let an interface merge what arrives (GRO). Of veth it means also that frames redirected by XDP are taken."""
    _offload(interface, _OFFLOADS["gro"], on=True)


def _offload(interface: str, command: int, *, on: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        value = ctypes.create_string_buffer(struct.pack("II", command, int(on)))
        request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
        fcntl.ioctl(handle, _SIOCETHTOOL, request + bytes(16))
