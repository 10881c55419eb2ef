"""Wrong inputs of every traffic command: exit code 2, the file and place, the value, a remedy, and no traceback."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pullnet.cli import status
from pullnet.traffic import Volumes, write

ROWS = "".join(f"{300 * i},{100 + i * i % 37}\n" for i in range(40))
GOOD = "time,bytes\n" + ROWS
V = "trace,timescale_s,bin,start_s,bytes,packets,state\n"
FETCH = "INOCTETS OUTOCTETS\n\n1700000100: 1 2\n"

CASES: dict[str, tuple[str, str, str, str]] = {
    # name: (file, content, command line, what standard error holds)
    "ambiguous unit": (
        "a.csv",
        "time,in_mb\n0,1\n300,2\n",
        "volumes a.csv",
        "a.csv, column in_mb: may be in Mbit or in MB",
    ),
    "shouted unit": ("a.csv", "time,IN_MBPS\n0,1\n300,2\n", "fit a.csv", "column IN_MBPS: may be in Mbit/s or in MB/s"),
    "unit against it": (
        "a.csv",
        "time,in_MB\n0,1\n300,2\n",
        "bill a.csv --unit Mbit",
        "is in MB by its name, and --unit says Mbit",
    ),
    "year 9999": (
        "a.csv",
        "time,bytes\n9999-01-01,1\n9999-01-02,2\n",
        "bill a.csv",
        "line 2: a time of 253370764800 s is not",
    ),
    "year 1": (
        "a.csv",
        "time,bytes\n0001-01-01,1\n0001-01-02,2\n",
        "fit a.csv",
        "line 2: a time of -62135596800 s is not",
    ),
    "huge seconds": (
        "a.csv",
        "time_s,bytes\n1700000000000,1\n1700000300000,2\n",
        "volumes a.csv",
        "name the column by its unit",
    ),
    "infinite time": (
        "a.csv",
        "time,bytes\n0,1\ninf,2\n",
        "volumes a.csv",
        "line 3: inf is not a time; use seconds or ISO",
    ),
    "month or day": (
        "a.csv",
        "time,bytes\n03/04/2026 00:00,1\n",
        "fit a.csv",
        "line 2: `03/04/2026 00:00` is not a time",
    ),
    "other form": (
        "a.csv",
        GOOD.replace("\n0,", "\nx,"),
        "fit a.csv --time-format %d.%m.%Y",
        "`x` is not a time of the form %d.%m.%Y",
    ),
    "no such zone": (
        "a.csv",
        GOOD,
        "volumes a.csv --input-timezone Mars",
        "`Mars` is not a time zone; use for instance",
    ),
    "zone by path": ("a.csv", GOOD, "fit a.csv --input-timezone ../../etc/passwd", "is not a time zone"),
    "hour that is not": (
        "a.csv",
        "time,bytes\n2026-03-29 01:30,1\n2026-03-29 02:30,2\n",
        "volumes a.csv --input-timezone Europe/Berlin",
        "line 3: 2026-03-29 02:30:00 does not exist in Europe/Berlin",
    ),
    "some zones": (
        "a.csv",
        "time,bytes\n2026-03-01T00:00,1\n2026-03-01T00:05Z,2\n2026-03-01 00:10 x,3\n",
        "volumes a.csv",
        "line 4: `2026-03-01 00:10 x` is not a time",
    ),
    "unknown stamps": (
        "a.csv",
        GOOD,
        "dimension a.csv --stamps middle",
        "stamps: `middle` is unknown; use one of begin, end",
    ),
    "unknown mark": ("a.csv", GOOD, "dimension a.csv --decimal dot", "decimal: `dot` is unknown; use point or comma"),
    "comma for both": (
        "a.csv",
        GOOD,
        "volumes a.csv --decimal comma",
        "commas are its separators, and cannot be decimal ones",
    ),
    "thousands": (
        "a.csv",
        "time;in_bytes\n0;1,234\n300;2,345\n",
        "bill a.csv",
        "may be thousands or have a decimal comma",
    ),
    "unknown missing": (
        "a.csv",
        GOOD,
        "stationarity a.csv --missing zero",
        "missing: `zero` is unknown; use one of gap, error",
    ),
    "missing is an error": (
        "a.csv",
        "time,bytes\n0,1\n300,\n",
        "fit a.csv --missing error",
        "line 3, column bytes: is not a number",
    ),
    "only row numbers": (
        "a.csv",
        "time,n\n0,1\n300,2\n",
        "volumes a.csv",
        "no column of numbers but `n`, which by its name numbers the rows; choose it with --columns n",
    ),
    "only labels": (
        "a.csv",
        "time,host,value\n0,a,1\n300,a,2\n",
        "volumes a.csv",
        "column value: does not say its unit",
    ),
    "series of one row": (
        "a.csv",
        "time,host,value\n0,a,1\n0,b,2\n",
        "volumes a.csv --unit bytes",
        "one row does not say how long",
    ),
    "a header in ISO-8859-1": (
        "a.csv",
        "time,gr\udcf6\udcdfe_bytes\n0,1\n300,2\n",
        "volumes a.csv",
        "a.csv, line 1: has the byte 0xf6, which is not UTF-8; convert it, for instance by `iconv -f ISO-8859-1",
    ),
    "a label in ISO-8859-1": (
        "a.csv",
        "time,site,value\n0,Bonn,1\n0,K\udcf6ln,2\n300,Bonn,2\n300,K\udcf6ln,3\n",
        "volumes a.csv --unit bytes",
        "a.csv, line 3: has the byte 0xf6, which is not UTF-8; convert it, for instance by `iconv -f ISO-8859-1",
    ),
    "UTF-16": (
        "a.csv",
        "\udcff\udcfe" + "".join(f"{letter}\0" for letter in GOOD),
        "fit a.csv",
        "a.csv, line 1: has zero bytes, as UTF-16 has; convert it, for instance by `iconv -f UTF-16",
    ),
    "ragged": (
        "a.csv",
        "time,bytes\n0,1\n300\n",
        "bill a.csv",
        "a.csv, line 3: has 1 cell where the header has 2: `300`; give every line as many cells as the header",
    ),
    "ragged below a comment": (
        "a.csv",
        "#x\ntime,bytes\n# more\n\n0,1\n300\n",
        "fit a.csv",
        "a.csv, line 6: has 1 cell where",
    ),
    "ragged below a cell with a line break": (
        "a.csv",
        'time,bytes,note\n0,1,"a\nb"\n300,2\n',
        "fit a.csv",
        "a.csv, row 3: has 2 cells where the header has 3: `300,2`",
    ),
    "the same file twice": ("a.csv", GOOD, "volumes a.csv a.csv", "a.csv: is given twice; name each file once"),
    "the same file by another name": (
        "a.csv",
        GOOD,
        "study a.csv ../{folder}/a.csv -o r",
        "a.csv: is given twice, as `a.csv` before; name each file once",
    ),
    "compressed Parquet": (
        "a.parquet.gz",
        "\x1f",
        "fit a.parquet.gz",
        "a.parquet.gz: is a compressed Parquet file; decompress it",
    ),
    "compressed export that is cut off": (
        "j.json.gz",
        "\x1f\udc8b\x08\0\0\0\0\0\0\x03",
        "fit j.json.gz",
        "j.json.gz: cannot be read: ",
    ),
    "duration without a unit": (
        "a.csv",
        GOOD,
        "synthesise --mean 1Mbps --cv 1 --timescale 1s --duration 5 -o o.csv",
        '--duration: `5` has no unit; use one of ps, ns, us, ms, s, min, h, d, for instance "5 ms"',
    ),
    "state of no kind": ("v.csv", V + "a,1,0,0,5,1,fine\n", "fit v.csv", "`fine` is not a state; use one of ok, gap"),
    "bins from 1": ("v.csv", V + "a,1,1,0,5,1,ok\n", "dimension v.csv", "v.csv, trace a, 1 s: bins are not 0, 1, 2"),
    "bin twice": (
        "v.csv",
        V + "a,1,0,0,5,1,ok\na,1,0,0,5,1,ok\n",
        "fit v.csv",
        "v.csv, trace a, 1 s: bins are not 0, 1, 2",
    ),
    "timescale is a word": (
        "v.csv",
        V + "a,second,0,0,5,1,ok\n",
        "fit v.csv",
        "v.csv, column timescale_s: is not numbers",
    ),
    "no trace": ("v.csv", V + ",1,0,0,5,1,ok\n", "fit v.csv", "v.csv, column trace: row 0 has no trace"),
    "bytes below zero": ("v.csv", V + "a,1,0,0,-5,1,ok\n", "bill v.csv", "a, bin 0: -5.0 is negative"),
    "timescale of zero": (
        "v.csv",
        V + "a,0,0,0,5,1,ok\n",
        "study v.csv -o r",
        "a timescale of 0.0 s; use a time above zero",
    ),
    "volumes with a unit": (
        "v.csv",
        V + "a,1,0,0,5,1,ok\n",
        "fit v.csv --unit bytes",
        "unit: says nothing about a file of volumes",
    ),
    "no Parquet": ("a.parquet", "PAR1 but no more", "study a.parquet -o r", "a.parquet: is not a Parquet file"),
    "fetch ragged": ("p.txt", FETCH + "1700000400: 3\n", "volumes p.txt", "p.txt, line 4: has 1 values for 2 names"),
    "fetch of words": (
        "p.txt",
        FETCH + "1700000400: 3 many\n",
        "volumes p.txt",
        "p.txt, line 4: `many` is not a number",
    ),
    "fetch with a remark": (
        "p.txt",
        FETCH + "that is all\n",
        "volumes p.txt",
        "p.txt, line 4: `that is all` is no row",
    ),
    "rrd itself": ("p.rrd", "RRD\x00", "bill p.rrd", "p.rrd: is a database of RRDtool"),
    "broken XML": ("x.xml", "<xport><meta>", "volumes x.xml", "x.xml: is no XML: no element found: line 1"),
    "other XML": ("x.xml", "<html/>", "volumes x.xml", "x.xml: is not an export of rrdtool xport"),
    "XML with entities": (
        "x.xml",
        "<!DOCTYPE x [<!ENTITY a 'a'>]><x>&a;</x>",
        "volumes x.xml",
        "x.xml: defines entities",
    ),
    "XML without numbers": (
        "x.xml",
        "<xport><meta><start>now</start><step>300</step><legend><entry>ds0</entry></legend></meta><data/></xport>",
        "volumes x.xml",
        "x.xml: `now` is not a number; give one",
    ),
    "broken JSON": ("j.json", '{"status":', "volumes j.json", "j.json: is no JSON: Expecting value: line 1"),
    "other JSON": ("j.json", "[1, 2]", "volumes j.json", "j.json: is of no known form; give what rrdtool xport"),
    "refused query": (
        "j.json",
        '{"status":"error","error":"parse error"}',
        "fit j.json",
        "is an error of Prometheus: parse error",
    ),
    "instant vector": (
        "j.json",
        '{"data":{"resultType":"vector","result":[]}}',
        "fit j.json",
        "holds a vector, which has no course",
    ),
    "no samples": (
        "j.json",
        '{"data":{"resultType":"matrix","result":[]}}',
        "fit j.json",
        "j.json: holds no samples; ask for",
    ),
    "sample of three": (
        "j.json",
        '{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,2,3]]}]}}',
        "fit j.json",
        "j.json, series 0: `[1, 2, 3]` is no sample",
    ),
    "series is no object": (
        "j.json",
        '{"data":{"resultType":"matrix","result":[7]}}',
        "fit j.json",
        "j.json, series 0: ",
    ),
    "result is a number": (
        "j.json",
        '{"data":{"resultType":"matrix","result":7}}',
        "fit j.json",
        "j.json: `7` is no list of series; give what Prometheus",
    ),
    "xport without rows": (
        "j.json",
        '{"meta":{"legend":["a"],"start":0,"step":1},"data":[]}',
        "fit j.json",
        "j.json: has no rows",
    ),
    "xport without start": (
        "j.json",
        '{"meta":{"legend":["a"]},"data":[[1]]}',
        "fit j.json",
        "is not an export of rrdtool xport",
    ),
    "bytes that are no text": ("j.json", "\udcff\udcfe", "volumes j.json", "j.json: is no text: byte 0 is none"),
    "as of never": (
        "a.csv",
        GOOD,
        "bill a.csv --month 2026-10 --as-of never",
        "--as-of: `never` is not a time; use ISO 8601",
    ),
    "invoice of no form": ("a.csv", GOOD, "bill a.csv --invoice i.doc", "i.doc: ends in `.doc`; use .pdf or .csv"),
    "invoice nowhere": (
        "a.csv",
        GOOD,
        "bill a.csv --invoice no/i.pdf",
        "no/i.pdf: there is no folder `no`; make it first",
    ),
    "laws twice": (
        "a.csv",
        GOOD,
        "fit a.csv --all-laws --models gamma",
        "--models and --all-laws are both given; give one",
    ),
    "unknown law": (
        "a.csv",
        GOOD,
        "fit a.csv --models cauchy",
        "--models: `cauchy` is no model; use some of log-normal",
    ),
    "law of no moments": (
        "a.csv",
        GOOD,
        "synthesise --model log-logistic --mean 1Mbps --cv 1 --timescale 1s --duration 1min -o o.csv",
        "is not told by mean and cv; fit it to a trace",
    ),
    "capacity of counters": (
        "a.csv",
        GOOD,
        "stationarity a.csv --capacity fast",
        "capacity: `fast` is not a rate; use a rate above",
    ),
    "filter of counters": (
        "a.csv",
        GOOD,
        "bill a.csv --filter tcp",
        "filter: says nothing about counters; leave it out",
    ),
    "nothing to fit": (
        "a.csv",
        "time,bytes\n" + "".join(f"{i},7\n" for i in range(40)),
        "study a.csv -o r",
        "all 40 values are",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_input_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file, content, command, text = CASES[name]
    Path(file).write_bytes(content.encode("utf-8", "surrogateescape"))
    code = status(["traffic", *command.format(folder=tmp_path.name).split()])
    shown = capfd.readouterr()
    said = " ".join(shown.err.split())
    assert code == 2, said
    assert text in said
    assert "; " in said, "no remedy"
    assert "Traceback" not in shown.err + shown.out
    assert not Path("r").exists()


def test_a_file_that_is_cut_off_or_flipped_ends_in_an_error_or_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    state = np.zeros(300, dtype=np.uint8)
    write([Volumes(f"t{k}", 1.0, 0.0, np.arange(300.0) + k, state) for k in range(3)], "v.parquet")
    whole = Path("v.parquet").read_bytes()
    numbers = np.random.Generator(np.random.PCG64(1))
    for _ in range(60):
        broken = bytearray(whole[: int(numbers.integers(1, len(whole) + 1))])
        broken[int(numbers.integers(len(broken)))] ^= 1 << int(numbers.integers(8))
        Path("b.parquet").write_bytes(broken)
        assert status(["traffic", "volumes", "b.parquet"]) in (0, 2)
        assert "Traceback" not in capfd.readouterr().err


def test_columns_of_other_types_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = pa.table({name: ["x"] for name in ("trace", "timescale_s", "bin", "start_s", "bytes", "state")})
    pq.write_table(table, tmp_path / "v.parquet")
    assert status(["traffic", "fit", str(tmp_path / "v.parquet")]) == 2
    assert "v.parquet, column timescale_s: is not numbers" in capfd.readouterr().err


def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pullnet.cli.traffic.inputs.load", interrupted)
    assert status(["traffic", "fit", "a.csv"]) == 3
    assert capfd.readouterr().err.strip() == "interrupted"
