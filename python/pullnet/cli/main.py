"""From arguments to an exit code."""

import errno
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO, cast

import typer
from typer.main import get_command

from pullnet import __version__
from pullnet.cli import completion
from pullnet.cli.app import app
from pullnet.cli.help import in_plain_words
from pullnet.errors import HostError, InputError, InternalError, NotRecordedError

RAN = 0
OUR_FAULT = 1
WRONG_INPUT = 2
ENDED_EARLY = 3

_ABORTED = 130


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of writes to a full disk, or to a terminal that is gone."""


def main() -> None:
    """Run the command and leave with its exit code."""
    _write_somewhere()
    code = status(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(code)


def _write_somewhere() -> None:
    """Throw away what is written to an output that is closed, now or later."""
    sys.stdout = cast(TextIO, Unread(sys.stdout or Path(os.devnull).open("w")))  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115


class Unread:
    """An output whose reader may go away, as `head` does: the command goes on and its exit code tells how it went."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.reader_gone = False
        """Whether output has been discarded; for commands that run only for their output."""

    def write(self, text: str) -> int:
        """Write; discard the output if its reader is gone."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush; discard the output if its reader is gone."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        self.reader_gone = True
        # Redirects buffered output to /dev/null, so that the interpreter's last flush cannot fail.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._stream.fileno())
        os.close(nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def status(arguments: list[str]) -> int:
    """Run the command: 0 ran, 1 a fault of ours, 2 the input is wrong, 3 ended early or flows failed."""
    if completion.ASKED in os.environ:
        completion.prepare()
    try:
        in_plain_words(get_command(app))(arguments, prog_name="pullnet")
    except SystemExit as leaving:
        if leaving.code != _ABORTED:
            return int(leaving.code or RAN)
        typer.echo("interrupted", err=True)
        return ENDED_EARLY
    except KeyboardInterrupt:
        return ENDED_EARLY  # while a shell asks for completions; the parser handles all others
    except InputError as error:
        for line in error.for_commands():
            typer.echo(f"error: {line}", err=True)
        return WRONG_INPUT
    except NotRecordedError as error:
        typer.echo(f"error: {error}", err=True)
        return WRONG_INPUT
    except HostError as error:
        typer.echo(f"error: {error}", err=True)
        return ENDED_EARLY
    except InternalError as error:
        return _report(str(error))
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _report(traceback.format_exc().rstrip())
        typer.echo(f"error: the output cannot be written: {error.strerror}", err=True)
        return WRONG_INPUT
    except Exception:
        return _report(traceback.format_exc().rstrip())
    return RAN


def _report(what: str) -> int:
    """Say that the fault is ours and how to report it."""
    version = f"pullnet {__version__}, Python {platform.python_version()}, {platform.platform()}"
    lines = [
        f"fault in pullnet: {what}",
        "This is not your mistake. Please report it to the project with the scenario, the whole command and:",
        f"  {version}",
        f"  command: pullnet {' '.join(sys.argv[1:])}",
    ]
    typer.echo("\n".join(lines), err=True)
    return OUR_FAULT
