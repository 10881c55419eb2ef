"""Samples: what a model is fitted to, checked once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pullnet.traffic.error import TrafficError

Floats = NDArray[np.float64]

_ROUNDING = 1e-12


class SampleError(TrafficError):
    """Numbers that nothing can be estimated from."""


def _as_floats(sample: ArrayLike, where: str) -> Floats:
    remedy = "give a series of numbers"
    try:
        values = np.asarray(sample, dtype=np.float64)
    except (TypeError, ValueError):
        raise SampleError(_culprit(sample), where=where, remedy=remedy) from None
    if values.ndim != 1:
        raise SampleError(f"has {values.ndim} dimensions", where=where, value=values.shape, remedy=remedy)
    return values


def _culprit(sample: object) -> str:
    if isinstance(sample, Sequence) and not isinstance(sample, str):
        for index, value in enumerate(sample):
            try:
                float(value)
            except (TypeError, ValueError):
                return f"value {index} is {value!r}"
    return "is not a series of numbers"


def _refuse(values: Floats, wrong: NDArray[np.bool_], where: str, remedy: str) -> None:
    if not wrong.any():
        return
    index, count = int(np.argmax(wrong)), int(np.count_nonzero(wrong))
    others = f" (and {count - 1} more)" if count > 1 else ""
    value = float(values[index])
    raise SampleError(f"is {value:g}{others}", where=f"{where}, value {index}", value=value, remedy=remedy)


def checked(sample: ArrayLike, where: str = "sample") -> Floats:
    """`sample` as an array of float64, or an error that names the first wrong value by its index (from 0).

    Wrong are an empty sample, text, NaN, infinities, values below zero, and values beyond 1e150 or its reciprocal.
    `where` names the sample in the error.
    """
    values = _as_floats(sample, where)
    if values.size == 0:
        raise SampleError("is empty", where=where, remedy="give at least 2 different values")
    _refuse(values, np.isnan(values), where, "drop what was not measured before fitting")
    _refuse(values, np.isinf(values), where, "drop it or give its true value")
    _refuse(values, values < 0, where, "a volume is at least 0")
    # Squares stay within floating point.
    _refuse(values, (values > 1e150) | ((values > 0) & (values < 1e-150)), where, "use 0 or 1e-150 to 1e150")
    return values


def constant(values: Floats) -> bool:
    """Whether all of `values` are equal but for rounding: no logarithm or variance can tell them apart."""
    top = float(values.max())
    return top - float(values.min()) <= _ROUNDING * top


def varied(values: Floats, where: str, needed_by: str) -> Floats:
    """`values`, if they have the spread that a fit needs; an error if there is one value or all are equal."""
    remedy = f"{needed_by} needs at least 2 different values"
    if values.size == 0:
        raise SampleError("no value is left", where=where, remedy=remedy)
    if values.size == 1:
        raise SampleError(f"has one value, {values[0]:g}", where=where, value=float(values[0]), remedy=remedy)
    if constant(values):
        rounded = "" if values.min() == values.max() else " but for rounding"
        what = f"all {values.size} values are {values[0]:g}{rounded}"
        raise SampleError(what, where=where, value=float(values[0]), remedy=remedy)
    return values
