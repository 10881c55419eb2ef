"""Verdicts: what counts as met, and what does not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pullnet.papers.judge import MET, NOT_MET, NOT_RUN, PAPER_WRONG, Measured, allowed, judge, number
from pullnet.papers.model import Claim


def claim(**changes: object) -> Claim:
    given: dict[str, object] = {
        "id": "x", "source": "", "figure": "", "priority": 1, "setup": "", "metric": "", "expected": 1.0, "unit": "us",
        "tolerance": "", "accept": {}, "measure": "", "parameters": {}, "curve": [], "why": "because", "tests": [],
        "impossible": "",
    }  # fmt: skip
    return Claim(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.91, MET), (0.95, MET), (0.93, MET), (0.9099, NOT_MET), (0.9501, NOT_MET)]
)
def test_a_number_has_to_lie_in_its_range(value: float, verdict: str) -> None:
    assert judge(claim(accept={"from": 0.91, "to": 0.95}), Measured(value)).verdict == verdict


def test_a_range_may_be_open() -> None:
    assert judge(claim(accept={"to": 0}), Measured(0.0)).verdict == MET
    assert judge(claim(accept={"to": 0}), Measured(1.0)).verdict == NOT_MET
    assert judge(claim(accept={"from": 5}), Measured(math.inf)).verdict == MET


def test_a_number_may_be_a_distance_from_the_expected_one() -> None:
    near = claim(expected=2.0, accept={"within": 0.1})
    assert judge(near, Measured(2.1)).verdict == judge(near, Measured(1.9)).verdict == MET
    assert judge(near, Measured(2.11)).verdict == judge(near, Measured(1.89)).verdict == NOT_MET
    wider = claim(expected=-200, accept={"within": 1, "within_relative": 0.1, "to": -190})
    assert judge(wider, Measured(-220.0)).verdict == MET
    assert judge(wider, Measured(-221.0)).verdict == judge(wider, Measured(-185.0)).verdict == NOT_MET


def test_a_property_may_be_expected_not_to_hold() -> None:
    assert judge(claim(accept={"holds": False}), Measured(holds=False)).verdict == MET
    assert judge(claim(accept={"holds": False}), Measured(holds=True)).verdict == NOT_MET


def test_only_a_claim_that_is_not_met_is_explained() -> None:
    assert judge(claim(accept={"to": 1}), Measured(1.0)).why == ""
    assert judge(claim(accept={"to": 1}), Measured(2.0)).why == "because"


def test_what_nobody_has_explained_says_so() -> None:
    assert "no experiment" in judge(claim(accept={"to": 1}, why=""), Measured(2.0)).why


def test_a_property_holds_or_not() -> None:
    assert judge(claim(), Measured(holds=True)).verdict == MET
    assert judge(claim(), Measured(holds=False)).verdict == NOT_MET
    assert judge(claim(), Measured(note="nowhere")).verdict == NOT_RUN


def test_a_value_inside_with_a_property_broken_is_not_met() -> None:
    assert judge(claim(accept={"to": 2}), Measured(1.0, holds=False)).verdict == NOT_MET
    inside = Measured(curve=[(1, 5.0)], holds=False)
    assert judge(claim(accept={"within": 1}, curve=[(1, 5.0)]), inside).verdict == NOT_MET


def test_what_a_bound_rules_out_is_the_papers_fault() -> None:
    assert judge(claim(accept={"to": 1, "ruled_out": True}), Measured(2.0)).verdict == PAPER_WRONG
    assert judge(claim(accept={"to": 1, "ruled_out": True}), Measured(1.0)).verdict == MET


def test_every_point_of_a_curve_counts() -> None:
    curve = [(1.0, 10.0), (2.0, 20.0)]
    near = claim(accept={"within": 0.5}, curve=curve)
    assert judge(near, Measured(curve=[(1, 10.5), (2, 19.5)])).verdict == MET
    assert judge(near, Measured(curve=[(1, 10.0), (2, 20.6)])).verdict == NOT_MET


def test_points_that_were_not_run_do_not_count_but_some_must_be() -> None:
    curve = [(1.0, 10.0), (2.0, 20.0)]
    near = claim(accept={"within": 0.5}, curve=curve)
    assert judge(near, Measured(curve=[(2, 20.0)])).verdict == MET
    assert judge(near, Measured(curve=[(3, 20.0)])).verdict == NOT_MET


def test_a_curve_of_two_columns_is_compared_in_both() -> None:
    pair = claim(accept={"within": 0.02, "within_relative": 0.1}, curve=[(8.0, 1.0, 0.01)])
    assert judge(pair, Measured(curve=[(8, 1.1, 0.03)])).verdict == MET
    assert judge(pair, Measured(curve=[(8, 1.1, 0.04)])).verdict == NOT_MET
    assert judge(pair, Measured(curve=[(8, 1.11, 0.01)])).verdict == NOT_MET


def test_bands_have_their_own_width() -> None:
    bands = {"bands": [{"below": 30, "within": 0.8}, {"within": 0.2}]}
    assert allowed(bands, 29, 0.0) == 0.8
    assert allowed(bands, 30, 0.0) == 0.2


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_number_is_written_to_five_digits(value: float) -> None:
    assert math.isclose(float(number(value)), value, rel_tol=5e-3)
