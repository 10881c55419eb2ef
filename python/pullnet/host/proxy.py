"""A proxy between TCP and NDP, so that programs that know only TCP work over NDP unchanged."""

import json
from pathlib import Path
from typing import Any, Self

from pullnet import _core
from pullnet.host.daemon import SOCKET

LIMIT = 512
"""Connections at a time, unless another limit is set."""


class Proxy:
    """A proxy at work, until `stop` or the end of a `with` block.

    With `listen` it accepts TCP connections at that address, and carries each on a stream `to` a service of a host,
    such as "10.0.0.2:80". With `serve` it accepts streams to that service, and opens a TCP connection for each `to` an
    address such as "127.0.0.1:8080". `raw`: the other side is no proxy, but a program that uses NDP itself.
    """

    def __init__(
        self,
        *,
        to: str,
        listen: str | None = None,
        serve: int | None = None,
        limit: int = LIMIT,
        raw: bool = False,
        socket: Path = SOCKET,
    ) -> None:
        _core.HostProxy.check_route(listen, serve, to)
        self._proxy = _core.HostProxy.start(_core.HostStack.connect(socket), listen, serve, to, limit, raw)

    @property
    def number(self) -> int:
        """The TCP port or the service at which it accepts connections."""
        return self._proxy.number

    def check(self) -> None:
        """Raise `HostError` if it no longer accepts connections: its daemon is gone."""
        self._proxy.check()

    def counts(self) -> dict[str, Any]:
        """Return what it has done so far."""
        counts: dict[str, Any] = json.loads(self._proxy.counts())
        return counts

    def stop(self, farewell_s: float = 0.0) -> None:
        """Accept no more connections, let open ones end for so long, and reset the others."""
        self._proxy.stop(farewell_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
