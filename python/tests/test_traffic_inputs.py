"""Tables as operators have them: units by name, times with and without zones, dialects, long tables, jitter."""

import gzip
import json
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pullnet.cli import status
from pullnet.traffic import TrafficError, Volumes, read, write
from pullnet.traffic.reading import load, make_options
from pullnet.traffic.unit_names import units_meant
from tests.conftest import Pullnet


def table(tmp_path: Path, text: str, name: str = "a.csv", **options: Any) -> list[Volumes]:
    (tmp_path / name).write_text(text)
    return read(tmp_path / name, **options)


def notes(tmp_path: Path, name: str = "a.csv", **options: Any) -> list[str]:
    return [note.kind for note in load([tmp_path / name], make_options(**options)).sources[0].repairs]


# --- units


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("total_Mb/s", ("Mbit/s",)),
        ("in (Mb/s)", ("Mbit/s",)),
        ("in [MB/s]", ("MB/s",)),
        ("in_MBps", ("MB/s",)),
        ("in_Mbps", ("Mbit/s",)),
        ("in_mbps", ("Mbit/s",)),
        ("in kbps", ("kbit/s",)),
        ("Bps", ("bytes/s",)),
        ("bps", ("bit/s",)),
        ("B/s", ("bytes/s",)),
        ("in_MB", ("MB",)),
        ("in_Mb", ("Mbit",)),
        ("in_KB", ("kB",)),
        ("in_Gbit/s", ("Gbit/s",)),
        ("in_MiB/s", ("MiB/s",)),
        ("in_Mib", ()),
        ("IN_OCTETS", ("bytes",)),
        ("node_network_receive_bytes_total", ("bytes",)),
        ("octets per second", ("bytes/s",)),
        ("in_mb", ("Mbit", "MB")),
        ("in_mb/s", ("Mbit/s", "MB/s")),
        ("IN_MBPS", ("Mbit/s", "MB/s")),
        ("packets", ()),
        ("steps", ()),
    ],
)
def test_the_case_of_the_b_says_bits_or_bytes(name: str, units: tuple[str, ...]) -> None:
    assert units_meant(name) == units


@pytest.mark.parametrize(
    ("name", "bytes_per_second"), [("total_Mb/s", 125e3), ("in (Mb/s)", 125e3), ("in_MBps", 1e6), ("in_GB/s", 1e9)]
)
def test_a_table_is_read_in_the_unit_of_its_name(name: str, bytes_per_second: float, tmp_path: Path) -> None:
    (volumes,) = table(tmp_path, f"time,{name}\n0,3\n300,3\n600,3\n")
    assert volumes.bytes.tolist() == [3 * 300 * bytes_per_second] * 3


def test_a_name_that_means_two_units_is_refused_unless_one_is_stated(tmp_path: Path) -> None:
    text = "time,in_mb\n0,3\n300,3\n"
    with pytest.raises(TrafficError, match=r"may be in Mbit or in MB.*give --unit Mbit or --unit MB"):
        table(tmp_path, text)
    assert table(tmp_path, text, unit="MB")[0].bytes.tolist() == [3e6, 3e6]
    assert table(tmp_path, text, unit="Mbit")[0].bytes.tolist() == [375e3, 375e3]
    with pytest.raises(TrafficError, match="is in Mbit or MB by its name, and --unit says GB"):
        table(tmp_path, text, unit="GB")


# --- times


@pytest.mark.parametrize(("name", "scale"), [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)])
def test_unix_time_is_recognised_by_its_size_and_that_is_said(name: str, scale: int, tmp_path: Path) -> None:
    rows = "".join(f"{(1_700_000_100 + 300 * i) * scale},5\n" for i in range(4))
    (volumes,) = table(tmp_path, f"timestamp,bytes\n{rows}")
    assert (volumes.start, volumes.timescale, len(volumes)) == (1_700_000_100, 300, 4)
    assert notes(tmp_path) == ([] if name == "s" else ["unit of times"])
    (named,) = table(tmp_path, f"timestamp_{name},bytes\n{rows}")
    assert (named.start, notes(tmp_path)) == (1_700_000_100, [])


def test_times_without_a_zone_are_utc_with_a_note_or_of_the_zone_that_is_stated(tmp_path: Path) -> None:
    text = "time,bytes\n2026-07-01 00:00,5\n2026-07-01 00:05,6\n2026-07-01 00:10,7\n"
    (utc,) = table(tmp_path, text)
    assert notes(tmp_path) == ["times without a zone"]
    (berlin,) = table(tmp_path, text, input_timezone="Europe/Berlin")
    assert notes(tmp_path, input_timezone="Europe/Berlin") == []
    assert utc.start - berlin.start == 2 * 3600
    (stated,) = table(tmp_path, text.replace(",5", "+02:00,5").replace(",6", "+02:00,6").replace(",7", "+02:00,7"))
    assert stated.start == berlin.start


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("minutes", [5, 15, 60])
def test_the_hour_that_clocks_show_twice_is_read_in_order(descending: bool, minutes: int, tmp_path: Path) -> None:
    # In Berlin 2026-10-25 has 25 hours: from 02:00 to 03:00 twice.
    begin = 1_792_879_200  # 2026-10-24 22:00 UTC, midnight in Berlin
    count = 25 * 60 // minutes
    shown = pl.Series([begin + 60 * minutes * i for i in range(count)]).cast(pl.Int64) * 1_000_000
    local = shown.cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Europe/Berlin").dt.strftime("%Y-%m-%d %H:%M")
    rows = [f"{time},{index}" for index, time in enumerate(local)]
    text = "time,bytes\n" + "\n".join(reversed(rows) if descending else rows) + "\n"
    (volumes,) = table(tmp_path, text, input_timezone="Europe/Berlin")
    assert volumes.start == begin
    assert volumes.bytes.tolist() == list(range(count))
    assert "hour shown twice" in notes(tmp_path, input_timezone="Europe/Berlin")


def test_a_time_that_no_clock_shows_is_refused(tmp_path: Path) -> None:
    text = "time,bytes\n2026-03-29 01:55,1\n2026-03-29 02:00,2\n2026-03-29 03:05,2\n"
    with pytest.raises(TrafficError, match=r"line 3: 2026-03-29 02:00:00 does not exist in Europe/Berlin"):
        table(tmp_path, text, input_timezone="Europe/Berlin")


@pytest.mark.long
def test_times_beyond_reason_are_refused_and_no_traceback(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,bytes\n9999-12-31T23:50,1\n9999-12-31T23:55,2\n")
    for command in (("volumes",), ("bill",), ("fit",), ("study", "-o", "r")):
        done = pullnet("traffic", command[0], "a.csv", *command[1:])
        assert done.returncode == 2
        assert "a.csv, line 2: a time of 253402300200 s is not between the years 1900 and 2262" in done.stderr


def test_stamps_at_the_end_of_intervals(tmp_path: Path) -> None:
    text = "time,bytes\n300,5\n600,6\n900,7\n"
    assert table(tmp_path, text)[0].start == 300
    (end,) = table(tmp_path, text, stamps="end")
    assert (end.start, end.bytes.tolist()) == (0, [5, 6, 7])
    # A column that is named so says it by itself.
    assert table(tmp_path, text.replace("time", "end"))[0].start == 0
    both = "start,end,bytes\n0,300,5\n300,600,6\n"
    assert table(tmp_path, both)[0].start == 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("first", [2**53 + 1, 2**63 + 1])
def test_counts_that_no_double_holds_exactly(first: int, ending: str, tmp_path: Path) -> None:
    """A counter of bytes has more than 2^53 after 8 days at 100 Gbit/s."""
    file = tmp_path / f"a.{ending}"
    readings = pl.Series([first + 1001 * row for row in range(9)], dtype=pl.UInt64)
    frame = pl.DataFrame({"t_s": [300 * row for row in range(9)], "in_bytes_total": readings})
    frame.write_csv(file) if ending == "csv" else frame.write_parquet(file)
    assert read(file)[0].bytes.tolist() == [1001.0] * 8
    each = read(file, kind="volume")[0].bytes
    assert each.tolist() == [float(reading) for reading in readings]


def test_other_forms_of_times(tmp_path: Path) -> None:
    (german,) = table(tmp_path, "time;bytes\n01.07.2026 00:00;5\n01.07.2026 00:05;6\n", input_timezone="UTC")
    (stated,) = table(
        tmp_path,
        "time,bytes\n01/07/2026 00:00,5\n01/07/2026 00:05,6\n",
        input_timezone="UTC",
        time_format="%d/%m/%Y %H:%M",
    )
    assert german.start == stated.start == 1_782_864_000
    with pytest.raises(TrafficError, match=r"is not a time.*--time-format"):
        table(tmp_path, "time,bytes\n01/07/2026 00:00,5\n01/07/2026 00:05,6\n")


# --- dialects


@pytest.mark.parametrize(("name", "day"), [("time", 2), ("end", 1)])
def test_a_stated_form_is_used_though_times_look_like_another(name: str, day: int, tmp_path: Path) -> None:
    """A year, a day, a month: read as ISO 8601 they would be other days without a word."""
    rows = f"{name},in_bytes\n2026-02-03 00:00,4\n2026-03-03 00:00,5\n"
    (volumes,) = table(tmp_path, rows, time_format="%Y-%d-%m %H:%M")
    assert datetime.fromtimestamp(volumes.start, UTC) == datetime(2026, 3, day, tzinfo=UTC)
    assert volumes.timescale == 86_400


def test_a_form_is_not_ignored_where_the_name_of_a_column_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match=r"a.csv, column when: .* or name the column time"):
        table(tmp_path, "when,in_bytes\n2026-02-03 00:00,4\n2026-03-03 00:00,5\n", time_format="%Y-%d-%m %H:%M")


def test_a_form_of_times_that_are_no_texts_is_refused(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"time": pa.array([0, 300], pa.timestamp("s")), "in_bytes": [4, 5]}), tmp_path / "c.parquet"
    )
    with pytest.raises(TrafficError, match=r"c.parquet, column time: has times that were read without a form; leave"):
        read(tmp_path / "c.parquet", time_format="%Y")


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    (volumes,) = table(tmp_path, "\ufefftime;in_bytes\n0;1,5\n300;2,25\n600;1000,5\n")
    assert volumes.bytes.tolist() == [1.5, 2.25, 1000.5]
    (points,) = table(tmp_path, "time;in_bytes\n0;1.5\n300;2.25\n")
    assert points.bytes.tolist() == [1.5, 2.25]
    with pytest.raises(TrafficError, match=r"1,234 may be thousands or have a decimal comma.*--decimal comma"):
        table(tmp_path, "time;in_bytes\n0;1,234\n300;2,250\n")
    assert table(tmp_path, "time;in_bytes\n0;1,234\n300;2,250\n", decimal="comma")[0].bytes.tolist() == [1.234, 2.25]


# --- long tables


def test_a_long_table_of_prometheus(tmp_path: Path) -> None:
    rows = [f"{1_700_000_000 + 60 * i},{name},{100 * i * (1 + k)}" for i in range(5) for k, name in enumerate("ab")]
    text = "time,ifName,__name__,value\n" + "\n".join(row.replace(",a,", ",a,ifHCInOctets,") for row in rows[::2])
    text += "\n" + "\n".join(row.replace(",b,", ",b,ifHCInOctets,") for row in rows[1::2]) + "\n"
    first, second = table(tmp_path, text)
    assert (first.trace, second.trace) == ("a:a", "a:b")
    assert first.bytes.tolist() == [100.0] * 4
    assert second.bytes.tolist() == [200.0] * 4


def test_an_annotated_table_of_influx(tmp_path: Path) -> None:
    head = (
        "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string\n"
        "#group,false,false,true,true,false,false,true,true\n#default,_result,,,,,,,\n"
        ",result,table,_start,_stop,_time,_value,_field,host\n"
    )
    rows = "".join(
        f",,{k},2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,2026-01-01T00:0{i}:00Z,{10 * k + i},{field},r1\n"
        for k, field in enumerate(("in_bytes", "out_bytes"))
        for i in range(4)
    )
    inbound, outbound = table(tmp_path, head + rows)
    assert (inbound.trace, inbound.bytes.tolist()) == ("a:in_bytes", [0, 1, 2, 3])
    assert (outbound.trace, outbound.bytes.tolist()) == ("a:out_bytes", [10, 11, 12, 13])


def test_what_rrdtool_fetch_prints(tmp_path: Path) -> None:
    text = "          INOCTETS          OUTOCTETS\n\n"
    text += "".join(f"{1_700_000_100 + 300 * i}: {1.5 + i:.10e} {'nan' if i == 2 else '2.0e+00'}\n" for i in range(4))
    inbound, outbound = table(tmp_path, text, "port.txt")
    # Bytes per second in intervals that end at the time of the row.
    assert inbound.start == 1_699_999_800
    assert inbound.bytes.tolist() == [450.0, 750.0, 1050.0, 1350.0]
    assert outbound.sample().tolist() == [600.0] * 3
    other = text.replace("INOCTETS", "temperature")
    with pytest.raises(TrafficError, match="column temperature: does not say its unit"):
        table(tmp_path, other, "port.txt")


@pytest.mark.parametrize("form", ["xml", "xml with times", "json"])
def test_what_rrdtool_xport_prints(form: str, tmp_path: Path) -> None:
    rows: list[list[float | None]] = [[1.0, 10.0], [2.0, None], [3.0, 30.0]]
    if form == "json":
        text = json.dumps(
            {
                "meta": {"start": 1_700_000_100, "step": 300, "end": 0, "legend": ["traffic_in", "traffic_out"]},
                "data": rows,
            }
        )
    else:
        cells = "".join(
            ("<row>" if form == "xml" else f"<row><t>{1_700_000_100 + 300 * i}</t>")
            + "".join(f"<v>{v or 'NaN'}</v>" for v in row)
            + "</row>"
            for i, row in enumerate(rows)
        )
        legend = "<legend><entry>traffic_in</entry><entry>traffic_out</entry></legend>"
        times = "" if "times" in form else "<start>1700000100</start>"
        text = f"<xport><meta>{times}<step>300</step>{legend}</meta><data>{cells}</data></xport>"
    inbound, outbound = table(tmp_path, text, f"a.{form[:4].strip()}")
    assert (inbound.start, inbound.bytes.tolist()) == (1_699_999_800, [300.0, 600.0, 900.0])
    assert outbound.sample().tolist() == [3000.0, 9000.0]


def test_an_answer_of_prometheus(tmp_path: Path) -> None:
    result = [
        {
            "metric": {"__name__": "ifHCInOctets", "ifName": name, "job": "snmp"},
            "values": [[1_700_000_000 + 60 * i, str(10**15 * k + 100 * i)] for i in range(4)],
        }
        for k, name in enumerate(("eth0", "eth1"), 1)
    ]
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    first, second = table(tmp_path, text, "a.json")
    assert (first.trace, second.trace) == ("a:eth0", "a:eth1")
    assert first.bytes.tolist() == second.bytes.tolist() == [100.0] * 3
    rate = [{"metric": {}, "values": [[1_700_000_000 + 60 * i, "125"] for i in range(4)]}]
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rate}})
    (one,) = table(tmp_path, text, "a.json", unit="bytes/s")
    assert one.bytes.tolist() == [7500.0] * 4


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["a.json", "a.txt"])
def test_a_compressed_export_is_read_as_the_plain_one(name: str, ending: str, tmp_path: Path) -> None:
    text = '{"meta": {"start": 300, "step": 300, "legend": ["ds0"]}, "data": [[1.0], [2.0]]}'
    plain = tmp_path / name
    plain.write_text(text if name == "a.json" else "ds0\n\n1700000100: 1\n1700000400: 2\n")
    packed = tmp_path / f"{name}{ending}"
    with pa.output_stream(packed, compression="detect") as out:
        out.write(plain.read_bytes())
    (one,), (other,) = read(plain), read(packed)
    assert one.bytes.tolist() == other.bytes.tolist() == [300.0, 600.0]
    assert (one.trace, one.start) == (other.trace, other.start)


# --- flow records

NFDUMP = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out\n"


def flow(first: str, last: str, inbound: int, outbound: int = 0) -> str:
    return f"{first},{last},0.000,10.0.0.1,10.0.0.2,1,80,TCP,...,0,0,10,{inbound},0,{outbound},1,2\n"


def test_flow_records_of_nfdump_are_spread_over_their_time(tmp_path: Path) -> None:
    rows = flow("2023-11-14 22:15:30", "2023-11-14 22:18:30", 18_000) + flow(
        "2023-11-14 22:16:10.500", "2023-11-14 22:16:10.500", 7
    )
    text = NFDUMP + rows + "Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n2,18007,20,1,0,2\n"
    (volumes,) = table(tmp_path, text, input_timezone="Europe/Berlin")
    assert volumes.start == 1_699_996_500  # 21:15 UTC
    assert volumes.bytes.tolist() == [3000.0, 6007.0, 6000.0, 3000.0]
    (fine,) = table(tmp_path, text, timescales="30s")
    assert fine.bytes.sum() == 18_007
    assert notes(tmp_path) == ["times without a zone", "flows spread"]
    inbound, outbound = table(tmp_path, NFDUMP + flow("2023-11-14T22:00:00Z", "2023-11-14T22:02:00Z", 60, 120))
    assert (inbound.trace, outbound.trace) == ("a in", "a out")
    assert (inbound.bytes.sum(), outbound.bytes.sum()) == (60, 120)
    late = "firstSeen,duration,proto,srcAddr,bytes\n2023-11-14T22:00:00Z,120.0,TCP,10.0.0.1,600\n"
    assert table(tmp_path, late)[0].bytes.tolist() == [300.0, 300.0, 0.0]


def test_no_byte_of_a_flow_is_lost(tmp_path: Path) -> None:
    from pullnet.traffic.flows import _spread

    rng = np.random.Generator(np.random.PCG64(2))
    first = rng.uniform(0, 1000, 5000)
    last = np.minimum(first + rng.exponential(60, 5000) * (rng.random(5000) < 0.8), 1199.0)
    volume = rng.uniform(1, 1e6, 5000)
    found = _spread(volume, first, last, 10.0, 120)
    assert found.sum() == pytest.approx(volume.sum(), rel=1e-12)
    edges = np.arange(121) * 10.0
    span = np.maximum(last - first, 1e-9)
    for bin in range(0, 120, 7):
        part = np.clip(np.minimum(last, edges[bin + 1]) - np.maximum(first, edges[bin]), 0, None) / span
        part = np.where(last == first, (first // 10 == bin).astype(float), part)
        assert found[bin] == pytest.approx(float((part * volume).sum()), rel=1e-6, abs=1e-3)


@pytest.mark.skipif(shutil.which("nfcapd") is None, reason="nfdump is missing (apt-get install nfdump)")
@pytest.mark.parametrize("version", [5, 9, 10])
def test_netflow_and_ipfix_through_the_collector_of_nfdump(version: int, tmp_path: Path) -> None:
    """Packets of an exporter, as they are on the wire, through nfcapd and nfdump to volumes."""
    text = collected("nfcapd", exported(version), tmp_path)
    (volumes,) = table(tmp_path, text)
    assert volumes.bytes.sum() == 12_000_900
    assert volumes.start == 1_700_000_400 - 300
    assert volumes.bytes.tolist()[:3] == [6e6, 6e6, 0.0]


@pytest.mark.skipif(shutil.which("sfcapd") is None, reason="sfcapd is missing (apt-get install nfdump-sflow)")
def test_sflow_through_the_collector_of_nfdump(tmp_path: Path) -> None:
    """A sample of 1 in 1000 frames stands for as many bytes."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 1486, 0, 0, 64, 6, 0) + b"\x0a\0\0\x01\x0a\0\0\x02"
    header = bytes(12) + b"\x08\0" + ip + struct.pack(">HHIIBBHHH", 9, 80, 0, 0, 0x50, 16, 0, 0, 0)
    header += bytes(-len(header) % 4)
    raw = struct.pack(">IIII", 1, 1500, 0, len(header)) + header
    sample = struct.pack(">IIIIIIII", 1, 3, 1000, 1000, 0, 1, 2, 1) + struct.pack(">II", 1, len(raw)) + raw
    agent = b"\x7f\0\0\x01"
    packet = struct.pack(">II", 5, 1) + agent + struct.pack(">IIII", 0, 1, 1000, 1)
    packet += struct.pack(">II", 1, len(sample)) + sample
    text = collected("sfcapd", [packet], tmp_path)
    (volumes,) = table(tmp_path, text)
    assert volumes.bytes.sum() == pytest.approx(1_500_000, rel=0.02)


def collected(program: str, packets: list[bytes], tmp_path: Path) -> str:
    """Records that a collector of nfdump makes of packets, as CSV. It may begin another file when an hour ends."""
    folder = tmp_path / "flows"
    folder.mkdir()
    port = free_port()
    command = [program, "-w", str(folder), "-p", str(port), "-b", "127.0.0.1", "-t", "3600"]
    with subprocess.Popen(command) as collector, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        wait_for(lambda: waiting(port) == 0)  # the collector listens
        for packet in packets:
            sender.sendto(packet, ("127.0.0.1", port))
        wait_for(lambda: waiting(port) == 0)  # it has taken all packets
        collector.terminate()
    command = ["nfdump", "-R", str(folder), "-o", "csv"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"TZ": "UTC"}).stdout


def waiting(port: int) -> int | None:
    """Bytes in the receive queue of a UDP port of the loopback interface; `None` without a socket."""
    sockets = [line.split() for line in Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]]
    queues = [fields[4] for fields in sockets if fields[1] == f"0100007F:{port:04X}"]
    return int(queues[0].split(":")[1], 16) if queues else None


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for half a minute at most."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "nothing happened for 30 s"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def exported(version: int) -> list[bytes]:
    """Two flows of an exporter: 12 MB from 300 to 180 s ago, and 900 B a minute ago."""
    now, up = 1_700_000_400, 10_000_000
    flows = [(300, 180, 12_000_000), (60, 60, 900)]
    hosts = b"\x0a\0\0\x01\x0a\0\0\x02"
    if version == 5:
        records = b"".join(
            hosts
            + struct.pack(
                ">IHHIIIIHHBBBBHHBBH", 0, 1, 2, 10, octets, up - 1000 * a, up - 1000 * b, 9, 80, *[0] * 2, 6, *[0] * 6
            )
            for a, b, octets in flows
        )
        return [struct.pack(">HHIIIIBBH", 5, 2, up, now, 0, 0, 0, 0, 0) + records]
    # Fields: addresses, octets, packets, and begin and end, by uptime (NetFlow v9) or in ms since 1970 (IPFIX).
    stamps = [(22, 4), (21, 4)] if version == 9 else [(152, 8), (153, 8)]
    fields = [(8, 4), (12, 4), (1, 4), (2, 4), *stamps]
    template = struct.pack(">HH", 256, len(fields)) + b"".join(struct.pack(">HH", *field) for field in fields)
    code = ">IIII" if version == 9 else ">IIQQ"
    base = up if version == 9 else 1000 * now
    data = b"".join(hosts + struct.pack(code, octets, 10, base - 1000 * a, base - 1000 * b) for a, b, octets in flows)
    data += b"\0" * (-len(data) % 4)
    sets = struct.pack(">HH", 0 if version == 9 else 2, 4 + len(template)) + template
    sets += struct.pack(">HH", 256, 4 + len(data)) + data
    if version == 9:
        return [struct.pack(">HHIIII", 9, 3, up, now, 0, 0) + sets]
    return [struct.pack(">HHIII", 10, 16 + len(sets), now, 0, 0) + sets]


# --- jitter


def jittered(count: int, seed: int = 7) -> np.ndarray:
    numbers = np.random.Generator(np.random.PCG64(seed))
    return 1_700_000_100 + 300.002 * np.arange(count) + numbers.uniform(-2, 2, count)


@pytest.mark.parametrize("cumulative", [False, True])
def test_polls_that_jitter_are_billed(cumulative: bool, pullnet: Pullnet, tmp_path: Path) -> None:
    times = jittered(2017)
    values = np.full(2017, 3_000_000.0)
    readings = np.cumsum(values).astype(int) if cumulative else values.astype(int)
    name = "ifHCInOctets" if cumulative else "in_bytes"
    rows = "".join(f"{time:.3f},{value}\n" for time, value in zip(times, readings, strict=True))
    (tmp_path / "a.csv").write_text(f"time,{name}\n{rows}")
    done = pullnet("traffic", "bill", "a.csv", "--json")
    assert done.returncode == 0, done.stderr
    (bill,) = json.loads(done.stdout)["bills"]
    assert bill["rate_bps"] == pytest.approx(80_000, rel=0.02)


def test_values_of_intervals_that_drift_are_cut_at_the_borders(tmp_path: Path) -> None:
    # A poller that waits 5 minutes after each poll: 302 s each. No byte is lost, none moves by more than a slot.
    count = 1000
    rows = "".join(f"{302 * i},{1000 + i}\n" for i in range(count))
    (volumes,) = table(tmp_path, "time,in_bytes\n" + rows)
    assert volumes.timescale == 300
    assert len(volumes) == 1006
    assert volumes.bytes.sum() == pytest.approx(sum(1000 + i for i in range(count)), rel=2e-3)
    assert volumes.bytes[500] == pytest.approx((1000 + 500 * 300 / 302) * 300 / 302, abs=2)
    assert "drifting times" in notes(tmp_path)


# --- files of many traces


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail as soon as the block has taken more CPU time than that."""

    def over(*_: object) -> None:
        pytest.fail(f"takes more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.long
def test_a_file_of_many_traces_is_read_in_time_that_grows_with_its_rows(tmp_path: Path) -> None:
    bins = np.arange(200.0)
    state = np.zeros(200, dtype=np.uint8)
    every = [Volumes(f"t{trace}", scale, 0.0, bins, state) for trace in range(1500) for scale in (1.0, 5.0)]
    write(every, tmp_path / "v.parquet")
    # With a pass over all rows for each trace it takes minutes.
    with cpu_limit(20):
        found = read(tmp_path / "v.parquet")
    assert [(item.trace, item.timescale) for item in found] == [(item.trace, item.timescale) for item in every]
    assert all(item.bytes.tolist() == bins.tolist() for item in found[::500])


def test_a_file_whose_traces_are_interleaved(tmp_path: Path) -> None:
    rows = [f"{name},1,{i},{i},{10 * i + k},,ok" for i in range(4) for k, name in enumerate(("x", "y"))]
    (tmp_path / "v.csv").write_text("trace,timescale_s,bin,start_s,bytes,packets,state\n" + "\n".join(rows) + "\n")
    first, second = read(tmp_path / "v.csv")
    assert (first.trace, first.bytes.tolist()) == ("x", [0, 10, 20, 30])
    assert (second.trace, second.bytes.tolist()) == ("y", [1, 11, 21, 31])


# --- the same options everywhere


def test_every_command_has_all_options_of_reading(capfd: pytest.CaptureFixture[str]) -> None:
    from pullnet.cli.traffic.inputs import READING

    for command in ("volumes", "fit", "dimension", "bill", "stationarity", "study", "synthesise"):
        assert status(["traffic", command, "--help"]) == 0
        text = capfd.readouterr().out
        missing = [name for name in READING if f"--{name.replace('_', '-')} " not in text]
        assert missing == [], command


@pytest.mark.long
def test_a_study_of_which_nothing_can_be_fitted_is_an_error(pullnet: Pullnet, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,bytes\n" + "".join(f"{300 * i},7\n" for i in range(50)))
    done = pullnet("traffic", "study", "a.csv", "-o", "report")
    assert done.returncode == 2
    assert "all 50 values are" in done.stderr
    assert not (tmp_path / "report").exists()


# --- columns that would be lost or misread without a word


def rows(count: int, *cells: str, header: str = "time,in_bytes,out_bytes") -> str:
    """Return a table of `count` rows 5 minutes apart; the row number replaces `#` in cells."""
    body = "".join(f"{300 * row},{','.join(cells).replace('#', str(7 + row % 5))}\n" for row in range(count))
    return f"{header}\n{body}"


@pytest.mark.parametrize(
    ("bad", "shown"),
    [("err", "`err`"), ('"1,234"', "`1,234`"), ("-", "`-`"), ("5 Mbps", "`5 Mbps`")],
)
def test_one_bad_cell_does_not_remove_its_column(bad: str, shown: str, pullnet: Pullnet, tmp_path: Path) -> None:
    text = rows(9, "#", "#") + f"2700,7,{bad}\n" + "3000,7,7\n"
    (tmp_path / "a.csv").write_text(text)
    for command in ("volumes", "bill"):
        done = pullnet("traffic", command, "a.csv")
        assert done.returncode == 2, done.stdout
        assert f"a.csv, line 11, column out_bytes: {shown} is not a number" in done.stderr
    (volumes,) = read(tmp_path / "a.csv", columns="in_bytes")
    assert len(volumes) == 11


def test_a_column_of_text_that_is_mostly_numbers_is_no_label(tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match="column there: `off` is not a number"):
        table(tmp_path, rows(5, "#", "#", header="time,in_bytes,there") + "1500,7,off\n")
    (volumes,) = table(tmp_path, rows(5, "#", "192.168.100.1#", header="time,in_bytes,router"))
    assert len(volumes) == 5


def test_an_empty_column_and_packets_are_left_out_with_a_note(tmp_path: Path) -> None:
    (volumes,) = table(tmp_path, rows(5, "#", "", header="time,in_bytes,out_bytes"))
    assert volumes.bytes.tolist() == [7, 8, 9, 10, 11]
    assert "empty column" in notes(tmp_path)
    (volumes,) = table(tmp_path, rows(5, "#", "3", header="time,in_bytes,in_packets"), unit="bytes")
    assert volumes.bytes.tolist() == [7, 8, 9, 10, 11]
    assert "other quantity" in notes(tmp_path, unit="bytes")
    assert (
        len(table(tmp_path, rows(5, "#", "3", header="time,in_bytes,pkts"), unit="bytes", columns="in_bytes,pkts")) == 2
    )


def test_values_that_rise_like_a_counter_are_noted(tmp_path: Path) -> None:
    rising = "time,in_bytes\n" + "".join(f"{300 * row},{1000 * row * row}\n" for row in range(30))
    table(tmp_path, rising)
    assert "rising values" in notes(tmp_path)
    assert "rising values" not in notes(tmp_path, kind="volume")
    table(tmp_path, rows(30, "#", "#"))
    assert "rising values" not in notes(tmp_path)
    table(tmp_path, rows(30, "5", "5"))
    assert "rising values" not in notes(tmp_path)


@pytest.mark.parametrize("text", ["5\n6\n7\n", "2026-01-01T00:00,5\n2026-01-01T00:05,6\n"])
def test_a_table_without_a_header_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match="which are values and no names of columns"):
        table(tmp_path, text, unit="bytes", interval="5 min")


def test_points_that_may_stand_between_thousands_are_refused(tmp_path: Path) -> None:
    text = "time;in_bytes\n0;19.034\n300;2.500\n600;117.000\n"
    with pytest.raises(TrafficError, match=r"1\.234 may be thousands"):
        table(tmp_path, text)
    (volumes,) = table(tmp_path, text, decimal="point")
    assert volumes.bytes.tolist() == [19.034, 2.5, 117.0]
    for certain in ("0.500", "1234.500", "2.5"):
        assert len(table(tmp_path, f"{text}900;{certain}\n")[0]) == 4


def test_times_of_day_in_a_column_of_their_own_are_named(tmp_path: Path) -> None:
    text = "date,time,in_bytes\n2026-01-01,00:00:00,5\n2026-01-01,00:05:00,6\n"
    with pytest.raises(TrafficError, match="two columns, date and time"):
        table(tmp_path, text)


def test_a_zero_byte_and_a_compressed_table_are_named(tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match="line 3: has a zero byte"):
        table(tmp_path, "time,in_bytes\n0,5\n300,\0\0\n600,7\n")
    (tmp_path / "b.csv").write_bytes(gzip.compress(b"time,in_bytes\n0,5\n300,6\n"))
    with pytest.raises(TrafficError, match=r"is compressed by gzip; name it so that it ends in \.csv\.gz"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize(("cell", "what"), [("x", "`x` is not a number"), ("-5", "is negative")])
def test_a_long_table_names_the_line_in_the_file(cell: str, what: str, tmp_path: Path) -> None:
    body = [f"{300 * row},{way},{row + 1}" for row in range(9) for way in ("in", "out")]
    body[13] = f"1800,out,{cell}"
    with pytest.raises(TrafficError, match=f"a.csv, .*line 15, column value: .*{what}"):
        table(tmp_path, "\n".join(["time,direction,value", *body]), unit="bytes")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("form", ["wide", "long"])
def test_comments_and_empty_lines_count_as_lines(form: str, mark: str, tmp_path: Path) -> None:
    header, row = ("time,in_bytes", "{},5") if form == "wide" else ("time,way,value", "{},in,5")
    body = [row.format(300 * number) for number in range(5)]
    lines = ["#group,x", "# more", header, *body[:2], "", *body[2:], row.format(1500).replace(",5", ",-5")]
    with pytest.raises(TrafficError, match=r"line 10, column [a-z_]*: -5.0 is negative"):
        table(tmp_path, mark + "\n".join(lines), unit="bytes")
