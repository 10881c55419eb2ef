"""Parquet files as the core writes them: the tables that pyarrow would write, with units and docs."""

import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import pullnet
from pullnet.results import tables

from .conftest import SMALL

ALL = {
    "probes.packets": True,
    "probes.hops.every": 1,
    "probes.port_series.interval": "10 us",
    "warnings.unfinished_flows": False,
}


@pytest.fixture(scope="module")
def pair() -> tuple[pullnet.Result, pullnet.Result]:
    """A run with every table, twice."""
    return pullnet.run(SMALL, set=ALL), pullnet.run(SMALL, set=ALL)


def test_every_table_is_the_one_that_pyarrow_writes(
    pair: tuple[pullnet.Result, pullnet.Result], tmp_path: Path
) -> None:
    by_core, by_pyarrow = pair
    assert len(by_core.table_names) == 10
    for name in by_core.table_names:
        by_core.write(name, tmp_path / "core.parquet")
        tables.write(by_pyarrow.arrow(name), tmp_path / "pyarrow.parquet")
        first, second = (pq.read_table(tmp_path / f"{writer}.parquet") for writer in ("core", "pyarrow"))
        assert first.num_rows > 0
        assert first.equals(second, check_metadata=True), name
        first.validate(full=True)
        assert by_core.parquet(name) == (tmp_path / "core.parquet").read_bytes()
        frames = [pl.read_parquet(tmp_path / f"{writer}.parquet") for writer in ("core", "pyarrow")]
        assert frames[0].equals(frames[1]), name


def test_many_pages_hold_all_rows() -> None:
    big = {"probes.packets": True, "transport.mtu": "1500 B", "traffic.0.size": "3 MB"}
    by_core, by_pyarrow = pullnet.run(SMALL, set=big), pullnet.run(SMALL, set=big)
    found = pq.read_table(io.BytesIO(by_core.parquet("packets")))
    assert found.num_rows > 2 * 65_536
    assert found.equals(by_pyarrow.arrow("packets"))


def test_columns_without_any_value_and_tables_without_rows() -> None:
    with pytest.warns(pullnet.PullnetWarning, match="unfinished"):
        result = pullnet.run(SMALL, set={"limit": "1 us"})
    found = pq.read_table(io.BytesIO(result.parquet("latency")))
    assert found.num_rows == 0 and found.schema.equals(result.arrow("latency").schema, check_metadata=True)
    flows = pl.read_parquet(io.BytesIO(result.parquet("flows")))
    assert flows["tenant"].null_count() == flows["received_ps"].null_count() == flows.height > 0


def test_a_result_can_be_sent_to_another_process() -> None:
    result = pullnet.run(SMALL)
    sent = pickle.loads(pickle.dumps(result))
    assert sent.flows.equals(result.flows) and sent.summary == result.summary


def test_results_share_their_tables() -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(20):
            result = pullnet.run(SMALL)
            kept = result.keep({"flows", "hosts"})
            read = [pool.submit(lambda of: of.flows, of) for of in (result, kept)]
            first, second = (flows.result() for flows in read)
            assert first.equals(second) and first.height > 0
            assert kept.parquet("hosts") == result.parquet("hosts")


def test_a_table_whose_columns_were_taken_is_not_written_empty(tmp_path: Path) -> None:
    result = pullnet.run(SMALL)
    table = result._tables["flows"]._table
    table.take_columns()
    with pytest.raises(pullnet.InternalError, match="taken already"):
        table.write_parquet(tmp_path / "flows.parquet")
