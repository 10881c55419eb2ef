"""Pages as a reader has them: in a browser of some width, in the dark, and by ear."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (on Debian: apt-get install chromium)"
)
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


def check_page(page: Path, folder: Path, width: int, *, dark: bool) -> None:
    """Check that nothing of a page is wider than the browser, and that its text can be read."""
    found = in_browser(page, folder, width, *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    assert found["scroll"] == found["width"]  # tables scroll, the page does not
    assert width - 20 <= int(str(found["width"])) <= width  # a scroll bar takes some
    assert found["pictures"] is True
    assert found["tables"] == found["inside"] != 0
    paper, ink = light(found["background"]), light(found["ink"])
    assert (paper < 0.05) is dark
    # WCAG requires a contrast of 4.5, and of 7 for its strictest level.
    assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) >= 7


class Outline(HTMLParser):
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
