"""Which build this is: results of another are not taken for its own."""

from functools import cache
from pathlib import Path

from pullnet._core import __file__ as core_file


@cache
def core_identity() -> str:
    """Hash of the compiled core."""
    import hashlib  # brings a large library along, which a run need not load

    return hashlib.sha256(Path(core_file).read_bytes()).hexdigest()
