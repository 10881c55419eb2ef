"""Measures of the artifact evaluation's claims about several transports, by runs made up for them."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from pullnet.papers import model
from pullnet.papers.measures import Data, MissingRunsError, side_by_side
from pullnet.papers.runs import Run


@dataclass(frozen=True)
class Made:
    """A run with what a measure reads of it."""

    at: dict[str, Any]
    result: Any
    seed: int = 1
    folder: Path = Path()


def data(**experiments: list[Made]) -> Data:
    return Data({name.replace("_", "-"): cast("list[Run]", runs) for name, runs in experiments.items()})


def rates(transport: str, **by_size: float) -> list[Made]:
    """Runs with a mean payload rate by size: `b512` is 512 B."""
    return [
        Made(
            {"transport": transport, "packet": f"{name[1:]} B"},
            SimpleNamespace(summary=SimpleNamespace(goodput_gbps=SimpleNamespace(mean=rate))),
        )
        for name, rate in by_size.items()
    ]


def test_rates_count_whole_packets() -> None:
    """8960 of 9000 B and 88 of 128 B at the same rate of payload are not the same rate of packets."""
    runs = rates("dctcp", b9000=8.96, b128=4.4)
    measured = side_by_side.packet_size_effect(data(sizes=runs), "sizes", "dctcp", header=40, least=128)
    assert measured.value == pytest.approx(1 - 6.4 / 9.0)


def test_smaller_packets_than_asked_for_do_not_count() -> None:
    runs = rates("dctcp", b9000=9, b512=8.7, b64=1)
    measured = side_by_side.packet_size_effect(data(sizes=runs), "sizes", "dctcp", header=0, least=128)
    assert measured.value == pytest.approx(1 - 8.7 / 9)


def test_a_level_without_the_large_packets_says_so() -> None:
    with pytest.raises(MissingRunsError, match="leaves out packets of 9000 B"):
        side_by_side.loss_with_packet(data(sizes=rates("dctcp", b64=1)), "sizes", ["dctcp"], header=0, packet="64 B")


def test_a_level_without_a_size_that_a_claim_is_about_says_so() -> None:
    ndp, others = rates("ndp", b9000=9, b64=1), rates("mptcp", b9000=9, b64=1)
    with pytest.raises(MissingRunsError, match="leaves out packets of 512 B"):
        side_by_side.loss_order(data(ndp=ndp, others=others), ["ndp", "others"], "512 B", 0, ["ndp", "mptcp"], 2, 0.1)
    with pytest.raises(MissingRunsError, match="from 128 B to 9000 B"):
        side_by_side.packet_size_effect(data(sizes=others), "sizes", "mptcp", header=0, least=128)
    with pytest.raises(MissingRunsError, match="or all smaller ones"):
        side_by_side.loss_sets_in(data(sizes=rates("mptcp", b9000=9)), "sizes", "mptcp", header=0, share=0.05)


@pytest.mark.parametrize(
    ("at_256", "at_128", "from_", "grows"), [(5, 4, 256, True), (4, 5, 256, False), (9, 4, 128, True)]
)
def test_where_the_loss_sets_in(at_256: float, at_128: float, from_: int, grows: bool) -> None:
    runs = rates("mptcp", b9000=9, b512=8.9, b256=at_256, b128=at_128)
    measured = side_by_side.loss_sets_in(data(sizes=runs), "sizes", "mptcp", header=0, share=0.05)
    assert (measured.value, measured.holds) == (from_, grows)


@pytest.mark.parametrize(
    ("mptcp", "dcqcn", "holds"), [(8.5, 8.9, True), (8.5, 8.4, False), (6, 8.9, False), (9, 8.9, False)]
)
def test_order_of_losses(mptcp: float, dcqcn: float, holds: bool) -> None:
    ndp = rates("ndp", b9000=9, b512=5)
    others = (
        rates("mptcp", b9000=9, b512=mptcp) + rates("dctcp", b9000=9, b512=8.8) + rates("dcqcn", b9000=9, b512=dcqcn)
    )
    order = ["ndp", "mptcp", "dctcp", "dcqcn"]
    found = data(ndp=ndp, others=others)
    measured = side_by_side.loss_order(found, ["ndp", "others"], "512 B", 0, order, factor=2, alike=0.05)
    assert measured.holds is holds


def transfers(transport: str, times: list[float | None], timeouts: int = 0) -> Made:
    flows = pl.DataFrame(
        {"tag": "probe", "fct_us": times, "timeouts": timeouts}, schema_overrides={"fct_us": pl.Float64}
    )
    return Made({"transport": transport, "sizes": "web"}, SimpleNamespace(flows=flows))


def test_medians_are_of_completed_transfers() -> None:
    runs = [transfers("ndp", [1, 2, 3]), transfers("dctcp", [2, 3, None])]
    measured = side_by_side.fastest_at_the_median(data(beside_4=runs), ["beside-4"], "ndp", ["dctcp"])
    assert measured.holds
    assert measured.details == {"web 4:1 dctcp over ndp": 1.25}


def test_a_transport_without_transfers_is_not_the_slowest() -> None:
    runs = [transfers("ndp", [1, 2, 3]), transfers("dctcp", [None])]
    with pytest.raises(MissingRunsError, match="no transfer of dctcp ended in beside-4, web: run more seeds"):
        side_by_side.fastest_at_the_median(data(beside_4=runs), ["beside-4"], "ndp", ["dctcp"])


def test_seeds_with_timeouts_are_counted_once() -> None:
    runs = [transfers("mptcp", [1, 2], timeouts=3), transfers("mptcp", [1]), transfers("ndp", [1])]
    measured = side_by_side.more_seeds_with_timeouts(data(beside_4=runs), "beside-4", "mptcp", "ndp", {"sizes": "web"})
    assert (measured.value, measured.holds) == (1, True)


def test_transports_are_set_up_as_beside_the_paper() -> None:
    """Both papers state the settings of the public simulator; they have to be the same ones."""
    ours, theirs = (
        model._toml(model.folder() / name / "paper.toml")["more"]["transport"]
        for name in ("ndp-artifact-evaluation", "ndp-baselines")
    )
    shared = ("ndp", "mptcp-code", "dctcp", "dctcp-code", "dcqcn-code")
    assert [ours[name] for name in shared] == [theirs[name] for name in shared]
