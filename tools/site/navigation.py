"""The order of the site's pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reference import MODULES

Entry = dict[str, Any]

_LEARN = [
    {"Tutorial": "tutorial.md"},
    {"Write a transport": "write-a-transport.md"},
    {"From htsim": "from-htsim.md"},
    {"From ns-3": "from-ns3.md"},
    {"Asked elsewhere, answered here": "asked.md"},
    {"Gallery": "gallery.md"},
]

_REFERENCE = [
    {"Scenario": "scenario.md"},
    {"Results": "results.md"},
    {"Topologies": "topologies.md"},
    {"Files": "formats.md"},
    {"Commands": "reference/commands.md"},
    {"C": "reference/c.md"},
]

_HANDBOOK = [
    {"Python": "python.md"},
    {"Sweeps": "sweep.md"},
    {"Traffic volumes": "traffic.md"},
    {"Hosts on Linux": "host.md"},
    {"Switches of real frames": "switch.md"},
    {"Testbed": "testbed.md"},
    {"Codes": "codes.md"},
    {"Files": "objects.md"},
    {"Performance": "performance.md"},
]

_PROJECT = [
    {"Architecture": "project/architecture.md"},
    {"Contributing": "project/contributing.md"},
    {"Glossary": "project/glossary.md"},
    {"Changes": "project/changelog.md"},
]


def navigation(pages: Path) -> list[Entry]:
    """Return the tabs of the site. Pages of the handbook that are not listed come last, by their names."""
    guides = [{_title(page): f"how-to/{page.name}"} for page in sorted((pages / "how-to").glob("*.md"))]
    python = [{name: f"reference/{name}.md"} for name in MODULES]
    listed = {str(value) for entry in [*_LEARN, *_REFERENCE, *_HANDBOOK] for value in entry.values()} | {"index.md"}
    others = [{_title(page): page.name} for page in sorted(pages.glob("*.md")) if page.name not in listed]
    return [
        {"Home": "index.md"},
        {"Learn": _LEARN},
        {"How to": guides},
        {"Handbook": [*_HANDBOOK, *others]},
        {"Reference": [*_REFERENCE, {"Python": python}]},
        {"Protocols": ["protocols/index.md", *_all(pages / "protocols", pages)]},
        {"Papers": _all(pages / "papers", pages)},
        {"Project": [*_PROJECT, {"Code": _all(pages / "code", pages)}]},
    ]


def _all(folder: Path, pages: Path) -> list[str]:
    return [str(page.relative_to(pages)) for page in sorted(folder.rglob("*.md")) if page.name != "index.md"]


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
