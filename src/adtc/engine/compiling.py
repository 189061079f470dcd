"""The kernels of counting compiled ahead, side by side in processes of their own.

One after another, as the first question calls them, they would take twice as long. One process
counts trees on few rows, with kernels as plain Python, and notes which are called with which types;
others compile these, the largest first. All other kernels are compiled when they are called; so are
these where a second core or a place for the cache is missing.
"""

import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path

import numpy as np

from adtc.engine.monitor import Monitor

STAGE = "compiling kernels, once"
_COMMAND = (sys.executable, "-P", "-m", "adtc.engine.compiling")
_MOST = 2  # processes: the largest kernel takes half the time of all
_WATCH = 0.05  # seconds between looks at the monitor
_NO_MORE = (1, "")  # comes after all noted calls, which are ordered by size


def compile_kernels(monitor: Monitor) -> None:
    """Compile the kernels that count trees, unless that has been done."""
    processes, done = min(_MOST, _cores()), _done()
    if processes == 1 or done is None or done.exists():
        return
    crew = _Crew()
    with ThreadPoolExecutor(processes + 1) as threads:
        jobs = [threads.submit(crew.note, processes)]
        jobs += [threads.submit(crew.compile) for _ in range(processes)]
        try:
            while not all(job.done() for job in jobs):
                time.sleep(_WATCH)
                monitor.check()
                monitor.report(STAGE, crew.compiled, max(crew.noted, crew.compiled + 1))
        finally:
            crew.stop()
    with suppress(OSError):
        done.touch()


class _Crew:
    """The processes at work, and what they tell."""

    def __init__(self) -> None:
        self.calls: queue.PriorityQueue[tuple[int, str]] = queue.PriorityQueue()
        self.noted = self.compiled = 0  # in units of code
        self.stopped = False
        self.processes: list[subprocess.Popen[str]] = []

    def note(self, readers: int) -> None:
        """Read which kernels are called, from a process in which they are not compiled."""
        with self._process("note", NUMBA_DISABLE_JIT="1") as asking:
            for line in asking.stdout or ():
                size = int(line.split()[0])
                self.noted += size
                self.calls.put((-size, line))
        for _ in range(readers):
            self.calls.put(_NO_MORE)

    def compile(self) -> None:
        """Hand one call after another to a process that compiles."""
        with self._process("compile") as compiler:
            to, answers = compiler.stdin, compiler.stdout
            while (call := self.calls.get()) != _NO_MORE and to and answers and not self.stopped:
                print(call[1], end="", file=to, flush=True)
                if not answers.readline():
                    break  # it has died; others do its work, or whoever calls the kernels
                self.compiled -= call[0]

    def stop(self) -> None:
        """End all processes, whatever they are doing."""
        self.stopped = True
        for process in self.processes:
            process.kill()

    @contextmanager
    def _process(self, task: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Start a process, and end it; where none can be started, nothing is done."""
        with suppress(OSError):
            process = subprocess.Popen(
                [*_COMMAND, task],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ | environment,
                start_new_session=True,  # Ctrl-C is for us, who then end them
            )
            self.processes.append(process)
            try:
                yield process
            finally:
                process.kill()
                process.communicate()


@cache
def _done() -> Path | None:
    """Return the file that is there once kernels are compiled; None where nothing can be kept."""
    from adtc.engine.kernels import bits, jit

    place = jit.cache_folder(bits.count_pairs)
    return place and place / f"compiled-{jit.digest_of_kernels()[:16]}"


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _note() -> None:
    """Count trees, and print every call of a kernel."""
    from adtc.engine.kernels.noting import calls_noted

    with calls_noted(partial(print, flush=True)):
        count_on_few_rows()


def _compile() -> None:
    """Compile whatever is called for on standard input."""
    from adtc.engine.kernels.noting import compile_noted

    for line in sys.stdin:
        with suppress(Exception):  # whoever calls this kernel is told
            compile_noted(line)
        print(flush=True)


def count_on_few_rows() -> None:
    """Count all trees, and those under a constraint; the kernels do not depend on the rows."""
    from adtc.data import Data
    from adtc.engine.answers import count
    from adtc.engine.query import Space

    X = np.random.default_rng(0).integers(0, 2, (12, 4))
    data = Data.from_arrays(X, X[:, 0] ^ X[:, 1], z=np.arange(len(X)) % 2)
    for where in (None, "acc >= 0.7"):
        count(data, Space(max_depth=3), where)


if __name__ == "__main__":
    {"note": _note, "compile": _compile}[sys.argv[1]]()
