"""Functions from the runs of experiments to what was measured, by the names that claims use."""

import typing
from importlib import import_module
from inspect import isfunction, signature

from pullnet.papers.judge import Measured
from pullnet.papers.measures.data import Data, Measure, MissingRunsError

__all__ = ["ALL", "Data", "Measure", "MissingRunsError", "kinds_of"]

_MODULES = (
    "baselines",
    "classes",
    "comparison",
    "deadlines",
    "flows",
    "incast",
    "linux",
    "long_flows",
    "metrics",
    "network",
    "probe",
    "properties",
    "sessions",
    "sharing",
    "side_by_side",
    "slowdowns",
    "sweeps",
    "volumes",
)

ALL: dict[str, Measure] = {
    name: function
    for module in (import_module(f"{__name__}.{name}") for name in _MODULES)
    for name, function in vars(module).items()
    if isfunction(function) and getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
}
"""Every public function of these modules is a measure."""


def kinds_of(measure: Measure) -> tuple[type[Measured], ...]:
    """Return the kinds of measurement that a measure may give, as its return type states them."""
    returned = signature(measure).return_annotation
    return typing.get_args(returned) or (returned,)
