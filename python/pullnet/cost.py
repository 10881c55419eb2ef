"""What a run costs: time on the wall, processor time, memory."""

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
        return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss_bytes() -> int:
    """Resident memory now; 0 where the system does not say."""
    return _status("VmRSS")


def _status(key: str) -> int:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), 0)
