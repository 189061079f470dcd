"""Steps of a walk over the lattice of paths: from a path to its children, and on to the next.

A path is a set of literals; walked in the order f1 < f2 < …, both signs, each set is met once. Each
step down counts pairs in the smaller half of the rows only; the other half is the difference to the
parent's counts. A feature that cannot split a node cannot split any node below it, so the matrices
shrink on the way.

Legend: U slots (features kept at both children), C pair counts [group, i, j] for i <= j, W words.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.bits import compress, count_pairs, plan_extract, side_mask
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel

# What a walk knows of each level: the side where it came down, the slot of the literal that it is
# at, and how far it is with it (0: to be opened, 1: before f = 1, 2: before f = 0, 3: done).
SIDE, CURSOR, STAGE = range(3)


class Stack(NamedTuple):
    """Per level and side: the state of the walk."""

    W: Any
    C: Any
    U: Any
    used: Any
    offsets: Any
    rows: Any
    totals: Any
    node: Any
    mask: Any
    kept: Any
    moves: Any


@kernel
def make_stack(table, levels):
    """Allocate the walk's state and put the whole table at its bottom."""
    n, width = table.words.shape
    groups, planes = len(table.totals), len(table.plane_group)
    stack = Stack(
        np.empty((levels + 1, 2, n, width), np.uint64),
        np.empty((levels + 1, 2, groups, n, n), table.pairs.dtype),
        np.empty((levels + 1, n), np.int64),
        np.zeros(levels + 1, np.int64),
        np.zeros((levels + 1, 2, planes + 1), np.int64),
        np.zeros((levels + 1, 2, planes), np.int64),
        np.zeros((levels + 1, 2, groups), table.pairs.dtype),
        np.zeros((levels + 1, 2), np.int64),
        np.empty(width, np.uint64),
        np.empty(width, np.uint64),
        np.empty((width, 6), np.uint64),
    )
    for i in range(n):
        for w in range(width):
            stack.W[0, 0, i, w] = table.words[i, w]
        for g in range(groups):
            for j in range(n):
                stack.C[0, 0, g, i, j] = table.pairs[g, i, j]
        stack.U[0, i] = i
    stack.used[0] = n
    for p in range(planes):
        stack.offsets[0, 0, p + 1] = table.offsets[p + 1]
        stack.rows[0, 0, p] = table.rows[p]
    for g in range(groups):
        stack.totals[0, 0, g] = table.totals[g]
    return stack


@kernel
def first_step(lattice, first):
    """Say where a walk begins that starts with this feature, for `next_child`."""
    steps = np.zeros((3, lattice.levels + 1), np.int64)
    steps[CURSOR, 0] = first
    return steps


@bare_kernel
def next_child(level, end, steps, stack, table, lattice, minsup, use_pext, wanted):
    """Go on to the next child of a path, in canonical order, up to the first feature ``end``.

    Returns the path's level and the child's side, 0 for f = 1 and 1 for f = 0; level −1 if there
    are no more. Whoever wants to visit what is below it then says `descend`. Literals whose two
    children are not ``wanted`` are not even opened; all are wanted if it is empty.
    """
    while level >= 0:
        last = end if level == 0 else stack.used[level]
        side, slot = steps[SIDE, level], steps[CURSOR, level]
        if slot >= last:
            level -= 1
        elif steps[STAGE, level] == 0:
            if len(wanted) == 0 or _leads_somewhere(stack, level, side, slot, lattice, wanted):
                open_literal(stack, level, side, slot, table, lattice, minsup, use_pext)
                steps[STAGE, level] = 1
            else:
                steps[CURSOR, level] += 1
        elif steps[STAGE, level] == 3:
            steps[STAGE, level] = 0
            steps[CURSOR, level] += 1
        else:
            steps[STAGE, level] += 1
            return level, steps[STAGE, level] - 2
    return level, np.int64(0)


@bare_kernel
def descend(level, s, steps, stack):
    """Go down to the child that `next_child` has found; return its level."""
    below = level + 1
    steps[SIDE, below] = s
    steps[CURSOR, below] = after(stack, below, stack.U[level, steps[CURSOR, level]])
    steps[STAGE, below] = 0
    return below


@bare_kernel
def _leads_somewhere(stack, level, side, c, lattice, wanted):
    """Tell whether one of the two paths behind a literal is wanted."""
    below = level + 1
    parent = stack.node[level, side]
    number = ((parent >> level) << below) + (parent & ((1 << level) - 1))
    number += lattice.binomial[stack.U[level, c], below] << below
    node = lattice.base[below] + number
    return wanted[node] or wanted[node + (1 << level)]


@bare_kernel
def after(stack, level, feature):
    """Find the first slot whose feature comes after ``feature``: the canonical order."""
    i = 0
    while i < stack.used[level] and stack.U[level, i] <= feature:
        i += 1
    return i


@bare_kernel
def open_literal(stack, level, side, c, table, lattice, minsup, use_pext):
    """Prepare both children of a node for the feature in its slot ``c``."""
    C = stack.C[level, side]
    groups = len(table.totals)
    below = level + 1
    feature = stack.U[level, c]
    rank_step = lattice.binomial[feature, below] << below
    parent = stack.node[level, side]
    parent_rank, parent_signs = parent >> level, parent & ((1 << level) - 1)
    number = (parent_rank << below) + rank_step + parent_signs
    stack.node[below, 0] = number
    stack.node[below, 1] = number + (1 << level)
    support1, support0 = np.int64(0), np.int64(0)
    for g in range(groups):
        stack.totals[below, 0, g] = C[g, c, c]
        stack.totals[below, 1, g] = stack.totals[level, side, g] - C[g, c, c]
        support1 += stack.totals[below, 0, g]
        support0 += stack.totals[below, 1, g]
    if support1 < minsup and support0 < minsup:
        stack.used[below] = 0
        return
    _choose_slots(stack, level, side, c, support1, support0, groups, lattice.levels, minsup)
    small = 0 if support1 <= support0 else 1
    for s in range(2):
        enough = (support0 if s else support1) >= minsup
        if s == small or (below < lattice.levels and enough):
            _compress_side(stack, level, side, c, s, use_pext)
    U = stack.used[below]
    count_pairs(
        stack.W[below, small], U, stack.offsets[below, small], table.plane_group,
        table.plane_shift, stack.C[below, small],
    )  # fmt: skip
    _subtract(stack, level, side, small, groups)


@bare_kernel
def _choose_slots(stack, level, side, c, support1, support0, groups, levels, minsup):
    """Keep the features that can still split a child, and those that can still extend its path.

    ``U[below]`` gets positions in the parent's slots; `_subtract` turns them into features.
    """
    C = stack.C[level, side]
    below = level + 1
    used = 0
    for i in range(stack.used[level]):
        if i == c:
            continue
        keep = below < levels and i > c
        if not keep:
            lo, hi = min(i, c), max(i, c)
            both = np.int64(0)
            alone = np.int64(0)
            for g in range(groups):
                both += C[g, lo, hi]
                alone += C[g, i, i]
            keep = (minsup <= both <= support1 - minsup) or (
                minsup <= alone - both and alone - both <= support0 - minsup
            )
        if keep:
            stack.U[below, used] = i
            used += 1
    stack.used[below] = used


@bare_kernel
def _compress_side(stack, level, side, c, s, use_pext):
    """Pack the kept features' rows of one side of the literal."""
    below = level + 1
    offsets, rows = stack.offsets[level, side], stack.rows[level, side]
    planes = len(rows)
    W = stack.W[level, side]
    side_mask(W[c], s == 1, offsets, rows, stack.mask)
    plan_extract(
        stack.mask, offsets, planes, stack.kept, stack.moves, stack.offsets[below, s],
        stack.rows[below, s], use_pext,
    )  # fmt: skip
    for i in range(stack.used[below]):
        compress(
            W[stack.U[below, i]], stack.mask, stack.kept, stack.moves, offsets, planes,
            stack.offsets[below, s], use_pext, stack.W[below, s, i],
        )  # fmt: skip


@hot_kernel
def _subtract(stack, level, side, small, groups):
    """Get the larger side's pair counts as parent minus smaller side; name the slots' features."""
    below = level + 1
    used = stack.used[below]
    positions = stack.U[below]
    for g in range(groups):
        parent = stack.C[level, side, g]
        small_pairs = stack.C[below, small, g]
        large_pairs = stack.C[below, 1 - small, g]
        for i in range(used):
            row = parent[positions[i]]
            for j in range(i, used):
                large_pairs[i, j] = row[positions[j]] - small_pairs[i, j]
    for i in range(used):
        positions[i] = stack.U[level, positions[i]]
