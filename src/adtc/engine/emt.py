"""Algorithm EMT line by line (the paper's Sec. 3): slow, short, the specification.

`emt` sums over all trees of bounded depth in any semiring; over lifted tensors the same function
computes the model behaviour tensor. Faster engines must agree with it on everything.

Legend: S rows as a bit set (bit r = row r), F features with the rows where each is 1, R semiring.
"""

from collections.abc import Callable, Collection, Mapping
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


def model_tensor(
    question: Question,
    data: Data,
    scan: Scan | None = None,
    check: Callable[[], None] = lambda: None,
) -> Tensor[Any]:
    """Compute MT[Q, D] over the question's axes: EMT over the lifted semiring.

    Conditions on all tests of a tree are met by keeping values apart by the tests. ``check`` is
    called at every leaf, and may stop the run.
    """
    allowed, depth = question.allowed, question.space.max_depth
    R = allowed.marked(question.semiring) if allowed.selective else question.semiring
    tensors = lift(R, question.axes, shape=question.shape, scan=scan)
    plain = lift(question.semiring, question.axes, shape=question.shape)
    stack = every_row(data, question.schema)
    rows = RowSets.of(stack)

    def leaf(S: Rows, unused: int) -> Tensor[Any]:
        check()
        here = LeafRows(rows.counts(S), depth - unused)
        total: Tensor[Any] = {}
        if here.support < question.minsup:
            return total
        for label in question.labels(here):
            index = tuple(axis.leaf(label, here) for axis in question.axes)
            if all(k <= largest for k, largest in zip(index, question.shape, strict=True)):
                value = question.aggregate(label, here)
                total = plain.add(total, singleton(index, value, question.semiring))
        return total

    def marked_leaf(S: Rows, unused: int) -> Tensor[Any]:
        return {index: {0: value} for index, value in leaf(S, unused).items()}

    F = {f: stack.feature_rows(f) for f in range(data.n_features) if f not in allowed.banned}
    leaves = marked_leaf if allowed.selective else leaf
    every = emt_from(depth, rows.all, F, leaves, tensors, first=allowed.root)
    if not allowed.selective:
        return every
    chosen = {k: allowed.admitted(value, question.semiring) for k, value in every.items()}
    return {k: value for k, value in chosen.items() if value != question.semiring.zero}


def emt_from(
    max_depth: int,
    S: Rows,
    F: Mapping[int, Rows],
    leaf: Callable[[Rows, int], V],
    R: Semiring[V],
    *,
    first: Collection[int] | None,
) -> V:
    """Sum over the trees whose first test is one of some features; over all if that is None."""
    if first is None:
        return emt(max_depth, S, F, leaf, R)
    total = R.zero
    for f in sorted(set(first) & set(F)) if max_depth else ():
        rest = {g: r for g, r in F.items() if g != f}
        t1, t0 = (emt(max_depth - 1, T, rest, leaf, R) for T in (S & F[f], S & ~F[f]))
        total = R.add(total, R.node(f, t1, t0))
    return total
