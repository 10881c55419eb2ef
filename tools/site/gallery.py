"""Makes the pictures of docs/gallery.md: reproduces their figures and copies them into docs/images/gallery. Minutes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from site_pages import ROOT

PICTURES = {
    "ndp/4": "fig4-latency",
    "ndp/14": "ndp-fig14-ndp-curve",
    "ndp/22": "ndp-fig22-penalty-curve",
}
"""Figure of a paper, and the name of the picture that `pullnet reproduce` draws of it."""


def main() -> None:
    """Run what is not there yet, and copy the pictures."""
    runs = ROOT / "target" / "gallery"
    target = ROOT / "docs" / "images" / "gallery"
    target.mkdir(parents=True, exist_ok=True)
    for figure, picture in PICTURES.items():
        paper = figure.partition("/")[0]
        command = [sys.executable, "-m", "pullnet", "reproduce", figure, "--quick", "--out", str(runs)]
        subprocess.run(command, check=True)
        shutil.copy(Path(runs, f"{paper}-quick", "figures", f"{picture}.png"), target)


if __name__ == "__main__":
    main()
