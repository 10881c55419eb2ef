"""From the columns of Rust to Arrow tables and Parquet files, units in the metadata."""

import itertools
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pullnet._core import Column, Table
from pullnet.errors import InputError

_TYPES = {
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.uint32(),
}


def arrow_table(table: Table) -> Any:
    """Wrap the columns of `table`, without copying numbers, in a `pyarrow.Table`."""
    columns = table.take_columns()
    schema = pa.schema([_field(column) for column in columns], metadata={"doc": table.doc})
    # Not `pa.table` or `pa.array`: these look whether they were given something of pandas, and import it to do so.
    return pa.Table.from_arrays([_array(column, table.rows) for column in columns], schema=schema)


def _field(column: Column) -> Any:
    kind = pa.string() if column.kind == "text" else _TYPES[column.kind]
    return pa.field(column.name, kind, metadata={"unit": column.unit, "doc": column.doc})


def _array(column: Column, rows: int) -> Any:
    valid = pa.py_buffer(column.valid) if column.valid is not None else None
    array = pa.Array.from_buffers(_TYPES[column.kind], rows, [valid, pa.py_buffer(column.data)])
    if column.kind != "text":
        return array
    return pa.DictionaryArray.from_arrays(array, _texts(column.words)).dictionary_decode()


def _texts(words: list[str]) -> Any:
    data = [word.encode() for word in words]
    ends = struct.pack(f"<{len(data) + 1}i", *itertools.accumulate(map(len, data), initial=0))
    return pa.Array.from_buffers(pa.string(), len(data), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])


def write(table: Any, to: Any) -> None:
    """Write a table as Parquet, to a path or to what pyarrow writes to."""
    pq.write_table(table, to, compression="zstd")


def parquet(table: Any) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    write(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read(path: Path) -> Any:
    """Read a table with its metadata. Raises `InputError` for a file that is not whole."""
    try:
        table = pq.read_table(path)
        _check_texts(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = str(error).partition("\n")[0]
        raise InputError(f"{path}: is not a whole table: {what}; run the scenario again") from None
    return table


def _check_texts(table: Any) -> None:
    """Raise an error where a text is not UTF-8: pyarrow reads it, and Polars panics."""
    table.validate(full=True)
    for part in (table.schema, *table.schema):
        for text in itertools.chain.from_iterable((part.metadata or {}).items()):
            text.decode()
