"""A result's directory: written beside its place and renamed, so that what is there is whole."""

import contextlib
import errno
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pullnet import inputs
from pullnet._core import Scenario
from pullnet.errors import InputError
from pullnet.results.result import PARTIAL, Result, partial


def default_directory(
    name: str, seed: int, parent: Path = Path("results"), settings: Iterable[tuple[str, str]] = ()
) -> Path:
    """Return results/<name>-<seed>, the name in small letters and without what a shell would trip over.

    Where `settings` replace those of the file, a short hash of them follows, so that variants have places of their own.
    """
    changed = sorted(
        f"{path}={value}" for path, value in settings if path != "seed" and not path.startswith("warnings.")
    )
    variant = f"-{zlib.crc32(chr(0).join(changed).encode('utf-8', 'surrogateescape')):08x}" if changed else ""
    return parent / f"{_slug(name) or 'run'}-{seed}{variant}"


def sweep_directory(name: str, parent: Path = Path("results")) -> Path:
    """Return results/<name>-sweep."""
    return parent / f"{_slug(name) or 'run'}-sweep"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].rstrip("-")


def unfinished(folder: Path) -> list[Path]:
    """Folders beside results that runs have left which were killed: those of processes that are no more."""
    found = (path for path in folder.glob(f".*{_UNFINISHED}*") if path.is_dir())
    return sorted(path for path in found if not _lives(path.name.rpartition("-")[2]))


def _lives(number: str) -> bool:
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    return True


_UNFINISHED = ".unfinished-"


@contextmanager
def staged(target: Path, *, force: bool) -> Iterator["Staging"]:
    """Reserve `target` before a run. Files not placed when the block ends are removed."""
    refuse_existing(target, force=force)
    staging = Staging(followed(target), replaces=force)
    try:
        yield staging
    finally:
        shutil.rmtree(staging.folder, ignore_errors=True)


def followed(target: Path) -> Path:
    """Return what `target` names, symbolic links followed: a link to a result stays, the result is replaced."""
    try:
        return target.resolve() if target.is_symlink() else target
    except OSError as error:  # links in a circle
        raise InputError(f"{target}: cannot be followed: {_cause(error)}; choose another with --out") from None
    except RuntimeError:
        raise InputError(f"{target}: is a symbolic link that leads back to itself; choose another with --out") from None


def refuse_existing(target: Path, *, force: bool) -> None:
    """Raise `InputError` where a result may not be put."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() and not target.exists():
        raise InputError(f"{target}: is a symbolic link to nothing; remove it, or choose another with --out")
    if not target.is_dir():
        raise InputError(f"{target}: is not a directory; choose another with --out")
    if any(target.iterdir()) and not (target / "summary.json").is_file():
        raise InputError(f"{target}: holds something else than a result and is not replaced; choose another with --out")
    if not force:
        raise InputError(f"{target}: exists already; choose another with --out, or replace it with --force")


_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
"""Why a directory cannot be renamed to a name that something else has."""


class Staging:
    """A directory beside its later place."""

    def __init__(self, target: Path, *, replaces: bool) -> None:
        self.target = target
        self.replaces = replaces
        self.folder = target.parent / f".{target.name}{_UNFINISHED}{os.getpid()}"
        with _refusal(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()

    def carry(self, scenario: Scenario, *, copy: bool) -> str:
        """Take along the files that `scenario` names. Returns its text, which names them as they can be found."""
        with _refusal(self.target):
            return inputs.carry(scenario, self.folder) if copy else inputs.refer(scenario, self.folder)

    def place(self, result: Result) -> Result:
        """Write the result and put it into its place. Raises `InputError` also where only tables found no room."""
        missing: dict[str, str] = {}
        self.fill(lambda folder: missing.update(_write_result(result, folder)))
        result.path = self.target
        if missing:
            kept = f"the summary and all that could be written are in {self.target}"
            raise InputError(
                [f"{self.target / name}: cannot be written: {why}; {kept}" for name, why in missing.items()]
            )
        return result

    def fill(self, write: Callable[[Path], None]) -> None:
        """Have `write` put files into the directory, then put that into its place."""
        with _refusal(self.target):
            write(self.folder)
            self._rename()

    def _rename(self) -> None:
        old = self.folder.with_name(self.folder.name + "-old")
        if self.replaces:
            with contextlib.suppress(FileNotFoundError):
                self.target.rename(old)
        try:
            self.folder.rename(self.target)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            raise InputError(self._put_aside()) from None
        shutil.rmtree(old, ignore_errors=True)

    def _put_aside(self) -> str:
        """Put the directory where nothing is, since its place was taken meanwhile. Returns what to say of that."""
        aside = self.target.with_name(f"{self.target.name}-{os.getpid()}")
        self.folder.rename(aside)
        return f"{self.target}: was made by somebody else during the run; the result is in {aside}"


def _write_result(result: Result, folder: Path) -> dict[str, str]:
    """Write what is small first, then the tables. Returns files that could not be written, each with the cause."""
    (folder / "scenario.toml").write_text(result.scenario, encoding="utf-8")
    (folder / "summary.json").write_text(result.summary_json, encoding="utf-8")
    missing = result.left_out | _write_tables(result, folder)
    if missing:
        (folder / PARTIAL).write_text(partial(missing), encoding="utf-8")
    elif result.summary.interrupted:
        (folder / PARTIAL).write_text(_broken_off(result), encoding="utf-8")
    return {_file(name): why for name, why in missing.items()}


def _write_tables(result: Result, folder: Path) -> dict[str, str]:
    missing = {}
    for name in result.table_names:
        file = folder / _file(name)
        try:
            result.write(name, file)
        except OSError as error:
            file.unlink(missing_ok=True)
            missing[name] = _cause(error)
    return missing


def _file(table: str) -> str:
    return f"{table}.parquet"


def _broken_off(result: Result) -> str:
    return f"The run was interrupted after {result.summary.simulated_us} us; what is here ends there.\n"


@contextmanager
def _refusal(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        reason = f"{error.filename} is not a directory" if in_the_way else _cause(error)
        raise InputError(f"{target}: cannot be written: {reason}; choose another with --out") from None


def _cause(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
