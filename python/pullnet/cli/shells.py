"""Answers to bash, zsh and fish, which ask for completions. Imported only when one asks."""

import os
import sys
from typing import Any

from typer._click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string
from typer._completion_classes import BashComplete, FishComplete, ZshComplete

from pullnet.runs import scenario

NO_FILES = 4
"""Exit code that tells bash to offer no files, although there are no completions."""


_TAKE_SETTINGS = ("--set", "--over")
"""Options whose value is a setting with a value, or with several values between commas."""


class _Settings(ShellComplete):
    """Completes the value behind `--set PATH=` and the values behind `--over PATH=`, where no file belongs."""

    takes_files = True
    """Whether the shell may offer files if there are no completions."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what begins with `incomplete` and may follow `args`."""
        option, _, text = incomplete.partition("=")
        if option in _TAKE_SETTINGS:
            args, incomplete = [*args, option], text
        if not args or args[-1] not in _TAKE_SETTINGS:
            return super().get_completions(args, incomplete)
        self.takes_files = False
        path, equals, given = incomplete.partition("=")
        before, comma, beginning = given.rpartition(",") if args[-1] == "--over" else ("", "", given)
        values = scenario.choices(path) if equals else []
        left = [value for value in values if value.startswith(beginning) and value not in before.split(",")]
        return [CompletionItem(f"{path}={before}{comma}{value}") for value in left]


class Bash(_Settings, BashComplete):
    """Bash, which takes `=` for the end of a word."""

    splits = False
    """Whether bash replaces only the text behind the last `=`."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return all words before the incomplete word, and the incomplete word."""
        words, last = split_arg_string(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
        words = [*words, ""][: last + 1]
        self.splits = "=" not in words[-1].strip("=")
        joined: list[str] = []
        for word in words:
            if joined and (word.startswith("=") or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        return joined[1:-1], joined[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """Write a completion as the shell reads it."""
        value = str(item.value).rpartition("=")[2] if self.splits else str(item.value)
        return value.replace(" ", "\\ ")

    def complete(self) -> str:
        """Return the whole answer."""
        text = super().complete()
        if not text and not self.takes_files:
            sys.exit(NO_FILES)
        return text


class Zsh(_Settings, ZshComplete):
    """Zsh."""

    def format_completion(self, item: CompletionItem) -> str:
        """Write a completion as the shell reads it."""
        # typer writes each apostrophe twice, which ends the quotes of zsh and begins others: it shows none.
        return super().format_completion(item).replace("''", "'\\''")

    def complete(self) -> str:
        """Return the whole answer."""
        text = super().complete()
        return text if text != "_files" or self.takes_files else ""


class Fish(_Settings, FishComplete):
    """Fish, which asks first whether there are completions, and offers files if not."""

    def complete(self) -> str:
        """Return the whole answer."""
        try:
            return super().complete()
        except SystemExit as answer:
            sys.exit(answer.code if self.takes_files else 0)


def register() -> None:
    """Answer shells with the classes of this module."""
    answers: dict[str, Any] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
    for name, answer in answers.items():
        add_completion_class(answer, name)
