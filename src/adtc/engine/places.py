"""Places of a circuit: what lies below a path, and how a cell there is put together.

A cell of a place holds leaves, and splits whose children's cells add up to its key and fit its
budgets; both must be looked at, since keys of subtrees beyond a budget may mean another cell. The
levels that a circuit does not store are counted again when a place there is first opened.
"""

import itertools
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.engine.circuit import Circuit
from adtc.engine.kernels import bits
from adtc.engine.kernels import walk as kernels
from adtc.engine.wide import counts_of

Array = npt.NDArray[Any]
Literals = tuple[tuple[int, bool], ...]  # (feature, negative)
_NARROW = 2**62


@dataclass(frozen=True, slots=True)
class Lists:
    """The children's cells of a place, for every feature that splits it; side 0 is child 1.

    Parameters
    ----------
    features
        The distinct features, ascending.
    start, stop
        ``[at, side]``: the part of ``keys`` that belongs to a child.
    leaf
        ``[at, side, label]``: the keys of the child's leaves.
    keys, order
        Ascending within each part; ``order`` leads to the cell in ``values`` and ``costs``.
    """

    features: list[int]
    start: Array
    stop: Array
    leaf: Array
    keys: Array
    order: Array
    values: Array
    costs: Array

    def value(self, place: int) -> int:
        """Return the number of trees of the cell at a place of ``keys``."""
        limbs: list[int] = self.values[self.order[place]].tolist()
        if len(limbs) == 1:
            return limbs[0]
        return sum(limb << (64 * at) for at, limb in enumerate(limbs))

    @property
    def size(self) -> int:
        """Estimate the bytes held."""
        return self.start.nbytes + self.stop.nbytes + self.leaf.nbytes


@dataclass(frozen=True, slots=True)
class Choices:
    """The splits of a cell, by feature and then by the key of child 1.

    Parameters
    ----------
    at, ones, zeros
        Per choice the position of its feature and the places of its children's cells.
    until
        The number of trees up to and with each choice.
    """

    at: Array
    ones: Array
    zeros: Array
    until: Array | list[int]

    def parts(self, choice: int) -> tuple[int, int, int]:
        """Return a choice: the position of its feature, the places of its children's cells."""
        return self.at.item(choice), self.ones.item(choice), self.zeros.item(choice)

    def before(self, choice: int) -> int:
        """Count the trees of the choices before one."""
        return int(self.until[choice - 1]) if choice else 0

    def holding(self, rank: int) -> int:
        """Find the choice that holds the tree of a rank."""
        if isinstance(self.until, list):
            return bisect_right(self.until, rank)
        return int(self.until.searchsorted(rank, "right"))

    @property
    def size(self) -> int:
        """Estimate the bytes held."""
        return 64 * len(self.at) + 300


@dataclass(slots=True)
class Map:
    """All places of a circuit that have been visited, up to a bound on their memory."""

    circuit: Circuit
    most_bytes: int
    held: int = 0
    twins: Array = field(init=False)  # how many original features each distinct one stands for
    rows: Array = field(init=False)  # the words of all rows
    shifts: Array = field(init=False)  # per word what a bit counts, as a power of two
    _stored: dict[tuple[int, int], "Place"] = field(default_factory=dict)
    _sorted: list[tuple[Array, Array, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        ground = self.circuit.ground
        table = ground.table
        self.twins = ground.features.multiplicity
        widths = np.diff(table.offsets)
        self.shifts = np.repeat(table.plane_shift, widths)
        self.rows = np.full(int(table.offsets[-1]), 2**64 - 1, np.uint64)
        for rows, stop in zip(table.rows.tolist(), table.offsets[1:].tolist(), strict=True):
            if rows % 64:
                self.rows[stop - 1] = (1 << (rows % 64)) - 1
        for level in self.circuit.levels:
            # filled part by part, as paths are visited; untouched memory costs nothing
            cells = len(level.cells.keys)
            done = np.zeros(len(level.starts), bool)
            self._sorted.append((np.empty(cells, np.int64), np.empty(cells, np.int64), done))

    def root(self) -> "Place":
        """Return the place of whole trees; forget the others if they hold too much."""
        if self.held > self.most_bytes:
            self._stored.clear()
            self.held = 0
        if (0, 0) not in self._stored:
            ground, outside = self.circuit.ground, self.circuit.outside
            leaf = np.empty(len(ground.leaves.key_weights), np.int64)
            kernels.leaf_keys(ground.inside.counts[0], ground.leaves, outside.budgets[0], leaf)
            return self.stored(0, 0, (), leaf)
        return self._stored[0, 0]

    def stored(self, level: int, number: int, path: Literals, leaf: Array) -> "Place":
        """Return the place of a numbered path."""
        found = self._stored.get((level, number))
        if found is None:
            last = level == self.circuit.ground.lattice.levels
            kind = LastPlace if last else UpperPlace
            node = int(self.circuit.ground.lattice.base[level]) + number
            found = kind(self, leaf.tolist(), self.circuit.outside.budgets[node], number, path)
            self._stored[level, number] = found
        return found

    def sorted_cells(self, level: int, numbers: Array) -> tuple[Array, Array]:
        """Sort the cells of some paths of a level by key, once; return keys and order."""
        keys, order, done = self._sorted[level]
        stored = self.circuit.levels[level]
        for number in numbers[~done[numbers]].tolist():
            part = slice(int(stored.starts[number]), int(stored.stops[number]))
            by_key = np.argsort(stored.cells.keys[part])
            keys[part] = stored.cells.keys[part][by_key]
            order[part] = by_key + part.start
            done[number] = True
        return keys, order


class Place:
    """A path, or the end of one; this one has nothing below it but a leaf."""

    __slots__ = ("_choices", "_lists", "budgets", "leaf", "map", "number", "path")

    def __init__(
        self, map: Map, leaf: list[int], budgets: Array, number: int = 0, path: Literals = ()
    ) -> None:
        self.map, self.leaf, self.budgets, self.number, self.path = map, leaf, budgets, number, path
        self._lists: Lists | None = None
        self._choices: dict[int, Choices] = {}

    def labels(self, key: int) -> list[int]:
        """List the labels of the leaves with a key."""
        return [label for label, here in enumerate(self.leaf) if here == key]

    @property
    def lists(self) -> Lists:
        """Return the children's cells."""
        if self._lists is None:
            self._lists = self._open()
            self.map.held += self._lists.size
        return self._lists

    def choices(self, key: int) -> Choices:
        """Return the splits of a cell."""
        found = self._choices.get(key)
        if found is None:
            lists = self.lists
            at, ones, zeros = kernels.match(
                lists.start, lists.stop, lists.keys, lists.order, lists.costs, self.budgets, key
            )
            found = Choices(at, ones, zeros, self._until(at, ones, zeros))
            self._choices[key] = found
            self.map.held += found.size
        return found

    def trivial(self, choices: Choices, choice: int) -> list[int]:
        """List the pairs of a choice that are leaves of one label, ascending.

        A pair of the child trees r1 and r0 has the number r1 · (trees of child 0) + r0.
        """
        if self.map.circuit.ground.leaves.trivial_splits:
            return []
        lists, at, zero = self.lists, choices.at[choice], choices.zeros[choice]
        ones = np.flatnonzero(lists.leaf[at, 0] == lists.keys[choices.ones[choice]]).tolist()
        zeros = np.flatnonzero(lists.leaf[at, 1] == lists.keys[zero]).tolist()
        width = lists.value(zero)
        return [r1 * width + zeros.index(label) for r1, label in enumerate(ones) if label in zeros]

    def child(self, at: int, side: int) -> "Place":
        """Return the place of a child."""
        raise LookupError("there is nothing below a leaf")

    def _open(self) -> Lists:
        return _nothing(len(self.leaf), len(self.budgets))

    def _until(self, at: Array, ones: Array, zeros: Array) -> Array | list[int]:
        """Add up the trees of the choices, in words if they surely fit."""
        lists = self.lists
        if not len(at):
            return []
        twins = self.map.twins[np.array(lists.features)[at]]
        trivial = self._trivial_pairs(at, ones, zeros)
        values1, values0 = lists.values[lists.order[ones]], lists.values[lists.order[zeros]]
        if values1.shape[1] == 1:
            largest = int(values1.max()) * int(values0.max()) * int(twins.max())
            if largest * len(at) < _NARROW:
                pairs = values1[:, 0].astype(np.int64) * values0[:, 0].astype(np.int64)
                until: Array = np.cumsum((pairs - trivial) * twins)
                return until
        columns = (counts_of(values1), counts_of(values0), trivial.tolist(), twins.tolist())
        return list(
            itertools.accumulate((a * b - t) * n for a, b, t, n in zip(*columns, strict=True))
        )

    def _trivial_pairs(self, at: Array, ones: Array, zeros: Array) -> Array:
        """Count for each choice the pairs of leaves of equal label."""
        if self.map.circuit.ground.leaves.trivial_splits:
            return np.zeros(len(at), np.int64)
        lists = self.lists
        leaf1 = lists.leaf[at, 0] == lists.keys[ones][:, np.newaxis]
        leaf0 = lists.leaf[at, 1] == lists.keys[zeros][:, np.newaxis]
        trivial: Array = (leaf1 & leaf0).sum(axis=1)
        return trivial


class UpperPlace(Place):
    """A path above the last level: the circuit stores its children's cells."""

    __slots__ = ("_below",)

    def _open(self) -> Lists:
        circuit, level = self.map.circuit, len(self.path)
        ground, below = circuit.ground, circuit.levels[level + 1]
        features, self._below, start, stop, leaf = kernels.children(
            np.int64(level), np.int64(self.number), np.int64(len(self.map.twins)), ground.lattice,
            ground.leaves, circuit.outside.live, ground.inside.counts, circuit.outside.budgets,
            below.starts, below.stops,
        )  # fmt: skip
        keys, order = self.map.sorted_cells(level + 1, self._below.reshape(-1))
        cells = below.cells
        return Lists(features.tolist(), start, stop, leaf, keys, order, cells.values, cells.costs)

    def child(self, at: int, side: int) -> Place:
        """Return the place of a child."""
        lists = self.lists
        path = (*self.path, (lists.features[at], bool(side)))
        number = int(self._below[at, side])
        return self.map.stored(len(path), number, path, lists.leaf[at, side])


class LastPlace(Place):
    """A path of the last level: the trees below it have depth at most 2."""

    __slots__ = (
        "_children",
        "_features",
        "_left",
        "_pairs",
        "_slots",
        "_splitting",
        "_totals",
    )

    def _open(self) -> Lists:
        ground = self.map.circuit.ground
        node = int(ground.lattice.base[len(self.path)]) + self.number
        self._totals = ground.inside.counts[node]
        self._children: dict[tuple[int, int], Place] = {}
        if ground.lattice.rest == 0:
            return _nothing(len(self.leaf), len(self.budgets))
        features = self._count_pairs()
        splitting, self._slots, keys, values, costs, start, stop, leaf, self._left = kernels.close(
            self._pairs, self._totals, features, np.int64(ground.lattice.rest), ground.table,
            ground.leaves, self.map.twins, self.budgets,
        )  # fmt: skip
        self._splitting, self._features = splitting, features
        part = np.repeat(np.arange(start.size), (stop - start).reshape(-1))
        order = np.lexsort((keys, part))
        self.map.held += self._pairs.nbytes + 4 * keys.nbytes + costs.nbytes
        chosen = features[self._slots].tolist()
        return Lists(chosen, start, stop, leaf, keys[order], order, values, costs)

    def _count_pairs(self) -> Array:
        """Count the path's rows for all pairs of features that split it; return these."""
        ground = self.map.circuit.ground
        table, minsup = ground.table, ground.leaves.minsup
        mask = self.map.rows
        for f, negative in self.path:
            mask = mask & (~table.words[f] if negative else table.words[f])
        on_path = [f for f, _ in self.path]
        free = np.delete(np.arange(len(table.words)), on_path)
        words = table.words[free] & mask
        ones = (np.bitwise_count(words).astype(np.int64) << self.map.shifts).sum(axis=1)
        splits = (ones >= minsup) & (ones <= int(self._totals.sum()) - minsup)
        words = np.ascontiguousarray(words[splits])
        n = len(words)
        self._pairs = np.zeros((len(self._totals), n, n), table.pairs.dtype)
        bits.count_pairs(words, n, table.offsets, table.plane_group, table.plane_shift, self._pairs)
        chosen: Array = free[splits]
        return chosen

    def child(self, at: int, side: int) -> Place:
        """Return the place of a child."""
        found = self._children.get((at, side))
        if found is None:
            leaf, left = self.lists.leaf[at, side].tolist(), self._left[at, side]
            deep = self.map.circuit.ground.lattice.rest > 1
            found = SidePlace(self, at, side, leaf, left) if deep else Place(self.map, leaf, left)
            self._children[at, side] = found
        return found

    def leaf_pairs(self, at: int, side: int) -> Lists:
        """List the leaves below each other feature on one side of a feature."""
        slot, ground = self._slots[at], self.map.circuit.ground
        chosen, leaf, keys, values, costs, filled = kernels.leaf_pairs(
            self._pairs, self._totals, self._splitting, slot, np.int64(1 - side), ground.leaves
        )
        start = np.arange(filled.size).reshape(filled.shape) * keys.shape[2]
        features = self._features[self._splitting[chosen]].tolist()
        self.map.held += 3 * keys.nbytes + costs.nbytes
        return Lists(
            features, start, start + filled, leaf, keys.reshape(-1), np.arange(keys.size),
            values.reshape(-1, 1), costs.reshape(keys.size, -1),
        )  # fmt: skip


class SidePlace(Place):
    """One side of a feature below a path of the last level: leaves and stumps."""

    __slots__ = ("_at", "_parent", "_side")

    def __init__(
        self, parent: LastPlace, at: int, side: int, leaf: list[int], budgets: Array
    ) -> None:
        super().__init__(parent.map, leaf, budgets)
        self._parent, self._at, self._side = parent, at, side

    def _open(self) -> Lists:
        return self._parent.leaf_pairs(self._at, self._side)

    def child(self, at: int, side: int) -> Place:
        """Return the place of a child."""
        return Place(self.map, self.lists.leaf[at, side].tolist(), self.budgets)


def _nothing(labels: int, functionals: int) -> Lists:
    """Make the lists of a place that cannot be split."""
    none = np.zeros((0, 2), np.int64)
    return Lists(
        [], none, none, np.zeros((0, 2, labels), np.int64), np.zeros(0, np.int64),
        np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, functionals), np.int64),
    )  # fmt: skip
