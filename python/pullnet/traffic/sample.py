"""Samples: what a model is fitted to, checked once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pullnet.errors import InputError

Floats = NDArray[np.float64]


class SampleError(InputError):
    """Numbers that nothing can be estimated from."""


def _text(value: object) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:.6g}"


def _as_floats(sample: ArrayLike, what: str) -> Floats:
    try:
        values = np.asarray(sample, dtype=np.float64)
    except (TypeError, ValueError):
        raise SampleError(f"{what}: {_culprit(sample)}; give numbers") from None
    if values.ndim != 1:
        raise SampleError(f"{what}: has {values.ndim} dimensions; give a series of numbers")
    return values


def _culprit(sample: object) -> str:
    if isinstance(sample, Sequence) and not isinstance(sample, str):
        for index, value in enumerate(sample):
            try:
                float(value)
            except (TypeError, ValueError):
                return f"value {index} is {value!r}"
    return "is not a series of numbers"


def _refuse(values: Floats, wrong: NDArray[np.bool_], what: str, remedy: str) -> None:
    index = int(np.argmax(wrong)) if wrong.size else 0
    if wrong.size and wrong[index]:
        count = int(np.count_nonzero(wrong))
        others = f" (and {count - 1} more)" if count > 1 else ""
        raise SampleError(f"{what}: value {index} is {_text(float(values[index]))}{others}; {remedy}")


def checked(sample: ArrayLike, what: str = "sample", *, negative: bool = False) -> Floats:
    """`sample` as an array of float64, or an error that names the first wrong value by its index (from 0).

    Wrong are an empty sample, text, NaN, an infinity and, unless `negative`, values below zero. `what` names the sample
    in the error.
    """
    values = _as_floats(sample, what)
    if values.size == 0:
        raise SampleError(f"{what}: is empty; at least 2 values are needed")
    _refuse(values, np.isnan(values), what, "drop what was not measured before fitting")
    _refuse(values, np.isinf(values), what, "drop it or give its true value")
    if not negative:
        _refuse(values, values < 0, what, "a volume is zero or more")
    return values


def varied(values: Floats, what: str, needed_by: str) -> Floats:
    """`values`, if they have the spread that a fit needs; an error if there is one value or all are equal."""
    if values.size == 0:
        raise SampleError(f"{what}: no value is left for {needed_by}; at least 2 different ones are needed")
    if values.size == 1:
        raise SampleError(f"{what}: has one value; {needed_by} needs at least 2 different ones")
    if values.min() == values.max():
        raise SampleError(
            f"{what}: all {values.size} values are {_text(float(values[0]))}; {needed_by} needs at least 2 different ones"
        )
    return values
