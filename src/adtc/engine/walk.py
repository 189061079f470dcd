"""Walking the circuit of all good trees: every tree has a number within its cell, and back.

The order within a cell, at the root and at every subtree alike: leaves by label, then splits by
distinct feature, by the key of child 1, by the number of child 1 within its cell, by that of child
0, and last by which of the equal or complementary features is written. Child 1 is the side with
fewer rows. Trees are numbered from 0; nothing is listed to find one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf, Split, Tree, depth
from adtc.engine.circuit import Circuit
from adtc.engine.lattice import Twin
from adtc.engine.places import Map, Place
from adtc.errors import QueryError

Array = npt.NDArray[Any]
_MOST_BYTES = 2**28


class Walk:
    """Finds the trees of a circuit by number, and the numbers of trees.

    Parameters
    ----------
    most_bytes
        How much the parts of the circuit that were looked at may hold before they are forgotten.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> circuit = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).source.circuit
    >>> walk = Walk(circuit)
    >>> [(key, walk.count(key)) for key in walk.keys]
    [(-2, 1), (-1, 2), (0, 2), (1, 1)]
    >>> walk.unrank(-1, 0), walk.rank(Split(0, Leaf(0), Leaf(0)))
    (Leaf(label=1), (0, 1))
    """

    def __init__(self, circuit: Circuit, *, most_bytes: int = _MOST_BYTES) -> None:
        self.circuit = circuit
        self._map = Map(circuit, most_bytes)
        self._order = np.argsort(circuit.root.keys)
        self._keys = circuit.root.keys[self._order]
        self._twins = circuit.ground.features.twins
        self._distinct = {
            twin.feature: (f, number)
            for f, twins in enumerate(self._twins)
            for number, twin in enumerate(twins)
        }

    @property
    def keys(self) -> list[int]:
        """List the keys of all cells, ascending."""
        keys: list[int] = self._keys.tolist()
        return keys

    def count(self, key: int) -> int:
        """Count the trees of a cell; 0 if there is no such cell."""
        at = int(self._keys.searchsorted(key))
        if at == len(self._keys) or self._keys[at] != key:
            return 0
        limbs = self.circuit.root.values[self._order[at]].tolist()
        return sum(limb << (64 * place) for place, limb in enumerate(limbs))

    def unrank(self, key: int, rank: int) -> Tree:
        """Return the tree with a number within its cell."""
        count = self.count(key)
        if not 0 <= rank < count:
            there = f"there are {count:,} trees, ranks 0 to {count - 1:,}" if count else "no tree"
            raise QueryError(f"rank {rank:,} is not in the cell {key}: {there}.")
        return self._unrank(self._map.root(), key, rank)

    def trees(self, key: int, start: int = 0) -> Iterator[Tree]:
        """Yield the trees of a cell in the order of their numbers, from ``start`` on."""
        if start < 0:
            raise QueryError(f"start is {start}, expected a rank of at least 0.")
        count = self.count(key)
        if start >= count:
            return iter(())
        return self._trees(self._map.root(), key, count, start)

    def rank(self, tree: Tree) -> tuple[int, int]:
        """Return the key of a tree's cell and the tree's number in it."""
        measured = _Ruler(self._map, self._distinct).measure(tree)
        return measured.key, self._rank(self._map.root(), measured)

    def _unrank(self, place: Place, key: int, rank: int) -> Tree:
        labels = place.labels(key)
        if rank < len(labels):
            return Leaf(labels[rank])
        rank -= len(labels)
        choices, lists = place.choices(key), place.lists
        choice = choices.holding(rank)
        at, one, zero = choices.parts(choice)
        twins = self._twins[lists.features[at]]
        pair, twin = divmod(rank - choices.before(choice), len(twins))
        pair = _skipping(pair, place.trivial(choices, choice))
        rank1, rank0 = divmod(pair, lists.value(zero))
        t1 = self._unrank(place.child(at, 0), int(lists.keys[one]), rank1)
        t0 = self._unrank(place.child(at, 1), int(lists.keys[zero]), rank0)
        return _split(twins[twin], t1, t0)

    def _trees(self, place: Place, key: int, count: int, start: int) -> Iterator[Tree]:
        labels = place.labels(key)
        yield from (Leaf(label) for label in labels[start:])
        if count == len(labels):
            return  # nothing needs to be opened
        start = max(0, start - len(labels))
        choices, lists = place.choices(key), place.lists
        first = choices.holding(start)
        for choice in range(first, len(choices.at)):
            at, one, zero = choices.parts(choice)
            twins, trivial = self._twins[lists.features[at]], place.trivial(choices, choice)
            count1, count0 = lists.value(one), lists.value(zero)
            pair, twin = divmod(
                start - choices.before(choice) if choice == first else 0, len(twins)
            )
            rank1, rank0 = divmod(_skipping(pair, trivial), count0)
            ones = self._trees(place.child(at, 0), int(lists.keys[one]), count1, rank1)
            for r1, t1 in enumerate(ones, rank1):
                zeros = self._trees(place.child(at, 1), int(lists.keys[zero]), count0, rank0)
                for r0, t0 in enumerate(zeros, rank0):
                    if r1 * count0 + r0 not in trivial:
                        yield from (_split(name, t1, t0) for name in twins[twin:])
                        twin = 0
                rank0 = 0

    def _rank(self, place: Place, measured: "_Measured") -> int:
        labels = place.labels(measured.key)
        if isinstance(measured, _MeasuredLeaf):
            return labels.index(measured.label)
        choices, lists = place.choices(measured.key), place.lists
        at = lists.features.index(measured.feature)
        first, last = (int(choices.at.searchsorted(at, side)) for side in ("left", "right"))
        keys = lists.keys[choices.ones[first:last]]
        choice = first + int(keys.searchsorted(measured.one.key))
        rank1 = self._rank(place.child(at, 0), measured.one)
        rank0 = self._rank(place.child(at, 1), measured.zero)
        pair = rank1 * lists.value(int(choices.zeros[choice])) + rank0
        pair -= sum(skipped < pair for skipped in place.trivial(choices, choice))
        twins = len(self._twins[measured.feature])
        return len(labels) + choices.before(choice) + pair * twins + measured.twin


def _split(twin: Twin, t1: Tree, t0: Tree) -> Tree:
    return Split(twin.feature, t0, t1) if twin.flipped else Split(twin.feature, t1, t0)


def _skipping(number: int, skipped: list[int]) -> int:
    """Return the number-th natural number that is not in an ascending list."""
    for one in skipped:
        if number < one:
            break
        number += 1
    return number


@dataclass(frozen=True, slots=True)
class _MeasuredLeaf:
    label: int
    key: int
    cost: Array


@dataclass(frozen=True, slots=True)
class _MeasuredSplit:
    feature: int  # distinct
    twin: int
    one: "_Measured"
    zero: "_Measured"

    @property
    def key(self) -> int:
        return self.one.key + self.zero.key

    @property
    def cost(self) -> Array:
        total: Array = self.one.cost + self.zero.cost
        return total


_Measured = _MeasuredLeaf | _MeasuredSplit


class _Ruler:
    """Finds the keys of a tree's parts, or says why it is none of the good trees."""

    def __init__(self, map: Map, distinct: dict[int, tuple[int, int]]) -> None:
        self.map, self.distinct, self.ground = map, distinct, map.circuit.ground

    def measure(self, tree: Tree) -> _Measured:
        """Measure a whole tree."""
        if not isinstance(tree, Leaf | Split):
            raise QueryError(f"expected a tree made of Leaf and Split, but {tree!r} came.")
        lattice, features = self.ground.lattice, len(self.ground.features.twins)
        # where features run out before the depth does, no tree is too deep
        most = lattice.levels + lattice.rest if lattice.levels < features else depth(tree)
        if depth(tree) > most:
            raise _not_good(f"its depth is {depth(tree)}, at most {most} is allowed")
        measured = self._measure(tree, self.map.rows, frozenset())
        limits = self.map.circuit.outside.budgets[0]
        plan = self.ground.plan
        for budget, cost, limit in zip(plan.budgets, measured.cost, limits, strict=True):
            if cost > limit:
                raise _not_good(f"it does not keep to '{budget.source}'")
        return measured

    def _measure(self, tree: Tree, rows: Array, above: frozenset[int]) -> _Measured:
        if isinstance(tree, Leaf):
            return self._measure_leaf(tree.label, rows)
        if tree.feature in above:
            raise _not_good(f"it tests feature {tree.feature} twice on one path")
        leaves = self.ground.leaves
        if tree.feature not in self.distinct:
            raise _not_good(
                f"feature {tree.feature} is not in the table, or less than {leaves.minsup} rows "
                f"are on one of its sides"
            )
        if not leaves.trivial_splits and isinstance(tree.t1, Leaf) and tree.t1 == tree.t0:
            raise _not_good(
                f"it has a trivial split: both sides of feature {tree.feature} are the label "
                f"{tree.t1.label}"
            )
        f, number = self.distinct[tree.feature]
        flipped = self.ground.features.twins[f][number].flipped
        one, zero = (tree.t0, tree.t1) if flipped else (tree.t1, tree.t0)
        words, below = self.ground.table.words[f], above | {tree.feature}
        return _MeasuredSplit(
            f,
            number,
            self._measure(one, rows & words, below),
            self._measure(zero, rows & ~words, below),
        )

    def _measure_leaf(self, label: int, rows: Array) -> _MeasuredLeaf:
        leaves, table = self.ground.leaves, self.ground.table
        counts = np.zeros(len(table.totals), np.int64)
        weighted = np.bitwise_count(rows).astype(np.int64) << self.map.shifts
        np.add.at(counts, np.repeat(table.plane_group, np.diff(table.offsets)), weighted)
        support, labels = int(counts.sum()), len(leaves.key_weights)
        if support < leaves.minsup:
            raise _not_good(f"a leaf holds {support} rows, at least {leaves.minsup} are needed")
        if not 0 <= label < labels:
            raise _not_good(f"a leaf has the label {label}, labels are 0 to {labels - 1}")
        if leaves.majority:
            votes = np.zeros(labels, np.int64)
            np.add.at(votes, leaves.group_label, counts)
            if label != votes.argmax():  # ties: the smallest label
                raise _not_good(
                    f"a leaf has the label {label}, the majority of its rows has {votes.argmax()}"
                )
        key = int(leaves.key_constant + leaves.key_weights[label] @ counts)
        cost = leaves.cost_constants + leaves.cost_weights[:, label] @ counts
        return _MeasuredLeaf(label, key, cost)


def _not_good(why: str) -> QueryError:
    return QueryError(f"the tree is not among the good trees: {why}.")
