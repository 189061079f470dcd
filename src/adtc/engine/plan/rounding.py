"""Budgets in smaller numbers: a gap between rates has large coefficients, but few digits matter.

Say a good tree has f ≤ L, and g has the coefficients of s·f, rounded. On every tree g exceeds s·f
by at most the rounding of each row and leaf, so a good tree has g ≤ s·L + all that could be rounded
up. This bound is a little looser and never wrong; the final filter takes all atoms again. Costs
of 16 or 32 instead of 64 bits make the passes faster.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from adtc.engine.plan import Budget, Plan
from adtc.engine.plan.forms import SMALL, Form

_ROOM = 8  # times as large as a rounded form may a combination with it be
_TOLERANCE = Fraction(1, 2000)  # of a form's range: what rounding may loosen a limit by
_TRIED = 4096


def with_small_numbers(plan: Plan) -> Plan:
    """Round the budgets whose costs would need 64 bits, where that loosens them little."""
    budgets = tuple(
        budget if budget.source == "objective" else rounded(budget, plan.totals, plan.most_leaves)
        for budget in plan.budgets
    )
    if budgets == plan.budgets:
        return plan
    return replace(plan, budgets=budgets, residual=plan.question.constraint)


def rounded(budget: Budget, totals: tuple[int, ...], leaves: int) -> Budget:
    """Round one budget; it stays as it is if it is small, or if rounding would loosen it much."""
    form = budget.form
    if form.reach(totals) < SMALL // _ROOM:
        return budget
    largest = max(map(abs, form.vector()))
    steps = SMALL // _ROOM // (sum(totals) + 1)  # of the largest coefficient
    if steps < 1:
        return budget
    scale = Fraction(_best_steps(form, steps, totals, leaves), largest)
    small = Form(
        f"({form.name}) times {scale}, rounded",
        round(form.per_leaf * scale),
        tuple(tuple(round(w * scale) for w in row) for row in form.weights),
    )
    slack = _most_rounded_up(form, small, scale, totals, leaves)
    low, high = form.range(totals, leaves)
    if slack > _TOLERANCE * scale * (high - low):
        return budget
    limit = math.floor(scale * budget.limit + slack)
    return Budget(small, limit, budget.source)


def _most_rounded_up(
    form: Form, small: Form, scale: Fraction, totals: tuple[int, ...], leaves: int
) -> Fraction:
    """Bound how much the rounded form exceeds the scaled one on any tree."""
    by_leaf = max(Fraction(), small.per_leaf - scale * form.per_leaf)
    by_row = (
        max(b - scale * a for a, b in zip(column, small_column, strict=True))
        for column, small_column in zip(
            zip(*form.weights, strict=True), zip(*small.weights, strict=True), strict=True
        )
    )
    return by_leaf * leaves + sum(
        (n * most for n, most in zip(totals, by_row, strict=True)), Fraction()
    )


def _best_steps(form: Form, steps: int, totals: tuple[int, ...], leaves: int) -> int:
    """Choose in how many steps the largest coefficient is counted: those that round others least.

    Floats may choose; what rounding costs is computed exactly afterwards.
    """
    tried = np.arange(max(1, steps - _TRIED + 1), steps + 1)
    vector = np.array(form.vector(), np.float64) / max(map(abs, form.vector()))
    weights = np.array([leaves, *totals * len(form.weights)], np.float64)
    off = np.abs(np.multiply.outer(tried, vector) - np.rint(np.multiply.outer(tried, vector)))
    return int(tried[np.argmin(off @ weights / tried)])
