"""Coarse axes: fewer cells, and for every cell bounds that are proved.

On a coarse axis of width w a leaf counts ⌊x / w⌋ instead of x. A tree of L leaves with the index s
then has its value between s·w and s·w + L·(w − 1). Axes that a budget needs stay as they are, and
so does the number of leaves; keys are no longer linear in rows, so nothing may subtract them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import Affine
from adtc.data import Data
from adtc.engine import circuit as circuits
from adtc.engine.exact.columns import Column, Ratios, combine
from adtc.engine.exact.limbs import Limbs
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Axis, AxisColumns, Plan, make_plan
from adtc.engine.plan.forms import Form, solve
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import Question
from adtc.engine.switches import Switches
from adtc.errors import LimitError

_KEY_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class CoarsePlan:
    """A plan whose axes count in steps.

    Parameters
    ----------
    widths
        Per axis of the plan; 1 where it is exact.
    digits
        The axes of the packed index: steps instead of values.
    size
        Which axis is the number of leaves; None if none is.
    """

    plan: Plan
    widths: tuple[int, ...]
    digits: tuple[Axis, ...]
    size: int | None


@dataclass(frozen=True, slots=True)
class CoarseCells:
    """The root's cells, and what their trees measure at least and at most."""

    coarse: CoarsePlan
    circuit: circuits.Circuit
    keys: npt.NDArray[np.int64]
    values: Limbs

    def axis_ranges(self) -> list[tuple[Column, Column]]:
        """Return per axis the least and the largest value that trees of each cell may have."""
        steps = list(AxisColumns(self.coarse.digits, self.keys).values())
        size = self.coarse.size
        leaves = self.coarse.plan.most_leaves if size is None else steps[size]
        found = []
        for axis, width, step in zip(self.coarse.plan.axes, self.coarse.widths, steps, strict=True):
            low, high = step * width, step * width + leaves * (width - 1)
            # no tree leaves the range of its axis
            found.append((np.maximum(low, axis.low), np.minimum(high, axis.low + axis.radix - 1)))
        return found

    def form_range(
        self, form: Affine, ranges: Sequence[tuple[Column, Column]]
    ) -> tuple[Ratios, Ratios]:
        """Bound an affine form in every cell."""
        coefficients, constant = self.coarse.plan.reader.over(form, self.coarse.plan.basis)
        return combine_ends(coefficients, constant, ranges, len(self.keys))


def combine_ends(
    coefficients: Sequence[Fraction],
    constant: Fraction,
    ranges: Sequence[tuple[Column, Column]],
    rows: int,
) -> tuple[Ratios, Ratios]:
    """Bound a linear combination of columns that are known between two ends."""
    ends = [
        [pair[(c > 0) == upper] for c, pair in zip(coefficients, ranges, strict=True)]
        for upper in (False, True)
    ]
    # a positive coefficient takes the low end for the low bound
    low = combine(coefficients, constant, ends[0], rows)
    high = combine(coefficients, constant, ends[1], rows)
    return low, high


def coarsened(question: Question, width: Fraction | int) -> CoarsePlan:
    """Plan a question with steps of so many rows on all axes that may be coarse."""
    plan = make_plan(question)
    exact = _exact_axes(plan)
    size = next((i for i, axis in enumerate(plan.axes) if _counts_leaves(axis.form)), None)
    chosen = tuple(
        # a step is what so many rows change at most: of a gap of rates, a part of one will do
        1 if i in exact or i == size else max(1, math.floor(width * _per_row(axis.form)))
        for i, axis in enumerate(plan.axes)
    )
    digits, stride = [], 1
    for axis, step in zip(plan.axes, chosen, strict=True):
        # ⌊·⌋ of each leaf loses less than one step
        low = -(-(axis.low - plan.most_leaves * (step - 1)) // step)
        high = (axis.low + axis.radix - 1) // step
        digits.append(Axis(axis.form, low, high - low + 1, stride))
        stride *= high - low + 1
    if stride > _KEY_LIMIT or plan.wide_keys:
        raise LimitError("the coarse axes have too many possible cells: choose larger steps.")
    return CoarsePlan(plan, chosen, tuple(digits), size)


def count_coarsely(
    coarse: CoarsePlan,
    data: Data,
    monitor: Monitor,
    switches: Switches = Switches(),  # noqa: B008
) -> CoarseCells:
    """Count the trees within the budgets by coarse axes; the rest of φ is not looked at."""
    prepared = prepare(coarse.plan, data, switches, replace(monitor, client=None))
    # the multipliers may have added budgets; axes and groups are as planned
    coarse = replace(coarse, plan=prepared.plan)
    _coarsen_leaves(prepared, coarse)
    limits = [budget.limit for budget in prepared.plan.budgets]
    # keys of parts do not tell the steps
    alone = replace(monitor, checkpoint=None, client=None)
    circuit = circuits.grow(prepared, limits, alone, foresee=False)
    return CoarseCells(coarse, circuit, circuit.root.keys, circuit.root.values)


def _coarsen_leaves(prepared: Prepared, coarse: CoarsePlan) -> None:
    plan = prepared.plan
    labels, groups = plan.question.schema.labels, len(plan.groups)
    weights = [axis.form.weights for axis in plan.axes]
    prepared.leaves.coarsen(
        weights=np.array(weights, np.int64).reshape(-1, labels, groups),
        constants=np.array([axis.form.per_leaf for axis in plan.axes], np.int64),
        widths=np.array(coarse.widths, np.int64),
        strides=np.array([digit.stride for digit in coarse.digits], np.int64),
    )


def _exact_axes(plan: Plan) -> set[int]:
    """Find the axes that budgets are made of: costs must follow from keys."""
    basis = [axis.form.vector() for axis in plan.axes]
    found: set[int] = set()
    for budget in plan.budgets:
        coefficients = solve(basis, budget.form.vector())
        assert coefficients is not None  # the axes span the budgets
        found.update(i for i, c in enumerate(coefficients) if c)
    return found


def _per_row(form: Form) -> int:
    """Return the most that one row changes a form: for a gap of rates, not 1."""
    return max((abs(weight) for label in form.weights for weight in label), default=1) or 1


def _counts_leaves(form: Form) -> bool:
    return form.per_leaf == 1 and not any(map(any, form.weights))
