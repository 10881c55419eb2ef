"""The daemon: its file, and how it stands."""

import json
from pathlib import Path
from typing import Any

from pullnet import _core
from pullnet.arguments import typed
from pullnet.inputs import text_of

SOCKET = Path("/run/pullnet/host.sock")
"""Where the daemon is found unless its file says otherwise."""


@typed
def read(path: Path) -> _core.HostFile:
    """Read a host file. Raises `InputError` with every error at once."""
    return _core.HostFile.read(str(path), text_of(path))


@typed
def status(socket: Path = SOCKET) -> dict[str, Any]:
    """Return how the daemon stands: totals, streams, and who uses it."""
    standing: dict[str, Any] = json.loads(_core.HostStack.connect(socket).status())
    return standing
