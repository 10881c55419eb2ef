"""Pipes as inputs: one without a name has a writer and is read; one with a name may never have one and is refused."""

import os
from pathlib import Path

import pytest

from .conftest import Pullnet
from .test_command_line import shell

COMMANDS = (
    "check {}",
    "run {} -o out",
    "traffic volumes {}",
    "traffic fit {}.csv",
    "host serve {}",
    "switch {} --check",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_pipe_is_refused_at_once(command: str, pullnet: Pullnet, tmp_path: Path) -> None:
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(tmp_path / name)
    done = pullnet(*command.format("pipe").split(), timeout=60)
    name = next(word for word in command.format("pipe").split() if word.startswith("pipe"))
    message = f"error: {name}: is a named pipe, which may have no writer; name a file, or use `- < {name}`\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_pipes_that_have_a_writer_are_read(small: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    lines = (
        "pullnet check <(cat small.toml)",
        "pullnet check <(sleep 1; cat small.toml)",
        "cat small.toml | pullnet check /dev/stdin",
        "pullnet check - <small.toml",
        "cat small.toml >pipe & pullnet check - <pipe",
    )
    for line in lines:
        done = shell(line, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), line
        assert 'name = "Small"' in done.stdout, line
