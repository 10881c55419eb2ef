"""Files that a scenario names: reading formats that Rust does not read, and keeping all files with a result."""

from collections.abc import Mapping
from pathlib import Path, PurePath

from pullnet import files
from pullnet._core import Scenario
from pullnet.errors import InputError

FOLDER = "inputs"
"""Where a result keeps the files that its scenario names."""

SUMS = "SHA256SUMS"
"""File with the checksums of these files, in the format of the command `sha256sum`."""


def text_of(path: Path) -> str:
    """Read a file of settings. Raises `InputError` in plain words."""
    try:
        return files.text_of(str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name a file that can be") from None


def parquet_as_csv(path: str) -> bytes:
    """Turn a flow list in Parquet into the CSV that scenarios read. Raises `ValueError` in plain words."""
    import polars as pl

    try:
        return pl.read_parquet(path).write_csv().encode()
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except IsADirectoryError:
        raise ValueError("it is a folder") from None
    except PermissionError:
        raise ValueError("it may not be read; check its permissions") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"it is not a Parquet file with a flat table: {reason}") from None


def carry(scenario: Scenario, folder: Path) -> str:
    """Put what `scenario` has read from files into `folder`. Returns its text, which names them there."""
    text, contents = packed(scenario)
    unpack(contents, folder)
    _write_sums(folder, [f"{_sha256(folder / FOLDER / name)}  {name}\n" for name in contents])
    return text


def packed(scenario: Scenario) -> tuple[str, dict[str, bytes]]:
    """Return the text of `scenario` as it names its files in `FOLDER`, and what each of them holds."""
    contents: dict[str, bytes] = {}
    for source in scenario.inputs:
        contents[_free_name(source.path, list(contents))] = source.data
    return scenario.with_inputs_at([f"{FOLDER}/{name}" for name in contents]), contents


def unpack(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write files of a scenario where its text looks for them if it lies in `folder`."""
    for name, data in contents.items():
        (folder / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / FOLDER / name).write_bytes(data)


def refer(scenario: Scenario, folder: Path) -> str:
    """Copy nothing: the text names each file by its full path, and `folder` keeps what they were like."""
    paths = [str(Path(source.path).absolute()) for source in scenario.inputs]
    _write_sums(folder, [f"{_sha256(Path(path))}  {path}\n" for path in paths])
    return scenario.with_inputs_at(paths)


def _write_sums(folder: Path, sums: list[str]) -> None:
    if sums:
        (folder / FOLDER).mkdir(exist_ok=True)
        (folder / FOLDER / SUMS).write_text("".join(sums), encoding="utf-8")


def _free_name(path: str, taken: list[str]) -> str:
    """The file's own name, in a folder of its own where another file has it: topologies are called by it."""
    name = PurePath(path).name
    if name.lower().endswith(".parquet"):
        name += ".csv"  # what was read from it
    spread = (f"{number}/{name}" if number else name for number in range(len(taken) + 1))
    return next(free for free in spread if free not in taken and free != SUMS)


def verify(folder: Path) -> None:
    """Where `folder` is a result, refuse to run it again with files that are not what they were."""
    sums = folder / FOLDER / SUMS
    if not sums.is_file() or not (folder / "summary.json").is_file():
        return
    rows = [line.partition("  ") for line in sums.read_text(encoding="utf-8").splitlines()]
    changed = [path for digest, _, name in rows if (path := sums.parent / name).is_file() and _sha256(path) != digest]
    remedy = f"restore it, or remove {sums} to run with what is there"
    if changed:
        raise InputError([f"{path}: is not what the result was made from (SHA-256); {remedy}" for path in changed])


def _sha256(path: Path) -> str:
    import hashlib  # brings a large library along, which a run without files need not load

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
