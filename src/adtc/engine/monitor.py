"""One small object through which progress, cancelling and limits pass, between jobs of a run."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from adtc.errors import CancelledError, TooLargeError

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
        Bytes that a stage may plan to use; engines ask `reserve` before they allocate.
    threads
        How many threads may work at once.
    """

    progress: Progress | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    threads: int = 1
    started: float = field(default_factory=time.monotonic, repr=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    def cancel(self) -> None:
        """Ask the run to stop at the next job; safe from another thread."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise if the run was cancelled or is out of time."""
        if self._cancelled.is_set():
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

    def reserve(self, what: str, size: int) -> None:
        """Raise if a stage is about to need more memory than allowed."""
        if self.memory_limit is not None and size > self.memory_limit:
            raise TooLargeError(
                f"{what} would need about {size / 1e9:.2g} GB, more than the memory limit of "
                f"{self.memory_limit / 1e9:.2g} GB: add a constraint, ask for fewer metrics, or "
                f"choose a larger minsup."
            )
