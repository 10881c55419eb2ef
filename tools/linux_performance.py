"""Measures what this machine does (`pullnet reproduce ndp-linux`) and writes the table of docs/performance.md.

Everything in the table is a ratio to something measured in the same run, or a time that the line dictates. Run it on a
quiet machine, as root.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from pages import PERFORMANCE, ROOT, put

ROWS = {
    "linux-calls-tcp": "1 kB call on a new connection, both ends spinning: NDP over TCP, medians",
    "linux-calls-tfo": "the same: NDP over TCP Fast Open",
    "ndp-fig8-ndp-median": "the same: NDP, and processor time of both ends per call (us)",
    "linux-incast-1g": "7:1 incast of 450 kB, 1 Gb/s and 1500 B: last flow over optimum, median of 20",
    "linux-incast-1g-p90": "the same: 90th percentile over median",
    "linux-incast-5g": "7:1 incast of 450 kB, 5 Gb/s and 9000 B: last flow over optimum, median of 20",
    "linux-incast-5g-p90": "the same: 90th percentile over median",
    "linux-incast-tcp-tail": "7:1 incast of 450 kB, 1 Gb/s: TCP cubic, 90th percentile of the last flow (us)",
    "linux-pacing-1500": "pacing of pulls at 12.1 us: median error (us)",
    "linux-pacing-9000": "pacing of pulls at 14.4 us: median error (us)",
    "ndp-fig13-imperfect-incast": "that spacing in the simulator, 200:1 incasts: largest difference (share)",
}
"""Claims of the paper's folder, and what they are called in the table."""


def measure(level: str, out: Path) -> list[dict[str, Any]]:
    """Repeat the measurements and return the claims."""
    command = [ROOT / ".venv/bin/pullnet", "reproduce", "ndp-linux", f"--{level}", "--out", out]
    subprocess.run([str(part) for part in command if part != "--full"], check=True, cwd=ROOT)
    claims: list[dict[str, Any]] = json.loads((out / f"ndp-linux-{level}" / "claims.json").read_text())
    return claims


def table(claims: list[dict[str, Any]]) -> str:
    """Rows for those claims that were measured."""
    by_id = {claim["id"]: claim for claim in claims}
    lines = ["| what | aim | measured | verdict |", "|---|---|--:|---|"]
    for name, what in ROWS.items():
        claim = by_id[name]
        measured = claim["measured"]
        value = f"{measured:.3g}" if isinstance(measured, float) and measured < 1e5 else f"{measured}"
        beside = ", ".join(part for part in claim["note"].split(", ") if "_us" in part or "_error" in part)
        lines.append(
            f"| {what} | {claim['tolerance']} | {value}{f' ({beside})' if beside else ''} | {claim['verdict']} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--level", choices=["smoke", "quick", "full"], default="full")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "linux-performance")
    arguments = parser.parse_args()
    found = table(measure(arguments.level, arguments.out))
    if arguments.write:
        put(PERFORMANCE, "linux_performance", found)
    else:
        print(found)


if __name__ == "__main__":
    main()
