"""Claims against the reference: what a source says is not changed on the way into a claim, or the claim says why."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from pullnet.papers import model
from pullnet.papers.model import Claim


def reference() -> dict[str, dict[str, Any]]:
    folder = (model.folder() / "ndp").resolve().parent
    return tomllib.loads((folder / "reference.toml").read_text(encoding="utf-8"))


def claims() -> list[Claim]:
    return [claim for name in model.names() for claim in model.load(name).claims]


def numbers(text: str) -> list[float]:
    """Numbers in a sentence."""
    return [float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])\d[\d,]*\.?\d*(?:e-?\d+)?", text)]


def stated(value: object) -> list[float]:
    """Numbers of an expected value."""
    match value:
        case str():
            return numbers(value)
        case list():
            return [float(number) for number in value]
        case _:
            return [float(str(value))]


def allowed(entry: dict[str, Any]) -> set[float]:
    """Every bound that follows from the expected value and the tolerance: stated, or so far or so many percent away."""
    distances, expected = numbers(entry["tolerance"]), stated(entry["expected"])
    bounds = {*distances, *expected, *(distance / 100 for distance in distances)}
    for value in expected:
        for distance in distances:
            bounds |= {value + distance, value - distance}
            bounds |= {value * (1 + sign * distance / scale) for sign in (1, -1) for scale in (1, 100)}
    return bounds


def accepted(accept: Any) -> list[float]:
    """Bounds of a claim."""
    keys = ("from", "to", "within", "within_relative")
    return [float(part[key]) for part in (accept, *accept.get("bands", [])) for key in keys if key in part]


def differences(claim: Claim, entry: dict[str, Any]) -> Iterator[str]:
    """Differences between a claim and the reference."""
    if claim.expected != entry["expected"]:
        yield f"expects {claim.expected!r} for {entry['expected']!r}"
    if claim.priority != entry["priority"]:
        yield f"has priority {claim.priority} for {entry['priority']}"
    known = allowed(entry)
    for bound in accepted(claim.accept):
        if not any(abs(bound - other) <= 1e-6 * max(1.0, abs(bound)) for other in known):
            yield f"accepts up to {bound:g} where the reference says: {entry['tolerance']}"


def test_every_deviation_from_the_reference_has_its_reason() -> None:
    entries, unexplained = reference(), []
    for claim in claims():
        found = list(differences(claim, entries[claim.id])) if claim.id in entries else []
        for difference in found:
            print(f"{claim.id}: {difference}\n    {claim.deviation or 'NO REASON'}")
        if bool(found) != bool(claim.deviation) and claim.id in entries:
            unexplained.append((claim.id, found, claim.deviation))
    assert unexplained == []


def test_a_changed_claim_is_noticed() -> None:
    entry = {"expected": 7.55, "priority": 1, "tolerance": "Within 0.1 Gb/s."}
    claim = next(claim for claim in claims() if claim.id == "ndp-fig21-fe")
    changes = {"expected": 7.55, "accept": {"from": 7.45, "to": 7.65}}
    assert list(differences(Claim(**(vars(claim) | changes)), entry)) == []
    for other in ({"expected": 7.5}, {"priority": 2}, {"accept": {"from": 7.4, "to": 7.65}}):
        assert len(list(differences(Claim(**(vars(claim) | changes | other)), entry))) == 1


def test_no_id_is_in_two_papers() -> None:
    ids = [claim.id for claim in claims()]
    assert sorted(ids) == sorted(set(ids))


def test_an_explanation_is_of_its_claim_and_not_of_many() -> None:
    texts = [claim.why for claim in claims() if claim.why]
    stock = {text for text in texts if texts.count(text) > 2}
    assert stock == set()
