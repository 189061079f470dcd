"""One small object through which progress, cancelling and limits pass, between jobs of a run."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adtc import _core
from adtc.errors import CancelledError, TooLargeError

native: Any = _core
Progress = Callable[[str, int, int], None]


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
        How many threads may work at once.
    control
        What kernels look at between pieces of their work.
    """

    progress: Progress | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    threads: int = 1
    started: float = field(default_factory=time.monotonic, repr=False)
    control: Any = field(init=False, repr=False, compare=False, default_factory=native.Control)

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            self.control.set_time_limit(max(0.0, self.time_limit))

    def cancel(self) -> None:
        """Ask the run to stop; safe from another thread."""
        self.control.cancel()

    def check(self) -> None:
        """Raise if the run was cancelled or is out of time."""
        if self.control.cancelled:
            raise CancelledError("the run was cancelled; nothing was written.")
        if self.time_limit is not None and time.monotonic() - self.started > self.time_limit:
            raise TooLargeError(
                f"the run did not finish within the time limit of {self.time_limit:g} s: raise "
                f"the limit, or ask for less with a constraint, a larger minsup or less depth."
            )

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
