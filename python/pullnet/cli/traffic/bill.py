"""`pullnet traffic bill`."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from pullnet.cli.console import Output
from pullnet.cli.traffic.common import AsJson, Quiet, leave, print_json, say, table
from pullnet.cli.traffic.inputs import Inputs, reads, refuse_replacing
from pullnet.traffic.billing import (
    Bill,
    Forecast,
    Gaps,
    Link,
    Period,
    Price,
    Rank,
    Row,
    Rule,
    Terms,
    compare,
    explain,
    forecast,
    headroom,
)
from pullnet.traffic.billing import bill as make
from pullnet.traffic.billing.forecast import COVERAGE, FEWEST
from pullnet.traffic.billing.invoice import check_place, write_invoice
from pullnet.traffic.billing.links import chosen
from pullnet.traffic.billing.percentile import share
from pullnet.traffic.billing.slots import coarsest, slot_times
from pullnet.traffic.billing.words import mbps
from pullnet.traffic.clock import zone_named
from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import bits_per_second, seconds
from pullnet.traffic.reading import Reading, is_capture


@reads
def bill(
    inputs: Inputs,
    rule: Annotated[
        Rule, typer.Option(help="Which direction counts. Larger is the only direction of a link that has one.")
    ] = Rule.LARGER,
    rank: Annotated[Rank, typer.Option(help="Which slot is the percentile.")] = Rank.NEAREST,
    percentile: Annotated[str, typer.Option(metavar="PERCENT", help="Percentile that is billed.")] = "95",
    slot: Annotated[str, typer.Option(metavar="TIME", help="Length of a slot.")] = "5min",
    month: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM", help="Month to bill; all that the files hold if not given.", show_default=False
        ),
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Clock by which a month begins and ends.")] = "UTC",
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Bill as if it were then, such as 2026-10-20T12:00; now if not given.",
            show_default=False,
        ),
    ] = None,
    gaps: Annotated[
        Gaps, typer.Option(help="Slots that are not fully known: left out, or what is not known counts as 0.")
    ] = Gaps.MISSING,
    commit: Annotated[
        str | None,
        typer.Option(metavar="RATE", help='Rate that is paid in any case, as "500 Mbps".', show_default=False),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="Price of a Mbit/s for the period, as 2.50.", show_default=False),
    ] = None,
    overage: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="Price of a Mbit/s beyond the commitment; the same unless given.", show_default=False
        ),
    ] = None,
    currency: Annotated[str, typer.Option(metavar="NAME", help="Name of the currency, as EUR.")] = "",
    inbound: Annotated[
        str | None, typer.Option("--in", metavar="TRACE", help="Inbound trace, by name.", show_default=False)
    ] = None,
    outbound: Annotated[
        str | None, typer.Option("--out", metavar="TRACE", help="Outbound trace, by name.", show_default=False)
    ] = None,
    invoice: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the bills of all links, .pdf or .csv.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the forecast's bootstrap.")] = 1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Bill a link by its 95th percentile.

    Explains the bill in words, and shows it by every other rule in use. Names of traces tell directions: "x in" and "x
    out", rx and tx, ifHCInOctets and ifHCOutOctets, and so on.
    """
    if invoice is not None:
        check_place(invoice)
        refuse_replacing(inputs.files, invoice)
    prices = _price(price, overage, currency)
    commitment = 0 if commit is None else round(bits_per_second(commit, "--commit"))
    terms = Terms(rule, rank, gaps, share(percentile), prices, commitment)
    length = seconds(slot, "--slot")
    period = None if month is None else Period.month(month, timezone, length, _when(as_of, timezone))
    reading = _read(inputs, quiet=quiet or as_json)
    links = chosen(coarsest(reading.volumes, length), inbound, outbound)
    bills = [make(link, period or _period(link, length, timezone), _fitting(terms, link)) for link in links]
    if invoice is not None:
        write_invoice(bills, invoice)
    if as_json:
        print_json({"bills": [_json(each, seed) for each in bills]}, reading)
    elif len(bills) == 1:
        _show(bills[0], seed)
    else:
        Output().print(_list(bills))
    leave(reading)


def _price(price: str | None, overage: str | None, currency: str) -> Price | None:
    if price is not None:
        return Price.per_mbps(price, currency, overage=overage)
    if overage is not None:
        raise TrafficError("--overage without --price", value=overage, remedy="give the price of the commitment, too")
    return None


def _when(as_of: str | None, zone: str) -> float | None:
    if as_of is None:
        return None
    try:
        when = datetime.fromisoformat(as_of)
    except ValueError:
        remedy = "use ISO 8601 such as 2026-10-20T12:00"
        raise TrafficError(f"--as-of: `{as_of}` is not a time", value=as_of, remedy=remedy) from None
    return (when if when.tzinfo else when.replace(tzinfo=zone_named(zone))).timestamp()


def _read(inputs: Inputs, *, quiet: bool) -> Reading:
    """Captures in bins of 1 s of the clock, which slots are made of; everything else as it is."""
    captures = [file for file in inputs.files if is_capture(str(file))]
    tables = [file for file in inputs.files if file not in captures]
    mixed = bool(captures and tables)
    parts = [inputs.of(captures, mixed).gather(timescale="1s", quiet=quiet, origin="aligned")] if captures else []
    parts += [inputs.of(tables, mixed).gather(quiet=quiet)] if tables else []
    return Reading(
        [item for part in parts for item in part.volumes], [source for part in parts for source in part.sources]
    )


def _period(link: Link, slot: float, zone: str) -> Period:
    """All that the directions of a link have in common time."""
    each = [Period.of(volumes, slot, zone) for volumes in link.directions().values()]
    return Period(min(part.start for part in each), max(part.end for part in each), slot, zone)


def _fitting(terms: Terms, link: Link) -> Terms:
    """`larger` of a single direction is that direction."""
    if terms.rule is Rule.LARGER and len(link.directions()) == 1:
        return replace(terms, rule=Rule.IN if link.inbound is not None else Rule.OUT)
    return terms


def _show(shown: Bill, seed: int) -> None:
    console = Output()
    say(console, explain(shown))
    console.print(_rules(shown))
    found = _foretold(shown, seed)
    if shown.to_come and not found:
        say(console, f"To foretell the end of the period at least {FEWEST} slots have to be known.")
    if found:
        console.print(_forecasts(shown, found))
        say(console, _method(found[0]))


def _foretold(shown: Bill, seed: int) -> list[Forecast]:
    enough = min(len(line.values) for line in shown.considered) >= FEWEST
    return forecast(shown, seed=seed) if enough else []


def _rules(shown: Bill) -> Table:
    rows = compare(shown)
    made = table(["rule", "rank", "gaps"], ["Mbit/s", "to be paid", "difference"], "by every rule")
    for row in rows:
        style = "bold" if _is_chosen(row, shown) else ""
        rate = mbps(row.rate).removesuffix(" Mbit/s")
        made.add_row(
            row.rule, row.rank, row.gaps, rate, str(row.amount or "-"), str(row.difference or "-"), style=style
        )
    return made


def _is_chosen(row: Row, shown: Bill) -> bool:
    return (row.rule, row.rank, row.gaps) == (shown.terms.rule, shown.terms.rank, shown.terms.gaps)


def _forecasts(shown: Bill, found: list[Forecast]) -> Table:
    title = f"at the end of the period, {shown.to_come:,} slots from now"
    made = table(["what is to come is"], ["Mbit/s", f"{100 * COVERAGE:g} % of replicates from", "to"], title)
    for each in found:
        made.add_row(each.law, *(f"{rate / 1e6:,.2f}" for rate in (each.rate, each.low, each.high)))
    return made


def _method(found: Forecast) -> str:
    return (
        f"The intervals are of a bootstrap of {found.replicates} months. Slots depend on their neighbours and on the "
        f"hour, so that blocks of {found.block} slots are drawn together. Trends and holidays are in no block."
    )


def _list(bills: list[Bill]) -> Table:
    made = table(["link"], ["slots", "known", "discarded", "Mbit/s", "to be paid"])
    for each in bills:
        known, discarded = min(len(line.values) for line in each.lines), max(line.discarded for line in each.lines)
        rate, amount = mbps(each.rate).removesuffix(" Mbit/s"), str(each.amount or "-")
        made.add_row(each.link, f"{each.period.count:,}", f"{known:,}", f"{discarded:,}", rate, amount)
    return made


def _json(of: Bill, seed: int) -> dict[str, Any]:
    terms, period = of.terms, of.period
    return {
        "link": of.link,
        "period": {"name": period.name, "start_s": period.start, "end_s": period.end, "zone": period.zone},
        "slot_s": period.slot,
        "slots": period.count,
        "slots_to_come": of.to_come,
        "rule": terms.rule,
        "rank": terms.rank,
        "gaps": terms.gaps,
        "percentile": float(terms.percentile * 100),
        "rate_bps": float(of.rate),
        "commitment_bps": terms.commitment,
        "amount": None if of.amount is None else str(of.amount.amount),
        "currency": None if of.amount is None else of.amount.currency,
        "directions": {
            name: {
                "trace": each.trace,
                "known": int(each.known.sum()),
                "partial": each.partial,
                "bins_outside": each.outside,
                "bins_shifted": each.shifted,
            }
            for name, each in of.directions.items()
        },
        "lines": list(_lines(of)),
        "headroom": [{**asdict(room), "left": room.left} for room in headroom(of)],
        "by_rule": [_row(row) for row in compare(of)],
        "forecast": [asdict(each) for each in _foretold(of, seed)],
        "words": explain(of),
    }


def _lines(of: Bill) -> Iterator[dict[str, Any]]:
    for line in of.considered:
        times = [slot_times(of.period, index)[0] for index in line.billed]
        yield {
            "of": line.name,
            "slots": len(line.values),
            "discarded": line.discarded,
            "rate_bps": float(line.rate),
            "billed_slots": times,
            "charged": line in of.lines,
        }


def _row(row: Row) -> dict[str, Any]:
    money = {name: None if sum_ is None else str(sum_.amount) for name, sum_ in _money(row)}
    return {"rule": row.rule, "rank": row.rank, "gaps": row.gaps, "rate_bps": float(row.rate), **money}


def _money(row: Row) -> tuple[tuple[str, Any], ...]:
    return ("amount", row.amount), ("difference", row.difference)
