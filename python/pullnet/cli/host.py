"""`pullnet host`: the daemon of a host, how it stands, and calls through it."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pullnet.cli.host_bench import bench
from pullnet.cli.host_proxy import proxy
from pullnet.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

host = typer.Typer(
    name="host",
    help="NDP between the applications of this machine and others, through the daemon pullnetd.",
    no_args_is_help=True,
)

host.command()(bench)
host.command()(proxy)

Socket = Annotated[Path, typer.Option("--socket", metavar="SOCKET", help="Where the daemon is found.")]

_DEFAULT = Path("/run/pullnet/host.sock")
_WATCH_S = 1.0
_STREAM = {
    "peer": "peer",
    "service": "service",
    "state": "state",
    "encrypted": "encrypted",
    "acknowledged": "acknowledged_bytes",
    "received": "received_bytes",
    "trimmed out": "trimmed_out",
    "trimmed in": "trimmed_in",
    "timeouts": "timeouts",
}


@host.command()
def serve(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Host file (TOML).", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only name every error.")] = False,
) -> None:
    """Be the daemon of a host until SIGINT or SIGTERM, like the program pullnetd."""
    from pullnet.host import daemon

    file = daemon.read(config)
    if check:
        file.check_keys()
        typer.echo(f"{file.address} at {file.socket}")
    else:
        file.serve()


@host.command()
def status(
    socket: Socket = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print counters as Prometheus reads them.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show rates, every second, until Ctrl-C.")] = False,
) -> None:
    """Show how the daemon stands: its streams, rates, trims, timeouts, and who uses it."""
    from pullnet.host import connect

    if as_json + prometheus + watch > 1:
        raise InputError("--json, --prometheus, --watch: one at a time")
    stack = connect(socket)
    if prometheus:
        typer.echo(stack.prometheus(), nl=False)
    elif as_json:
        typer.echo(json.dumps(json.loads(stack.status()), indent=2, ensure_ascii=False))
    elif watch:
        _watch(lambda: json.loads(stack.status()))
    else:
        from rich.console import Console

        console = Console(markup=False, highlight=False, width=None if Console().is_terminal else 160)
        console.print(_shown(json.loads(stack.status()), None, 0.0))


@host.command()
def call(
    to: Annotated[str, typer.Argument(metavar="ADDRESS:PORT", help="The other host.", show_default=False)],
    service: Annotated[int, typer.Argument(min=0, max=65535, help="Who is meant there.", show_default=False)],
    request: Annotated[
        str | None, typer.Argument(help="The request; without it, standard input.", show_default=False)
    ] = None,
    socket: Socket = _DEFAULT,
    priority: Annotated[int, typer.Option(min=0, max=255, help="Higher is pulled first.")] = 0,
    timeout: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="How long to wait.")] = 30.0,
) -> None:
    """Send a request to a service of another host and print the response."""
    from pullnet.host import call as send

    body = sys.stdin.buffer.read() if request is None else request.encode()
    response = send(to, service, body, priority=priority, timeout_s=timeout, socket=socket)
    sys.stdout.buffer.write(response)
    sys.stdout.buffer.flush()


def _watch(look: Any) -> None:
    from rich.console import Console
    from rich.live import Live

    before, then = look(), time.monotonic()
    with Live(_shown(before, None, 0.0), console=Console(highlight=False), auto_refresh=False) as live:
        try:
            while True:
                time.sleep(_WATCH_S)
                standing, now = look(), time.monotonic()
                live.update(_shown(standing, before, now - then), refresh=True)
                before, then = standing, now
        except KeyboardInterrupt:
            return


def _shown(standing: dict[str, Any], before: dict[str, Any] | None, seconds: float) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    streams = Table(box=None, pad_edge=False)
    for title in _STREAM:
        streams.add_column(title, justify="left" if title in {"peer", "state", "encrypted"} else "right")
    for stream in standing["host"]["streams"]:
        flat = {**stream, **stream["counts"]}
        flat["encrypted"] = "yes" if flat["encrypted"] else "no"
        streams.add_row(*(str(flat[key]) for key in _STREAM.values()))
    lines = [_totals(standing), *(["", _rates(standing, before, seconds)] if before else []), _users(standing)]
    return Group(*lines, *_keys(standing), "", streams)


def _keys(standing: dict[str, Any]) -> list[str]:
    def shown(one: dict[str, Any]) -> str:
        sends = "nothing sent yet" if one["sends"] is None else f"sends under key {one['sends']}"
        theirs = "not heard of yet" if one["theirs"] is None else f"has key {one['theirs']} there"
        return f"encrypted with {one['peer']}: {sends}; newest key {one['newest']} here, {theirs}"

    return [shown(one) for one in standing["host"]["keys"]]


def _totals(standing: dict[str, Any]) -> str:
    totals = standing["host"]["totals"]
    counts, refused = totals["counts"], totals["refused"]
    shown = {
        "streams": totals["streams"],
        "opened": totals["opened"],
        "incoming": totals["incoming"],
        "failed": totals["failed"],
        "trimmed out": counts["trimmed_out"],
        "trimmed in": counts["trimmed_in"],
        "timeouts": counts["timeouts"],
        "refused": sum(refused.values()),
    }
    return "  ".join([standing["address"], *(f"{name} {value}" for name, value in shown.items())])


def _rates(standing: dict[str, Any], before: dict[str, Any], seconds: float) -> str:
    def rate(key: str) -> float:
        now, then = (one["host"]["totals"]["counts"][key] for one in (standing, before))
        return float(now - then) / seconds

    bits = {name: 8e-6 * rate(key) for name, key in (("out", "acknowledged_bytes"), ("in", "received_bytes"))}
    events = {name: rate(key) for name, key in (("trimmed", "trimmed_out"), ("timeouts", "timeouts"))}
    shown = [f"{name} {value:.1f} Mb/s" for name, value in bits.items()]
    return "  ".join([*shown, *(f"{name} {value:.0f}/s" for name, value in events.items())])


def _users(standing: dict[str, Any]) -> str:
    users = [
        f"process {one['pid']} of user {one['uid']}: {one['streams']} streams, {one['listeners']} listeners"
        for one in standing["applications"]
    ]
    return "applications: " + ("; ".join(users) or "none")
