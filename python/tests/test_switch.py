"""`pullnet switch`: its file, its interfaces, its end. Interfaces need root."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pullnet.errors import InputError
from pullnet.switch import ask
from pullnet.testbed import kernel

from .conftest import WATCHDOG_S, wait_until
from .test_testbed import needs_namespaces, pullnet

NAMESPACE = f"pn-switch-cli-{os.getpid()}"
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
    """Two pairs of interfaces: a0 and b0 for the switch, a1 and b1 for the end hosts."""
    kernel.add(NAMESPACE)
    try:
        join(NAMESPACE, "a", "b")
        yield NAMESPACE
    finally:
        kernel.delete(NAMESPACE)


def join(namespace: str, *names: str) -> None:
    """Make pairs of interfaces, NAME0 and NAME1, and wait until the kernel, which looks once in a second, uses them."""
    pairs = [f"link add name {name}0 type veth peer name {name}1" for name in names]
    ends = {f"{name}{end}" for name in names for end in "01"}
    kernel.ip(["-n", namespace], [*pairs, *(f"link set dev {end} up" for end in ends)])

    def are_up() -> bool:
        links = json.loads(kernel.ip(["-n", namespace, "-json", "link", "show"]))
        return ends <= {link["ifname"] for link in links if link["operstate"] == "UP"}

    wait_until(are_up)


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
    with running(namespace, config, control) as process:
        with kernel.inside(namespace):
            send_raw("a1", bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(50))
        wait_until(lambda: ports_of(control)["b"]["counters"]["if_out_ucast_pkts"])
        process.send_signal(number)
        counters = {port["name"]: port["counters"] for port in result_of(process)["ports"]}
    assert counters["a"]["if_in_ucast_pkts"] >= 1
    assert counters["b"]["if_out_ucast_pkts"] >= 1
    assert not control.exists()
    assert (tmp_path / "out.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


@needs_namespaces
def test_an_interface_may_go_and_come_back(config: Path, namespace: str, tmp_path: Path) -> None:
    control = tmp_path / "control"
    frame = bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + bytes(50)
    with running(namespace, config, control) as process:
        kernel.ip(["-n", namespace], ["link del dev b0"])
        with kernel.inside(namespace):
            # Its socket says first that the network is down; a quarter of a second later the interface is looked for.
            gone = "there is no interface"
            until(
                control, lambda ports: gone in (ports["b"]["interface"]["trouble"] or ""), lambda: send_raw("a1", frame)
            )
        shown = pullnet("tell", str(control), "status").stdout
        assert 'b: nothing arrives or leaves: there is no interface "b0"' in shown
        join(namespace, "b")
        sent = ports_of(control)["b"]["interface"]["sent"]
        with kernel.inside(namespace):
            until(control, lambda ports: ports["b"]["interface"]["sent"] > sent, lambda: send_raw("a1", frame))
        assert ports_of(control)["b"]["interface"]["trouble"] is None
        ask(control, {"do": "stop"})
        result_of(process)


@needs_namespaces
@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ('port="a"; rate="2 Gbps"', 'fault, setting 2: rate: "2 Gbps" is no slower than the port, which has 1 Gbps'),
        ('port="z"; loss=0.5', 'fault, setting 1: port: "z" is no port'),
        ('port="a"; loss=.5', "fault, setting 2: is not TOML"),
        ('port="a"', "fault: does not say what goes wrong"),
    ],
)
def test_an_error_of_a_fault_is_told_with_its_place_in_the_argument(
    fault: str, what: str, config: Path, namespace: str, tmp_path: Path
) -> None:
    control = tmp_path / "control"
    with running(namespace, config, control) as process:
        told = pullnet("tell", str(control), "fault", fault)
        assert (told.returncode, what in told.stderr) == (2, True), told.stderr
        ask(control, {"do": "stop"})
        result_of(process)


@needs_namespaces
def test_tcp_of_the_kernel_crosses_and_what_is_not_cut_into_segments_is_told(
    config: Path, namespace: str, tmp_path: Path
) -> None:
    # Over veth no network card finishes checksums or cuts segments.
    other, control, data = f"{namespace}-b", tmp_path / "control", os.urandom(30_000)
    kernel.add(other)
    try:
        kernel.ip(["-n", namespace], [f"link set dev b1 netns {other}", "address add 10.78.0.1/24 dev a1"])
        kernel.ip(["-n", other], ["link set dev b1 up", "address add 10.78.0.2/24 dev b1"])
        with running(namespace, config, control) as process:
            with kernel.inside(other):
                listener = socket.create_server(("10.78.0.2", 0))
            with kernel.inside(namespace):
                sender = socket.create_connection(listener.getsockname(), WATCHDOG_S)
            with listener, sender, listener.accept()[0] as receiver:
                sender.sendall(data)
                sender.shutdown(socket.SHUT_WR)
                receiver.settimeout(WATCHDOG_S)
                assert b"".join(iter(lambda: receiver.recv(65536), b"")) == data
            before = ports_of(control)["a"]
            shown = pullnet("tell", str(control), "status").stdout
            after = ports_of(control)["a"]
            ask(control, {"do": "stop"})
            result_of(process)
    finally:
        kernel.delete(other)
    lost = before["interface"]["joined"]
    assert lost > 0
    assert f"a: {lost} frames were lost because the host had not cut them into segments" in shown
    came = [port["counters"]["if_in_ucast_pkts"] + port["counters"]["if_in_non_ucast_pkts"] for port in (before, after)]
    assert came[0] <= int(shown.splitlines()[1].split()[2]) <= came[1]


TRIMMING = FILE.replace('"100 Mbps"', '"100 kbps"')


@needs_namespaces
def test_data_of_ndp_is_trimmed_and_its_headers_overtake(config: Path, namespace: str, tmp_path: Path) -> None:
    from .test_switch_kernel import MARKS, checksum, frame

    config.write_text(TRIMMING)
    control = tmp_path / "control"
    sent = [frame(1514, MARKS[0], label=n) for n in range(40)]
    with running(namespace, config, control) as process:
        with kernel.inside(namespace), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as arrived:
            arrived.bind(("b1", 0))
            arrived.settimeout(WATCHDOG_S)
            # To the switch, all frames come at once: at this rate one takes 121 ms, and nearly all find the queue full.
            with standing_still(process):
                for one in sent:
                    send_raw("a1", one)
            headers = [data for data in (arrived.recv(4096) for _ in range(20)) if len(data) == 74 and data[23] == 17]
        trimmed = ports_of(control)["b"]["counters"]["trim_packets"]
        ask(control, {"do": "stop"})
        result_of(process)
    assert len(headers) >= 10
    assert trimmed >= len(headers)
    for header in headers:
        assert (header[15] >> 2, checksum(header[14:34]), header[16:18]) == (MARKS[2], 0, b"\x00\x3c")
        assert header[42:] in [one[42:74] for one in sent]


def ports_of(control: Path) -> dict[str, Any]:
    return {port["name"]: port for port in ask(control, {"do": "status"})["ports"]}


def until(control: Path, holds: Callable[[dict[str, Any]], Any], act: Callable[[], None]) -> None:
    """Act again and again until it holds."""

    def look() -> Any:
        act()
        return holds(ports_of(control))

    wait_until(look)


@contextlib.contextmanager
def running(namespace: str, config: Path, control: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A switch that answers; it is gone afterwards."""
    program = [sys.executable, "-m", "pullnet"]
    arguments = ["switch", str(config), "--control", str(control), "--json", *options]
    command = ["ip", "netns", "exec", namespace, *program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def answers() -> bool:
            assert process.poll() is None, process.communicate()[1]
            with contextlib.suppress(InputError):
                ask(control, {"do": "status"})
                return True
            return False

        try:
            wait_until(answers)
            yield process
        finally:
            process.kill()


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Output of a switch that ends by itself."""
    out, err = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


@contextlib.contextmanager
def standing_still(process: subprocess.Popen[str]) -> Iterator[None]:
    """No thread of a process runs."""
    process.send_signal(signal.SIGSTOP)
    threads = list(Path(f"/proc/{process.pid}/task").glob("*/stat"))
    wait_until(lambda: all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads))
    yield
    process.send_signal(signal.SIGCONT)


def send_raw(interface: str, frame: bytes) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        out.send(frame)


def test_a_socket_without_a_switch_is_said(tmp_path: Path) -> None:
    told = pullnet("tell", str(tmp_path / "nobody"), "status")
    assert (told.returncode, "no switch answers there" in told.stderr) == (2, True)


def test_whatever_is_sent_to_the_control_socket_has_an_answer(tmp_path: Path) -> None:
    from pullnet.switch.control import serving

    place = tmp_path / "control.sock"
    with serving(place, lambda _: None):
        for line in (b"[" * 100_000, b"{", b"3", b"\xff\xfe", b""):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(place))
                connection.sendall(line + b"\n")
                assert "errors" in json.loads(connection.makefile("rb").readline())
