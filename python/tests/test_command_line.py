"""The command as shells, pipes and terminals see it: outputs, places, completion, help, pages for man."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from typer.main import get_command

from pullnet.cli.app import app
from pullnet.cli.console import Output
from pullnet.cli.manual import commands
from pullnet.cli.terminal import TerminalProgress

from .conftest import COMMAND, LONG, WATCHDOG_S, Pullnet, summary_of, wait_until


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, `pullnet` being the command."""
    text = f'set -o pipefail\npullnet() {{ {COMMAND} "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
        env={**os.environ, **variables},
    )


def test_a_reader_that_goes_away_is_no_fault(small: Path, tmp_path: Path) -> None:
    done = shell("pullnet run small.toml | head -1; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout.splitlines() == ["Small, seed 3", "0"]
    assert done.stderr == ""
    assert summary_of(tmp_path / "results" / "small-3")["complete"]
    none = shell("pullnet list protocols | true; echo ${PIPESTATUS[0]}", tmp_path)
    assert (none.stdout, none.stderr) == ("0\n", "")


def test_standard_input_is_a_scenario(small: Path, tmp_path: Path) -> None:
    done = shell("sed s/Small/Piped/ small.toml | pullnet run - -o out --jsonl", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["scenario"] == "Piped"
    wrong = shell("sed 's/k = 4/k = 5/' small.toml | pullnet check -", tmp_path)
    assert (
        wrong.stderr == "error: standard input:9:5: topology.k: 5 is not possible; use an even number from 2 to 128\n"
    )


def test_json_is_a_list_and_lines_are_single(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    one = json.loads(pullnet("run", "small.toml", "--json", "-o", "one").stdout)
    assert [each["scenario"] for each in one] == ["Small"]
    (tmp_path / "other.toml").write_text(small.read_text().replace('"Small"', '"Other"'))
    lines = pullnet("run", "small.toml", "other.toml", "--jsonl", "-o", "two").stdout.splitlines()
    assert [json.loads(line)["scenario"] for line in lines] == ["Small", "Other"]
    checked = pullnet("check", "small.toml", "other.toml", "--jsonl").stdout.splitlines()
    assert [json.loads(line)["name"] for line in checked] == ["Small", "Other"]


def test_kept_results_are_shown_as_their_runs_showed_them(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    ran = pullnet("run", small, "-o", tmp_path / "a")
    shown = pullnet("show", tmp_path / "a")
    assert (shown.returncode, shown.stdout) == (0, ran.stdout)
    both = pullnet("show", tmp_path / "a", tmp_path / "a", "--json")
    assert json.loads(both.stdout) == 2 * [json.loads((tmp_path / "a" / "summary.json").read_text())]
    wrong = pullnet("show", tmp_path)
    assert wrong.returncode == 2
    assert f"name {tmp_path / 'a'}" in wrong.stderr


def test_variants_have_places_of_their_own(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    for arguments in ([], ["--set", "switch.data_queue=4 packets"], ["--set", "switch.data_queue=5 packets"]):
        assert pullnet("run", "small.toml", *arguments).returncode == 0
    names = sorted(folder.name for folder in (tmp_path / "results").iterdir())
    assert len(names) == 3
    assert names[0] == "small-3"
    assert all(re.fullmatch(r"small-3-[0-9a-f]{8}", name) for name in names[1:])
    again = pullnet("run", "small.toml", "--set", "switch.data_queue=4 packets")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


def test_a_link_to_a_result_stays_a_link(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    assert pullnet("run", "small.toml", "--out", "elsewhere/real").returncode == 0
    (tmp_path / "link").symlink_to("elsewhere/real")
    assert pullnet("run", "small.toml", "--seed", "9", "--out", "link", "--force").returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert summary_of(tmp_path / "elsewhere" / "real")["seed"] == 9
    (tmp_path / "dangling").symlink_to("nowhere")
    refused = pullnet("run", "small.toml", "--out", "dangling", "--force")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: dangling: is a symbolic link to nothing; remove it")


def test_what_a_killed_run_has_left_is_named(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    process = subprocess.Popen([str(COMMAND), "run", "long.toml", "--out", "out", "--quiet"], cwd=tmp_path)
    wait_until(lambda: list(tmp_path.glob(".out.unfinished*")))
    process.send_signal(signal.SIGKILL)
    process.wait(WATCHDOG_S)
    (left,) = tmp_path.glob(".out.unfinished*")
    done = pullnet("run", "small.toml", "--out", "other")
    assert done.stderr == f"note: {left.name} is what a run has left that was killed; remove it\n"
    shutil.rmtree(left)
    assert pullnet("run", "small.toml", "--out", "third").stderr == ""


def test_a_file_name_with_a_newline_runs_again(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    (tmp_path / "two\nlines.toml").write_text(small.read_text())
    assert pullnet("run", "two\nlines.toml", "--out", "first").returncode == 0
    again = pullnet("run", "first/scenario.toml", "--out", "second")
    assert (again.returncode, again.stderr) == (0, "")
    assert summary_of(tmp_path / "second")["fingerprint"] == summary_of(tmp_path / "first")["fingerprint"]


ENDLESS = {
    "a device as scenario": (["check", "/dev/zero"], "error: /dev/zero: is a device and has no end; name a file\n"),
    "too many seeds": (
        ["reproduce", "ndp", "--smoke", "--seeds", "1..99999999999"],
        "error: --seeds 1..99999999999: names 99999999999 seeds; use at most 100000\n",
    ),
    "seeds beyond any length": (
        ["reproduce", "ndp", "--smoke", "--seeds", "1..99999999999999999999999"],
        "error: --seeds 1..99999999999999999999999: names 99999999999999999999999 seeds; use at most 100000\n",
    ),
    "a seed that is too large": (
        ["reproduce", "ndp", "--smoke", "--seeds", "9223372036854775808"],
        "error: --seeds 9223372036854775808: 9223372036854775808 is too large; use seeds up to 9223372036854775807\n",
    ),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_has_no_end_is_refused_at_once(pullnet: Pullnet, case: str) -> None:
    arguments, message = ENDLESS[case]
    done = pullnet(*arguments, timeout=60)
    assert (done.returncode, done.stderr) == (2, message)


def test_a_device_is_no_list_of_flows(pullnet: Pullnet, small: Path, tmp_path: Path) -> None:
    setting = 'traffic.0={ kind = "flows", file = "/dev/zero" }'
    done = pullnet("check", "small.toml", "--set", setting, timeout=60)
    assert done.returncode == 2
    assert '"/dev/zero" cannot be used: it is a device and has no end; name a file' in done.stderr


def test_endless_standard_input_is_refused(tmp_path: Path) -> None:
    done = shell("yes '# nothing' | pullnet check -; echo ${PIPESTATUS[1]}", tmp_path)
    assert done.stdout == "2\n"
    assert done.stderr.startswith("error: standard input: is larger than 64 MiB")


@pytest.mark.parametrize("columns", ["20", "60", "200"])
def test_nothing_is_cut_in_a_pipe(small: Path, tmp_path: Path, columns: str) -> None:
    done = shell("pullnet run small.toml; pullnet list traffic", tmp_path, COLUMNS=columns)
    assert "…" not in done.stdout
    assert re.search(
        r"^ *FCT in us +completed +unfinished +mean +p50 +p90 +p99 +max +slowdown p50 +p99", done.stdout, re.M
    )
    assert "background load whose volume in each interval follows a law or a file" in done.stdout


def test_a_sentence_in_a_pipe_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    pipe = io.StringIO()
    sentence = "a sentence of more than twenty characters that goes on"
    Output(file=pipe).print(sentence, highlight=False)
    assert pipe.getvalue() == sentence + "\n"


def test_a_narrow_terminal_breaks_lines_and_cuts_nothing() -> None:
    console = Output(width=40, force_terminal=True, file=io.StringIO())
    table = Table("name", "what it is")
    table.add_row("volume-model", "background load whose volume in each interval follows a law")
    console.print(table)
    console.print("a sentence of more than forty characters that goes on", highlight=False)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "background load whose volume in each interval follows a law" in text
    assert "…" not in text
    assert console.width == 40


@pytest.mark.parametrize("width", [60, 80, 130, 200])
def test_the_progress_of_a_run_fits_its_terminal(width: int) -> None:
    class Progress:
        now_ps, end_ps, started, done, failed, packet_hops, ended = (
            3_200_000_000,
            20_000_000_000,
            900,
            400,
            69,
            9**9,
            False,
        )

    console = Console(width=width, force_terminal=True, file=io.StringIO(), color_system=None)
    with TerminalProgress("NDP, 432-host permutation", console) as progress:
        shown: Any = Progress()
        progress.update(shown, shown)
        progress._bar.refresh()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", console.file.getvalue())  # type: ignore[attr-defined]
    assert "…" not in text
    joined = re.sub(r"\s+", " ", text)
    for part in ("NDP, 432-host permutation", "3.20 of 20 ms", "ETA", "431 flows open", "69 failed"):
        assert part in joined, part


def help_of(words: list[str], pullnet: Pullnet) -> str:
    done = pullnet(*words, "-h")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_short_options_work(pullnet: Pullnet) -> None:
    assert pullnet("-V").stdout == pullnet("--version").stdout
    assert help_of([], pullnet) == pullnet("--help").stdout
    assert "-o, --out" in help_of(["run"], pullnet)
    for words in (["traffic", "fit"], ["testbed", "play"], ["reproduce"]):
        assert help_of(words, pullnet).startswith("Usage: pullnet")


def test_help_has_examples_and_exit_codes(pullnet: Pullnet) -> None:
    text = help_of(["run"], pullnet)
    assert "\n    pullnet run scenarios/incast.toml -o results/incast\n" in text
    assert re.search(r"Exit codes:\n +0 +done\n +1 +a fault in pullnet", text)
    assert "Exit codes:" in help_of([], pullnet)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(pullnet: Pullnet, tmp_path: Path, name: str) -> None:
    script = pullnet("completion", name).stdout
    assert "_PULLNET_COMPLETE" in script
    if program := shutil.which(name):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([program, "-n", "script"], cwd=tmp_path, check=False).returncode == 0
    asked = {"_PULLNET_COMPLETE": f"complete_{name}"}
    asked |= {"COMP_WORDS": "pullnet ru", "COMP_CWORD": "1"} if name == "bash" else {}
    asked |= {"_TYPER_COMPLETE_ARGS": "pullnet ru", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert re.search(r"\brun\b", shell("pullnet", tmp_path, **asked).stdout)
    asked |= {"COMP_WORDS": "pullnet run --jso", "COMP_CWORD": "2"} if name == "bash" else {}
    asked |= {"_TYPER_COMPLETE_ARGS": "pullnet run --jso"}
    assert "--jsonl" in shell("pullnet", tmp_path, **asked).stdout


def test_every_command_has_a_page_for_man(pullnet: Pullnet, tmp_path: Path) -> None:
    done = pullnet("manual", "man1")
    assert done.returncode == 0, done.stderr
    names = {"-".join(words) for words, _ in commands(get_command(app), ("pullnet",))}
    assert {path.stem for path in (tmp_path / "man1").iterdir()} == names
    assert {"pullnet", "pullnet-run", "pullnet-traffic-fit", "pullnet-testbed-play"} <= names
    run = (tmp_path / "man1" / "pullnet-run.1").read_text()
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT CODES"):
        assert f".SH {section}\n" in run, section
    assert r".B \-o, \-\-out DIR" in run
    if man := shutil.which("groff"):
        for page in (tmp_path / "man1").iterdir():
            made = subprocess.run([man, "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=False)
            assert (made.returncode, made.stderr) == (0, ""), page.name


def test_a_place_where_no_pages_can_be_written_is_named(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = pullnet("manual", "taken")
    assert (done.returncode, done.stderr) == (2, "error: taken: cannot be written: File exists; choose another place\n")


def test_a_number_that_is_none_is_told_in_plain_words(pullnet: Pullnet, small: Path) -> None:
    for option, value in (("--seed", "abc"), ("--threads", "1.5")):
        done = pullnet("run", str(small), option, value)
        assert done.returncode == 2
        assert f"{value!r} is not a valid whole number." in done.stderr
    assert "int range" not in pullnet("run", "--help").stdout


def test_a_misspelt_command_on_traffic_names_the_nearest(pullnet: Pullnet) -> None:
    done = pullnet("traffic", "synthesize")
    assert (done.returncode, "No such command 'synthesize'. Did you mean 'synthesise'?" in done.stderr) == (2, True)


def test_commands_on_traffic_name_types_in_plain_words(pullnet: Pullnet) -> None:
    done = pullnet("traffic", "fit", "trace.csv", "--seed", "abc")
    assert (done.returncode, "'abc' is not a valid whole number." in done.stderr) == (2, True)
    assert "--seed <whole number>" in help_of(["traffic", "fit"], pullnet)
