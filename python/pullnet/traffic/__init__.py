"""Traffic volumes: reading, fitting, dimensioning, billing, stationarity, synthesis.

>>> from pullnet import traffic
>>> volumes = traffic.read("capture.pcap", timescales="100ms,1s")
>>> traffic.fit(volumes[0])                                     # which law; a notebook shows a table
>>> traffic.dimension(volumes[0], eps=[0.01])                   # how large the link must be
>>> traffic.bill(traffic.pair(volumes)[0], traffic.Period.month("2026-10"))
>>> traffic.stationarity(volumes[0]), traffic.study(volumes)
>>> traffic.write(volumes, "volumes.parquet")

Parts that need a large library are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pullnet.html import show_by
from pullnet.traffic.coerce import as_volumes
from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import DamagedInput, Reading, load, read
from pullnet.traffic.source import Note, Source
from pullnet.traffic.volumes import State, Volumes

if TYPE_CHECKING:
    from pullnet.traffic.billing.bill import Bill, Link, Rule, Terms, bill, compare
    from pullnet.traffic.billing.forecast import forecast
    from pullnet.traffic.billing.headroom import headroom
    from pullnet.traffic.billing.invoice import write_invoice
    from pullnet.traffic.billing.links import pair
    from pullnet.traffic.billing.money import Money, Price
    from pullnet.traffic.billing.percentile import Rank
    from pullnet.traffic.billing.slots import Gaps, Period
    from pullnet.traffic.billing.words import explain
    from pullnet.traffic.dimensioning import EPSILONS, Dimensioning, dimension, score
    from pullnet.traffic.files import write
    from pullnet.traffic.fitting import Fitting, PowerLawFit, PowerLawSearch, fit, fit_many, fit_power_law
    from pullnet.traffic.fitting.criteria import Criteria
    from pullnet.traffic.further import FURTHER_MODELS, Gamma, LogLogistic
    from pullnet.traffic.models import MODELS, Evidence, Exponential, Gaussian, LogNormal, Model, PowerLaw, Weibull
    from pullnet.traffic.report import write as write_report
    from pullnet.traffic.sample import SampleError
    from pullnet.traffic.stationary import Stationarity, stationarity
    from pullnet.traffic.studies import Study, study
    from pullnet.traffic.synthesis import Synthetic, law_of, long_memory, measured_memory, synthesise

_LAZY = {
    "Bill": "pullnet.traffic.billing.bill",
    "Criteria": "pullnet.traffic.fitting.criteria",
    "Dimensioning": "pullnet.traffic.dimensioning",
    "EPSILONS": "pullnet.traffic.dimensioning",
    "Evidence": "pullnet.traffic.models",
    "Exponential": "pullnet.traffic.models",
    "FURTHER_MODELS": "pullnet.traffic.further",
    "Fitting": "pullnet.traffic.fitting",
    "Gamma": "pullnet.traffic.further",
    "Gaps": "pullnet.traffic.billing.slots",
    "Gaussian": "pullnet.traffic.models",
    "Link": "pullnet.traffic.billing.bill",
    "LogLogistic": "pullnet.traffic.further",
    "LogNormal": "pullnet.traffic.models",
    "MODELS": "pullnet.traffic.models",
    "Model": "pullnet.traffic.models",
    "Money": "pullnet.traffic.billing.money",
    "Period": "pullnet.traffic.billing.slots",
    "PowerLaw": "pullnet.traffic.models",
    "PowerLawFit": "pullnet.traffic.fitting",
    "PowerLawSearch": "pullnet.traffic.fitting",
    "Price": "pullnet.traffic.billing.money",
    "Rank": "pullnet.traffic.billing.percentile",
    "Rule": "pullnet.traffic.billing.bill",
    "SampleError": "pullnet.traffic.sample",
    "Stationarity": "pullnet.traffic.stationary",
    "Study": "pullnet.traffic.studies",
    "Synthetic": "pullnet.traffic.synthesis",
    "Terms": "pullnet.traffic.billing.bill",
    "Weibull": "pullnet.traffic.models",
    "bill": "pullnet.traffic.billing.bill",
    "compare": "pullnet.traffic.billing.bill",
    "dimension": "pullnet.traffic.dimensioning",
    "explain": "pullnet.traffic.billing.words",
    "fit": "pullnet.traffic.fitting",
    "fit_many": "pullnet.traffic.fitting",
    "fit_power_law": "pullnet.traffic.fitting",
    "forecast": "pullnet.traffic.billing.forecast",
    "headroom": "pullnet.traffic.billing.headroom",
    "law_of": "pullnet.traffic.synthesis",
    "long_memory": "pullnet.traffic.synthesis",
    "measured_memory": "pullnet.traffic.synthesis",
    "pair": "pullnet.traffic.billing.links",
    "score": "pullnet.traffic.dimensioning",
    "stationarity": "pullnet.traffic.stationary",
    "study": "pullnet.traffic.studies",
    "synthesise": "pullnet.traffic.synthesis",
    "write": "pullnet.traffic.files",
    "write_invoice": "pullnet.traffic.billing.invoice",
    "write_report": "pullnet.traffic.report",
}
"""Where names live that are imported when first used."""

__all__ = [
    "EPSILONS",
    "FURTHER_MODELS",
    "MODELS",
    "Bill",
    "Criteria",
    "DamagedInput",
    "Dimensioning",
    "Evidence",
    "Exponential",
    "Fitting",
    "Gamma",
    "Gaps",
    "Gaussian",
    "Link",
    "LogLogistic",
    "LogNormal",
    "Model",
    "Money",
    "Note",
    "Period",
    "PowerLaw",
    "PowerLawFit",
    "PowerLawSearch",
    "Price",
    "Rank",
    "Reading",
    "Rule",
    "SampleError",
    "Source",
    "State",
    "Stationarity",
    "Study",
    "Synthetic",
    "Terms",
    "TrafficError",
    "Volumes",
    "Weibull",
    "as_volumes",
    "bill",
    "compare",
    "dimension",
    "explain",
    "fit",
    "fit_many",
    "fit_power_law",
    "forecast",
    "headroom",
    "law_of",
    "load",
    "long_memory",
    "measured_memory",
    "pair",
    "read",
    "score",
    "stationarity",
    "study",
    "synthesise",
    "write",
    "write_invoice",
    "write_report",
]


def _html(found: Any) -> str:
    from pullnet.traffic import notebook

    return notebook.html(found)


show_by(__name__, _html)


def __getattr__(name: str) -> Any:
    """Import what is lazy."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), "write" if name == "write_report" else name)


def __dir__() -> list[str]:
    """Name what there is, also what has not been imported yet."""
    return sorted(__all__)
