"""Algorithm EMT line by line (the paper's Sec. 3): slow, short, the specification.

`emt` sums over all trees of bounded depth in any semiring; over lifted tensors the same function
computes the model behaviour tensor. Faster engines must agree with it on everything.

Legend: S rows as a bit set (bit r = row r), F features with the rows where each is 1, R semiring.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from adtc.algebra.metrics import LeafRows
from adtc.algebra.semiring import Semiring
from adtc.algebra.tensors import Scan, Tensor, lift, singleton
from adtc.data import Data
from adtc.engine.query import Question, RowSets, every_row

V = TypeVar("V")
Rows = int


def emt(
    max_depth: int,
    S: Rows,
    F: Mapping[int, Rows],
    leaf: Callable[[Rows, int], V],
    R: Semiring[V],
) -> V:
    """Sum over all trees on ``F`` of depth at most ``max_depth`` the product over their leaves.

    Parameters
    ----------
    leaf
        From the rows of a leaf and the depth still unused there: ⊕ over the labels it may carry.
    """
    total = leaf(S, max_depth)
    if max_depth == 0:
        return total
    for f, rows in F.items():
        rest = {g: r for g, r in F.items() if g != f}  # F \ {f}: once per path
        t1 = emt(max_depth - 1, S & rows, rest, leaf, R)
        t0 = emt(max_depth - 1, S & ~rows, rest, leaf, R)
        total = R.add(total, R.node(f, t1, t0))
    return total


def model_tensor(question: Question, data: Data, scan: Scan | None = None) -> Tensor[Any]:
    """Compute MT[Q, D] over the question's axes: EMT over the lifted semiring."""
    R = question.semiring
    tensors = lift(R, question.axes, shape=question.shape, scan=scan)
    stack = every_row(data, question.schema)
    rows = RowSets.of(stack)

    def leaf(S: Rows, unused: int) -> Tensor[Any]:
        here = LeafRows(rows.counts(S), question.space.max_depth - unused)
        total: Tensor[Any] = {}
        if here.support < question.minsup:
            return total
        for label in question.labels(here):
            index = tuple(axis.leaf(label, here) for axis in question.axes)
            if all(k <= largest for k, largest in zip(index, question.shape, strict=True)):
                value = question.aggregate(label, here)
                total = tensors.add(total, singleton(index, value, R))
        return total

    features = {f: stack.feature_rows(f) for f in range(data.n_features)}
    return emt(question.space.max_depth, rows.all, features, leaf, tensors)
