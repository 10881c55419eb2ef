"""Exports of other systems as tables: RRD (fetch and xport, as LibreNMS, Cacti and MRTG have it), Prometheus' JSON."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from pullnet.traffic.error import TrafficError
from pullnet.traffic.source import plain_name

ENDINGS = (".json", ".xml", ".rrd")
"""Of files that are exports, beside `.txt` of `rrdtool fetch`."""

_FETCH = re.compile(r"^\s*([0-9]{6,12}):((?:\s+\S+)+)\s*$")
_OCTETS = re.compile(r".*octets|traffic_(in|out)|ds[01]", re.IGNORECASE)
"""Data sources that hold bytes per second: LibreNMS' INOCTETS, Cacti's traffic_in, MRTG's ds0."""

_MOST = 1 << 28
"""A larger export is refused: it is read as a whole. Unit: bytes."""

Rows = tuple[list[str], list[int], list[list[float | None]]]


def is_export(path: str) -> bool:
    """Whether a file is an export, by its name or, of a text, by its begin."""
    name = plain_name(path)
    return name.endswith(ENDINGS) or (name.endswith(".txt") and _is_fetch(path))


def _is_fetch(path: str) -> bool:
    """Whether a text file is what `rrdtool fetch` prints: names, an empty line, and times with a colon."""
    with suppress(OSError), pa.input_stream(path, compression="detect") as file:
        lines = file.read(1 << 14).decode("utf-8", "replace").splitlines()
        return len(lines) > 2 and not lines[1].strip() and _FETCH.match(lines[2]) is not None
    return False  # reading the whole file reports the error


def table(path: str) -> Any:
    """Read an export as an Arrow table; times of RRDs are the ends of intervals, and their columns say so."""
    where, name = path, plain_name(path)
    if name.endswith(".rrd"):
        remedy = "export it on the machine that wrote it: rrdtool fetch FILE.rrd AVERAGE -s -31d > FILE.txt"
        raise TrafficError("is a database of RRDtool, whose form depends on its machine", where=where, remedy=remedy)
    text = _text(path)
    if name.endswith(".xml"):
        return _rrd(_xport_xml(text, where), where)
    return _json(text, where) if name.endswith(".json") else _rrd(_fetch(text, where), where)


def _text(path: str) -> str:
    try:
        with pa.input_stream(path, compression="detect") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise TrafficError(f"cannot be read: {reason}", where=path, remedy="give it plain, .gz or .zst") from None
    if len(content) > _MOST:
        raise TrafficError(f"has more than {_MOST} bytes", where=path, remedy="export a shorter time")
    try:
        return str(content, encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TrafficError(f"is no text: byte {error.start} is none", where=path, remedy="give UTF-8") from None


def _rrd(rows: Rows, where: str) -> Any:
    names, times, values = rows
    if not times:
        raise TrafficError("has no rows", where=where, remedy="export a time in which there are values")
    columns: dict[str, Any] = {"end_s": pa.array(times, pa.int64())}
    for index, name in enumerate(names):
        unit = " (bytes/s)" if _OCTETS.fullmatch(name) else ""
        columns[f"{name}{unit}"] = pa.array([row[index] for row in values], pa.float64())
    return pa.table(columns)


def _number(text: str, where: str) -> float | None:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise TrafficError(f"`{text}` is not a number", where=where, value=text, remedy="give one, or nan") from None
    return None if value != value else value


def _fetch(text: str, where: str) -> Rows:
    lines = text.splitlines()
    names = lines[0].split()
    times, values = [], []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        match = _FETCH.match(line)
        place = f"{where}, line {number}"
        if match is None:
            raise TrafficError(
                f"`{line.strip()[:60]}` is no row", where=place, remedy="give what rrdtool fetch printed"
            )
        cells = match[2].split()
        _refuse_ragged(cells, names, place)
        times.append(int(match[1]))
        values.append([_number(cell, place) for cell in cells])
    return names, times, values


def _refuse_ragged(cells: Iterable[Any], names: list[str], place: str) -> None:
    count = len(list(cells))
    if count != len(names):
        what = f"has {count} values for {len(names)} names"
        raise TrafficError(what, where=place, value=count, remedy="give one value for each name")


def _xport_xml(text: str, where: str) -> Rows:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise TrafficError("defines entities", where=where, remedy="give what rrdtool xport printed")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise TrafficError(f"is no XML: {error}", where=where, remedy="give what rrdtool xport printed") from None
    names = [entry.text or "" for entry in root.findall("./meta/legend/entry")]
    if root.tag != "xport" or not names:
        raise TrafficError("is not an export of rrdtool xport", where=where, remedy="give what rrdtool xport printed")
    times, values = [], []
    begin, step = (int(_number(root.findtext(f"./meta/{name}") or "0", where) or 0) for name in ("start", "step"))
    for number, row in enumerate(root.findall("./data/row")):
        place = f"{where}, row {number}"
        cells = [cell.text or "nan" for cell in row.findall("v")]
        _refuse_ragged(cells, names, place)
        stamp = row.findtext("t")
        times.append(int(_number(stamp, place) or 0) if stamp else begin + number * step)
        values.append([_number(cell, place) for cell in cells])
    return names, times, values


def _json(text: str, where: str) -> Any:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise TrafficError(f"is no JSON: {error}", where=where, remedy="give a whole answer") from None
    if isinstance(document, dict) and "data" in document and "meta" in document:
        return _rrd(_xport_json(document, where), where)
    if isinstance(document, dict) and document.get("status") == "error":
        what = f"is an error of Prometheus: {document.get('error')}"
        raise TrafficError(what, where=where, remedy="correct the query")
    try:
        result = document["data"]["result"]
        kind = document["data"]["resultType"]
    except (KeyError, TypeError):
        remedy = "give what rrdtool xport --json printed, or Prometheus' /api/v1/query_range answered"
        raise TrafficError("is of no known form", where=where, remedy=remedy) from None
    if kind != "matrix":
        what = f"holds a {kind}, which has no course over time"
        raise TrafficError(what, where=where, value=kind, remedy="ask /api/v1/query_range, or a range such as [1d]")
    return _matrix(result, where)


def _xport_json(document: Any, where: str) -> Rows:
    meta = document["meta"]
    try:
        names = [str(name) for name in meta["legend"]]
        begin, step = int(meta["start"]), int(meta["step"])
        rows = [list(row) for row in document["data"]]
    except (KeyError, TypeError, ValueError) as error:
        what = f"is not an export of rrdtool xport: {error}"
        raise TrafficError(what, where=where, remedy="give what rrdtool xport --json printed") from None
    values = []
    for number, row in enumerate(rows):
        place = f"{where}, row {number}"
        _refuse_ragged(row, names, place)
        values.append([None if cell is None else _number(str(cell), place) for cell in row])
    return names, [begin + number * step for number in range(len(rows))], values


_ANSWER = "give what Prometheus' /api/v1/query_range answered"


def _matrix(result: Any, where: str) -> Any:
    """Series of Prometheus as a long table."""
    if not isinstance(result, list):
        raise TrafficError(f"`{result}` is no list of series", where=where, value=result, remedy=_ANSWER)
    for number, series in enumerate(result):
        if not (isinstance(series, dict) and isinstance(series.get("metric"), dict)):
            place = f"{where}, series {number}"
            raise TrafficError(f"`{str(series)[:60]}` is no series", where=place, value=series, remedy=_ANSWER)
    labels = sorted({label for series in result for label in series["metric"]})
    columns: dict[str, list[Any]] = {"time_s": [], "value": [], **{label: [] for label in labels}}
    for number, series in enumerate(result):
        place = f"{where}, series {number}"
        for sample in series.get("values", ()):
            if not isinstance(sample, list) or len(sample) != 2:
                raise TrafficError(f"`{sample}` is no sample", where=place, value=sample, remedy="give [time, value]")
            columns["time_s"].append(_number(str(sample[0]), place))
            columns["value"].append(_number(str(sample[1]), place))
            for label in labels:
                columns[label].append(str(series["metric"].get(label, "")))
    if not columns["value"]:
        raise TrafficError("holds no samples", where=where, remedy="ask for a time in which there are some")
    kinds = {"time_s": pa.float64(), "value": pa.float64(), **dict.fromkeys(labels, pa.string())}
    # A query such as rate(...) has no labels at all; then there is one series, and nothing to take apart.
    return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})
