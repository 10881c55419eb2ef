"""Invoices of many links as one file: PDF to be read, CSV to be calculated with."""

import csv
import os
import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from pullnet.arguments import typed
from pullnet.files import whole
from pullnet.traffic.billing.bill import Bill
from pullnet.traffic.billing.money import Money
from pullnet.traffic.billing.words import explain, mbps
from pullnet.traffic.error import TrafficError
from pullnet.traffic.source import PathLike, shown_ending

COLUMNS = (
    *("link", "period", "zone", "slots", "known", "rule", "rank", "gaps", "percentile"),
    *("rate_mbps", "commitment_mbps", "amount", "currency"),
)
"""Of the CSV: a row for each link, and a last one with the sum of each currency."""

_LINKS_ON_A_PAGE = 28
_PAGE = (8.27, 11.69)  # A4. Unit: inch.


def check_place(path: PathLike) -> Path:
    """Refuse a place where `write_invoice` could put nothing."""
    file = Path(path)
    if file.suffix.lower() not in (".pdf", ".csv"):
        raise TrafficError(shown_ending(file), where=str(path), remedy="use .pdf or .csv")
    if not file.parent.is_dir():
        raise TrafficError(f"there is no folder `{file.parent}`", where=str(path), remedy="make it first")
    return file


@typed
def write_invoice(bills: Sequence[Bill], path: PathLike, *, title: str = "Invoice") -> None:
    """Write the bills of one or many links as PDF or CSV, by the ending of `path`."""
    file = check_place(path)
    if not bills:
        raise TrafficError("no bills to write", where=str(path), remedy="give at least one link")
    try:
        with whole(file):
            if file.suffix.lower() == ".csv":
                _csv(bills, file)
            else:
                _pdf(bills, file, title)
    except OSError as error:
        cause = os.strerror(error.errno) if error.errno else str(error)
        raise TrafficError(f"cannot be written: {cause}", where=str(path), remedy="choose another place") from None


def totals(bills: Sequence[Bill]) -> list[Money]:
    """Sum what is to be paid, by currency. Each bill is rounded for itself, so that the sum is that of the rows."""
    sums: dict[str, Fraction] = {}
    for each in bills:
        if each.amount is not None:
            sums[each.amount.currency] = sums.get(each.amount.currency, Fraction(0)) + Fraction(each.amount.amount)
    return [Money.exactly(total, currency) for currency, total in sums.items()]


def _csv(bills: Sequence[Bill], file: Path) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for each in bills:
            terms, period, amount = each.terms, each.period, each.amount
            writer.writerow(
                [
                    *(
                        _no_formula(each.link),
                        period.name or f"{period.clock(period.start)} to {period.clock(period.end)}",
                    ),
                    *(period.zone, period.count, min(len(line.values) for line in each.lines)),
                    *(terms.rule, terms.rank, terms.gaps, f"{float(terms.percentile * 100):g}"),
                    *(_exactly(each.rate), _exactly(Fraction(terms.commitment))),
                    *(("", "") if amount is None else (amount.amount, amount.currency)),
                ]
            )
        blanks = [""] * (len(COLUMNS) - 3)
        writer.writerows(["total", *blanks, total.amount, total.currency] for total in totals(bills))


def _no_formula(name: str) -> str:
    """Keep a spreadsheet from taking a name, which may be a stranger's, for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _exactly(rate: Fraction) -> str:
    """Return bit/s as Mbit/s, to the bit/s."""
    return f"{float(rate) / 1e6:.6f}"


def _pdf(bills: Sequence[Bill], file: Path, title: str) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(file, metadata={"Title": title, "Creator": "pullnet", "CreationDate": None}) as pages:
        for number, first in enumerate(range(0, len(bills), _LINKS_ON_A_PAGE), 1):
            part = bills[first : first + _LINKS_ON_A_PAGE]
            last = first + len(part) == len(bills)
            _list(pages, part, totals(bills) if last else [], f"{title}, page {number}" if number > 1 else title)
        for each in bills:
            _explained(pages, each)


def _page(pages: Any) -> Iterator[Any]:
    from matplotlib.figure import Figure  # not by pyplot, whose backend is the caller's

    figure = Figure(figsize=_PAGE)
    yield figure
    pages.savefig(figure)


def _list(pages: Any, bills: Sequence[Bill], sums: list[Money], title: str) -> None:
    rows = [[each.link[:44], each.period.name or "-", mbps(each.rate), str(each.amount or "-")] for each in bills] + [
        ["total", "", "", str(total)] for total in sums
    ]
    for figure in _page(pages):
        figure.text(0.08, 0.94, title, fontsize=18, weight="bold", parse_math=False)
        axes = figure.add_axes((0.08, 0.06, 0.84, 0.86))
        axes.axis("off")
        heads = ["link", "period", "95th percentile or as agreed", "to be paid"]
        made = axes.table(
            cellText=[[_plain(cell) for cell in row] for row in rows],
            colLabels=heads,
            colWidths=[0.42, 0.12, 0.26, 0.2],
            cellLoc="right",
            colLoc="right",
            loc="upper left",
            edges="horizontal",
        )
        made.auto_set_font_size(False)
        made.set_fontsize(8)
        made.scale(1, 1.5)
        for row in range(len(rows) + 1):
            made[row, 0].set_text_props(horizontalalignment="left")


def _plain(text: str) -> str:
    """Keep matplotlib from reading dollar signs as formulas."""
    return text.replace("$", r"\$")


def _explained(pages: Any, each: Bill) -> None:
    for figure in _page(pages):
        figure.text(0.08, 0.94, each.link[:60], fontsize=14, weight="bold", parse_math=False)
        lines = textwrap.wrap(explain(each), 96)
        figure.text(0.08, 0.91, "\n".join(lines), fontsize=9, va="top", linespacing=1.5, parse_math=False)
