"""`pullnet switch`: its file, its interfaces, its end. Interfaces need root."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pullnet.errors import InputError
from pullnet.switch import ask
from pullnet.testbed import kernel

from .test_testbed import needs_namespaces, pullnet

NAMESPACE = "pn-switch-cli"
FILE = """
name = "pair"

[switch]
kind = "trim"

[[port]]
name = "a"
interface = "a0"
rate = "1 Gbps"

[[port]]
name = "b"
interface = "b0"
rate = "100 Mbps"

[learning]
ageing = "300 s"
unknown = "flood"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "switch.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def namespace() -> Iterator[str]:
    """Two pairs of interfaces: a0 and b0 for the switch, a1 and b1 for whoever talks."""
    kernel.add(NAMESPACE)
    try:
        pairs = [f"link add name {n}0 type veth peer name {n}1" for n in "ab"]
        kernel.ip(["-n", NAMESPACE], [*pairs, *(f"link set dev {n}{end} up" for n in "ab" for end in "01")])
        yield NAMESPACE
    finally:
        kernel.delete(NAMESPACE)


def test_a_file_is_checked_without_privilege(config: Path) -> None:
    checked = pullnet("switch", str(config), "--check", "--json")
    assert checked.returncode == 0, checked.stderr
    assert [port["interface"] for port in json.loads(checked.stdout)["ports"]] == ["a0", "b0"]


def test_every_error_of_a_file_comes_at_once(config: Path) -> None:
    config.write_text(FILE.replace("1 Gbps", "1 Gb").replace("300 s", "300"))
    checked = pullnet("switch", str(config), "--check")
    assert checked.returncode == 2
    lines = checked.stderr.splitlines()
    assert len(lines) == 2
    assert "port.0.rate" in lines[0]
    assert "learning.ageing" in lines[1]
    missing = pullnet("switch", str(config.with_name("no.toml")))
    assert (missing.returncode, "cannot be read" in missing.stderr) == (2, True)


@needs_namespaces
def test_an_interface_that_is_not_there_is_named(config: Path) -> None:
    ran = pullnet("switch", str(config))
    assert ran.returncode == 2
    assert 'port "a"' in ran.stderr
    assert '"a0"' in ran.stderr


@needs_namespaces
@pytest.mark.parametrize(("number", "io"), [(signal.SIGINT, "packet"), (signal.SIGTERM, "xdp")])
def test_it_forwards_records_and_ends_cleanly(
    number: signal.Signals, io: str, config: Path, namespace: str, tmp_path: Path
) -> None:
    config.write_text(f'io = "{io}"\n' + FILE + f'[capture]\nfile = "{tmp_path / "out.pcapng"}"\n')
    control = tmp_path / "control"
    program = [sys.executable, "-c", "from pullnet.cli import main; main()"]
    command = ["ip", "netns", "exec", namespace, *program, "switch", str(config), "--control", str(control), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(control)
        with kernel.inside(namespace):
            send_raw("a1", bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(50))
        for _ in range(200):
            status = ask(control, {"do": "status"})
            if status["ports"][1]["counters"]["if_out_ucast_pkts"]:
                break
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    counters = {port["name"]: port["counters"] for port in json.loads(out)["ports"]}
    assert counters["a"]["if_in_ucast_pkts"] >= 1
    assert counters["b"]["if_out_ucast_pkts"] >= 1
    assert not control.exists()
    assert (tmp_path / "out.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


@needs_namespaces
def test_an_interface_may_go_and_come_back(config: Path, namespace: str, tmp_path: Path) -> None:
    control = tmp_path / "control"
    program = [sys.executable, "-c", "from pullnet.cli import main; main()"]
    command = ["ip", "netns", "exec", namespace, *program, "switch", str(config), "--control", str(control), "--json"]
    frame = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(50)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(control)
        kernel.ip(["-n", namespace], ["link del dev b0"])
        with kernel.inside(namespace):
            until(control, lambda ports: ports["b"]["interface"]["trouble"], lambda: send_raw("a1", frame))
        kernel.ip(["-n", namespace], ["link add name b0 type veth peer name b1"])
        kernel.ip(["-n", namespace], ["link set dev b0 up", "link set dev b1 up"])
        sent = ports_of(control)["b"]["interface"]["sent"]
        with kernel.inside(namespace):
            until(control, lambda ports: ports["b"]["interface"]["sent"] > sent, lambda: send_raw("a1", frame))
        ask(control, {"do": "stop"})
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err


TRIMMING = FILE.replace('"100 Mbps"', '"100 kbps"')


@needs_namespaces
def test_data_of_ndp_is_trimmed_and_its_headers_overtake(config: Path, namespace: str, tmp_path: Path) -> None:
    from .test_switch_kernel import MARKS, checksum, frame

    config.write_text(TRIMMING)
    control = tmp_path / "control"
    program = [sys.executable, "-c", "from pullnet.cli import main; main()"]
    command = ["ip", "netns", "exec", namespace, *program, "switch", str(config), "--control", str(control), "--json"]
    sent = [frame(1514, MARKS[0], label=n) for n in range(40)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(control)
        with kernel.inside(namespace), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as arrived:
            arrived.bind(("b1", 0))
            arrived.settimeout(20)
            for one in sent:
                send_raw("a1", one)
            # A whole frame takes 121 ms at this rate: nearly all of them find the queue full.
            headers = [data for data in (arrived.recv(4096) for _ in range(20)) if len(data) == 64 and data[23] == 17]
        trimmed = ports_of(control)["b"]["counters"]["trim_packets"]
        ask(control, {"do": "stop"})
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert len(headers) >= 10
    assert trimmed >= len(headers)
    for header in headers:
        assert (header[15] >> 2, checksum(header[14:34]), header[16:18]) == (MARKS[2], 0, b"\x00\x32")
        assert header[42:] in [one[42:64] for one in sent]


def ports_of(control: Path) -> dict[str, Any]:
    return {port["name"]: port for port in ask(control, {"do": "status"})["ports"]}


def until(control: Path, holds: Callable[[dict[str, Any]], Any], act: Callable[[], None]) -> None:
    """Act again and again until it holds."""
    for _ in range(400):
        act()
        if holds(ports_of(control)):
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


def wait_for(control: Path) -> None:
    for _ in range(400):
        try:
            ask(control, {"do": "status"})
        except InputError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the switch does not answer")


def send_raw(interface: str, frame: bytes) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        out.send(frame)


def test_a_socket_without_a_switch_is_said(tmp_path: Path) -> None:
    told = pullnet("tell", str(tmp_path / "nobody"), "status")
    assert (told.returncode, "no switch answers there" in told.stderr) == (2, True)
