"""A table in memory: as the core holds it, until Arrow is needed for it."""

from pathlib import Path
from threading import Lock
from typing import Any

from pullnet._core import Table


class Held:
    """A table that several results may share."""

    def __init__(self, table: Any) -> None:
        """Hold a table of the core or a `pyarrow.Table`."""
        self._table = table
        self._lock = Lock()  # the core hands the columns out once

    def __reduce__(self) -> tuple[type["Held"], tuple[Any]]:
        return Held, (self.arrow(),)

    def arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`, units in the metadata of its fields."""
        with self._lock:
            if isinstance(self._table, Table):
                from pullnet.results import tables

                self._table = tables.arrow_table(self._table)
            return self._table

    def write(self, file: Path) -> None:
        """Write the table as a Parquet file, units in the metadata of its fields. Raises `OSError`."""
        with self._lock:
            if isinstance(self._table, Table):  # with a fraction of the memory that pyarrow needs
                self._table.write_parquet(file)
                return
        from pullnet.results import tables

        tables.write(self._table, file)

    def parquet(self) -> bytes:
        """Return the table as the bytes of a Parquet file."""
        with self._lock:
            if isinstance(self._table, Table):
                return self._table.parquet()
        from pullnet.results import tables

        return tables.parquet(self._table)
