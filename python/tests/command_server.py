"""Runs the command for each line of standard input, with one import for all.

A line is a request in JSON: arguments, folder, environment, and files for both outputs. Each run is a fork of this
process, so that it starts as a fresh process would; the answer is its exit code. No thread may run before a fork:
`PRELOADED` is what starts none.
"""

import importlib
import json
import os
import sys
from typing import Any

PRELOADED = ("pullnet._core", "pullnet.cli.main", "pullnet.cli.run", "rich.console", "rich.table", "numpy")


def become(request: dict[str, Any]) -> None:
    """Turns this process into the command of `request`."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["pullnet", *request["arguments"]]


def main() -> None:
    """Serves requests until standard input ends."""
    for name in PRELOADED:
        importlib.import_module(name)
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            importlib.import_module("pullnet.cli").main()
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
