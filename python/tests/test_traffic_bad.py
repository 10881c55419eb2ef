"""Messages of `pullnet traffic volumes` about wrong, damaged and odd inputs, compared with a file.

`BLESS=1 pytest python/tests/test_traffic_bad.py` rewrites the file.
"""

import gzip
import os
import struct
from pathlib import Path

import pytest

from pullnet.cli import status
from tests.captures import (
    MICROS,
    NANOS,
    block,
    enhanced,
    erf,
    header,
    interface,
    pcap,
    pcapng,
    record,
    section,
    steady,
)

HELD = Path(__file__).with_name("traffic_bad.txt")

DAY = 86_400.0
SIX = steady(600)
T0 = SIX[0][0]


def _middle(content: bytes, fill: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + fill + content[at + len(fill) :]


CAPTURES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ""),
    "one packet": (pcap(SIX[:1]), ""),
    "header only": (header(), ""),
    "three bytes": (b"\xd4\xc3\xb2", ""),
    "wrong magic": (b"\x00" * 40, ""),
    "a text": (b"hello world, this is no capture at all\n" * 9, ""),
    "another version": (header(major=9) + bytes(30), ""),
    "short file header": (header()[:17], ""),
    "truncated record": (pcap(SIX)[:-7], "--timescale 1s"),
    "truncated record header": (pcap(SIX)[: -20 - 5], "--timescale 1s"),
    "damage in the middle": (_middle(pcap(SIX), b"\xff" * 100), "--timescale 1s"),
    "absurd length": (
        pcap(SIX[:300]) + struct.pack("<IIII", 1, 1, 2**31, 2**31) + pcap(SIX[300:])[24:],
        "--timescale 1s",
    ),
    "zero-length packets": (pcap([(T0, 100), (T0 + 0.5, 0), (T0 + 1.5, 100)]), "--timescale 1s"),
    "more captured than on the wire": (header() + record(T0, 5, data=bytes(9)) + record(T0 + 2, 60), "--timescale 1s"),
    "times going back a little": (pcap([SIX[0], SIX[9], *SIX[1:9], *SIX[10:]]), "--timescale 1s"),
    "times going back far": (pcap([*SIX[:300], (T0 - 3600, 999), *SIX[300:]]), "--timescale 1s"),
    "one time far ahead": (pcap([*SIX[:300], (T0 + 9 * DAY, 999), *SIX[300:]]), "--timescale 1s"),
    "a clock that was set": (pcap([*SIX[:300], *steady(300, start=T0 + 2 * DAY)]), "--timescale 600s"),
    "no packet at all times": (pcap([(0.0, 60)] * 9), ""),
    "truncated block": (pcapng(SIX)[:-9], "--timescale 1s"),
    "block lengths differ": (
        pcapng(SIX[:9]) + block(6, bytes(40))[:-4] + b"\x01\0\0\0" + pcapng(SIX)[48:],
        "--timescale 1s",
    ),
    "block of no length": (pcapng(SIX) + struct.pack("<III", 6, 0, 0) + bytes(8), "--timescale 1s"),
    "no interface": (
        section() + interface() + enhanced(T0, 60) + enhanced(T0, 60, number=7) + enhanced(T0 + 9, 60),
        "--timescale 1s",
    ),
    "simple packet blocks": (pcapng(SIX) + block(3, struct.pack("<I", 60) + bytes(20)) * 3, "--timescale 1s"),
    "only simple packet blocks": (section() + interface() + block(3, struct.pack("<I", 60)) * 3, ""),
    "wrong byte-order magic": (section()[:8] + bytes(20), ""),
    "truncated erf": (erf(SIX)[:-3], "--timescale 1s"),
    "truncated gzip": (gzip.compress(pcap(SIX), 0, mtime=0)[:-300], "--timescale 100ms"),
    "rubbish behind gzip": (gzip.compress(pcap(SIX), 0, mtime=0) + b"rubbish", "--timescale 1s"),
    "damaged gzip": (_middle(gzip.compress(pcap(SIX), 0, mtime=0), b"\0" * 9), "--timescale 100ms"),
    "no zstd": (b"\x28\xb5\x2f\xfd" + b"\xff" * 60, ""),
    "timescale of 1 ns over a day": (pcap(steady(86, step=1000.0), magic=NANOS), "--timescale 1ns,1s"),
    "timescale of zero": (pcap(SIX), "--timescale 0s"),
    "timescale without a unit": (pcap(SIX), "--timescale 5"),
    "timescale that is none": (pcap(SIX), "--timescale soon"),
    "no timescale": (pcap(SIX), "--timescale ,"),
    "timescale longer than the capture": (pcap(SIX), "--timescale 1s,1h"),
    "all timescales longer": (pcap(SIX), "--timescale 1h,2h"),
    "timescale beyond 64 bits": (pcap(SIX), "--timescale 10000000d"),
    "unknown filter": (pcap(SIX), "--filter port=80"),
    "prefix with bits behind it": (pcap(SIX), "--filter src=10.0.0.1/8"),
    "filter that takes nothing": (pcap(SIX), "--filter interface:4 --timescale 1s"),
    "filter that cannot judge": (pcap(SIX), "--filter in --timescale 1s"),
    "capacity without a unit": (pcap(SIX), "--capacity 100"),
    "capacity that is exceeded": (pcap(steady(600, step=0.0001, length=1500)), "--capacity 1kbps --timescale 5ms"),
    "origin that is none": (pcap(SIX), "--origin yesterday"),
    "origin behind the end": (pcap(SIX), "--origin 2000000000"),
    "unit of a capture": (pcap(SIX), "--unit bytes"),
}

COUNTERS: dict[str, tuple[str, str]] = {
    "empty table": ("", ""),
    "heading only": ("time,bytes\n", ""),
    "one row": ("time,bytes\n0,5\n", ""),
    "no times": ("bytes\n5\n6\n", ""),
    "no unit": ("time,value\n0,5\n300,6\n", ""),
    "unknown unit": ("time,value\n0,5\n300,6\n", "--unit furlongs"),
    "unit against the name": ("time,in_mbps\n0,5\n300,6\n", "--unit bytes"),
    "mixed units": ("time,in_bytes,out_mbps\n0,5,1\n300,6,1\n", ""),
    "not a number": ("time,bytes\n0,NaN\n300,6\n600,nan\n900,1\n", ""),
    "a word": ("time,bytes\n0,5\n300,much\n", ""),
    "infinite": ("time,bytes\n0,5\n300,inf\n", ""),
    "negative": ("time,bytes\n0,5\n300,-6\n", ""),
    "constant": ("time,bytes\n" + "".join(f"{300 * i},7\n" for i in range(50)), ""),
    "all zero": ("time,bytes\n" + "".join(f"{300 * i},0\n" for i in range(50)), ""),
    "empty cells": ("time,bytes\n0,5\n300,\n600,6\n", ""),
    "missing rows": ("time,bytes\n0,5\n300,6\n1200,6\n1500,6\n", ""),
    "times of rows going back": ("time,bytes\n0,5\n600,7\n300,6\n900,8\n", ""),
    "same time twice": ("time,bytes\n0,5\n300,6\n300,7\n600,8\n900,9\n", ""),
    "each time twice": ("time,link,bytes\n0,a,5\n0,b,6\n300,a,7\n300,b,8\n", ""),
    "same row twice": ("time,bytes\n0,5\n300,6\n300,6\n600,8\n900,9\n", ""),
    "rows off the grid": ("time,bytes\n0,5\n300,6\n440,7\n740,7\n1040,7\n", ""),
    "no time in a row": ("time,bytes\n0,5\n,6\n", ""),
    "not a time": ("time,bytes\nmonday,5\ntuesday,6\n", ""),
    "ragged": ("time,bytes\n0,5\n300,6,7\n", ""),
    "column of that name twice": ("time,bytes,bytes\n0,5,5\n300,6,6\n", ""),
    "unknown column": ("time,bytes\n0,5\n300,6\n", "--columns packets"),
    "a million years": ("time,bytes\n0,5\n300,6\n31557600000000,7\n", "--interval 300s"),
    "counter wraps": ("time,ifInOctets\n0,4294967000\n300,500\n600,1500\n900,2500\n", ""),
    "counter resets": ("time,ifHCInOctets\n0,90000000000\n300,90000001000\n600,500\n900,1500\n", ""),
    "counter resets by uptime": ("time,sysUpTime,ifInOctets\n0,900000,4294967000\n300,500,900\n600,30500,1500\n", ""),
    "counter above its width": ("time,ifInOctets\n0,5\n300,4294967296\n", ""),
    "counter with a fraction": ("time,ifInOctets\n0,5\n300,6.5\n", ""),
    "one reading": ("time,ifInOctets\n0,5\n300,\n", "--interval 300s"),
    "capacity above a counter's": ("time,ifInOctets\n0,5\n300,6\n600,9\n", "--capacity 10Gbps"),
    "timescale finer than it": ("time,bytes\n0,5\n300,6\n", "--timescale 1s"),
    "timescale no multiple": ("time,bytes\n0,5\n300,6\n600,7\n", "--timescale 400s"),
    "filter of counters": ("time,bytes\n0,5\n300,6\n", "--filter tcp"),
    "unknown kind": ("time,bytes\n0,5\n300,6\n", "--kind gauge"),
    "unknown width": ("time,bytes\n0,5\n300,6\n", "--kind counter --width 16"),
}


def _words(options: str) -> list[str]:
    return [
        word.replace("=", " ").replace(":", " ") if "=" in word or ":" in word else word for word in options.split()
    ]


def _say(name: str, content: bytes, ending: str, options: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Return exit code and standard error of a run in the current folder."""
    file = Path(f"input{ending}")
    file.write_bytes(content)
    code = status(["traffic", "volumes", str(file), *_words(options)])
    text = capfd.readouterr().err
    return f"## {name}\n{' '.join(['input' + ending, *_words(options)])}\nexit {code}\n{text}"


@pytest.fixture(scope="module")
def held() -> dict[str, str]:
    sections = HELD.read_text().split("\n## ") if HELD.exists() else []
    texts = [text if text.startswith("## ") else f"## {text}" for text in sections]
    return {text.splitlines()[0]: text.rstrip("\n") for text in texts}


_FOUND: list[str] = []


@pytest.mark.parametrize("name", [*CAPTURES, *COUNTERS])
def test_a_bad_input_is_named_with_a_remedy_or_repaired_and_counted(
    name: str, held: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if name in CAPTURES:
        content, options = CAPTURES[name]
        found = _say(name, content, ".pcap", options, capfd)
    else:
        text, options = COUNTERS[name]
        found = _say(name, text.encode(), ".csv", options, capfd)
    _FOUND.append(found)
    assert "Traceback" not in found
    assert "exit 1\n" not in found
    if "BLESS" not in os.environ:
        assert found.rstrip("\n") == held.get(f"## {name}")


def test_held_texts_are_written_when_asked_for(held: dict[str, str]) -> None:
    if "BLESS" in os.environ:
        HELD.write_text("\n".join(_FOUND))
    else:
        assert set(held) == {f"## {name}" for name in [*CAPTURES, *COUNTERS]}


def test_a_truncated_record_is_the_same_in_json(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import json

    file = tmp_path / "cut.pcap"
    file.write_bytes(pcap(SIX, MICROS, ">")[:-7])
    assert status(["traffic", "volumes", str(file), "--timescale", "1s", "--json"]) == 3
    (source,) = json.loads(capfd.readouterr().out)["inputs"]
    assert source["packets"] == 599
    assert source["unreadable"][0]["kind"] == "skipped bytes"
    assert source["unreadable"][0]["count"] == 16 + 20 - 7


@pytest.mark.parametrize(
    "command", ["volumes {0} -o {0}", "volumes {0} -o {1}", "synthesise --from {0} -o {1}", "bill {0} --invoice {1}"]
)
def test_what_is_read_is_not_written_over(command: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    read, also = tmp_path / "read.csv", tmp_path / "also.csv"
    make = ["--mean", "8 Mbps", "--cv", "0.1", "--timescale", "5min", "--duration", "1h"]
    assert status(["traffic", "synthesise", *make, "-o", str(read)]) == 0
    also.symlink_to(read)
    kept = read.read_bytes()
    capfd.readouterr()
    assert status(["traffic", *command.format(read, also).split()]) == 2
    assert " is also what is read, and would be lost" in capfd.readouterr().err
    assert read.read_bytes() == kept
