"""Warnings: in `check`, in a run's summary and in Python, each with a name and a way to silence it."""

import json
import tomllib
import warnings
from pathlib import Path

import pytest

import pullnet
from pullnet import PullnetWarning, catalogue, run
from pullnet.runs import cost

from .conftest import SMALL, Pullnet, summary_of

OVERLOADED = SMALL.replace('until = "all flows done"\nlimit = "100 ms"', 'duration = "2 ms"').replace(
    'kind = "permutation"\nsize = "90 kB"',
    'kind = "poisson"\nload = 1.5\nsizes = { fixed = "900 kB" }',
)
LOAD = (
    "small.toml:19:8: traffic.0.load: 1.5 offers more than the senders' links carry: queues grow until the run ends "
    "and completion times depend on its length; use less than 1 [load_above_one]"
)


@pytest.fixture
def overloaded(tmp_path: Path) -> Path:
    """A scenario whose flows cannot all be carried."""
    path = tmp_path / "small.toml"
    path.write_text(OVERLOADED)
    return path


def test_check_warns_and_succeeds(pullnet: Pullnet, overloaded: Path) -> None:
    done = pullnet("check", "small.toml")
    assert (done.returncode, done.stderr) == (0, f"warning: {LOAD}\n")
    (found,) = json.loads(pullnet("check", "small.toml", "--json").stdout)
    assert [(each["name"], each["setting"]) for each in found["warnings"]] == [("load_above_one", "traffic.0.load")]


@pytest.mark.parametrize(
    "silence", [["--silence", "load_above_one"], ["--set", "warnings.load_above_one=false"]], ids=["option", "setting"]
)
def test_a_warning_can_be_silenced(pullnet: Pullnet, overloaded: Path, silence: list[str]) -> None:
    assert pullnet("check", "small.toml", *silence).stderr == ""


def test_a_run_keeps_its_warnings(pullnet: Pullnet, overloaded: Path, tmp_path: Path) -> None:
    done = pullnet("run", "small.toml", "--out", "out")
    assert f"warning: {LOAD}" in done.stdout.splitlines()
    unfinished, load = summary_of(tmp_path / "out")["warnings"]
    assert (unfinished["name"], load["name"]) == ("unfinished_flows", "load_above_one")
    flows = summary_of(tmp_path / "out")["flows"]
    assert unfinished["message"].startswith(f"{flows['unfinished']} of {flows['started']} flows were unfinished")
    silenced = pullnet(
        "run", "small.toml", "-o", "quiet", "--silence", "unfinished_flows", "--silence", "load_above_one"
    )
    assert "warning" not in silenced.stdout
    assert summary_of(tmp_path / "quiet")["warnings"] == []


def test_python_gives_warnings(overloaded: Path) -> None:
    with pytest.warns(pullnet.PullnetWarning, match="load_above_one"):
        result = pullnet.run(overloaded)
    assert [warning.name for warning in result.summary.warnings] == ["unfinished_flows", "load_above_one"]
    assert "load_above_one" in result._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pullnet.run(overloaded, silence=("unfinished_flows", "load_above_one"))
    assert [warning.name for warning in pullnet.check(overloaded).warnings] == ["load_above_one"]
    assert pullnet.check(overloaded, silence="load_above_one").warnings == []


def test_an_unknown_name_is_refused(pullnet: Pullnet, small: Path) -> None:
    done = pullnet("check", "small.toml", "--silence", "noise")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --silence: there is no warning `noise`; use one of unfinished_flows, ")
    listed = [line.split()[0] for line in pullnet("list", "warnings").stdout.splitlines()]
    assert listed == list(catalogue("warnings"))


def test_memory_that_will_not_suffice_is_named_before_the_run(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pullnet.runs.scenario.available_bytes", lambda: 1_000_000)
    (found,) = pullnet.check(small).warnings
    assert (found.name, found.place) == ("memory", str(small))
    assert "0.0 GB are free" in found.message


def test_free_memory_is_what_the_system_says() -> None:
    free = cost.available_bytes()
    assert free is not None
    assert 10_000_000 < free < 2**50


def test_settings_that_change_nothing_are_named(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    assert "warning" not in pullnet("run", "small.toml").stdout
    same = pullnet("run", "small.toml", "--set", "transport.give_up=6 s")
    assert "warning: transport.give_up: results/small-3 has the same fingerprint" in same.stdout
    (folder,) = (tmp_path / "results").glob("small-3-*")
    assert [each["name"] for each in summary_of(folder)["warnings"]] == ["unchanged_result"]
    quiet = pullnet("run", "small.toml", "--set", "transport.give_up=7 s", "--silence", "unchanged_result")
    assert (quiet.returncode, "warning" in quiet.stdout) == (0, False)
    assert "unchanged" not in pullnet("run", "small.toml", "--set", "switch.data_queue=4 packets").stdout
    probe = pullnet("run", "small.toml", "--set", "probes.packets=true")
    assert "warning" not in probe.stdout, "no probe is meant to change anything"


def test_jobs_whose_settings_change_nothing_are_named(small: Path) -> None:
    jobs = [pullnet.Job(small), pullnet.Job(small, {"transport.give_up": "6 s"}), pullnet.Job(small, seed=4)]
    with pytest.warns(pullnet.PullnetWarning, match=r"transport\.give_up: an earlier job has the same fingerprint"):
        pullnet.run_many(jobs, workers=1)


def test_flows_of_a_list_that_start_after_the_end_are_named(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("src,dst,bytes,start\n0,1,9000,0 s\n1,2,9000,1 ms\n2,3,9000,3 ms\n")
    path = written(
        tmp_path / "late.toml",
        {"until": None, "limit": None, "duration": "1 ms", "traffic": [{"kind": "flows", "file": "list.csv"}]},
    )
    message = '2 flows are left out, the first at "1 ms", since the run ends at "1 ms"; use a duration above "3 ms"'
    with pytest.warns(PullnetWarning, match="late_flows"):
        result = run(path)
    assert [(each.name, each.setting, each.message) for each in result.summary.warnings] == [
        ("late_flows", "traffic.0.file", message)
    ]
    assert result.flows.height == 1
    assert f"{message} [late_flows]" in pullnet("check", "late.toml").stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(path, set={"duration": "4 ms"}).flows.height == 3


# Settings of the small scenario that deserve one warning each, and the setting that it names.
ENDS_EARLY: dict[str, object] = {"until": None, "limit": None, "duration": "60 us"}
CAUSES: dict[str, tuple[dict[str, object], str]] = {
    "unfinished_flows": (ENDS_EARLY, ""),
    "no_flows": ({"traffic": [{"kind": "poisson", "load": 0.1, "sizes": {"fixed": "1 GB"}}], **ENDS_EARLY}, ""),
    "empty_window": ({"measure": {"from": "90 ms"}}, "measure.from"),
    "timeout_below_round_trip": ({"transport.timeout": "10 us"}, "transport.timeout"),
    "header_above_payload": (
        {"transport.mtu": "100 B", "transport.header": "101 B", "switch.trim_to": "101 B"},
        "transport.header",
    ),
    "shallow_trim": ({"transport.mtu": "300 B", "switch.trim_to": "200 B"}, "switch.trim_to"),
    "small_control_queue": ({"switch.control_queue": "9 packets"}, "switch.control_queue"),
    "small_headroom": ({"switch": {"kind": "pfc", "headroom": "1 kB"}}, "switch.headroom"),
    "endless_pause": (
        {"switch": {"kind": "pfc", "quanta": 0}, "fault": [{"place": "all links", "corrupt": 0.01}]},
        "switch.quanta",
    ),
    "short_pause": ({"switch": {"kind": "pfc", "quanta": 1}}, "switch.quanta"),
    "unknown_flow": ({"probes": {"hops": {"flows": "0,99"}}}, "probes.hops.flows"),
    "ack_delay_above_timeout": (
        {"transport": {"kind": "tcp", "min_rto": "10 ms"}, "switch": {"kind": "drop-tail"}},
        "transport.ack_delay",
    ),
    "min_rate_at_link_rate": (
        {"transport": {"kind": "timely", "min_rate": "400 Gbps"}, "switch": {"kind": "pfc"}},
        "transport.min_rate",
    ),
    "missing_support": ({"transport.kind": "dctcp", "switch.kind": "drop-tail"}, "switch.kind"),
    "unused_setting": (
        {"topology": {"kind": "star", "hosts": 16}, "switch.forwarding": "ecmp"},
        "switch.forwarding",
    ),
}
ELSEWHERE = {"load_above_one", "late_flows", "deadlock", "memory", "unchanged_result"}
"""Names that have tests of their own: their causes are no single setting."""
AFTER_THE_RUN = {"unfinished_flows", "no_flows", "empty_window", "unknown_flow", "deadlock", "unchanged_result"}


def test_every_warning_has_a_cause_here() -> None:
    assert set(catalogue("warnings")) == {*CAUSES, *ELSEWHERE}


def written(path: Path, settings: dict[str, object]) -> Path:
    """The small scenario with other settings; `None` leaves one out."""
    document = tomllib.loads(SMALL)
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        inside = document[table] if table else document
        if name == "kind":
            inside.clear()
        if value is None:
            del inside[name]
        else:
            inside[name] = value
    path.write_text(dumps(document))
    return path


def dumps(document: dict[str, object]) -> str:
    """TOML of tables and lists of tables, whose values are inline."""
    return "".join(f"{key} = {inline(value)}\n" for key, value in document.items())


def inline(value: object) -> str:
    """A TOML value on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


@pytest.mark.parametrize("name", CAUSES)
def test_each_is_in_check_summary_and_python_until_it_is_silenced(name: str, pullnet: Pullnet, tmp_path: Path) -> None:
    settings, setting = CAUSES[name]
    path = written(tmp_path / "warned.toml", settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(path)
    found = {notice.name: notice for notice in result.summary.warnings}
    assert found[name].setting == setting
    assert found[name].message
    assert [str(found[name])] == [str(each.message) for each in caught if f"[{name}]" in str(each.message)]
    assert name in [each["name"] for each in json.loads(result.summary_json)["warnings"]]
    checked = pullnet("check", "warned.toml")
    assert checked.returncode == 0
    assert (f"[{name}]" in checked.stderr) == (name not in AFTER_THE_RUN), checked.stderr
    done = pullnet("run", "warned.toml", "-o", "out")
    assert f"[{name}]" in done.stdout
    assert f"[{name}]" not in pullnet("check", "warned.toml", "--silence", name).stderr
    silenced = run(path, silence=[name])
    assert name not in [notice.name for notice in silenced.summary.warnings]
    assert silenced.summary.fingerprint == result.summary.fingerprint


RING = "".join(f"{n} {n + 5} 10Gbps 1us 0\n{n + 5} {(n + 1) % 5 + 5} 10Gbps 1us 0\n" for n in range(5))
DEADLOCK = """
duration = "5 ms"
topology = { kind = "file", file = "net.txt" }
transport = { kind = "roce" }
switch = { kind = "pfc", buffer = "200 kB", headroom = "20 kB" }
traffic = [{ kind = "matrix", file = "flows" }]
"""


def test_a_deadlock_is_in_summary_and_python_until_it_is_silenced(pullnet: Pullnet, tmp_path: Path) -> None:
    """Five switches in a ring; each flow crosses two of its links."""
    (tmp_path / "net.txt").write_text(f"10 5 10\n5 6 7 8 9\n{RING}")
    flows = "".join(f"{n} {(n + 2) % 5} 3 100 1000000000 0\n" for n in range(5))
    (tmp_path / "flows").write_text(f"5\n{flows}")
    path = tmp_path / "ring.toml"
    path.write_text(DEADLOCK)
    with pytest.warns(PullnetWarning, match=r"\[deadlock\]"):
        result = run(path)
    assert "deadlock" in [notice.name for notice in result.summary.warnings]
    assert "[deadlock]" in pullnet("run", "ring.toml", "-o", "out").stdout
    assert "[deadlock]" not in pullnet("run", "ring.toml", "-o", "quiet", "--silence", "deadlock").stdout
