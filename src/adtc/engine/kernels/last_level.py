"""Kernels for the last level: the tensor of all trees of depth at most 2, from pair counts.

For every feature i that splits the path, the trees of depth at most 1 on either side are listed;
their product is one summand.

Legend: as in `stumps`; b budgets.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import EMPTY, Cells, clear, copy_table, multiply_while_room
from adtc.engine.kernels.closed import least_binary
from adtc.engine.kernels.dense import key_range, multiply_dense
from adtc.engine.kernels.jit import bare_kernel
from adtc.engine.kernels.leaves import drop_trivial, put_leaf
from adtc.engine.kernels.sorting import sort_by_cost
from adtc.engine.kernels.stumps import (
    UNKNOWN,
    find_cheapest,
    list_all,
    list_within,
    merge_affordable,
    splitting_features,
    weigh_both,
    weigh_rows,
)


class Place(NamedTuple):
    """How far a path's splits are: cell ``row`` of side 0 of the a-th splitting feature."""

    a: Any
    active: Any  # the number of splitting features, 0 if none is worth a look
    support: Any  # the rows of the path
    row: Any
    n1: Any  # cells of side 0, where the feature is 1; 0 if they are not listed yet
    n0: Any  # cells of side 1, where it is 0


@bare_kernel
def start_tensor(C, totals, U, used, rest, leaves, multiplicity, b, work):
    """Make the tensor of all trees of depth at most ``rest`` (0, 1 or 2) on pair counts.

    It goes into ``work.table``, as long as that has room. Returns as `add_splits` does.
    """
    zero = np.int64(0)
    clear(work.table)
    size = put_leaf(work.table, zero, totals, leaves, b, work.labels[0], work.cost[0])
    if rest == 0 or not find_hopeful(C, totals, used, rest, leaves, b, work):
        return size, zero, Place(zero, zero, zero, zero, zero, zero)
    at = first_split(C, totals, used, leaves, b, work)
    return add_splits(
        work.table, size, work.none, zero, C, totals, U, used, rest, leaves, multiplicity, b,
        work, at,
    )  # fmt: skip


@bare_kernel
def append_in_room(work, pool, fill):
    """Append the small tensor that `start_tensor` made to a pool with room; return its size."""
    stop = copy_table(work.table, pool, fill)
    sort_by_cost(pool, fill, stop, work.sorting)
    return stop


@bare_kernel
def dense_tensor(acc, base, C, totals, U, used, rest, leaves, multiplicity, b, work):
    """Make the tensor in an array over all keys from ``base`` on; return the number of pairs."""
    zero = np.int64(0)
    clear(work.table)
    put_leaf(work.table, zero, totals, leaves, b, work.labels[0], work.cost[0])
    pour(work.table, acc, base, len(work.wide))
    find_hopeful(C, totals, used, rest, leaves, b, work)
    at = first_split(C, totals, used, leaves, b, work)
    _, scanned, _ = add_splits(
        work.table, zero, acc, base, C, totals, U, used, rest, leaves, multiplicity, b, work, at
    )
    return scanned


@bare_kernel
def dense_range(C, totals, used, rest, leaves, b, work):
    """Return the keys' range if an array over all of them pays: the least, and how many; else 0.

    Without budgets every feature brings all its products.
    """
    if rest == 0 or len(b) or not leaves.dense:
        return np.int64(0), np.int64(0)
    active = splitting_features(C, totals, used, leaves.minsup, work.active)
    base, width = key_range(totals, leaves, np.int64(4))
    if width > leaves.key_weights.shape[0] ** 2 * active * active:
        width = np.int64(0)
    return base, width


@bare_kernel
def first_split(C, totals, used, leaves, b, work):
    """Find the features that split the path; return the place of the first."""
    zero = np.int64(0)
    active = splitting_features(C, totals, used, leaves.minsup, work.active)
    support = zero
    for g in range(len(totals)):
        support += totals[g]
    if len(b) == 0:
        weigh_rows(C, totals, active, work)
    return Place(zero, active, support, zero, zero, zero)


@bare_kernel
def add_splits(
    h, size, acc, base, C, totals, U, used, rest, leaves, multiplicity, b, work, at
):  # fmt: skip
    """Add the splits from a place on, as long as the hash table has room for a cell's products.

    They go into the array ``acc`` over all keys from ``base`` on, unless that is empty. Returns the
    table's number of keys, the number of pairs looked at and the place to go on from. Growing
    is left to the caller, because tables that are handed to and fro count references.
    """
    limbs, zero = len(work.wide), np.int64(0)
    scanned = zero
    a, active, support, row, n1, n0 = at
    while a < active:
        if n1 == 0 and work.hopeful[work.active[a]]:
            row = zero
            n1, n0 = list_sides(
                C, totals, U, used, a, active, support, rest, leaves, multiplicity, b, work
            )  # fmt: skip
        if n1 > 0:
            lists = work.lists
            list1 = Cells(lists.keys[0], lists.values[0], lists.costs[0])
            list0 = Cells(lists.keys[1], lists.values[1], lists.costs[1])
            factor = np.uint64(multiplicity[U[work.active[a]]])
            if len(acc):
                scanned += multiply_dense(
                    acc, base, limbs, list1, zero, n1, list0, zero, n0, factor, work.wide
                )
            else:
                size, looked, row, _ = multiply_while_room(
                    h, size, list1, row, row, n1, list0, zero, n0, factor, b, work.wide
                )
                scanned += looked
                if row < n1:
                    return size, scanned, Place(a, active, support, row, n1, n0)
            if not leaves.trivial_splits:
                size = drop_trivial(
                    h, size, acc, base, work.counts[0], work.counts[1], factor, leaves, b,
                    work.labels, work.cost,
                )  # fmt: skip
        a += 1
        n1 = zero
    return size, scanned, Place(a, active, support, zero, zero, zero)


@bare_kernel
def list_sides(
    C, totals, U, used, a, active, support, rest, leaves, multiplicity, b, work
):  # fmt: skip
    """List the trees on both sides of the a-th splitting feature, as far as two fit together.

    Writes them to ``work.lists``, merged, the rows of both sides to ``work.counts``, and what each
    side may cost to ``work.limits``; returns how many there are on each side, (0, 0) if no two fit
    the budgets.
    """
    i = work.active[a]
    left, least, sizes = work.limits[:2], work.limits[2:], work.sizes
    for g in range(len(totals)):
        work.counts[0, g] = C[g, i, i]
        work.counts[1, g] = totals[g] - C[g, i, i]
    if len(b):
        find_cheapest(C, totals, i, used, leaves, work)
    else:
        weigh_both(C, i, active, work)
    for s in range(2):
        # costs may be negative, so each side is limited by what the other one costs at least
        for d in range(len(b)):
            left[s, d] = b[d] - work.least[d, 1 - s, i]
        sizes[s] = (
            list_within(C, used, i, s, rest, leaves, U, multiplicity, work, left[s], least[s])
            if len(b)
            else list_all(a, s, active, support, rest, leaves, U, multiplicity, work)
        )
    fits = sizes[0] > 0 and sizes[1] > 0
    for d in range(len(b)):
        left[0, d] = b[d] - least[1, d]
        left[1, d] = b[d] - least[0, d]
        fits = fits and least[0, d] <= left[0, d]
    if not fits:
        return np.int64(0), np.int64(0)  # not even the cheapest two together
    for s in range(2):
        sizes[s] = merge_affordable(s, sizes[s], left[s], work)
    return sizes[0], sizes[1]


@bare_kernel
def find_hopeful(C, totals, used, rest, leaves, b, work):
    """Mark the slots where the cheapest trees on both sides fit each budget; tell if there are any.

    For two labels, where vector code tells it, as if each leaf could take the cheaper one;
    otherwise all are marked, and what a side costs at least is not known.
    """
    told = rest == 2 and leaves.key_weights.shape[0] == 2
    support = np.int64(0)
    for g in range(len(totals)):
        support += totals[g]
    for i in range(used):
        work.hopeful[i] = True
    for d in range(len(b)):
        best1, best0 = work.least[d, 0], work.least[d, 1]
        if not told:
            for i in range(used):
                best1[i], best0[i] = -UNKNOWN, -UNKNOWN
            continue
        # label 0 costs nothing in a budget's form
        least_binary(
            C, totals, used, support, rest, leaves.cost_weights[d, 1], leaves.cost_constants[d],
            np.int64(leaves.minsup), np.int64(UNKNOWN), work.room[0], work.room[1], work.room[2],
            work.room[3], best1, best0,
        )  # fmt: skip
        for i in range(used):
            if best1[i] + best0[i] > b[d]:
                work.hopeful[i] = False
    some = False
    for i in range(used):
        some = some or work.hopeful[i]
    return some


@bare_kernel
def pour(h, acc, base, limbs):
    """Move a hash table's cells into an array over all keys."""
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            for l in range(limbs):
                acc[(h.keys[i] - base) * limbs + l] = h.values[i, l]
