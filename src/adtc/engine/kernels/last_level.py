"""Kernels for the last level: the tensor of all trees of depth at most 2, from pair counts.

For every feature i that splits the path, the trees of depth at most 1 on either side are listed;
their product is one summand.

Legend: C pair counts [group, i, j] for i <= j, U the slots' features, side 1 and 0 of i, b budgets.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import EMPTY, multiply_while_room, new_table, reserve
from adtc.engine.kernels.closed import least_binary
from adtc.engine.kernels.dense import append_dense, key_range, multiply_dense
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.leaves import drop_trivial, put_leaf
from adtc.engine.kernels.sorting import append_sorted
from adtc.engine.kernels.stumps import (
    UNKNOWN,
    merge_affordable,
    splitting_features,
    stumps,
    weigh_both,
    weigh_rows,
)


@kernel
def closed_tensor(C, totals, U, used, rest, leaves, multiplicity, b, most, work, pool, fill):
    """Append the tensor of all trees of depth at most ``rest`` (0, 1 or 2) on pair counts."""
    functionals = len(b)
    limbs = len(work.wide)
    h = new_table(np.int64(256), limbs, functionals)
    size = put_leaf(h, np.int64(0), totals, leaves, b, work.labels, work.cost)
    scanned = np.int64(0)
    if rest == 0:
        pool, fill = append_sorted(h, size, pool, fill)
        return pool, fill, scanned
    active = splitting_features(C, totals, used, leaves.minsup, work.active)
    base, width = key_range(totals, leaves, np.int64(4))
    stumps_per_side = leaves.key_weights.shape[0] ** 2 * active
    dense = leaves.dense and functionals == 0 and width <= active * stumps_per_side
    acc = np.zeros(width * limbs if dense else 0, np.uint64)
    if dense:
        pour(h, acc, base, limbs)
    support = weigh_rows(C, totals, active, work)
    find_hopeful(C, totals, used, rest, leaves, b, work)
    at = Place(np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    while True:
        size, looked, at = _add_splits(
            h, size, acc, base, dense, C, totals, U, active, support, rest, leaves, multiplicity,
            b, work, at,
        )  # fmt: skip
        scanned += looked
        if at.a == active:
            break
        if size + at.n0 > most:
            return pool, fill, np.int64(-1)
        h = reserve(h, size, at.n0)
    if dense:
        pool, fill = append_dense(acc, base, limbs, width, pool, fill)
    else:
        pool, fill = append_sorted(h, size, pool, fill)
    return pool, fill, scanned


class Place(NamedTuple):
    """How far a path's splits are: cell ``row`` of side 1 of the a-th splitting feature."""

    a: Any
    row: Any
    n1: Any  # cells of side 1; 0 if they are not listed yet
    n0: Any  # cells of side 0


@bare_kernel
def _add_splits(
    h, size, acc, base, dense, C, totals, U, active, support, rest, leaves, multiplicity, b, work,
    at,
):  # fmt: skip
    """Add the splits from a place on, as long as the hash table has room for a cell's products.

    Returns its number of keys, the number of pairs looked at and the place to go on from. Growing
    is left to the caller, because tables that are handed to and fro count references.
    """
    limbs, zero = len(work.wide), np.int64(0)
    scanned = zero
    a, row, n1, n0 = at
    while a < active:
        if n1 == 0:
            row = zero
            n1, n0 = list_sides(
                C, totals, U, a, active, support, rest, leaves, multiplicity, b, work
            )  # fmt: skip
        if n1 > 0:
            factor = np.uint64(multiplicity[U[work.active[a]]])
            if dense:
                scanned += multiply_dense(
                    acc, base, limbs, work.list1, zero, n1, work.list0, zero, n0, factor, work.wide
                )
            else:
                size, looked, row, _ = multiply_while_room(
                    h, size, work.list1, row, row, n1, work.list0, zero, n0, factor, b, work.wide
                )
                scanned += looked
                if row < n1:
                    return size, scanned, Place(a, row, n1, n0)
            if not leaves.trivial_splits:
                size = drop_trivial(
                    h, size, acc, base, dense, work.counts[0], work.counts[1], factor, leaves, b,
                    work.labels, work.cost,
                )  # fmt: skip
        a += 1
        n1 = zero
    return size, scanned, Place(a, zero, zero, zero)


@bare_kernel
def list_sides(C, totals, U, a, active, support, rest, leaves, multiplicity, b, work):
    """List the trees on both sides of the a-th splitting feature, as far as two fit together.

    Writes them to ``work.list1`` and ``work.list0``, merged, and the rows of both sides to
    ``work.counts``; returns how many there are on each side, (0, 0) if no two fit the budgets.
    """
    i = work.active[a]
    if not work.hopeful[i]:
        return np.int64(0), np.int64(0)
    least1, least0, left1, left0 = work.limits[0], work.limits[1], work.limits[2], work.limits[3]
    for g in range(len(totals)):
        work.counts[0, g] = C[g, i, i]
        work.counts[1, g] = totals[g] - C[g, i, i]
    # costs may be negative, so each side is limited by what the other one costs at least
    for d in range(len(b)):
        left1[d] = b[d] - work.least[d, 0, i]
        left0[d] = b[d] - work.least[d, 1, i]
    weigh_both(C, i, active, work)
    n1 = stumps(
        a, np.int64(1), active, support, rest, leaves, U, multiplicity, work, left1, work.side1,
        least1,
    )  # fmt: skip
    n0 = stumps(
        a, np.int64(0), active, support, rest, leaves, U, multiplicity, work, left0, work.side0,
        least0,
    )  # fmt: skip
    fits = n1 > 0 and n0 > 0
    for d in range(len(b)):
        left1[d] = b[d] - least0[d]
        left0[d] = b[d] - least1[d]
        fits = fits and least1[d] <= left1[d]
    if not fits:
        return np.int64(0), np.int64(0)  # not even the cheapest two together
    n1 = merge_affordable(work.side1, n1, left1, work, work.list1)
    n0 = merge_affordable(work.side0, n0, left0, work, work.list0)
    return n1, n0


@bare_kernel
def find_hopeful(C, totals, used, rest, leaves, b, work):
    """Mark the slots where the cheapest trees on both sides together fit each budget.

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
        best1, best0 = work.least[d, 1], work.least[d, 0]
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


@bare_kernel
def pour(h, acc, base, limbs):
    """Move a hash table's cells into an array over all keys."""
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            for l in range(limbs):
                acc[(h.keys[i] - base) * limbs + l] = h.values[i, l]
