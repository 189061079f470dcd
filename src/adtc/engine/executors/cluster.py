"""A run on many machines: its parts as tasks of dask.distributed, named by their content.

The table is the argument of a task, not scattered, and every other task follows from it: what a
lost worker held is computed again. Levels stay with the workers; the root's cells come back, and
what needs the whole circuit is answered where a worker has put it together. With a checkpoint the
inside pass comes here, and each part of a level once, to be kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import (
    Inside,
    InsideStage,
    Outside,
    outside_pass,
    path_costs,
    searched_forms,
)
from adtc.engine.circuit import Circuit, tensor_inputs
from adtc.engine.executors import tasks
from adtc.engine.executors.building import LevelBuilder
from adtc.engine.executors.checkpoint import Finished
from adtc.engine.executors.parts import content_key, paths_of_features, slices
from adtc.engine.executors.submitting import Future, Tasks
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.plan.forms import Form
from adtc.engine.prepare import Prepared
from adtc.engine.query import Question
from adtc.engine.tensors import Cells, Level, level_of

Array = npt.NDArray[Any]
T = TypeVar("T")
_NOTHING = Cells(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, 0)))


def visit(stage: InsideStage, features: range, monitor: Monitor) -> None:
    """Have workers visit the paths that start with some features, and fill in what they found."""
    submitted, walker = Tasks(monitor), stage.walker
    content = walker.table, walker.lattice, walker.costs

    def compute(units: list[range], finished: Finished) -> None:
        parts = dict(zip(units, _inside_parts(submitted, content, units), strict=True))

        def take(part: range, seconds: float) -> None:
            stage.put(part, submitted.result(parts[part], "least costs"))
            finished(part, seconds)

        submitted.finish(parts, "least costs", take)

    if monitor.checkpoint is None:
        compute(slices(stage.weights, features), lambda part, seconds: None)
    else:
        monitor.checkpoint.complete(stage, features, compute)


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
    submitted = Tasks(monitor)
    if isinstance(prepared.inside, RemoteInside):
        builder, live = _there(submitted, prepared, prepared.inside, limits)
    else:
        builder, live = _here(submitted, prepared, limits)
    base, key = builder.base, builder.key
    prepared = replace(prepared, splits=None)
    if not live[0]:
        return RemoteCircuit(prepared, monitor.client, _Held(base, [], live))
    levels = builder.levels(live)
    cells = submitted.result(levels[0], "tensors")
    scanned = int(cells.scanned[0])
    if len(levels) > 1:
        below = submitted.submit(key, tasks.scanned_below, levels[1])
        scanned += submitted.result(below, "tensors")
    submitted.cancel(kept=[base, *levels])  # parts that were put together are not needed again
    held = _Held(base, levels, live, Cells(cells.keys, cells.values, cells.costs), scanned)
    return RemoteCircuit(prepared, monitor.client, held)


def _there(
    submitted: Tasks, prepared: Prepared, inside: RemoteInside, limits: Array
) -> tuple[LevelBuilder, tuple[int, ...]]:
    """Hand the budgets down on a worker; return also how many paths of each level are live."""
    features, first = prepared.features.multiplicity, prepared.first_tests
    labels = prepared.plan.question.schema.labels
    key = content_key(inside.key, prepared.leaves, features, labels, limits, first)
    base = submitted.submit(
        key, tasks.base, submitted.table(prepared.table), tasks.ship(prepared.lattice),
        tasks.ship(prepared.leaves), features, labels, inside.future, limits, first,
    )  # fmt: skip
    live = submitted.result(submitted.submit(key, tasks.live_paths, base), "budgets")
    return LevelBuilder(submitted, prepared.lattice, base, key), live


def _here(
    submitted: Tasks, prepared: Prepared, limits: Array
) -> tuple[LevelBuilder, tuple[int, ...]]:
    """Do the same on this machine, which has the inside pass."""
    outside = outside_pass(
        prepared.lattice, prepared.inside, limits, submitted.monitor, first=prepared.first_tests
    )
    inputs = tensor_inputs(prepared, outside, limits)
    base = submitted.submit(
        inputs.key, tasks.ShippedInputs, submitted.table(inputs.table), tasks.ship(inputs.lattice),
        tasks.ship(inputs.leaves), inputs.multiplicity, inputs.labels, inputs.counts,
        inputs.budgets, inputs.live, inputs.splitting, outside.live_paths,
    )  # fmt: skip
    return LevelBuilder(submitted, inputs.lattice, base, inputs.key, inputs), outside.live_paths


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
