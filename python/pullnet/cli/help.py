"""Epilogue of a command's help: examples and exit codes."""

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


def _lines(head: str, lines: "tuple[str, ...] | list[str]") -> str:
    return "\n".join([head, *(f"  {line}" for line in lines)])
