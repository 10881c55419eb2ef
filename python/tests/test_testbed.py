"""Testbeds: what is made, what is removed, and what is left alone. Namespaces need root."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pullnet import _core, load
from pullnet.errors import InputError
from pullnet.runs.runner import Interruption
from pullnet.testbed import bed as beds
from pullnet.testbed import compare, kernel, state
from pullnet.testbed.pair import pair
from pullnet.testbed.plan import checked, slug

from .conftest import WATCHDOG_S

ROOT = Path(__file__).parents[2]
PAIR = ROOT / "scenarios/testbed/back-to-back.toml"
STAR = ROOT / "scenarios/testbed/star-drop-tail.toml"
SMALL = ["--set", "topology.hosts=3", "--set", "traffic.0.degree=2"]
PATIENT = ["--set", "transport.give_up=100 s"]
"""A switch or a host that the machine has no time for is not given up."""
NAME = f"switch-test-{os.getpid()}"


def can_make_namespaces() -> bool:
    probe = f"pn-switch-probe-{os.getpid()}"
    try:
        kernel.require()
        kernel.add(probe)
        kernel.delete(probe)
    except InputError:
        return False
    return True


needs_namespaces = pytest.mark.skipif(not can_make_namespaces(), reason="network namespaces need root and ip")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Testbeds of a test are written down in its own folder, and are gone after it."""
    monkeypatch.setenv("PULLNET_STATE", str(tmp_path / "state"))
    yield
    for name in state.names():
        beds.down(None, name)


def pullnet(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "pullnet"]
    return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False, timeout=WATCHDOG_S)


def ours() -> list[str]:
    listed = json.loads(kernel.ip(["-json", "netns", "list"]) or "[]")
    return sorted(row["name"] for row in listed if row["name"].startswith(f"pn-{NAME}-"))


@needs_namespaces
def test_a_testbed_carries_packets_and_leaves_nothing_behind() -> None:
    up = pullnet("testbed", "up", str(STAR), "--name", NAME, *SMALL, "--json")
    assert up.returncode == 0, up.stderr
    made = json.loads(up.stdout)
    assert ours() == sorted([f"pn-{NAME}-switch", *(f"pn-{NAME}-h{n}" for n in range(3))])
    again = pullnet("testbed", "up", str(STAR), "--name", NAME, *SMALL, "--json")
    assert (again.returncode, json.loads(again.stdout)) == (0, made)

    script = (
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', (sys.argv[1], 9))"
    )
    for _ in range(2):
        ran = pullnet(
            "testbed", "run", str(STAR), "--name", NAME, *SMALL, "h2", "--", sys.executable, "-c", script, "10.77.0.1"
        )
        assert ran.returncode == 0, ran.stderr
    counted = ports(made["control"])
    assert counted["h2"]["if_in_ucast_pkts"] >= 2
    assert counted["h0"]["if_out_ucast_pkts"] >= 2

    down = pullnet("testbed", "down", str(STAR), "--name", NAME)
    assert down.returncode == 0, down.stderr
    assert ours() == []
    twice = pullnet("testbed", "down", str(STAR), "--name", NAME)
    assert twice.returncode == 2
    assert "no testbed of this name was made by pullnet here" in twice.stderr


def ports(control: str) -> dict[str, dict[str, Any]]:
    status = pullnet("tell", control, "status", "--json")
    assert status.returncode == 0, status.stderr
    return {port["name"]: port["counters"] for port in json.loads(status.stdout)["ports"]}


@needs_namespaces
def test_a_running_switch_is_told_what_goes_wrong() -> None:
    bed = beds.up(beds.read(PAIR, NAME), core=None)
    control = str(bed.control)
    assert pullnet("tell", control, "fault", 'port="h0"; down=true').returncode == 0
    assert pullnet("tell", control, "clear", "h0").returncode == 0
    for request, said in (
        (["fault", 'port="nobody"; down=true'], "is no port"),
        (["fault", 'port="h0"'], "does not say what goes wrong"),
        (["clear", "nobody"], "is no port"),
        (["fault"], "say what"),
    ):
        told = pullnet("tell", control, *request)
        assert (told.returncode, said in told.stderr) == (2, True), told.stderr
    assert bed.control.stat().st_mode & 0o777 == 0o600
    beds.down(PAIR, NAME)
    assert pullnet("tell", control, "status").returncode == 2


@needs_namespaces
def test_namespaces_of_others_are_not_touched() -> None:
    foreign = f"pn-{NAME}-h1"
    kernel.add(foreign)
    try:
        up = pullnet("testbed", "up", str(PAIR), "--name", NAME)
        assert up.returncode == 2
        assert f"{foreign}: there already, and not made by this testbed" in up.stderr
        assert ours() == [foreign]
    finally:
        kernel.delete(foreign)


@needs_namespaces
def test_a_namespace_that_was_made_anew_since_is_not_removed() -> None:
    beds.up(beds.read(PAIR, NAME), core=None)
    other = f"pn-{NAME}-h0"
    kernel.delete(other)
    kernel.add(other)
    with pytest.raises(InputError, match="was replaced by another process since"):
        beds.down(PAIR, NAME)
    assert ours() == [other]
    kernel.delete(other)
    assert beds.down(PAIR, NAME) == []


@needs_namespaces
def test_what_cannot_be_completed_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(beds, "_switch", fail)
    with pytest.raises(KeyboardInterrupt):
        beds.up(beds.read(PAIR, NAME))
    assert (ours(), state.names()) == ([], [])


@needs_namespaces
def test_what_a_killed_command_has_left_is_undone_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = beds.read(PAIR, NAME)
    child = os.fork()
    if child == 0:
        # Killed in the middle: nothing of it can tidy up.
        monkeypatch.setattr(beds, "_links", lambda _: os.kill(os.getpid(), 9))
        beds.up(plan)
    os.waitpid(child, 0)
    assert len(ours()) == 3
    beds.up(plan, core=None)
    assert len(ours()) == 3
    beds.down(PAIR, NAME)
    assert ours() == []


@needs_namespaces
def test_other_settings_need_another_testbed() -> None:
    beds.up(beds.read(PAIR, NAME), core=None)
    with pytest.raises(InputError, match="is up with other settings"):
        beds.up(beds.read(PAIR, NAME, mtu=9000), core=None)
    with pytest.raises(InputError, match="was made for"):
        beds.down(STAR, NAME)


def test_names_are_fit_for_namespaces() -> None:
    assert slug("7:1 Incast, 1 Gb/s!") == "7-1-incast-1-gb-s"
    assert slug("---") == "testbed"
    for wrong in ("", "-a", "A", "a/b", "a" * 25):
        with pytest.raises(InputError, match="use 1 to 24"):
            checked(wrong)


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may do it")
def test_without_privilege_it_says_what_is_missing() -> None:
    up = pullnet("testbed", "up", str(PAIR), "--name", NAME)
    assert up.returncode == 2
    assert "a testbed needs root" in up.stderr


@needs_namespaces
def test_a_scenario_is_played_with_the_results_of_a_run(tmp_path: Path) -> None:
    incast = ROOT / "scenarios/testbed/star.toml"
    few = [*SMALL, *PATIENT, "--set", "traffic.0.size=20 kB", "--set", "probes.packets=true"]
    played = pullnet("testbed", "play", str(incast), "--name", NAME, *few, "--out", str(tmp_path / "linux"), "--json")
    assert played.returncode == 0, played.stderr
    [summary] = json.loads(played.stdout)
    assert (summary["world"], summary["flows"]["completed"], summary["fingerprint"]) == ("linux", 2, "0" * 16)
    result = load(tmp_path / "linux")
    assert result.flows["delivered_bytes"].to_list() == [20_000, 20_000]
    # Frames are sent, then counted by the switch, then received; the last ones may still be in flight.
    sent, arrived = (result.packets.filter(pl.col("direction") == way).height for way in ("sent", "received"))
    counted = result.ports.filter(pl.col("port").is_null())["packets"].sum()
    assert arrived <= counted <= sent
    assert result.ports.filter(pl.col("port") == 0)["data_packets"].item() >= 28
    assert ours() == []


@needs_namespaces
def test_rounds_are_played_one_after_the_other(tmp_path: Path) -> None:
    arguments = ["--name", NAME, *PATIENT, "--rounds", "3", "--out", str(tmp_path / "rounds")]
    played = pullnet("testbed", "play", str(PAIR), *arguments)
    assert played.returncode == 0, played.stderr
    assert "last flow: median" in played.stdout
    assert all(load(tmp_path / "rounds" / f"round-{number}").summary.complete for number in (1, 2, 3))


def test_ctrl_c_in_the_simulation_leaves_the_testbed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, interruption: Interruption, **__: Any) -> None:
        interruption.asked = True

    monkeypatch.setattr(compare, "execute", interrupted)
    monkeypatch.setattr(compare, "play", lambda *_, **__: pytest.fail("played"))
    nothing: Any = None
    with pytest.raises(KeyboardInterrupt):
        compare.compare(nothing, nothing, nothing)


@needs_namespaces
def test_both_worlds_are_compared() -> None:
    arguments = ["testbed", "compare", str(PAIR), "--name", NAME, *PATIENT, "--set", "traffic.0.size=100 kB"]
    compared = pullnet(*arguments, "--json")
    assert compared.returncode == 0, compared.stderr
    found = json.loads(compared.stdout)
    assert found["quantities"]["flows completed"] == {"simulator": 1, "linux": 1, "ratio": 1.0}
    assert found["quantities"]["completion time, last"]["ratio"] > 0.9
    assert found["packets"]["sequences"] == 4
    shown = pullnet(*arguments)
    assert "completion time, last, us" in shown.stdout


@needs_namespaces
@pytest.mark.parametrize("carrier", ["ndp", "tcp", "fast-open", "mptcp"])
@pytest.mark.parametrize("spin", [True, False])
def test_calls_are_timed_one_by_one(carrier: str, spin: bool) -> None:
    with pair(f"switch-pair-{os.getpid()}") as hosts:
        one, other = ((host.namespace, host.ip, core) for core, host in enumerate(hosts))
        times, cpu = _core.calls(carrier, (one, other), 30, 5, 1000, "reno", spin)
    assert len(times) == 30
    assert min(times) > 0
    assert cpu > 0
    assert state.names() == []
