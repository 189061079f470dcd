"""A run at a terminal: progress with an estimate of the time left, limits, Ctrl-C.

A kernel cannot be interrupted, so the engine works in a second thread and the first one watches:
Ctrl-C and the time limit take effect at once, whatever the engine is doing. What is finished by
then is the answer.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from adtc.errors import LimitError, TooLargeError

if TYPE_CHECKING:
    from adtc.engine.monitor import Monitor, Progress

T = TypeVar("T")
WORKING = "working"
_MINUTE = 60.0  # seconds between lines where there is no terminal
_WATCH = 0.05  # seconds between looks at the clock
_SHORT = 0.02  # seconds of the same where an answer is ready
_GRACE = 0.5  # seconds in which a cancelled run may end by itself
_PAST = 0.02  # of the time limit: how long a run that is past it may take to answer by itself
_left: list[threading.Event] = []
_interrupts: list[str] = []
_begun: list[float] = []
_exit_now = os._exit


def watched(work: Callable[[], T], monitor: "Monitor") -> T:
    """Do the work in a second thread and return what it returns, or raise what it raises."""
    results: list[T] = []
    failures: list[BaseException] = []
    # A thread that is being joined when Ctrl-C comes may be taken for ended; an event is not.
    ended = threading.Event()

    def worker() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    _interrupts.clear()
    thread = threading.Thread(target=worker, daemon=True)
    with progress_shown() as progress:
        monitor.progress = progress
        try:
            thread.start()
            while not ended.wait(_WATCH):
                if isinstance(progress, Lines):
                    progress.tick()
                _check(monitor, ended)
        except (KeyboardInterrupt, LimitError) as reason:
            monitor.cancel()
            nothing = not monitor.reached and isinstance(reason, KeyboardInterrupt)
            if not monitor.answers or monitor.finished is None or nothing:
                _leave(ended)
                raise
            _leave(ended, _SHORT)
            return cast(T, _finished(monitor, reason))
        except BaseException:
            monitor.cancel()
            _leave(ended)
            raise
        finally:
            _tell(monitor)
    if failures:
        raise failures[0]
    return results[0]


def watched_beside(work: Callable[[], T], monitor: "Monitor") -> T | None:
    """Do what an answer can do without; None if a limit or Ctrl-C ends it, or one did before."""
    if interrupted():
        return None
    try:
        return watched(work, monitor)
    except TooLargeError:
        return None
    except KeyboardInterrupt:
        note_interrupt()
        return None


def _tell(monitor: "Monitor") -> None:
    """Say what is new about the checkpoint."""
    if monitor.checkpoint is not None:
        for sentence in monitor.checkpoint.news():
            print(f"adtc: {sentence}", file=sys.stderr, flush=True)


def _check(monitor: "Monitor", ended: threading.Event) -> None:
    """Raise if the run was cancelled or is out of time and does not end by itself."""
    try:
        monitor.check()
    except LimitError:
        limit = monitor.time_limit
        if limit is None:
            return  # out of memory: the run notices that itself, and goes on with less
        if not ended.wait(_PAST * limit):
            raise


def _finished(monitor: "Monitor", reason: BaseException) -> Any:
    """Return what the run has finished, and remember that somebody stopped it."""
    assert monitor.finished is not None
    if isinstance(reason, LimitError):
        return monitor.finished(str(reason))
    note_interrupt()
    return monitor.finished("the run was interrupted: let it run longer, or ask for less")


def note_interrupt() -> None:
    """Remember that somebody stopped the run, and say that what is finished follows."""
    _interrupts.append("Ctrl-C")
    print("adtc: stopped; this is what was finished.", file=sys.stderr, flush=True)


def count_from_start() -> None:
    """Let time limits begin when the process did: starting Python takes time, too."""
    with suppress(OSError, ValueError, AttributeError, IndexError):
        with open("/proc/self/stat", encoding="ascii") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        _begun[:] = [monotonic() - max(0.0, age)]


def begun() -> float:
    """Return when the program was started, or now if it is part of another."""
    return _begun[0] if _begun else monotonic()


def interrupted() -> bool:
    """Tell whether somebody stopped the run whose answer is about to be printed."""
    return bool(_interrupts)


def _leave(ended: threading.Event, grace: float = _GRACE) -> None:
    """Give a cancelled run a moment to end; one that takes longer is left to itself."""
    if not ended.wait(grace):
        _left.append(ended)


def end_process(code: int) -> None:
    """Exit at once if a cancelled run is still at work: it would be waited for."""
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    if not all(ended.is_set() for ended in _left):
        _exit_now(code)
    sys.exit(code)


def _flush(stream: "TextIO | None") -> None:
    """Write what is left; where that fails, let it go, or Python would complain at its end."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@dataclass(slots=True)
class Lines:
    """Progress for pipes and log files: one line a minute, none for a short run."""

    stage: str = WORKING
    done: int = 0
    total: int = 0
    begun: float = field(default_factory=monotonic)  # the run
    entered: float = field(default_factory=monotonic)  # the stage
    written: float = field(default_factory=monotonic)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far a stage is."""
        if stage != self.stage:
            self.stage, self.entered = stage, monotonic()
        self.done, self.total = done, total

    def tick(self) -> None:
        """Write a line if a minute has passed since the last one."""
        now = monotonic()
        if now - self.written >= _MINUTE:
            self.written = now
            print(f"adtc: {self.line(now)}", file=sys.stderr, flush=True)

    def line(self, now: float) -> str:
        """Write the stage, its fraction and an estimate of the time left.

        Examples
        --------
        >>> Lines("counting", 30, 120, begun=0.0, entered=60.0).line(120.0)
        'counting, 25 %, about 3:00 left; 2:00 so far'
        """
        stage, so_far = self.stage, _clock(now - self.begun)
        if not 0 < self.done < self.total:
            return f"{stage}; {so_far} so far"
        left = (now - self.entered) * (self.total - self.done) / self.done
        share = 100 * self.done // self.total
        return f"{stage}, {share} %, about {_clock(left)} left; {so_far} so far"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _bar() -> Iterator["Progress"]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import TimeRemainingColumn as Estimate

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),  # the fraction; nothing where there is none
        TimeElapsedColumn(),
        Estimate(),
        TextColumn("{task.fields[label]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, current = bar.add_task(WORKING, total=None, label=""), WORKING

        def show(stage: str, total: int | None) -> None:
            nonlocal task, current
            bar.remove_task(task)
            task, current = bar.add_task(stage, total=total, label="left" if total else ""), stage

        def report(stage: str, done: int, total: int) -> None:
            if stage != current:
                show(stage, total)
            bar.update(task, completed=done)
            if done >= total:
                show(WORKING, None)

        yield report


@contextmanager
def progress_shown() -> Iterator["Progress | None"]:
    """Show progress on stderr: a bar on a terminal, else a line a minute."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    with _bar() if terminal else nullcontext(Lines()) as report:
        yield report
