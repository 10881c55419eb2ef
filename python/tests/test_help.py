"""Help of every command: it is whole, uniform, and its examples are accepted by the commands."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from pullnet.cli.app import app
from pullnet.cli.help import in_plain_words
from pullnet.cli.manual import commands

ROOT = in_plain_words(get_command(app))
EVERY = {" ".join(words): command for words, command in commands(ROOT, ("pullnet",))}
GROUPS = [words for words, command in EVERY.items() if hasattr(command, "list_commands")]
LEAVES = [words for words in EVERY if words not in GROUPS]


def help_of(words: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The help as a terminal of 80 columns shows it."""
    monkeypatch.setenv("COLUMNS", "80")
    return str(EVERY[words].get_help(typer.Context(EVERY[words], info_name=words)))


def examples(words: str) -> list[str]:
    """Lines of the examples of a command."""
    found = re.search(r"^Examples:\n((?:  .*\n)+)", EVERY[words].epilog or "", re.MULTILINE)
    return [line.strip() for line in found[1].splitlines()] if found else []


def calls(line: str) -> Iterator[list[str]]:
    """Arguments of each `pullnet` in a line for a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    call: list[str] = []
    for token in [*lexer, ";"]:
        if not set(token) <= set("|&;<>"):
            call.append(token)
            continue
        if call[:1] == ["pullnet"]:
            yield call[1:]
        call = []


def parse(command: Any, name: str, arguments: list[str], parent: Any = None) -> Any:
    """Parse the arguments of a command and of the one within it. Returns the innermost command."""
    context = command.make_context(name, list(arguments), parent=parent)
    if not hasattr(command, "list_commands"):
        return command
    inner, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    return parse(found, inner, rest, context)


@pytest.mark.parametrize("words", LEAVES)
def test_every_command_shows_examples_that_it_accepts(words: str) -> None:
    lines = examples(words)
    assert "Exit codes:" in EVERY[words].epilog
    parsed = [parse(ROOT, "pullnet", call) for line in lines for call in calls(line)]
    assert [command.name for command in parsed].count(EVERY[words].name) > 0


@pytest.mark.parametrize("words", GROUPS)
def test_no_summary_of_a_command_is_cut(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = [line for line in help_of(words, monkeypatch).splitlines() if re.search(r"[^\]]\.\.\.$", line)]
    assert cut == []


@pytest.mark.parametrize("words", LEAVES)
def test_values_are_named_in_plain_words(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = help_of(words, monkeypatch)
    assert re.findall(r"<(?:str|int|float|path|int range|float range)>", text) == []
    arguments = [param for param in EVERY[words].params if param.param_type_name == "argument"]
    assert [param.name for param in arguments if not param.metavar or param.metavar != param.metavar.upper()] == []


@pytest.mark.parametrize("words", LEAVES)
def test_every_option_is_described(words: str) -> None:
    assert [param.name for param in EVERY[words].params if not getattr(param, "help", None)] == []


def test_options_of_one_meaning_have_one_name() -> None:
    jobs = {words: param.opts for words in LEAVES for param in EVERY[words].params if "--jobs" in param.opts}
    assert len(jobs) == 3
    assert all(names == ["--jobs", "-j"] for names in jobs.values()), jobs
    repeated = [
        (words, param.name)
        for words in LEAVES
        for param in EVERY[words].params
        if param.param_type_name == "option" and param.multiple and not re.search("may be|several", param.help, re.I)
    ]
    assert repeated == []
