"""Kernels for walks down the circuit: what lies below a path, and which pairs make up a cell.

Below a path lie *lists*: for every feature that splits it, the cells of the two children, side 1
before side 0. At the paths of the last level they come from pair counts, and one step further down
the children are single leaves.

Legend: C pair counts [group, i, j] for i <= j, U the slots' features, b budgets; in [at, side] side
0 stands for child 1 (feature is 1) and side 1 for child 0. A leaf that may not be has key EMPTY.
"""

import numpy as np

from adtc.engine.kernels.cells import EMPTY, Cells, copy_cells, new_cells, room_for, within
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.last_level import find_hopeful, first_split, list_sides
from adtc.engine.kernels.leaves import leaf_cell, leaf_labels, measure_leaf, new_leaf
from adtc.engine.kernels.paths import child, seek
from adtc.engine.kernels.stumps import new_work


@kernel
def children(level, number, n, lattice, leaves, live, counts, budgets, starts, stops):
    """Collect the features that split a path above the last level, with both children.

    Returns the features, the children's numbers within their level, where their cells lie, and the
    keys of their leaves by label: ``[at]``, three times ``[at, side]``, and ``[at, side, label]``.
    """
    features = np.zeros(level + 1, np.int64)
    seek(features, level, number >> level, n, lattice)
    signs = number & ((1 << level) - 1)
    labels = leaves.key_weights.shape[0]
    chosen = np.empty(n, np.int64)
    below = np.empty((n, 2), np.int64)
    start = np.empty((n, 2), np.int64)
    stop = np.empty((n, 2), np.int64)
    leaf = np.empty((n, 2, labels), np.int64)
    size = 0
    at = 0
    for f in range(n):
        if at < level and features[at] == f:
            at += 1
            continue
        one = child(features, level, signs, f, np.int64(0), lattice)
        zero = child(features, level, signs, f, np.int64(1), lattice)
        if not live[one] or not live[zero]:
            continue
        chosen[size] = f
        for side in range(2):
            node = zero if side else one
            i = node - lattice.base[level + 1]
            below[size, side] = i
            start[size, side] = starts[i]
            stop[size, side] = stops[i]
            leaf_keys(counts[node], leaves, budgets[node], leaf[size, side])
        size += 1
    return chosen[:size], below[:size], start[:size], stop[:size], leaf[:size]


@kernel
def leaf_keys(counts, leaves, b, keys):
    """Write the key of a leaf with these counts under every label; EMPTY where there is none."""
    labels = np.empty(len(keys), np.int64)
    cost = np.empty(len(leaves.cost_constants), np.int64)
    for l in range(len(keys)):
        keys[l] = EMPTY
    for at in range(leaf_labels(counts, leaves, labels)):
        key = leaf_cell(counts, labels[at], leaves, cost)
        if within(cost, b):
            keys[labels[at]] = key


@kernel
def close(C, totals, U, rest, table, leaves, multiplicity, b):
    """List the trees of depth at most ``rest`` − 1 on either side of each feature worth a split.

    Returns the slots of all features that split, those of features worth it, the cells of all
    sides, where each side's cells lie, its leaves' keys, and what a side may cost: twice ``[at]``,
    a pool, and the others by ``[at, side]``.
    """
    functionals = len(b)
    work = new_work(table, leaves, np.int64(1))
    find_hopeful(C, totals, len(U), rest, leaves, b, work)
    split = first_split(C, totals, len(U), leaves, b, work)
    active = split.active
    slots = np.empty(active, np.int64)
    start = np.empty((active, 2), np.int64)
    stop = np.empty((active, 2), np.int64)
    leaf = np.empty((active, 2, leaves.key_weights.shape[0]), np.int64)
    left = np.empty((active, 2, functionals), np.int64)
    pool = new_cells(np.int64(256), np.int64(1), functionals)
    fill = np.int64(0)
    size = 0
    for a in range(active):
        if not work.hopeful[work.active[a]]:
            continue
        n1, n0 = list_sides(
            C, totals, U, len(U), a, active, split.support, rest, leaves, multiplicity, b, work
        )
        if n1 == 0:
            continue
        pool = room_for(pool, fill, n1 + n0)
        slots[size] = work.active[a]
        for side in range(2):
            start[size, side] = fill
            fill = _copy_side(work, side, n0 if side else n1, pool, fill, left[size, side])
            stop[size, side] = fill
            leaf_keys(work.counts[side], leaves, left[size, side], leaf[size, side])
        size += 1
    return (
        work.active[:active].copy(), slots[:size], pool.keys[:fill], pool.values[:fill],
        pool.costs[:fill], start[:size], stop[:size], leaf[:size], left[:size],
    )  # fmt: skip


@bare_kernel
def _copy_side(work, side, n, pool, fill, left):
    """Copy a side's list to a pool that has room, and what it may cost; return the list's end."""
    lists = work.lists
    cells = Cells(lists.keys[side], lists.values[side], lists.costs[side])
    copy_cells(cells, np.int64(0), pool, fill, n)
    for d in range(len(left)):
        left[d] = work.limits[side, d]
    return fill + n


@kernel
def leaf_pairs(C, totals, slots, i, positive, leaves):
    """List for one side of slot i the pairs of leaves below every other splitting slot.

    Returns the positions in ``slots``, the leaves' keys ``[at, side, label]``, and each side's
    cells: ``[at, side, k]`` keys ascending, number of labels and costs, ``filled[at, side]`` many.
    """
    functionals, labels = len(leaves.cost_constants), leaves.key_weights.shape[0]
    n = len(slots)
    chosen = np.empty(n, np.int64)
    leaf = np.empty((n, 2, labels), np.int64)
    keys = np.empty((n, 2, labels), np.int64)
    values = np.zeros((n, 2, labels), np.uint64)
    costs = np.empty((n, 2, labels, functionals), np.int64)
    filled = np.zeros((n, 2), np.int64)
    measured = new_leaf(labels, functionals)
    part = np.empty_like(totals)
    size = 0
    for a in range(n):
        j = slots[a]
        if j == i:
            continue
        lo, hi = min(i, j), max(i, j)
        enough = True
        for side in range(2):
            support = np.int64(0)
            for g in range(len(totals)):
                both = C[g, lo, hi]
                one = both if positive else C[g, j, j] - both
                whole = C[g, i, i] if positive else totals[g] - C[g, i, i]
                part[g] = whole - one if side else one
                support += part[g]
            enough = enough and support >= leaves.minsup
            measure_leaf(part, support, leaves, measured)
            filled[size, side] = _sorted_leaves(
                measured, leaf[size, side], keys[size, side], values[size, side], costs[size, side]
            )
        if enough:
            chosen[size] = a
            size += 1
    return chosen[:size], leaf[:size], keys[:size], values[:size], costs[:size], filled[:size]


@bare_kernel
def _sorted_leaves(measured, leaf, keys, values, costs):
    """Put the admitted labels of a leaf together by key, ascending; return how many keys."""
    key, cost, ok = measured
    n = 0
    for l in range(len(key)):
        leaf[l] = key[l] if ok[l] else EMPTY
        if not ok[l]:
            continue
        at = n
        while at > 0 and keys[at - 1] > key[l]:
            at -= 1
        if at > 0 and keys[at - 1] == key[l]:
            values[at - 1] += np.uint64(1)
            continue
        for k in range(n, at, -1):
            keys[k] = keys[k - 1]
            values[k] = values[k - 1]
            for d in range(costs.shape[1]):
                costs[k, d] = costs[k - 1, d]
        keys[at] = key[l]
        values[at] = np.uint64(1)
        for d in range(costs.shape[1]):
            costs[at, d] = cost[l, d]
        n += 1
    return n


@kernel
def match(start, stop, keys, order, costs, b, key):
    """Find all pairs of children's cells that add up to a key within the budgets.

    ``keys[p]`` ascends within each child's part, ``order[p]`` is the cell's place in ``costs``.
    Returns for each pair the position of its feature and the two places in ``keys``, ordered by
    feature and then by the key of child 1.
    """
    most = np.int64(0)
    for at in range(len(start)):
        most += min(stop[at, 0] - start[at, 0], stop[at, 1] - start[at, 1])
    found = np.empty(most, np.int64)
    ones = np.empty(most, np.int64)
    zeros = np.empty(most, np.int64)
    size = 0
    for at in range(len(start)):
        i, j = start[at, 0], stop[at, 1] - 1
        last, first = stop[at, 0], start[at, 1]
        # one pass from both ends; comparisons are added, not branched on
        while i < last and j >= first:
            total = keys[i] + keys[j]
            if total == key and _afford(costs, order[i], order[j], b):
                found[size] = at
                ones[size] = i
                zeros[size] = j
                size += 1
            i += np.int64(total <= key)
            j -= np.int64(total >= key)
    return found[:size].copy(), ones[:size].copy(), zeros[:size].copy()


@bare_kernel
def _afford(costs, i, j, b):
    for d in range(len(b)):
        if costs[i, d] + costs[j, d] > b[d]:
            return False
    return True
