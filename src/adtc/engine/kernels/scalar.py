"""Any semiring of floats over all trees, from the user's own ⊕, ⊗ and leaf values.

The walk is that of `inside`; instead of a least cost every path gets the sum over all trees below
it. Kernels are made per semiring, because they contain its functions, and so are not cached on
disk. A value is kept without the path's own leaves: with them apart, splits into two leaves of one
label can be left out where they must be.

Legend: L sum over a path's leaves, N sum over its other trees, m how many features are alike.
"""

from collections.abc import Callable
from functools import lru_cache
from inspect import isfunction
from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.jit import kernel_of_this_process
from adtc.engine.kernels.paths import child, next_path, seek
from adtc.engine.kernels.steps import descend, first_step, make_stack, next_child


class Leaf(NamedTuple):
    """What a leaf brings to the semiring: metric values, linear in its rows."""

    weights: Any  # float64 [metric, label, group]
    constants: Any  # float64 [metric]: per leaf
    group_label: Any  # int64 [group]
    minsup: int
    majority: bool
    trivial_splits: bool
    zero: float


class Kernels(NamedTuple):
    """The compiled functions of one semiring."""

    walk: Callable[..., None]
    ascend: Callable[..., None]
    close_root: Callable[..., None]
    leaves: Callable[..., float]


def _function(given: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap built-in functions such as max, which Numba compiles only inside another one."""
    if isfunction(given):
        return given

    def wrapped(a: Any, b: Any) -> Any:
        return given(a, b)

    return wrapped


@lru_cache(maxsize=16)
def make_kernels(
    add: Callable[..., Any], mul: Callable[..., Any], embed: Callable[..., Any]
) -> Kernels:
    """Compile the walk for a semiring; ``embed(label, values)`` gives a leaf's value."""
    jit = kernel_of_this_process
    plus, times, value = (jit(_function(given)) for given in (add, mul, embed))

    @jit
    def leaf_value(counts, label, leaf, values):
        for a in range(len(values)):
            total = leaf.constants[a]
            for g in range(len(counts)):
                total += leaf.weights[a, label, g] * counts[g]
            values[a] = total
        return value(label, values)

    @jit
    def majority(counts, leaf):
        best, chosen = np.int64(-1), 0
        for l in range(leaf.weights.shape[1]):
            votes = np.int64(0)
            for g in range(len(counts)):
                if leaf.group_label[g] == l:
                    votes += counts[g]
            if votes > best:
                best, chosen = votes, l
        return chosen

    @jit
    def leaves(counts, leaf, values):
        """Return L, zero where a leaf would be too small."""
        support = np.int64(0)
        for g in range(len(counts)):
            support += counts[g]
        if support < leaf.minsup:
            return leaf.zero
        if leaf.majority:
            return leaf_value(counts, majority(counts, leaf), leaf, values)
        total = leaf.zero
        for l in range(leaf.weights.shape[1]):
            total = plus(total, leaf_value(counts, l, leaf, values))
        return total

    @jit
    def two_leaves(counts1, counts0, leaf, values):
        """Return the sum over splits into two leaves, of unequal labels if they must be."""
        if leaf.trivial_splits:
            return times(leaves(counts1, leaf, values), leaves(counts0, leaf, values))
        total = leaf.zero
        if leaf.majority:
            l1, l0 = majority(counts1, leaf), majority(counts0, leaf)
            if l1 != l0:
                one = leaf_value(counts1, l1, leaf, values)
                total = times(one, leaf_value(counts0, l0, leaf, values))
            return total
        for l1 in range(leaf.weights.shape[1]):
            one = leaf_value(counts1, l1, leaf, values)
            for l0 in range(leaf.weights.shape[1]):
                if l1 != l0:
                    total = plus(total, times(one, leaf_value(counts0, l0, leaf, values)))
        return total

    @jit
    def split(counts1, N1, counts0, N0, leaf, values):
        """Return the sum over all trees with one given test at the root."""
        L1, L0 = leaves(counts1, leaf, values), leaves(counts0, leaf, values)
        total = two_leaves(counts1, counts0, leaf, values)
        total = plus(total, times(L1, N0))
        total = plus(total, times(N1, L0))
        return plus(total, times(N1, N0))

    @jit
    def repeated(total, one, m):
        for _ in range(m):
            total = plus(total, one)
        return total

    @jit
    def enough(counts, minsup):
        support = np.int64(0)
        for g in range(len(counts)):
            support += counts[g]
        return support >= minsup

    @jit
    def stumps(whole, C, i, inside, used, U, leaf, multiplicity, buffer):
        """Return N of depth 1 on one side of slot i; ``whole`` are that side's rows."""
        total = leaf.zero
        groups = len(whole)
        one, zero = buffer[0], buffer[1]
        for j in range(used):
            if j == i:
                continue
            low, high = min(i, j), max(i, j)
            for g in range(groups):
                both = C[g, low, high]
                one[g] = both if inside else C[g, j, j] - both
                zero[g] = whole[g] - one[g]
            if enough(one, leaf.minsup) and enough(zero, leaf.minsup):
                here = two_leaves(one, zero, leaf, buffer_values(leaf))
                total = repeated(total, here, multiplicity[U[j]])
        return total

    @jit
    def buffer_values(leaf):
        return np.empty(len(leaf.constants), np.float64)

    @jit
    def close(C, totals, used, U, rest, leaf, multiplicity):
        """Return N of depth at most 2 from pair counts."""
        total = leaf.zero
        groups = len(totals)
        values = buffer_values(leaf)
        sides = np.empty((2, groups), np.int64)
        buffer = np.empty((2, groups), np.int64)
        if rest == 0:
            return total
        for i in range(used):
            for g in range(groups):
                sides[0, g] = C[g, i, i]
                sides[1, g] = totals[g] - C[g, i, i]
            if not (enough(sides[0], leaf.minsup) and enough(sides[1], leaf.minsup)):
                continue
            N1 = leaf.zero
            N0 = leaf.zero
            if rest > 1:
                N1 = stumps(sides[0], C, i, True, used, U, leaf, multiplicity, buffer)
                N0 = stumps(sides[1], C, i, False, used, U, leaf, multiplicity, buffer)
            here = split(sides[0], N1, sides[1], N0, leaf, values)
            total = repeated(total, here, multiplicity[U[i]])
        return total

    @jit
    def walk(first, table, lattice, leaf, multiplicity, use_pext, counts, sums):
        """Fill ``counts`` and, at the last level, N for the paths whose least feature is given."""
        stack = make_stack(table, lattice.levels)
        steps = first_step(lattice, first)
        everything = np.zeros(0, np.bool_)
        level = np.int64(0)
        while True:
            level, s = next_child(
                level, first + 1, steps, stack, table, lattice, leaf.minsup, use_pext, everything
            )
            if level < 0:
                return
            below = level + 1
            totals = stack.totals[below, s]
            if not enough(totals, leaf.minsup):
                continue
            node = lattice.base[below] + stack.node[below, s]
            for g in range(len(totals)):
                counts[node, g] = totals[g]
            if below == lattice.levels:
                sums[node] = close(
                    stack.C[below, s], totals, stack.used[below], stack.U[below],
                    lattice.rest, leaf, multiplicity,
                )  # fmt: skip
            else:
                level = descend(level, s, steps, stack)

    @jit
    def ascend(level, ranks, n, lattice, leaf, multiplicity, counts, sums):
        """Fill N for the paths of one length above the last."""
        features = np.zeros(level + 1, np.int64)
        seek(features, level, np.int64(0), n, lattice)
        values = buffer_values(leaf)
        for rank in range(ranks):
            for signs in range(1 << level):
                node = lattice.base[level] + (rank << level) + signs
                if not enough(counts[node], leaf.minsup):
                    continue
                total = leaf.zero
                at = 0
                for f in range(n):
                    if at < level and features[at] == f:
                        at += 1
                        continue
                    one = child(features, level, signs, f, np.int64(0), lattice)
                    zero = child(features, level, signs, f, np.int64(1), lattice)
                    if enough(counts[one], leaf.minsup) and enough(counts[zero], leaf.minsup):
                        here = split(counts[one], sums[one], counts[zero], sums[zero], leaf, values)
                        total = repeated(total, here, multiplicity[f])
                sums[node] = total
            if level:
                next_path(features, level)

    @jit
    def close_root(table, lattice, leaf, multiplicity, counts, sums):
        """Fill in the whole table where it is itself the last level."""
        for g in range(len(table.totals)):
            counts[0, g] = table.totals[g]
        n = table.words.shape[0]
        sums[0] = close(
            table.pairs, table.totals, n, np.arange(n), lattice.rest, leaf, multiplicity
        )

    return Kernels(walk, ascend, close_root, leaves)
