"""Completion in the shells themselves, as docs/how-to/shell.md sets it up."""

import importlib
import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import pullnet as api

from .conftest import COMMAND, WATCHDOG_S

CASES = [
    ("pullnet ru", "run"),
    ("pullnet traffic bi", "bill"),
    ("pullnet run --thr", "--threads"),
    ("pullnet completion fi", "fish"),
    ("pullnet run own-sc", "own-scenario.toml"),
    ("pullnet reproduce ph", "phost"),
    ("pullnet reproduce ndp/prop", "ndp/properties"),
    ("pullnet run own-scenario.toml --set transport.kind=nd", "transport.kind=ndp"),
    ("pullnet run own-scenario.toml --set switch.kind=drop", "switch.kind=drop-tail"),
    ("pullnet sweep own-scenario.toml --set transport.0.recovery=s", "transport.0.recovery=selective"),
    ("pullnet sweep own-scenario.toml --over transport.kind=nd", "transport.kind=ndp"),
    ("pullnet sweep own-scenario.toml --over transport.kind=tcp,nd", "transport.kind=tcp,ndp"),
    ("pullnet check own-scenario.toml --set warnings.memory=f", "warnings.memory=false"),
]
"""The beginning of a line, and the word that completes it."""

NO_CASES = [
    "pullnet run --set own-sc",
    "pullnet run --set topology.k=own-sc",
    "pullnet run --set transport.kind=own-sc",
    "pullnet run --set transport.mtu=own-sc",
    "pullnet sweep --over own-sc",
    "pullnet sweep --over topology.k=own-sc",
    "pullnet sweep --over topology.k=4,own-sc",
]
"""Lines that must not be completed, although a file is called so."""

SHELLS = pytest.mark.parametrize(
    ("command", "file", "start"),
    [
        (["bash", "--noprofile", "--rcfile", ".start", "-i"], "pullnet.bash", "source ~/pullnet.bash"),
        (["zsh", "-d", "-i"], ".zfunc/_pullnet", "fpath+=~/.zfunc\nautoload -Uz compinit && compinit -u"),
    ],
    ids=["bash", "zsh"],
)

PROMPT = "ready> "
BELL = "\a"
"""The character that a shell prints if there is nothing to complete."""


def home_of(folder: Path, file: str, shell: str) -> dict[str, str]:
    """Make a home with the script of a shell and a scenario in it; return the environment."""
    script = folder / file
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(subprocess.run([COMMAND, "completion", shell], capture_output=True, text=True, check=True).stdout)
    (folder / "own-scenario.toml").write_text("")
    return {**os.environ, "HOME": str(folder), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "TERM": "dumb"}


class Terminal:
    """A shell that believes to have a user."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def read_until(self, wanted: str) -> str:
        """Return what the shell shows up to `wanted`."""
        shown, end = "", time.monotonic() + 30.0
        while wanted not in shown:
            assert time.monotonic() < end, f"{wanted!r} is not shown: {shown!r}"
            if select.select([self._terminal], [], [], 1.0)[0]:
                shown += os.read(self._terminal, 65536).decode(errors="replace")
        return shown

    def close(self) -> None:
        """End the shell."""
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


def press_tab(command: list[str], file: str, start: str, folder: Path, keys: str, wanted: str) -> None:
    """Press the keys in a shell whose user has completion, and wait for what it is to show then."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    environment = home_of(folder, file, command[0]) | {"ZDOTDIR": str(folder)}
    for name in (".start", ".zshrc"):
        (folder / name).write_text(f"{start}\nPS1={PROMPT!r}\n")
    shell = Terminal(command, folder, environment)
    try:
        shell.read_until(PROMPT)
        shell.type(keys)
        shell.read_until(wanted)
    finally:
        shell.close()


@pytest.mark.parametrize(("line", "word"), CASES)
@SHELLS
def test_the_first_tab_completes(
    command: list[str], file: str, start: str, line: str, word: str, tmp_path: Path
) -> None:
    press_tab(command, file, start, tmp_path, f"{line}\t", f"{line.rsplit(' ', 1)[0]} {word}")


@pytest.mark.parametrize("line", NO_CASES)
@SHELLS
def test_a_setting_is_no_file(command: list[str], file: str, start: str, line: str, tmp_path: Path) -> None:
    press_tab(command, file, start, tmp_path, f"{line}\t|", f"{line.rsplit(' ', 1)[1]}{BELL}|")


@SHELLS
def test_a_value_with_spaces_stays_one_word(command: list[str], file: str, start: str, tmp_path: Path) -> None:
    press_tab(command, file, start, tmp_path, "pullnet run --set until=al\t", r"until=all\ flows\ done")


@pytest.mark.parametrize("words", ["--set transport.kind =", "--set = transport.kind ="])
def test_bash_lists_every_word_that_a_setting_can_be(words: str, tmp_path: Path) -> None:
    environment = home_of(tmp_path, "pullnet.bash", "bash")
    ask = f"""source pullnet.bash; COMP_WORDS=(pullnet run {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    _pullnet_completion pullnet; echo "${{COMPREPLY[@]}}\""""
    done = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == set(api.catalogue("protocols"))


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(tmp_path: Path) -> None:
    environment = home_of(tmp_path, ".config/fish/completions/pullnet.fish", "fish")
    for line, word in CASES:
        ask = ["fish", "-c", f"complete -C '{line}'"]
        done = subprocess.run(
            ask, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), line
        assert [candidate.split("\t")[0] for candidate in done.stdout.splitlines()] == [word], line
    for line in NO_CASES:
        ask = ["fish", "-c", f"complete -C '{line}'"]
        done = subprocess.run(
            ask, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), line


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_shows_the_apostrophes_of_the_help(tmp_path: Path) -> None:
    environment = home_of(tmp_path, ".zfunc/_pullnet", "zsh") | {"ZDOTDIR": str(tmp_path)}
    start = "fpath+=~/.zfunc\nautoload -Uz compinit && compinit -u"
    (tmp_path / ".zshrc").write_text(f"{start}\nPS1={PROMPT!r}\n")
    shell = Terminal(["zsh", "-d", "-i"], tmp_path, environment)
    try:
        shell.read_until(PROMPT)
        shell.type("pullnet run --se\t\t")
        shell.read_until("Replace the scenario's seed.")
    finally:
        shell.close()


def test_a_completion_that_is_interrupted_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    main = importlib.import_module("pullnet.cli.main")
    monkeypatch.setenv("_PULLNET_COMPLETE", "complete_bash")
    monkeypatch.setattr(main, "get_command", lambda _: interrupted())
    assert main.status([]) == main.ENDED_EARLY
