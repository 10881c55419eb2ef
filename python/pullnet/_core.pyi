"""Scenarios, simulations and their tables, captures, as thin as they can be."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Capture",
    "CaptureBins",
    "CaptureReport",
    "CodeBench",
    "Column",
    "HostBench",
    "HostBenchServer",
    "HostFile",
    "HostListener",
    "HostProxy",
    "HostRequest",
    "HostStack",
    "Input",
    "Play",
    "PolledListener",
    "PolledStream",
    "PowerSample",
    "Progress",
    "Record",
    "Scenario",
    "Simulation",
    "Stuck",
    "Switch",
    "SwitchFile",
    "Table",
    "__version__",
    "calls",
    "catalogue",
    "code_failures",
    "code_limits",
    "frame_room",
    "lt_code_operations",
    "mark_anomalies",
    "objects_get",
    "objects_put",
    "objects_store",
    "picoseconds",
    "probes",
    "provoke_fault",
    "raptor_code_operations",
    "schema",
    "template",
    "testbed_plan",
]

__version__: str

_Interval: TypeAlias = tuple[float, float, float, float]

def catalogue(what: str) -> list[tuple[str, str]]:
    """Names and one line each, of one of `CATALOGUES` in `pullnet.runs.scenario`."""

def probes() -> list[tuple[str, str, str]]:
    """Optional tables: name, the line under `[probes]` that enables it, and what a row is."""

def code_limits() -> list[tuple[str, int, int, int, int]]:
    """Source symbols, encoding symbols, bytes of a symbol and source blocks at most, of R10 and RaptorQ."""

def code_failures(code: str, symbols: int, lost: int, overhead: int, trials: int, seed: int) -> int:
    """Random sets of symbols, out of `trials`, that do not determine the block."""

def lt_code_operations(symbols: int, seed: int) -> tuple[float, float, float, float]:
    """XORs per encoding symbol and per recovered source symbol; shares recovered and used."""

def raptor_code_operations(symbols: int, epsilon: float, seed: int) -> tuple[float, float, float, float]:
    """The same of the outer code of a Raptor code at overhead `epsilon`."""

def schema() -> str:
    """JSON schema of a scenario file."""

def template(name: str) -> str:
    """A scenario to start from."""

def picoseconds(text: str) -> int:
    """Reads a time with its unit. Unit: picoseconds."""

def mark_anomalies(volumes: bytes, states: bytes, capacity: float | None = None) -> tuple[bytes, float | None]:
    """Marks outages and saturation: volumes as little-endian doubles, a state for each, capacity in bytes per bin.

    Returns the states, and the capacity that was given or inferred.
    """

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
    def warnings(self, available_bytes: int | None = None) -> list[tuple[str, str, str, str]]:
        """Every warning about it that is not silenced: name, place, setting and message.

        `available_bytes`: memory that is free, to warn if it will not do.
        """
    def paths(self, src: int, dst: int) -> list[list[tuple[int, str, int, int]]]:
        """Every path from host `src` to host `dst`.

        For each link on it: row of the table ports, name, rate in bits per second, delay in picoseconds.
        """
    def topology_file(self, name: str) -> str:
        """The text of the file `name` with its topology, in the format that the ending names."""
    def group_names(self) -> dict[str, list[str]]:
        """Names that group results in a summary, by the path of the group: the names of tags are at `by_tag`."""
    @property
    def silenced(self) -> list[str]:
        """Names of the warnings that it silences."""
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

    def __new__(cls, scenario: Scenario, threads: int, available_bytes: int | None = None) -> Simulation:
        """Begins a run. `available_bytes`: memory that is free, to warn if it will not do."""
    def advance(self, seconds: float) -> Progress:
        """Simulates for about `seconds` on the wall, or to the end."""
    def stuck(self, since_ps: int, limit: int) -> list[Stuck]:
        """At most `limit` flows that have not moved since `since_ps`, those that have waited longest first."""
    def finish(self, interrupted: bool, stuck_after_ps: int, cost: tuple[float, float, int]) -> Record:
        """Ends the run, wherever it is.

        Open flows that have stood still for `stuck_after_ps` are stuck. The cost is what was measured so far:
        wall-clock time and processor time in seconds, peak resident memory in bytes.
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
    @property
    def left_out(self) -> list[tuple[str, str]]:
        """Tables that were asked for and are not there: name, and why."""
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
    def write_parquet(self, path: Path) -> None:
        """Writes the table to a Parquet file. Raises `OSError`; not possible once the columns were handed out."""
    def parquet(self) -> bytes:
        """Returns the table as a Parquet file; not possible once the columns were handed out."""

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

@final
class Capture:
    """A capture that is being read into bins."""

    def __new__(
        cls,
        path: str,
        timescales_ps: list[int],
        filter: str | None = None,
        origin: str | None = None,
        keep_partial: bool = False,
        most_bins: int | None = None,
    ) -> Capture:
        """Opens the file at `path`; `-` is standard input."""
    @property
    def format(self) -> Literal["pcap", "pcapng", "erf"]: ...
    @property
    def compression(self) -> Literal["none", "gzip", "zstd"]: ...
    def advance(self, packets: int) -> tuple[bool, int, int]:
        """Reads up to `packets` packets. Returns whether there may be more, stored bytes used, packets counted."""
    def finish(self) -> tuple[list[CaptureBins], CaptureReport]:
        """The bins of every timescale, and what became of the packets; once, after the last was read."""

@final
class CaptureBins:
    """The bins of one timescale."""

    @property
    def timescale_ps(self) -> int: ...
    @property
    def start_s(self) -> float: ...
    @property
    def byte_counts(self) -> bytes:
        """Bytes in each bin, as little-endian uint64."""
    @property
    def packet_counts(self) -> bytes:
        """Packets in each bin, as little-endian uint64."""
    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Bins of which nothing is known, as (first, end)."""
    @property
    def partial(self) -> tuple[int, int]:
        """Packets and bytes in bins that were left out since they are not complete."""
    @property
    def in_gaps(self) -> tuple[int, int]:
        """Packets and bytes seen in bins that are gaps."""

@final
class CaptureReport:
    """What became of a capture. Pairs are packets and bytes."""

    @property
    def counted(self) -> tuple[int, int]: ...
    @property
    def other(self) -> tuple[int, int]: ...
    @property
    def unclassified(self) -> tuple[int, int]: ...
    @property
    def disbelieved(self) -> tuple[int, int]: ...
    @property
    def before_origin(self) -> tuple[int, int]: ...
    @property
    def reordered(self) -> int: ...
    @property
    def most_behind_ps(self) -> int: ...
    @property
    def without_bytes(self) -> int: ...
    @property
    def clock_set(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def without_time(self) -> int: ...
    @property
    def without_interface(self) -> int: ...
    @property
    def missed(self) -> int: ...
    @property
    def longer_than_wire(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def damage(self) -> list[tuple[str, int, int, str, int]]:
        """The first places of damage: kind, offset, bytes skipped, reason, stored bytes unread."""

@final
class HostFile:
    """A host file without errors."""

    @staticmethod
    def read(path: str, text: str) -> HostFile:
        """Reads `text`; `path` names it in errors."""
    @property
    def address(self) -> str:
        """Address and port of the host."""
    @property
    def socket(self) -> Path:
        """Path of the socket."""
    def check_machine(self) -> None:
        """Look at what the file names on this machine: accounts, the core, the keys."""
    def serve(self) -> None:
        """Is the daemon until SIGINT or SIGTERM."""

@final
class HostStack:
    """An application of a daemon."""

    @staticmethod
    def connect(path: Path) -> HostStack:
        """Connects to the daemon whose socket is at `path`."""
    @staticmethod
    def check_call(to: str, timeout_s: float | None) -> None:
        """Raises `InputError` if `call` would refuse the other host or the timeout; needs no daemon."""
    @property
    def address(self) -> str:
        """Address and port of the host."""
    def status(self) -> str:
        """How the daemon stands, as JSON."""
    def prometheus(self) -> str:
        """Its totals as Prometheus reads them."""
    def call(self, to: str, service: int, request: bytes, priority: int, timeout_s: float | None) -> bytes:
        """Sends a request on a stream of its own and returns the response."""
    def listen(self, service: int) -> HostListener:
        """Takes the streams that others open for `service`."""

@final
class HostBench:
    """A benchmark under way."""

    @staticmethod
    def check(wish: str) -> None:
        """Raises `InputError` if `begin` would refuse `wish`; needs no daemon."""
    @staticmethod
    def begin(stack: HostStack, wish: str) -> HostBench:
        """Begins what `wish`, a JSON object, says."""
    def next(self) -> str | None:
        """Runs the next part and returns its result as JSON; `None`: all is done."""

@final
class HostBenchServer:
    """The serving side of benchmarks."""

    @staticmethod
    def start(stack: HostStack, service: int, tcp: bool) -> HostBenchServer:
        """Serves at `service`, and with `tcp` at the TCP port of that number, as long as the value lives."""
    def check(self) -> None:
        """Raises an error if it no longer serves."""

@final
class HostListener:
    """A service of an application."""

    def accept(self, timeout_s: float | None) -> HostRequest | None:
        """The next stream; `None` if none comes for so long."""

@final
class HostProxy:
    """A proxy between TCP and NDP."""

    @staticmethod
    def check_route(listen: str | None, serve: int | None, to: str) -> None:
        """Raises `InputError` if `start` would refuse the route; needs no daemon."""
    @staticmethod
    def start(stack: HostStack, listen: str | None, serve: int | None, to: str, limit: int, raw: bool) -> HostProxy:
        """Carries connections as long as the value lives."""
    @property
    def number(self) -> int:
        """TCP port or service at which it accepts connections."""
    def check(self) -> None:
        """Raises an error if it no longer accepts connections."""
    def counts(self) -> str:
        """What it has done so far, as JSON."""
    def stop(self, farewell_s: float) -> None:
        """Accepts no more connections, lets those that are open end for so long, and resets the others."""

@final
class HostRequest:
    """A stream that somebody else opened, with a request and room for a response."""

    @property
    def peer(self) -> str:
        """Address and port of the host that asks."""
    def read(self, most: int, timeout_s: float | None) -> bytes:
        """The request, up to its end, at most `most` bytes."""
    def respond(self, response: bytes, timeout_s: float | None) -> None:
        """Sends the response and ends the stream. Does not wait until it has arrived."""
    def refuse(self) -> None:
        """Resets the stream."""

def objects_put(
    path: Path,
    name: str | None,
    hosts: list[str],
    group: str | None,
    attached: tuple[str | None, str | None, str],
    watch: Callable[[int, int], object],
) -> tuple[str, list[str], bool]:
    """Sends a file to stores. The report as JSON and as lines, and whether every host stored the file.

    `attached` is the address, the interface and the rate of this host. `watch` gets the bytes done and in all.
    """

def objects_get(
    name: str,
    out: str,
    hosts: list[str],
    attached: tuple[str | None, str | None, str],
    watch: Callable[[int, int], object],
) -> tuple[str, list[str], bool]:
    """Fetches an object from all stores that have it, into the file `out`."""

def objects_store(
    folder: Path,
    port: int | None,
    most: str,
    attached: tuple[str | None, str | None, str],
    tell: Callable[[str], object],
    watch: Callable[[int, int], object],
) -> None:
    """Serves the files of a folder until an exception is raised."""

@final
class PolledStream:
    """A stream for an event loop: no call waits."""

    @staticmethod
    def open(stack: HostStack, to: str, service: int, priority: int) -> PolledStream:
        """Opens a stream."""
    @property
    def peer(self) -> str:
        """Address and port of the other host."""
    @property
    def readable(self) -> int:
        """A descriptor that becomes readable when there may be something to read."""
    @property
    def writable(self) -> int:
        """One that becomes readable when there may be room, or everything may be acknowledged."""
    def silence_readable(self) -> None:
        """Takes the rings so far from `readable`."""
    def silence_writable(self) -> None:
        """Takes the rings so far from `writable`."""
    def try_read(self, most: int) -> bytes | None:
        """At most so many bytes; empty at the end and for 0; `None`: nothing yet."""
    def try_write(self, bytes: bytes, start: int, last: bool) -> int | None:
        """How many of the bytes from `start` on were taken; `None`: no room yet."""
    def try_settle(self) -> bool:
        """Whether everything that was written is acknowledged."""
    def close(self) -> None:
        """What was written still arrives."""
    def abort(self) -> None:
        """Ends it at once, at both ends."""

@final
class PolledListener:
    """A service for an event loop: no call waits."""

    @staticmethod
    def open(stack: HostStack, service: int) -> PolledListener:
        """Takes the streams that others open for `service`."""
    @property
    def readable(self) -> int:
        """A descriptor that becomes readable when there may be a stream."""
    def silence_readable(self) -> None:
        """Takes the rings so far from it."""
    def try_accept(self) -> PolledStream | None:
        """The next stream; `None`: there is none yet."""
    def close(self) -> None:
        """Stops listening."""

@final
class SwitchFile:
    """A switch file without errors."""

    @staticmethod
    def read(path: str, text: str) -> SwitchFile:
        """Reads `text`; `path` names it in errors."""
    @property
    def name(self) -> str: ...
    @property
    def ports(self) -> list[tuple[str, str, str | None]]:
        """Name, switch and interface of each port; no interface for lines inside the file."""
    def kernel(self) -> str:
        """What the switch inside the kernel is told, as JSON. Refuses what that one cannot do."""
    def start(self) -> Switch:
        """Opens the interfaces and lets the switches run in a thread of their own."""

@final
class Switch:
    """A running switch."""

    @property
    def thread_id(self) -> int: ...
    @property
    def runs(self) -> bool:
        """Whether it still runs."""
    def status(self) -> str:
        """How it stands, as JSON."""
    def fault(self, text: str) -> None:
        """Lets something go wrong: `text` is `[[fault]]` tables, whose times count from now."""
    def clear(self, port: str) -> None:
        """Nothing is wrong with a port any more."""
    def stop(self) -> str:
        """Ends it and says how it stood, as JSON."""

def testbed_plan(scenario: Scenario) -> tuple[list[tuple[str, str, str, str, int]], str]:
    """What a testbed with the network of `scenario` is made from.

    For each host its name, its port, its Ethernet and its IPv4 address and its rate in bit/s; and the file of the
    switches.
    """

@final
class Play:
    """The hosts of a testbed, in the thread that calls."""

    def __new__(cls, scenario: Scenario, namespaces: list[str]) -> Play:
        """Opens a socket in each of `namespaces`: those of the scenario's hosts, in its order."""
    def begin(self) -> None:
        """Begins a round at time zero."""
    def advance(self, seconds: float) -> bool:
        """Plays for `seconds` at most. True if the round has ended."""
    def finish(
        self, before: str, after: str, interrupted: bool, stuck_after_ps: int, cost: tuple[float, float, int]
    ) -> Record:
        """Ends the round, wherever it is.

        `before` and `after` are answers of the switches to `status`, as JSON. Open flows that have stood still for
        `stuck_after_ps` are stuck.
        """

def calls(
    carrier: str,
    ends: tuple[tuple[str, str, int], tuple[str, str, int]],
    count: int,
    before: int,
    bytes: int,
    congestion_control: str,
    spin: bool,
) -> tuple[list[float], float]:
    """Makes calls between two hosts that are joined directly, each on a connection of its own.

    `ends`: namespace, address and core of the caller and of the server. `carrier`: ndp, tcp, fast-open or mptcp; the
    last three with congestion control cubic or reno. Returns the time of each and the processor time of one, in
    microseconds.
    """

def frame_room(scenario: Scenario) -> int:
    """Longest frame of a scenario, Ethernet header included and check sequence not. Unit: bytes."""

@final
class CodeBench:
    """A RaptorQ block with `lost` source symbols lost; each method does its work once, to be timed."""

    def __new__(cls, symbols: int, symbol_bytes: int, lost: int) -> Self: ...
    def encode(self) -> None:
        """Solves for the intermediate symbols."""
    def repair(self, count: int) -> None:
        """Makes repair symbols."""
    def decode(self) -> bool:
        """Decodes the block; whether its bytes are right."""

@final
class PowerSample:
    """Values in order, ready for a power law. `before_steps`: the distance as published programs compute it."""

    def __new__(cls, values: NDArray[np.float64], discrete: bool) -> Self:
        """Takes a buffer of positive float64 in any order, whole numbers if `discrete`."""
    def fit(self, before_steps: bool) -> tuple[float, float, float, float, int]:
        """Gives xmin, alpha, its standard error, the distance, and how many values are in the tail."""
    def fit_above(self, xmin: float, before_steps: bool) -> tuple[float, float, float, float, int] | None:
        """The same for a given xmin; `None` if fewer than two distinct values are left."""
    def all_distances(self, before_steps: bool) -> list[tuple[float, float]]:
        """Every xmin with its distance, in a time that grows with the square of the sample."""
    def uncertainty(
        self, before_steps: bool, repeats: int, seed: int, threads: int
    ) -> tuple[int, _Interval, _Interval, _Interval]:
        """Repeats, and mean, deviation, 2.5% and 97.5% points of xmin, alpha and the number of values in the tail."""
    def goodness(
        self, xmin: float, before_steps: bool, repeats: int, seed: int, threads: int
    ) -> tuple[int, int] | None:
        """Repeats, and those that are at least as far from their own fit as the data are from that above xmin."""
