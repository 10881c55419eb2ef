"""`pullnet export`: topologies, flows and packets as files that other programs read."""

from pathlib import Path
from typing import Annotated

import typer

from pullnet.cli.help import epilog
from pullnet.cli.run import Settings
from pullnet.results.result import load
from pullnet.runs.export import export_flows, export_packets, export_topology

export = typer.Typer(
    name="export",
    help="Write files for htsim, HPCC, Wireshark and pullnet.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@export.command(epilog=epilog("pullnet export topology my.toml net.topo", "pullnet export topology my.toml net.txt"))
def topology(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="A scenario file; - is standard input.", show_default=False)
    ],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Ends in .toml (own format), .topo (htsim, trees only) or .txt (HPCC).",
            show_default=False,
        ),
    ],
    settings: Settings = None,
) -> None:
    """Write the topology of a scenario."""
    export_topology(scenario, file, set=settings or [])


@export.command(epilog=epilog("pullnet export flows results/incast flows.cm"))
def flows(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Directory of a result.", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Ends in .csv (flow list), .cm (htsim) or .txt (HPCC).", show_default=False
        ),
    ],
) -> None:
    """Write the flows of a run, with the times at which they started."""
    export_flows(load(result), file)


@export.command(
    epilog=epilog(
        "pullnet run my.toml --set probes.packets=true -o results/my",
        "pullnet export packets results/my my.pcapng",
        "pullnet wireshark && tshark -r my.pcapng -Y 'pullnet.flow == 3'",
    )
)
def packets(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Directory of a result.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .pcapng.", show_default=False)],
) -> None:
    """Write the packets of a run for Wireshark.

    Each host is an interface. The run needs `probes.packets = true`.
    """
    export_packets(load(result), file)
