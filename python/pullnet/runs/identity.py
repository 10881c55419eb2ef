"""Which build this is: results of another are not taken for its own."""

from functools import cache
from pathlib import Path

from pullnet import _core


@cache
def core_identity() -> str:
    """Hash of the compiled core."""
    import hashlib  # brings a large library along, which a run need not load

    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()
