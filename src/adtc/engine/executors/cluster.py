"""A run on many machines: its parts as tasks of dask.distributed, named by their content.

The table is the argument of a task, not scattered, and every other task follows from it: what a
lost worker held is computed again. Levels stay with the workers; the root's cells come back, and
what needs the whole circuit is answered where a worker has put it together.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import Inside, InsideStage, Outside, path_costs, searched_forms
from adtc.engine.circuit import Circuit
from adtc.engine.executors import tasks
from adtc.engine.executors.parts import content_key, paths_of_features, slices
from adtc.engine.lattice import path_counts
from adtc.engine.levels import Cells, Level, level_of
from adtc.engine.monitor import Monitor
from adtc.engine.plan.forms import Form
from adtc.engine.prepare import Prepared
from adtc.engine.query import Question
from adtc.errors import QueryError, TooLargeError

Array = npt.NDArray[Any]
Future = Any
T = TypeVar("T")
_NOTHING = Cells(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, 0)))
_WATCH = 0.02  # seconds between looks at the tasks
_LOOK, _DEAD = 5.0, 60.0  # seconds: between looks at the workers; without any, to give up
_ROOTS = 4  # ranges of first tests for each worker's thread


@dataclass(slots=True)
class Tasks:
    """Submits tasks and waits for their results, under a monitor."""

    monitor: Monitor
    pending: list[Future] = field(default_factory=list)

    @property
    def memory(self) -> int | None:
        """Return how much memory a part may use, if that was said."""
        return self.monitor.memory_limit

    @property
    def threads(self) -> int:
        """Count what the workers can do at once."""
        threads: int = sum(self.monitor.client.nthreads().values())
        return max(1, threads)

    def submit(self, key: str, work: Callable[..., Any], *args: Any) -> Future:
        """Have something computed; a task of that key that is known already serves."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            future = self.monitor.client.submit(
                work, *args, key=f"adtc-{work.__name__}-{key}", pure=True
            )
        self.pending.append(future)
        return future

    def table(self, table: _core.Table) -> Future:
        """Have the table there."""
        return self.submit(content_key(table), tasks.table, tasks.ship(table))

    def result(self, future: Future, stage: str) -> Any:
        """Wait for a result; progress is that of all tasks submitted so far."""
        looked = alive = time.monotonic()
        with self._cancelling():
            while not future.done():
                self.monitor.check()
                time.sleep(_WATCH)
                if (now := time.monotonic()) - looked > _LOOK:
                    looked = now
                    alive = now if self.monitor.client.nthreads() else alive
                    if now - alive > _DEAD:
                        raise QueryError(
                            f"the cluster has had no workers for {_DEAD:.0f} s: start some with "
                            f"dask worker, and ask again."
                        )
                done = sum(one.done() for one in self.pending)
                self.monitor.report(stage, done, len(self.pending))
            return future.result()

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Cancel what was submitted if the run ends before; say what ended workers."""
        from distributed import KilledWorker

        try:
            yield
        except KilledWorker as error:
            self.cancel()
            raise TooLargeError(
                f"a part of the run ended each of the {error.allowed_failures + 1} workers that "
                f"tried it, most likely for want of memory: give workers more of it or fewer "
                f"threads, or ask for less with a constraint, a larger minsup or less depth."
            ) from None
        except CancelledError:
            raise QueryError(
                "the cluster that holds the parts of this answer is no longer there: ask again, "
                "with a client of one that is."
            ) from None
        except BaseException:
            self.cancel()
            raise

    def cancel(self, kept: Sequence[Future] = ()) -> None:
        """Give tasks up: what nobody wants is not begun, and forgotten where it is done."""
        keys = {future.key for future in kept}
        for future in self.pending:
            if future.key not in keys:
                future.release()


def visit(stage: InsideStage, features: range, monitor: Monitor) -> None:
    """Have workers visit the paths that start with some features, and fill in what they found."""
    submitted, walker = Tasks(monitor), stage.walker
    units = slices(stage.weights, features)
    futures = _inside_parts(submitted, (walker.table, walker.lattice, walker.costs), units)
    for part, future in zip(units, futures, strict=True):
        stage.put(part, submitted.result(future, "least costs"))


def _inside_parts(
    submitted: Tasks,
    content: tuple[_core.Table, _core.Lattice, _core.Costs],
    units: Sequence[range],
) -> list[Future]:
    table, lattice, costs = content
    key, held = content_key("inside", *content), submitted.table(table)
    paths, cost = tasks.ship(lattice), tasks.ship(costs)
    return [
        submitted.submit(
            f"{key}-{r.start}-{r.stop}", tasks.inside_part, held, paths, cost, (r.start, r.stop),
            submitted.memory,
        )
        for r in units
    ]  # fmt: skip


class RemoteInside(Inside):
    """An inside pass that workers hold; what is asked for comes here."""

    def __init__(self, future: Future, key: str, root: list[int]) -> None:
        for name, value in (("future", future), ("key", key), ("_root", root), ("_here", [])):
            object.__setattr__(self, name, value)

    future: Future
    key: str
    _root: list[int]
    _here: list[tasks.Bounds]

    @property
    def root(self) -> list[int]:
        """Return each form's least value over all trees."""
        return self._root

    @property
    def here(self) -> tasks.Bounds:
        """Fetch the arrays, once."""
        if not self._here:
            self._here.append(self.future.result())
        return self._here[0]

    @property
    def counts(self) -> Array:
        """Return the rows of every path."""
        return self.here.inside.counts

    @property
    def least(self) -> Array:
        """Return the least value of every form on every path."""
        return self.here.inside.least

    @property
    def exists(self) -> Array:
        """Tell which paths hold enough rows for a leaf."""
        return self.here.inside.exists


def inside_remotely(
    table: _core.Table,
    lattice: _core.Lattice,
    forms: tuple[Form, ...],
    group_label: Array,
    question: Question,
    *,
    monitor: Monitor,
) -> RemoteInside:
    """Have workers compute the least value of every form on every path: see `inside_pass`."""
    submitted = Tasks(monitor)
    searched = searched_forms(forms, question)
    costs = path_costs(tuple(forms[d] for d in searched), group_label, question)
    weights = paths_of_features(lattice)
    units = slices(weights, range(len(weights)))
    parts = _inside_parts(submitted, (table, lattice, costs), units)
    per_leaf = [form.per_leaf for form in forms]
    key = content_key("bounds", table, lattice, costs, per_leaf, searched)
    whole = submitted.submit(
        key, tasks.bounds, tasks.ship(lattice), tasks.ship(costs), per_leaf, searched,
        [(r.start, r.stop) for r in units], parts,
    )  # fmt: skip
    least = submitted.submit(key, tasks.least_values, whole)
    root = submitted.result(least, "least costs")
    submitted.cancel(kept=[whole])
    return RemoteInside(whole, key, root)


def grow_remotely(prepared: Prepared, limits: Array, monitor: Monitor) -> "RemoteCircuit":
    """Have workers hand the budgets down and make the tensors: see `circuit.grow`."""
    submitted, inside = Tasks(monitor), prepared.inside
    assert isinstance(inside, RemoteInside)
    features, first = prepared.features.multiplicity, prepared.first_tests
    labels = prepared.plan.question.schema.labels
    key = content_key(inside.key, prepared.leaves, features, labels, limits, first)
    table = submitted.table(prepared.table)
    base = submitted.submit(
        key, tasks.base, table, tasks.ship(prepared.lattice), tasks.ship(prepared.leaves),
        features, labels, inside.future, limits, first,
    )  # fmt: skip
    live = submitted.result(submitted.submit(key, tasks.live_paths, base), "budgets")
    if not live[0]:
        return RemoteCircuit(prepared, monitor.client, _Held(base, [], live))
    levels = _Builder(submitted, prepared.lattice, base, key).levels(live)
    cells = submitted.result(levels[0], "tensors")
    scanned = int(cells.scanned[0])
    if len(levels) > 1:
        below = submitted.submit(key, tasks.scanned_below, levels[1])
        scanned += submitted.result(below, "tensors")
    submitted.cancel(kept=[base, *levels])  # parts that were put together are not needed again
    held = _Held(base, levels, live, Cells(cells.keys, cells.values, cells.costs), scanned)
    return RemoteCircuit(prepared, monitor.client, held)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Submits the tasks of all levels, last one first."""

    submitted: Tasks
    lattice: _core.Lattice
    base: Future
    key: str

    def levels(self, live: Sequence[int]) -> list[Future]:
        """Return the levels, root first."""
        memory = self.submitted.memory
        weights = paths_of_features(self.lattice)
        pieces = [
            self._submit(tasks.last_part, r, self.base, (r.start, r.stop), memory)
            for r in slices(weights, range(len(weights)))
        ]
        if self.lattice.levels == 0:
            return pieces
        levels = [self.submitted.submit(self.key, tasks.last_joined, pieces)]
        for level in range(self.lattice.levels - 1, 0, -1):
            nodes = slices([1] * live[level], range(live[level])) or [range(0)]
            pieces = [
                self._submit(
                    tasks.upper_part, r, self.base, level, levels[0], (r.start, r.stop), memory,
                    level=level,
                )
                for r in nodes
            ]  # fmt: skip
            levels.insert(0, self.submitted.submit(
                f"{self.key}-{level}", tasks.upper_joined, self.base, level, levels[0], pieces
            ))  # fmt: skip
        return [self._root(levels[0]), *levels]

    def _root(self, below: Future) -> Future:
        """Sum over ranges of first tests, and add the sums up in a tree."""
        n, memory = self.lattice.features, self.submitted.memory
        most = _ROOTS * self.submitted.threads
        sums = [
            self._submit(tasks.root_part, r, self.base, below, (r.start, r.stop), memory)
            for r in slices([1] * n, range(n), most)
        ]
        height = 0
        while len(sums) > 1:
            pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
            sums = [
                self.submitted.submit(f"{self.key}-{most}-{height}-{at}", tasks.root_sum, pair)
                for at, pair in enumerate(pairs)
            ]
            height += 1
        return sums[0]

    def _submit(
        self, work: Callable[..., Any], units: range, *args: Any, level: int | None = None
    ) -> Future:
        name = "" if level is None else f"-{level}"
        return self.submitted.submit(f"{self.key}{name}-{units.start}-{units.stop}", work, *args)


@dataclass
class _Held:
    """The tasks that hold a circuit, and what of it is here."""

    base: Future
    futures: list[Future]  # of the levels, root first
    live: tuple[int, ...]
    root: Cells = _NOTHING
    scanned: int = 0

    @cached_property
    def outside(self) -> Outside:
        """Fetch the budgets."""
        found: Outside = self.base.result().outside
        return found

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Fetch all levels."""
        pieces = (tasks.piece_of(future.result()) for future in self.futures)
        lattice = tasks.land(self.base.result().lattice)
        return tuple(map(level_of, pieces, path_counts(lattice)))


class RemoteCircuit(Circuit):
    """A circuit whose levels workers hold.

    The root's tensor is here. Everything else comes here when it is asked for; what can be asked
    of a worker instead goes through `run`.
    """

    def __init__(self, prepared: Prepared, client: Any, held: "_Held") -> None:
        given = {"prepared": prepared, "cell_scan": held.scanned, "_client": client, "_held": held}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    _client: Any
    _held: "_Held"

    @property
    def live_paths(self) -> tuple[int, ...]:
        """Count the live paths of each level."""
        return self._held.live

    @property
    def root(self) -> Cells:
        """Return the tensor of all trees."""
        return self._held.root

    @property
    def outside(self) -> Outside:
        """Fetch the budgets."""
        return self._held.outside

    @property
    def levels(self) -> tuple[Level, ...]:
        """Fetch all levels."""
        return self._held.levels

    @property
    def remote(self) -> "RemoteCircuit":
        """Return what asks the workers."""
        return self

    def run(self, work: Callable[..., T], *args: Any, monitor: Monitor) -> T:
        """Have a worker put the circuit together, and return ``work(circuit, *args)``."""
        submitted, held = Tasks(replace(monitor, client=self._client)), self._held
        future = submitted.submit(
            uuid4().hex, tasks.asked_of, held.base, self.prepared.features, held.futures, work,
            args, submitted.memory,
        )  # fmt: skip
        answer: T = submitted.result(future, "the circuit's answer")
        return answer
