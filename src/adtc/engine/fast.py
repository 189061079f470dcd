"""The fast engine: plan, circuit, and the root's tensor read by the question's metrics."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import affine
from adtc.algebra.formula import Term
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.engine import circuit as circuits
from adtc.engine.columns import Column, evaluate, fractions, least_at, satisfied
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Plan, make_plan
from adtc.engine.query import Question
from adtc.engine.scoring import plain
from adtc.engine.switches import Switches
from adtc.engine.walk import Walk
from adtc.engine.wide import counts_of, total_of


@dataclass(frozen=True, slots=True)
class Result:
    """The good cells of a run: packed keys and numbers of trees."""

    plan: Plan
    circuit: circuits.Circuit
    keys: npt.NDArray[np.int64]
    values: npt.NDArray[np.uint64]

    @property
    def total(self) -> int:
        """Count all good trees."""
        return total_of(self.values)

    def tensor(self) -> dict[tuple[Any, ...], int]:
        """Return the number of good trees by the values of the requested metrics."""
        lookup = self.plan.lookup(self.keys)
        columns = [fractions(evaluate(term, lookup)) for _, term in self.plan.question.metrics]
        tensor: dict[tuple[Any, ...], int] = {}
        for at, count in enumerate(counts_of(self.values)):
            index = tuple(plain(column[at]) for column in columns)
            tensor[index] = tensor.get(index, 0) + count
        return tensor

    def axes(self) -> dict[str, Column]:
        """Return the values of the axes, cell by cell."""
        return dict(zip(self.plan.axis_names, self.plan.digits(self.keys), strict=True))

    def terms(self) -> dict[str, Term]:
        """Return the requested metrics as terms over the axes."""
        return {name: self.plan.over_axes(term) for name, term in self.plan.question.metrics}

    def tree(self, at: int) -> Tree:
        """Return the first tree of a cell."""
        return Walk(self.circuit).unrank(int(self.keys[at]), 0)

    def best(self, sign: int) -> tuple[Fraction | int, Tree] | None:
        """Return the least (sign 1) or largest (−1) value of the first metric, and a tree with it.

        None if there is no good tree on which the metric is defined.
        """
        term = self.plan.question.metrics[0][1]
        at = least_at(evaluate(term, self.plan.lookup(self.keys)), sign)
        if at is None:
            return None
        (score,) = fractions(evaluate(term, self.plan.lookup(self.keys[at : at + 1])))
        return plain(score), self.tree(at)


def run(
    question: Question,
    data: Data,
    *,
    switches: Switches = Switches(),  # noqa: B008  # frozen
    monitor: Monitor | None = None,
) -> Result:
    """Count the good trees by the question's axes."""
    assert question.semiring is COUNT
    monitor = monitor or Monitor()
    plan = make_plan(question, push=switches.push)
    ground = circuits.prepare(plan, data, switches, monitor)
    limits = [budget.limit for budget in ground.plan.budgets]
    return _good_cells(circuits.grow(ground, limits, switches, monitor))


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
    if form is None or not form.coefficients:
        return run(question, data, switches=switches, monitor=monitor)
    monitor = monitor or Monitor()
    plan = make_plan(question, push=switches.push, objective=form.scaled(Fraction(sign)))
    if not any(budget.source == "objective" for budget in plan.budgets):
        return run(question, data, switches=switches, monitor=monitor)
    ground = circuits.prepare(plan, data, switches, monitor)
    limits = [budget.limit for budget in ground.plan.budgets]
    at = next(i for i, b in enumerate(ground.plan.budgets) if b.source == "objective")
    highest, least = limits[at], ground.inside.root[at]
    step = 0
    while True:
        limits[at] = min(highest, least + step)
        result = _good_cells(circuits.grow(ground, limits, switches, monitor))
        if len(result.keys) or limits[at] == highest:
            return result
        step = max(1, (highest - least) // 1000, 2 * step)


def _good_cells(circuit: circuits.Circuit) -> Result:
    plan, root = circuit.ground.plan, circuit.root
    good = satisfied(plan.question.constraint, plan.lookup(root.keys), len(root.keys))
    return Result(plan, circuit, root.keys[good], root.values[good])
