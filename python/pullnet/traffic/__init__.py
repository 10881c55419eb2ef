"""Traffic volumes: reading, fitting, dimensioning, billing, stationarity, synthesis.

>>> from pullnet import traffic
>>> volumes = traffic.read("capture.pcap", timescales="100ms,1s")
>>> traffic.write(volumes, "volumes.parquet")

What needs a large library is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pullnet.traffic.coerce import as_volumes
from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import DamagedInput, Note, Reading, Source, load, read
from pullnet.traffic.volumes import State, Volumes

if TYPE_CHECKING:
    from pullnet.traffic.files import write
    from pullnet.traffic.fitting import Fitting, PowerLawFit, PowerLawSearch, fit, fit_many, fit_power_law
    from pullnet.traffic.models import MODELS, Evidence, Exponential, Gaussian, LogNormal, Model, PowerLaw, Weibull
    from pullnet.traffic.sample import SampleError

_LAZY = {
    "MODELS": "pullnet.traffic.models",
    "Evidence": "pullnet.traffic.models",
    "Exponential": "pullnet.traffic.models",
    "Fitting": "pullnet.traffic.fitting",
    "Gaussian": "pullnet.traffic.models",
    "LogNormal": "pullnet.traffic.models",
    "Model": "pullnet.traffic.models",
    "PowerLaw": "pullnet.traffic.models",
    "PowerLawFit": "pullnet.traffic.fitting",
    "PowerLawSearch": "pullnet.traffic.fitting",
    "SampleError": "pullnet.traffic.sample",
    "Weibull": "pullnet.traffic.models",
    "fit": "pullnet.traffic.fitting",
    "fit_many": "pullnet.traffic.fitting",
    "fit_power_law": "pullnet.traffic.fitting",
    "write": "pullnet.traffic.files",
}
"""Where names live that are imported when first used."""

__all__ = [
    "MODELS",
    "DamagedInput",
    "Evidence",
    "Exponential",
    "Fitting",
    "Gaussian",
    "LogNormal",
    "Model",
    "Note",
    "PowerLaw",
    "PowerLawFit",
    "PowerLawSearch",
    "Reading",
    "SampleError",
    "Source",
    "State",
    "TrafficError",
    "Volumes",
    "Weibull",
    "as_volumes",
    "fit",
    "fit_many",
    "fit_power_law",
    "load",
    "read",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import what is lazy."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
