"""The switch inside the kernel: compiled by clang, loaded by libbpf, both found on this machine.

libbpf (LGPL-2.1 or BSD-2) is what the command `ip` of Debian is linked to, so it is there wherever testbeds run; it is
called through its C interface, and nothing of it is part of pullnet.
"""

import ctypes
import fcntl
import hashlib
import os
import platform
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pullnet.errors import InputError

SOURCE = Path(__file__).with_name("switch.bpf.c")
COUNTERS = (
    "if_in_ucast_pkts",
    "if_in_octets",
    "if_in_discards",
    "if_in_errors",
    "if_out_ucast_pkts",
    "if_out_octets",
    "if_out_discards",
    "trim_packets",
    "tx_trim_packets",
    "queue_contended",
)
_FORWARDING = ("path", "random", "ecmp")
_SIOCGIFMTU = 0x8921
_GROUP = 16


def missing() -> list[str]:
    """Requirements that this machine does not meet, in words; empty if the switch can run here."""
    found = {
        "root (or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)": os.geteuid() == 0,
        "clang (on Debian: apt-get install clang)": shutil.which("clang") is not None,
        "libbpf.so.1 (on Debian: apt-get install libbpf1)": _libbpf() is not None,
        "the headers of Linux (on Debian: apt-get install linux-libc-dev)": Path("/usr/include/linux/bpf.h").exists(),
    }
    return [what for what, there in found.items() if not there]


def _libbpf() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libbpf.so.1", use_errno=True)
    except OSError:
        return None


def compiled(folder: Path) -> Path:
    """Compile the program into `folder`, unless the same source was compiled there before."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    target = folder / f"switch-{digest}.bpf.o"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    include = f"-I/usr/include/{platform.machine()}-linux-gnu"
    options = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", include]
    beside = target.with_suffix(f".{os.getpid()}")  # Others may compile it just now.
    done = subprocess.run(
        ["clang", *options, "-c", str(SOURCE), "-o", str(beside)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise InputError(f"clang does not compile {SOURCE}:\n{done.stderr.strip()}")
    beside.replace(target)
    return target


@dataclass(frozen=True)
class Ran:
    """Result of the program for one frame in a test run."""

    action: int
    """1 dropped, 2 passed to the kernel, 4 redirected."""
    frame: bytes


DROPPED, PASSED, REDIRECTED = 1, 2, 4


class _TestRun(ctypes.Structure):
    """`struct bpf_test_run_opts` of libbpf 1."""

    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    ]


class Kernel:
    """The loaded program with its maps. Attachments last as long as this object."""

    def __init__(self, program: Path) -> None:
        bpf = _libbpf()
        if bpf is None:
            raise InputError("libbpf.so.1 is not here (on Debian: apt-get install libbpf1)")
        self._bpf = bpf
        for name in ("bpf_object__open_file", "bpf_object__find_program_by_name", "bpf_program__attach_xdp"):
            getattr(bpf, name).restype = ctypes.c_void_p
        self._log: list[str] = []
        self._printer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: 0)
        bpf.libbpf_set_print(self._printer)
        self._object = ctypes.c_void_p(bpf.bpf_object__open_file(str(program).encode(), None))
        if not self._object.value:
            raise InputError(f"{program}: libbpf does not open it: {os.strerror(ctypes.get_errno())}")
        failed = bpf.bpf_object__load(self._object)
        if failed:
            raise InputError(f"the kernel refused the switch: {os.strerror(-failed)}")
        self._links: list[ctypes.c_void_p] = []

    def close(self) -> None:
        """Detach and unload everything."""
        for link in self._links:
            self._bpf.bpf_link__destroy(link)
        self._links.clear()
        if self._object.value:
            self._bpf.bpf_object__close(self._object)
            self._object = ctypes.c_void_p()

    def _program(self, name: str) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._bpf.bpf_object__find_program_by_name(self._object, name.encode()))

    def _map(self, name: str) -> int:
        return int(self._bpf.bpf_object__find_map_fd_by_name(self._object, name.encode()))

    def put(self, map: str, key: bytes, value: bytes) -> None:
        """Set an entry of a map."""
        if self._bpf.bpf_map_update_elem(self._map(map), key, value, ctypes.c_uint64(0)) != 0:
            raise InputError(f"the kernel refused an entry of {map}: {os.strerror(ctypes.get_errno())}")

    def get(self, map: str, key: bytes, size: int) -> bytes:
        """Read an entry of a map."""
        value = ctypes.create_string_buffer(size)
        if self._bpf.bpf_map_lookup_elem(self._map(map), key, value) != 0:
            raise InputError(f"{map} has no such entry: {os.strerror(ctypes.get_errno())}")
        return value.raw

    def attach(self, program: str, interface: int) -> None:
        """Attach a program to an interface of this thread's namespace."""
        link = ctypes.c_void_p(self._bpf.bpf_program__attach_xdp(self._program(program), interface))
        if not link.value:
            raise InputError(f"interface {interface}: XDP cannot be attached: {os.strerror(ctypes.get_errno())}")
        self._links.append(link)

    def run(self, frame: bytes, interface: int) -> Ran:
        """Give the program one frame, as if it came in by an interface."""
        out = ctypes.create_string_buffer(1 << 14)
        # struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex.
        context = struct.pack("<IIIIII", 0, len(frame), 0, interface, 0, 0)
        holders = (ctypes.create_string_buffer(frame, len(frame)), ctypes.create_string_buffer(context, len(context)))
        options = _TestRun(
            sz=ctypes.sizeof(_TestRun),
            data_in=ctypes.addressof(holders[0]),
            data_size_in=len(frame),
            data_out=ctypes.addressof(out),
            data_size_out=len(out),
            ctx_in=ctypes.addressof(holders[1]),
            ctx_size_in=len(context),
            repeat=1,
        )
        descriptor = self._bpf.bpf_program__fd(self._program("pullnet_switch"))
        failed = self._bpf.bpf_prog_test_run_opts(descriptor, ctypes.byref(options))
        if failed:
            raise InputError(f"the kernel refused a test run: {os.strerror(-failed)}")
        return Ran(options.retval, out.raw[: options.data_size_out])


class KernelSwitch:
    """A switch file inside the kernel; `told` is what `SwitchFile.kernel` says of it."""

    def __init__(self, told: dict[str, Any], kernel: Kernel, mtu: int) -> None:
        self.told = told
        self.kernel = kernel
        self._full = max(mtu + 14, told["shortest"]) + told["overhead"]
        self.set_clock(0)
        for number, port in enumerate(told["ports"]):
            self._port(number, port)
        for entry in told["entries"]:
            ports = bytes(entry["ports"])
            value = struct.pack("<IHH", len(ports), entry["shift"], entry["mask"]) + ports.ljust(_GROUP, b"\0")
            kernel.put("entries", struct.pack("<Q", int(entry["mac"].replace(":", ""), 16)), value)

    def set_clock(self, nanoseconds: int) -> None:
        """Set the time that the switch sees, or with 0 give it the kernel's again. For tests."""
        told = self.told
        value = struct.pack(
            "<QIIII4BI",
            nanoseconds,
            _FORWARDING.index(told["forwarding"]),
            told["overhead"],
            told["shortest"],
            told["trim_to"],
            *told["marks"],
            int(told["trims"]),
        )
        self.kernel.put("rules", struct.pack("<I", 0), value)

    def _port(self, number: int, port: dict[str, Any]) -> None:
        # Room in packets is room for so many full frames: a virtual queue knows bytes only.
        packets, full = (1, self.told["bytes"]) if self.told["packets"] is None else (self.told["packets"], self._full)
        kibibyte_ns = round(1024 * 8 * 1e9 / port["rate_bps"])
        self.kernel.put("ports", struct.pack("<I", number), struct.pack("<QII", kibibyte_ns, packets, full))

    def join(self, number: int, interface: int) -> None:
        """Say which interface a port is on."""
        self.kernel.put("ingress", struct.pack("<I", interface), struct.pack("<I", number))
        self.kernel.put("egress", struct.pack("<I", number), struct.pack("<I", interface))

    def counters(self, number: int) -> dict[str, int]:
        """Counters of a port, summed over all cores."""
        cores = len(_possible_cores())
        size = 8 * len(COUNTERS)
        raw = self.kernel.get("counters", struct.pack("<I", number), size * cores)
        rows = struct.iter_unpack(f"<{len(COUNTERS)}Q", raw)
        return dict(zip(COUNTERS, map(sum, zip(*rows, strict=True)), strict=True))

    def status(self) -> dict[str, Any]:
        """How it stands, in the form of `pullnet switch`."""
        ports = [
            {"name": port["name"], "switch": port["switch"], "counters": self.counters(number)}
            for number, port in enumerate(self.told["ports"])
        ]
        return {"name": self.told["name"], "kernel": True, "ports": ports}


def _possible_cores() -> list[int]:
    text = Path("/sys/devices/system/cpu/possible").read_text(encoding="ascii").strip()
    cores: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores


@contextmanager
def running(told: dict[str, Any], folder: Path) -> Iterator[KernelSwitch]:
    """A switch file inside the kernel, on the interfaces of this thread's namespace, as long as the context lasts."""
    if lacks := missing():
        raise InputError([f"the switch inside the kernel needs {what}" for what in lacks])
    interfaces = [_interface(port) for port in told["ports"]]
    kernel = Kernel(compiled(folder))
    try:
        switch = KernelSwitch(told, kernel, max(mtu for _, mtu in interfaces))
        for number, (index, _) in enumerate(interfaces):
            switch.join(number, index)
        for index, _ in interfaces:
            kernel.attach("pullnet_switch", index)
        yield switch
    finally:
        kernel.close()


def _interface(port: dict[str, Any]) -> tuple[int, int]:
    """Number and MTU of a port's interface."""
    name = port["interface"]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            request = struct.pack("16si12x", name.encode(), 0)
            mtu = struct.unpack("16si12x", fcntl.ioctl(handle, _SIOCGIFMTU, request))[1]
        return socket.if_nametoindex(name), mtu
    except OSError:
        raise InputError(f'port {port["name"]}: there is no interface "{name}" in this network namespace') from None
