"""One small object through which progress, cancelling and limits reach a run, and its kernels."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adtc import _core
from adtc.errors import CancelledError, TooLargeError

Progress = Callable[[str, int, int], None]


def usable_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class Monitor:
    """Watches over a run; share one between threads.

    Parameters
    ----------
    progress
        Called with the stage's name, the jobs done and the jobs in all.
    time_limit
        Seconds after which the run stops with a `TooLargeError`.
    memory_limit
        Bytes that a run may use; None stands for three quarters of the machine's memory.
    threads
        How many threads may work at once; by default one for each core the process may use.
    """

    progress: Progress | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    threads: int = field(default_factory=usable_cores)
    started: float = field(default_factory=time.monotonic, repr=False)
    control: _core.Control = field(default_factory=_core.Control, repr=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            left = self.started + self.time_limit - time.monotonic()
            self.control.set_time_limit(max(0.0, left))

    def cancel(self) -> None:
        """Ask the run to stop at once; safe from another thread."""
        self.control.cancel()

    def check(self) -> None:
        """Raise if the run was cancelled or is out of time."""
        with self.translated():
            self.control.check()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what stops a kernel into the errors that users see."""
        try:
            yield
        except _core.Cancelled:
            raise CancelledError("the run was cancelled; nothing was written.") from None
        except _core.OutOfTime:
            raise TooLargeError(
                f"the run did not finish within the time limit of {self.time_limit:g} s: raise "
                f"the limit, or ask for less with a constraint, a larger minsup or less depth."
            ) from None
        except _core.OutOfMemory:
            raise TooLargeError(
                f"the tensors do not fit into the {self.memory / 1e9:.2g} GB of memory that the "
                f"run may use: add a constraint that can be pushed down (such as acc >= 0.8), ask "
                f"for fewer metrics at once, or choose a larger minsup or less depth."
            ) from None

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage is."""
        if self.progress is not None:
            self.progress(stage, done, total)

    @property
    def memory(self) -> int:
        """Return how many bytes the run may use."""
        if self.memory_limit is not None:
            return self.memory_limit
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4

    def reserve(self, what: str, size: int) -> None:
        """Raise if a stage is about to need more memory than allowed."""
        if size > self.memory:
            raise TooLargeError(
                f"{what} would need about {size / 1e9:.2g} GB, more than the "
                f"{self.memory / 1e9:.2g} GB that the run may use: choose a larger minsup, fewer "
                f"features or less depth."
            )
