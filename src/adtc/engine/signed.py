"""Walks over the trees that a space admits by all their tests, as signed sums over their parts.

Each class answers as the one of `uses` or `partial` that it is named after, from several circuits.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from adtc.algebra.trees import Leaf, Tree
from adtc.data import Data
from adtc.engine.admitted import Part, admitted_parts
from adtc.engine.circuit import Circuit
from adtc.engine.exact.limbs import Limbs, counts_of, limbs_of
from adtc.engine.monitor import Monitor
from adtc.engine.partial import (
    LAST,
    Beginnings,
    Fork,
    Order,
    Partial,
    finished,
    places,
    replaced,
)
from adtc.engine.plan.keys import Keys
from adtc.engine.uses import Levels, Uses

K = TypeVar("K", bound=Hashable)


class SignedUses:
    """Asks which variables the admitted trees test."""

    def __init__(self, parts: Sequence[Part], data: Data, levels: int, monitor: Monitor) -> None:
        self.data, self.levels = data, levels
        self._parts = [(p.times, Uses(p.circuit, data, p.keys, monitor)) for p in parts]
        self.names = tuple(dict.fromkeys(feature.column for feature in data.features))

    def without(self, lanes: Sequence[tuple[frozenset[str], Levels]]) -> list[int]:
        """Count, for each lane, the trees that test none of its variables on any of its levels."""
        total = [0] * len(lanes)
        for times, uses in self._parts:
            # where features run out, a circuit has fewer levels
            own = [(names, _below(levels, uses.levels)) for names, levels in lanes]
            pairs = zip(total, uses.without(own), strict=True)
            total = [sum_so_far + times * n for sum_so_far, n in pairs]
        return total

    def minimal_sets(self) -> list[frozenset[str]]:
        """Find the minimal sets of variables that some tree manages with, small ones first."""
        if len(self._parts) == 1:
            return self._parts[0][1].minimal_sets()
        sets = self.by_set()
        place = {name: at for at, name in enumerate(self.names)}
        minimal = [s for s in sets if not any(other < s for other in sets)]
        return sorted(minimal, key=lambda s: (len(s), sorted(place[n] for n in s)))

    def by_set(self) -> dict[frozenset[str], int]:
        """Count the trees by the set of variables they use."""
        total: Counter[frozenset[str]] = Counter()
        for times, uses in self._parts:
            _add(total, times, uses.by_set().get(0, {}).items())
        return {names: n for names, n in total.items() if n}


class SignedBeginnings:
    """Counts the admitted trees of some root cells that begin like a partial tree.

    Parameters
    ----------
    cells
        How many root cells there are.
    """

    def __init__(self, parts: Sequence[Part], cells: int) -> None:
        self._n_cells = cells
        self._parts = [(p, Beginnings(p.circuit, p.keys)) for p in parts]

    @classmethod
    def of(cls, circuit: Circuit, keys: Keys) -> "SignedBeginnings":
        """Take the admitted trees of some root cells, given by key."""
        return cls(admitted_parts(circuit, keys, Monitor()), len(keys))

    def count(self, tree: Partial) -> int:
        """Count the good trees that begin like this."""
        return sum(part.times * one.count(tree) for part, one in self._with(tree))

    def cells(self, tree: Partial) -> Limbs:
        """Count them by root cell, in limbs."""
        if len(self._parts) == 1:
            return self._parts[0][1].cells(tree)
        total = [0] * self._n_cells
        for part, one in self._with(tree):
            for cell, n in zip(part.chosen.tolist(), counts_of(one.cells(tree)), strict=True):
                total[cell] += part.times * n
        return limbs_of(total)

    def splits(self, tree: Partial, address: str) -> dict[int, int]:
        """Count, for each feature, the good trees that test it at an open place."""
        total: Counter[int] = Counter()
        for part, one in self._with(tree):
            _add(total, part.times, one.splits(tree, address).items())
        return {f: n for f, n in total.items() if n}

    def leaves(self, tree: Partial, address: str) -> dict[int, int]:
        """Count, for each label, the good trees that have a leaf with it at an open place."""
        total: Counter[int] = Counter()
        for part, one in self._with(tree):
            _add(total, part.times, one.leaves(tree, address).items())
        return {label: n for label, n in total.items() if n}

    def first(self, tree: Partial, order: Order) -> int:
        """Find the first place in an order of a good tree that begins like this, or ``LAST``."""
        if (only := self._only) is not None:
            return only.first(tree, order)
        there = self.cells(tree).any(axis=1)
        return int(order[there].min(initial=LAST))

    def first_splits(self, tree: Partial, address: str, order: Order) -> dict[int, int]:
        """Find it for each feature that good trees test at an open place."""
        if (only := self._only) is not None:
            return only.first_splits(tree, address, order)
        ways = {f: Fork(f, None, None) for f in self.splits(tree, address)}
        return {f: self.first(replaced(tree, address, way), order) for f, way in ways.items()}

    def first_leaves(self, tree: Partial, address: str, order: Order) -> dict[int, int]:
        """Find it for each label that good trees have a leaf with at an open place."""
        if (only := self._only) is not None:
            return only.first_leaves(tree, address, order)
        ways = {label: Leaf(label) for label in self.leaves(tree, address)}
        return {c: self.first(replaced(tree, address, way), order) for c, way in ways.items()}

    def nth(self, tree: Partial, number: int) -> Tree:
        """Return a good tree that begins like this, given its number, 0 … count − 1.

        Open places are filled one after another by the way that this tree goes.
        """
        while (address := _first_open(tree)) is not None:
            ways: list[tuple[Partial, int]] = [
                *((Leaf(c), n) for c, n in self.leaves(tree, address).items()),
                *((Fork(f, None, None), n) for f, n in self.splits(tree, address).items()),
            ]
            for part, n in ways:
                if number < n:
                    tree = replaced(tree, address, part)
                    break
                number -= n
            else:
                raise IndexError(number)
            self.forget(tree)
        return finished(tree)

    def forget(self, tree: Partial) -> None:
        """Forget what is no part of a tree."""
        for _, one in self._with(tree):
            one.forget(tree)

    @property
    def _only(self) -> Beginnings | None:
        """The only part, if it has all cells; a sum with signs has no first tree."""
        part, one = self._parts[0] if len(self._parts) == 1 else (None, None)
        return one if part is not None and len(part.chosen) == self._n_cells else None

    def _with(self, tree: Partial) -> list[tuple[Part, Beginnings]]:
        """Return the parts that have the features of a partial tree."""
        tested = {part.feature for _, part in places(tree) if isinstance(part, Fork)}
        return [(part, one) for part, one in self._parts if tested <= one.behind.keys()]


def _first_open(tree: Partial) -> str | None:
    return next((address for address, part in places(tree) if part is None), None)


def _add(total: Counter[K], times: int, items: Iterable[tuple[K, int]]) -> None:
    for key, n in items:
        total[key] += times * n


def _below(levels: Levels, bound: int) -> Levels:
    return None if levels is None else [level for level in levels if level < bound]
