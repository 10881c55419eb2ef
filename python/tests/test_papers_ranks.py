"""The rank test by which one run of a paper is compared with many of ours."""

import math

import pytest

from pullnet.papers.measures.incast import _combined, _rank


@pytest.mark.parametrize(("value", "chance"), [(0.0, 0.1), (1.5, 0.2), (10.0, 1.0), (30.0, 0.1)])
def test_a_rank_far_out_is_unlikely(value: float, chance: float) -> None:
    assert _rank(value, [float(n) for n in range(1, 20)]) == pytest.approx(chance)


def test_one_test_alone_keeps_its_chance() -> None:
    assert _combined([0.05]) == pytest.approx(0.05)


def test_many_unlikely_ranks_are_more_unlikely_together() -> None:
    assert _combined([0.1] * 11) < 0.001
    assert _combined([1.0] * 11) == pytest.approx(1.0)


def test_two_tests_follow_the_known_formula() -> None:
    # Of two, Fisher's statistic gives p q (1 - ln(p q)).
    product = 0.3 * 0.2
    assert _combined([0.3, 0.2]) == pytest.approx(product * (1 - math.log(product)))
