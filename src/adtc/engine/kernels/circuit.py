"""Kernels that fill the circuit: the tensor of every live path, last level first.

At the last level the trees below a path have depth at most 2 and come in closed form from pair
counts; above it a tensor is leaf ⊕ the products of the children's tensors. Only cells within the
path's budgets are kept, and each of them is part of at least one tree within all of them.

Legend: I path, i j features, side 1 and 0 of i; key and cost are linear in a leaf's counts.
"""

import numpy as np

from adtc.engine.kernels.cells import (
    PLACES,
    append_table,
    emptied,
    multiply_rows,
    new_cells,
    new_table,
    reserve,
    room_for,
)
from adtc.engine.kernels.dense import append_dense, key_range, multiply_dense
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.last_level import (
    Place,
    add_splits,
    append_in_room,
    dense_range,
    dense_tensor,
    pour,
    start_tensor,
)
from adtc.engine.kernels.leaves import drop_trivial, new_leaf, put_leaf
from adtc.engine.kernels.parted import SMALL, append_large
from adtc.engine.kernels.paths import child, seek
from adtc.engine.kernels.sorting import append_sorted, sort_by_cost
from adtc.engine.kernels.steps import descend, first_step, make_stack, next_child
from adtc.engine.kernels.stumps import append_leaf, new_work


@kernel
def fill_last(
    first, end, table, lattice, leaves, multiplicity, use_pext, wanted, live, budgets, most, limbs,
    starts, stops, owner,
):  # fmt: skip
    """Make the tensors of all live paths of the last level whose least feature is in a range.

    ``wanted[node]`` marks the paths that lead to a live one in canonical order. Writes each
    tensor's place in the returned pool to ``starts`` and ``stops`` (by number within the level).
    Returns the pool, its size and the number of cell pairs looked at, −1 if the tensors would need
    more than ``most`` cells.
    """
    stack = make_stack(table, lattice.levels)
    pool = new_cells(np.int64(1024), limbs, budgets.shape[1])
    fill = np.int64(0)
    scanned = np.int64(0)
    work = new_work(table, leaves, limbs)
    steps = first_step(lattice, first)
    above = np.int64(0)
    while above >= 0:
        above, s = _next_live(
            above, end, steps, stack, table, lattice, leaves.minsup, use_pext, wanted, live
        )
        if s < 0:
            break
        number = stack.node[lattice.levels, s]
        owner[number] = first
        starts[number] = fill
        base, width, size, pairs, at = _start_path(
            stack, s, lattice, leaves, multiplicity, budgets, work
        )
        if width > 0:
            acc = np.zeros(width * limbs, np.uint64)
            pairs = _sum_densely(
                acc, base, stack, s, lattice, leaves, multiplicity, budgets, work
            )  # fmt: skip
            pool, fill = append_dense(acc, base, limbs, width, pool, fill)
        elif at.a == at.active and fill + size <= len(pool.keys):
            fill = append_in_room(work, pool, fill)  # no reference is counted up to here
        else:
            h = work.table
            while at.a < at.active:
                if size + at.n0 > most - fill:
                    return pool, fill, np.int64(-1)
                h = reserve(h, size, at.n0)
                size, looked, at = _go_on(
                    h, size, at, stack, s, lattice, leaves, multiplicity, budgets, work
                )
                pairs += looked
            pool, fill = append_sorted(h, size, pool, fill)
        stops[number] = fill
        scanned += pairs
    return pool, fill, scanned


@bare_kernel
def _next_live(level, end, steps, stack, table, lattice, minsup, use_pext, wanted, live):
    """Walk on to the next live path of the last level.

    Returns the level above it and the side where it is, −1 if there are no more.
    """
    if lattice.levels == 0:  # the root is the only path
        return np.int64(-1), np.int64(0)
    while True:
        level, s = next_child(
            level, end, steps, stack, table, lattice, minsup, use_pext, wanted
        )  # fmt: skip
        if level < 0:
            return level, np.int64(-1)
        below = level + 1
        node = lattice.base[below] + stack.node[below, s]
        if below == lattice.levels:
            if live[node]:
                return level, s
        elif wanted[node]:
            level = descend(level, s, steps, stack)


@bare_kernel
def _start_path(stack, side, lattice, leaves, multiplicity, budgets, work):
    """Begin the tensor of a path, unless an array over all its keys is better."""
    level, zero = lattice.levels, np.int64(0)
    C, totals, U = stack.C[level, side], stack.totals[level, side], stack.U[level]
    used, b = stack.used[level], budgets[lattice.base[level] + stack.node[level, side]]
    base, width = dense_range(C, totals, used, lattice.rest, leaves, b, work)
    if width > 0:
        return base, width, zero, zero, Place(zero, zero, zero, zero, zero, zero)
    size, pairs, at = start_tensor(
        C, totals, U, used, lattice.rest, leaves, multiplicity, b, work
    )  # fmt: skip
    return base, width, size, pairs, at


@bare_kernel
def _go_on(h, size, at, stack, side, lattice, leaves, multiplicity, budgets, work):
    """Add to the tensor of a path from a place on, as long as the hash table has room."""
    level = lattice.levels
    C, totals, U = stack.C[level, side], stack.totals[level, side], stack.U[level]
    b = budgets[lattice.base[level] + stack.node[level, side]]
    return add_splits(
        h, size, work.none, np.int64(0), C, totals, U, stack.used[level], lattice.rest, leaves,
        multiplicity, b, work, at,
    )  # fmt: skip


@bare_kernel
def _sum_densely(acc, base, stack, side, lattice, leaves, multiplicity, budgets, work):
    """Add up the tensor of a path in an array over all its keys; return the number of pairs."""
    level = lattice.levels
    C, totals, U = stack.C[level, side], stack.totals[level, side], stack.U[level]
    b = budgets[lattice.base[level] + stack.node[level, side]]
    return dense_tensor(
        acc, base, C, totals, U, stack.used[level], lattice.rest, leaves, multiplicity, b, work
    )


@kernel
def fill_single(nodes, last, leaves, counts, budgets, limbs, starts, stops):
    """Make the tensors of paths of the last level on which only a single leaf is within budget.

    ``nodes`` are numbers within the level, whose first path is ``last``. Returns as `fill_last`.
    """
    labels, functionals = leaves.key_weights.shape[0], budgets.shape[1]
    pool = new_cells(len(nodes) * labels, limbs, functionals)
    leaf = new_leaf(labels, functionals)
    merged = new_cells(labels, np.int64(1), functionals)
    fill = np.int64(0)
    for k in range(len(nodes)):
        starts[nodes[k]] = fill
        fill = append_leaf(last + nodes[k], leaves, counts, budgets, leaf, merged, pool, fill)
        stops[nodes[k]] = fill
    return pool, fill, np.int64(0)


@kernel
def fill_level(
    level, nodes, n, lattice, leaves, multiplicity, counts, live, budgets,
    below, below_starts, below_stops, limbs, most, starts, stops,
):  # fmt: skip
    """Make the tensors of the given live paths of one level from those one level below.

    ``nodes`` are numbers within the level. Returns as `fill_last` does.
    """
    functionals = budgets.shape[1]
    # nobody multiplies the root's tensor, so it needs neither costs nor an order by them
    kept = functionals if level > 0 else 0
    pool = new_cells(np.int64(1024), limbs, kept)
    spare = new_cells(np.int64(1024), limbs, kept)
    h = new_table(PLACES, limbs, kept)
    fill = np.int64(0)
    size = np.int64(0)
    scanned = np.int64(0)
    features = np.zeros(level + 1, np.int64)
    pairs = np.zeros((n, 5), np.int64)
    labels = np.zeros((2, leaves.key_weights.shape[0]), np.int64)
    cost = np.zeros((2, functionals), np.int64)
    wide = np.zeros(limbs, np.uint64)
    for k in range(len(nodes)):
        number = nodes[k]
        node = lattice.base[level] + number
        b = budgets[node]
        signs = number & ((1 << level) - 1)
        seek(features, level, number >> level, n, lattice)
        splits = find_splits(
            features, level, signs, n, lattice, live, below_starts, below_stops, pairs
        )
        h = reserve(emptied(h, size), np.int64(0), labels.shape[1])
        size = put_leaf(h, np.int64(0), counts[node], leaves, b, labels[0], cost[0])
        most_leaves = np.int64(1) << (lattice.levels + lattice.rest - level)
        base, width = key_range(counts[node], leaves, most_leaves)
        dense = leaves.dense and functionals == 0 and width < most // 2
        dense = dense and width <= 4 * count_products(pairs[:splits])
        acc = np.zeros(width * limbs if dense else 0, np.uint64)
        if dense:
            pour(h, acc, base, limbs)
        done = np.int64(0)
        row = pairs[0, 0]
        while done < splits:
            factor = np.uint64(multiplicity[pairs[done, 4]])
            if dense:
                looked = multiply_dense(
                    acc, base, limbs, below, pairs[done, 0], pairs[done, 1], below,
                    pairs[done, 2], pairs[done, 3], factor, wide,
                )  # fmt: skip
            else:
                h, size, looked, row = multiply_rows(
                    h, size, below, pairs[done, 0], pairs[done, 1], below, pairs[done, 2],
                    pairs[done, 3], factor, b, most - fill, SMALL, wide,
                )  # fmt: skip
                if looked < 0:
                    return pool, fill, looked
            scanned += looked
            if not dense and row < pairs[done, 1]:
                break  # the table has outgrown the caches
            done += 1
        if not leaves.trivial_splits:
            h = reserve(h, size, splits * labels.shape[1])
            for p in range(splits):
                one = child(features, level, signs, pairs[p, 4], np.int64(0), lattice)
                zero = child(features, level, signs, pairs[p, 4], np.int64(1), lattice)
                size = drop_trivial(
                    h, size, acc, base, counts[one], counts[zero],
                    np.uint64(multiplicity[pairs[p, 4]]), leaves, b, labels, cost,
                )  # fmt: skip
        starts[number] = fill
        if dense:
            pool, fill = append_dense(acc, base, limbs, width, pool, fill)
        elif done == splits:
            pool, fill = append_table(h, size, pool, fill)
        else:
            pool, fill, looked, spare = append_large(
                h, size, pairs[done:splits], row, below, multiplicity, b, most - fill, pool, fill,
                spare,
            )  # fmt: skip
            if fill < 0:
                return pool, fill, fill
            scanned += looked
        if level > 0 and not dense:
            spare = room_for(spare, np.int64(0), fill - starts[number])
            sort_by_cost(pool, starts[number], fill, spare)
        stops[number] = fill
    return pool, fill, scanned


@bare_kernel
def find_splits(features, level, signs, n, lattice, live, starts, stops, pairs):
    """Write where the children's tensors are for every split of a path; return how many.

    The shorter tensor comes first: loops over the longer one are the inner ones. A line's last
    entry is the feature.
    """
    first = lattice.base[level + 1]
    at = 0
    splits = np.int64(0)
    for f in range(n):
        if at < level and features[at] == f:
            at += 1
            continue
        i = child(features, level, signs, f, np.int64(0), lattice)
        j = child(features, level, signs, f, np.int64(1), lattice)
        if not live[i] or not live[j]:
            continue
        if stops[i - first] - starts[i - first] > stops[j - first] - starts[j - first]:
            i, j = j, i
        pairs[splits, 0], pairs[splits, 1] = starts[i - first], stops[i - first]
        pairs[splits, 2], pairs[splits, 3] = starts[j - first], stops[j - first]
        pairs[splits, 4] = f
        splits += 1
    return splits


@bare_kernel
def count_products(pairs):
    """Count the cell pairs that a path's tensor is made of."""
    products = np.int64(0)
    for p in range(len(pairs)):
        products += (pairs[p, 1] - pairs[p, 0]) * (pairs[p, 3] - pairs[p, 2])
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
        largest = max(largest, total if total < 1e300 else np.inf)  # not a number counts as ∞
    return largest
