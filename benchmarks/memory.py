"""How much memory a call needs at its peak, beyond what the process held before it."""

import resource
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def limit(gigabytes: float) -> None:
    """Let the process, and those it starts, have no more address space than this."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 1e9), hard))


class Peak:
    """Starts when made; on Linux the kernel's own mark is reset, so an earlier peak hides none."""

    def __init__(self) -> None:
        try:
            _RESET.write_text("5")
        except OSError:
            self._resets = False
        else:
            self._resets = True
        self._before = self._mark()

    def megabytes(self) -> float:
        """Return by how much the peak exceeds the start."""
        return max(0.0, self._mark() - self._before) / 1e6

    def _mark(self) -> float:
        if self._resets:
            line = next(x for x in _STATUS.read_text().splitlines() if x.startswith("VmHWM"))
            return int(line.split()[1]) * 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
