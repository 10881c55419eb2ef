"""`pullnet host proxy`."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from pullnet.cli.signals import sigterm_as_ctrl_c

_DEFAULT = Path("/run/pullnet/host.sock")
_LOOK_S = 0.25


def proxy(
    to: Annotated[
        str,
        typer.Option(
            metavar="WHERE", help="HOST:SERVICE with --listen, ADDRESS:PORT with --serve.", show_default=False
        ),
    ],
    listen: Annotated[
        str | None, typer.Option(metavar="ADDRESS:PORT", help="Accept TCP connections here.", show_default=False)
    ] = None,
    serve: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Accept streams to this service.", show_default=False)
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The other side is no proxy, but a program that uses NDP itself.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Connections at a time; more are reset.")] = 512,
    farewell: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Time for open connections after the signal.")
    ] = 5.0,
    socket: Annotated[Path, typer.Option("--socket", metavar="SOCKET", help="Unix socket of the daemon.")] = _DEFAULT,
) -> None:
    """Carry TCP connections over NDP.

    Programs that know only TCP work unchanged. Runs until SIGINT or SIGTERM.
    """
    from pullnet.host.proxy import Proxy

    with sigterm_as_ctrl_c():
        at_work = Proxy(to=to, listen=listen, serve=serve, limit=limit, raw=raw, socket=socket)
        try:
            typer.echo(f"carries {f'TCP {listen}' if listen is not None else f'service {serve}'} to {to}", err=True)
            while True:
                at_work.check()
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            at_work.stop(farewell)
        finally:
            typer.echo(json.dumps(at_work.counts()), err=True)
