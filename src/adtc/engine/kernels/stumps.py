"""Kernels for the last level: the tensor of all trees of depth at most 2, from pair counts.

For every feature i that splits the path, the trees of depth at most 1 on either side are listed
from the counts of i with each other feature; their product is one summand.

Legend: C pair counts [group, i, j] for i <= j, U the slots' features, side 1 and 0 of i, b budgets.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import (
    EMPTY,
    add_cell,
    append_sorted,
    clear,
    multiply,
    new_cells,
    new_table,
    within,
)
from adtc.engine.kernels.closed import LANES, least_binary
from adtc.engine.kernels.dense import append_dense, key_range, multiply_dense
from adtc.engine.kernels.jit import kernel
from adtc.engine.kernels.leaves import drop_trivial, measure_leaf, new_leaf, put_leaf


class Work(NamedTuple):
    """Room for one closed-form tensor."""

    active: Any
    side1: Any  # Cells: leaves and stumps where the feature is 1, unmerged
    side0: Any  # … and where it is 0
    merged: Any  # Cells: hash table for one side
    labels: Any
    cost: Any
    wide: Any
    hopeful: Any  # [slot]: a split on its feature may fit the budgets
    bounds: Any  # [6, slot]: room to find that out


@kernel
def new_work(table, leaves, limbs):
    """Make room for closed-form tensors on this table."""
    n = table.words.shape[0]
    labels = leaves.key_weights.shape[0]
    functionals = len(leaves.cost_constants)
    most = labels + labels * labels * n
    capacity = np.int64(16)
    while capacity < 2 * most:
        capacity *= 2
    return Work(
        np.zeros(n, np.int64),
        new_cells(most, np.int64(1), functionals),
        new_cells(most, np.int64(1), functionals),
        new_table(capacity, np.int64(1), functionals),
        np.zeros(labels, np.int64),
        np.zeros(functionals, np.int64),
        np.zeros(limbs, np.uint64),
        np.ones(n, np.bool_),
        np.zeros((6, n + LANES), np.int64),
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
    counts1 = np.empty_like(totals)
    counts0 = np.empty_like(totals)
    least1 = np.empty(functionals, np.int64)
    least0 = np.empty(functionals, np.int64)
    left = np.empty(functionals, np.int64)
    zero = np.int64(0)
    find_hopeful(C, totals, used, rest, leaves, b, work)
    for a in range(active):
        i = work.active[a]
        if not work.hopeful[i]:
            continue
        factor = np.uint64(multiplicity[U[i]])
        for g in range(len(totals)):
            counts1[g] = C[g, i, i]
            counts0[g] = totals[g] - C[g, i, i]
        n1 = stumps(
            C, totals, U, i, np.int64(1), active, rest, leaves, multiplicity, work, work.side1,
            least1,
        )  # fmt: skip
        n0 = stumps(
            C, totals, U, i, np.int64(0), active, rest, leaves, multiplicity, work, work.side0,
            least0,
        )  # fmt: skip
        # costs may be negative, so each side is limited by what the other one costs at least
        fits = True
        for d in range(functionals):
            left[d] = b[d] - least0[d]
            fits = fits and least1[d] <= left[d]
        if not fits:
            continue  # not even the cheapest two together
        side1 = affordable_cells(work.side1, n1, left, work.merged)
        for d in range(functionals):
            left[d] = b[d] - least1[d]
        side0 = affordable_cells(work.side0, n0, left, work.merged)
        if dense:
            pairs = multiply_dense(
                acc, base, limbs, side1, zero, len(side1.keys), side0, zero,
                len(side0.keys), factor, work.wide,
            )  # fmt: skip
        else:
            h, size, pairs = multiply(
                h, size, side1, zero, len(side1.keys), side0, zero, len(side0.keys), factor, b,
                most,
            )  # fmt: skip
            if pairs < 0:
                return pool, fill, pairs
        scanned += pairs
        if not leaves.trivial_splits:
            size = drop_trivial(
                h,
                size,
                acc,
                base,
                dense,
                counts1,
                counts0,
                factor,
                leaves,
                b,
                work.labels,
                work.cost,
            )
    if dense:
        pool, fill = append_dense(acc, base, limbs, width, pool, fill)
    else:
        pool, fill = append_sorted(h, size, pool, fill)
    return pool, fill, scanned


@kernel
def find_hopeful(C, totals, used, rest, leaves, b, work):
    """Mark the slots where the cheapest trees on both sides together fit each budget.

    For two labels of free choice, where vector code tells it; otherwise all are marked.
    """
    work.hopeful[:used] = True
    if rest < 2 or leaves.key_weights.shape[0] != 2 or leaves.majority:
        return
    support = np.int64(0)
    for g in range(len(totals)):
        support += totals[g]
    room = work.bounds
    for d in range(len(b)):
        # label 0 costs nothing in a budget's form
        least_binary(
            C, totals, used, support, rest, leaves.cost_weights[d, 1], leaves.cost_constants[d],
            np.int64(leaves.minsup), np.int64(2**60), room[0], room[1], room[2], room[3], room[4],
            room[5],
        )  # fmt: skip
        for i in range(used):
            if room[4, i] + room[5, i] > b[d]:
                work.hopeful[i] = False


@kernel
def pour(h, acc, base, limbs):
    """Move a hash table's cells into an array over all keys."""
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            for l in range(limbs):
                acc[(h.keys[i] - base) * limbs + l] = h.values[i, l]


@kernel
def splitting_features(C, totals, used, minsup, active):
    """Collect the slots whose feature leaves enough rows on both sides; return how many."""
    support = np.int64(0)
    for g in range(len(totals)):
        support += totals[g]
    n = 0
    for i in range(used):
        alone = np.int64(0)
        for g in range(len(totals)):
            alone += C[g, i, i]
        if minsup <= alone <= support - minsup:
            active[n] = i
            n += 1
    return n


@kernel
def stumps(C, totals, U, i, positive, active, rest, leaves, multiplicity, work, out, least):
    """List all trees of depth at most ``rest`` − 1 on one side of feature i, unmerged.

    Writes their least costs to ``least`` and returns their number.
    """
    # The innermost loop of whole-space tensors: arrays are taken out of their tuples once.
    keys, values, costs = out.keys, out.values, out.costs
    slots = work.active
    functionals, labels = len(least), leaves.key_weights.shape[0]
    minsup, trivial = leaves.minsup, leaves.trivial_splits
    leaf1 = new_leaf(labels, functionals)
    leaf0 = new_leaf(labels, functionals)
    key1, cost1, ok1 = leaf1
    key0, cost0, ok0 = leaf0
    groups = len(totals)
    whole = np.empty_like(totals)
    part1 = np.empty_like(totals)
    part0 = np.empty_like(totals)
    support = np.int64(0)
    for g in range(groups):
        whole[g] = C[g, i, i] if positive else totals[g] - C[g, i, i]
        support += whole[g]
    for d in range(functionals):
        least[d] = 2**62
    n = np.int64(0)
    measure_leaf(whole, support, leaves, leaf1)
    for p in range(labels):
        if ok1[p]:
            keys[n] = key1[p]
            values[n, 0] = 1
            for d in range(functionals):
                costs[n, d] = cost1[p, d]
                least[d] = min(least[d], cost1[p, d])
            n += 1
    if rest < 2:
        return n
    for a in range(active):
        j = slots[a]
        if j == i:
            continue
        lo, hi = min(i, j), max(i, j)
        support1 = np.int64(0)
        for g in range(groups):
            both = C[g, lo, hi]
            part1[g] = both if positive else C[g, j, j] - both
            part0[g] = whole[g] - part1[g]
            support1 += part1[g]
        if support1 < minsup or support - support1 < minsup:
            continue
        measure_leaf(part1, support1, leaves, leaf1)
        measure_leaf(part0, support - support1, leaves, leaf0)
        twins = np.uint64(multiplicity[U[j]])
        for p in range(labels):
            for q in range(labels):
                if not ok1[p] or not ok0[q] or (p == q and not trivial):
                    continue
                keys[n] = key1[p] + key0[q]
                values[n, 0] = twins
                for d in range(functionals):
                    costs[n, d] = cost1[p, d] + cost0[q, d]
                    least[d] = min(least[d], costs[n, d])
                n += 1
    return n


@kernel
def affordable_cells(cells, n, limit, h):
    """Merge the first n cells that fit the limits, sorted by first cost; h is a table for it."""
    clear(h)
    size = np.int64(0)
    for k in range(n):
        if within(cells.costs[k], limit):
            size = add_cell(h, size, cells.keys[k], cells.values[k, 0], cells.costs[k])
    merged = new_cells(size, np.int64(1), len(limit))
    merged, _ = append_sorted(h, size, merged, np.int64(0))
    return merged
