"""Kernels that list leaves and stumps: all trees of depth at most 1 on either side of a feature.

They come from the counts of that feature with each other one. Within budgets most features are out
of the question at a look at their cheapest leaves, found for all of them at once; the others are
measured one by one. Without budgets all are listed: what a leaf is worth is linear in its counts,
so it is found by the same differences as they are, for all features at once.

Legend: C pair counts [group, i, j] for i <= j, U the slots' features; side 0 of slot i are the rows
where its feature is 1, side 1 those where it is 0.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import (
    PLACES,
    Cells,
    add_cell,
    clear,
    copy_cell,
    copy_cells,
    copy_table,
    new_cells,
    new_table,
    within,
)
from adtc.engine.kernels.closed import LANES
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel
from adtc.engine.kernels.leaves import measure_leaf, new_leaf
from adtc.engine.kernels.sorting import sort_by_cost

UNKNOWN = 2**60  # more than any cost
_FEW = 16  # cells that are merged fastest one by one


class Work(NamedTuple):
    """Room for one closed-form tensor.

    *Channels* are what leaves without budgets add up: the key and, for majority labels, the votes.
    """

    active: Any  # the slots that split
    counts: Any  # [side, group]: the rows on either side of i
    leaf1: Any  # a leaf on a part of a side, measured
    leaf0: Any  # … and one on the rest of that side
    part: Any  # [2, group]: their rows
    sides: Any  # Cells [side, cell]: leaves and stumps, unmerged
    lists: Any  # Cells [side, cell]: merged, affordable ones only
    sizes: Any  # [side]: how many
    merged: Any  # Cells: hash table for one side
    spare: Any  # Cells: room to sort a side
    limits: Any  # [4, functional]: what sides 0 and 1 may cost, what they cost at least
    hopeful: Any  # [slot]: a split on its feature may fit the budgets
    least: Any  # [functional, side, slot]: what a tree of depth 1 there costs at least
    cheapest: Any  # [side, slot]: what two leaves below i and another slot cost at least
    room: Any  # [4, slot]: to find that out
    weights: Any  # [label, channel, group]
    ones: Any  # [label, channel, at]: what the rows with a splitting feature are worth
    both: Any  # [label, channel, at]: those that also have the feature i
    part1: Any  # [label, channel, at]: those on one side of i
    part0: Any  # … and the rest of that side
    rows: Any  # [3, at]: numbers of rows, for `ones`, `both` and `part1`; before that, of a group
    whole: Any  # [2, label, channel]: all rows; those on one side of i
    table: Any  # Cells: hash table for a path's tensor, as long as it is small
    sorting: Any  # Cells: room to sort that
    none: Any  # no numbers: in place of an array over all keys
    labels: Any  # [2, label]
    cost: Any  # [2, functional]
    wide: Any


@kernel
def new_work(table, leaves, limbs):
    """Make room for closed-form tensors on this table."""
    n = table.words.shape[0]
    labels, groups = leaves.key_weights.shape
    functionals = len(leaves.cost_constants)
    channels = 1 + (1 if leaves.majority else 0)
    weights = np.zeros((labels, channels, groups), np.int64)
    for l in range(labels):
        for g in range(groups):
            weights[l, 0, g] = leaves.key_weights[l, g]
            if leaves.majority:
                weights[l, 1, g] = leaves.group_label[g] == l
    most = labels + labels * labels * n
    capacity = np.int64(16)
    while capacity < 2 * most:
        capacity *= 2
    one = np.int64(1)
    places = PLACES
    while places < 2 * labels:  # a path's leaves have room, however many
        places *= 2
    return Work(
        np.zeros(n, np.int64),
        np.zeros((2, groups), table.totals.dtype),
        new_leaf(labels, functionals),
        new_leaf(labels, functionals),
        np.zeros((2, groups), table.totals.dtype),
        _two_lists(most, functionals),
        _two_lists(most, functionals),
        np.zeros(2, np.int64),
        new_table(capacity, one, functionals),
        new_cells(most, one, functionals),
        np.zeros((4, functionals), np.int64),
        np.ones(n, np.bool_),
        np.zeros((functionals, 2, n + LANES), np.int64),
        np.zeros((2, n), np.int64),
        np.zeros((4, n + LANES), np.int64),
        weights,
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((3, n), np.int64),
        np.zeros((2, labels, channels), np.int64),
        new_table(places, limbs, functionals),
        new_cells(places, limbs, functionals),
        np.zeros(0, np.uint64),
        np.zeros((2, labels), np.int64),
        np.zeros((2, functionals), np.int64),
        np.zeros(limbs, np.uint64),
    )


@kernel
def _two_lists(capacity, functionals):
    return Cells(
        np.empty((2, capacity), np.int64),
        np.empty((2, capacity, 1), np.uint64),
        np.empty((2, capacity, functionals), np.int64),
    )


@bare_kernel
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


@hot_kernel
def find_cheapest(C, totals, i, used, leaves, work):
    """Write what two leaves cost at least, by the first budget, on either side of slot i."""
    cheapest1, cheapest0 = work.cheapest[0], work.cheapest[1]
    weights, zero = leaves.cost_weights[0], np.int64(0)
    twice = 2 * leaves.cost_constants[0]
    for j in range(used):
        lo, hi = min(i, j), max(i, j)
        # the cheapest labels on the four parts; label 0 costs nothing in a budget's form
        least11, least10, least01, least00 = zero, zero, zero, zero
        for l in range(1, len(weights)):
            both, one, other, whole = zero, zero, zero, zero
            for g in range(len(totals)):
                weight = weights[l, g]
                both += weight * C[g, lo, hi]
                one += weight * C[g, i, i]
                other += weight * C[g, j, j]
                whole += weight * totals[g]
            least11, least10 = min(least11, both), min(least10, one - both)
            least01 = min(least01, other - both)
            least00 = min(least00, whole - one - other + both)
        cheapest1[j] = least11 + least10 + twice
        cheapest0[j] = least01 + least00 + twice


@bare_kernel
def list_within(C, used, i, side, rest, leaves, U, multiplicity, work, limit, least):
    """List the trees of depth at most ``rest`` − 1 on one side of slot i that fit the limits.

    They go to ``work.sides``, unmerged. Writes their least costs, returns their number.
    """
    keys, values, costs = work.sides.keys[side], work.sides.values[side], work.sides.costs[side]
    key1, cost1, ok1 = work.leaf1
    key0, cost0, ok0 = work.leaf0
    whole, part1, part0 = work.counts[side], work.part[0], work.part[1]
    cheapest = work.cheapest[side]
    groups, labels, functionals = len(whole), len(key1), len(limit)
    here = np.int64(0)
    for g in range(groups):
        here += whole[g]
    for d in range(functionals):
        least[d] = UNKNOWN
    n = np.int64(0)
    measure_leaf(whole, here, leaves, work.leaf1)
    for p in range(labels):
        if ok1[p]:
            keys[n] = key1[p]
            values[n, 0] = 1
            for d in range(functionals):
                costs[n, d] = cost1[p, d]
            n = _taken(costs, n, limit, least)
    if rest < 2:
        return n
    for j in range(used):
        if j == i or cheapest[j] > limit[0]:
            continue  # most features end here
        rows = np.int64(0)
        for g in range(groups):
            both = C[g, min(i, j), max(i, j)]
            one = C[g, j, j] - both if side else both
            part1[g], part0[g] = one, whole[g] - one
            rows += one
        if rows < leaves.minsup or here - rows < leaves.minsup:
            continue
        measure_leaf(part1, rows, leaves, work.leaf1)
        measure_leaf(part0, here - rows, leaves, work.leaf0)
        twins = np.uint64(multiplicity[U[j]])
        for p in range(labels):
            for q in range(labels):
                if not ok1[p] or not ok0[q] or (p == q and not leaves.trivial_splits):
                    continue
                keys[n] = key1[p] + key0[q]
                values[n, 0] = twins
                for d in range(functionals):
                    costs[n, d] = cost1[p, d] + cost0[q, d]
                n = _taken(costs, n, limit, least)
    return n


@bare_kernel
def _taken(costs, n, limit, least):
    """Keep cell n of a list if it fits the limits; return the number of cells kept."""
    for d in range(len(limit)):
        if costs[n, d] > limit[d]:
            return n
    for d in range(len(limit)):
        least[d] = min(least[d], costs[n, d])
    return n + 1


@bare_kernel
def merge_affordable(side, n, limit, work):
    """Merge the first n cells of a side that fit the limits, by first cost; return how many."""
    cells = Cells(work.sides.keys[side], work.sides.values[side], work.sides.costs[side])
    out = Cells(work.lists.keys[side], work.lists.values[side], work.lists.costs[side])
    if n <= _FEW:
        return _merge_few(cells, n, limit, out)
    places = np.int64(2 * _FEW)
    while places < 2 * n:
        places *= 2
    table = work.merged
    h = Cells(table.keys[:places], table.values[:places], table.costs[:places])
    clear(h)
    size = np.int64(0)
    for k in range(n):
        if within(cells.costs[k], limit):
            size = add_cell(h, size, cells.keys[k], cells.values[k, 0], cells.costs[k])
    stop = copy_table(h, out, np.int64(0))
    sort_by_cost(out, np.int64(0), stop, work.spare)
    return stop


@bare_kernel
def _merge_few(cells, n, limit, out):
    """Merge cells by putting each one to its place, or to its equal."""
    keys, values, costs = cells.keys, cells.values, cells.costs
    stop = np.int64(0)
    for k in range(n):
        if within(costs[k], limit):
            stop = _put(keys[k], values[k, 0], costs[k], out, stop)
    return stop


@bare_kernel
def _put(key, value, cost, out, stop):
    """Put a cell into a list sorted by first cost, or to its equal; return the list's end."""
    keys, values, costs = out.keys, out.values, out.costs
    at = np.int64(0)
    while at < stop and keys[at] != key:
        at += 1
    if at < stop:
        values[at, 0] += value
        return stop
    while at > 0 and len(cost) and costs[at - 1, 0] > cost[0]:
        copy_cell(keys, values, costs, at - 1, keys, values, costs, at)
        at -= 1
    keys[at], values[at, 0] = key, value
    for d in range(len(cost)):
        costs[at, d] = cost[d]
    return stop + 1


@bare_kernel
def append_leaf(node, leaves, counts, budgets, leaf, merged, pool, fill):
    """Append a path's single leaves within budget to a pool with room; return its size."""
    rows = np.int64(0)
    for g in range(counts.shape[1]):
        rows += counts[node, g]
    measure_leaf(counts[node], rows, leaves, leaf)
    key, cost, ok = leaf
    n = np.int64(0)
    for l in range(len(key)):
        if ok[l] and within(cost[l], budgets[node]):
            n = _put(key[l], np.uint64(1), cost[l], merged, n)
    copy_cells(merged, np.int64(0), pool, fill, n)
    return fill + n


@bare_kernel
def weigh_rows(C, totals, active, work):
    """Write what all rows and those with each splitting feature are worth."""
    labels, channels, groups = work.weights.shape
    slots, rows, counts = work.active, work.rows[0], work.rows[2]
    for l in range(labels):
        for ch in range(channels):
            work.whole[0, l, ch] = 0
    for g in range(groups):
        for at in range(active):
            counts[at] = C[g, slots[at], slots[at]]
        _add_times(counts, active, np.int64(1), g == 0, rows)
        for l in range(labels):
            for ch in range(channels):
                weight = work.weights[l, ch, g]
                work.whole[0, l, ch] += weight * totals[g]
                _add_times(counts, active, weight, g == 0, work.ones[l, ch])


@bare_kernel
def weigh_both(C, i, active, work):
    """Write what the rows with feature i and each other splitting feature are worth."""
    labels, channels, groups = work.weights.shape
    slots, rows, counts = work.active, work.rows[1], work.rows[2]
    for g in range(groups):
        for at in range(active):
            j = slots[at]
            counts[at] = C[g, min(i, j), max(i, j)]
        _add_times(counts, active, np.int64(1), g == 0, rows)
        for l in range(labels):
            for ch in range(channels):
                _add_times(counts, active, work.weights[l, ch, g], g == 0, work.both[l, ch])


@hot_kernel
def _add_times(numbers, n, factor, first, out):
    if first:
        for at in range(n):
            out[at] = factor * numbers[at]
    else:
        for at in range(n):
            out[at] += factor * numbers[at]


@bare_kernel
def _weigh_side(a, side, active, work):
    """Write what the two parts of a side of the a-th feature are worth, for every other feature."""
    labels, channels, _ = work.weights.shape
    _take_side(work.rows[0], work.rows[1], active, side, work.rows[2])
    for l in range(labels):
        for ch in range(channels):
            ones, part1, part0 = work.ones[l, ch], work.part1[l, ch], work.part0[l, ch]
            here = work.whole[0, l, ch] - ones[a] if side else ones[a]
            work.whole[1, l, ch] = here
            _take_side(ones, work.both[l, ch], active, side, part1)
            for at in range(active):
                part0[at] = here - part1[at]


@hot_kernel
def _take_side(ones, both, n, side, out):
    if side:
        for at in range(n):
            out[at] = ones[at] - both[at]
    else:
        for at in range(n):
            out[at] = both[at]


@bare_kernel
def list_all(a, side, active, support, rest, leaves, U, multiplicity, work):
    """List all trees of depth at most ``rest`` − 1 on one side of the a-th feature, unmerged.

    There are no budgets. Returns their number.
    """
    # The innermost loop of whole-space tensors: arrays are taken out of their tuples once.
    keys, values = work.sides.keys[side], work.sides.values[side]
    part1, part0, whole = work.part1, work.part0, work.whole[1]
    slots, rows, labels = work.active, work.rows[2], len(part1)
    constant, minsup = leaves.key_constant, leaves.minsup
    majority, trivial = leaves.majority, leaves.trivial_splits
    _weigh_side(a, side, active, work)
    here = support - work.rows[0, a] if side else work.rows[0, a]
    n = np.int64(0)
    for p in range(labels):
        if here >= minsup and (not majority or p == _elected(whole[:, 1])):
            keys[n] = whole[p, 0] + constant
            values[n, 0] = 1
            n += 1
    if rest < 2:
        return n
    for b in range(active):
        if b == a or rows[b] < minsup or here - rows[b] < minsup:
            continue
        elected1 = _elected(part1[:, 1, b]) if majority else 0
        elected0 = _elected(part0[:, 1, b]) if majority else 0
        twins = np.uint64(multiplicity[U[slots[b]]])
        for p in range(labels):
            for q in range(labels):
                if (p == q and not trivial) or (majority and (p != elected1 or q != elected0)):
                    continue
                keys[n] = part1[p, 0, b] + part0[q, 0, b] + 2 * constant
                values[n, 0] = twins
                n += 1
    return n


@bare_kernel
def _elected(votes):
    """Return the label with the most votes; ties: the smallest."""
    chosen = 0
    for l in range(1, len(votes)):
        if votes[l] > votes[chosen]:
            chosen = l
    return chosen
