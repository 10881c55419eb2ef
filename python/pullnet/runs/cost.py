"""Cost of a run: wall-clock time, processor time, memory."""

import contextlib
import resource
import time
from pathlib import Path

_STATUS = Path("/proc/self/status")
_FORGET_PEAK = "5"


class Meter:
    """Measures from its creation on."""

    def __init__(self) -> None:
        # Linux can forget the peak of what the process did before; elsewhere the peak is that of the process.
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text(_FORGET_PEAK)
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    @property
    def wall_s(self) -> float:
        """Seconds on the wall."""
        return time.perf_counter() - self._wall

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time, all threads."""
        return time.process_time() - self._cpu

    @property
    def peak_rss_bytes(self) -> int:
        """Largest resident memory."""
        return peak_bytes()


def peak_bytes() -> int:
    """Largest resident memory so far, or since a `Meter` was made."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss_bytes() -> int:
    """Resident memory now; 0 where the system does not say."""
    return _status("VmRSS")


def available_bytes() -> int | None:
    """Memory that a run may still take; `None` where the system does not say."""
    known = [_meminfo("MemAvailable"), *(_cgroup(path) for path in _own_cgroups())]
    return min((amount for amount in known if amount is not None), default=None)


def _meminfo(key: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), None)


def _own_cgroups() -> list[Path]:
    """Folders of the control group of this process and of those around it (version 2)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                own = Path("/sys/fs/cgroup") / line[3:].lstrip("/")
                return [own, *own.parents[:-4]] if own != Path("/sys/fs/cgroup") else [own]
    return []


def _cgroup(folder: Path) -> int | None:
    """Free memory within the limit of a control group, bytes; `None` if it has no limit."""
    try:
        limit, used = (folder / "memory.max").read_text(), (folder / "memory.current").read_text()
        return None if limit.strip() == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None


def _status(key: str) -> int:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), 0)
