"""The tropical inside pass: least costs of all subproblems, by one walk over the lattice of paths.

A path is a set of literals; walked in the order f1 < f2 < …, both signs, each set is met once. The
node of a path of length k has the number ``base[k] + (rank << k) + signs`` with rank = Σ C(f_i, i)
over its ascending features; bit i of signs is set if its i-th literal is negative.

Each step down counts pairs in the smaller half of the rows only; the other half is the difference
to the parent's counts. A feature that cannot split a node cannot split any node below it, so the
matrices shrink on the way.

Legend: U slots (features kept at both children), C pair counts [group, i, j] for i <= j, W words.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.bits import compress, count_pairs, plan_extract, side_mask
from adtc.engine.kernels.closed import LANES, least_binary, least_cost
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel


class Table(NamedTuple):
    """The rows as kernels see them: see `adtc.engine.kernels.bits` for planes."""

    words: Any  # uint64 [feature, word]
    offsets: Any  # int64 [plane + 1]
    rows: Any  # int64 [plane]
    plane_group: Any  # int64 [plane]
    plane_shift: Any  # int64 [plane]
    pairs: Any  # [group, i, j]: pair counts of the whole table
    totals: Any  # [group]


class Costs(NamedTuple):
    """The linear functionals whose least values are wanted, and which labels a leaf may carry."""

    weights: Any  # [functional, label, group]; label 0 costs nothing
    constants: Any  # [functional]: per leaf
    group_label: Any  # int64 [group]: the true label of a group
    infinity: Any
    minsup: int
    majority: bool


class Lattice(NamedTuple):
    """Where nodes are numbered."""

    binomial: Any  # int64 [n + 1, levels + 2]
    base: Any  # int64 [levels + 1]
    levels: int  # length of the longest paths that are nodes
    rest: int  # depth of the trees below those: 0, 1 or 2


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


class Scratch(NamedTuple):
    """Room for the closed form at one node."""

    cost: Any
    cost1: Any
    cost_all: Any
    votes: Any
    votes1: Any
    votes_all: Any
    rows: Any
    rows1: Any
    active: Any
    best1: Any
    best0: Any


@kernel
def make_scratch(n, labels, weights):
    """Allocate room for the closed form on ``n`` features; all in the type of the weights."""
    dtype = weights.dtype
    room = n + LANES
    return Scratch(
        np.zeros((labels, n, room), dtype),
        np.zeros((labels, room), dtype),
        np.zeros(labels, dtype),
        np.zeros((labels, n, n), dtype),
        np.zeros((labels, n), dtype),
        np.zeros(labels, dtype),
        np.zeros((n, room), dtype),
        np.zeros(room, dtype),
        np.zeros(n, np.int64),
        np.zeros(room, dtype),
        np.zeros(room, dtype),
    )


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
def walk(first, table, lattice, costs, use_pext, counts, least):
    """Visit all paths whose least feature is ``first``, or the whole table if it is the only one.

    ``counts[node, g]`` gets the rows of each group, ``least[d, node]`` at the last level the least
    cost of functional d (elsewhere it is left alone); as many rows further down in ``least``, that
    of trees that are no single leaf.
    """
    stack = make_stack(table, lattice.levels)
    scratch = make_scratch(table.words.shape[0], costs.weights.shape[1], costs.weights)
    side = np.zeros(lattice.levels + 1, np.int64)
    cursor = np.zeros(lattice.levels + 1, np.int64)
    stage = np.zeros(lattice.levels + 1, np.int64)  # 0: open the literal, 1: f = 1, 2: f = 0
    cursor[0] = first
    level = np.int64(0)  # typed: a literal would compile everything below a second time
    if lattice.levels == 0:
        visit(stack, level, side[0], table, lattice, costs, scratch, counts, least)
        level = np.int64(-1)
    while level >= 0:
        last = first + 1 if level == 0 else stack.used[level]
        if cursor[level] >= last:
            level -= 1
        elif stage[level] == 0:
            open_literal(
                stack, level, side[level], cursor[level], table, lattice, costs.minsup, use_pext
            )
            stage[level] = 1
        elif stage[level] == 3:
            stage[level] = 0
            cursor[level] += 1
        else:
            s = stage[level] - 1
            stage[level] += 1
            if visit(stack, level + 1, s, table, lattice, costs, scratch, counts, least):
                feature = stack.U[level, cursor[level]]
                level += 1
                side[level] = s
                cursor[level] = after(stack, level, feature)
                stage[level] = 0


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


@bare_kernel
def visit(stack, level, side, table, lattice, costs, scratch, counts, least):
    """Record a node; True if the walk must go on below it."""
    support = np.int64(0)
    for g in range(len(table.totals)):
        support += stack.totals[level, side, g]
    if support < costs.minsup:
        return False
    number = lattice.base[level] + stack.node[level, side]
    for g in range(len(table.totals)):
        counts[number, g] = stack.totals[level, side, g]
    if level < lattice.levels:
        return True
    if len(costs.constants) == 0:
        return False
    C, totals = stack.C[level, side], stack.totals[level, side]
    close(C, totals, stack.used[level], support, lattice.rest, costs, scratch, least[:, number])
    return False


@bare_kernel
def close(C, totals, used, support, rest, costs, scratch, least):
    """Solve the subproblem of depth ``rest`` on pair counts for every functional."""
    if len(totals) and costs.weights.shape[1] == 2 and not costs.majority:
        for d in range(len(costs.constants)):
            least[d], least[d + len(costs.constants)] = least_binary(
                C, totals, used, support, rest, costs.weights[d, 1], costs.constants[d],
                costs.minsup, costs.infinity, scratch.rows1, scratch.cost1[1], scratch.rows[0],
                scratch.cost[1, 0], scratch.best1, scratch.best0,
            )  # fmt: skip
        return
    active = _gather_rows(C, used, support, rest, costs.minsup, scratch)
    if costs.majority:
        _gather_votes(C, totals, active, rest, costs, scratch)
    for d in range(len(costs.constants)):
        _gather_costs(C, totals, active, rest, costs.weights[d], scratch)
        least[d], least[d + len(costs.constants)] = least_cost(
            scratch.cost, scratch.cost1, scratch.cost_all,
            scratch.votes, scratch.votes1, scratch.votes_all,
            scratch.rows, scratch.rows1, scratch.rows.dtype.type(support),
            active, costs.constants[d], scratch.rows.dtype.type(costs.minsup), rest,
            costs.majority, costs.infinity, scratch.best1, scratch.best0,
        )  # fmt: skip


@bare_kernel
def _gather_rows(C, used, support, rest, minsup, scratch):
    """Collect the features that split the node, and how many rows each pair has."""
    active = np.int64(0)
    one = scratch.rows.dtype.type(1)
    if rest == 0 or support < 2 * minsup:
        return active
    for i in range(used):
        alone = np.int64(0)
        for g in range(C.shape[0]):
            alone += C[g, i, i]
        if minsup <= alone <= support - minsup:
            scratch.active[active] = i
            scratch.rows1[active] = alone
            active += 1
    if rest == 2:
        for i in range(active):
            out = scratch.rows[i]
            for j in range(i + 1, active):
                out[j] = 0
            for g in range(C.shape[0]):
                _add_row(C[g, scratch.active[i]], scratch.active, i + 1, active, one, out)
    return active


@hot_kernel
def _add_row(source, positions, start, stop, factor, out):
    for j in range(start, stop):
        out[j] += factor * source[positions[j]]


@bare_kernel
def _gather_costs(C, totals, active, rest, weights, scratch):
    """Turn counts by group into costs by label: one linear combination each."""
    labels, groups = weights.shape
    for l in range(labels):
        scratch.cost_all[l] = 0
        for i in range(active):
            scratch.cost1[l, i] = 0
        for g in range(groups):
            w = weights[l, g]
            scratch.cost_all[l] += w * totals[g]
            if w != 0:
                for i in range(active):
                    at = scratch.active[i]
                    scratch.cost1[l, i] += w * C[g, at, at]
        if rest == 2:
            for i in range(active):
                out = scratch.cost[l, i]
                for j in range(i + 1, active):
                    out[j] = 0
                for g in range(groups):
                    if weights[l, g] != 0:
                        row = C[g, scratch.active[i]]
                        _add_row(row, scratch.active, i + 1, active, weights[l, g], out)


@bare_kernel
def _gather_votes(C, totals, active, rest, costs, scratch):
    """Count the classes, for the majority label."""
    one = scratch.rows.dtype.type(1)
    for l in range(len(scratch.votes_all)):
        scratch.votes_all[l] = 0
        for i in range(active):
            scratch.votes1[l, i] = 0
            for j in range(active):
                scratch.votes[l, i, j] = 0
    for g in range(C.shape[0]):
        l = costs.group_label[g]
        scratch.votes_all[l] += totals[g]
        for i in range(active):
            at = scratch.active[i]
            scratch.votes1[l, i] += C[g, at, at]
            if rest == 2:
                _add_row(C[g, at], scratch.active, i + 1, active, one, scratch.votes[l, i])
