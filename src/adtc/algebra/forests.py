"""Many trees as flat arrays, as kernels read and write them.

A tree is the list of its nodes in preorder, child 1 before child 0: the number of a feature, or
−1 − label for a leaf.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.trees import Leaf, Split, Tree

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees, one behind the other.

    Parameters
    ----------
    starts
        ``[tree + 1]``: where each tree begins in ``codes``, and where the last one ends.
    codes
        ``[node]``: the number of a feature, or −1 − label for a leaf.

    Examples
    --------
    >>> forest = Forest.of([Split(3, Leaf(1), Leaf(0)), Leaf(2)])
    >>> forest.codes.tolist(), forest.trees()[1]
    ([3, -2, -1, -3], Leaf(label=2))
    """

    starts: Codes
    codes: Codes

    @classmethod
    def of(cls, trees: Iterable[Tree]) -> "Forest":
        """Write trees as codes."""
        codes: list[int] = []
        starts = [0]
        for tree in trees:
            _write(tree, codes)
            starts.append(len(codes))
        return cls(np.array(starts, np.int64), np.array(codes, np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Codes:
        """Count the leaves of each tree."""
        return (np.diff(self.starts) + 1) // 2

    def trees(self) -> list[Tree]:
        """Return the trees as values; they share leaves and stumps."""
        leaves: list[object] = [
            Leaf(label) for label in range(-min(0, int(self.codes.min(initial=0))))
        ]
        trees = _core.build_trees(self.starts, self.codes, leaves, Split)
        return cast(list[Tree], trees)


def _write(tree: Tree, codes: list[int]) -> None:
    if isinstance(tree, Leaf):
        codes.append(-1 - tree.label)
        return
    codes.append(tree.feature)
    _write(tree.t1, codes)
    _write(tree.t0, codes)
