"""Kernels compiled ahead, side by side in processes of their own.

One after another, as the first question calls them, they would take twice as long. One process asks
questions about few rows, with kernels as plain Python, and notes which are called with which types;
others translate the parts, each when what it calls is there, and then assemble the kernels. All
other kernels are compiled when they are called; so are these where a second core or a place for the
cache is missing.
"""

import gc
import os
import queue
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adtc.engine.kernels.noting import Call, calls_noted, get_ready
from adtc.engine.monitor import Monitor

if TYPE_CHECKING:
    from adtc.data import Data

STAGE = "compiling kernels, once"
DEPTHS = range(2, 6)  # lesser depths call the same kernels as the first, greater as the last
_COMMAND = (sys.executable, "-P", "-m", "adtc.engine.compiling")
_MOST = 4  # processes: with more, the largest kernel and its parts would take longest
_WATCH = 0.05  # seconds between looks at the monitor


def compile_to_count(kind: Any, monitor: Monitor) -> None:
    """Compile the kernels that count trees, of whatever depth, unless that has been done.

    ``kind`` is the type of the numbers that rows are counted in, `np.int32` or `np.int64`.
    """
    _compile_ahead("count", kind, monitor)


def compile_to_optimize(kind: Any, monitor: Monitor) -> None:
    """Compile the kernels that find best trees, where numbers of 16 bits do not pay."""
    _compile_ahead("optimize", kind, monitor)


def compile_to_come_near(kind: Any, monitor: Monitor) -> None:
    """Compile the kernels that tell how near trees come to a condition, also on one core."""
    if not _compile_ahead("come-near", kind, monitor):
        come_near(few_rows(np.dtype(kind).name))


def _compile_ahead(asked: str, kind: Any, monitor: Monitor) -> bool:
    """Compile the kernels that questions of `_QUESTIONS` call, unless that has been done.

    Returns whether they are there: False where they can only be compiled when they are called.
    """
    task = asked, np.dtype(kind).name
    done = _done(*task)
    if done is not None and done.exists():
        return True
    if done is None or (processes := min(_MOST, _cores())) == 1:
        return False
    crew = _Crew(*task)
    with ThreadPoolExecutor(processes + 1) as threads:
        jobs = [threads.submit(crew.note)]
        jobs += [threads.submit(crew.compile) for _ in range(processes)]
        try:
            while not all(job.done() for job in jobs):
                time.sleep(_WATCH)
                monitor.check()
                monitor.report(STAGE, *crew.progress())
        finally:
            crew.stop()
    with suppress(OSError):
        done.touch()
    return True


class _Order:
    """Hands out calls: all parts, first those on which most work hangs, then the largest wholes.

    A whole takes long: were it taken while parts are left, only few could be at work on those, and
    another large whole, which waits for them, would come last and alone.
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._over: list[Call] = []  # compiled before all calls were known
        self._hanging: dict[Call, int] = {}
        self._ready: queue.PriorityQueue[tuple[bool, int, Call | None]] = queue.PriorityQueue()
        self._lock = threading.Lock()
        self._sorter: TopologicalSorter[Call] | None = None

    def add(self, call: Call) -> None:
        """Take in a call; one without parts can be compiled at once."""
        with self._lock:
            self._calls.append(call)
            if not call.below:
                self._ready.put((call.whole, 0, call))

    def complete(self) -> None:
        """Take note that no more calls will come in."""
        parts = defaultdict(set)
        for call in self._calls:
            if not call.whole:
                parts[call.kernel].add(call)
        after = {call: set().union(*(parts[name] for name in call.below)) for call in self._calls}
        self._hanging = dict.fromkeys(after, 0)
        for call in reversed([*TopologicalSorter(after).static_order()]):
            self._hanging[call] += call.work
            for part in after[call]:
                self._hanging[part] = max(self._hanging[part], self._hanging[call])
        with self._lock:
            self._sorter = TopologicalSorter(after)
            self._sorter.prepare()
            self._hand_out()
            self._sorter.done(*self._over)
            self._hand_out()

    def take(self) -> Call | None:
        """Wait for a call that can be compiled; None if no more will come."""
        *_, call = self._ready.get()
        if call is None:
            self.end()  # for the next who asks
        return call

    def done(self, call: Call) -> None:
        """Take note that a call is compiled, or given up."""
        with self._lock:
            if self._sorter is None:
                self._over.append(call)
            else:
                self._sorter.done(call)
                self._hand_out()

    def _hand_out(self) -> None:
        """Make ready what can be compiled by now, except for what was so when it came in."""
        assert self._sorter is not None
        for call in self._sorter.get_ready():
            if call.below:
                self._ready.put((call.whole, -self._hanging[call], call))
        if not self._sorter.is_active():
            self.end()

    def end(self) -> None:
        """Hand out nothing more, once what is ready has been taken."""
        self._ready.put((True, 1, None))


class _Crew:
    """The processes at work, and what they tell."""

    def __init__(self, *task: str) -> None:
        self.task = task
        self.order = _Order()
        self.noted = self.compiled = 0  # in units of code
        self.all_noted = False
        self.stopped = False
        self.processes: list[subprocess.Popen[str]] = []

    def note(self) -> None:
        """Read which kernels are called, from a process in which they are not compiled."""
        try:
            with self._process("note", *self.task, NUMBA_DISABLE_JIT="1") as asking:
                for line in asking.stdout or ():
                    call = Call.of_line(line)
                    self.noted += call.work
                    self.order.add(call)
        finally:  # others wait for it
            self.all_noted = True
            self.order.complete()

    def compile(self) -> None:
        """Hand one call after another to a process that compiles."""
        with self._process("compile") as compiler:
            to, answers = compiler.stdin, compiler.stdout
            while (call := self.order.take()) and to and answers and not self.stopped:
                print(call.as_line(), file=to, flush=True)
                answered = answers.readline()
                self.compiled += call.work
                self.order.done(call)
                if not answered:
                    break  # it has died; others do its work, or whoever calls the kernels

    def progress(self) -> tuple[int, int]:
        """Tell how much is done, and of how much: nothing, until it is known of how much."""
        return (self.compiled, max(self.noted, self.compiled + 1)) if self.all_noted else (0, 1)

    def stop(self) -> None:
        """End all processes, whatever they are doing."""
        self.stopped = True
        for process in self.processes:
            process.kill()
        self.order.end()

    @contextmanager
    def _process(self, *task: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Start a process, and end it."""
        process = subprocess.Popen(
            [*_COMMAND, *task],
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
def _done(asked: str, kind: str) -> Path | None:
    """Return the file that is there once kernels are compiled; None where nothing can be kept."""
    from adtc.engine.kernels import bits, jit

    place = jit.cache_folder(bits.count_pairs)
    return place and place / f"compiled-{jit.digest_of_kernels()[:16]}-{asked}-{kind}"


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _note(asked: str, kind: str) -> None:
    """Ask questions about few rows, and print every call of a kernel."""
    with calls_noted(lambda call: print(call.as_line(), flush=True)):
        for question in _QUESTIONS[asked]:
            question(few_rows(kind))


def _compile() -> None:
    """Compile whatever is called for on standard input."""
    gc.disable()  # hardly anything would be found, and the process ends soon
    get_ready()  # while calls are being noted
    for line in sys.stdin:
        with suppress(Exception):  # whoever calls this kernel is told
            Call.of_line(line).compile()
        print(flush=True)


def few_rows(kind: str) -> "Data":
    """Return a small table that calls kernels as large ones do: its rows weigh much."""
    from adtc.data import Data

    X = np.random.default_rng(0).integers(0, 2, (12, 4))
    weights = np.full(len(X), {"int32": 2**13, "int64": 2**25}[kind])
    return Data.from_arrays(X, X[:, 0] ^ X[:, 1], z=np.arange(len(X)) % 2, weights=weights)


def count(data: "Data") -> None:
    """Count all trees, those under a constraint, and so few that most paths end in a leaf."""
    from adtc.engine import answers
    from adtc.engine.query import Space

    for depth in DEPTHS:
        for where in (None, "acc >= 0.7", f"acc >= 0.6 and size < {depth}"):
            answers.count(data, Space(max_depth=depth), where)


def count_as_if_many(data: "Data") -> None:
    """Count with kernels, as plain Python, that take few rows for many; and with other labels."""
    from adtc.engine import answers
    from adtc.engine.kernels import circuit, jit, parted, sorting, stumps
    from adtc.engine.query import Space

    assert not jit.JIT_ENABLED, "a limit that is lowered here would be compiled"
    limits = (circuit, "PLACES SMALL"), (parted, "BIN_BITS"), (sorting, "FEW"), (stumps, "PLACES")
    for module, names in limits:
        for name in names.split():
            assert name in vars(module)
            setattr(module, name, np.int64(2))
    minsup = 2 * int(data.weights[0])
    space = Space(max_depth=4, minsup=minsup, labels="majority", trivial_splits=False)
    answers.count(data, space, "acc >= 0.6")


def optimize(data: "Data") -> None:
    """Find best trees of every depth."""
    from adtc.engine import answers
    from adtc.engine.query import Space

    for depth in DEPTHS:
        answers.optimize(data, Space(max_depth=depth))


def come_near(data: "Data") -> None:
    """Find best trees with and without a constraint, and tell that tensors are too large."""
    from adtc.engine import answers
    from adtc.engine.query import Space
    from adtc.errors import TooLargeError

    spaces = Space(max_depth=2), Space(max_depth=3)
    wheres = None, "size <= 3", "acc >= 0.7 and dp <= 0.5"
    for space, where in product(spaces, wheres):
        answers.optimize(data, space, maximize="acc", where=where)
    for space in spaces:
        with suppress(TooLargeError):  # what is asked before a large run
            limited = Monitor(memory_limit=100)
            answers.model_tensor(data, space, ["size", "acc", "dp"], monitor=limited)


_QUESTIONS: dict[str, tuple[Callable[["Data"], None], ...]] = {
    "count": (count, count_as_if_many),
    "optimize": (optimize,),
    "come-near": (come_near,),
}


if __name__ == "__main__":
    if sys.argv[1] == "note":
        _note(*sys.argv[2:])
    else:
        _compile()
