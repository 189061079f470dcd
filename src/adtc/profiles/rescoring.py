"""Score drawn trees on the table again, many at once, and hold them against their cells.

Rows are sent down each tree as bits, and metrics are computed from the rows that reach the leaves:
nothing is taken from the circuit that the trees came from.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import names
from adtc.algebra.trees import Leaf, Tree, size, to_string
from adtc.data import Data
from adtc.data.bits import pack
from adtc.engine.columns import Column, Lookup, evaluate, fractions, from_columns, satisfied
from adtc.engine.query import Question, row_groups
from adtc.engine.scoring import plain

Value = Fraction | int | None  # None: undefined
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
_FITS = 2**62


class Scorer:
    """Computes a question's metrics on given trees."""

    def __init__(self, data: Data, question: Question) -> None:
        self.data, self.question = data, question
        groups, member = row_groups(data)
        width = max(1, int(data.weights.max()).bit_length())
        planes = [
            (g, b, (member == g) & (data.weights >> b & 1 == 1))
            for g in range(len(groups))
            for b in range(width)
        ]
        planes = [plane for plane in planes if plane[2].any()]
        self._words = np.stack([pack(rows) for *_, rows in planes])
        self._worth = np.zeros((len(planes), len(groups)), np.int64)
        for at, (g, b, _) in enumerate(planes):
            self._worth[at, g] = 1 << b
        used = names(question.constraint).union(*(names(term) for _, term in question.metrics))
        functionals = {
            axis.name: axis.functional
            for axis in question.axes
            if axis.name in used and axis.functional is not None
        }
        self._per_leaf = {name: f.per_leaf for name, f in functionals.items()}
        labels = range(len(data.labels))
        self._weights = {
            name: [[f.weight(label, group) for group in groups] for label in labels]
            for name, f in functionals.items()
        }

    def values(self, trees: Sequence[Tree]) -> dict[str, list[Value]]:
        """Compute the question's metrics of some trees; they must satisfy its constraint."""
        lookup = self._lookup(trees)
        good = satisfied(self.question.constraint, lookup, len(trees))
        if not good.all():
            first = trees[int(np.flatnonzero(~good)[0])]
            raise RuntimeError(
                f"the tree {to_string(first)} was found among those that satisfy "
                f"{self.question.constraint}, but on the data it does not."
            )
        return self._metrics(lookup)

    def describe(self, tree: Tree) -> str:
        """Write a tree's metrics, whether it is good or not."""
        scores = self._metrics(self._lookup([tree]))
        return ", ".join(
            f"{name} = {'undefined' if value is None else value}"
            for name, (value,) in scores.items()
        )

    def _metrics(self, lookup: Lookup) -> dict[str, list[Value]]:
        return {
            name: [plain(value) for value in fractions(evaluate(term, lookup))]
            for name, term in self.question.metrics
        }

    def _lookup(self, trees: Sequence[Tree]) -> Lookup:
        """Measure the counts that metrics are made of."""
        rows = np.stack([self._rows(tree) for tree in trees])  # [tree, label, group]
        sizes = np.array([size(tree) for tree in trees], np.int64)
        columns: dict[str, Column] = {}
        for name, weights in self._weights.items():
            largest = max(abs(w) for row in weights for w in row) * (self.data.total + 1)
            largest += abs(self._per_leaf[name]) * (int(sizes.max()) + 1)
            kind = np.int64 if largest < _FITS else object
            weighted = rows.astype(kind) * np.array(weights, kind)
            columns[name] = weighted.sum(axis=(1, 2)) + self._per_leaf[name] * sizes.astype(kind)
        return from_columns(columns, len(trees))

    def _rows(self, tree: Tree) -> Counts:
        """Count the rows by predicted label and row group."""
        counts = np.zeros((len(self.data.labels), len(self._words)), np.int64)
        self._send(tree, None, counts)
        found: Counts = counts @ self._worth
        return found

    def _send(self, tree: Tree, arrived: Words | None, counts: Counts) -> None:
        if isinstance(tree, Leaf):
            here = self._words if arrived is None else self._words & arrived
            counts[tree.label] += np.bitwise_count(here).sum(axis=1, dtype=np.int64)
            return
        column = self.data.bits[tree.feature]
        self._send(tree.t1, column if arrived is None else arrived & column, counts)
        self._send(tree.t0, ~column if arrived is None else arrived & ~column, counts)
