"""The nodes of a tree in preorder, each with the rows of the table that reach it, by class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf, Split, Tree


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a tree.

    Parameters
    ----------
    number
        Place in preorder, child 1 before child 0; the root is 0.
    parent, branch
        The node above, and the value of its test that leads here; None at the root.
    feature
        Position of the feature that is tested; None at a leaf.
    label, leaf
        Position of the label predicted and the leaf's number from the left; None at a split.
    counts
        Rows of each class that reach the node, by weight.
    """

    number: int
    parent: int | None
    branch: bool | None
    depth: int
    feature: int | None
    label: int | None
    leaf: int | None
    counts: tuple[int, ...]

    @property
    def support(self) -> int:
        """Count the rows that reach the node."""
        return sum(self.counts)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Return the share of each class; where no row arrives, all goes to a leaf's label."""
        total = self.support
        if total:
            return tuple(Fraction(n, total) for n in self.counts)
        return tuple(Fraction(k == self.label) for k in range(len(self.counts)))


def leaf_counts(
    leaves: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    shape: tuple[int, int],
) -> list[tuple[int, ...]]:
    """Sum the weights per leaf and class; ``shape`` is the number of leaves and of classes."""
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (leaves, labels), weights)
    return [tuple(row) for row in counts.tolist()]


def nodes_of(tree: Tree, at_leaves: Sequence[Sequence[int]]) -> tuple[Node, ...]:
    """List the nodes in preorder; counts come from the leaves, in the order of `paths`.

    Examples
    --------
    >>> [n.counts for n in nodes_of(Split(0, Leaf(1), Leaf(0)), [(1, 2), (3, 0)])]
    [(4, 2), (1, 2), (3, 0)]
    """
    rest = iter(enumerate(at_leaves))
    return tuple(_preorder(tree, 0, (None, None, 0), rest))


def _preorder(
    tree: Tree,
    number: int,
    place: tuple[int | None, bool | None, int],
    rest: Iterator[tuple[int, Sequence[int]]],
) -> list[Node]:
    """List a subtree; ``place`` is its root's parent, branch and depth."""
    if isinstance(tree, Leaf):
        leaf, counts = next(rest)
        return [Node(number, *place, None, tree.label, leaf, tuple(counts))]
    below: list[Node] = []
    sums: list[tuple[int, ...]] = []
    for child, value in ((tree.t1, True), (tree.t0, False)):
        first = number + 1 + len(below)
        nodes = _preorder(child, first, (number, value, place[2] + 1), rest)
        sums.append(nodes[0].counts)
        below += nodes
    counts = tuple(a + b for a, b in zip(*sums, strict=True))
    return [Node(number, *place, tree.feature, None, None, counts), *below]


def renumbered(tree: Tree, place: dict[int, int]) -> Tree:
    """Give the features new numbers."""
    if isinstance(tree, Leaf):
        return tree
    return Split(place[tree.feature], renumbered(tree.t1, place), renumbered(tree.t0, place))
