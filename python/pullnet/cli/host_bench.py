"""`pullnet host bench`."""

import json
import statistics
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pullnet.errors import InputError

_DEFAULT = Path("/run/pullnet/host.sock")
_MOST = 512
"""Streams and callers that the core takes."""
_PERCENTILES = {"p50": "50%", "p90": "90%", "p99": "99%", "p99_9": "99.9%", "max": "most"}


def bench(
    to: Annotated[
        str | None, typer.Argument(metavar="ADDRESS[:PORT]", help="The other host.", show_default=False)
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the benchmarks of other hosts until Ctrl-C.")] = False,
    service: Annotated[int, typer.Option(min=0, max=65535, help="Service of the server; over TCP, its port.")] = 5201,
    streams: Annotated[int, typer.Option(min=0, max=_MOST, help="Streams at the same time; 0 leaves them out.")] = 1,
    direction: Annotated[
        Literal["out", "in", "both"], typer.Option(help="Which way the streams carry bytes, seen from here.")
    ] = "out",
    length: Annotated[
        str | None,
        typer.Option(
            "--bytes", metavar="SIZE", help='Length of a stream, such as "1 GB", instead of a time.', show_default=False
        ),
    ] = None,
    callers: Annotated[
        int,
        typer.Option(
            min=0, max=_MOST, help="Callers at the same time, each with one call after the other; 0 leaves them out."
        ),
    ] = 1,
    calls: Annotated[
        int | None, typer.Option(min=1, help="Calls of each caller, instead of a time.", show_default=False)
    ] = None,
    lasting: Annotated[
        str, typer.Option("--time", metavar="TIME", help="Time of the streams, and of the calls.")
    ] = "5 s",
    request: Annotated[str, typer.Option(metavar="SIZE", help="Length of a request.")] = "1 kB",
    answer: Annotated[str, typer.Option(metavar="SIZE", help="Length of an answer.")] = "1 kB",
    kept: Annotated[
        bool, typer.Option("--kept", help="The calls of a caller share one stream, instead of having one each.")
    ] = False,
    tcp: Annotated[
        bool, typer.Option("--tcp", help="The same over kernel TCP too, by turns; the server needs it as well.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is done.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the list of all parts.")] = False,
    socket: Annotated[Path, typer.Option("--socket", metavar="SOCKET", help="Unix socket of the daemon.")] = _DEFAULT,
) -> None:
    """Measure throughput and latency to another host.

    There, the same command runs with --serve.
    """
    from pullnet.host import bench as benchmark

    if serve:
        if to is not None:
            raise InputError(f"{to}: --serve answers whoever asks; leave the address out")
        _serve(service, tcp=tcp, socket=socket)
        return
    if to is None:
        raise InputError("which host is measured? Name its address, or use --serve to be measured")
    found = benchmark.parts(
        to,
        service=service,
        streams=streams,
        direction=direction,
        length=length,
        callers=callers,
        calls=calls,
        lasting=lasting,
        request=request,
        answer=answer,
        kept=kept,
        tcp=tcp,
        rounds=rounds,
        socket=socket,
    )
    parts = []
    for part in found:
        parts.append(part)
        if not as_json:
            typer.echo(text_of(part))
    if as_json:
        typer.echo(json.dumps(parts, indent=2))
    elif tcp:
        typer.echo("\n".join(["", *compared(parts)]))


def _serve(service: int, *, tcp: bool, socket: Path) -> None:
    from pullnet.host import bench as benchmark

    typer.echo(
        f"serves benchmarks at service {service}{f' and at TCP port {service}' if tcp else ''} until Ctrl-C", err=True
    )
    try:
        benchmark.serve(service=service, tcp=tcp, socket=socket)
    except KeyboardInterrupt:
        return


def text_of(part: dict[str, Any]) -> str:
    """Return a part in two lines: what was measured, and what it took of the processors."""
    name = f"{part['round']}  {part['transport']:4}"
    if part["load"] == "streams":
        ways = {"out": "out_bits_per_second", "in": "in_bits_per_second"}
        rates = [f"{way} {part[key] / 1e9:.3f} Gb/s" for way, key in ways.items() if part[f"{way}_bytes"]]
        done = part["out_bytes"] + part["in_bytes"]
        amount = f"{done / 1e9:.3f} GB in {part['seconds']:.2f} s"
        line = "  ".join([f"{name} {_counted(len(part['each']), 'stream')}", *rates, amount])
        return f"{line}\n{_cpu(part['cpu'], done / 1e9, 'GB')}"
    times = part["latency_us"]
    shown = "  ".join(f"{title} {times[key]:.1f} us" for key, title in _PERCENTILES.items())
    line = f"{name} {_counted(part['callers'], 'caller')}  {part['calls_per_second']:.0f} calls/s  {shown}"
    return f"{line}\n{_cpu(part['cpu'], part['calls'] / 1e6, 'million calls')}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _cpu(cpu: dict[str, dict[str, float | None]], amount: float, unit: str) -> str:
    sides = []
    for side, used in cpu.items():
        daemon = used["daemon_s"]
        sides.append(
            f"{side} {used['application_s']:.2f} s" + (f" + daemon {daemon:.2f} s" if daemon is not None else "")
        )
    total = sum(value or 0.0 for used in cpu.values() for value in used.values())
    return f"        processors: {', '.join(sides)}; {total / amount:.2f} s for each {unit}"


def compared(parts: list[dict[str, Any]]) -> list[str]:
    """Return NDP beside TCP, by the medians of all rounds."""

    def middle(transport: str, load: str, key: str) -> float:
        chosen = (part for part in parts if (part["transport"], part["load"]) == (transport, load))
        return float(statistics.median(part[key] if key in part else part["latency_us"][key] for part in chosen))

    lines = []
    for load, key, words, scale, unit in (
        ("streams", "out_bits_per_second", "out", 1e9, "Gb/s"),
        ("streams", "in_bits_per_second", "in", 1e9, "Gb/s"),
        ("calls", "calls_per_second", "calls", 1.0, "/s"),
        ("calls", "p50", "half of the calls within", 1.0, "us"),
        ("calls", "p99", "99% of the calls within", 1.0, "us"),
    ):
        if not any(part["load"] == load for part in parts):
            continue
        ndp, tcp = (middle(transport, load, key) / scale for transport in ("ndp", "tcp"))
        if tcp > 0:
            lines.append(f"{words}: NDP {ndp:.4g} {unit}, TCP {tcp:.4g} {unit}: {ndp / tcp:.2f} of it")
    return lines
