"""The switch inside the kernel against the golden vectors, as far as a virtual queue can follow them."""

import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pullnet.switch import ask, xdp
from pullnet.testbed import kernel

from .conftest import WATCHDOG_S
from .test_switch import join, result_of, running, send_raw
from .test_testbed import pullnet

ROOT = Path(__file__).parents[2]
LACKS = xdp.missing()
needs_kernel = pytest.mark.skipif(bool(LACKS), reason=f"the switch inside the kernel needs {'; '.join(LACKS)}")
NAMESPACE = f"pn-switch-xdp-{os.getpid()}"
MARKS = [3, 11, 7, 15]
"""DSCP of data, control, trimmed and returned packets: the defaults of pullnet-wire."""
GIGABIT = 1_000_000_000


@pytest.fixture
def interfaces() -> Iterator[tuple[int, int]]:
    """Two interfaces in a namespace of their own, in which this thread is."""
    kernel.require()
    kernel.add(NAMESPACE)
    try:
        kernel.ip(["-n", NAMESPACE], ["link add name in0 mtu 9216 type veth peer name out0 mtu 9216"])
        with kernel.inside(NAMESPACE):
            yield socket.if_nametoindex("in0"), socket.if_nametoindex("out0")
    finally:
        kernel.delete(NAMESPACE)


def four() -> list[int]:
    """Numbers of four interfaces in the namespace of `interfaces`."""
    kernel.ip(["-n", NAMESPACE], ["link add name in1 type veth peer name out1"])
    with kernel.inside(NAMESPACE):
        return [socket.if_nametoindex(name) for name in ("in0", "in1", "out0", "out1")]


def told(**changes: Any) -> dict[str, Any]:
    port = {"switch": "s", "rate_bps": GIGABIT}
    base = {
        "name": "test",
        "forwarding": "path",
        "overhead": 0,
        "shortest": 0,
        "trims": True,
        "trim_to": 64,
        "marks": MARKS,
        "packets": 8,
        "bytes": None,
        "ports": [{"name": "in0", "interface": "in0", **port}, {"name": "out0", "interface": "out0", **port}],
        "entries": [{"mac": "02:00:00:00:00:02", "ports": [1], "shift": 0, "mask": 65535}],
    }
    return {**base, **changes}


def loaded(tmp: Path, interfaces: tuple[int, int], mtu: int, **changes: Any) -> xdp.KernelSwitch:
    switch = xdp.KernelSwitch(told(**changes), xdp.Kernel(xdp.compiled(tmp)), mtu)
    for number, interface in enumerate(interfaces):
        switch.join(number, interface)
    return switch


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(length: int, dscp: int, *, label: int = 0, to: str = "020000000002") -> bytes:
    """UDP over IPv4 in Ethernet, `length` bytes in all."""
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    ip = struct.pack(">BBHHHBBH", 0x45, dscp << 2, length - 14, 0, 0x4000, 64, 17, 0) + ends
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    udp = struct.pack(">HHHH", 49152 + label, 61199, length - 34, 0)
    return bytes.fromhex(to) + bytes.fromhex("020000000001") + b"\x08\x00" + ip + udp + bytes(length - 42)


@needs_kernel
def test_a_trim_leaves_a_frame_that_is_right(tmp_path: Path, interfaces: tuple[int, int]) -> None:
    switch = loaded(tmp_path, interfaces, 1500, packets=1)
    switch.set_clock(1)
    whole = frame(1514, MARKS[0])
    assert switch.kernel.run(whole, interfaces[0]) == xdp.Ran(xdp.REDIRECTED, whole)
    ran = switch.kernel.run(whole, interfaces[0])
    assert (ran.action, len(ran.frame)) == (xdp.REDIRECTED, 74)
    ip, udp = ran.frame[14:34], ran.frame[34:42]
    assert (ip[1] >> 2, checksum(ip)) == (MARKS[2], 0)
    assert (int.from_bytes(ip[2:4], "big"), int.from_bytes(udp[4:6], "big")) == (60, 40)
    assert ran.frame[42:] == whole[42:74]
    assert switch.counters(1)["trim_packets"] == 1
    switch.kernel.close()


@needs_kernel
@pytest.mark.parametrize(("field", "value"), [(20, b"\x20\x00"), (24, b"\xab\xcd")], ids=["fragment", "checksum"])
def test_what_the_software_switch_trims_is_trimmed(
    field: int, value: bytes, tmp_path: Path, interfaces: tuple[int, int]
) -> None:
    """A fragment is trimmed too, and the checksum is right then, whatever it was."""
    switch = loaded(tmp_path, interfaces, 1500, packets=1)
    switch.set_clock(1)
    whole = frame(1514, MARKS[0])
    whole = whole[:field] + value + whole[field + len(value) :]
    ran = [switch.kernel.run(whole, interfaces[0]) for _ in range(2)]
    assert [(one.action, len(one.frame)) for one in ran] == [(xdp.REDIRECTED, 1514), (xdp.REDIRECTED, 74)]
    assert checksum(ran[1].frame[14:34]) == 0
    switch.kernel.close()


@needs_kernel
def test_what_must_stay_whole_is_dropped_and_what_has_no_way_too(tmp_path: Path, interfaces: tuple[int, int]) -> None:
    switch = loaded(tmp_path, interfaces, 1500, packets=1)
    switch.set_clock(1)
    actions = [
        switch.kernel.run(sent, interfaces[0]).action
        for sent in (frame(1514, 0), frame(1514, 0), frame(74, MARKS[1]), frame(1514, 0, to="020000000009"))
    ]
    assert actions == [xdp.REDIRECTED, xdp.DROPPED, xdp.REDIRECTED, xdp.DROPPED]
    assert switch.counters(1)["if_out_discards"] == 1
    assert switch.counters(0)["if_in_discards"] == 1
    switch.kernel.close()


@needs_kernel
def test_the_virtual_queue_drains_at_the_rate_of_the_port(tmp_path: Path, interfaces: tuple[int, int]) -> None:
    switch = loaded(tmp_path, interfaces, 1486, packets=1)
    lengths = []
    for nanoseconds in (1000, 12_999, 13_000, 13_001, 100_000):
        switch.set_clock(nanoseconds)
        lengths.append(len(switch.kernel.run(frame(1500, MARKS[0]), interfaces[0]).frame))
    # A frame of 1500 B takes 12 us at 1 Gb/s, and the header that was trimmed 512 ns more.
    assert lengths == [1500, 74, 74, 74, 1500]
    switch.kernel.close()


@needs_kernel
@pytest.mark.parametrize("name", ["trim-arriving", "drop-tail-bytes"])
def test_it_decides_as_the_vectors_say(name: str, tmp_path: Path, interfaces: tuple[int, int]) -> None:
    lines = [json.loads(line) for line in (ROOT / "vectors/qdisc" / f"{name}.jsonl").read_text().splitlines()]
    head, lines = lines[0], lines[1:]
    trims = head["discipline"] == "trim"
    room = {"packets": None, "bytes": 10_000} if "queue" in head["config"] else {"packets": 8}
    switch = loaded(tmp_path, interfaces, 9050, trims=trims, **room)
    now = 1
    for number, line in enumerate(lines, 2):
        if line["op"] == "dequeue" and line["pkt"]:
            now += line["pkt"]["len"] * 8  # What is served leaves the virtual queue by the time that it takes.
        if line["op"] != "enqueue":
            continue
        switch.set_clock(now)
        length = line["pkt"]["len"]
        dscp = MARKS[0] if line["pkt"]["class"] == "data" else MARKS[1]
        ran = switch.kernel.run(frame(length, dscp), interfaces[0])
        if line["verdict"] == "queued":
            expected = (xdp.REDIRECTED, length)
        elif "trimmed" in line["verdict"] and "dropped" not in line["verdict"]:
            expected = (xdp.REDIRECTED, 74)
        else:
            expected = (xdp.DROPPED, length)
        assert (ran.action, len(ran.frame)) == expected, f"{name}, line {number}"
    switch.kernel.close()


def followed(switch: xdp.KernelSwitch, interface: int, lines: list[dict[str, Any]]) -> str:
    """How far the switch follows what a vector says of arriving packets; it has no say in what is served when."""
    now = 1
    for number, line in enumerate(lines, 2):
        if line["op"] == "dequeue" and line["pkt"]:
            now += line["pkt"]["len"] * 8
        if line["op"] != "enqueue":
            continue
        switch.set_clock(now)
        length = line["pkt"]["len"]
        dscp = dict(zip(("data", "control", "header", "returned"), MARKS, strict=True)).get(line["pkt"]["class"], 0)
        ran = switch.kernel.run(frame(length, dscp), interface)
        match line["verdict"]:
            case "queued":
                expected: object = (xdp.REDIRECTED, length)
            case {"trimmed": int(victim)} if victim == line["pkt"]["id"]:
                expected = (xdp.REDIRECTED, 74)
            case {"dropped": int(victim), "trimmed": False} if victim == line["pkt"]["id"]:
                expected = (xdp.DROPPED, length)
            case _:
                expected = None
        if (ran.action, len(ran.frame)) != expected:
            return f"differs at line {number} of {len(lines) + 1}"
    return "yes, what arrives"


def same_frames(switch: xdp.KernelSwitch, probe: dict[str, Any], interfaces: list[int]) -> str:
    """Whether the same frames leave by the same ports as from the software switch."""
    switch.set_clock(1)
    left: list[list[str]] = [[] for _ in interfaces]
    for port, given in probe["given"]:
        before = [switch.counters(number)["if_out_ucast_pkts"] for number in range(len(interfaces))]
        ran = switch.kernel.run(bytes.fromhex(given), interfaces[port])
        for number, sent in enumerate(before):
            if ran.action == xdp.REDIRECTED and switch.counters(number)["if_out_ucast_pkts"] > sent:
                left[number].append(ran.frame.hex())
    return "yes" if [sorted(frames) for frames in left] == probe["left"] else "no"


@needs_kernel
def test_the_table_of_features_says_how_far_it_follows_the_vectors(tmp_path: Path, interfaces: tuple[int, int]) -> None:
    """`hardware/features/xdp.json`, the source of the table in docs/hardware.md; BLESS=1 rewrites it."""
    found = {}
    folder = ROOT / "vectors/qdisc"
    for path in sorted([*folder.glob("trim-*.jsonl"), *folder.glob("drop-tail-*.jsonl")]):
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        config = head["config"]
        if "mark_above" in config:
            found[path.stem] = "no: marks are refused"
            continue
        trims = head["discipline"] == "trim"
        number, unit = (config.get("data_queue", "8 packets") if trims else config["queue"]).split()
        room = int(float(number) * {"packets": 1, "kB": 1000}[unit])
        told_room = {"packets": room} if unit == "packets" else {"packets": None, "bytes": room}
        switch = loaded(tmp_path, interfaces, 9050, trims=trims, **told_room)
        found[path.stem] = followed(switch, interfaces[0], lines)
        switch.kernel.close()
    frames = json.loads((ROOT / "hardware/features/frames.json").read_text(encoding="utf-8"))
    numbers = four()
    port = {"switch": "s", "rate_bps": GIGABIT}
    ports = [{"name": str(number), "interface": str(number), **port} for number in range(4)]
    for probe in frames["probes"]:
        # Room for as many of these frames as the software switch has room for: a virtual queue counts bytes.
        data = [len(given) // 2 for _, given in probe["given"]][-9:]
        room = sum(data[: probe["rooms"][0]]) + min(data) // 2
        settings = {"packets": None, "bytes": room, "ports": ports, "entries": frames["entries"]}
        switch = xdp.KernelSwitch(told(**settings), xdp.Kernel(xdp.compiled(tmp_path)), 1500)
        for number, interface in enumerate(numbers):
            switch.join(number, interface)
        found[probe["name"]] = same_frames(switch, probe, numbers)
        switch.kernel.close()
    file = ROOT / "hardware/features/xdp.json"
    text = json.dumps(found, indent=2, sort_keys=True) + "\n"
    if os.environ.get("BLESS"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text, "BLESS=1 writes it"


FRAMES = "PULLNET_KERNEL_FRAMES"


def software_outcomes(count: int) -> Iterator[list[str]]:
    """Port and bytes of random frames, and what the software switch does with each if data has room, and if not."""
    profile = (
        ["--release"] if FRAMES in os.environ else []
    )  # a release build takes minutes, which only many frames are worth
    command = ["cargo", "run", "--quiet", *profile, "-p", "pullnet-hardware", "--", "frames", str(count)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.split()
    assert process.returncode == 0


def outcome(switch: xdp.KernelSwitch, given: bytes, interface: int) -> str:
    """The same of the switch inside the kernel: `-`, or the port and the bytes that leave, `=` for those that came."""
    before = [switch.counters(number)["if_out_ucast_pkts"] for number in range(4)]
    ran = switch.kernel.run(given, interface)
    if ran.action == xdp.DROPPED:
        return "-"
    (port,) = (number for number in range(4) if switch.counters(number)["if_out_ucast_pkts"] > before[number])
    return f"{port}=" if ran.frame == given else f"{port}{ran.frame.hex()}"


@needs_kernel
@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="the software switch's outcomes need cargo")
def test_random_frames_leave_as_from_the_software_switch(tmp_path: Path, interfaces: tuple[int, int]) -> None:
    """Twice each, with room for all and with none for data; PULLNET_KERNEL_FRAMES says how many."""
    count = int(os.environ.get(FRAMES, "2000"))
    entries = json.loads((ROOT / "hardware/features/frames.json").read_text(encoding="utf-8"))["entries"]
    numbers = four()
    switches = []
    # A frame takes no time at a rate without bound, and none fits into no room.
    for rate, room in ((10**18, 10**6), (GIGABIT, 0)):
        port = {"switch": "s", "rate_bps": rate}
        ports = [{"name": str(number), "interface": str(number), **port} for number in range(4)]
        settings = {"packets": None, "bytes": room, "ports": ports, "entries": entries}
        switch = xdp.KernelSwitch(told(**settings), xdp.Kernel(xdp.compiled(tmp_path)), 1500)
        switch.set_clock(1)
        for number, interface in enumerate(numbers):
            switch.join(number, interface)
        switches.append(switch)
    compared = 0
    for came_by, given, *expected in software_outcomes(count):
        found = [outcome(switch, bytes.fromhex(given), numbers[int(came_by)]) for switch in switches]
        assert found == expected, f"frame {compared} by port {came_by}: {given}"
        compared += 1
    assert compared == count
    for switch in switches:
        switch.kernel.close()


CONFIG = """
[switch]
kind = "drop-tail"
queue = "20 kB"
[[port]]
name = "in0"
interface = "in0"
rate = "1 Gbps"
[[port]]
name = "out0"
interface = "out0"
rate = "1 Gbps"
[[forward]]
mac = "02:00:00:00:00:02"
ports = "out0"
"""


@needs_kernel
def test_frames_pass_between_real_interfaces(tmp_path: Path) -> None:
    config, control = tmp_path / "switch.toml", tmp_path / "control"
    config.write_text(CONFIG)
    kernel.add(NAMESPACE)
    try:
        join(NAMESPACE, "in", "out")
        with running(NAMESPACE, config, control, "--kernel") as process:
            with kernel.inside(NAMESPACE):
                kernel.merge_segments("out1")  # Without it, veth throws away what is redirected to it.
                with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as arrived:
                    arrived.bind(("out1", 0))
                    arrived.settimeout(WATCHDOG_S)
                    send_raw("in1", frame(200, 0))
                    got = next(data for data in iter(lambda: arrived.recv(4096), b"") if len(data) == 200)
            told = ask(control, {"do": "stop"})
            counters = {port["name"]: port["counters"] for port in result_of(process)["ports"]}
        assert (told, got) == (None, frame(200, 0))
        assert counters["out0"]["if_out_ucast_pkts"] == 1
    finally:
        kernel.delete(NAMESPACE)


@needs_kernel
def test_what_it_cannot_do_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "switch.toml"
    config.write_text(CONFIG + '[learning]\nunknown = "flood"\n')
    ran = pullnet("switch", str(config), "--kernel")
    assert (ran.returncode, "it learns and floods nothing" in ran.stderr) == (2, True)


def test_what_is_missing_is_said() -> None:
    assert all("(" in what for what in LACKS)
