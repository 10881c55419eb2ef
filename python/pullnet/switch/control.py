"""The socket of a running switch: one JSON object in a line, one back.

Requests are `{"do": "status"}`, `{"do": "fault", "text": "[[fault]]..."}`, `{"do": "clear", "port": "h0"}` and
`{"do": "stop"}`; answers are `{"ok": ...}` or `{"errors": [...]}`.
"""

import contextlib
import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pullnet import json_text
from pullnet.errors import InputError

_LONGEST = 1 << 20
_PATIENCE_S = 90.0
"""How long an answer, or a request that was begun, may take: longer than a switch itself is waited for."""

Handler = Callable[[dict[str, Any]], Any]


def ask(path: Path, request: dict[str, Any], timeout_s: float = _PATIENCE_S) -> Any:
    """Send a request to the switch whose socket is at `path` and return its answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            connection.sendall(json_text.dumps(request, indent=None).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline(_LONGEST) or b"{}")
    except (OSError, json.JSONDecodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: no switch answers there ({cause}); it is where --control of a switch says") from None
    if "errors" in answer:
        raise InputError(answer["errors"])
    return answer.get("ok")


class _Connection(socketserver.StreamRequestHandler):
    timeout = _PATIENCE_S

    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        with contextlib.suppress(OSError):
            answer = server.answer(self.rfile.readline(_LONGEST))
            self.wfile.write(json_text.dumps(answer, indent=None).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, handler: Handler) -> None:
        self.own = handler
        super().__init__(str(path), _Connection)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Never fails: what is wrong with a request is its answer."""
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                return {"errors": ["a request is a JSON object in one line"]}
            return {"ok": self.own(request)}
        except InputError as error:
            return {"errors": error.errors}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return {"errors": [f"a request that cannot be read: {error}"]}


@contextlib.contextmanager
def serving(path: Path, handler: Handler) -> Iterator[None]:
    """Serve requests at `path`, for this user only, as long as the context lasts."""
    _free(path)
    try:
        server = _Server(path, handler)
    except OSError as error:
        raise InputError(f"{path}: no control socket can be made there: {error.strerror}") from None
    path.chmod(0o600)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def _free(path: Path) -> None:
    """Remove a socket without a server; refuse to remove any other file."""
    if not path.exists():
        return
    if not path.is_socket():
        raise InputError(f"{path}: is no socket; choose another place for --control")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise InputError(f"{path}: a switch answers there already; choose another place for --control")
