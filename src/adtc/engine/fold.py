"""Any semiring on a finished circuit: ⊕ over its trees of ⊗ over their leaves (Sec. 2.5).

A circuit knows of which leaves and splits each cell consists. So the sum over the trees of a cell
is found by going down, once per path and cell, and no path above the last level is counted again.
Values may be anything, trees and sets of features among them; this is plain Python.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from adtc.algebra.metrics import LeafRows
from adtc.algebra.semiring import Semiring
from adtc.data import Data
from adtc.engine.circuit import Circuit
from adtc.engine.monitor import Monitor
from adtc.engine.query import RowSets, every_row
from adtc.engine.ranks import Branch, Cursor, Ranks

V = TypeVar("V")
LeafValue = Callable[[int, LeafRows], V]
_ENTRY = 500  # bytes of a cell or place that is remembered, about
_OFTEN = 256  # cells between two looks at the memory


def fold(
    circuit: Circuit,
    keys: Sequence[int],
    data: Data,
    semiring: Semiring[V],
    leaf: LeafValue[V],
    *,
    monitor: Monitor,
) -> list[V]:
    """Sum over the trees of each of some root cells.

    Parameters
    ----------
    keys
        Which cells, by their keys.
    data
        The table that the circuit was made of.
    leaf
        The value of a leaf, from its label and its rows.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> circuit = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).source.circuit
    >>> one, monitor = lambda label, rows: 1, adtc.Monitor()
    >>> fold(circuit, [-1, 0], data, adtc.semirings.COUNT, one, monitor=monitor)
    [2, 2]
    """
    if not keys:
        return []
    folding = _Fold(circuit, data, semiring, leaf, monitor)
    found = []
    for done, key in enumerate(keys, 1):
        monitor.check()
        found.append(folding.sum_of(key))
        monitor.report("values of cells", done, len(keys))
    return found


class _Cell(NamedTuple, Generic[V]):
    """The values of a cell's leaves, by label, and the sums over its other and over all trees.

    A sum over no tree is an empty list: what a user's `split` makes of `zero` is not promised.
    """

    leaves: dict[int, V]
    splits: list[V]
    whole: list[V]


class _Fold(Generic[V]):
    """The cells whose value is known."""

    def __init__(
        self,
        circuit: Circuit,
        data: Data,
        semiring: Semiring[V],
        leaf: LeafValue[V],
        monitor: Monitor,
    ) -> None:
        self.semiring, self.leaf, self.monitor = semiring, leaf, monitor
        self.ranks = Ranks(circuit, most_bytes=monitor.memory)
        self.root = self.ranks.cursor()
        stack = every_row(data, circuit.prepared.plan.question.schema)
        self.rows = RowSets.of(stack)
        self.twins = circuit.prepared.features.twins
        self.trivial_splits = circuit.prepared.leaves.trivial_splits
        firsts = (twins[0] for twins in self.twins)
        self.ones = [
            self.rows.all & ~stack.feature_rows(twin.feature)
            if twin.flipped
            else stack.feature_rows(twin.feature)
            for twin in firsts
        ]
        self._samples: dict[Cursor, tuple[int, int]] = {self.root: (self.rows.all, 0)}
        self._children: dict[tuple[Cursor, int, int], Cursor] = {}
        self._cells: dict[tuple[Cursor, int], _Cell[V]] = {}

    def sum_of(self, key: int) -> V:
        """Sum over the trees of a cell of the root."""
        return next(iter(self._cell(self.root, key).whole), self.semiring.zero)

    def _cell(self, place: Cursor, key: int, trees: int | None = None) -> _Cell[V]:
        """Find the values of a cell; it helps to know how many trees it has."""
        found = self._cells.get((place, key))
        if found is None:
            leaves = self._leaves(place, key)
            # where a cell holds nothing but leaves, nothing needs to be opened
            splits = self._sum(self._splits(place, key)) if trees != len(leaves) else []
            found = _Cell(leaves, splits, self._sum([*leaves.values(), *splits]))
            self._cells[place, key] = found
            if len(self._cells) % _OFTEN == 0:
                self._look_around()
        return found

    def _leaves(self, place: Cursor, key: int) -> dict[int, V]:
        labels = place.labels(key)
        if not labels:
            return {}
        S, depth = self._samples[place]
        rows = LeafRows(self.rows.counts(S), depth)
        return {label: self.leaf(label, rows) for label in labels}

    def _splits(self, place: Cursor, key: int) -> Iterable[V]:
        """Yield values that add up to that of all trees of a cell but single leaves."""
        for branch in place.splits(key):
            cell1, cell0 = self._sides(place, branch)
            for value1, value0 in self._pairs(cell1, cell0):
                yield from self._nodes(branch.feature, value1, value0)

    def _sides(self, place: Cursor, branch: Branch) -> tuple[_Cell[V], _Cell[V]]:
        f, key1, count1, key0, count0 = branch
        one, zero = self._child(place, f, 0), self._child(place, f, 1)
        return self._cell(one, key1, count1), self._cell(zero, key0, count0)

    def _pairs(self, cell1: _Cell[V], cell0: _Cell[V]) -> Iterable[tuple[V, V]]:
        """Part the pairs of two cells' trees into products, without trivial ones if need be."""
        if self.trivial_splits:
            yield from product(cell1.whole, cell0.whole)
            return
        yield from product(cell1.splits, cell0.whole)
        for label, value in cell1.leaves.items():
            others = [other for of, other in cell0.leaves.items() if of != label]
            yield from product([value], self._sum([*others, *cell0.splits]))

    def _nodes(self, f: int, value1: V, value0: V) -> Iterable[V]:
        """Put each of the features that are alike above two subtrees; child 1 is the smaller."""
        R, twins = self.semiring, self.twins[f]
        if R.split is None:
            yield R.times(len(twins), R.mul(value1, value0))
            return
        for twin in twins:
            one, zero = (value0, value1) if twin.flipped else (value1, value0)
            yield R.split(twin.feature, one, zero)

    def _sum(self, values: Iterable[V]) -> list[V]:
        """Add values up, if there are any."""
        total: list[V] = []
        for value in values:
            total = [self.semiring.add(total[0], value) if total else value]
        return total

    def _child(self, place: Cursor, f: int, side: int) -> Cursor:
        """Return the place of a child and note its rows."""
        found = self._children.get((place, f, side))
        if found is None:
            self.monitor.check()
            found = place.child(f, side)
            self._children[place, f, side] = found
            if found not in self._samples:
                S, depth = self._samples[place]
                self._samples[found] = S & (~self.ones[f] if side else self.ones[f]), depth + 1
        return found

    def _look_around(self) -> None:
        samples = len(self._samples) * (self.rows.all.bit_length() // 8)
        held = (len(self._cells) + len(self._children)) * _ENTRY + samples + self.ranks.bytes
        self.monitor.reserve("the values of all cells", held)
