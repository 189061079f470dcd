"""Trees that begin like a partial tree: how many are good, and how they can go on.

A partial tree is a leaf, a split into two partial trees, or open (None). Tensors are made anew
along its fixed splits alone; below an open place stands the circuit's own (`src/core/partial.h`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.trees import Leaf, Split, Tree
from adtc.engine.circuit import Circuit, core_circuit
from adtc.engine.exact.limbs import counts_of, total_of
from adtc.engine.plan.keys import Keys

Position = tuple[int, int, int]  # a path of the circuit, and up to two literals below it
Order = npt.NDArray[np.int64]  # the places of root cells in an order, or LAST
LAST = np.iinfo(np.int64).max  # the place of cells that have none
_ROOT: Position = (0, -1, -1)


@dataclass(frozen=True, slots=True)
class Fork:
    """A fixed split: rows with the feature go to ``t1``, the others to ``t0``."""

    feature: int
    t1: "Partial"
    t0: "Partial"


Partial: TypeAlias = Leaf | Fork | None  # None: open


def places(tree: Partial, address: str = "") -> Iterator[tuple[str, Partial]]:
    """Yield all places of a partial tree with their addresses, child 1 first.

    Examples
    --------
    >>> [address for address, part in places(Fork(3, None, Leaf(0))) if part is None]
    ['1']
    """
    yield address, tree
    if isinstance(tree, Fork):
        yield from places(tree.t1, address + "1")
        yield from places(tree.t0, address + "0")


def replaced(tree: Partial, address: str, part: Partial) -> Partial:
    """Put another part at an address."""
    if not address:
        return part
    assert isinstance(tree, Fork)
    if address[0] == "1":
        return Fork(tree.feature, replaced(tree.t1, address[1:], part), tree.t0)
    return Fork(tree.feature, tree.t1, replaced(tree.t0, address[1:], part))


def finished(tree: Partial) -> Tree:
    """Return a partial tree without open places as a tree."""
    if isinstance(tree, Fork):
        return Split(tree.feature, finished(tree.t1), finished(tree.t0))
    assert tree is not None
    return tree


class Around(NamedTuple):
    """What surrounds a place: its parent's position and context, and its sibling's trees."""

    at: Position
    context: _core.TreeContext
    sibling: _core.TreeList


class Beginnings:
    """Counts the trees of some root cells that begin like a partial tree.

    Parameters
    ----------
    keys
        The root cells, by key.
    """

    def __init__(self, circuit: Circuit, keys: Keys) -> None:
        self.keys = keys
        self.twins = circuit.prepared.features.twins
        self.labels = circuit.prepared.plan.question.schema.labels
        self.behind = {
            twin.feature: (f, twin.flipped) for f, twins in enumerate(self.twins) for twin in twins
        }
        limbs = max(1, -(-total_of(circuit.root.values).bit_length() // 64))
        self._core = _core.PartialTrees(core_circuit(circuit), limbs)
        self._context = self._in_order(np.empty(0, np.int64))
        self._ordered: tuple[Order, _core.TreeContext] | None = None
        self._lists: dict[tuple[Position, Partial], _core.TreeList] = {}

    def count(self, tree: Partial) -> int:
        """Count the good trees that begin like this."""
        return _number(self._core.count(self._context, self._list(_ROOT, tree)))

    def cells(self, tree: Partial) -> npt.NDArray[np.uint64]:
        """Count them by root cell, in limbs."""
        counts: npt.NDArray[np.uint64] = self._core.counts_of(
            self._list(_ROOT, tree), np.ascontiguousarray(self.keys)
        )
        return counts

    def splits(self, tree: Partial, address: str) -> dict[int, int]:
        """Count, for each feature, the good trees that test it at an open place."""
        features, counts = self._core.split_counts(*self._open(tree, address, self._context))
        pairs = zip(features.tolist(), counts_of(counts) if len(features) else [], strict=True)
        return {twin.feature: n for f, n in pairs for twin in self.twins[f]}

    def leaves(self, tree: Partial, address: str) -> dict[int, int]:
        """Count, for each label, the good trees that have a leaf with it at an open place."""
        counts = {
            label: _number(self._core.count(context, leaf))
            for label, leaf, context in self._labelled(tree, address, self._context)
        }
        return {label: n for label, n in counts.items() if n}

    def first(self, tree: Partial, order: Order) -> int:
        """Find the first place in an order of a good tree that begins like this, or ``LAST``."""
        return self._core.least_rank(self._ranked(order), self._list(_ROOT, tree))

    def first_splits(self, tree: Partial, address: str, order: Order) -> dict[int, int]:
        """Find it for each feature that may be tested at an open place."""
        found = self._core.split_ranks(*self._open(tree, address, self._ranked(order)))
        pairs = zip(*(column.tolist() for column in found), strict=True)
        return {twin.feature: place for f, place in pairs for twin in self.twins[f]}

    def first_leaves(self, tree: Partial, address: str, order: Order) -> dict[int, int]:
        """Find it for each label of a leaf at an open place."""
        return {
            label: self._core.least_rank(context, leaf)
            for label, leaf, context in self._labelled(tree, address, self._ranked(order))
        }

    def forget(self, tree: Partial) -> None:
        """Forget what is no part of a tree."""
        kept: set[tuple[Position, Partial]] = set()
        self._walk(_ROOT, tree, kept)
        self._lists = {key: value for key, value in self._lists.items() if key in kept}

    def _walk(self, at: Position, tree: Partial, kept: set[tuple[Position, Partial]]) -> None:
        kept.add((at, tree))
        if isinstance(tree, Fork):
            for child, part in self._children(at, tree).items():
                self._walk(child, part, kept)

    def _children(self, at: Position, tree: Fork) -> Mapping[Position, Partial]:
        """Place the two children of a fixed split, child 1 first."""
        f, flipped = self.behind[tree.feature]
        return {
            self._core.child(at, f, flipped): tree.t1,
            self._core.child(at, f, not flipped): tree.t0,
        }

    def _list(self, at: Position, tree: Partial) -> Any:
        """List the trees at a place that begin like a partial tree."""
        found = self._lists.get((at, tree))
        if found is None:
            if tree is None:
                found = self._core.every(at)
            elif isinstance(tree, Leaf):
                found = self._core.leaf(at, tree.label)
            else:
                one, zero = (self._list(*child) for child in self._children(at, tree).items())
                found = self._core.join(at, one, zero)
            self._lists[at, tree] = found
        return found

    def _in_order(self, order: Order) -> _core.TreeContext:
        return self._core.root(np.ascontiguousarray(self.keys), order)

    def _ranked(self, order: Order) -> _core.TreeContext:
        """Return the root's context with its cells in an order; that of the last one is kept."""
        if self._ordered is None or self._ordered[0] is not order:
            self._ordered = (order, self._in_order(order))
        return self._ordered[1]

    def _open(
        self, tree: Partial, address: str, context: _core.TreeContext
    ) -> tuple[Position, _core.TreeContext]:
        """Find an open place, and the context of its splits."""
        at, around = self._descend(tree, address, context)
        if around is None:
            return at, context
        every = self._list(at, None)
        return at, self._core.below(around.at, around.context, every, around.sibling)

    def _labelled(
        self, tree: Partial, address: str, context: _core.TreeContext
    ) -> Iterator[tuple[int, _core.TreeList, _core.TreeContext]]:
        """List the leaf with each label at an open place, and give its context."""
        at, around = self._descend(tree, address, context)
        for label in range(self.labels):
            leaf = self._core.leaf(at, label)
            if around is None:
                yield label, leaf, context
            else:
                # the order does not matter: splits into equal leaves are told by their labels
                joined = self._core.join(around.at, leaf, around.sibling)
                yield label, joined, around.context

    def _descend(
        self, tree: Partial, address: str, context: _core.TreeContext
    ) -> tuple[Position, Around | None]:
        """Find a place and what surrounds it; nothing surrounds the root."""
        at, around = _ROOT, None
        for step, turn in enumerate(address):
            assert isinstance(tree, Fork)
            (one, t1), (zero, t0) = self._children(at, tree).items()
            here, there = ((one, t1), (zero, t0)) if turn == "1" else ((zero, t0), (one, t1))
            around = Around(at, context, self._list(*there))
            at, tree = here
            if step + 1 < len(address):  # inside, where the child is a split
                context = self._core.below(around.at, context, self._list(*here), around.sibling)
        return at, around


def _number(limbs: list[int]) -> int:
    return sum(limb << (64 * place) for place, limb in enumerate(limbs))
