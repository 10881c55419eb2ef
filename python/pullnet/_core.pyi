"""Scenarios, simulations and their tables, as thin as they can be."""

from typing import Literal, final

__all__ = [
    "Column",
    "Input",
    "Progress",
    "Record",
    "Scenario",
    "Simulation",
    "Stuck",
    "Table",
    "__version__",
    "catalogue",
    "picoseconds",
    "provoke_fault",
    "schema",
    "template",
]

__version__: str

def catalogue(what: str) -> list[tuple[str, str]]:
    """Names and one line each, of `protocols`, `switches`, `topologies`, `traffic` or `distributions`."""

def schema() -> str:
    """JSON schema of a scenario file."""

def template(name: str) -> str:
    """A scenario to start from."""

def picoseconds(text: str) -> int:
    """Reads a time with its unit. Unit: picoseconds."""

def provoke_fault(message: str) -> None:
    """Panics, so that a test can see what becomes of it."""

@final
class Scenario:
    """A scenario without errors."""

    @staticmethod
    def compile(path: str, text: str, overrides: list[tuple[str, str]]) -> Scenario:
        """Compiles `text`; `path` names it in errors, and the files it names lie beside it."""
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def hosts(self) -> int: ...
    @property
    def resolved(self) -> str:
        """TOML text with every value and where it comes from."""
    @property
    def inputs(self) -> list[Input]:
        """The files that it names, in the order in which it was read."""
    def with_inputs_at(self, names: list[str]) -> str:
        """The resolved text with other names for its files, one for each of `inputs`."""

@final
class Input:
    """A file that a scenario names."""

    @property
    def path(self) -> str:
        """Where it was read from."""
    @property
    def data(self) -> bytes:
        """What was read; of a flow list in Parquet the CSV that it was turned into."""

@final
class Simulation:
    """A running simulation."""

    def __new__(cls, scenario: Scenario, threads: int) -> Simulation: ...
    def advance(self, seconds: float) -> Progress:
        """Simulates for about `seconds` on the wall, or to the end."""
    def stuck(self, since_ps: int, limit: int) -> list[Stuck]:
        """At most `limit` flows that have not moved since `since_ps`, those that have waited longest first."""
    def finish(
        self, interrupted: bool, stuck_after_ps: int, wall_s: float, cpu_s: float, peak_rss_bytes: int
    ) -> Record:
        """Ends the run, wherever it is.

        Open flows that have stood still for `stuck_after_ps` are stuck. The cost is what was measured so far.
        """

@final
class Progress:
    """How far a run has come."""

    @property
    def now_ps(self) -> int: ...
    @property
    def end_ps(self) -> int | None: ...
    @property
    def started(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def ended(self) -> bool: ...

@final
class Stuck:
    """A flow that has not moved for a while."""

    @property
    def flow(self) -> int: ...
    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def size(self) -> int | None: ...
    @property
    def last_progress_ps(self) -> int: ...
    @property
    def waiting_for(self) -> str: ...

@final
class Record:
    """What a run has left."""

    @property
    def summary(self) -> str: ...
    def take_tables(self) -> list[Table]:
        """Hands out the tables, once."""

@final
class Table:
    """A table of a run."""

    @property
    def name(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def rows(self) -> int: ...
    def take_columns(self) -> list[Column]:
        """Hands out the columns, once; each is copied into Python's memory and freed in Rust's before the next."""

@final
class Column:
    """A column of a table."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def kind(self) -> Literal["uint32", "int64", "double", "bool", "text"]:
        """With `text`, `data` holds uint32 numbers that point into `words`."""
    @property
    def data(self) -> bytes: ...
    @property
    def valid(self) -> bytes | None:
        """Which rows have a value, one bit each; `None`: all."""
    @property
    def words(self) -> list[str]: ...
