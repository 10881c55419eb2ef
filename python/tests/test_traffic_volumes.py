"""Reading traffic volumes: captures, counters, arrays and files of volumes."""

import gzip
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullnet.traffic
from pullnet import traffic
from pullnet.traffic import DamagedInput, State, TrafficError, Volumes, as_volumes, read
from pullnet.traffic.reading import load, make_options
from tests import captures
from tests.conftest import COMMAND, WATCHDOG_S, Pullnet

DATA = Path(pullnet.traffic.__file__).parent / "data"


def _one(path: Path, **options: Any) -> Volumes:
    (volumes,) = read(path, **options)
    return volumes


# --- captures


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("form", ["micros", "nanos", "pcapng", "erf"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_every_form_of_a_capture_gives_the_same_bins(form: str, order: str, packed: str, tmp_path: Path) -> None:
    packets = [(1_600_000_000 + index / 8, 64 + 7 * index % 1400) for index in range(100)]
    content = {
        "micros": lambda: captures.pcap(packets, captures.MICROS, order),
        "nanos": lambda: captures.pcap(packets, captures.NANOS, order),
        "pcapng": lambda: captures.pcapng(packets, order),
        "erf": lambda: captures.erf(packets),
    }[form]()
    file = tmp_path / f"a.{form}{packed}"
    file.write_bytes(gzip.compress(content) if packed else content)
    fine, coarse = read(file, timescales="250ms,1s")
    lengths = np.array([length for _, length in packets], dtype=float)
    assert fine.bytes.tolist() == lengths[:98].reshape(-1, 2).sum(axis=1).tolist()
    assert coarse.bytes.tolist() == lengths[:96].reshape(-1, 8).sum(axis=1).tolist()
    assert coarse.start == 1_600_000_000
    assert coarse.packets is not None
    assert coarse.packets.tolist() == [8] * 12


def _dpkt_packets(path: Path) -> Iterator[tuple[float, int]]:
    """Packets as dpkt reads them: time and captured length, and of pcap also the length on the wire."""
    if path.suffix == ".zst":
        import pyarrow as pa

        content = pa.input_stream(str(path), compression="zstd").read()
    else:
        content = gzip.decompress(path.read_bytes())
    reader = dpkt.pcapng.Reader if ".pcapng" in path.name else dpkt.pcap.Reader
    for time, data in reader(io.BytesIO(content)):
        yield float(time), len(data)


@pytest.mark.parametrize("name", ["modbus.pcap.gz", "ftp.pcap.zst", "http.pcapng.gz"])
def test_packets_of_real_captures_fall_into_the_bins_that_dpkt_says(name: str) -> None:
    packets = list(_dpkt_packets(DATA / name))
    for volumes in read(DATA / name, timescales="10ms,1s", partial=True):
        assert volumes.packets is not None
        first = round(packets[0][0] * 1e6)
        bins = [(round(time * 1e6) - first) // round(volumes.timescale * 1e6) for time, _ in packets]
        assert volumes.packets.tolist() == np.bincount(bins, minlength=len(volumes)).tolist()


def test_lengths_on_the_wire_of_a_real_capture_are_those_of_capinfos() -> None:
    totals = {"modbus.pcap.gz": 970_680, "ftp.pcap.zst": 654_497, "http.pcapng.gz": 1_465_547}
    for name, total in totals.items():
        assert _one(DATA / name, timescales="1s", partial=True).bytes.sum() == total


def test_a_capture_on_standard_input(tmp_path: Path) -> None:
    content = captures.pcap(captures.steady(500))
    command = [str(COMMAND), "traffic", "volumes", "-", "--timescale", "1s", "--json"]
    done = subprocess.run(command, input=content, capture_output=True, check=True, cwd=tmp_path, timeout=WATCHDOG_S)
    (volumes,) = json.loads(done.stdout)["volumes"]
    assert (volumes["bins"], volumes["bytes"], volumes["packets"]) == (4, 40_000, 400)


def test_the_command_writes_what_the_python_api_reads(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(captures.pcap(captures.steady(1000)))
    done = pullnet("traffic", "volumes", "a.pcap", "--timescale", "100ms,1s", "-o", "v.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    fine, coarse = read(tmp_path / "v.parquet")
    direct = read(tmp_path / "a.pcap", timescales=["100 ms", 1.0])
    for found, expected in zip((fine, coarse), direct, strict=True):
        assert (found.trace, found.timescale, found.start) == ("a", expected.timescale, expected.start)
        assert found.bytes.tolist() == expected.bytes.tolist()
    (from_fine,) = read(tmp_path / "v.parquet", timescales="1s")
    assert from_fine.bytes.tolist() == coarse.bytes.tolist()
    schema = pq.read_schema(tmp_path / "v.parquet")
    assert schema.field("timescale_s").metadata[b"unit"] == b"s"
    assert schema.field("bytes").metadata[b"unit"] == b"B"


def test_damage_is_counted_warned_of_and_leaves_a_gap(pullnet: Pullnet, tmp_path: Path) -> None:
    packets = captures.steady(1000)
    content = bytearray(captures.pcap(packets))
    content[24 + 36 * 500 : 24 + 36 * 520] = b"\xff" * (36 * 20)
    (tmp_path / "a.pcap").write_bytes(content)
    with pytest.warns(DamagedInput, match="720 of 36024 bytes"):
        volumes = _one(tmp_path / "a.pcap", timescales="100ms")
    ((begin, end, state),) = volumes.intervals()
    assert (begin, end) == pytest.approx((packets[490][0], packets[530][0]))
    assert state is State.GAP
    assert volumes.sample().tolist() == [1000.0] * 95
    done = pullnet("traffic", "volumes", "a.pcap", "--timescale", "100ms", "--json")
    assert done.returncode == 3
    (source,) = json.loads(done.stdout)["inputs"]
    assert [note["count"] for note in source["unreadable"]] == [720]
    assert source["packets"] == 980


def test_a_block_of_zeros_costs_the_packets_in_it_and_leaves_a_gap(tmp_path: Path) -> None:
    content = bytearray(captures.pcap(captures.steady(20_000)))
    content[400_000:400_512] = bytes(512)
    (tmp_path / "a.pcap").write_bytes(content)
    with pytest.warns(DamagedInput, match="504 of 720024 bytes"):
        volumes = _one(tmp_path / "a.pcap", timescales="1s")
    assert len(volumes) == 199
    assert [state for _, _, state in volumes.intervals()] == [State.GAP]
    assert volumes.packets is not None
    assert set(volumes.packets.tolist()) == {0, 100}


def test_directions_of_a_pcapng(tmp_path: Path) -> None:
    packets = [(index * 0.5, 100 + index, 1 + index % 2) for index in range(100)]
    blocks = b"".join(captures.enhanced(time, length, flags=flags) for time, length, flags in packets)
    (tmp_path / "a.pcapng").write_bytes(captures.section() + captures.interface() + blocks)
    for word, direction in (("in", 1), ("out", 2)):
        volumes = _one(tmp_path / "a.pcapng", timescales="10s", filter=word, partial=True)
        assert volumes.bytes.sum() == sum(length for _, length, flags in packets if flags == direction)


def test_prefixes_and_protocols_split_a_real_capture() -> None:
    def total(filter: str | None) -> tuple[int, int]:
        options = make_options("1s", filter=filter) if filter else make_options("1s")
        facts = load([DATA / "ftp.pcap.zst"], options).sources[0].facts
        return facts["packets"], facts["wire_bytes"]

    packets = list(_dpkt_packets(DATA / "ftp.pcap.zst"))
    everything = total(None)
    assert everything[0] == len(packets)
    src, dst = total("src 10.3.0.0/16"), total("dst 10.3.0.0/16")
    assert (src[0], dst[0]) == (4139, 4178)
    assert (src[0] + dst[0], src[1] + dst[1]) == everything == total("tcp")


def test_outages_and_saturation_are_intervals(tmp_path: Path) -> None:
    numbers = np.random.Generator(np.random.PCG64(5))
    table = pl.DataFrame(
        {
            "t_s": np.arange(3000) * 300,
            "in_bytes": np.minimum(1e9 * np.exp(0.4 * numbers.standard_normal(3000)), 1.6e9),
        }
    )
    values = table["in_bytes"].to_numpy().copy()
    values[1000:1012] = 0
    table.with_columns(pl.Series("in_bytes", values)).write_csv(tmp_path / "a.csv")
    volumes = _one(tmp_path / "a.csv")
    outages = [interval for interval in volumes.intervals() if interval[2] is State.OUTAGE]
    assert outages == [(300_000.0, 303_600.0, State.OUTAGE)]
    full = volumes.state == State.SATURATED
    assert full.tolist() == (values >= 1.6e9 - 3028).tolist()
    assert len(volumes.sample()) == 3000
    assert len(volumes.sample(anomalous=False)) == 3000 - 12 - full.sum()


@given(
    st.lists(st.tuples(st.integers(0, 400_000), st.integers(0, 9000)), min_size=2, max_size=120), st.integers(1, 999)
)
def test_bins_are_those_of_numpy(steps: list[tuple[int, int]], length_ms: int) -> None:
    micros = np.cumsum([step for step, _ in steps]) + 1_000_000_000
    lengths = np.array([length for _, length in steps])
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.pcap"
        file.write_bytes(captures.pcap([(time / 1e6, int(size)) for time, size in zip(micros, lengths, strict=True)]))
        volumes = _one(file, timescales=f"{length_ms}ms", partial=True)
    index = (micros - micros[0]) // (length_ms * 1000)
    assert volumes.bytes.tolist() == np.bincount(index, weights=lengths, minlength=len(volumes)).tolist()


# --- counters


def _csv(tmp_path: Path, text: str, **options: Any) -> Volumes:
    (tmp_path / "a.csv").write_text(text)
    return _one(tmp_path / "a.csv", **options)


def test_units_of_columns(tmp_path: Path) -> None:
    for heading, unit, expected in (
        ("in_bytes", None, 600.0),
        ("bits", None, 75.0),
        ("total_mbps", None, 600 * 300e6 / 8),
        ("x", "kB/s", 600 * 300e3),
        ("x (Gbit)", None, 600 * 1e9 / 8),
    ):
        volumes = _csv(tmp_path, f"time,{heading}\n0,600\n300,600\n", unit=unit)
        assert volumes.bytes.tolist() == pytest.approx([expected, expected]), heading


def test_times_in_any_form_are_the_same(tmp_path: Path) -> None:
    forms = {
        "time": ["2004-03-01T00:00", "2004-03-01T00:05", "2004-03-01T00:15"],
        "timestamp": ["2004-03-01 01:00:00+01:00", "2004-03-01 01:05:00+01:00", "2004-03-01 01:15:00+01:00"],
        "time_utc": ["2004-03-01T00:00:00Z", "2004-03-01T00:05:00Z", "2004-03-01T00:15:00Z"],
        "t_s": ["1078099200", "1078099500", "1078100100"],
        "ts_ms": ["1078099200000", "1078099500000", "1078100100000"],
    }
    for name, (one, two, four) in forms.items():
        volumes = _csv(tmp_path, f"{name},bytes\n{one},1\n{two},2\n{four},4\n", interval="5 min")
        assert (volumes.start, volumes.timescale) == (1_078_099_200, 300), name
        assert volumes.bytes.tolist() == [1, 2, 0, 4]
        assert volumes.state.tolist() == [State.OK, State.OK, State.GAP, State.OK]


def test_a_counter_of_32_bits_that_wraps_and_is_reset(tmp_path: Path) -> None:
    true = [1_000_000.0] * 40
    reading, rows = 2**32 - 5_500_000, []
    for index, volume in enumerate([0.0, *true]):
        reading = 7_000 if index == 20 else int(reading + volume) % 2**32
        rows.append(f"{300 * index},{reading}")
    volumes = _csv(tmp_path, "time,ifInOctets\n" + "\n".join(rows) + "\n")
    assert volumes.state.tolist() == [State.GAP if index == 19 else State.OK for index in range(40)]
    assert volumes.sample().tolist() == [1_000_000.0] * 39


def test_a_counter_of_64_bits_is_exact(tmp_path: Path) -> None:
    begin = 2**64 - 5
    readings = [(begin + step) % 2**64 for step in (0, 3, 6, 10)]
    rows = "".join(f"{60 * index},{reading}\n" for index, reading in enumerate(readings))
    volumes = _csv(tmp_path, f"time,ifHCOutOctets\n{rows}")
    assert volumes.bytes.tolist() == [3, 3, 4]


@given(st.lists(st.integers(0, 2**31), min_size=3, max_size=40), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_any_wraps_add_up(volumes: list[int], begin: int, jitter: int) -> None:
    from pullnet.traffic import snmp

    readings = np.cumsum([begin, *volumes]).astype(np.uint64) % np.uint64(2**32)
    seconds = np.array([300.0 * index + index % 2 * jitter for index in range(len(readings))])
    found = snmp.differences(readings, seconds, width=32, uptime=None, most_per_second=2.0**31)
    assert found.values.tolist() == [float(volume) for volume in volumes]
    assert found.resets == 0
    slots = snmp.into_slots(found.values, seconds, 0.0, 300.0, len(volumes))
    covered = np.interp(300.0 * len(volumes), seconds, np.cumsum([0, *volumes]))
    assert math.isclose(slots.sum(), covered, rel_tol=1e-9, abs_tol=1e-3)


def test_several_columns_are_several_traces(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text("time,in_bytes,out_bytes\n0,1,2\n300,3,4\n")
    assert [volumes.trace for volumes in read(tmp_path / "link.csv")] == ["link:in_bytes", "link:out_bytes"]
    assert [volumes.trace for volumes in read(tmp_path / "link.csv", columns="out_bytes")] == ["link"]


def test_real_counters_with_a_change_to_summer_time() -> None:
    volumes = _one(DATA / "ec2_network_in_5abac7.csv.gz", unit="bytes")
    assert (len(volumes), volumes.timescale) == (4730, 300)
    ((begin, end, state),) = [interval for interval in volumes.intervals() if interval[2] is State.GAP]
    assert (end - begin, state) == (3600, State.GAP)


# --- arrays and frames


def test_volumes_come_from_anything_with_numbers() -> None:
    values = [1.0, 2.0, 3.0]
    for data in (
        values,
        tuple(values),
        np.array(values),
        np.array([1, 2, 3], dtype=np.uint8),
        iter(values),
        pl.Series("a", values),
        pd.Series(values, name="a"),
        pl.DataFrame({"a": values}),
        pd.DataFrame({"a": values}),
        pl.DataFrame({"t_s": [0, 2, 4], "a": values}),
        pd.DataFrame({"a": values}, index=pd.to_datetime([0, 2, 4], unit="s")),
    ):
        (volumes,) = as_volumes(data, timescale="2 s")
        assert (volumes.bytes.tolist(), volumes.timescale) == (values, 2.0), type(data)
    assert as_volumes(volumes) == [volumes]
    assert as_volumes([volumes, volumes]) == [volumes, volumes]


def test_units_of_arrays() -> None:
    assert as_volumes([8.0], timescale=2, unit="bits")[0].bytes.tolist() == [1.0]
    assert as_volumes([8.0], timescale=2, unit="Mbit/s")[0].rates().tolist() == [8e6]


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        ([], {}, "trace: is empty"),
        ([1.0, math.nan], {}, "trace, value 1: nan is not a number"),
        ([1.0, None], {}, "trace, value 1: nan is not a number"),
        ([1.0, -2.0, -3.0], {}, r"trace, value 1: -2\.0 is negative \(and 1 more\)"),
        ([math.inf], {}, "trace, value 0: inf is infinite"),
        (np.zeros((2, 2)), {}, r"trace: has the shape \(2, 2\)"),
        (["x"], {}, "trace: is not a series of numbers"),
        ([True], {}, "trace: is not a series of numbers: it holds bool"),
        ([1 + 2j], {}, "trace: is not a series of numbers: it holds complex"),
        (7, {}, "trace: has the shape"),
        ([1.0], {"timescale": None}, "trace: how long a bin is was not said"),
        ([1.0], {"timescale": 0}, "timescale: `0` is not above zero"),
        ([1.0], {"timescale": "fast"}, "timescale: `fast` is not a time"),
        ([1.0], {"unit": "furlongs"}, "`furlongs` is not a unit of volumes"),
        (pl.DataFrame({"a_mbps": [1.0]}), {}, "a_mbps: is in Mbit/s by its name, and --unit says bytes"),
        (pl.DataFrame({"a": [1.0, None]}), {}, "trace, line 3, column a: is not a number"),
        (pl.DataFrame({"a": ["x"]}), {}, "trace, line 2, column a: `x` is not a number"),
    ],
)
def test_arrays_that_are_no_volumes_are_refused(data: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TrafficError, match=text):
        as_volumes(data, **{"timescale": 1.0, **options})


def test_missing_values_can_be_gaps() -> None:
    (volumes,) = as_volumes([1.0, math.nan, 3.0], timescale=1, missing="gap")
    assert volumes.sample().tolist() == [1.0, 3.0]
    assert volumes.intervals() == [(1.0, 2.0, State.GAP)]


# --- volumes


def _volumes(count: int, gaps: list[int]) -> Volumes:
    state = np.zeros(count, dtype=np.uint8)
    state[gaps] = State.GAP
    volume = np.arange(1.0, count + 1)
    volume[gaps] = 0
    return Volumes("t", 0.5, 10.0, volume, state, np.arange(count))


@given(st.integers(1, 60), st.sets(st.integers(0, 59)), st.integers(1, 9))
def test_coarser_volumes_keep_bytes_and_gaps(count: int, gaps: set[int], factor: int) -> None:
    volumes = _volumes(count, [gap for gap in gaps if gap < count])
    if factor > count:
        with pytest.raises(TrafficError, match="cannot join"):
            volumes.coarser(factor)
        return
    coarse = volumes.coarser(factor)
    assert (len(coarse), coarse.timescale, coarse.start) == (count // factor, 0.5 * factor, 10.0)
    for index in range(len(coarse)):
        part = slice(index * factor, (index + 1) * factor)
        gap = (volumes.state[part] == State.GAP).any()
        assert coarse.state[index] == (State.GAP if gap else State.OK)
        assert coarse.bytes[index] == (0 if gap else volumes.bytes[part].sum())


def test_volumes_do_not_change() -> None:
    volumes = _volumes(5, [])
    with pytest.raises(ValueError, match="read-only"):
        volumes.bytes[0] = 7


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_of_volumes_read_back(ending: str, tmp_path: Path) -> None:
    written = [
        _volumes(9, [2, 3]),
        Volumes("u", 1.0, 0.0, np.array([5.5]), np.array([State.SATURATED], dtype=np.uint8)),
    ]
    traffic.write(written, tmp_path / f"v.{ending}")
    for found, expected in zip(read(tmp_path / f"v.{ending}"), written, strict=True):
        assert (found.trace, found.timescale, found.start) == (expected.trace, expected.timescale, expected.start)
        assert found.bytes.tolist() == expected.bytes.tolist()
        assert found.state.tolist() == expected.state.tolist()
        packets = [None if item.packets is None else item.packets.tolist() for item in (found, expected)]
        assert packets[0] == packets[1]


def test_counters_in_parquet_are_read_as_in_csv(tmp_path: Path) -> None:
    rows = [f"2026-01-01 {hour:02}:00,{hour * hour}" for hour in range(24)]
    (tmp_path / "c.csv").write_text("\n".join(["time,in_bytes", *rows, ""]))
    pl.read_csv(tmp_path / "c.csv").write_parquet(tmp_path / "c.parquet")
    ours, same = _one(tmp_path / "c.csv"), _one(tmp_path / "c.parquet")
    assert (ours.start, ours.timescale, ours.bytes.tolist()) == (same.start, same.timescale, same.bytes.tolist())


def test_files_of_one_name_are_different_traces(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text("time,bytes\n0,1\n300,2\n")
    reading = load([tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"])
    assert [item.trace for item in reading.volumes] == ["x", "x (2)"]
    traffic.write(reading.volumes, tmp_path / "v.parquet")
    assert len(read(tmp_path / "v.parquet")) == 2
    with pytest.raises(TrafficError, match="would hold two traces `x` at 5 min"):
        traffic.write([reading.volumes[0]] * 2, tmp_path / "w.parquet")


def test_a_capacity_marks_files_of_volumes_anew(tmp_path: Path) -> None:
    traffic.write(_volumes(40, []), tmp_path / "v.parquet")
    volumes = _one(tmp_path / "v.parquet", capacity="1 kbps")
    assert volumes.state.tolist() == [State.SATURATED if value >= 0.98 * 62.5 else State.OK for value in volumes.bytes]
    volumes = _one(tmp_path / "v.parquet", capacity=40 * 16)
    assert volumes.state.tolist() == [State.OK] * 39 + [State.SATURATED]


@pytest.mark.skipif("PULLNET_DATA" not in os.environ, reason="needs the collected traffic")
def test_collected_traffic_reads_as_others_read_it() -> None:
    folder = Path(os.environ["PULLNET_DATA"]) / "traffic"
    for path in sorted((folder / "pcap").iterdir()):
        reader = dpkt.pcapng.Reader if path.suffix == ".pcapng" else dpkt.pcap.Reader
        with path.open("rb") as file:
            count = sum(1 for _ in reader(file))
        facts = load([path], make_options("1s")).sources[0].facts
        assert facts["packets"] == count, path.name
    hours = _one(folder / "isp_a_transatlantic_hour.csv")
    summed = _one(folder / "isp_a_transatlantic_5min.csv", timescales="1h")
    assert summed.bytes.tolist() == hours.bytes[: len(summed)].tolist()
    geant = _one(folder / "geant_15min_total_mbps.csv")
    assert (geant.state[:2] == State.OUTAGE).all()


def test_bad_files_of_volumes_are_refused(tmp_path: Path) -> None:
    good = "trace,timescale_s,bin,start_s,bytes,packets,state\nt,1,0,0,5,,ok\nt,1,1,1,6,,ok\n"
    for change, text in (
        (("1,1,1,6", "1,7,1,6"), "bins are not 0, 1, 2"),
        (("6,,ok", "6,,fine"), "`fine` is not a state"),
        (("6,,ok", "-6,,ok"), "is negative"),
        (("6,,ok", "6,,gap"), "a gap has bytes"),
        (("6,,ok", "six,,ok"), "is not numbers"),
    ):
        (tmp_path / "v.csv").write_text(good.replace(*change))
        with pytest.raises(TrafficError, match=text):
            read(tmp_path / "v.csv")


def test_what_cannot_be_read_or_written_is_said_so(tmp_path: Path) -> None:
    for path, text in ((tmp_path, "is a folder"), (tmp_path / "none.pcap", "there is no such file")):
        with pytest.raises(TrafficError, match=text):
            read(path)
    with pytest.raises(TrafficError, match=r"ends in `\.xlsx`; use \.parquet or \.csv"):
        traffic.write(_volumes(3, []), tmp_path / "a.xlsx")
    with pytest.raises(TrafficError, match="there is no option `colour`; use one of"):
        read(tmp_path / "none.pcap", colour="red")


def test_the_package_is_imported_without_large_libraries() -> None:
    code = "import sys, pullnet.traffic; print([m for m in ('scipy', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WATCHDOG_S)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("place", "said"),
    [("x.txt", "use .parquet or .csv"), ("none/x.csv", "there is no folder `none`"), ("folder.csv", "is a directory")],
)
def test_a_place_that_nothing_can_be_written_to_is_refused(
    pullnet: Pullnet, tmp_path: Path, place: str, said: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "t.csv").write_text("time,bytes\n0,1\n1,2\n2,3\n")
    refused = pullnet("traffic", "volumes", "t.csv", "-o", place)
    assert refused.returncode == 2
    assert said in refused.stderr and "Traceback" not in refused.stderr
