"""`pullnet host`: the daemon of a host, how it stands, and calls through it."""

import errno
import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pullnet.cli.help import epilog
from pullnet.cli.host_bench import bench
from pullnet.cli.host_proxy import proxy
from pullnet.cli.signals import sigterm_as_ctrl_c
from pullnet.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

host = typer.Typer(
    name="host",
    help="Run NDP between applications, and copy files over SCDP.",
    no_args_is_help=True,
)

host.command(
    epilog=epilog(
        "pullnet host bench --serve --tcp",
        "pullnet host bench 192.0.2.2 --tcp --rounds 3",
        "pullnet host bench 192.0.2.2 --streams 4 --direction both --callers 0 --time '10 s'",
    )
)(bench)
host.command(
    epilog=epilog(
        "pullnet host proxy --serve 80 --to 127.0.0.1:8080",
        "pullnet host proxy --listen 127.0.0.1:8080 --to 192.0.2.2:80",
    )
)(proxy)

Socket = Annotated[Path, typer.Option("--socket", metavar="SOCKET", help="Unix socket of the daemon.")]

_DEFAULT = Path("/run/pullnet/host.sock")
_WATCH_S = 1.0
_FAILED = 3
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


@host.command(epilog=epilog("pullnet host serve host.toml --check", "pullnet host serve host.toml"))
def serve(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Host file (TOML).", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only report all errors.")] = False,
) -> None:
    """Run the daemon of a host, as the program pullnetd does.

    Runs until SIGINT or SIGTERM.
    """
    from pullnet.host import daemon

    file = daemon.read(config)
    if check:
        file.check_machine()
        typer.echo(f"{file.address} at {file.socket}")
    else:
        file.serve()


@host.command(epilog=epilog("pullnet host status --watch", "pullnet host status --prometheus"))
def status(
    socket: Socket = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print counters as Prometheus reads them.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show rates, every second, until Ctrl-C.")] = False,
) -> None:
    """Show the daemon's streams, rates, trims, timeouts and users."""
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
        _console().print(_shown(json.loads(stack.status()), None, 0.0))


@host.command(
    epilog=epilog("pullnet host call 10.0.0.2:61199 7 'a request'", "pullnet host call 10.0.0.2:61199 7 < file")
)
def call(
    to: Annotated[str, typer.Argument(metavar="ADDRESS:PORT", help="The other host.", show_default=False)],
    service: Annotated[
        int, typer.Argument(metavar="SERVICE", min=0, max=65535, help="Number of its application.", show_default=False)
    ],
    request: Annotated[
        str | None,
        typer.Argument(metavar="[REQUEST]", help="The request; without it, standard input.", show_default=False),
    ] = None,
    socket: Socket = _DEFAULT,
    priority: Annotated[int, typer.Option(min=0, max=255, help="Priority of the request; higher is pulled first.")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="How long to wait for the response.")
    ] = 30.0,
) -> None:
    """Send a request to another host and print the response."""
    from pullnet.host import call as send

    body = sys.stdin.buffer.read() if request is None else request.encode()
    response = send(to, service, body, priority=priority, timeout_s=timeout, socket=socket)
    sys.stdout.buffer.write(response)
    sys.stdout.buffer.flush()


Rate = Annotated[str, typer.Option("--rate", metavar="RATE", help='Rate of this host\'s link, such as "10 Gbps".')]
Interface = Annotated[
    str | None,
    typer.Option("--interface", metavar="NAME", help="AF_PACKET on this interface instead of the kernel's UDP."),
]
Address = Annotated[
    str | None, typer.Option("--address", metavar="ADDRESS", help="Address of this host; without it, by the route.")
]
Hosts = Annotated[list[str], typer.Argument(metavar="HOST...", help="Stores: ADDRESS[:PORT].", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


@host.command(epilog=epilog("pullnet host put disk.img 10.0.0.2 10.0.0.3 --interface eth0 --group 239.1.0.1"))
def put(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to send.", show_default=False)],
    hosts: Hosts,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the object; that of the file if not given.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Multicast group that switches copy to the hosts.")
    ] = None,
    address: Address = None,
    interface: Interface = None,
    rate: Rate = "1 Gbps",
    as_json: AsJson = False,
) -> None:
    """Send a file to stores as RaptorQ symbols over SCDP.

    With a group each symbol is sent once, else a copy to each host.
    """
    from pullnet import _core

    attached = _attached(address, interface, rate)
    with sigterm_as_ctrl_c(), _progress(path.name) as watch:
        report = _core.objects_put(path, name, hosts, group, attached, watch)
    _tell(report, as_json)


@host.command(epilog=epilog("pullnet host get disk.img 10.0.0.2 10.0.0.3 10.0.0.4 --out disk.img"))
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the object.", show_default=False)],
    hosts: Hosts,
    # A `Path` would lose the slash at the end, which says that it is a folder.
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.", show_default=False)],
    address: Address = None,
    interface: Interface = None,
    rate: Rate = "1 Gbps",
    as_json: AsJson = False,
) -> None:
    """Fetch an object from all stores that have it.

    Each store sends a share.
    """
    from pullnet import _core

    with sigterm_as_ctrl_c(), _progress(name) as watch:
        report = _core.objects_get(name, out, hosts, _attached(address, interface, rate), watch)
    _tell(report, as_json)


@host.command(epilog=epilog("pullnet host store /srv/objects --address 10.0.0.2 --interface eth0"))
def store(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that is served.", show_default=False)],
    address: Annotated[
        str, typer.Option("--address", metavar="ADDRESS", help="Address of this host.", show_default=False)
    ],
    port: Annotated[int, typer.Option(min=1, max=65535, help="UDP port.")] = 61200,
    interface: Interface = None,
    rate: Rate = "1 Gbps",
    most: Annotated[str, typer.Option(metavar="SIZE", help="Largest object that is taken.")] = "100 GB",
) -> None:
    """Serve the files of a folder to put and get.

    Runs until SIGINT or SIGTERM.
    """
    from pullnet import _core

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    attached = _attached(address, interface, rate)
    with sigterm_as_ctrl_c(), suppress(KeyboardInterrupt):
        _core.objects_store(folder, port, most, attached, tell, lambda _done, _all: None)


def _attached(address: str | None, interface: str | None, rate: str) -> tuple[str | None, str | None, str]:
    """Return how the host is attached to its link. Raises `InputError` for an interface that is not there."""
    if interface is not None:
        there = [name for _, name in socket.if_nameindex()]
        if interface not in there:
            raise InputError(f"--interface {interface}: there is no such interface; use one of {', '.join(there)}")
    elif address is not None:
        _refuse_elsewhere(address)
    return address, interface, rate


def _refuse_elsewhere(address: str) -> None:
    """Raise `InputError` for an address that no interface of this host has; text that is none is left to the core."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attempt:
            attempt.bind((address, 0))
    except socket.gaierror:
        return
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            what = "no interface of this host has the address"
            raise InputError(f"--address {address}: {what}; use one that `ip address` shows") from None


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how far a put or get is, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, every: progress.update(task, completed=done, total=every or None)


def _tell(report: tuple[str, list[str], bool], as_json: bool) -> None:
    text, lines, ok = report
    typer.echo(json.dumps(json.loads(text), indent=2, ensure_ascii=False) if as_json else "\n".join(lines))
    if not ok:
        raise typer.Exit(_FAILED)


def _console() -> "Console":
    """Return a console on which the brackets of an IPv6 address are text, not markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, width=None if Console().is_terminal else 160)


def _watch(look: Any) -> None:
    from rich.live import Live

    console = _console()
    before, then = look(), time.monotonic()
    show: Callable[[RenderableType], None]
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        if console.is_terminal:
            live = stack.enter_context(Live(_shown(before, None, 0.0), console=console, auto_refresh=False))
            show = partial(live.update, refresh=True)
        else:
            # `Live` would write to a pipe or a file only once, at its end.
            console.print(_shown(before, None, 0.0))
            show = console.print
        while not getattr(sys.stdout, "reader_gone", False):
            time.sleep(_WATCH_S)
            standing, now = look(), time.monotonic()
            show(_shown(standing, before, now - then))
            before, then = standing, now


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
        # Frames of other programs on the interface are no refusals.
        "refused": sum(count for reason, count in refused.items() if reason != "foreign"),
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
