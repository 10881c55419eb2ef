"""Throughput and latency through the daemon, and over kernel TCP for comparison."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pullnet import _core
from pullnet.host.daemon import SOCKET

SERVICE = 5201
"""Where a server is found unless another service is named; over TCP it is the port."""

_LOOK_S = 0.25


def parts(
    to: str,
    *,
    service: int = SERVICE,
    streams: int = 1,
    direction: Literal["out", "in", "both"] = "out",
    length: str | None = None,
    callers: int = 1,
    calls: int | None = None,
    lasting: str = "5 s",
    request: str = "1 kB",
    answer: str = "1 kB",
    kept: bool = False,
    tcp: bool = False,
    rounds: int = 1,
    socket: Path = SOCKET,
) -> Iterator[dict[str, Any]]:
    """Measure, and yield the result of each part as soon as there is one.

    A part is a load over one transport: `streams` at the same time, each of so much `length` or for so long, or calls
    by so many `callers`. `kept` makes the calls of a caller follow each other on one stream. With `tcp` every load is
    carried over kernel TCP too, by turns. Raises `InputError` for a plan that contradicts itself, and `HostError`.
    """
    wish = json.dumps(
        {
            "to": to,
            "service": service,
            "streams": streams,
            "direction": direction,
            "bytes": length,
            "callers": callers,
            "calls": calls,
            "time": lasting,
            "request": request,
            "answer": answer,
            "kept": kept,
            "tcp": tcp,
            "rounds": rounds,
        }
    )
    _core.HostBench.check(wish)
    bench = _core.HostBench.begin(_core.HostStack.connect(socket), wish)
    while (part := bench.next()) is not None:
        yield json.loads(part)


def serve(*, service: int = SERVICE, tcp: bool = False, socket: Path = SOCKET) -> None:
    """Serve benchmarks of other hosts until Ctrl-C."""
    server = _core.HostBenchServer.start(_core.HostStack.connect(socket), service, tcp)
    while True:
        server.check()
        time.sleep(_LOOK_S)
