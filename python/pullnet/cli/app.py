"""The list of commands."""

from typing import Annotated

import typer

from pullnet import __version__
from pullnet.cli.codes import codes
from pullnet.cli.compare import compare
from pullnet.cli.completion import EPILOG as COMPLETION
from pullnet.cli.completion import completion
from pullnet.cli.diff import diff
from pullnet.cli.export import export
from pullnet.cli.help import epilog, exit_codes
from pullnet.cli.host import host
from pullnet.cli.manual import EPILOG as MANUAL
from pullnet.cli.manual import manual
from pullnet.cli.play import play
from pullnet.cli.reproduce import reproduce
from pullnet.cli.run import run
from pullnet.cli.show import show
from pullnet.cli.spec import check, list_names, new, paths, schema
from pullnet.cli.sweep import sweep
from pullnet.cli.switch import switch, tell
from pullnet.cli.testbed import testbed
from pullnet.cli.traffic import app as traffic
from pullnet.cli.wireshark import EPILOG as WIRESHARK
from pullnet.cli.wireshark import wireshark

app = typer.Typer(
    name="pullnet",
    help="Simulate data-centre transport packet by packet, and run it on Linux.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exit_codes(),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pullnet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Simulate data-centre transport packet by packet, and run it on Linux."""


app.command(
    epilog=epilog(
        "pullnet run scenarios/incast.toml -o results/incast",
        "pullnet run my.toml --set topology.k=12 --set 'switch.data_queue=6 packets' --seed 7 --threads 2",
        "pullnet run a.toml b.toml --out results/both --jsonl | jq .fct_us.p99",
        "sed s/ndp/tcp/ my.toml | pullnet run - -o results/tcp",
    )
)(run)
app.command(epilog=epilog("pullnet show results/incast", "pullnet show results/one results/two --json"))(show)
app.command(epilog=epilog("pullnet check my.toml", "pullnet check *.toml --json", "pullnet check - < my.toml"))(check)
app.command(epilog=epilog("pullnet paths scenarios/incast.toml 0 9", "pullnet paths my.toml 0 9 --json"))(paths)
app.command(epilog=epilog("pullnet schema > scenario.schema.json"))(schema)
app.command("list", epilog=epilog("pullnet list protocols", "pullnet list warnings --json"))(list_names)
app.command(epilog=epilog("pullnet new my.toml"))(new)
app.command(
    epilog=epilog(
        "pullnet reproduce",
        "pullnet reproduce ndp/16 --quick --seeds 1..5 --jobs 2 -o out",
        "pullnet reproduce --all --smoke",
    )
)(reproduce)
app.command(
    epilog=epilog(
        "pullnet sweep scenarios/permutation.toml --over topology.k=4,8 --seeds 1..10",
        "pullnet sweep my.toml --over 'switch.data_queue=4 packets,8 packets' --seeds 1..50 --metric fct_us.p99",
        "pullnet sweep scenarios/incast.toml --over traffic.0.degree=10..100..10 --seeds 1..5 --keep flows -o degrees",
        "pullnet sweep my.toml --over topology.k=8,12 --seeds 1..50 --slurm --slurm-option=--partition=long",
        "pullnet sweep my.toml --over topology.k=8,12 --seeds 1..50 --on dask://10.0.0.1:8786",
    )
)(sweep)
app.command(
    epilog=epilog(
        "pullnet run my.toml --set probes.packets=true -o results/one",
        "pullnet run my.toml --set probes.packets=true --set 'switch.data_queue=6 packets' -o results/two",
        "pullnet diff results/one results/two",
    )
)(diff)
app.command(epilog=COMPLETION)(completion)
app.command(epilog=MANUAL)(manual)
app.command(epilog=WIRESHARK)(wireshark)
app.command(
    epilog=epilog(
        "pullnet switch pair.toml --check",
        "pullnet switch pair.toml --control /run/pair.sock --core 1 --prefer group",
        "pullnet switch pair.toml --kernel --for '10 s' --json",
    )
)(switch)
app.command(
    epilog=epilog(
        "pullnet tell /run/pair.sock status",
        'pullnet tell /run/pair.sock fault \'port="a"; loss=0.01; until="5 s"\'',
        "pullnet tell /run/pair.sock clear a",
        "pullnet tell /run/pair.sock stop",
    )
)(tell)
testbed.command(
    epilog=epilog(
        "pullnet testbed play scenarios/testbed/star.toml",
        "pullnet testbed play scenarios/testbed/star.toml --rounds 20 --prefer fifo -o results/played",
    )
)(play)
testbed.command(epilog=epilog("pullnet testbed compare scenarios/testbed/star.toml"))(compare)
app.add_typer(codes)
app.add_typer(export)
app.add_typer(host)
app.add_typer(testbed)
app.add_typer(traffic)
