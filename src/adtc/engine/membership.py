"""Whether a tree is among the good trees of a circuit, and if not, why."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf, Split, Tree, depth
from adtc.engine.circuit import Circuit
from adtc.engine.lattice import majority_label, votes_by_label
from adtc.engine.plan.keys import key_integers
from adtc.errors import QueryError

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class MeasuredLeaf:
    """A leaf with its key and costs."""

    label: int
    key: int
    cost: Array


@dataclass(frozen=True, slots=True)
class MeasuredSplit:
    """A split on a distinct feature, whose original feature is the ``twin``-th of its twins."""

    feature: int
    twin: int
    one: "Measured"
    zero: "Measured"

    @property
    def key(self) -> int:
        """Return the key of the cell that the tree is in."""
        return self.one.key + self.zero.key

    @property
    def cost(self) -> Array:
        """Return what the tree costs, by functional."""
        total: Array = self.one.cost + self.zero.cost
        return total


Measured = MeasuredLeaf | MeasuredSplit


class TreeMeasurer:
    """Finds the keys of a tree's parts, or says why it is none of the good trees."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.prepared = circuit, circuit.prepared
        table = self.prepared.table
        self._distinct = {
            twin.feature: (f, number)
            for f, twins in enumerate(self.prepared.features.twins)
            for number, twin in enumerate(twins)
        }
        self._shifts = np.repeat(table.plane_shift, np.diff(table.offsets))
        self._rows = np.full(int(table.offsets[-1]), 2**64 - 1, np.uint64)
        for rows, stop in zip(table.rows.tolist(), table.offsets[1:].tolist(), strict=True):
            if rows % 64:
                self._rows[stop - 1] = (1 << (rows % 64)) - 1

    def measure(self, tree: Tree) -> Measured:
        """Measure a whole tree."""
        if not isinstance(tree, Leaf | Split):
            raise QueryError(f"expected a tree made of Leaf and Split, but {tree!r} came.")
        lattice, features = self.prepared.lattice, len(self.prepared.features.twins)
        # where features run out before the depth does, no tree is too deep
        most = lattice.levels + lattice.rest if lattice.levels < features else depth(tree)
        if depth(tree) > most:
            raise _not_good(f"its depth is {depth(tree)}, at most {most} is allowed")
        measured = self._measure(tree, self._rows, frozenset())
        limits = self.circuit.outside.budgets[0]
        plan = self.prepared.plan
        for budget, cost, limit in zip(plan.budgets, measured.cost, limits, strict=True):
            if cost > limit:
                raise _not_good(f"it does not keep to '{budget.source}'")
        return measured

    def _measure(self, tree: Tree, rows: Array, above: frozenset[int]) -> Measured:
        if isinstance(tree, Leaf):
            return self._measure_leaf(tree.label, rows)
        if tree.feature in above:
            raise _not_good(f"it tests feature {tree.feature} twice on one path")
        leaves = self.prepared.leaves
        if tree.feature not in self._distinct:
            raise _not_good(
                f"feature {tree.feature} is not in the table, or less than {leaves.minsup} rows "
                f"are on one of its sides"
            )
        if not leaves.trivial_splits and isinstance(tree.t1, Leaf) and tree.t1 == tree.t0:
            raise _not_good(
                f"it has a trivial split: both sides of feature {tree.feature} are the label "
                f"{tree.t1.label}"
            )
        f, number = self._distinct[tree.feature]
        flipped = self.prepared.features.twins[f][number].flipped
        one, zero = (tree.t0, tree.t1) if flipped else (tree.t1, tree.t0)
        words, below = self.prepared.table.words[f], above | {tree.feature}
        return MeasuredSplit(
            f,
            number,
            self._measure(one, rows & words, below),
            self._measure(zero, rows & ~words, below),
        )

    def _measure_leaf(self, label: int, rows: Array) -> MeasuredLeaf:
        leaves, table = self.prepared.leaves, self.prepared.table
        counts = np.zeros(len(table.totals), np.int64)
        weighted = np.bitwise_count(rows).astype(np.int64) << self._shifts
        np.add.at(counts, np.repeat(table.plane_group, np.diff(table.offsets)), weighted)
        own = leaves.group_label >= 0
        support, labels = int(counts[own].sum()), len(leaves.key_weights)
        if support < leaves.minsup:
            raise _not_good(f"a leaf holds {support} rows, at least {leaves.minsup} are needed")
        if not 0 <= label < labels:
            raise _not_good(f"a leaf has the label {label}, labels are 0 to {labels - 1}")
        votes = votes_by_label(counts, leaves.group_label, labels)
        if int(votes[label]) * leaves.share_bottom < support * leaves.share_top:
            raise _not_good(
                f"{votes[label]} of {support} rows of a leaf have its label {label}, at least "
                f"{leaves.share_top} of {leaves.share_bottom} are needed"
            )
        if leaves.majority and label != (most := majority_label(votes)):
            raise _not_good(f"a leaf has the label {label}, the majority of its rows has {most}")
        weights = key_integers(leaves.key_weights[label])
        key = leaves.key_constant + sum(
            w * n for w, n in zip(weights, counts.tolist(), strict=True)
        )
        cost = leaves.cost_constants + leaves.cost_weights[:, label] @ counts
        return MeasuredLeaf(label, key, cost)


def _not_good(why: str) -> QueryError:
    return QueryError(f"the tree is not among the good trees: {why}.")
