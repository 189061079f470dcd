"""The fast engine: plan, circuit, and the root's tensor read by the question's metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.affine import affine
from adtc.algebra.formula import Formula, Term, Truth
from adtc.algebra.metrics import DEPTH
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Tree, depth
from adtc.algebra.uniform import uniform_below
from adtc.data import Data
from adtc.engine import circuit as circuits
from adtc.engine.columns import Column, evaluate, least_at, satisfied
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import at_depth, by_depth
from adtc.engine.plan import AxisColumns, Budget, Plan, make_plan
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import Question
from adtc.engine.ranks import Ranks
from adtc.engine.scoring import plain
from adtc.engine.switches import Switches
from adtc.engine.values import distinct_values, side_by_side
from adtc.engine.wide import Limbs, counts_of, joined, minus, total_of

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
        key = int(self.keys[at])
        if self.depths is None:
            return Ranks(self.circuit).unrank(key, 0)
        # the circuit also has the shallower trees of the cell: draw until one is deep enough
        wanted = int(self.depths[at])
        ranks, source = Ranks(self.layers[wanted]), np.random.default_rng(0)
        count = ranks.count(key)
        while depth(tree := ranks.unrank(key, uniform_below(source, count))) != wanted:
            pass
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
        return plain(Fraction(int(values.top[at]), int(values.bottom[at]))), self.tree(at)


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
    plan = make_plan(question, push=switches.push)
    ground = prepare(plan, data, switches, monitor, known=known)
    limits = [budget.limit for budget in ground.plan.budgets]
    return good_cells(circuits.grow(ground, limits, monitor))


def optimum(
    question: Question,
    data: Data,
    sign: int,
    *,
    switches: Switches = Switches(),  # noqa: B008  # frozen
    monitor: Monitor | None = None,
) -> Result:
    """Make a result that holds the least (sign 1) or largest (−1) value of the first metric.

    For a metric that is a sum over leaves only trees near the best are looked at: the limit starts
    at the least value of all trees, good or not, and widens until a good tree is within it.
    """
    form = affine(question.metrics[0][1])
    if form is None or not form.coefficients or by_depth(question):
        return run(question, data, switches=switches, monitor=monitor)
    monitor = monitor or Monitor()
    plan = make_plan(question, push=switches.push, objective=form.scaled(Fraction(sign)))
    if not any(budget.source == "objective" for budget in plan.budgets):
        return run(question, data, switches=switches, monitor=monitor)
    ground = prepare(plan, data, switches, monitor)
    budgets, roots = ground.plan.budgets, ground.inside.root
    highest = next(b.limit for b in budgets if b.source == "objective")
    least, step = _lower_bound(budgets, roots), 0
    while True:
        limit = min(highest, least + step)
        limits = [budget.limit_at(limit) for budget in budgets]
        result = good_cells(circuits.grow(ground, limits, monitor))
        if len(result.keys) or limit == highest:
            return result
        step = max(1, (highest - least) // 1000, 2 * step)


def _lower_bound(budgets: Sequence[Budget], roots: Sequence[int]) -> int:
    """Bound the objective of every good tree from below.

    q · objective + p · other ≥ its least value, and the other is within its own limit; the budget
    of the objective alone bounds it, too.
    """
    bounds = []
    for budget, least in zip(budgets, roots, strict=True):
        if budget.source == "objective":
            bounds.append(least)
        elif budget.mixed and budget.mixed[0][1].source == "objective":
            (q, _), (p, other) = budget.mixed
            bounds.append(-((p * other.limit - least) // q))
    return max(bounds)


def _depth_by_depth(question: Question, data: Data, switches: Switches, monitor: Monitor) -> Result:
    """Count the good trees of every depth: those up to it, less those up to the one before.

    For each depth it is a number in the constraint, which is then pushed as usual.
    """
    made: dict[tuple[Formula, int], circuits.Circuit] = {}

    def circuit(pushed: Formula, depth: int) -> circuits.Circuit:
        if (pushed, depth) not in made:
            plan = make_plan(question, push=switches.push, pushed=pushed)
            ground = prepare(plan, data, switches, monitor, depth=depth)
            limits = [budget.limit for budget in ground.plan.budgets]
            made[pushed, depth] = circuits.grow(ground, limits, monitor)
        return made[pushed, depth]

    found: list[Result] = []
    for deepest in range(question.space.max_depth + 1):
        pushed = at_depth(question, deepest).constraint
        full = circuit(pushed, deepest)
        keys, values = full.root.keys, full.root.values
        if deepest:
            values = _less(keys, values, circuit(pushed, deepest - 1).root)
        depths = np.full(len(keys), deepest, np.int64)
        lookup = full.ground.plan.lookup(keys, depths)
        good = satisfied(question.constraint, lookup, len(keys)) & values.any(axis=1)
        found.append(Result(full.ground.plan, full, keys[good], values[good], depths[good]))
    return Result(
        found[-1].plan,
        found[-1].circuit,
        np.concatenate([part.keys for part in found]),
        joined([part.values for part in found]),
        np.concatenate([part.depths for part in found if part.depths is not None]),
        tuple(part.circuit for part in found),
    )


def _less(keys: npt.NDArray[np.int64], values: Limbs, other: circuits.Cells) -> Limbs:
    """Subtract the numbers of the cells that another tensor also has."""
    place = np.argsort(keys)
    found = place[np.searchsorted(keys, other.keys, sorter=place)]
    taken = np.zeros((len(keys), other.values.shape[1]), np.uint64)
    taken[found] = other.values
    return minus(values, taken)


def good_cells(circuit: circuits.Circuit) -> Result:
    """Keep the root's cells that satisfy the whole constraint, also what was not pushed down."""
    plan, root = circuit.ground.plan, circuit.root
    if plan.residual == Truth(True):
        return Result(plan, circuit, root.keys, root.values)
    # part by part: columns of all cells would take many times the memory of the tensor
    parts = [
        satisfied(plan.residual, plan.lookup(keys), len(keys))
        for at in range(0, len(root.keys), _PART)
        for keys in [root.keys[at : at + _PART]]
    ]
    good = np.concatenate(parts) if parts else np.zeros(0, bool)
    return Result(plan, circuit, *_core.marked_cells(root.keys, root.values, good))
