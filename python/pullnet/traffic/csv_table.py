"""CSV in its dialects: commas, semicolons, tabs; decimal points and commas; annotated Influx."""

import io
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from pullnet.traffic.error import TrafficError
from pullnet.traffic.quantities import shown_count
from pullnet.traffic.slots import is_end, is_time

_SAMPLE = 1 << 20
"""Bytes that are looked at to find out about decimal commas."""

_DECIMAL_COMMA = re.compile(rb"(?:^|[;\t])-?[0-9]+,([0-9]+)(?=[;\t\r\n]|$)", re.MULTILINE)
_THOUSANDS = 3


def read(path: str, decimal: str | None = None, *, times_as_text: bool = False) -> Any:
    """Read a table; `decimal` is point, comma, or `None` to find it out. `times_as_text`: times are not recognised."""
    if decimal not in (None, "point", "comma"):
        raise TrafficError(f"`{decimal}` is unknown", value=decimal, remedy="use point or comma", keyword="decimal")
    with pa.input_stream(path, compression="detect") as stream:
        raw = stream.read()
    content = _plain(raw)
    if not content.strip():
        raise TrafficError("is empty", where=path, remedy="give a header line and one line for each interval")
    _refuse_compressed(content, path)
    _refuse_other_encodings(content, path)
    separator = _separator(content)
    mark = _decimal(content, separator, decimal, path)
    try:
        first = _parsed(content, separator, mark, {})
    except pa.ArrowInvalid as error:
        _refuse_ragged(str(error), raw, path)
        raise
    _refuse_values_as_header(first.column_names, path)
    # Counters of 64 bits do not fit into the signed numbers that are tried first.
    columns = dict(zip(first.column_names, first.columns, strict=True))
    types = {name: pa.uint64() for name, column in columns.items() if _beyond_exact(column)}
    texts = {name: pa.string() for name in columns if times_as_text and (is_time(name) or is_end(name))}
    try:
        made = _parsed(content, separator, mark, types | texts) if types or texts else first
    except pa.ArrowInvalid:
        made = _parsed(content, separator, mark, texts) if texts else first
    return _with_lines(made, raw)


_RAGGED = re.compile(r".*Row #([0-9]+): Expected ([0-9]+) columns, got ([0-9]+): (.*)", re.DOTALL)


def _refuse_ragged(error: str, raw: bytes, path: str) -> None:
    """Name the line of the file in an error of Arrow about a ragged row; Arrow counts rows, without comments."""
    if (match := _RAGGED.fullmatch(error)) is None:
        return
    row, wanted, got, text = int(match[1]), match[2], int(match[3]), match[4]
    rows = _rows(raw)
    line = rows[row - 1] if row <= len(rows) else None
    # A cell with a line break before the row shifts the count.
    matches = line is not None and raw.splitlines()[line - 1].decode("utf-8", "replace").strip() == text.strip()
    place = f"{path}, line {line}" if matches else f"{path}, row {row}"
    what = f"has {shown_count(got, 'cell')} where the header has {wanted}: `{text[:60]}`"
    raise TrafficError(what, where=place, value=text, remedy="give every line as many cells as the header")


_LINES = b"pullnet.lines"
_MARK = b"\xef\xbb\xbf"
"""The byte-order mark of spreadsheets."""


def _with_lines(table: Any, raw: bytes) -> Any:
    """Note in which line of the file each row is, where comments or empty lines stand between rows."""
    if not _has_comments(raw) and not any(twice in raw for twice in (b"\n\n", b"\n\r\n", b"\r\r")):
        return table
    lines = _rows(raw)[1:]
    if len(lines) != table.num_rows:
        return table  # a cell with a line break: lines cannot be told from rows
    return table.replace_schema_metadata({_LINES: np.array(lines, dtype=np.int64).tobytes()})


def _has_comments(raw: bytes) -> bool:
    return raw.removeprefix(_MARK).startswith(b"#")


def _rows(raw: bytes) -> list[int]:
    """Return the number of each line that is neither empty nor a comment, from 1; the first one is the header."""
    comments = _has_comments(raw)
    return [
        number
        for number, line in enumerate(raw.splitlines(), 1)
        if line and not (comments and line.removeprefix(_MARK).startswith(b"#"))
    ]


def lines_of(table: Any) -> NDArray[np.int64] | None:
    """Return the line of each row of a table, counted from 1; `None` if rows follow the header without a break."""
    noted = (table.schema.metadata or {}).get(_LINES)
    return None if noted is None else np.frombuffer(noted, dtype=np.int64)


def _plain(content: bytes) -> bytes:
    """Leave out the byte-order mark of spreadsheets, the annotations of Influx, and the summary of nfdump."""
    content = content.removeprefix(_MARK)
    if content.startswith((b"ts,te,", b"firstSeen,")):
        content = content.partition(b"\nSummary\n")[0] + b"\n"
    if content.startswith(b"#"):
        content = b"\n".join(line for line in content.splitlines() if not line.startswith(b"#"))
    return content


_COMPRESSED = ((b"\x1f\x8b", "gzip", ".csv.gz"), (b"\x28\xb5\x2f\xfd", "zstd", ".csv.zst"))


def _refuse_compressed(content: bytes, path: str) -> None:
    """Refuse a compressed table whose name does not say so: compression is told by the name."""
    for magic, kind, ending in _COMPRESSED:
        if content.startswith(magic):
            raise TrafficError(f"is compressed by {kind}", where=path, remedy=f"name it so that it ends in {ending}")


_VALUE = re.compile(r"\s*[-+]?[0-9][-+0-9.,:/ TZeE]*\s*")


def _refuse_values_as_header(names: list[str], path: str) -> None:
    """Refuse a table without a header, whose first row would be lost as the names of columns."""
    if names and all(_VALUE.fullmatch(name) for name in names):
        shown = ", ".join(names[:4])
        what = f"has `{shown}` in its first line, which are values and no names of columns"
        raise TrafficError(
            what, where=path, value=names, remedy="begin it with a header such as time,in_bytes,out_bytes"
        )


def _refuse_other_encodings(content: bytes, path: str) -> None:
    """Refuse text that is not UTF-8; Arrow would read a label in another encoding as bytes, and not as a label."""
    at = content.find(b"\0", 0, _SAMPLE)
    if at < 0:
        # Almost every file is ASCII, and `isascii` needs no copy.
        if content.isascii():
            return
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            at = error.start
        else:
            return
    line = content.count(b"\n", 0, at) + 1
    if content[at]:
        what, remedy = f"has the byte 0x{content[at]:02x}, which is not UTF-8", _CONVERT.format("ISO-8859-1")
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * content.count(b"\0", 0, _SAMPLE) > len(
        content[:_SAMPLE]
    ):
        what, remedy = "has zero bytes, as UTF-16 has", _CONVERT.format("UTF-16")
    else:
        what, remedy = "has a zero byte, as files have after a power failure", "correct or remove this line"
    raise TrafficError(what, where=f"{path}, line {line}", remedy=remedy)


_CONVERT = "convert it, for instance by `iconv -f {} -t UTF-8`"


def _separator(content: bytes) -> str:
    header = content.lstrip()[: content.lstrip().find(b"\n") + 1]
    counts = {mark: header.count(mark.encode()) for mark in ("\t", ";", ",")}
    return max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else ","


def _decimal(content: bytes, separator: str, stated: str | None, path: str) -> str:
    if stated is not None:
        if stated == "comma" and separator == ",":
            remedy = "separate them by semicolons, or use decimal points"
            raise TrafficError("commas are its separators, and cannot be decimal ones", where=path, remedy=remedy)
        return "," if stated == "comma" else "."
    if separator == ",":
        return "."
    if separator == ";":
        _refuse_points_as_thousands(content, path)
    digits = [len(match) for match in _DECIMAL_COMMA.findall(content[:_SAMPLE])]
    if digits and all(count == _THOUSANDS for count in digits):
        what = "numbers such as 1,234 may be thousands or have a decimal comma"
        raise TrafficError(what, where=path, remedy="say --decimal comma, or write 1234")
    return "," if digits else "."


_POINTS = re.compile(rb"(?:^|;)-?([0-9]+)\.([0-9]+)(?=[;\r\n]|$)", re.MULTILINE)


def _refuse_points_as_thousands(content: bytes, path: str) -> None:
    """Refuse points that may stand between thousands, as they do where semicolons separate since commas are decimal."""
    numbers = [(match[1], match[2]) for match in _POINTS.finditer(content[:_SAMPLE])]
    thousands = [
        len(after) == _THOUSANDS and len(before) <= _THOUSANDS and not before.startswith(b"0")
        for before, after in numbers
    ]
    if numbers and all(thousands):
        what = "numbers such as 1.234 may be thousands or have a decimal point"
        raise TrafficError(what, where=path, remedy="say --decimal point, or write 1234")


def _parsed(content: bytes, separator: str, decimal: str, types: dict[str, Any]) -> Any:
    return pa.csv.read_csv(
        io.BytesIO(content),
        # With threads its errors do not name the row.
        read_options=pa.csv.ReadOptions(use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=separator),
        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True, column_types=types, decimal_point=decimal),
    )


def _beyond_exact(column: Any) -> bool:
    return bool(pa.types.is_floating(column.type) and np.nanmax(column.to_numpy(), initial=0) >= 2.0**53)
