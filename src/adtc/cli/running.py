"""A run as a person at a terminal meets it: progress with a time estimate, limits, Ctrl-C.

A kernel cannot be interrupted, so the engine works in a second thread and the first one watches:
Ctrl-C and the time limit take effect at once, whatever the engine is doing.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from adtc.engine.monitor import Monitor, Progress

T = TypeVar("T")
WORKING = "working"
_WATCH = 0.1  # seconds between looks at the clock
_GRACE = 0.5  # seconds in which a cancelled run may end by itself
_left: list[threading.Thread] = []
_exit_now = os._exit


def watched(work: Callable[[], T], monitor: "Monitor") -> T:
    """Do the work in a second thread and return what it returns, or raise what it raises."""
    results: list[T] = []
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=worker, daemon=True)
    with progress_shown() as progress:
        monitor.progress = progress
        try:
            thread.start()
            while thread.is_alive():
                thread.join(_WATCH)
                if thread.is_alive():
                    monitor.check()
        except BaseException:
            monitor.cancel()
            _leave(thread)
            raise
    if failures:
        raise failures[0]
    return results[0]


def _leave(thread: threading.Thread) -> None:
    """Give a cancelled run a moment to end; one inside a kernel is left to itself."""
    thread.join(_GRACE)
    if thread.is_alive():
        _left.append(thread)


def end_process(code: int) -> None:
    """Exit at once if a cancelled run is still inside a kernel: it would be waited for."""
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    if any(thread.is_alive() for thread in _left):
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


@contextmanager
def _bar() -> Iterator["Progress"]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Estimate

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
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
    """Show progress on stderr if that is a terminal; else nothing, and give None."""
    with _bar() if sys.stderr is not None and sys.stderr.isatty() else nullcontext() as report:
        yield report
