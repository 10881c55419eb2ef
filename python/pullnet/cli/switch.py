"""`pullnet switch` and `pullnet tell`."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pullnet import _core, json_text, scheduling
from pullnet.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

# By column, the counters whose sum it shows.
_SHOWN = {
    "in": ("if_in_ucast_pkts", "if_in_non_ucast_pkts"),
    "out": ("if_out_ucast_pkts", "if_out_non_ucast_pkts"),
    "trimmed": ("trim_packets",),
    "returned": ("returned_packets",),
    "dropped": ("if_out_discards",),
    "no way": ("if_in_discards",),
    "lost": ("fault_lost_packets",),
    "data held": ("queue_curr_occupancy_data_packets",),
    "most": ("queue_watermark_data_packets",),
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def switch(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Switch file (TOML).", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only report all errors, or list the ports.")] = False,
    in_kernel: Annotated[
        bool, typer.Option("--kernel", help="Inside the kernel, by XDP, which can do less: see docs/switch.md.")
    ] = False,
    control: Annotated[
        Path | None, typer.Option(metavar="SOCKET", help="Unix socket to make for `pullnet tell`.", show_default=False)
    ] = None,
    core: Annotated[int | None, typer.Option(min=0, help="Core of the switch's thread.", show_default=False)] = None,
    prefer: Annotated[
        Literal["normal", "group", "fifo"],
        typer.Option(
            help="Scheduling priority of its thread: the usual one, a higher one for its session, or real-time."
        ),
    ] = "normal",
    lasting: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help='Stop after this time, such as "10 s".', show_default=False),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors, and JSON with --json.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counters as JSON at the end.")] = False,
) -> None:
    """Run the switches of a file on network interfaces.

    Runs until SIGINT or SIGTERM.
    """
    from pullnet.switch import daemon

    file = daemon.read(config)
    if check:
        _show_ports(file, as_json=as_json)
        return
    from rich.console import Console

    log = Console(stderr=True)
    watch = None if quiet or not log.is_terminal else partial(_line, log)
    lasting_s = None if lasting is None else _core.picoseconds(lasting) / 1e12
    if in_kernel:
        final = daemon.run_in_kernel(file, control=control, lasting_s=lasting_s, watch=watch)
    else:
        schedule = scheduling.Schedule(core, prefer)
        final = daemon.run(file, control=control, schedule=schedule, lasting_s=lasting_s, watch=watch)
    if as_json:
        typer.echo(json_text.dumps(final))
    elif not quiet:
        _show(final)


def tell(
    control: Annotated[
        Path, typer.Argument(metavar="SOCKET", help="Unix socket of the switch: its --control.", show_default=False)
    ],
    what: Annotated[
        Literal["status", "fault", "clear", "stop"],
        typer.Argument(metavar="WHAT", help="One of status, fault, clear, stop.", show_default=False),
    ],
    argument: Annotated[
        str | None,
        typer.Argument(
            metavar="[FAULT|PORT]",
            help="Settings of a fault, such as 'port=\"h0\"; loss=0.01', its times from now; or a port to clear.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Query or stop a running switch, or inject a fault."""
    from pullnet.switch.control import ask

    request: dict[str, Any] = {"do": what}
    if what == "fault":
        request["text"] = "[[fault]]\n" + _needed(what, argument).replace(";", "\n")
    elif what == "clear":
        request["port"] = _needed(what, argument)
    elif argument is not None:
        raise InputError(f"{argument}: {what} takes no argument")
    try:
        answer = ask(control, request)
    except InputError as error:
        raise InputError([_in_argument(text) for text in error.errors]) from None
    if what == "status" and not as_json:
        _show(answer)
    elif what == "status" or as_json:
        typer.echo(json_text.dumps(answer))


def _in_argument(error: str) -> str:
    """Return an error of a fault with its place in the argument, whose settings became the lines below `[[fault]]`."""
    place = re.fullmatch(r"fault:(\d+):\d+: (?:fault\.0(?:\.|(?=:)))?(.*)", error, re.DOTALL)
    if place is None:
        return error
    setting, what = int(place[1]) - 1, place[2].removeprefix(": ")
    return f"fault, setting {setting}: {what}" if setting > 0 else f"fault: {what}"


def _needed(what: str, argument: str | None) -> str:
    if argument is None:
        raise InputError(f"{what}: say what; for instance {_EXAMPLE[what]}")
    return argument


_EXAMPLE = {"fault": "'port=\"h0\"; loss=0.01'", "clear": "h0"}


def _show_ports(file: _core.SwitchFile, *, as_json: bool) -> None:
    rows = [{"name": name, "switch": switch, "interface": interface} for name, switch, interface in file.ports]
    if as_json:
        typer.echo(json_text.dumps({"name": file.name, "ports": rows}))
        return
    for row in rows:
        typer.echo(f"{row['switch']} {row['name']} {row['interface'] or '(inside)'}")


def _line(log: "Console", status: dict[str, Any]) -> None:
    shown = ("in", "out", "trimmed", "dropped")
    total = [f"{title} {sum(_count(port, _SHOWN[title]) for port in status['ports'])}" for title in shown]
    if "late" in status:
        total = [f"{status['running_s']:8.1f} s", *total, f"late over 100 us {status['late']['over_100us']}"]
    log.print("  ".join(total), markup=False, highlight=False)


def _count(port: dict[str, Any], names: tuple[str, ...]) -> int:
    """Return a sum of counters; the switch inside the kernel has fewer."""
    return sum(int(port["counters"].get(name, 0)) for name in names)


def _show(status: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("switch", "port"):
        table.add_column(title)
    for title in _SHOWN:
        table.add_column(title, justify="right")
    for port in status["ports"]:
        table.add_row(port["switch"], port["name"], *(str(_count(port, name)) for name in _SHOWN.values()))
    console = Console(markup=False, highlight=False, width=None if Console().is_terminal else 160)
    console.print(table)
    for port in status["ports"]:
        interface = port.get("interface") or {}
        if interface.get("trouble"):
            console.print(f"{port['name']}: nothing arrives or leaves: {interface['trouble']}")
        if interface.get("joined"):
            console.print(
                f"{port['name']}: {interface['joined']} frames were lost because the host had not cut them into "
                "segments; there, `ethtool -K INTERFACE tso off gso off` makes it do so"
            )
    if "late" in status:
        late = status["late"]
        console.print(
            f"{late['frames']} frames left; later than their time by more than 10 us: {late['over_10us']}, "
            f"100 us: {late['over_100us']}, 1 ms: {late['over_1ms']}; the latest by {late['worst_ns'] / 1000:.1f} us"
        )
