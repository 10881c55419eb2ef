"""The page of a study as a reader has it: in a browser, on a phone, in the dark, by ear, and without contradictions."""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pullnet.traffic import State, Volumes, fit
from pullnet.traffic.report import figures, pictures, write
from pullnet.traffic.report.summary import sentences
from pullnet.traffic.studies import Options, study
from pullnet.traffic.synthesis import law_of, synthesise

from .browser import CHROMIUM, Outline, check_page, needs_browser

OCTOBER = 1_790_812_800.0  # 2026-10-01 00:00 UTC


def trace(name: str, cv: float, seed: int, start: float = OCTOBER) -> Volumes:
    made = synthesise(law_of("log-normal", 5e9, cv), 2000, timescale=300.0, seed=seed, trace=name).volumes
    return Volumes(name, 300.0, start, made.bytes, made.state)


def bursty() -> Volumes:
    """Traffic that is silent as a rule: many short silences, which are no outage."""
    rng = np.random.Generator(np.random.PCG64(3))
    values = np.where(rng.random(3000) < 0.3, 0.0, rng.lognormal(10, 0.3, 3000))
    return Volumes("bursty", 1.0, OCTOBER, values, np.zeros(3000, dtype=np.uint8))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = study([trace("core-1", 0.3, 1), trace("core-2", 0.6, 2), bursty()], Options(stationarity=False))
    return write(found, tmp_path_factory.mktemp("report"))


@needs_browser
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(width: int, dark: bool, page: Path, tmp_path: Path) -> None:
    check_page(page, tmp_path, width, dark=dark)


@needs_browser
def test_a_screenshot_can_be_taken(page: Path, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    file = tmp_path / "page.png"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=1000,1400", f"--screenshot={file}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    from PIL import Image

    with Image.open(file) as shot:
        assert shot.size == (1000, 1400)
        assert len(shot.convert("RGB").getcolors(1 << 24) or []) > 100


def test_tables_are_accessible_and_pictures_come_before_them(page: Path) -> None:
    outline = Outline()
    outline.feed(page.read_text(encoding="utf-8"))
    assert outline.bad == []
    assert outline.captions == outline.order.count("table") >= 4
    assert outline.order.index("figure") < outline.order.index("table")
    assert outline.order.count("h1") == 1
    assert 'lang="en"' in page.read_text(encoding="utf-8")


def test_the_summary_is_three_sentences_with_dates_and_capacities(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    summary = re.search(r'<div class="summary".*?</div>', text, re.DOTALL)
    assert summary is not None
    said = re.findall(r"<p>(.*?)</p>", summary[0])
    assert len(said) == 3
    assert "from 2026-10-01 00:00 to 2026-10-07 22:40 (UTC)" in said[0]
    assert "the log-normal describes 2; 1 has a mass" in said[1]
    # The traces have unlike lengths of intervals, and the one that needs most has the longer ones.
    assert "1 % of the intervals of 5 min of core-2, which needs most, need more" in said[2]
    assert "it has to carry" in said[2]
    assert "Gbit/s" in text and "Capacities in Gbit/s" in text


def test_the_capacity_picture_has_dates(tmp_path: Path) -> None:
    found = study([trace("core-1", 0.3, 1)], Options(stationarity=False))
    (picture,) = figures.capacities(found)
    assert (picture.x, picture.dates) == ("date (UTC)", True)
    assert next(iter(picture.series.values()))[0][0] == OCTOBER
    relative = study([trace("core-1", 0.3, 1, start=0.0)], Options(stationarity=False))
    (picture,) = figures.capacities(relative)
    assert (picture.x, picture.dates) == ("time since the beginning (s)", False)


def test_dates_are_written_at_the_axis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = study([trace("core-1", 0.3, 1)], Options(stationarity=False))
    (picture,) = figures.capacities(found)
    drawn: list[Figure] = []
    save = Figure.savefig

    def kept(figure: Figure, *args: Any, **options: Any) -> None:
        drawn.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    pictures.write(picture, tmp_path)
    (axes,) = drawn[0].axes
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert "Oct" in shown


def test_traces_of_any_burstiness_can_be_told_apart_in_one_histogram() -> None:
    """The peaks of a trace that is silent most of the time are thousands of times its mean."""
    rare = np.zeros(2000)
    rare[::50] = np.arange(1, 41) * 1e6
    found = study(
        [trace("core-1", 0.3, 1), Volumes("rare", 1.0, 0.0, rare, np.zeros(2000, np.uint8))],
        Options(stationarity=False),
    )
    (density,) = figures.densities(found)
    assert len(density.series) == 2
    for points in density.series.values():
        edges, shares = np.array(list(points)).T
        assert edges[0] == 0
        assert edges[-1] == pytest.approx(1.5)
        assert shares.sum() == pytest.approx(1)
    steady = np.array(next(points for name, points in density.series.items() if "core-1" in name))
    assert np.count_nonzero(steady[:, 1] > 0.001) > 20, "a trace that is drawn in a few steps cannot be read"


def test_silences_are_not_called_an_outage_and_no_picture_contradicts_the_verdict() -> None:
    found = fit(bursty())
    assert "the link was silent part of the time" in found.verdict
    volumes = bursty()
    state = np.where(volumes.bytes == 0, State.OUTAGE, State.OK).astype(np.uint8)
    assert "the link was out part of the time" in fit(Volumes("x", 1.0, 0.0, volumes.bytes, state)).verdict
    examined = study([bursty(), trace("core-1", 0.3, 1)], Options(stationarity=False))
    (density,) = figures.densities(examined)
    assert list(density.series) == ["core-1, 5 min: log-normal fits", "bursty, 1 s: near zero"]
    assert "outage" not in density.caption
    alone = study([bursty()], Options(stationarity=False))
    (density,) = figures.densities(alone)
    assert list(density.series) == ["bursty, 1 s: near zero"]
    assert "No model fits" in sentences(alone)[1]
