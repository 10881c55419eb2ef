"""Columns that a command needs of a table: a file of another table is refused before its columns are missed."""

from typing import TYPE_CHECKING

from pullnet.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Kinds = dict[str, type]
"""Columns of numbers (`int`) and of text (`str`)."""

FLOWS: Kinds = {
    "flow": int,
    "src": int,
    "dst": int,
    "senders": int,
    "size_bytes": int,
    "start_ps": int,
    "priority": int,
    "tag": str,
    "deadline_ps": int,
    "tenant": str,
    "coflow": int,
    "session": int,
}
"""What a list of flows is made of."""

HOSTS: Kinds = {"host": int}
"""Columns of the hosts, to count them."""

PACKETS: Kinds = {
    "host": int,
    "peer": int,
    "at_ps": int,
    "direction": str,
    "fate": str,
    "kind": str,
    "flags": int,
    "flow": int,
    "number": int,
    "extra": int,
    "path": int,
    "wire_bytes": int,
}
"""What a capture is made of."""

HOPS: Kinds = {
    "flow": int,
    "at_ps": int,
    "row": int,
    "name": str,
    "outcome": str,
    "wait_us": int,
    "ahead_data_bytes": int,
    "ahead_control_bytes": int,
    "ahead_own_bytes": int,
    "behind_data_bytes": int,
    "behind_control_bytes": int,
}
"""What the waits of a flow are summed from."""


def needed(frame: "pl.DataFrame", name: str, place: object, kinds: Kinds) -> "pl.DataFrame":
    """Return the table `name`, read from `place`. Raises `InputError` if it lacks one of the columns `kinds`."""
    for column, kind in kinds.items():
        there = frame.schema.get(column)
        if there is None or (kind is int) != there.is_numeric():
            what = f"has no column `{column}` of {'numbers' if kind is int else 'text'}"
            raise InputError(f"{place}: {what}, so it is not the table `{name}` of a run; run the scenario again")
    return frame
