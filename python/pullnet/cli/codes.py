"""`pullnet codes`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pullnet import json_text
from pullnet.cli.help import epilog
from pullnet.errors import InputError

if TYPE_CHECKING:
    from pullnet.codes import Failure, Speed

codes = typer.Typer(
    name="codes",
    help="Compare fountain codes, and measure the speed of RaptorQ.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@codes.command(
    epilog=epilog("pullnet codes table", "pullnet codes table --symbols 1000 --lost 20 --trials 10000 --json")
)
def table(
    symbols: Annotated[int, typer.Option(min=4, max=4096, help="Source symbols K of a block.")] = 100,
    lost: Annotated[int, typer.Option(min=1, help="Source symbols that are lost.")] = 10,
    trials: Annotated[
        int, typer.Option(min=1, help="Random sets of symbols for each row; of LT, 2000 at most.")
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials.")] = 1,
    as_json: Json = False,
) -> None:
    """Compare RaptorQ, R10 and LT: limits and failure probability.

    The failure probability is that of decoding with K + 0, 1, 2, 5 and 10 symbols. Of LT also the number of XORs.
    """
    from pullnet import codes as measure

    few = min(trials, 2_000)
    failures = [
        measure.failure(
            code, symbols=symbols, lost=lost, overhead=more, trials=few if code == "lt" else trials, seed=seed
        )
        for code in ("raptorq", "r10", "lt")
        for more in (0, 1, 2, 5, 10)
    ]
    found: dict[str, Any] = {
        "limits": [asdict(row) for row in measure.limits()],
        "failures": [{**asdict(row), "rate": row.rate, "interval": row.interval} for row in failures],
        "lt": {"symbols": symbols, **asdict(measure.lt_operations(symbols, seed))},
    }
    if as_json:
        typer.echo(json_text.dumps(found))
    else:
        _show_table(found, failures)


def _show_table(found: dict[str, Any], failures: "list[Failure]") -> None:
    typer.echo("code     source symbols  encoding symbols  symbol B  blocks")
    for row in found["limits"]:
        typer.echo(
            f"{row['code']:<8} {row['source_symbols']:>14}  {row['encoding_symbols']:>16}  {row['symbol_bytes']:>8}  "
            f"{row['blocks']:>6}"
        )
    typer.echo(f"\nfailure probability, K = {failures[0].symbols}, {failures[0].lost} lost (95% interval)")
    for failure in failures:
        low, high = failure.interval
        typer.echo(
            f"{failure.code:<8} K + {failure.overhead:<3} {failure.rate:.3g}  ({low:.2g} to {high:.2g}; "
            f"{failure.failures} of {failure.trials})"
        )
    lt = found["lt"]
    typer.echo(
        f"\nLT, K = {lt['symbols']}: {lt['encode']:.3g} XORs per encoding symbol, "
        f"{lt['decode']:.3g} per decoded symbol, complete after {lt['used']:.3g} K symbols"
    )


@codes.command(epilog=epilog("pullnet codes speed", "pullnet codes speed --symbols 100 --symbol-bytes 1440"))
def speed(
    seconds: Annotated[
        float, typer.Option(min=0.001, max=60.0, metavar="SECONDS", help="CPU time for each measurement.")
    ] = 0.2,
    symbols: Annotated[int | None, typer.Option(min=1, max=56_403, help="Only this K.", show_default=False)] = None,
    symbol_bytes: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Bytes of a symbol, with --symbols; 1280 if not given.", show_default=False
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, as crates/core/codes/data/speed.csv.")] = False,
    as_json: Json = False,
) -> None:
    """Measure the CPU time of RaptorQ for a block on this machine.

    Encoding and decoding, on one core. A tenth of the source symbols is lost, and as many repair symbols and two
    more arrive.
    """
    from pullnet import codes as measure

    if symbols is None and symbol_bytes is not None:
        raise InputError("--symbol-bytes: is for one K; state --symbols too")
    if as_csv and as_json:
        raise InputError("--csv, --json: are two forms of the same; use one of them")
    rows = (
        measure.speeds(seconds) if symbols is None else [measure.speed(symbols, symbol_bytes or 1280, seconds=seconds)]
    )
    if as_json:
        typer.echo(json_text.dumps([row.as_dict() for row in rows]))
    elif as_csv:
        typer.echo(measure.csv(rows), nl=False)
    else:
        _show_speeds(rows)


def _show_speeds(rows: "list[Speed]") -> None:
    typer.echo("     K  symbol B  encode us   Gb/s  repair us  decode us     p90   Gb/s")
    for row in rows:
        typer.echo(
            f"{row.symbols:>6}  {row.symbol_bytes:>8}  {row.encode_us:>9.1f}  {row.encode_gbps:>5.2f}  "
            f"{row.repair_us:>9.3f}  {row.decode_us:>9.1f}  {row.decode_p90_us:>6.0f}  {row.decode_gbps:>5.2f}"
        )
