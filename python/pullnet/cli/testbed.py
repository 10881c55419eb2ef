"""`pullnet testbed`."""

import contextlib
import functools
import inspect
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pullnet import json_text, scheduling
from pullnet.cli.help import epilog
from pullnet.errors import InputError
from pullnet.scheduling import Preference

if TYPE_CHECKING:
    from pullnet.testbed import Bed
    from pullnet.testbed.plan import Plan

testbed = typer.Typer(
    name="testbed",
    help="Build a scenario's network of namespaces and switches.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file.", show_default=False)]
Name = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the testbed; that of the file if not given.", show_default=False),
]
Mtu = Annotated[
    int | None,
    typer.Option(
        min=576,
        max=9216,
        help="Longest IP packet in bytes; as the scenario's packets need it if not given.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Replace a setting of the scenario, for instance topology.k=8; may be repeated.",
        show_default=False,
    ),
]
Core = Annotated[int, typer.Option(min=0, help="Core of the switches, where there is such a core.")]
Spin = Annotated[bool, typer.Option("--spin", help="Switches never sleep: exact, and a core is theirs alone.")]
HostCore = Annotated[int, typer.Option(min=0, help="Core of all hosts, where there is such a core.")]
Prefer = Annotated[
    Preference,
    typer.Option(
        help="Scheduling priority of hosts and switches: the usual one, a higher one for their sessions, or real-time "
        "while they play."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Place:
    """The testbed that a command works on: the options that such commands have in common."""

    file: File
    name: Name = None
    mtu: Mtu = None
    settings: Settings = None
    core: Core = 1
    spin: Spin = False

    def plan(self) -> "Plan":
        """Plan the testbed."""
        from pullnet.testbed import bed as beds

        return beds.read(self.file, self.name, self.mtu, self.settings, spin=self.spin)

    @contextlib.contextmanager
    def brought_up(self) -> Iterator["Bed"]:
        """Give the testbed, which is taken down afterwards unless it was up before."""
        from pullnet.testbed import bed as beds
        from pullnet.testbed import state

        plan = self.plan()
        was_up = state.load(plan.name) is not None
        bed = beds.up(plan, core=self.core)
        try:
            yield bed
        finally:
            if not was_up:
                beds.down(plan.file, plan.name)


def on_testbed(*, spin: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function whose first parameter is a `Place`: the fields of `Place` become its options.

    `spin` is the default of that option.
    """
    place = list(inspect.signature(Place).parameters.values())
    place = [each.replace(default=spin) if each.name == "spin" else each for each in place]

    def command(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(function).parameters.values()
        # Python wants parameters without a default first. The order of the others is that of the help text.
        parameters = sorted([*place, *own], key=lambda each: each.default is not inspect.Parameter.empty)

        @functools.wraps(function)
        def called(**given: Any) -> None:
            function(Place(**{each.name: given.pop(each.name) for each in place}), **given)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return command


@testbed.command(epilog=epilog("pullnet testbed up scenarios/testbed/star.toml"))
@on_testbed()
def up(place: Place, as_json: Json = False) -> None:
    """Make the testbed. Does nothing if it is up already; removes what it made if it cannot be completed."""
    from pullnet.testbed import bed as beds

    bed = beds.up(place.plan(), core=place.core)
    rows = [
        {"name": host.name, "namespace": bed.plan.namespace(host.name), "ip": host.ip, "mac": host.mac}
        for host in bed.plan.hosts
    ]
    if as_json:
        what = {"name": bed.plan.name, "control": str(bed.control), "hosts": rows}
        typer.echo(json_text.dumps(what))
        return
    for row in rows:
        typer.echo(f"{row['name']}  {row['ip']}  ip netns exec {row['namespace']} COMMAND")
    typer.echo(f"switches: pullnet tell {bed.control} status")


@testbed.command(
    context_settings={"ignore_unknown_options": True},
    epilog=epilog("pullnet testbed run scenarios/testbed/star.toml h3 -- ping -c 3 10.77.0.1"),
)
@on_testbed()
def run(
    place: Place,
    host: Annotated[str, typer.Argument(metavar="HOST", help="Name of a host, for instance h0.", show_default=False)],
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="The command and its arguments, after --.", show_default=False),
    ],
) -> None:
    """Run a command on a host. A testbed that is not up is made for it, and taken down afterwards.

    Exits with the code of the command.
    """
    with place.brought_up() as bed:
        status = subprocess.run(bed.command(host, command), check=False).returncode
    raise typer.Exit(status)


@testbed.command(epilog=epilog("pullnet testbed down scenarios/testbed/star.toml", "pullnet testbed down --name star"))
def down(
    file: Annotated[
        Path | None, typer.Argument(metavar="[SCENARIO]", help="Scenario file it was made for.", show_default=False)
    ] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Take the testbed down: all that was made, nothing else."""
    from pullnet.testbed import bed as beds

    if file is None and name is None:
        raise InputError("name the scenario file, or the testbed with --name")
    gone = beds.down(file, name)
    typer.echo(json_text.dumps({"removed": gone}) if as_json else f"removed {', '.join(gone) or 'nothing'}")


@testbed.command(
    epilog=epilog(
        "pullnet testbed incast scenarios/testbed/star-drop-tail.toml --congestion-control dctcp --rounds 100"
    )
)
@on_testbed()
def incast(
    place: Place,
    congestion_control: Annotated[
        str, typer.Option(metavar="NAME", help="Congestion control of kernel TCP, such as cubic or dctcp.")
    ] = "cubic",
    size: Annotated[int, typer.Option(metavar="BYTES", min=1, help="Bytes of each sender.")] = 450_000,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="How many times.")] = 20,
    host_core: HostCore = 0,
    as_json: Json = False,
) -> None:
    """Measure an incast of kernel TCP to the first host.

    All other hosts send at once, through the testbed's switches.

    Wall-clock times of a shared machine are indications: compare runs of one session by their ratios.
    """
    from pullnet.testbed import incast as baseline

    with place.brought_up() as bed, scheduling.for_a_while(scheduling.Schedule(host_core, "group")):
        found = baseline.incast(bed, size=size, rounds=rounds, congestion_control=congestion_control)
    if as_json:
        typer.echo(json_text.dumps(found.as_dict()))
        return
    typer.echo(
        f"{found.senders} to 1, {found.size} B each, TCP {found.congestion_control}, {found.rounds} rounds, "
        f"{found.dropped} frames dropped\n"
        f"flow completion time: median {found.p50_ms:.1f} ms, 90th percentile {found.p90_ms:.1f} ms, "
        f"99th {found.p99_ms:.1f} ms\n"
        f"last flow: median {found.last_p50_ms:.1f} ms, optimum {found.ideal_ms:.1f} ms; over {baseline.RTO_MS:.0f} ms "
        f"in {found.rounds_over_190_ms} of {found.rounds} rounds"
    )
