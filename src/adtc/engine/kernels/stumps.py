"""Kernels that list leaves and stumps: all trees of depth at most 1 on either side of a feature.

They come from the counts of that feature with each other one. What a leaf is worth is linear in
its counts, so it is found by the same differences as they are.

Legend: C pair counts [group, i, j] for i <= j, U the slots' features, side 1 and 0 of i.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import (
    Cells,
    add_cell,
    clear,
    copy_table,
    new_cells,
    new_table,
    within,
)
from adtc.engine.kernels.closed import LANES
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.sorting import sort_by_cost

UNKNOWN = 2**60  # more than any cost


class Work(NamedTuple):
    """Room for one closed-form tensor.

    *Channels* are what leaves add up: the key, the costs and, for majority labels, the votes.
    """

    active: Any  # the slots that split
    weights: Any  # [label, channel, group]
    constants: Any  # [channel]: per leaf
    ones: Any  # [label, channel, at]: what the rows with a splitting feature are worth
    both: Any  # [label, channel, at]: those that also have the feature i
    part1: Any  # [label, channel, at]: those on one side of i
    part0: Any  # … and the rest of that side
    rows: Any  # [3, at]: numbers of rows, for `ones`, `both` and `part1`; before that, of a group
    whole: Any  # [label, channel]: all rows
    side: Any  # [label, channel]: those on one side of i
    cheapest: Any  # [3, at]
    side1: Any  # Cells: leaves and stumps where the feature is 1, unmerged
    side0: Any  # … and where it is 0
    merged: Any  # Cells: hash table for one side
    list1: Any  # Cells: side 1 merged, affordable ones only
    list0: Any  # … and side 0
    spare: Any  # Cells: room to sort them
    labels: Any
    cost: Any
    counts: Any  # [side, group]
    limits: Any  # [4, functional]
    wide: Any
    hopeful: Any  # [slot]: a split on its feature may fit the budgets
    least: Any  # [functional, side, slot]: what a tree of depth 1 there costs at least
    room: Any  # [4, slot]: to find that out


@kernel
def new_work(table, leaves, limbs):
    """Make room for closed-form tensors on this table."""
    n = table.words.shape[0]
    labels, groups = leaves.key_weights.shape
    functionals = len(leaves.cost_constants)
    channels = 1 + functionals + (1 if leaves.majority else 0)
    weights = np.zeros((labels, channels, groups), np.int64)
    constants = np.zeros(channels, np.int64)
    constants[0] = leaves.key_constant
    for d in range(functionals):
        constants[1 + d] = leaves.cost_constants[d]
    for l in range(labels):
        for g in range(groups):
            weights[l, 0, g] = leaves.key_weights[l, g]
            for d in range(functionals):
                weights[l, 1 + d, g] = leaves.cost_weights[d, l, g]
            if leaves.majority:
                weights[l, channels - 1, g] = leaves.group_label[g] == l
    most = labels + labels * labels * n
    capacity = np.int64(16)
    while capacity < 2 * most:
        capacity *= 2
    one = np.int64(1)
    return Work(
        np.zeros(n, np.int64),
        weights,
        constants,
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((labels, channels, n), np.int64),
        np.zeros((3, n), np.int64),
        np.zeros((labels, channels), np.int64),
        np.zeros((labels, channels), np.int64),
        np.zeros((3, n), np.int64),
        new_cells(most, one, functionals),
        new_cells(most, one, functionals),
        new_table(capacity, one, functionals),
        new_cells(most, one, functionals),
        new_cells(most, one, functionals),
        new_cells(most, one, functionals),
        np.zeros(labels, np.int64),
        np.zeros(functionals, np.int64),
        np.zeros((2, groups), table.totals.dtype),
        np.zeros((4, functionals), np.int64),
        np.zeros(limbs, np.uint64),
        np.ones(n, np.bool_),
        np.zeros((functionals, 2, n + LANES), np.int64),
        np.zeros((4, n + LANES), np.int64),
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


@bare_kernel
def weigh_rows(C, totals, active, work):
    """Write what all rows and those with each splitting feature are worth; return their number."""
    support = np.int64(0)
    for g in range(len(totals)):
        support += totals[g]
    labels, channels, groups = work.weights.shape
    for at in range(active):
        work.rows[0, at] = 0
    for l in range(labels):
        for ch in range(channels):
            work.whole[l, ch] = 0
            for at in range(active):
                work.ones[l, ch, at] = 0
    for g in range(groups):
        for at in range(active):
            i = work.active[at]
            work.rows[0, at] += C[g, i, i]
        for l in range(labels):
            for ch in range(channels):
                weight = work.weights[l, ch, g]
                work.whole[l, ch] += weight * totals[g]
                for at in range(active):
                    i = work.active[at]
                    work.ones[l, ch, at] += weight * C[g, i, i]
    return support


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


@bare_kernel
def _add_times(numbers, n, factor, first, out):
    if first:
        for at in range(n):
            out[at] = factor * numbers[at]
    else:
        for at in range(n):
            out[at] += factor * numbers[at]


@bare_kernel
def weigh_side(a, positive, active, work):
    """Write what the two parts of a side of the a-th feature are worth, for every other feature."""
    labels, channels, _ = work.weights.shape
    _take_side(work.rows[0], work.rows[1], active, positive, work.rows[2])
    for l in range(labels):
        for ch in range(channels):
            ones, part1, part0 = work.ones[l, ch], work.part1[l, ch], work.part0[l, ch]
            here = ones[a] if positive else work.whole[l, ch] - ones[a]
            work.side[l, ch] = here
            _take_side(ones, work.both[l, ch], active, positive, part1)
            for at in range(active):
                part0[at] = here - part1[at]


@bare_kernel
def _take_side(ones, both, n, positive, out):
    if positive:
        for at in range(n):
            out[at] = both[at]
    else:
        for at in range(n):
            out[at] = ones[at] - both[at]


@bare_kernel
def find_cheapest(active, work):
    """Write the least costs of two leaves on all parts, for the first functional."""
    cheapest, least1, least0 = work.cheapest[0], work.cheapest[1], work.cheapest[2]
    _least_of(work.part1[:, 1], active, least1)
    _least_of(work.part0[:, 1], active, least0)
    both = 2 * work.constants[1]
    for at in range(active):
        cheapest[at] = least1[at] + least0[at] + both


@bare_kernel
def _least_of(costs, n, out):
    for l in range(len(costs)):
        cost = costs[l]
        if l == 0:
            for at in range(n):
                out[at] = cost[at]
        else:
            for at in range(n):
                out[at] = min(out[at], cost[at])


@bare_kernel
def stumps(
    a, positive, active, support, rest, leaves, U, multiplicity, work, limit, out, least
):  # fmt: skip
    """List the trees of depth at most ``rest`` − 1 on one side of the a-th feature, unmerged.

    Leaves out what exceeds a ``limit``; writes the least costs to ``least``, returns the number.
    """
    # The innermost loop of whole-space tensors: arrays are taken out of their tuples once.
    keys, values, costs = out.keys, out.values, out.costs
    part1, part0, constants, cheapest = work.part1, work.part0, work.constants, work.cheapest[0]
    slots, rows = work.active, work.rows[2]
    functionals, labels = len(least), len(part1)
    minsup, majority, trivial = leaves.minsup, leaves.majority, leaves.trivial_splits
    weigh_side(a, positive, active, work)
    here = work.rows[0, a] if positive else support - work.rows[0, a]
    for d in range(functionals):
        least[d] = 2**62
    n = np.int64(0)
    for p in range(labels):
        if here >= minsup and (not majority or p == _elected(work.side[:, -1])):
            keys[n] = work.side[p, 0] + constants[0]
            values[n, 0] = 1
            for d in range(functionals):
                costs[n, d] = work.side[p, 1 + d] + constants[1 + d]
            n = _taken(costs, n, limit, least)
    if rest < 2:
        return n
    if functionals:
        find_cheapest(active, work)
    two = 2 * constants[0]
    for b in range(active):
        if b == a or rows[b] < minsup or here - rows[b] < minsup:
            continue
        if functionals and cheapest[b] > limit[0]:
            continue  # most features end here
        elected1 = _elected(part1[:, -1, b]) if majority else 0
        elected0 = _elected(part0[:, -1, b]) if majority else 0
        twins = np.uint64(multiplicity[U[slots[b]]])
        for p in range(labels):
            for q in range(labels):
                if (p == q and not trivial) or (majority and (p != elected1 or q != elected0)):
                    continue
                keys[n] = part1[p, 0, b] + part0[q, 0, b] + two
                values[n, 0] = twins
                for d in range(functionals):
                    ch = 1 + d
                    costs[n, d] = part1[p, ch, b] + part0[q, ch, b] + 2 * constants[ch]
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
def _elected(votes):
    """Return the label with the most votes; ties: the smallest."""
    chosen = 0
    for l in range(1, len(votes)):
        if votes[l] > votes[chosen]:
            chosen = l
    return chosen


@bare_kernel
def merge_affordable(cells, n, limit, work, out):
    """Merge the first n cells that fit the limits into ``out``, by first cost; return how many."""
    places = np.int64(16)
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
