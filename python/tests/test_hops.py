"""Packets at every hop, from the scenario to the answer."""

from pathlib import Path

import polars as pl
import pytest

import pullnet
from pullnet.errors import NotRecordedError

INCAST = Path(__file__).parents[2] / "scenarios" / "incast.toml"


def test_a_flow_waits_where_the_incast_meets(tmp_path: Path) -> None:
    result = pullnet.run(INCAST, set={"probes.hops": {"every": 1}})
    flow = result.flows.sort("slowdown", descending=True, nulls_last=True).row(0, named=True)
    waits = result.waits(flow["flow"])
    first = waits.row(0, named=True)
    assert first["name"] == "tor 0 -> host 0"
    assert first["own_share"] < 0.1
    usual = waits.select(pl.col("mean_us").median()).item()
    assert first["longest_us"] >= first["mean_us"] > 10 * usual
    hops = pullnet.hops(result, flow["flow"])
    assert waits["packets"].sum() == hops.height
    assert waits["wait_us"].sum() == pytest.approx(hops["wait_us"].sum())
    assert waits["trimmed"].sum() == hops.filter(outcome="trimmed").height > 0
    assert hops["at_ps"].is_sorted()
    assert set(hops["name"]) <= set(result.ports["name"])


def test_the_hops_of_a_packet_are_the_links_of_a_path() -> None:
    result = pullnet.run(INCAST, set={"probes.hops": {"flows": "0..20"}})
    assert result.hops["flow"].unique().sort().to_list() == list(range(21))
    whole = 0
    for (flow, _), hops in result.hops.filter(kind="data").group_by("flow", "number"):
        if hops["outcome"].unique().to_list() == ["sent"]:
            ends = result.flows.row(flow, named=True)
            links = pullnet.paths(INCAST, ends["src"], ends["dst"])
            ways = {tuple(way["row"]) for _, way in links.group_by("path", maintain_order=True)}
            assert tuple(hops.sort("at_ps")["row"]) in ways
            whole += 1
    assert whole > 0


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    result = pullnet.run(INCAST, set={"probes.hops": {"flows": "3,5..6"}})
    with pytest.raises(NotRecordedError, match=r"flow 4 was recorded; recorded were 3, 5, 6: add it to probes"):
        result.waits(4)
    bare = pullnet.run(INCAST)
    with pytest.raises(NotRecordedError, match=r"no table `hops`; ask for it under \[probes\] with hops = "):
        bare.waits(0)
