"""Many trees as flat arrays, as kernels read and write them.

A tree is the list of its nodes in preorder, child 1 before child 0: the number of a feature, or
−1 − label for a leaf.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
        codes: list[int] = self.codes.tolist()
        ends: list[int] = self.starts.tolist()
        leaves = [Leaf(label) for label in range(-min(codes, default=0))]
        stumps: dict[tuple[int, int, int], Split] = {}
        found: list[Tree] = []
        for start, stop in itertools.pairwise(ends):
            stack: list[Tree] = []
            # from behind: both children of a split come before it, child 1 last
            for at in range(stop - 1, start - 1, -1):
                code = codes[at]
                if code < 0:
                    stack.append(leaves[-1 - code])
                    continue
                t1, t0 = stack.pop(), stack.pop()
                one, zero = codes[at + 1], codes[at + 2]
                if one >= 0 or zero >= 0:
                    stack.append(Split(code, t1, t0))
                    continue
                stump = stumps.get((code, one, zero))
                if stump is None:
                    stump = stumps[code, one, zero] = Split(code, t1, t0)
                stack.append(stump)
            found += stack
        return found


def _write(tree: Tree, codes: list[int]) -> None:
    if isinstance(tree, Leaf):
        codes.append(-1 - tree.label)
        return
    codes.append(tree.feature)
    _write(tree.t1, codes)
    _write(tree.t0, codes)
