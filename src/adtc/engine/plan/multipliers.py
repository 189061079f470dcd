"""Combined budgets: a gap alone prunes nothing, error plus a multiple of it does.

If every good tree has e ≤ E and g ≤ G, it also has e + μ·g ≤ E + μ·G for every μ ≥ 0. The least
value of that form over all trees exceeds its budget by as much as μ prices the gap well; if it
does so at the root, no good tree exists. The best multiplier is sought on shallow trees, which
cost little; the full inside pass then uses only the winners.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from adtc import _core
from adtc.engine.bounds import inside_pass
from adtc.engine.lattice import numbered_paths
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Budget, Form, Plan
from adtc.engine.plan.forms import SMALL
from adtc.engine.switches import Switches

_TRIED = tuple(Fraction(2) ** power for power in range(-4, 3))
_FINEST = 10**7  # largest denominator of a multiplier
_OFF = Fraction(1, 8)  # what a simpler multiplier may differ by: those tried differ by half
_SHALLOW = 3  # depth of the trees on which multipliers are sought


def with_multipliers(
    plan: Plan, table: _core.Table, group_label: Any, switches: Switches, monitor: Monitor
) -> Plan:
    """Add the combinations of the plan's first budget with each other one that prune most."""
    first, others = _partners(plan)
    if first is None or not others or not switches.combine:
        return plan
    tried = [[_combined(plan, first, other, factor) for factor in _TRIED] for other in others]
    tried = [pairs for pairs in tried if all(b.form.countable(plan.totals) for _, b in pairs)]
    if not tried:
        return plan
    flat = [(1, first), *(pair for pairs in tried for pair in pairs)]
    depth = min(_SHALLOW, plan.question.space.max_depth)
    shallow, _ = inside_pass(
        table,
        numbered_paths(len(table.words), depth),
        tuple(budget.form for _, budget in flat),
        group_label,
        plan.question,
        switches=switches,
        monitor=replace(monitor, client=None),  # not worth a cluster
    )
    # by how much the least value exceeds the limit, in units of the first budget
    excess = [
        Fraction(least - budget.limit, q)
        for (q, budget), least in zip(flat, shallow.root, strict=True)
    ]
    chosen = []
    for at, pairs in enumerate(tried):
        scores = excess[1 + at * len(_TRIED) : 1 + (at + 1) * len(_TRIED)]
        best = max(range(len(pairs)), key=scores.__getitem__)
        if scores[best] > excess[0]:
            chosen.append(pairs[best][1])
    return replace(plan, budgets=(*chosen, *plan.budgets))


def _partners(plan: Plan) -> tuple[Budget | None, Sequence[Budget]]:
    """Return the budget to combine with, the one that holds most by itself, and the others."""
    searched = [b for b in plan.budgets if any(map(any, b.form.weights))]
    if len(searched) < 2:  # noqa: PLR2004
        return None, ()
    for objective in searched:
        if objective.source == "objective":  # then combinations bound the best good value
            others = [b for b in searched if b is not objective]
            return objective, [b for b in others if not _opposite(b, objective)]
    # A bound that the best single labelling cannot meet by itself prices all others: for a
    # performance limit the least value is near the limit, for a gap it is far below.
    first = max(searched, key=lambda b: _share(plan, b))
    return first, [b for b in searched if b is not first and not _opposite(b, first)]


def _opposite(budget: Budget, other: Budget) -> bool:
    """Tell whether two budgets bound one form from both sides; a sum of such bounds nothing."""
    return all(a == -b for a, b in zip(budget.form.vector(), other.form.vector(), strict=True))


def _share(plan: Plan, budget: Budget) -> Fraction:
    """Return how much of a form's range its limit rules out."""
    low, high = budget.form.range(plan.totals, plan.most_leaves)
    return Fraction(high - budget.limit, max(1, high - low))


def _combined(plan: Plan, first: Budget, other: Budget, factor: Fraction) -> tuple[int, Budget]:
    """Return q and q·first + p·other with p/q near ``factor`` times the ratio of their ranges."""
    widths = [high - low for low, high in (_range(plan, first), _range(plan, other))]
    multiplier = _simple(
        factor * widths[0] / widths[1], *(b.form.reach(plan.totals) for b in (first, other))
    )
    p, q = multiplier.numerator, multiplier.denominator
    weights = tuple(
        tuple(q * a + p * b for a, b in zip(row, other_row, strict=True))
        for row, other_row in zip(first.form.weights, other.form.weights, strict=True)
    )
    form = Form(
        f"{q}·({first.form.name}) + {p}·({other.form.name})",
        q * first.form.per_leaf + p * other.form.per_leaf,
        weights,
    )
    source = f"{first.source}, and {multiplier} times {other.source}"
    return q, Budget(form, q * first.limit + p * other.limit, source, ((q, first), (p, other)))


def _simple(multiplier: Fraction, reach: int, other: int) -> Fraction:
    """Return a fraction near a multiplier: if possible one that keeps the combination small."""
    finest = math.floor(SMALL / (reach + multiplier * other)) - 1
    for denominator in (finest, _FINEST):
        if denominator >= 1:
            near = multiplier.limit_denominator(denominator)
            if abs(near - multiplier) <= multiplier * _OFF:
                return near
    return Fraction(1, _FINEST)


def _range(plan: Plan, budget: Budget) -> tuple[int, int]:
    return budget.form.range(plan.totals, plan.most_leaves)
