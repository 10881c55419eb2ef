"""Comparing what was measured with what was expected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pullnet.papers.model import Claim, Curve

MET = "met"
NOT_MET = "not met"
PAPER_WRONG = "paper wrong"
NOT_RUN = "not run"
UNEXPLAINED = "no experiment has found the cause yet"
"""Explanation of a claim that is not met and has no explanation of its own."""
VERDICTS = (MET, NOT_MET, PAPER_WRONG, NOT_RUN)


@dataclass(frozen=True)
class Measured:
    """A measurement: a number, a curve, or whether an ordering or a property holds. `note` says how it was taken."""

    value: float | None = None
    curve: Curve | None = None
    holds: bool | None = None
    note: str = ""
    details: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A verdict with what it rests on."""

    claim: Claim
    verdict: str
    measured: Measured | None
    text: str
    """The measurement, in a few words."""
    why: str


def judge(claim: Claim, measured: Measured) -> Outcome:
    """Verdict on a claim. One that is not met and that a bound rules out (`ruled_out`) is the paper's fault."""
    if measured.curve is None and measured.value is None and measured.holds is None:
        return Outcome(claim, NOT_RUN, measured, "", measured.note)
    met, text = measured.holds is not False, _details(measured)
    if measured.curve is not None:
        inside, text = _curve(claim, measured.curve)
        met = met and inside
    elif measured.value is not None:
        text = number(measured.value)
        met = met and _within(measured.value, claim.accept)
    verdict = MET if met else PAPER_WRONG if claim.accept.get("ruled_out") else NOT_MET
    return Outcome(claim, verdict, measured, text, "" if met else claim.why or UNEXPLAINED)


def _within(value: float, accept: Mapping[str, Any]) -> bool:
    # Verdicts agree with printed values of five digits: none depends on the last bit of a division.
    slack = 1e-9 * max(1.0, abs(value))
    return bool(accept.get("from", -1e300) - slack <= value <= accept.get("to", 1e300) + slack)


def number(value: float) -> str:
    """Write a number with five digits at most."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.0f}"
    return f"{value:.3g}"


def _details(measured: Measured) -> str:
    if measured.details:
        return ", ".join(f"{name} {number(value)}" for name, value in measured.details.items())
    return "holds" if measured.holds else "does not hold"


def _curve(claim: Claim, measured: Curve) -> tuple[bool, str]:
    """All points inside? Points are rows x, y, ...; every column but the first is compared."""
    ours = {row[0]: row[1:] for row in measured}
    pairs = [(row[0], want, got) for row in claim.curve if row[0] in ours for want, got in zip_columns(row, ours)]
    outside = [(x, got - want) for x, want, got in pairs if abs(got - want) > allowed(claim.accept, x, want) + 1e-9]
    worst = max(pairs, key=lambda pair: abs(pair[2] - pair[1]) / allowed(claim.accept, pair[0], pair[1]), default=None)
    if worst is None:
        return False, "no point of the curve was run"
    text = f"{len(pairs) - len(outside)} of {len(pairs)} values inside; "
    text += f"worst at {number(worst[0])}: {number(worst[2])} for {number(worst[1])}"
    return not outside, text


def zip_columns(row: tuple[float, ...], ours: dict[float, tuple[float, ...]]) -> list[tuple[float, float]]:
    """Pair the paper's values at a point with ours."""
    return list(zip(row[1:], ours[row[0]], strict=False))


def allowed(accept: Mapping[str, Any], x: float, want: float) -> float:
    """How far a point may be off: the widest of the stated absolute and relative distances."""
    for band in accept.get("bands", [accept]):
        if x < band.get("below", 1e300):
            return float(max(band.get("within", 0.0), abs(want) * band.get("within_relative", 0.0), 1e-12))
    return 1e-12
