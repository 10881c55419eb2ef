"""Comparing what was measured with what was expected."""

import math
from collections.abc import Iterator, Mapping, Sequence
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


class MeasuredNumber(Measured):
    """A number; `holds` is a property that has to hold beside it."""


class MeasuredCurve(Measured):
    """A curve; `holds` is a property that has to hold beside it."""


class MeasuredProperty(Measured):
    """Whether an ordering or a property holds; `value` and `details` are shown beside it."""


BOUNDS: dict[type[Measured], tuple[str, ...]] = {
    MeasuredNumber: ("from", "to", "within", "within_relative"),
    MeasuredCurve: ("within", "within_relative", "bands"),
    MeasuredProperty: ("holds",),
}
"""Keys of `accept` that each kind of measurement can be judged by."""


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
    met, text = measured.holds in (None, claim.accept.get("holds", True)), _details(measured)
    if measured.curve is not None:
        inside, text = _curve(claim, measured.curve)
        met = met and inside
    elif measured.value is not None:
        text = number(measured.value)
        met = met and _within(measured.value, claim)
    verdict = MET if met else PAPER_WRONG if claim.accept.get("ruled_out") else NOT_MET
    return Outcome(claim, verdict, measured, text, "" if met else claim.why or UNEXPLAINED)


def unfit(claim: Claim, kinds: Sequence[type[Measured]]) -> Iterator[tuple[str, str]]:
    """Return the keys of a claim that a measurement of these kinds cannot be judged by, each with the reason."""
    fitting = list(dict.fromkeys(key for kind in kinds for key in BOUNDS[kind]))
    stated = [key for key in claim.accept if key != "ruled_out"]
    for key in stated:
        if key not in fitting:
            what = " or ".join(_WHAT[kind] for kind in kinds)
            yield f"accept.{key}", f"measure {claim.measure} gives {what}; use {', '.join(fitting)}"
    if MeasuredCurve in kinds and not claim.curve:
        yield "curve", "is missing; write the points of the source, for instance curve = [[1, 2.5], [2, 5]]"
    distance = next((key for key in _DISTANCES if key in stated), "")
    if MeasuredNumber in kinds and distance and not isinstance(claim.expected, int | float):
        yield (
            f"accept.{distance}",
            f"is a distance from expected = {claim.expected!r}, which is no number; use from, to",
        )


_WHAT = {
    MeasuredNumber: "a number",
    MeasuredCurve: "a curve",
    MeasuredProperty: "whether something holds",
}
_DISTANCES = ("within", "within_relative")


def _within(value: float, claim: Claim) -> bool:
    """Whether a number is inside the stated range and near enough to the expected number."""
    accept = claim.accept
    # Verdicts agree with printed values of five digits: none depends on the last bit of a division.
    slack = 1e-9 * max(1.0, abs(value))
    inside = bool(accept.get("from", -math.inf) - slack <= value <= accept.get("to", math.inf) + slack)
    if isinstance(claim.expected, int | float) and any(key in accept for key in _DISTANCES):
        inside = inside and abs(value - claim.expected) <= _distance(accept, claim.expected) + slack
    return inside


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
            return _distance(band, want)
    return 1e-12


def _distance(stated: Mapping[str, Any], want: float) -> float:
    return float(max(stated.get("within", 0.0), abs(want) * stated.get("within_relative", 0.0), 1e-12))
