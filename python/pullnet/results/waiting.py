"""Where the packets of a flow waited, from the record of every hop."""

from typing import TYPE_CHECKING, Protocol

from pullnet.arguments import typed
from pullnet.errors import NotRecordedError
from pullnet.results.columns import HOPS, needed

if TYPE_CHECKING:
    import polars as pl


class Hops(Protocol):
    """A result, as far as its table `hops` goes."""

    @property
    def hops(self) -> "pl.DataFrame":
        """Packets of some flows at every port; needs the probe `hops`."""


OUTCOMES = ("marked", "trimmed", "returned", "dropped", "lost")
"""Outcomes for a packet at a port other than being sent."""


@typed
def hops(result: Hops, flow: int) -> "pl.DataFrame":
    """Return the packets of `flow` at every port, in order of time; needs the probe `hops`."""
    place = getattr(result, "path", None)
    rows = needed(result.hops, "hops", f"{place or 'the result'}/hops.parquet", HOPS).filter(flow=flow)
    if rows.is_empty():
        raise NotRecordedError(f"no hop of a packet of flow {flow} was recorded; {_recorded(result)}")
    return rows.sort("at_ps", "row", maintain_order=True)


@typed
def waits(result: Hops, flow: int) -> "pl.DataFrame":
    """Return a row for each port that packets of `flow` came to, the one where they waited longest first.

    `wait_us` sums the waits of all packets, `mean_us` is that of one that was sent, `longest_us` the longest.
    `behind_bytes` is what the packets waited behind in the mean, and `own_share` the share of their own flow in what
    they found waiting. The other columns count packets by what became of them there.
    """
    import polars as pl

    ahead = pl.col("ahead_data_bytes") + pl.col("ahead_control_bytes")
    behind = pl.col("behind_data_bytes") + pl.col("behind_control_bytes")
    found = hops(result, flow).group_by("name", maintain_order=True)
    summed = found.agg(
        pl.len().alias("packets"),
        pl.col("wait_us").sum(),
        pl.col("wait_us").mean().alias("mean_us"),
        pl.col("wait_us").max().alias("longest_us"),
        behind.mean().alias("behind_bytes"),
        (pl.col("ahead_own_bytes").sum() / ahead.sum()).fill_nan(None).alias("own_share"),
        *((pl.col("outcome") == outcome).sum().alias(outcome) for outcome in OUTCOMES),
    )
    return summed.sort("wait_us", descending=True, maintain_order=True)


def _recorded(result: Hops) -> str:
    flows = result.hops["flow"].unique().sort().to_list()
    if not flows:
        return "set probes.hops.flows, or probes.hops.every = 1"
    few = ", ".join(map(str, flows[:5])) + (", ..." if len(flows) > 5 else "")
    return f"recorded were {few}: add it to probes.hops.flows"
