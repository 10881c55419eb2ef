"""Captures: packets into bins, by the core."""

from pullnet.traffic.error import TrafficError
from pullnet.traffic.reading import Options, Source
from pullnet.traffic.volumes import Volumes

OPTIONS = frozenset({"direction", "protocol", "prefix", "interface", "capacity", "origin", "partial"})
"""What can be said of captures."""


def load(path: str, options: Options) -> tuple[list[Volumes], Source]:
    """Read a capture."""
    what = f"captures cannot be read yet ({options.timescales})"
    raise TrafficError(what, where=path, remedy="use counters or volumes")
