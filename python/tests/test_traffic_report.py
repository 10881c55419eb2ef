"""The page of a study as a reader has it: in a browser, on a phone, in the dark, by ear, and without contradictions."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pullnet.traffic import State, Volumes, fit
from pullnet.traffic.report import figures, write
from pullnet.traffic.report.summary import sentences
from pullnet.traffic.studies import Options, study
from pullnet.traffic.synthesis import law_of, synthesise

CHROMIUM = shutil.which("chromium")
OCTOBER = 1_790_812_800.0  # 2026-10-01 00:00 UTC

PROBE = """<!doctype html><iframe id="f" style="width:{width}px;height:900px;border:0"></iframe>
<pre id="out"></pre><script>
const f = document.getElementById("f");
f.onload = () => {{
  const d = f.contentDocument, root = d.documentElement, style = f.contentWindow.getComputedStyle(d.body);
  const wide = [...d.querySelectorAll(".wide")];
  document.getElementById("out").textContent = "FOUND" + JSON.stringify({{
    width: root.clientWidth, scroll: root.scrollWidth, background: style.backgroundColor, ink: style.color,
    pictures: [...d.images].every(each => each.naturalWidth > 300 && each.clientWidth <= root.clientWidth),
    tables: d.querySelectorAll("table").length, inside: d.querySelectorAll(".wide > table").length,
    scrolling: wide.filter(each => each.scrollWidth > each.clientWidth).length}}) + "END";
}};
f.srcdoc = {page};
</script>"""


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


def in_browser(page: Path, folder: Path, width: int, *flags: str) -> dict[str, object]:
    assert CHROMIUM is not None
    text = json.dumps(page.read_text(encoding="utf-8")).replace("</", "<\\/")
    probe = folder / "probe.html"
    probe.write_text(PROBE.format(width=width, page=text), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += [*flags, "--virtual-time-budget=5000", "--dump-dom", probe.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    match = re.search(r"FOUND(\{.*?\})END</pre>", dom)
    assert match is not None, dom[:400]
    found: dict[str, object] = json.loads(match[1])
    return found


def light(color: object) -> float:
    red, green, blue = (int(part) / 255 for part in re.findall(r"[0-9]+", str(color))[:3])
    shade: float = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return shade


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (on Debian: apt-get install chromium)")
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(width: int, dark: bool, page: Path, tmp_path: Path) -> None:
    found = in_browser(page, tmp_path, width, *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    assert found["scroll"] == found["width"]  # tables scroll, the page does not
    assert width - 20 <= int(str(found["width"])) <= width  # a scroll bar takes some
    assert found["pictures"] is True
    assert found["tables"] == found["inside"] != 0
    paper, ink = light(found["background"]), light(found["ink"])
    assert (paper < 0.05) is dark
    # WCAG requires a contrast of 4.5, and of 7 for its strictest level.
    assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) >= 7


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (on Debian: apt-get install chromium)")
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


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []
        self.bad: list[str] = []
        self.captions = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("h1", "h2", "figure", "table"):
            self.order.append(tag)
        if tag == "caption":
            self.captions += 1
        if tag == "th" and given.get("scope") not in ("col", "row"):
            self.bad.append("th without a scope")
        if tag == "img" and len(given.get("alt") or "") < 20:
            self.bad.append("img without a description")


def test_tables_are_accessible_and_pictures_come_before_them(page: Path) -> None:
    outline = _Outline()
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
