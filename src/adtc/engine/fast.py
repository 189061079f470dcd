"""The fast engine: plan, circuit, and the root's tensor read by the question's metrics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.formula import Formula, Term, Truth
from adtc.algebra.metrics import DEPTH
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Tree, depth
from adtc.algebra.uniform import uniform_below
from adtc.data import Data
from adtc.engine import circuit as circuits
from adtc.engine.exact.columns import Column, evaluate, least_at, satisfied
from adtc.engine.exact.limbs import Limbs, counts_of, joined, limbs_of, minus, total_of
from adtc.engine.exact.values import distinct_values, side_by_side
from adtc.engine.monitor import Monitor
from adtc.engine.plan import AxisColumns, Plan, make_plan, plan_of
from adtc.engine.plan.keys import find_keys, key_integers, key_order
from adtc.engine.plan.narrow import at_depth, by_depth
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import Question
from adtc.engine.ranks import Ranks
from adtc.engine.record import RunRecord
from adtc.engine.score import as_integer
from adtc.engine.signed import SignedBeginnings
from adtc.engine.switches import Switches
from adtc.engine.uses import MOST_VARIABLES, set_counts
from adtc.errors import TooLargeError

_PART = 2**15  # cells whose columns are evaluated at once: caches hold them


@dataclass(frozen=True, slots=True)
class Result:
    """The good cells of a run: packed keys and numbers of trees.

    Parameters
    ----------
    circuit
        All good trees; of a question about depths, those of the largest depth.
    depths, layers
        Where depths are told apart: each cell's, and the circuit of the trees up to each depth.
    """

    plan: Plan
    circuit: circuits.Circuit
    keys: npt.NDArray[np.int64]
    values: npt.NDArray[np.uint64]
    depths: npt.NDArray[np.int64] | None = None
    layers: tuple[circuits.Circuit, ...] = ()

    @property
    def total(self) -> int:
        """Count all good trees."""
        return total_of(self.values)

    def tensor(self) -> dict[tuple[Any, ...], int]:
        """Return the number of good trees by the values of the requested metrics."""
        indices, counts = self.indices(), counts_of(self.values)
        tensor = dict(zip(indices, counts, strict=True))
        if len(tensor) < len(counts):  # cells that the metrics do not tell apart
            tensor = dict.fromkeys(tensor, 0)
            for index, count in zip(indices, counts, strict=True):
                tensor[index] += count
        return tensor

    def indices(self) -> list[tuple[Any, ...]]:
        """Return the values of the requested metrics, cell by cell."""
        lookup = self.plan.lookup(self.keys, self.depths)
        terms = (term for _, term in self.plan.question.metrics)
        columns = [distinct_values(evaluate(term, lookup)) for term in terms]
        return side_by_side(columns, len(self.keys))

    def axes(self) -> Mapping[str, Column]:
        """Return the values of the axes, cell by cell."""
        axes = AxisColumns(self.plan.axes, self.keys)
        return axes if self.depths is None else {**axes, DEPTH.name: self.depths}

    def terms(self) -> dict[str, Term]:
        """Return the requested metrics as terms over the axes."""
        return {name: self.plan.over_axes(term) for name, term in self.plan.question.metrics}

    def tree(self, at: int) -> Tree:
        """Return a tree of a cell, always the same."""
        (key,) = key_integers(self.keys[at : at + 1])
        allowed = self.plan.question.allowed
        if self.depths is None:
            if not allowed.selective:
                return Ranks(self.circuit).unrank(key, 0)
            return SignedBeginnings.of(self.circuit, self.keys[at : at + 1]).nth(None, 0)
        # the circuit has other trees of the cell, too: draw until one is deep enough
        wanted, source = int(self.depths[at]), np.random.default_rng(0)
        find: Callable[[int], Tree]
        if allowed.selective:
            cell = SignedBeginnings.of(self.layers[wanted], self.keys[at : at + 1])
            count, find = cell.count(None), partial(cell.nth, None)
        else:
            ranks = Ranks(self.layers[wanted])
            count, find = ranks.count(key), partial(ranks.unrank, key)
        while True:
            tree = find(uniform_below(source, count))
            if depth(tree) == wanted:
                return tree

    def best(self, sign: int) -> tuple[Fraction | int, Tree] | None:
        """Return the least (sign 1) or largest (−1) value of the first metric, and a tree with it.

        None if there is no good tree on which the metric is defined.
        """
        term = self.plan.question.metrics[0][1]
        values = evaluate(term, self.plan.lookup(self.keys, self.depths))
        at = least_at(values, sign)
        if at is None:
            return None
        return as_integer(Fraction(int(values.top[at]), int(values.bottom[at]))), self.tree(at)


def run(
    question: Question,
    data: Data,
    *,
    switches: Switches = Switches(),  # noqa: B008  # frozen
    monitor: Monitor | None = None,
    known: Prepared | None = None,
) -> Result:
    """Count the good trees by the question's axes; see `circuit.prepare` for ``known``."""
    assert question.semiring is COUNT
    monitor = monitor or Monitor()
    if by_depth(question):
        return _depth_by_depth(question, data, switches, monitor)
    plan = plan_of(question, data, push=switches.push)
    prepared = prepare(plan, data, switches, monitor, known=known)
    limits = [budget.limit for budget in prepared.plan.budgets]
    return good_cells(circuits.grow(prepared, limits, monitor), monitor)


def note(record: RunRecord, result: Result) -> None:
    """Write what a run did into the record."""
    record.engine, record.num_cells = "fast", len(result.keys)
    record.cell_scan = result.circuit.cell_scan
    record.details["live_subproblems"] = list(result.circuit.live_paths)
    record.details.pop("proof_of_none", None)  # of an earlier attempt, under a tighter limit
    if proof := result.circuit.proof_of_none:
        budget, least = proof
        record.details["proof_of_none"] = {
            "every good tree": budget.source,
            "so its value of": budget.form.name,
            "is at most": budget.limit,
            "but every tree has at least": least,
        }


def _depth_by_depth(question: Question, data: Data, switches: Switches, monitor: Monitor) -> Result:
    """Count the good trees of every depth: those up to it, less those up to the one before.

    For each depth it is a number in the constraint, which is then pushed as usual.
    """
    made: dict[tuple[Formula, int], circuits.Circuit] = {}

    def circuit(pushed: Formula, depth: int) -> circuits.Circuit:
        if (pushed, depth) not in made:
            plan = make_plan(question, push=switches.push, pushed=pushed)
            prepared = prepare(plan, data, switches, monitor, depth=depth)
            limits = [budget.limit for budget in prepared.plan.budgets]
            made[pushed, depth] = circuits.grow(prepared, limits, monitor)
        return made[pushed, depth]

    def counted(of: circuits.Circuit) -> Limbs:
        if not question.allowed.selective:
            return of.root.values
        return admitted_counts(of, np.ones(len(of.root.keys), bool), monitor)

    found: list[Result] = []
    for deepest in range(question.space.max_depth + 1):
        pushed = at_depth(question, deepest).constraint
        full = circuit(pushed, deepest)
        keys, values = full.root.keys, counted(full)
        if deepest:
            before = circuit(pushed, deepest - 1)
            values = _less(keys, values, before.root.keys, counted(before))
        depths = np.full(len(keys), deepest, np.int64)
        lookup = full.prepared.plan.lookup(keys, depths)
        good = satisfied(question.constraint, lookup, len(keys)) & values.any(axis=1)
        found.append(Result(full.prepared.plan, full, keys[good], values[good], depths[good]))
    return Result(
        found[-1].plan,
        found[-1].circuit,
        np.concatenate([part.keys for part in found]),
        joined([part.values for part in found]),
        np.concatenate([part.depths for part in found if part.depths is not None]),
        tuple(part.circuit for part in found),
    )


def _less(
    keys: npt.NDArray[np.int64], values: Limbs, others: npt.NDArray[np.int64], less: Limbs
) -> Limbs:
    """Subtract the numbers of the cells that another tensor also has."""
    place = key_order(keys)
    found = place[find_keys(keys[place], others)]
    taken = np.zeros((len(keys), less.shape[1]), np.uint64)
    taken[found] = less
    return minus(values, taken)


def good_cells(circuit: circuits.Circuit, monitor: Monitor | None = None) -> Result:
    """Keep the root's cells that satisfy the whole constraint, also what was not pushed down."""
    plan, root = circuit.prepared.plan, circuit.root
    if plan.residual == Truth(True):
        return _admitted(circuit, np.ones(len(root.keys), bool), monitor)
    # part by part: columns of all cells would take many times the memory of the tensor
    parts = [
        satisfied(plan.residual, plan.lookup(keys), len(keys))
        for at in range(0, len(root.keys), _PART)
        for keys in [root.keys[at : at + _PART]]
    ]
    good = np.concatenate(parts) if parts else np.zeros(0, bool)
    return _admitted(circuit, good, monitor)


def _admitted(
    circuit: circuits.Circuit, good: npt.NDArray[np.bool_], monitor: Monitor | None
) -> Result:
    """Keep some root cells, and in them the trees that the space admits by all their tests."""
    plan, root = circuit.prepared.plan, circuit.root
    if not plan.question.allowed.selective:
        if good.all():
            return Result(plan, circuit, root.keys, root.values)
        return Result(plan, circuit, *_core.marked_cells(root.keys, root.values, good))
    values = admitted_counts(circuit, good, monitor or Monitor())
    kept = values.any(axis=1)
    return Result(plan, circuit, root.keys[kept], values[kept])


def admitted_counts(
    circuit: circuits.Circuit, good: npt.NDArray[np.bool_], monitor: Monitor
) -> Limbs:
    """Count the trees of some root cells that a space admits by all their tests; 0 elsewhere."""
    allowed = circuit.prepared.plan.question.allowed
    class_of, members = allowed.classes()
    if len(members) > MOST_VARIABLES:
        raise TooLargeError(
            f"at most {MOST_VARIABLES:,} columns can be told apart in a tree, and the table has "
            f"{len(members):,}: leave out max_variables, or drop columns."
        )
    counts = [0] * len(good)
    places = np.cumsum(good) - 1
    chosen = np.flatnonzero(good).tolist()
    groups = np.where(good, places, -1)
    for group, mask, n in set_counts(circuit, class_of, groups, len(chosen), monitor):
        if allowed.admits_classes(mask, members):
            counts[chosen[group]] += n
    return limbs_of(counts)
