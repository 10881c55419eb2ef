"""Results of runs on disk: one record for each, named after its content and put in place whole."""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullnet import inputs, json_text
from pullnet.errors import InputError
from pullnet.sweeps.plan import Plan, Point, Run, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = "sweep.json"
"""Marks a folder as that of a sweep; holds the request that its tables are of, and their checksums."""

_LOCK = ".lock"
_RUNS, _POINTS = "runs", "points"
_SCENARIO = "scenario.toml"
_SUM = "sha256"


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
        """Make the folder, and keep the scenarios of all points in it. Refuses a folder that holds something else."""
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            # Another process that opens the folder is about to put its mark there.
            others = any(not path.name.startswith(f".{ABOUT}.") for path in self.root.iterdir())
            if not (self.root / ABOUT).is_file():
                if others:
                    raise InputError(f"{self.root}: holds something else than a sweep; choose another with --out")
                self.describe(plan, {})
            for point in plan.points:
                self._keep(point)

    def describe(self, plan: Plan, sums: Mapping[str, str]) -> None:
        """Write the request that the tables are of, and the checksum of each table by the name of its file."""
        replace(self.root / ABOUT, json_text.dumps({**_about(plan), "files": sums}).encode() + b"\n")

    def _keep(self, point: Point) -> None:
        """Keep a point's scenario with its files, ready to be run again. Restores what has been changed."""
        folder = self.root / _POINTS / point.digest
        for name, data in point.files.items():
            place = folder / inputs.FOLDER / name
            if not place.is_file() or place.read_bytes() != data:
                place.parent.mkdir(parents=True, exist_ok=True)
                replace(place, data)
        if not self._is_whole(point):
            folder.mkdir(parents=True, exist_ok=True)
            replace(folder / _SCENARIO, point.text.encode())

    def _is_whole(self, point: Point) -> bool:
        """Whether the scenario on disk is that of the point; seed and comments may differ."""
        try:
            return digest_of(self.scenario(point.digest).read_text(encoding="utf-8"), point.files) == point.digest
        except (OSError, ValueError):
            return False

    @contextmanager
    def locked(self, *, for_reading: bool = False) -> "Iterator[bool]":
        """Keep other processes from writing tables of the folder. Gives false on a disk that has no locks."""
        with ExitStack() as stack:
            held = False
            with suppress(OSError):
                file = stack.enter_context((self.root / _LOCK).open("rb" if for_reading else "ab"))
                fcntl.flock(file, fcntl.LOCK_SH if for_reading else fcntl.LOCK_EX)
                held = True
            yield held

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
            before = self._read(record.key)
            sums = {name: hashlib.sha256(data).hexdigest() for name, data in record.tables.items()}
            whole = {
                "key": record.key,
                "tables": {**(before["tables"] if before else {}), **sums},
                "summary": json.loads(record.summary),
            }
            replace(place, json_text.dumps({**whole, _SUM: _sum(whole)}, indent=None).encode())
            self._error(record.key).unlink(missing_ok=True)

    def load(self, key: str, keep: Iterable[str] = ()) -> dict[str, Any] | None:
        """Return the summary of a run; `None` if it has not been made, or not whole."""
        record = self._read(key)
        if record is None or not all(self._has_table(record, name) for name in keep):
            return None
        summary: dict[str, Any] = record["summary"]
        return summary

    def is_damaged(self, key: str, keep: Iterable[str]) -> bool:
        """Whether something of a run has been changed since it was written: its record, or a table that was kept."""
        record = self._read(key)
        if record is None:
            return self.record(key).exists()
        return any(name in record["tables"] and not self._has_table(record, name) for name in keep)

    def _read(self, key: str) -> dict[str, Any] | None:
        """Return a record; `None` if there is none, or another than was written."""
        try:
            record = json.loads(self.record(key).read_bytes())
            return record if record.pop(_SUM) == _sum(record) and record["key"] == key else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _has_table(self, record: Mapping[str, Any], name: str) -> bool:
        """Whether a table of a run is what was written."""
        try:
            with self.table(record["key"], name).open("rb") as file:
                return bool(hashlib.file_digest(file, "sha256").hexdigest() == record["tables"].get(name))
        except OSError:
            return False

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


def _sum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def replace(path: Path, data: bytes) -> None:
    """Write a file whole: a process that is killed leaves no half-written file."""
    with replacing(path) as beside:
        beside.write_bytes(data)


@contextmanager
def replacing(path: Path) -> "Iterator[Path]":
    """Give a place beside `path` that no other process uses, and move what was written there to `path`."""
    beside = path.with_name(f".{path.name}.{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield beside
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
