"""Ctrl-C before the command runs: while Python imports its modules, there is nothing to catch it."""

import sys
from pathlib import Path
from types import TracebackType

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""


def _is_command() -> bool:
    """Whether this process is `pullnet` or `python -m pullnet`, and no program that imports the package."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    if program == "-m":  # what Python says while it looks for the module
        return sys.orig_argv[sys.orig_argv.index("-m") + 1] == "pullnet" if "-m" in sys.orig_argv else False
    return Path(program).stem == "pullnet"


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if sys.stderr:
        sys.stderr.write("interrupted before the command began\n")
    sys.exit(INTERRUPTED)


if _is_command():
    sys.excepthook = _hook
