"""Verdicts as a table, as JSON and as CSV."""

import csv
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pullnet import json_text
from pullnet.papers.judge import MET, NOT_MET, NOT_RUN, PAPER_WRONG, VERDICTS, Outcome, number

STYLES = {MET: "green", NOT_MET: "red", PAPER_WRONG: "magenta", NOT_RUN: "dim"}


def show(outcomes: list[Outcome], console: Console) -> None:
    """Print a line for each claim, then why claims are not met, then counts."""
    table = Table(box=None, pad_edge=False)
    for column in ("claim", "priority", "expected", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    for outcome in outcomes:
        claim = outcome.claim
        verdict = f"[{STYLES[outcome.verdict]}]{outcome.verdict}[/]"
        table.add_row(claim.id, str(claim.priority), expected(outcome), outcome.text or "-", verdict)
    console.print(table)
    for outcome in outcomes:
        if outcome.verdict in (NOT_MET, PAPER_WRONG) and outcome.why:
            console.print(f"{outcome.claim.id}: {outcome.why}", markup=False, highlight=False)
    console.print(counts(outcomes), markup=False)


def expected(outcome: Outcome) -> str:
    """Write what the paper says, with its unit."""
    claim = outcome.claim
    match claim.expected:
        case list() as bounds:
            text = " to ".join(number(bound) for bound in bounds)
        case str() as words:
            return words
        case value:
            text = number(float(value))
    return text if claim.unit in ("", "boolean", "-") else f"{text} {claim.unit}"


def counts(outcomes: list[Outcome]) -> str:
    """How many claims of each priority came out how."""
    lines = []
    for priority in sorted({outcome.claim.priority for outcome in outcomes}):
        chosen = [outcome.verdict for outcome in outcomes if outcome.claim.priority == priority]
        parts = [f"{chosen.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in chosen]
        lines.append(f"priority {priority}: {', '.join(parts)}")
    return "\n".join(lines)


def as_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """One object for each claim."""
    return [_object(outcome) for outcome in outcomes]


def _object(outcome: Outcome) -> dict[str, Any]:
    claim, measured = outcome.claim, outcome.measured
    return {
        "id": claim.id,
        "source": claim.source,
        "priority": claim.priority,
        "setup": claim.setup,
        "metric": claim.metric,
        "expected": claim.expected,
        "measured": _measured(outcome),
        "unit": claim.unit,
        "tolerance": claim.tolerance,
        "accept": dict(claim.accept),
        "verdict": outcome.verdict,
        "why": outcome.why,
        "note": measured.note if measured else "",
    }


def _measured(outcome: Outcome) -> object:
    """Return a number, the points of a curve, or words."""
    measured = outcome.measured
    if measured is None or outcome.verdict == NOT_RUN:
        return None
    if measured.curve is not None:
        return [list(row) for row in measured.curve]
    return measured.value if measured.value is not None else outcome.text


def write(outcomes: list[Outcome], out: Path, name: str = "claims") -> None:
    """Write NAME.json and NAME.csv into the output directory."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json_text.dumps(as_json(outcomes)) + "\n", encoding="utf-8")
    with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["claim", "priority", "expected", "accepted", "measured", "verdict", "note", "why"])
        for outcome in outcomes:
            note = outcome.measured.note if outcome.measured else ""
            head = [
                outcome.claim.id,
                outcome.claim.priority,
                expected(outcome),
                json_text.dumps(outcome.claim.accept, indent=None),
            ]
            writer.writerow([*head, outcome.text, outcome.verdict, note, outcome.why])
