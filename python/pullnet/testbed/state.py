"""Record of the parts of a testbed, written before each is made, so that exactly these are removed."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pullnet import json_text
from pullnet.errors import InputError

_VERSION = 1


@dataclass
class Namespace:
    """A network namespace."""

    name: str
    inode: int | None = None
    """Identifies the namespace, as its name may be used again; None while it is being made."""


@dataclass
class Process:
    """A process of ours."""

    what: str
    pid: int
    started: int
    """Start time in clock ticks since boot: what tells it from a later process of the same number."""


@dataclass
class State:
    """A testbed as it is, or as far as it came."""

    name: str
    file: str
    phase: Literal["making", "up"] = "making"
    mtu: int = 1500
    switch_file: str = ""
    namespaces: list[Namespace] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)


def folder() -> Path:
    """Where testbeds are written down: `$PULLNET_STATE`, or /run/pullnet."""
    return Path(os.environ.get("PULLNET_STATE", "/run/pullnet"))


def path(name: str, ending: str = "json") -> Path:
    """A file of the testbed `name`."""
    return folder() / f"{name}.{ending}"


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """One at a time works on a testbed."""
    try:
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = path(name, "lock").open("w")
    except OSError as error:
        raise InputError(f"{folder()}: cannot be written: {error.strerror}; set PULLNET_STATE to a folder") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{name}: another command works on this testbed; wait until it has ended") from None
        yield


def load(name: str) -> State | None:
    """Return what is written down of a testbed, or None."""
    try:
        raw = json.loads(path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path(name)}: cannot be read ({error}); look at `ip netns` and remove it by hand") from None
    if raw.pop("version", None) != _VERSION:
        raise InputError(f"{path(name)}: is of another version of pullnet; take the testbed down with that one")
    raw["namespaces"] = [Namespace(**row) for row in raw["namespaces"]]
    raw["processes"] = [Process(**row) for row in raw["processes"]]
    return State(**raw)


def save(state: State) -> None:
    """Write a testbed down; at any time the file is whole."""
    target = path(state.name)
    beside = target.with_suffix(".new")
    beside.write_text(json_text.dumps({"version": _VERSION, **asdict(state)}), encoding="utf-8")
    beside.replace(target)


def forget(name: str) -> None:
    """Remove the record of a testbed; the lock stays, because another process may hold it."""
    for ending in ("json", "toml", "sock", "log"):
        path(name, ending).unlink(missing_ok=True)


def names() -> list[str]:
    """Every testbed that is written down."""
    return sorted(file.stem for file in folder().glob("*.json")) if folder().is_dir() else []
