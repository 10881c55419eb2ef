"""`pullnet host` and `pullnet.host`: the daemon, its status, calls; over the kernel's UDP, which needs no privilege."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pullnet import _core, host
from pullnet.cli.host import _watch
from pullnet.cli.main import status
from pullnet.errors import HostError, InputError

from .conftest import WATCHDOG_S, wait_until

SERVICE = 7
_numbers = count(1)


@dataclass
class Daemon:
    process: subprocess.Popen[str]
    address: str
    socket: Path


def start(folder: Path, tables: str = "") -> Daemon:
    """Start a daemon whose file ends with `tables`."""
    number, pid = next(_numbers), os.getpid()
    address = f"127.{1 + (pid >> 8) % 250}.{pid % 256}.{100 + number}"
    socket = folder / f"daemon{number}" / "host.sock"
    config = folder / f"daemon{number}.toml"
    config.write_text(
        f'backend = "udp"\naddress = "{address}"\nrate = "1 Gbps"\nfarewell = "0 s"\n[socket]\npath = "{socket}"\n'
        f'[ndp]\ngive_up = "120 s"\n{tables}'
    )
    command = [sys.executable, "-m", "pullnet", "host", "serve", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if " serves " in line:
            return Daemon(process, f"{address}:61199", socket)
    raise AssertionError("".join(said))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the daemon can reach after switching users, unlike pytest's folders, whose modes may forbid it."""
    with tempfile.TemporaryDirectory(prefix="pullnet-host-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def daemons(folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Daemon, Daemon]]:
    """Two daemons; the parameter, if any, is the end of the file of the second."""
    running: list[Daemon] = []
    try:
        running.extend(start(folder, tables) for tables in ("", getattr(request, "param", "")))
        yield running[0], running[1]
        for daemon in running:
            daemon.process.terminate()
            assert daemon.process.wait(WATCHDOG_S) == 0
            assert not daemon.socket.exists()
    finally:
        for daemon in running:
            daemon.process.kill()
            daemon.process.wait()


def reverse(request: host.Request) -> bytes:
    if request.body == b"fail":
        raise ValueError("as asked")
    return request.body[::-1]


@pytest.fixture
def served(daemons: tuple[Daemon, Daemon]) -> Iterator[tuple[Daemon, Daemon]]:
    stop = threading.Event()
    thread = threading.Thread(
        target=host.serve,
        args=(SERVICE, reverse),
        kwargs={"socket": daemons[1].socket, "stop": stop, "timeout_s": WATCHDOG_S},
    )
    thread.start()
    wait_until(lambda: json_of(daemons[1])["applications"])
    yield daemons
    stop.set()
    thread.join(WATCHDOG_S)
    assert not thread.is_alive()


def json_of(daemon: Daemon) -> dict[str, list[dict[str, int]]]:
    """The daemon's status without the application that requests it."""
    standing = host.status(daemon.socket)
    standing["applications"] = [one for one in standing["applications"] if one["listeners"]]
    return standing


def test_calls_are_answered(served: tuple[Daemon, Daemon]) -> None:
    here, there = served
    call = partial(host.call, stack=host.connect(here.socket), timeout_s=WATCHDOG_S)
    for body in (b"", b"abc", bytes(range(256)) * 2000):
        assert call(there.address, SERVICE, body, priority=3) == body[::-1]
    with pytest.raises(HostError, match="reset: the other application dropped the connection"):
        call(there.address, SERVICE, b"fail")
    with pytest.raises(HostError, match="refused: no application listens at the service"):
        call(there.address, SERVICE + 1, b"x")
    with pytest.raises(InputError, match="is no address with a port"):
        call("nowhere", SERVICE, b"x")


def test_one_connection_serves_and_calls(daemons: tuple[Daemon, Daemon]) -> None:
    here, there = daemons
    stack, stop = host.connect(there.socket), threading.Event()
    serving = threading.Thread(target=host.serve, args=(SERVICE, reverse), kwargs={"stack": stack, "stop": stop})
    serving.start()
    try:
        wait_until(lambda: json_of(there)["applications"])
        assert host.call(there.address, SERVICE, b"abc", stack=host.connect(here.socket)) == b"cba"
    finally:
        stop.set()
        serving.join()


def test_the_command_calls_and_shows(served: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]) -> None:
    here, there = served
    socket = ["--socket", str(here.socket)]
    assert status(["host", "call", there.address, str(SERVICE), "abc", "--timeout", str(WATCHDOG_S), *socket]) == 0
    assert capfd.readouterr().out == "cba"
    assert status(["host", "status", "--json", *socket]) == 0
    standing = json.loads(capfd.readouterr().out)
    assert standing["address"] == here.address
    assert standing["host"]["totals"]["opened"] == 1
    assert status(["host", "status", "--prometheus", *socket]) == 0
    families = {family.name: family for family in text_string_to_metric_families(capfd.readouterr().out)}
    assert [each.value for each in families["pullnet_host_opened"].samples] == [1]
    assert {each.labels["reason"] for each in families["pullnet_host_refused"].samples} >= {"malformed", "no_listener"}
    assert all(family.documentation and family.type in ("counter", "gauge") for family in families.values())
    assert status(["host", "status", *socket]) == 0
    shown = capfd.readouterr().out
    assert f"{here.address}  streams" in shown
    assert f"process {os.getpid()} of user {os.getuid()}: 0 streams, 0 listeners" in shown
    assert status(["host", "status", "--json", "--watch", *socket]) == 2


def test_watching_writes_to_a_pipe_every_second_and_ends_with_its_reader(served: tuple[Daemon, Daemon]) -> None:
    here, _ = served
    command = [sys.executable, "-m", "pullnet", "host", "status", "--watch", "--socket", str(here.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        seen = 0
        while seen < 2:
            line = watching.stdout.readline()
            assert line, watching.stderr.read()
            seen += line.startswith("out ")
        watching.stdout.close()
        assert "Traceback" not in watching.stderr.read()
        watching.wait(WATCHDOG_S)


def test_watching_shows_the_whole_address_of_an_ipv6_host(
    daemons: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", ctrl_c)
    standing = {**host.status(daemons[0].socket), "address": "[fd00::2]:61199"}
    _watch(lambda: standing)
    assert capfd.readouterr().out.startswith("[fd00::2]:61199  streams 0")


def test_ctrl_c_ends_a_call(daemons: tuple[Daemon, Daemon]) -> None:
    here, there = daemons
    service = host.connect(there.socket).listen(SERVICE)
    command = [sys.executable, "-m", "pullnet", "host", "call", there.address, str(SERVICE), "x", "--timeout", "3600"]
    calling = subprocess.Popen([*command, "--socket", str(here.socket)], stderr=subprocess.PIPE, text=True)
    request = service.accept(WATCHDOG_S)
    assert request is not None
    assert request.read(1, WATCHDOG_S) == b"x"
    calling.send_signal(signal.SIGINT)
    _, said = calling.communicate(timeout=WATCHDOG_S)
    assert (calling.returncode, "Traceback" in said) == (3, False)
    # The stream has been reset, not left open.
    wait_until(lambda: not host.status(here.socket)["host"]["streams"])


def test_ctrl_c_ends_a_server_with_its_streams(daemons: tuple[Daemon, Daemon]) -> None:
    here, there = daemons
    serves = f"host.serve({SERVICE}, bytes, socket=pathlib.Path({str(there.socket)!r}), timeout_s=3600)"
    command = [sys.executable, "-c", f"import pathlib; from pullnet import host; {serves}"]
    serving = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: json_of(there)["applications"])
        # A request that never ends.
        stream = _core.PolledStream.open(host.connect(here.socket), there.address, SERVICE, 0)
        assert stream.try_write(b"x", 0, False) == 1
        wait_until(lambda: json_of(there)["applications"][0]["streams"] == 1)
        serving.send_signal(signal.SIGINT)
        assert serving.wait(WATCHDOG_S) == -signal.SIGINT
    finally:
        serving.kill()
    with pytest.raises(HostError, match="reset: the other application dropped the connection"):
        wait_until(lambda: stream.try_read(1) is not None)


def test_a_request_that_is_dropped_unanswered_is_reset(daemons: tuple[Daemon, Daemon]) -> None:
    here, there = daemons
    service = host.connect(there.socket).listen(SERVICE)
    stream = _core.PolledStream.open(host.connect(here.socket), there.address, SERVICE, 0)
    assert stream.try_write(b"x", 0, True) == 1
    request = service.accept(WATCHDOG_S)
    assert request is not None
    del request
    with pytest.raises(HostError, match="reset: the other application dropped the connection"):
        wait_until(lambda: stream.try_read(1) is not None)


def test_ctrl_c_ends_the_wait_for_a_daemon_that_is_stopped(daemons: tuple[Daemon, Daemon]) -> None:
    here, there = daemons
    here.process.send_signal(signal.SIGSTOP)
    command = [sys.executable, "-m", "pullnet", "host", "call", there.address, str(SERVICE), "x"]
    calling = subprocess.Popen([*command, "--socket", str(here.socket)], stderr=subprocess.PIPE, text=True)
    try:
        # It has connected when the kernel shows a second end of the socket.
        wait_until(lambda: Path("/proc/net/unix").read_text().count(str(here.socket)) > 1)
        calling.send_signal(signal.SIGINT)
        # It would end by itself after a minute, with an error.
        _, said = calling.communicate(timeout=WATCHDOG_S)
        assert (calling.returncode, "does not answer" in said, "Traceback" in said) == (3, False, False)
    finally:
        here.process.send_signal(signal.SIGCONT)


def test_numbers_that_no_host_has_are_refused(
    daemons: tuple[Daemon, Daemon], capfd: pytest.CaptureFixture[str]
) -> None:
    here, there = daemons
    stack = host.connect(here.socket)
    for service in (-1, 65536, 1 << 80):
        with pytest.raises(InputError, match=rf"^service {service}: is out of range; use 0 to 65535"):
            host.call(there.address, service, b"x", stack=stack)
        with pytest.raises(ValueError, match=f"^service {service}: "):
            host.serve(service, reverse, stack=stack)
    with pytest.raises(InputError, match=r"^priority 256: is out of range; use 0 to 255"):
        host.call(there.address, SERVICE, b"x", priority=256, stack=stack)
    assert status(["host", "call", "127.0.0.1:0", str(SERVICE), "x", "--socket", str(here.socket)]) == 2
    assert "127.0.0.1:0: no host has port 0; use the other host's port from 1 to 65535" in capfd.readouterr().err


def test_without_a_daemon_there_is_a_plain_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "host.sock"
    assert status(["host", "status", "--socket", str(nowhere)]) == 3
    assert "there is no such socket; start pullnetd" in capfd.readouterr().err


def test_a_file_is_checked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "host.toml"
    config.write_text('backend = "udp"\naddress = "127.0.0.1"\nrate = "1 Gbps"\n')
    assert status(["host", "serve", "--check", str(config)]) == 0
    assert capfd.readouterr().out == "127.0.0.1:61199 at /run/pullnet/host.sock\n"
    config.write_text('backend = "udp"\naddress = "here"\n')
    assert status(["host", "serve", "--check", str(config)]) == 2
    errors = capfd.readouterr().err
    assert 'address: "here" is not an IP address' in errors
    assert "rate: is missing" in errors


def test_keys_that_others_may_read_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config, keys = tmp_path / "host.toml", tmp_path / "keys.toml"
    config.write_text('backend = "udp"\naddress = "127.0.0.1"\nrate = "1 Gbps"\n[keys]\nfile = "keys.toml"\n')
    keys.write_text(f'[[key]]\npeer = "127.0.0.2"\nnumber = 1\nsecret = "{bytes(range(32)).hex()}"\n')
    keys.chmod(0o644)
    assert status(["host", "serve", "--check", str(config)]) == 2
    assert "its mode 0644 lets others at the keys; use chmod 600" in capfd.readouterr().err
    keys.chmod(0o600)
    assert status(["host", "serve", "--check", str(config)]) == 0


def test_the_status_says_who_is_encrypted() -> None:
    from rich.console import Console

    from pullnet.cli.host import _shown

    counts = dict.fromkeys(("acknowledged_bytes", "received_bytes", "trimmed_out", "trimmed_in", "timeouts"), 0)
    stream = {"peer": "10.0.0.2:61199", "service": 7, "state": "open", "encrypted": True, "counts": counts}
    totals = {"counts": counts, "refused": {"foreign": 5, "malformed": 2, "full": 1}} | dict.fromkeys(
        ("streams", "opened", "incoming", "failed"), 0
    )
    keys = [
        {"peer": "10.0.0.2:61199", "sends": 1, "newest": 2, "theirs": 1},
        {"peer": "10.0.0.3:61199", "sends": None, "newest": 1, "theirs": None},
    ]
    standing = {
        "address": "10.0.0.1:61199",
        "applications": [],
        "host": {"totals": totals, "streams": [stream, stream | {"encrypted": False}], "keys": keys},
    }
    console = Console(width=160, file=io.StringIO(), record=True)
    console.print(_shown(standing, None, 0.0))
    text = console.export_text()
    assert text.splitlines()[0].endswith("  refused 3")
    assert "encrypted with 10.0.0.2:61199: sends under key 1; newest key 2 here, has key 1 there" in text
    assert "encrypted with 10.0.0.3:61199: nothing sent yet; newest key 1 here, not heard of yet" in text
    assert [line.split()[3] for line in text.splitlines()[-2:]] == ["yes", "no"]
