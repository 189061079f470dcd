"""Kernels that fill the circuit: the tensor of every live path, last level first.

At the last level the trees below a path have depth at most 2 and come in closed form from pair
counts; above it a tensor is leaf ⊕ the products of the children's tensors. Only cells within the
path's budgets are kept, and each of them is part of at least one tree within all of them.

Legend: I path, i j features, side 1 and 0 of i; key and cost are linear in a leaf's counts.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import (
    EMPTY,
    add_cell,
    append_table,
    clear,
    find,
    multiply,
    new_cells,
    new_table,
    take_from,
    within,
)
from adtc.engine.kernels.dense import append_dense, key_range, multiply_dense
from adtc.engine.kernels.inside import _after, make_stack, open_literal
from adtc.engine.kernels.jit import kernel
from adtc.engine.kernels.paths import child, seek


class Leaves(NamedTuple):
    """What a leaf is worth: key and costs as linear functionals, and the labels it may carry."""

    key_weights: Any  # int64 [label, group]
    key_constant: int
    cost_weights: Any  # int64 [functional, label, group]
    cost_constants: Any  # int64 [functional]
    group_label: Any  # int64 [group]
    minsup: int
    majority: bool
    trivial_splits: bool
    dense: bool  # switch: use arrays over all keys where they pay


@kernel
def leaf_labels(counts, leaves, labels):
    """Write the labels that a leaf with these counts may carry; return how many."""
    support = np.int64(0)
    for g in range(len(counts)):
        support += counts[g]
    if support < leaves.minsup:
        return 0
    n = leaves.key_weights.shape[0]
    if not leaves.majority:
        for l in range(n):
            labels[l] = l
        return n
    votes = np.zeros(n, np.int64)
    for g in range(len(counts)):
        votes[leaves.group_label[g]] += counts[g]
    labels[0] = 0
    for l in range(1, n):
        if votes[l] > votes[labels[0]]:  # ties: the smallest label
            labels[0] = l
    return 1


@kernel
def leaf_cell(counts, label, leaves, cost):
    """Return the key of a leaf and write its costs."""
    key = np.int64(leaves.key_constant)
    for g in range(len(counts)):
        key += leaves.key_weights[label, g] * counts[g]
    for d in range(len(cost)):
        cost[d] = leaves.cost_constants[d]
        for g in range(len(counts)):
            cost[d] += leaves.cost_weights[d, label, g] * counts[g]
    return key


@kernel
def put_leaf(h, size, counts, leaves, b, labels, cost):
    """Add a node's own leaves within its budgets; return the table's number of keys."""
    for at in range(leaf_labels(counts, leaves, labels)):
        key = leaf_cell(counts, labels[at], leaves, cost)
        if within(cost, b):
            size = add_cell(h, size, key, np.uint64(1), cost)
    return size


@kernel
def drop_trivial(h, acc, base, dense, counts1, counts0, factor, leaves, b, labels, cost):
    """Take back the splits whose two children are leaves of equal label."""
    limbs = h.values.shape[1]
    cost0 = np.empty_like(cost)
    n = leaf_labels(counts1, leaves, labels)
    labels0 = np.empty_like(labels)
    n0 = leaf_labels(counts0, leaves, labels0)
    for i in range(n):
        for j in range(n0):
            if labels[i] == labels0[j]:
                key = leaf_cell(counts1, labels[i], leaves, cost)
                key += leaf_cell(counts0, labels0[j], leaves, cost0)
                for d in range(len(cost)):
                    cost[d] += cost0[d]
                if dense:
                    at = (key - base) * limbs
                    take_from(acc[at : at + limbs], factor)
                elif within(cost, b):
                    take_from(h.values[find(h.keys, key)], factor)


@kernel
def fill_last(
    first, table, lattice, leaves, multiplicity, use_pext, wanted, live, budgets, most, starts,
    stops, owner,
):  # fmt: skip
    """Make the tensors of all live paths of the last level whose least feature is ``first``.

    ``wanted[node]`` marks the paths that lead to a live one in canonical order. Writes each
    tensor's place in the returned pool to ``starts`` and ``stops`` (by number within the level).
    Returns the pool, its size and the number of cell pairs looked at, −1 if the tensors would need
    more than ``most`` cells.
    """
    functionals = budgets.shape[1]
    stack = make_stack(table, lattice.levels)
    pool = new_cells(np.int64(1024), np.int64(1), functionals)
    fill = np.int64(0)
    scanned = np.int64(0)
    work = new_work(table, leaves)
    side = np.zeros(lattice.levels + 1, np.int64)
    cursor = np.zeros(lattice.levels + 1, np.int64)
    stage = np.zeros(lattice.levels + 1, np.int64)
    cursor[0] = first
    level = np.int64(0)
    while level >= 0:
        last = first + 1 if level == 0 else stack.used[level]
        if cursor[level] >= last:
            level -= 1
        elif stage[level] == 0:
            if _leads_somewhere(stack, level, side[level], cursor[level], lattice, wanted):
                open_literal(
                    stack, level, side[level], cursor[level], table, lattice, leaves.minsup,
                    use_pext,
                )  # fmt: skip
                stage[level] = 1
            else:
                cursor[level] += 1
        elif stage[level] == 3:
            stage[level] = 0
            cursor[level] += 1
        else:
            s = stage[level] - 1
            stage[level] += 1
            below = level + 1
            node = lattice.base[below] + stack.node[below, s]
            if below < lattice.levels and wanted[node]:
                feature = stack.U[level, cursor[level]]
                level = below
                side[level] = s
                cursor[level] = _after(stack, level, feature)
                stage[level] = 0
            elif below == lattice.levels and live[node]:
                number = stack.node[below, s]
                owner[number] = first
                starts[number] = fill
                pool, fill, pairs = closed_tensor(
                    stack.C[below, s], stack.totals[below, s], stack.U[below], stack.used[below],
                    lattice.rest, leaves, multiplicity, budgets[node], most - fill, work, pool,
                    fill,
                )  # fmt: skip
                if pairs < 0:
                    return pool, fill, np.int64(-1)
                stops[number] = fill
                scanned += pairs
    return pool, fill, scanned


@kernel
def _leads_somewhere(stack, level, side, c, lattice, wanted):
    """Tell whether one of the two paths behind a literal is wanted."""
    below = level + 1
    parent = stack.node[level, side]
    number = ((parent >> level) << below) + (parent & ((1 << level) - 1))
    number += lattice.binomial[stack.U[level, c], below] << below
    node = lattice.base[below] + number
    return wanted[node] or wanted[node + (1 << level)]


class Work(NamedTuple):
    """Room for one closed-form tensor."""

    active: Any
    side1: Any  # Cells: leaves and stumps where the feature is 1, unmerged
    side0: Any  # … and where it is 0
    merged: Any  # Cells: hash table for one side
    labels: Any
    cost: Any
    wide: Any


@kernel
def new_work(table, leaves):
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
        np.zeros(1, np.uint64),
    )


@kernel
def closed_tensor(C, totals, U, used, rest, leaves, multiplicity, b, most, work, pool, fill):
    """Append the tensor of all trees of depth at most ``rest`` (0, 1 or 2) on pair counts."""
    functionals = len(b)
    h = new_table(np.int64(256), np.int64(1), functionals)
    size = put_leaf(h, np.int64(0), totals, leaves, b, work.labels, work.cost)
    scanned = np.int64(0)
    if rest == 0:
        pool, fill = append_table(h, size, pool, fill)
        return pool, fill, scanned
    active = splitting_features(C, totals, used, leaves.minsup, work.active)
    base, width = key_range(totals, leaves, np.int64(4))
    stumps_per_side = leaves.key_weights.shape[0] ** 2 * active
    dense = leaves.dense and functionals == 0 and width <= active * stumps_per_side
    acc = np.zeros(width if dense else 0, np.uint64)
    if dense:
        pour(h, acc, base, np.int64(1))
    counts1 = np.empty_like(totals)
    counts0 = np.empty_like(totals)
    least1 = np.empty(functionals, np.int64)
    least0 = np.empty(functionals, np.int64)
    left = np.empty(functionals, np.int64)
    zero = np.int64(0)
    for a in range(active):
        i = work.active[a]
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
        for d in range(functionals):
            left[d] = b[d] - least0[d]
        side1 = affordable_cells(work.side1, n1, left, work.merged)
        for d in range(functionals):
            left[d] = b[d] - least1[d]
        side0 = affordable_cells(work.side0, n0, left, work.merged)
        if dense:
            pairs = multiply_dense(
                acc, base, np.int64(1), side1, zero, len(side1.keys), side0, zero,
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
            drop_trivial(
                h, acc, base, dense, counts1, counts0, factor, leaves, b, work.labels, work.cost
            )
    if dense:
        pool, fill = append_dense(acc, base, np.int64(1), width, pool, fill)
    else:
        pool, fill = append_table(h, size, pool, fill)
    return pool, fill, scanned


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
    groups = len(totals)
    whole = np.empty_like(totals)
    part1 = np.empty_like(totals)
    part0 = np.empty_like(totals)
    labels1 = np.empty_like(work.labels)
    labels0 = np.empty_like(work.labels)
    cost0 = np.empty_like(work.cost)
    for d in range(len(least)):
        least[d] = 2**62
    n = np.int64(0)
    for g in range(groups):
        whole[g] = C[g, i, i] if positive else totals[g] - C[g, i, i]
    for at in range(leaf_labels(whole, leaves, labels1)):
        out.keys[n] = leaf_cell(whole, labels1[at], leaves, work.cost)
        n = _note(out, n, np.uint64(1), work.cost, least)
    if rest < 2:
        return n
    for a in range(active):
        j = work.active[a]
        if j == i:
            continue
        lo, hi = min(i, j), max(i, j)
        for g in range(groups):
            both = C[g, lo, hi]
            part1[g] = both if positive else C[g, j, j] - both
            part0[g] = whole[g] - part1[g]
        labels_1 = leaf_labels(part1, leaves, labels1)
        labels_0 = leaf_labels(part0, leaves, labels0)
        for p in range(labels_1):
            key1 = leaf_cell(part1, labels1[p], leaves, work.cost)
            for q in range(labels_0):
                if labels1[p] == labels0[q] and not leaves.trivial_splits:
                    continue
                out.keys[n] = key1 + leaf_cell(part0, labels0[q], leaves, cost0)
                for d in range(len(cost0)):
                    cost0[d] += work.cost[d]
                n = _note(out, n, np.uint64(multiplicity[U[j]]), cost0, least)
    return n


@kernel
def _note(out, n, value, cost, least):
    out.values[n, 0] = value
    for d in range(len(cost)):
        out.costs[n, d] = cost[d]
        least[d] = min(least[d], cost[d])
    return n + 1


@kernel
def affordable_cells(cells, n, limit, h):
    """Merge the first n cells that fit the limits, sorted by first cost; h is a table for it."""
    clear(h)
    size = np.int64(0)
    for k in range(n):
        if within(cells.costs[k], limit):
            size = add_cell(h, size, cells.keys[k], cells.values[k, 0], cells.costs[k])
    merged = new_cells(size, np.int64(1), len(limit))
    merged, _ = append_table(h, size, merged, np.int64(0))
    return merged


@kernel
def fill_level(
    level, nodes, n, lattice, leaves, multiplicity, counts, live, budgets,
    below, below_starts, below_stops, limbs, most, starts, stops,
):  # fmt: skip
    """Make the tensors of the given live paths of one level from those one level below.

    ``nodes`` are numbers within the level. Returns as `fill_last` does.
    """
    functionals = budgets.shape[1]
    pool = new_cells(np.int64(1024), limbs, functionals)
    fill = np.int64(0)
    scanned = np.int64(0)
    features = np.zeros(level + 1, np.int64)
    labels = np.zeros(leaves.key_weights.shape[0], np.int64)
    cost = np.zeros(functionals, np.int64)
    wide = np.zeros(limbs, np.uint64)
    for k in range(len(nodes)):
        number = nodes[k]
        node = lattice.base[level] + number
        b = budgets[node]
        signs = number & ((1 << level) - 1)
        seek(features, level, number >> level, n, lattice)
        h = new_table(np.int64(256), limbs, functionals)
        size = put_leaf(h, np.int64(0), counts[node], leaves, b, labels, cost)
        most_leaves = np.int64(1) << (lattice.levels + lattice.rest - level)
        base, width = key_range(counts[node], leaves, most_leaves)
        dense = leaves.dense and functionals == 0 and width < most // 2
        if dense:
            products = count_products(
                features, level, signs, n, lattice, live, below_starts, below_stops
            )
            dense = width <= 4 * products
        acc = np.zeros(width * limbs if dense else 0, np.uint64)
        if dense:
            pour(h, acc, base, limbs)
        at = 0
        for f in range(n):
            if at < level and features[at] == f:
                at += 1
                continue
            one = child(features, level, signs, f, np.int64(0), lattice)
            zero = child(features, level, signs, f, np.int64(1), lattice)
            if not live[one] or not live[zero]:
                continue
            i, j = one - lattice.base[level + 1], zero - lattice.base[level + 1]
            factor = np.uint64(multiplicity[f])
            if dense:
                pairs = multiply_dense(
                    acc, base, limbs, below, below_starts[i], below_stops[i], below,
                    below_starts[j], below_stops[j], factor, wide,
                )  # fmt: skip
            else:
                h, size, pairs = multiply(
                    h, size, below, below_starts[i], below_stops[i], below, below_starts[j],
                    below_stops[j], factor, b, most - fill,
                )  # fmt: skip
                if pairs < 0:
                    return pool, fill, pairs
            scanned += pairs
            if not leaves.trivial_splits:
                drop_trivial(
                    h, acc, base, dense, counts[one], counts[zero], factor, leaves, b, labels, cost
                )
        starts[number] = fill
        if dense:
            pool, fill = append_dense(acc, base, limbs, width, pool, fill)
        else:
            pool, fill = append_table(h, size, pool, fill)
        stops[number] = fill
    return pool, fill, scanned


@kernel
def count_products(features, level, signs, n, lattice, live, starts, stops):
    """Count the cell pairs that a path's tensor is made of."""
    products = np.int64(0)
    at = 0
    for f in range(n):
        if at < level and features[at] == f:
            at += 1
            continue
        one = child(features, level, signs, f, np.int64(0), lattice)
        zero = child(features, level, signs, f, np.int64(1), lattice)
        if live[one] and live[zero]:
            i, j = one - lattice.base[level + 1], zero - lattice.base[level + 1]
            products += (stops[i] - starts[i]) * (stops[j] - starts[j])
    return products


@kernel
def bound_level(level, nodes, n, lattice, leaves, multiplicity, live, below_totals, totals):
    """Bound the number of trees below each node from those one level below, in floats.

    The sum ignores budgets and cells, so it is an upper bound up to rounding.
    """
    features = np.zeros(level + 1, np.int64)
    largest = 0.0
    for k in range(len(nodes)):
        number = nodes[k]
        signs = number & ((1 << level) - 1)
        seek(features, level, number >> level, n, lattice)
        total = float(leaves.key_weights.shape[0])
        at = 0
        for f in range(n):
            if at < level and features[at] == f:
                at += 1
                continue
            one = child(features, level, signs, f, np.int64(0), lattice)
            zero = child(features, level, signs, f, np.int64(1), lattice)
            if live[one] and live[zero]:
                below = lattice.base[level + 1]
                total += multiplicity[f] * below_totals[one - below] * below_totals[zero - below]
        totals[number] = total
        largest = max(largest, total)
    return largest
