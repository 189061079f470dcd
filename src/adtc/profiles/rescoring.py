"""Score drawn trees on the table again, many at once, and compare them with their cells.

Rows are sent down each tree as bits, and metrics are computed from the rows that reach the leaves:
nothing is taken from the circuit that the trees came from.
"""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.forests import Forest
from adtc.algebra.formula import names
from adtc.algebra.trees import Tree, to_string
from adtc.data import Data
from adtc.data.bits import pack, unpack
from adtc.data.stack import Stack
from adtc.engine.exact.columns import (
    Column,
    Lookup,
    Ratios,
    evaluate,
    fractions,
    from_columns,
    reduced,
    satisfied,
)
from adtc.engine.query import Question, every_row, row_groups

Value = Fraction | int | None  # None: undefined
Counts = npt.NDArray[np.int64]
_FITS = 2**62


class Scorer:
    """Computes a question's metrics on given trees."""

    def __init__(self, data: Data, question: Question) -> None:
        self.data, self.question = data, question
        rows = every_row(data, question.schema)
        groups, member = row_groups(rows)
        self._table, self._rows = _planes(rows, member, len(groups)), int(rows.weights.sum())
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

    def values(self, forest: Forest) -> dict[str, Ratios]:
        """Compute the question's metrics of some trees; they must satisfy its constraint."""
        lookup = self._lookup(forest)
        good = satisfied(self.question.constraint, lookup, len(forest))
        if not good.all():
            first = forest.trees()[int(np.flatnonzero(~good)[0])]
            raise RuntimeError(
                f"the tree {to_string(first)} was found among those that satisfy "
                f"{self.question.constraint}, but on the data it does not."
            )
        return {name: reduced(evaluate(term, lookup)) for name, term in self.question.metrics}

    def describe(self, tree: Tree) -> str:
        """Write a tree's metrics, whether it is good or not."""
        lookup = self._lookup(Forest.of([tree]))
        scores = {
            name: fractions(evaluate(term, lookup))[0] for name, term in self.question.metrics
        }
        return ", ".join(
            f"{name} = {'undefined' if value is None else value}" for name, value in scores.items()
        )

    def _lookup(self, forest: Forest) -> Lookup:
        return self.lookup(self.columns(forest), len(forest))

    def lookup(self, columns: dict[str, Column], n: int) -> Lookup:
        """Say how forms are computed from the columns of so many trees."""
        return from_columns(columns, n)

    def columns_of_none(self) -> dict[str, Column]:
        """Return the columns of no trees."""
        return {name: np.zeros(0, np.int64) for name in self._weights}

    def columns(self, forest: Forest) -> dict[str, Column]:
        """Measure the counts that metrics are made of."""
        labels, control = len(self.data.labels), _core.Control()
        rows: Counts = _core.route_rows(self._table, forest.starts, forest.codes, labels, control)
        sizes = forest.sizes
        columns: dict[str, Column] = {}
        for name, weights in self._weights.items():
            largest = max(abs(w) for row in weights for w in row) * (self._rows + 1)
            largest += abs(self._per_leaf[name]) * (int(sizes.max()) + 1)
            kind = np.int64 if largest < _FITS else object
            weighted = rows.astype(kind) * np.array(weights, kind)
            columns[name] = weighted.sum(axis=(1, 2)) + self._per_leaf[name] * sizes.astype(kind)
        return columns


def _planes(data: Data | Stack, member: Counts, groups: int) -> Any:
    """Lay the rows out by group and binary digit of their weight."""
    dense = unpack(data.bits, data.n_rows)
    width = max(1, int(data.weights.max()).bit_length())
    planes = [
        (g, b, np.flatnonzero((member == g) & (data.weights >> b & 1 == 1)))
        for g in range(groups)
        for b in range(width)
    ]
    planes = [plane for plane in planes if len(plane[2])]
    packed = [pack(dense.take(rows, axis=1)) for *_, rows in planes]
    totals = [sum(len(rows) << b for h, b, rows in planes if h == g) for g in range(groups)]
    return _core.Table(
        words=np.ascontiguousarray(np.concatenate(packed, axis=1)),
        offsets=np.array([0, *itertools.accumulate(p.shape[1] for p in packed)], np.int64),
        rows=np.array([len(rows) for *_, rows in planes], np.int64),
        plane_group=np.array([g for g, _, _ in planes], np.int64),
        plane_shift=np.array([b for _, b, _ in planes], np.int64),
        totals=np.array(totals, np.int64),
    )
