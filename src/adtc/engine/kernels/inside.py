"""The tropical inside pass: least costs of all subproblems, by one walk over the lattice of paths.

The node of a path of length k has the number ``base[k] + (rank << k) + signs`` with rank =
Σ C(f_i, i) over its ascending features; bit i of signs is set if its i-th literal is negative.

Legend: C pair counts [group, i, j] for i <= j.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.closed import LANES, least_binary, least_cost
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel
from adtc.engine.kernels.steps import descend, first_step, make_stack, next_child


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
def walk(first, table, lattice, costs, use_pext, counts, least):
    """Visit all paths whose least feature is ``first``, or the whole table if it is the only one.

    ``counts[node, g]`` gets the rows of each group, ``least[d, node]`` at the last level the least
    cost of functional d (elsewhere it is left alone); as many rows further down in ``least``, that
    of trees that are no single leaf.
    """
    stack = make_stack(table, lattice.levels)
    scratch = make_scratch(table.words.shape[0], costs.weights.shape[1], costs.weights)
    steps = first_step(lattice, first)
    everything = np.zeros(0, np.bool_)
    level, s = np.int64(0), np.int64(0)  # typed: literals would compile all below a second time
    if lattice.levels == 0:
        visit(stack, level, s, table, lattice, costs, scratch, counts, least)
        return
    while True:
        level, s = next_child(
            level, first + 1, steps, stack, table, lattice, costs.minsup, use_pext, everything
        )
        if level < 0:
            return
        if visit(stack, level + 1, s, table, lattice, costs, scratch, counts, least):
            level = descend(level, s, steps, stack)


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
