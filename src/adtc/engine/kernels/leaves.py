"""Kernels about leaves: which labels one may carry, and its key and costs in a tensor."""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import EMPTY, add_cell, find, occupied, take_from, within
from adtc.engine.kernels.jit import bare_kernel, kernel


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
    most_leaves: int  # of any tree


@bare_kernel
def leaf_labels(counts, leaves, labels):
    """Write the labels that a leaf with these counts may carry; return how many."""
    support = np.int64(0)
    for g in range(len(counts)):
        support += counts[g]
    if support < leaves.minsup:
        return 0
    n = leaves.key_weights.shape[0]
    if leaves.majority:
        labels[0] = majority_label(counts, leaves.group_label, n)
        return 1
    for l in range(n):
        labels[l] = l
    return n


@bare_kernel
def majority_label(counts, group_label, labels):
    """Return the label with the most rows; ties: the smallest."""
    chosen, most = np.int64(0), np.int64(-1)
    for l in range(labels):
        votes = np.int64(0)
        for g in range(len(counts)):
            if group_label[g] == l:
                votes += counts[g]
        if votes > most:
            chosen, most = np.int64(l), votes
    return chosen


@bare_kernel
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


@bare_kernel
def put_leaf(h, size, counts, leaves, b, labels, cost):
    """Add a node's own leaves within its budgets; return the table's number of keys."""
    for at in range(leaf_labels(counts, leaves, labels)):
        key = leaf_cell(counts, labels[at], leaves, cost)
        if within(cost, b):
            size = add_cell(h, size, key, np.uint64(1), cost)
    return size


@bare_kernel
def drop_trivial(h, size, acc, base, counts1, counts0, factor, leaves, b, labels, costs):
    """Take back the splits whose two children are leaves of equal label.

    They were added to the array ``acc`` over all keys from ``base`` on; if it is empty, to ``h``.

    They may be taken before they are given: the table's numbers go below 0 then, see `take_from`.
    ``labels`` and ``costs`` have room for those of two leaves. Returns the table's number of keys;
    it has room.
    """
    limbs = h.values.shape[1]
    cost = costs[0]
    n1 = leaf_labels(counts1, leaves, labels[0])
    n0 = leaf_labels(counts0, leaves, labels[1])
    for i in range(n1):
        for j in range(n0):
            if labels[0, i] == labels[1, j]:
                key = leaf_cell(counts1, labels[0, i], leaves, cost)
                key += leaf_cell(counts0, labels[1, j], leaves, costs[1])
                for d in range(len(cost)):
                    cost[d] += costs[1, d]
                if len(acc):
                    at = (key - base) * limbs
                    take_from(acc[at : at + limbs], factor)
                elif within(cost, b):
                    at = find(h.keys, key)
                    if h.keys[at] == EMPTY:
                        size = occupied(h, at, key, size)
                        for d in range(h.costs.shape[1]):
                            h.costs[at, d] = cost[d]
                    take_from(h.values[at], factor)
    return size


@kernel
def new_leaf(labels, functionals):
    """Make room for a leaf's keys, costs and admission by label."""
    return (
        np.empty(labels, np.int64),
        np.empty((labels, functionals), np.int64),
        np.empty(labels, np.bool_),
    )


@bare_kernel
def measure_leaf(counts, support, leaves, leaf):
    """Write the keys and costs of a leaf under every label, and which labels it may carry."""
    key, cost, ok = leaf
    weights, cost_weights = leaves.key_weights, leaves.cost_weights
    for l in range(len(key)):
        value = np.int64(leaves.key_constant)
        for g in range(len(counts)):
            value += weights[l, g] * counts[g]
        key[l] = value
        for d in range(cost.shape[1]):
            total = leaves.cost_constants[d]
            for g in range(len(counts)):
                total += cost_weights[d, l, g] * counts[g]
            cost[l, d] = total
        ok[l] = support >= leaves.minsup
    if leaves.majority:
        elected = majority_label(counts, leaves.group_label, len(ok))
        for l in range(len(ok)):
            ok[l] = ok[l] and l == elected
