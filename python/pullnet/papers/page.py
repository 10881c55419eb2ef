"""A reproduction as one self-contained page: the paper's figures beside ours, verdicts, reasons, and the command."""

import base64
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from pullnet._core import __version__
from pullnet.papers import beside, report
from pullnet.papers.judge import VERDICTS, Outcome
from pullnet.papers.model import folder
from pullnet.papers.reproduce import Order, Reproduction
from pullnet.runs.identity import core_identity

LEVELS = {
    "smoke": "Smoke: a few short runs, which show that everything works. Most claims are not run at this level.",
    "quick": "Quick: shorter runs, fewer points and fewer seeds than the paper.",
    "full": "Full: as far as the paper went.",
}


@dataclass(frozen=True)
class Row:
    """A claim as the page shows it."""

    outcome: Outcome
    expected: str
    note: str


@dataclass(frozen=True)
class Section:
    """A figure of the paper."""

    name: str
    pairs: list[beside.Pair]
    rows: list[Row]


def write(found: Reproduction, warnings: list[str], path: Path) -> Path:
    """Write the page; return its path."""
    environment = Environment(
        loader=PackageLoader("pullnet.papers", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"embedded": _embedded, "css": _css}
    text = environment.get_template("report.html.j2").render(
        paper=found.order.paper,
        level=LEVELS[found.order.level],
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        core=core_identity()[:12],
        command=command(found.order),
        runs=len(found.order.tasks),
        seeds=_seeds(found.order),
        counts=report.counts(found.outcomes).splitlines(),
        verdicts=[(verdict, sum(each.verdict == verdict for each in found.outcomes)) for verdict in VERDICTS],
        warnings=warnings,
        sections=sections(found),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def sections(found: Reproduction) -> list[Section]:
    """Return a section for each figure, in the order of the claims; what belongs to none comes last."""
    names = dict.fromkeys([*(each.claim.figure for each in found.outcomes), *found.pictures])
    return [_section(name, found) for name in sorted(names, key=lambda name: not name)]


def _section(name: str, found: Reproduction) -> Section:
    outcomes = [each for each in found.outcomes if each.claim.figure == name]
    pairs = [beside.of_picture(picture) for picture in found.pictures.get(name, [])] + beside.of_values(outcomes)
    rows = [Row(each, report.expected(each), each.measured.note if each.measured else "") for each in outcomes]
    return Section(_title(name), pairs, rows)


def _title(name: str) -> str:
    return f"Figure {name}" if name[:1].isdigit() else name[:1].upper() + name[1:] or "Other claims"


def command(order: Order) -> str:
    """Return the command that repeats the order from nothing."""
    paper = order.paper
    place = paper.name if paper.folder.parent == folder() else paper.folder.as_posix()
    what = place + (f"/{order.figure}" if order.figure else "")
    options = [] if order.level == "full" else [f"--{order.level}"]
    if order.seeds:
        options += ["--seeds", ",".join(map(str, order.seeds))]
    return shlex.join(["pullnet", "reproduce", what, *options])


def _seeds(order: Order) -> str:
    seeds = sorted({task.seed for task in order.tasks})
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds)) or "none"


def _embedded(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _css(verdict: str) -> str:
    return verdict.replace(" ", "-")
