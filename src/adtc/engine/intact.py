"""Whether arrays from a file can be a part of a run: kernels read them without looking.

Rows are counted again and must agree. All else must have its type, shape and order, and numbers
that trees on these rows can have; what is within these bounds is believed.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.lattice import Path, pairs_below, path_number
from adtc.engine.plan.keys import key_integers, packed_keys, precede
from adtc.engine.tensors import Piece, TensorInputs

Array = npt.NDArray[Any]
_LIMB = 64  # bits
_MOST_PAIRS = 2**56  # that a part can have looked at; those of all parts fit a word


def is_array(array: Array, dtype: Any, *shape: int) -> bool:
    """Tell whether an array has a type and a shape."""
    return array.dtype == dtype and array.shape == shape


def require(fits: bool | np.bool_) -> None:
    """Raise `ValueError` if a part is none."""
    if not fits:
        raise ValueError("the arrays of the part do not belong together")


class Recount:
    """Counts the rows of paths anew: from pairs of features below all but two of their literals."""

    def __init__(self, table: _core.Table, lattice: _core.Lattice) -> None:
        self.table, self.lattice = table, lattice

    @cached_property
    def _all_pairs(self) -> Array:
        return pairs_below(self.table, ())

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        return np.triu_indices(self.lattice.features, 1)

    def rows(self, units: range, paths: Array) -> Array:
        """Return ``[path, group]`` for all paths that start with some features, ascending."""
        lattice, totals = self.lattice, self.table.totals
        found = _Found(paths, np.zeros((len(paths), len(totals)), np.int64))
        if 0 in units:
            found.rows[0] = totals  # the root comes with the first
        if lattice.levels:
            ones, first = self._ones(units), 1 + 2 * np.arange(units.start, units.stop)
            found.put(first, ones)
            found.put(first + 1, totals - ones)
        if lattice.levels > 1:
            begins = (self._places[0] >= units.start) & (self._places[0] < units.stop)
            self._go_on((), self._all_pairs, begins, found)
        for length in range(1, lattice.levels - 1):
            for features in itertools.combinations(range(lattice.features), length):
                if features[0] in units:
                    for signs in itertools.product((False, True), repeat=length):
                        path = tuple(zip(features, signs, strict=True))
                        pairs = pairs_below(self.table, path)
                        self._go_on(path, pairs, self._places[0] > features[-1], found)
        return found.rows

    def _ones(self, units: range) -> Array:
        """Count the rows ``[feature, group]`` on which some features are true."""
        table, words = self.table, self.table.words[units.start : units.stop]
        planes = np.add.reduceat(np.bitwise_count(words), table.offsets[:-1], 1, np.int64)
        sums = np.zeros((len(table.totals), len(words)), np.int64)
        np.add.at(sums, table.plane_group, (planes << table.plane_shift).T)
        return sums.T

    def _go_on(self, path: Path, pairs: Array, chosen: Array, found: "_Found") -> None:
        """Fill in the rows of some paths that go on from one with two features more."""
        lattice, level = self.lattice, len(path) + 2
        one, other = (places[chosen] for places in self._places)
        number = path_number(lattice, path)
        rank, signs = divmod(number - int(lattice.base[level - 2]), 1 << level - 2)
        ranks = rank + lattice.binomial[one, level - 1] + lattice.binomial[other, level]
        first = int(lattice.base[level]) + (ranks << level) + signs
        ones, others, both = pairs[:, one, one].T, pairs[:, other, other].T, pairs[:, one, other].T
        parent = found.rows[np.searchsorted(found.paths, number)] if path else self.table.totals
        not_one, not_other = 1 << level - 2, 1 << level - 1
        found.put(first, both)
        found.put(first + not_one, others - both)
        found.put(first + not_other, ones - both)
        found.put(first + not_one + not_other, parent - ones - others + both)


class _Found(NamedTuple):
    """The rows of paths, which are listed by number."""

    paths: Array
    rows: Array

    def put(self, numbers: Array, rows: Array) -> None:
        """Fill in the rows of some paths."""
        self.rows[np.searchsorted(self.paths, numbers)] = rows


@dataclass(frozen=True, slots=True)
class Reach:
    """What a form, linear in the rows of leaves, is on some paths at least and at most."""

    low: Array
    high: Array

    @classmethod
    def of(cls, weights: Array, constant: int, counts: Array, leaves: Array | int) -> "Reach":
        """Bound a form by its weights ``[label, group]`` and each path's rows and most leaves."""
        counts = counts.astype(weights.dtype)
        most = constant * np.asarray(leaves, weights.dtype)
        return cls(
            counts @ weights.min(axis=0) + np.minimum(constant, most),
            counts @ weights.max(axis=0) + np.maximum(constant, most),
        )

    def holds(self, values: Array) -> Array:
        """Tell which values are within."""
        return np.logical_and(self.low <= values, values <= self.high)


def check_inside(
    recount: Recount, costs: _core.Costs, units: range, paths: Array, arrays: dict[str, Array]
) -> None:
    """Raise `ValueError` unless arrays can be the inside pass of some first features.

    ``paths`` lists their paths by number: see `bounds.InsideStage`.
    """
    lattice, rows = recount.lattice, recount.rows(units, paths)
    exists = rows[:, costs.group_label >= 0].sum(axis=1) >= costs.minsup
    rows[~exists] = 0
    counts, least, splits = (arrays[name] for name in ("counts", "least", "splits"))
    require(is_array(counts, np.int64, *rows.shape) and np.array_equal(counts, rows))
    last = paths >= lattice.base[-1]
    rows, exists, shape = rows[last], exists[last], (len(costs.constants), int(last.sum()))
    require(is_array(least, np.int64, *shape) and is_array(splits, np.int64, *shape))
    for d, constant in enumerate(costs.constants.tolist()):
        weights, no_split = costs.weights[d], splits[d] == costs.infinity
        reach = Reach.of(weights, constant, rows, 1 << lattice.rest)
        require(np.where(exists, no_split | reach.holds(splits[d]), no_split).all())
        leaf = (rows @ weights.T + constant == least[d][:, None]).any(axis=1)
        cheaper = (least[d] <= splits[d]) & (leaf | (least[d] == splits[d]))
        require(np.where(exists, cheaper, least[d] == costs.infinity).all())


@dataclass(frozen=True, slots=True)
class PieceCheck:
    """What the tensors of some paths of a level must be like.

    Parameters
    ----------
    paths
        The live paths that may have cells, by number within the level.
    limbs, functionals
        Of each cell.
    """

    inputs: TensorInputs
    level: int
    paths: Array
    limbs: int
    functionals: int

    def check(self, piece: Piece) -> None:
        """Raise `ValueError` unless a piece can be these tensors."""
        n, wide = len(piece.keys), [2] if self.inputs.leaves.wide else []
        of_paths = piece.paths, piece.starts, piece.stops
        require(
            is_array(piece.keys, np.int64, n, *wide)
            and is_array(piece.values, np.uint64, n, self.limbs)
            and is_array(piece.costs, np.int64, n, self.functionals)
            and is_array(piece.scanned, np.int64, 1)
            and 0 <= piece.scanned[0] < _MOST_PAIRS
            and all(is_array(a, np.int64, len(piece.paths)) for a in of_paths)
            and len(np.unique(piece.paths)) == len(piece.paths)
            and np.isin(piece.paths, self.paths).all()
        )
        order = np.lexsort((piece.stops, piece.starts))
        paths, stops = piece.paths[order], piece.stops[order]
        # lists of cells that follow one another without gaps
        require(np.array_equal(piece.starts[order], np.r_[0, stops][:-1]))
        require((stops[-1] if len(stops) else 0) == n and (np.diff(stops, prepend=0) >= 0).all())
        self._check_order(piece, stops)
        self._check_reach(piece, paths, np.diff(stops, prepend=0))
        self._check_numbers(piece.values)

    def _check_order(self, piece: Piece, stops: Array) -> None:
        """Require lists that ascend by first cost, then by key."""
        ascends = precede(piece.keys[:-1], piece.keys[1:])
        if self.functionals:
            before, after = piece.costs[:-1, 0], piece.costs[1:, 0]
            ascends = (before < after) | ((before == after) & ascends)
        begins = stops[(stops > 0) & (stops < len(piece.keys))]
        ascends[begins - 1] = True
        require(ascends.all())

    def _check_reach(self, piece: Piece, paths: Array, lengths: Array) -> None:
        """Require keys and costs that trees on these rows can have, within budget."""
        inputs, leaves = self.inputs, self.inputs.leaves
        nodes = int(inputs.lattice.base[self.level]) + paths
        counts, most = inputs.counts[nodes], self._most_leaves(inputs.counts[nodes])
        weights: Array = leaves.key_weights
        if leaves.wide:
            words = weights.reshape(-1, 2)
            weights = np.array(key_integers(words), object).reshape(weights.shape[:2])
        reach = Reach.of(weights, leaves.key_constant, counts, most)
        low, high = (
            packed_keys(bound.tolist(), wide=leaves.wide).repeat(lengths, axis=0)
            for bound in (reach.low, reach.high)
        )
        require(not (precede(piece.keys, low) | precede(high, piece.keys)).any())
        for d in range(self.functionals):
            constant = int(leaves.cost_constants[d])
            reach = Reach.of(leaves.cost_weights[d], constant, counts, most)
            limit = np.minimum(reach.high, inputs.budgets[nodes, d])
            cell = Reach(reach.low.repeat(lengths), limit.repeat(lengths))
            require(cell.holds(piece.costs[:, d]).all())

    def _most_leaves(self, counts: Array) -> Array:
        """Bound the leaves below each path by the depth that is left and by its rows."""
        leaves, lattice = self.inputs.leaves, self.inputs.lattice
        most = min(leaves.most_leaves, 1 << (lattice.levels + lattice.rest - self.level))
        rows = counts[:, leaves.group_label >= 0].sum(axis=1)
        return np.asarray(np.minimum(most, np.maximum(1, rows // max(1, leaves.minsup))))

    def _check_numbers(self, values: Array) -> None:
        """Require numbers of trees: at least one, and no more than there are."""
        require((values != 0).any(axis=1).all())
        bits = self.inputs.most_trees(self.level).bit_length()
        for place in range(self.limbs):
            if (held := max(0, bits - _LIMB * place)) < _LIMB:
                require(not (values[:, place] >> np.uint64(held)).any())
