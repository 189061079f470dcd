"""What a circuit is built from before limits apply: features, lattice, leaves, least costs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.allowed import Allowed
from adtc.engine.bounds import Inside, check_costs, inside_pass
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Plan
from adtc.engine.plan.keys import packed_keys
from adtc.engine.plan.multipliers import with_multipliers
from adtc.engine.plan.rounding import with_small_numbers
from adtc.engine.switches import Switches
from adtc.hooks import hook

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The stages that need the table, done once for all limits of the budgets.

    Parameters
    ----------
    splits
        ``[budget, path of the last level]``: what trees there cost at least that are no single
        leaf; None if that is not known, or has served.
    """

    plan: Plan
    features: lattices.Features
    table: _core.Table
    lattice: _core.Lattice
    leaves: _core.Leaves
    inside: Inside
    splits: Array | None = None

    @property
    def first_tests(self) -> Array | None:
        """Which distinct features the first test may be; None if there is no condition."""
        root = self.plan.question.allowed.root
        if root is None:
            return None
        return np.array([twins[0].feature in root for twins in self.features.twins], bool)

    def serves(self, plan: Plan) -> bool:
        """Tell whether another plan, for the same data and space, needs the same stages."""
        ours, theirs = self.plan, plan
        return (
            (ours.groups, ours.question.minsup) == (theirs.groups, theirs.question.minsup)
            and ours.question.space == theirs.question.space
            and [b.form.vector() for b in ours.budgets] == [b.form.vector() for b in theirs.budgets]
        )


def prepare(
    plan: Plan,
    data: Data,
    switches: Switches,
    monitor: Monitor,
    *,
    depth: int | None = None,
    known: Prepared | None = None,
) -> Prepared:
    """Run the stages that need the data: features, lattice, inside pass.

    Parameters
    ----------
    depth
        That of the trees, if less than the question's.
    known
        Those of another question about the same data and space; nothing is done anew if it
        has the same budgets, whatever their limits.
    """
    monitor.check()
    question = plan.question
    if known is not None and known.serves(plan):
        return replace(known, plan=plan, leaves=leaves_of(plan, switches))
    rounded = data.cache.get(("rounded", plan, switches), lambda: _rounded(plan, switches))
    features, table = lattices.split_rows(
        lattices.rows_of(data, plan.groups, merge=switches.merge_rows),
        plan.groups,
        question.minsup,
        merge=switches.merge_features,
        allowed=question.allowed,
    )
    final, leaves = data.cache.get(
        ("budgets", rounded, switches), lambda: _combined(rounded, table, switches, monitor)
    )
    depth = question.space.max_depth if depth is None else depth
    lattice = lattices.numbered_paths(
        len(features.twins), depth, least=first_level(question.allowed)
    )
    forms = tuple(budget.form for budget in final.budgets)
    about = table, lattice, forms, leaves.group_label, question
    if monitor.client is not None and monitor.checkpoint is None:
        away = hook("inside_remotely")(*about, monitor=monitor)
        return Prepared(final, features, table, lattice, leaves, away)
    bounds, splits = inside_pass(*about, switches=switches, monitor=monitor)
    return Prepared(final, features, table, lattice, leaves, bounds, splits)


def _rounded(plan: Plan, switches: Switches) -> Plan:
    """Make the budgets' numbers small, and check that costs fit into words."""
    plan = with_small_numbers(plan) if switches.round else plan
    check_costs((budget.form for budget in plan.budgets), plan.totals)
    return plan


def _combined(
    plan: Plan, table: _core.Table, switches: Switches, monitor: Monitor
) -> tuple[Plan, _core.Leaves]:
    """Add the budgets that combine two conjuncts, and pack the axes into keys."""
    plan = with_multipliers(plan, table, lattices.label_of_groups(plan.groups), switches, monitor)
    return plan, leaves_of(plan, switches)


def first_level(allowed: Allowed) -> int:
    """Return how many levels must be numbered so that the first test can be chosen."""
    return 0 if allowed.root is None else 1


def leaves_of(plan: Plan, switches: Switches) -> _core.Leaves:
    """Pack all axes into one functional for the keys, next to the budgets' own."""
    labels, groups = plan.question.schema.labels, len(plan.groups)
    key_weights = np.zeros((labels, groups), object)
    for axis in plan.axes:
        key_weights += axis.stride * np.array(axis.form.weights, object).reshape(labels, groups)
    packed = packed_keys(key_weights.ravel().tolist(), wide=plan.wide_keys)
    forms = [budget.form for budget in plan.budgets]
    share = plan.question.space.leaf_share
    return _core.Leaves(
        key_weights=packed.reshape(labels, groups, *packed.shape[1:]),
        key_constant=sum(axis.stride * axis.form.per_leaf for axis in plan.axes),
        cost_weights=np.array([f.weights for f in forms], np.int64).reshape(-1, labels, groups),
        cost_constants=np.array([form.per_leaf for form in forms], np.int64),
        group_label=lattices.label_of_groups(plan.groups),
        minsup=plan.question.minsup,
        majority=plan.question.space.labels == "majority",
        trivial_splits=plan.question.space.trivial_splits,
        dense=switches.dense,
        most_leaves=plan.most_leaves,
        share_top=share.numerator,
        share_bottom=share.denominator,
        root_leaf=plan.question.allowed.root is None,
    )
