"""Measurements of codes: they end, and refuse what cannot be measured."""

import pytest

from pullnet import InputError, codes


def test_a_block_without_losses_is_measured_too() -> None:
    found = codes.speed(10, lost=0, seconds=0.001)
    assert found.lost == 0
    assert found.samples >= 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seconds": float("nan")}, "seconds: nan is out of range"),
        ({"seconds": float("inf")}, "seconds: inf is out of range"),
        ({"seconds": 0.0}, "seconds: 0.0 is out of range"),
        ({"lost": 11}, "lost: 11 is more than the 10 source symbols"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        codes.speed(10, **arguments)  # type: ignore[arg-type]
