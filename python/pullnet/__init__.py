"""A laboratory for data-centre transport.

>>> import pullnet
>>> result = pullnet.run("scenarios/incast.toml", seed=7)
>>> result.summary.fct_us.p99
>>> result.flows.filter(state="completed")

Simulations run in Rust; tables come back as Polars data frames whose columns carry their units.
"""

from pullnet import _interrupted  # noqa: F401 - first, since it is about the imports below
from pullnet._core import __version__
from pullnet.errors import HostError, InputError, InternalError, NotRecordedError, PullnetError, PullnetWarning
from pullnet.results.result import ColumnInfo, Result, load
from pullnet.results.summary import Notice, Summary
from pullnet.results.waiting import hops, waits
from pullnet.runs.export import export_flows, export_packets, export_topology
from pullnet.runs.pool import Job, iter_many, run_many
from pullnet.runs.runner import run
from pullnet.runs.scenario import Checked, Overrides, ScenarioSource, catalogue, check, paths, schema
from pullnet.sweeps.sweep import Sweep, load_sweep, sweep

__all__ = [
    "Checked",
    "ColumnInfo",
    "HostError",
    "InputError",
    "InternalError",
    "Job",
    "NotRecordedError",
    "Notice",
    "Overrides",
    "PullnetError",
    "PullnetWarning",
    "Result",
    "ScenarioSource",
    "Summary",
    "Sweep",
    "__version__",
    "catalogue",
    "check",
    "export_flows",
    "export_packets",
    "export_topology",
    "hops",
    "iter_many",
    "load",
    "load_sweep",
    "paths",
    "run",
    "run_many",
    "schema",
    "sweep",
    "waits",
]
