"""Text files that a user names: those read are no device and fit into memory, those written are whole or not there."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pullnet.errors import InputError

LARGEST = 64 * 2**20
"""A file of settings is no larger than this. Unit: bytes."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a write that has begun."""


@contextmanager
def whole(file: Path) -> Iterator[None]:
    """Remove `file` where the disk is full before all of it is written: the first lines of a list are a list, too."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM and file.is_file():  # not /dev/full
            with suppress(OSError):
                file.resolve().unlink()
        raise


def text_of(name: str, stream: BinaryIO | None = None) -> str:
    """Read the file `name`, or `stream` under that name. Raises `OSError`, and `InputError` for what is no text."""
    if stream is not None:
        return _text(name, stream)
    refuse_named_pipe(name)
    with Path(name).open("rb") as file:
        kind = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise InputError(f"{name}: is a device and has no end; name a file")
        return _text(name, file)


def refuse_named_pipe(name: str) -> None:
    """Raise `InputError` for a named pipe, which would be waited for without end if nobody writes to it.

    Pipes without a name, such as /dev/stdin and those of a shell's `<(...)`, have a writer. Raises no `OSError`.
    """
    try:
        named = stat.S_ISFIFO(Path(os.path.realpath(name)).stat().st_mode)
    except (OSError, ValueError):
        return  # for a pipe without a name, the real path is none
    if named:
        raise InputError(f"{name}: is a named pipe, which may have no writer; name a file, or use `- < {name}`")


def _text(name: str, stream: BinaryIO) -> str:
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{name}: is larger than {LARGEST >> 20} MiB; a file of settings is a text of some kilobytes")
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from None
