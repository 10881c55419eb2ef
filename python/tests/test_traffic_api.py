"""The whole of traffic under `pullnet.traffic`, what a notebook shows of its results, and invoices."""

import csv
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from pullnet import traffic
from pullnet.sweeps.figure import draw
from pullnet.traffic import TrafficError, Volumes
from pullnet.traffic.report import pictures
from tests.conftest import Pullnet

OCTOBER = 1_790_812_800.0


def trace(name: str, seed: int = 1, days: int = 31) -> Volumes:
    values = np.random.default_rng(seed).lognormal(22, 0.4, days * 288)
    return Volumes(name, 300.0, OCTOBER, values, np.zeros(values.size, dtype=np.uint8))


def billed(name: str, seed: int = 1) -> traffic.Bill:
    link = traffic.Link(name, trace(f"{name} in", seed), trace(f"{name} out", seed + 100))
    terms = traffic.Terms(price=traffic.Price.per_mbps("2.50", "EUR"), commitment=100_000_000)
    return traffic.bill(link, traffic.Period.month("2026-10", as_of=OCTOBER + 40 * 86400), terms)


def test_every_name_is_there_and_no_module_hides_a_function() -> None:
    text = (
        "from pullnet import traffic\n"
        "for name in traffic.__all__: getattr(traffic, name)\n"
        "import pullnet.traffic.dimensioning, pullnet.traffic.stationary, pullnet.traffic.studies\n"
        "import pullnet.traffic.report\n"
        "bad = [name for name in traffic.__all__ if type(getattr(traffic, name)).__name__ == 'module']\n"
        "assert not bad, bad\n"
        "assert set(traffic.__all__) <= set(dir(traffic))\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_importing_it_is_cheap() -> None:
    text = "import sys; from pullnet import traffic; assert 'scipy' not in sys.modules and 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_the_functions_work_from_there(tmp_path: Path) -> None:
    volumes = trace("uplink in", days=7)
    assert traffic.dimension(volumes, eps=[0.01]).of("empirical", 0.01).exceeded <= 0.01
    assert traffic.stationarity(volumes, windows=()).samples == len(volumes)
    found = traffic.study([volumes], traffic.studies.Options(stationarity=False))
    assert traffic.write_report(found, tmp_path / "r").is_file()
    assert traffic.pair([volumes])[0].name == "uplink"


class _Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_notebooks_show_tables() -> None:
    volumes = trace("<b>&", days=7)
    shown: dict[str, Any] = {
        "fit": traffic.fit(volumes),
        "dimension": traffic.dimension(volumes),
        "bill": billed("<b>&"),
        "study": traffic.study([volumes], traffic.studies.Options(stationarity=False)),
        "volumes": volumes,
    }
    for name, result in shown.items():
        text = result._repr_html_()
        parsed = _Cells(text)
        assert parsed.open == [], name
        assert parsed.cells >= 3, name
        assert "<b>" not in text and "&lt;b&gt;&amp;" in text, name
    assert traffic.fit(volumes).verdict in shown["fit"]._repr_html_()
    assert str(billed("x").amount) in billed("x")._repr_html_()


def test_an_invoice_of_many_links_as_csv(tmp_path: Path) -> None:
    bills = [billed(f"link {number}", number) for number in range(40)]
    traffic.write_invoice(bills, tmp_path / "i.csv")
    *rows, total = csv.DictReader((tmp_path / "i.csv").open(encoding="utf-8"))
    assert [row["link"] for row in rows] == [each.link for each in bills]
    assert [Decimal(row["amount"]) for row in rows] == [each.amount.amount for each in bills if each.amount]
    assert Decimal(total["amount"]) == sum(Decimal(row["amount"]) for row in rows)
    assert (total["link"], total["currency"]) == ("total", "EUR")
    assert float(rows[3]["rate_mbps"]) == pytest.approx(float(bills[3].rate) / 1e6, abs=1e-6)


@pytest.mark.long
def test_an_invoice_of_many_links_as_pdf(tmp_path: Path) -> None:
    bills = [billed(f"link $x_{number}$", number) for number in range(30)]
    traffic.write_invoice(bills, tmp_path / "i.pdf", title="October")
    content = (tmp_path / "i.pdf").read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    # Two pages of the list, and one for each link.
    assert content.count(b"/Type /Page ") + content.count(b"/Type /Page\n") == 32


def test_links_of_an_invoice_begin_at_the_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[Figure] = []
    monkeypatch.setattr(PdfPages, "savefig", lambda _, figure: pages.append(figure))
    traffic.write_invoice([billed("a"), billed("b", 1)], tmp_path / "i.pdf")
    cells = pages[0].axes[0].tables[0].get_celld()
    sides = [
        {cell.get_text().get_horizontalalignment() for (_, at), cell in cells.items() if at == column}
        for column in range(4)
    ]
    assert sides == [{"left"}, {"right"}, {"right"}, {"right"}]


def test_pictures_leave_the_backend_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook goes on to show its own pictures."""
    used: list[str] = []
    monkeypatch.setattr(matplotlib, "use", used.append)
    before = pyplot.get_fignums()
    traffic.write_invoice([billed("a")], tmp_path / "i.pdf")
    pictures.write(pictures.Picture("p", "title", "x", "y", {"line": [(0.0, 1.0)]}, "caption"), tmp_path)
    points = pl.DataFrame({"metric": ["fct_us.mean"], "mean": [1.0]})
    runs = pl.DataFrame({"seed": [1], "fct_us.mean": [1.0]})
    assert draw(points, runs, [], "fct_us.mean", tmp_path / "sweep.png")
    assert (used, pyplot.get_fignums()) == ([], before)


@pytest.mark.long
def test_the_command_writes_an_invoice(pullnet: Pullnet, tmp_path: Path) -> None:
    traffic.write([trace("a in"), trace("a out", 2), trace("b in", 3)], tmp_path / "v.parquet")
    price = ("--price", "2.50", "--currency", "EUR", "--month", "2026-10")
    for name in ("i.csv", "i.pdf"):
        done = pullnet("traffic", "bill", "v.parquet", *price, "--invoice", name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 100
    refused = pullnet("traffic", "bill", "v.parquet", *price, "--invoice", "i.doc")
    assert refused.returncode == 2
    assert "i.doc: ends in `.doc`; use .pdf or .csv" in refused.stderr
    with pytest.raises(TrafficError, match="no bills"):
        traffic.write_invoice([], tmp_path / "x.csv")
