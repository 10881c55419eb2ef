"""Fountain codes: limits, failure probabilities, operations and speed of RaptorQ, R10 and LT.

>>> from pullnet import codes
>>> codes.failure("raptorq", symbols=100, lost=10, overhead=0, trials=100_000).rate
"""

import math
import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pullnet import _core
from pullnet.arguments import typed
from pullnet.errors import InputError

Code = Literal["lt", "r10", "raptorq"]

LIBRARY = "raptorq 2.0.1"
"""The library that encodes and decodes RaptorQ."""
SPEED_SYMBOLS = (10, 26, 50, 100, 250, 500, 1000, 2000, 5000, 10000)
"""Source symbols K of the table of speeds."""
SPEED_BYTES = (1280, 1440, 8936)
"""Symbol sizes of the table: that of published measurements, and the payload of frames of 1,500 and 9,000 B."""
SECONDS = (0.001, 3600.0)
"""Least and greatest CPU time of a measurement of speed."""
SPEED_HEADER = "symbols,symbol_bytes,encode_us,repair_us,decode_us,decode_p90_us"


@dataclass(frozen=True)
class Limits:
    """The largest sizes of a code."""

    code: str
    source_symbols: int
    encoding_symbols: int
    symbol_bytes: int
    blocks: int


@dataclass(frozen=True)
class Failure:
    """How often K + overhead symbols did not determine a block."""

    code: str
    symbols: int
    lost: int
    overhead: int
    trials: int
    failures: int

    @property
    def rate(self) -> float:
        """Share of the trials that failed."""
        return self.failures / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% confidence interval of the failure probability."""
        z, n, p = 1.959964, self.trials, self.rate
        middle, scale = p + z * z / (2 * n), 1 + z * z / n
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


@dataclass(frozen=True)
class Operations:
    """XORs of whole symbols."""

    encode: float
    """Per encoding symbol."""
    decode: float
    """Per source symbol that was recovered."""
    recovered: float
    """Share of the source symbols that was recovered."""
    used: float
    """Symbols that arrived, over source symbols."""


@dataclass(frozen=True)
class Speed:
    """CPU time of one core for one block. Unit: us."""

    symbols: int
    symbol_bytes: int
    lost: int
    encode_us: float
    """Median time to solve for the intermediate symbols."""
    repair_us: float
    """Median time of one repair symbol after that."""
    decode_us: float
    """Median time to decode the block."""
    decode_p90_us: float
    """90th percentile of the same."""
    samples: int

    @property
    def block_bits(self) -> int:
        """Bits of the block."""
        return self.symbols * self.symbol_bytes * 8

    @property
    def encode_gbps(self) -> float:
        """Bits of the block over the time to encode it, in Gb/s."""
        return self.block_bits / self.encode_us / 1e3

    @property
    def decode_gbps(self) -> float:
        """Bits of the block over the time to decode it, in Gb/s."""
        return self.block_bits / self.decode_us / 1e3

    def as_dict(self) -> dict[str, Any]:
        """Return all values, rates included."""
        return {**asdict(self), "encode_gbps": self.encode_gbps, "decode_gbps": self.decode_gbps}


MOST_TRIALS = 1_000_000_000
"""Most trials of one failure probability."""


def limits() -> list[Limits]:
    """Limits of R10 (RFC 5053) and RaptorQ (RFC 6330)."""
    return [Limits(*row) for row in _core.code_limits()]


@typed
def failure(code: Code, *, symbols: int, lost: int, overhead: int, trials: int, seed: int = 1) -> Failure:
    """Count how many of random sets of K + overhead symbols do not determine the block.

    `lost` source symbols are missing and replaced by repair symbols. LT is not systematic and takes no notice of it.
    """
    if not 1 <= trials <= MOST_TRIALS:
        raise InputError(f"{trials} is out of range; use 1 to {MOST_TRIALS}, which takes hours", keyword="trials")
    if not 0 <= seed < 2**63:
        raise InputError(f"{seed} is out of range; use 0 to {2**63 - 1}", keyword="seed")
    _whole("symbols", symbols)
    _whole("lost", lost)
    _whole("overhead", overhead, least=0)
    failures = _core.code_failures(code, symbols, lost, overhead, trials, seed)
    return Failure(code, symbols, lost, overhead, trials, failures)


@typed
def lt_operations(symbols: int, seed: int = 1) -> Operations:
    """Operations of an LT code with the robust soliton (c 0.03, delta 0.5), until the block is complete."""
    return Operations(*_core.lt_code_operations(_whole("symbols", symbols), seed))


@typed
def raptor_operations(symbols: int, epsilon: float, seed: int = 1) -> Operations:
    """Operations of the outer code of a Raptor code at overhead `epsilon`; the rest of the block is the precode's."""
    return Operations(*_core.raptor_code_operations(_whole("symbols", symbols), epsilon, seed))


@typed
def speed(symbols: int, symbol_bytes: int = 1280, lost: int | None = None, seconds: float = 0.5) -> Speed:
    """Measure RaptorQ on one block: CPU time of this thread, at least five times and for at least so many seconds.

    A tenth of the source symbols is lost unless `lost` says otherwise; they are replaced by repair symbols, and two
    more. Time of other processes does not count, but caches and a shared core make it longer. Raises `InputError` for
    `lost` above `symbols`, and for `seconds` that are not from 0.001 to 3600.
    """
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        raise InputError(f"{seconds} is out of range; use {SECONDS[0]} to {SECONDS[1]}", keyword="seconds")
    lost = max(1, symbols // 10) if lost is None else lost
    if lost > symbols:
        raise InputError(f"{lost} is more than the {symbols} source symbols; use 0 to {symbols}", keyword="lost")
    bench = _core.CodeBench(_whole("symbols", symbols), _whole("symbol_bytes", symbol_bytes), _whole("lost", lost, 0))
    batch = max(1, 2000 // symbols)
    encode = _times(bench.encode, seconds)
    repair = [spent / batch for spent in _times(lambda: bench.repair(batch), seconds / 5)]
    decode = _times(bench.decode, seconds)
    if not bench.decode():
        raise AssertionError("the decoded block is another one")
    p90 = decode[min(len(decode) - 1, len(decode) * 9 // 10)]
    return Speed(symbols, symbol_bytes, lost, _middle(encode), _middle(repair), _middle(decode), p90, len(decode))


@typed
def speeds(seconds: float = 0.5) -> list[Speed]:
    """Measure every K and symbol size of the table that the simulator reads."""
    return [speed(symbols, size, seconds=seconds) for size in SPEED_BYTES for symbols in SPEED_SYMBOLS]


@typed
def csv(rows: list[Speed]) -> str:
    """Write measurements as `crates/core/codes/data/speed.csv` has them, without its comments."""
    lines = [
        f"{row.symbols},{row.symbol_bytes},{row.encode_us:.2f},{row.repair_us:.3f},{row.decode_us:.2f},"
        f"{row.decode_p90_us:.2f}"
        for row in rows
    ]
    return "\n".join([SPEED_HEADER, *lines]) + "\n"


def _whole(name: str, value: int, least: int = 1) -> int:
    if not least <= value < 2**32:
        raise InputError(f"{value} is out of range; use {least} to {2**32 - 1}", keyword=name)
    return value


def _times(work: Any, seconds: float) -> list[float]:
    """CPU times of repeated work, sorted. Unit: us."""
    work()
    times: list[float] = []
    # Work that takes no time, such as decoding without losses, ends too: the loop itself counts.
    end = time.thread_time_ns() + seconds * 1e9
    while len(times) < 5 or time.thread_time_ns() < end:
        start = time.thread_time_ns()
        work()
        times.append((time.thread_time_ns() - start) / 1e3)
    return sorted(times)


def _middle(times: list[float]) -> float:
    return times[len(times) // 2]
