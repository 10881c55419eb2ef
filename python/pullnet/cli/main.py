"""From arguments to an exit code."""

import errno
import os
import platform
import sys
import traceback
from pathlib import Path

import typer

from pullnet import __version__
from pullnet.cli.app import app
from pullnet.errors import HostError, InputError, InternalError, NotRecordedError

RAN = 0
OUR_FAULT = 1
WRONG_INPUT = 2
ENDED_EARLY = 3

_ABORTED = 130


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""What happens to output that goes to a full disk, or to a terminal that is gone."""


def main() -> None:
    """Run the command and leave with its exit code."""
    _write_somewhere()
    sys.exit(status(sys.argv[1:]))


def _write_somewhere() -> None:
    """Throw away what is written to an output that was closed before the command started."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115


def status(arguments: list[str]) -> int:
    """Run the command: 0 ran, 1 a fault of ours, 2 the input is wrong, 3 ended early or flows failed."""
    try:
        app(arguments, prog_name="pullnet")
    except SystemExit as leaving:
        return ENDED_EARLY if leaving.code == _ABORTED else int(leaving.code or RAN)
    except InputError as error:
        for line in error.errors:
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
