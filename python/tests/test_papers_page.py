"""The page of a reproduction: figures in pairs, verdicts with reasons, and readable wherever it is opened."""

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.legend import Legend

from pullnet import pictures
from pullnet.papers import beside, model, page
from pullnet.papers.judge import MET, NOT_MET, NOT_RUN, Measured, Outcome
from pullnet.papers.picture import Picture
from pullnet.papers.reproduce import Order, Reproduction

from .browser import Outline, check_page, needs_browser

CURVE = Picture("c", "a curve", "time (s)", "Gb/s", {"": [(0.0, 1.0), (1.0, 3.0)]}, {"": [(0.0, 2.0), (1.0, 9.0)]})
ALONE = Picture("d", "a distribution", "us", "share", {"a": [(1.0, 0.0), (100.0, 1.0)]}, log=True)


def claims() -> list[model.Claim]:
    paper = model.load("ndp")
    return [claim for claim in paper.claims if isinstance(claim.expected, (int, float))][:3]


def reproduction(seeds: list[int] | None = None) -> Reproduction:
    one, two, three = (replace(claim, figure="19", unit="ms", expected=5.0) for claim in claims())
    outcomes = [
        Outcome(one, MET, Measured(5.0, note="mean of 3 runs"), "5", ""),
        Outcome(two, NOT_MET, Measured(700.0), "700", "the paper's <NIC> is faster"),
        Outcome(replace(three, figure=""), NOT_RUN, None, "", "needs hardware"),
    ]
    order = Order(model.load("ndp"), "19", "quick", seeds, Path("out"))
    return Reproduction(order, outcomes, {"19": [CURVE, ALONE]})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return page.write(reproduction([1, 2]), ["warning: in 1 of 2 runs: flows did not end"], folder / "report.html")


@needs_browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(width: int, dark: bool, file: Path, tmp_path: Path) -> None:
    check_page(file, tmp_path, width, dark=dark)


def test_it_says_what_was_run_when_and_how_to_run_it_again(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "<code>pullnet reproduce ndp/19 --quick --seeds 1,2</code>" in text
    assert re.search(r"pullnet \d+\.\d+\.\d+ \(core [0-9a-f]{12}\) on \d{4}-\d\d-\d\d \d\d:\d\d UTC", text)
    assert "warning: in 1 of 2 runs: flows did not end" in text
    assert "the paper&#39;s &lt;NIC&gt; is faster" in text
    assert "mean of 3 runs" in text and "needs hardware" in text
    for verdict in ("met", "not-met", "not-run"):
        assert f'<td class="verdict {verdict}">' in text


def test_it_needs_no_other_file(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    addresses = re.findall(r"""(?:src|href)="([^"]*)""", text)
    assert addresses and all(address.startswith(("data:image/png;base64,", "#")) for address in addresses)
    assert "<script" not in text and "url(" not in text and "@import" not in text


def test_tables_and_pictures_are_described(file: Path) -> None:
    outline = Outline()
    outline.feed(file.read_text(encoding="utf-8"))
    assert outline.bad == []
    assert outline.captions == outline.order.count("table") == 2
    assert outline.order.count("h1") == 1
    # The curve and the values come in pairs; nothing of the distribution is in the claims.
    assert outline.order.count("figure") == 5
    assert "state no numbers" in file.read_text(encoding="utf-8")


def test_both_panels_have_the_same_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    limits = []
    save = Figure.savefig

    def noted(figure: Figure, *arguments: object, **options: object) -> None:
        (axes,) = figure.axes
        limits.append((axes.get_xlim(), axes.get_ylim()))
        save(figure, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", noted)
    beside.of_picture(CURVE)
    (pair,) = beside.of_values(reproduction().outcomes)
    assert limits[0] == limits[1] and limits[2] == limits[3]
    assert limits[0][1][0] < 1.0 < 9.0 < limits[0][1][1]
    assert pair.title == "Values in ms"


def test_claims_in_words_are_in_no_picture() -> None:
    outcome = reproduction().outcomes[0]
    words = replace(outcome, claim=replace(outcome.claim, expected="NDP is faster"))
    truth = replace(outcome, claim=replace(outcome.claim, unit="boolean"))
    assert beside.of_values([words, truth]) == []


@pytest.mark.parametrize("lines", [2, pictures.MOST_INSIDE, pictures.MOST_INSIDE + 1, 30])
def test_a_legend_leaves_room_for_the_lines_and_each_of_them_looks_different(lines: int) -> None:
    figure, axes = pictures.sheet(7, 4.5, lines)
    for number in range(lines):
        axes.plot([0, 1], [0, number], label=f"setting {number}, 2000/s")
    pictures.legend(axes, "small")
    figure.draw_without_rendering()
    room, entries = axes.get_window_extent(), [*axes.findobj(Legend), *figure.legends][-1].get_window_extent()
    assert room.height > 0.7 * figure.bbox.height
    assert room.width > 4.5 * figure.dpi
    assert entries.height < figure.bbox.height
    assert lines <= pictures.MOST_INSIDE or entries.x0 >= room.x1
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == lines


def test_a_picture_of_thirty_lines_is_drawn_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    many = {f"setting {number}, 2000/s": [(0.0, 1.0), (1.0, float(number))] for number in range(30)}
    assert beside.of_picture(replace(CURVE, ours=many, paper={})).ours
    assert not recwarn.list


def test_both_panels_of_a_pair_are_of_one_size_however_many_lines_each_has() -> None:
    many = {f"setting {number}": [(0.0, 1.0), (1.0, float(number))] for number in range(30)}
    pair = beside.of_picture(replace(CURVE, ours=many))
    sizes = {struct.unpack(">II", panel[16:24]) for panel in (pair.ours, pair.paper)}
    assert len(sizes) == 1, "the size stands in the header of a PNG"
