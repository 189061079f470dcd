"""Single trees of a posterior: drawn, the most probable one, and the probability of a given one.

A tree is followed from the root: the core weighs what each node may become, and the weights are
compared as whole numbers, so that a drawn tree follows them exactly. A leaf shows the class that is
most probable there.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf, Split, Tree
from adtc.algebra.trees import size as tree_size
from adtc.algebra.uniform import uniform_below
from adtc.engine.bayes.posterior import TreeSums, Weight
from adtc.engine.lattice import Path

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_KEPT = 4096  # nodes whose weights are kept
_DIGITS = 53


@dataclass(frozen=True)
class Node:
    """What the node of a path may become; place 0 is a leaf, others are splits.

    Parameters
    ----------
    splits
        For each place after the first: the distinct feature, and the leaves on its side 1.
    factor
        The prior probability of each single split.
    """

    weights: tuple[Weight, ...]
    splits: tuple[tuple[int, int], ...]
    factor: float

    @cached_property
    def until(self) -> list[int]:
        """Return the running sums of the weights as whole numbers of one unit."""
        least = min(w.exponent for w in self.weights if w.digits)
        scaled = (int(w.digits * 2**_DIGITS) << max(0, w.exponent - least) for w in self.weights)
        return list(accumulate(scaled))

    def drawn(self, rng: np.random.Generator) -> int:
        """Draw a place, each with the probability that its weight has among all."""
        return bisect_right(self.until, uniform_below(rng, self.until[-1]))

    def best(self) -> int:
        """Return the place of the largest weight; ties: the first."""
        order = [(w.exponent, w.digits) if w.digits else (-np.inf, 0.0) for w in self.weights]
        return order.index(max(order))


class LikelyTrees:
    """The trees below the root, with their weights."""

    def __init__(self, sums: TreeSums) -> None:
        self.sums = sums
        self.node = lru_cache(_KEPT)(self._node)
        self.leaf = lru_cache(_KEPT)(self._leaf)
        self._place = {
            twin.feature: (f, twin.flipped)
            for f, twins in enumerate(sums.features.twins)
            for twin in twins
        }

    def draw(self, rng: np.random.Generator) -> Tree:
        """Draw a tree with its posterior probability."""

        def twin(f: int) -> int:
            return uniform_below(rng, len(self.sums.features.twins[f]))

        return self._grow((), self._size(best=False, rng=rng), lambda n: n.drawn(rng), twin, False)

    def most_probable(self) -> Tree:
        """Find the tree of the largest posterior probability."""
        return self._grow((), self._size(best=True, rng=None), Node.best, lambda f: 0, True)

    def weight(self, tree: Tree) -> Weight:
        """Multiply prior and evidence of a tree, whatever its leaves' labels; 0 if there is none.

        A tree that is not in the space has the weight 0.
        """
        sums = self.sums
        if sums.most_leaves and tree_size(tree) > sums.most_leaves:
            return Weight()
        return self._weigh(tree, ())

    def _weigh(self, tree: Tree, path: Path) -> Weight:
        if isinstance(tree, Leaf):
            return self.node(path, 1 if self.sums.most_leaves else 0, False).weights[0]
        f, flipped = self._place.get(tree.feature, (-1, False))
        if f < 0 or any(f == on for on, _ in path) or len(path) >= self.sums.max_depth:
            return Weight()
        one, zero = (self._extend(path, f, negative) for negative in (False, True))
        if min(int(self._rows(side).sum()) for side in (one, zero)) < self.sums.minsup:
            return Weight()
        t1, t0 = (tree.t0, tree.t1) if flipped else (tree.t1, tree.t0)
        node = self.node(path, 1 if self.sums.most_leaves else 0, False)
        return self._weigh(t1, one) * self._weigh(t0, zero) * node.factor

    def _grow(
        self,
        path: Path,
        size: int,
        pick: Callable[[Node], int],
        twin: Callable[[int], int],
        best: bool,
    ) -> Tree:
        """Follow the choices from a path down to the leaves."""
        if len(path) == self.sums.depth or size == 1:
            return self.leaf(path)
        node = self.node(path, size, best)
        place = pick(node)
        if place == 0:
            return self.leaf(path)
        f, ones = node.splits[place - 1]
        chosen = self.sums.features.twins[f][twin(f)]
        t1, t0 = (
            self._grow(self._extend(path, f, negative), leaves, pick, twin, best)
            for negative, leaves in ((False, ones if size else 0), (True, size and size - ones))
        )
        return Split(chosen.feature, t0, t1) if chosen.flipped else Split(chosen.feature, t1, t0)

    def _size(self, *, best: bool, rng: np.random.Generator | None) -> int:
        """Choose the number of leaves first where it is limited; 0 where it is not."""
        up = self.sums.up
        if not self.sums.most_leaves:
            return 0
        digits, exponents = up.best() if best else up.total(0)
        sizes = Node(_weights(digits, exponents), (), 0.0)
        return 1 + (sizes.best() if rng is None else sizes.drawn(rng))

    def _node(self, path: Path, size: int, best: bool) -> Node:
        sums = self.sums
        features = np.array([f for f, _ in path], np.int64)
        negative = np.array([sign for _, sign in path], bool)
        (digits, exponents), valid = sums.up.choices(features, negative, size, best)
        width = max(1, sums.most_leaves)
        places = np.flatnonzero(digits[1:])
        splits = tuple((int(p) // width, 1 + int(p) % width) for p in places)
        chosen = np.concatenate([[0], 1 + places])
        return Node(_weights(digits[chosen], exponents[chosen]), splits, self._factor(path, valid))

    def _factor(self, path: Path, valid: int) -> float:
        """Return the prior probability of each split at a path."""
        prior = self.sums.prior
        if prior.name == "flat":
            return 1.0
        among = self.sums.n_features if prior.name == "bcart-all" else max(1, valid)
        return float(self._splits[len(path)]) / among

    @cached_property
    def _splits(self) -> list[float]:
        splits: list[float] = self.sums.prior.chances(self.sums.max_depth)[1].tolist()
        return splits

    def _leaf(self, path: Path) -> Leaf:
        """Make the leaf of a path; its label is the most probable class, on ties the first."""
        return Leaf(int(np.argmax(self._rows(path) + np.array(self.sums.prior.rho))))

    def _rows(self, path: Path) -> npt.NDArray[Any]:
        """Count the rows of a path by label."""
        data = self.sums.data
        on = np.ones(data.n_rows, bool)
        for f, negative in path:
            on &= self.sums.features.columns[f] != negative
        return np.bincount(data.y[on], weights=data.weights[on], minlength=len(data.labels))

    @staticmethod
    def _extend(path: Path, f: int, negative: bool) -> Path:
        return tuple(sorted((*path, (f, negative))))


def _weights(digits: Floats, exponents: Ints) -> tuple[Weight, ...]:
    return tuple(map(Weight.of, digits.tolist(), exponents.tolist()))
