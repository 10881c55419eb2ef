"""Help of commands: examples and exit codes at its end, and names of types for people."""

from typing import Any

EXIT_CODES = {
    0: "done",
    1: "a fault in pullnet; please report it",
    2: "the input is wrong: a scenario, an option, a place to write to",
    3: "ended early, flows failed, or a part of the input could not be read",
}

_KEEP = "\b"
"""Makes the help keep the line breaks of a paragraph."""


def epilog(*examples: str) -> str:
    """Return examples and exit codes, as the end of a help."""
    return f"{_KEEP}\n{_lines('Examples:', examples)}\n\n{exit_codes()}"


def exit_codes() -> str:
    """Return the exit codes, as a paragraph of a help."""
    return f"{_KEEP}\n{_lines('Exit codes:', [f'{code}  {meaning}' for code, meaning in EXIT_CODES.items()])}"


_PLAIN = {"int": "whole number", "int range": "whole number", "float": "number", "float range": "number"}
"""The parser's names of types, and those that help and errors have instead."""


def in_plain_words(command: Any) -> Any:
    """Return `command` after naming the types of its arguments and options, and those of its commands, for people."""
    for parameter in command.params:
        kind = parameter.type
        kind.name = _PLAIN.get(kind.name, kind.name)
    for inner in getattr(command, "commands", {}).values():
        in_plain_words(inner)
    return command


def _lines(head: str, lines: "tuple[str, ...] | list[str]") -> str:
    return "\n".join([head, *(f"  {line}" for line in lines)])
