"""Results of runs on disk: one record for each, named after its content and put in place whole."""

import json
import os
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet import inputs, json_text
from pullnet.errors import InputError
from pullnet.sweeps.plan import Plan, Point, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = "sweep.json"
"""Holds the latest request; marks a folder as that of a sweep."""

_RUNS, _POINTS = "runs", "points"
_SCENARIO = "scenario.toml"


@dataclass(frozen=True)
class Record:
    """Record of one run: its summary as JSON, and tables as Parquet files."""

    key: str
    summary: str
    tables: dict[str, bytes]


class Store:
    """The folder of a sweep."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self, plan: Plan) -> None:
        """Make the folder, and write the request into it. Refuses a folder that holds something else."""
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            taken = any(self.root.iterdir()) and not (self.root / ABOUT).is_file()
            if taken:
                raise InputError(f"{self.root}: holds something else than a sweep; choose another with --out")
            replace(self.root / ABOUT, json_text.dumps(_about(plan)).encode() + b"\n")
            for point in plan.points:
                self._keep(point)

    def _keep(self, point: Point) -> None:
        """Keep a point's scenario with its files, ready to be run again."""
        folder = self.root / _POINTS / point.digest
        if not (folder / _SCENARIO).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            inputs.unpack(point.files, folder)
            replace(folder / _SCENARIO, point.text.encode())

    def scenario(self, digest: str) -> Path:
        """Where the scenario of a point lies."""
        return self.root / _POINTS / digest / _SCENARIO

    def record(self, key: str) -> Path:
        """Where the record of a run lies once there is one."""
        return self.root / _RUNS / key[:2] / f"{key}.json"

    def table(self, key: str, name: str) -> Path:
        """Where a table of a run lies."""
        return self.root / _RUNS / key[:2] / f"{key}.{name}.parquet"

    def _error(self, key: str) -> Path:
        return self.root / _RUNS / key[:2] / f"{key}.error.json"

    def save(self, record: Record) -> None:
        """Put a record in its place: tables first, so that what has a summary is whole."""
        place = self.record(record.key)
        with writing(self.root):
            place.parent.mkdir(parents=True, exist_ok=True)
            for name, data in record.tables.items():
                replace(self.table(record.key, name), data)
            replace(place, record.summary.encode())
            self._error(record.key).unlink(missing_ok=True)

    def load(self, key: str, keep: Iterable[str] = ()) -> dict[str, Any] | None:
        """Return the summary of a run; `None` if it has not been made, or not whole."""
        try:
            summary: dict[str, Any] = json.loads(self.record(key).read_bytes())
        except (OSError, ValueError):
            return None
        whole = "fingerprint" in summary and all(self.table(key, name).is_file() for name in keep)
        return summary if whole else None

    def has(self, run: Run, keep: Iterable[str]) -> bool:
        """Whether a run has been made."""
        return self.load(run.key, keep) is not None

    def fail(self, key: str, errors: list[str]) -> None:
        """Note why a run cannot be made, for who is on another machine."""
        with writing(self.root):
            self._error(key).parent.mkdir(parents=True, exist_ok=True)
            replace(self._error(key), json_text.dumps(errors).encode())

    def errors(self, key: str) -> list[str]:
        """The errors of a failed run; empty if the run was not tried."""
        try:
            found: list[str] = json.loads(self._error(key).read_bytes())
        except (OSError, ValueError):
            return []
        return found

    def forget_errors(self, key: str) -> None:
        """Let a run that could not be made be tried again."""
        self._error(key).unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it: a process that is killed leaves no half-written file."""
    beside = path.with_name(f".{path.name}.{os.uname().nodename}-{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def writing(root: Path) -> "Iterator[None]":
    """Turn what a disk refuses into an error in plain words."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(
            f"{error.filename or root}: cannot be written: {reason}; runs that are done are kept, choose another "
            "place with --out or make room"
        ) from None


def _about(plan: Plan) -> dict[str, Any]:
    from pullnet._core import __version__

    return {
        "scenario": plan.name,
        "version": __version__,
        "over": {axis.path: list(axis.values) for axis in plan.axes},
        "set": dict(plan.settings),
        "seeds": plan.seeds,
        "tables": list(plan.keep),
        "runs": len(plan.points) * len(plan.seeds),
    }
