"""Progress, cancellation and limits of a run, in one object that reaches its kernels, too."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adtc import _core
from adtc.errors import CancelledError, LimitError

if TYPE_CHECKING:
    from adtc.engine.executors.checkpoint import Checkpoint

Progress = Callable[[str, int, int], None]
# Of one metric in one cell, as measured (CPU time, peak memory) on 22,008,500 cells (mushroom, by
# size, acc and f1, depth 4, relminsup 0.1): means and ranges 81 ns and 3 bytes, a cross-table of
# acc and f1 97 ns and 15 bytes; exact means take 812 ns on 7,403,466 cells of adult.
BYTES_PER_VALUE, SECONDS_PER_VALUE, SECONDS_PER_EXACT_VALUE = 20, 1.5e-7, 1e-6


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
        Seconds after which the run stops.
    memory_limit
        Bytes that a run may use; None stands for three quarters of the machine's memory.
    threads
        How many threads may work at once; by default one for each core the process may use.
    exact
        True: what does not fit into the limits is refused with a `LimitError`. False: it is
        answered with what fits, such as a smaller depth. None: False if a limit is given.
    resident_limit
        Bytes that the whole process may hold, as the system sees it; None sets no limit.
    patient
        Whether somebody waits who may stop the run: then shallow depths are finished first.
    spare
        Share of the time that is not for computing, but for printing the answer.
    checkpoint
        Where finished parts of the run are kept, and taken from if they are there.
    exact_means
        Whether means of the result will be computed as fractions, which takes longer.
    client
        A ``distributed.Client``: the parts of the run are computed by its workers.
    finished
        Makes an answer of what is finished so far, given what stopped the run.
    reached
        Whether that is more than bounds known from the start.
    """

    progress: Progress | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    threads: int = field(default_factory=usable_cores)
    exact: bool | None = None
    resident_limit: int | None = None
    patient: bool = False
    spare: float = 0.0
    checkpoint: "Checkpoint | None" = None
    exact_means: bool = False
    client: Any = None
    finished: Callable[[str], Any] | None = field(default=None, repr=False)
    reached: bool = field(default=False, repr=False)
    started: float = field(default_factory=time.monotonic, repr=False)
    control: _core.Control = field(default_factory=_core.Control, repr=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            self.control.set_time_limit(max(0.0, self.time_left or 0.0))
        if self.resident_limit is not None:
            self.control.set_resident_limit(min(self.resident_limit, 2**63 - 1))

    @property
    def answers(self) -> bool:
        """Tell whether a question that does not fit is answered with what does."""
        if self.exact is None:
            return self.time_limit is not None or self.memory_limit is not None
        return not self.exact

    @property
    def time_left(self) -> float | None:
        """Return the seconds that are left; None without a limit."""
        if self.time_limit is None:
            return None
        return self.started + self.time_limit * (1 - self.spare) - time.monotonic()

    def strict(self) -> "Monitor":
        """Return a monitor with the same limits that refuses what does not fit."""
        return replace(self, exact=True, finished=None)

    def part(self) -> "Monitor":
        """Return a monitor with the same limits for a part of a run, whose answer is not all."""
        return replace(self, finished=None, reached=False)

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
            limit = "given to it" if self.time_limit is None else f"limit of {self.time_limit:g} s"
            raise LimitError(
                f"the run did not finish within the time {limit}: raise "
                f"the limit, or ask for less with a constraint, a larger minsup or less depth."
            ) from None
        except _core.OutOfMemory:
            raise LimitError(
                f"the tensors do not fit into the {self.memory / 1e9:.2g} GB of memory that the "
                f"run may use: add a constraint that can be pushed down (such as acc >= 0.8), ask "
                f"for fewer metrics at once, or choose a larger minsup or less depth."
            ) from None

    @contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Let what is done here take no longer than that, if nothing else limits the time."""
        if self.time_limit is not None:
            yield
            return
        self.control.set_time_limit(seconds)
        try:
            yield
        finally:
            self.control.set_time_limit(-1.0)

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
            raise LimitError(
                f"{what} would need about {size / 1e9:.2g} GB, more than the "
                f"{self.memory / 1e9:.2g} GB that the run may use: choose a larger minsup, fewer "
                f"features or less depth."
            )

    def reserve_reading(self, cells: int, metrics: int) -> None:
        """Raise if a result has so many cells that reading it would break a limit."""
        each = SECONDS_PER_EXACT_VALUE if self.exact_means else SECONDS_PER_VALUE
        size, seconds = BYTES_PER_VALUE * cells * metrics, each * cells * metrics
        left, room = self.time_left, self.memory
        if self.resident_limit is not None:  # the result itself is held already
            room = self.resident_limit - _core.resident_bytes()
        if (left is not None and seconds > left) or (self.memory_limit is not None and size > room):
            limit = "time" if left is not None and seconds > left else "memory"
            raise LimitError(
                f"the {cells:,} cells of the result cannot be read within the {limit} limit: raise "
                f"the limit, or ask for less with a constraint, a larger minsup or less depth."
            )
