"""Puts the pages of the documentation site together: `assemble.py TARGET` makes TARGET/src and TARGET/mkdocs.yml.

Pages are the Markdown files of the repository. Links between them are made to fit the site, files that they link to
become pages, and the reference is made from the code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from navigation import navigation
from reference import MODULES, command_page, header_page, protocols_page, python_page
from site_pages import PROTOCOLS, ROOT, PageError, Site, fail


def assemble(target: Path) -> None:
    """Write all pages and the settings of mkdocs."""
    shutil.rmtree(target, ignore_errors=True)
    site = Site(target / "src")
    for source in site.pages:
        site.put(source)
    for name in MODULES:
        site.write(Path("reference") / f"{name}.md", python_page(name))
    site.write(Path("reference/commands.md"), command_page())
    site.write(Path("reference/c.md"), header_page())
    site.write(Path("protocols/index.md"), protocols_page())
    for drawing in PROTOCOLS.glob("*/states.svg"):
        _draw(site, drawing)
    (target / "mkdocs.yml").write_text(json.dumps(_settings(target), indent=1), encoding="utf-8")


def _draw(site: Site, drawing: Path) -> None:
    """Put a protocol's state machine below the title of its page."""
    name = drawing.parent.name
    page = site.target / "protocols" / f"{name}.md"
    shutil.copy(drawing, site.target / "protocols" / f"{name}.svg")
    figure = f"![State machine of {name}: sender and receiver]({name}.svg)"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"\A(# .*\n)", rf"\1\n{figure}\n", text), encoding="utf-8")


def _settings(target: Path) -> dict[str, Any]:
    """Return what stands beside tools/site/mkdocs.yml: JSON is YAML, too."""
    mkdocs = ROOT / "tools" / "site" / "mkdocs.yml"
    return {
        "INHERIT": os.path.relpath(mkdocs, target),
        "docs_dir": "src",
        "site_dir": "html",
        "nav": navigation(target / "src"),
        "plugins": {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT / "python")]}}}},
    }


if __name__ == "__main__":
    try:
        assemble(Path(sys.argv[1]).absolute())
    except PageError as error:
        fail(error)
