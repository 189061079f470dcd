"""Closed forms for the last two levels: the least cost of trees of depth 0, 1 or 2 on pair counts.

A cost is a linear functional of leaf counts. ``cost[l, i, j]`` is the cost of giving label l to the
rows where features i and j are both 1 (i < j), ``cost1[l, i]`` where i is 1, ``cost_all[l]`` that
of all rows; ``rows`` counts them likewise; ``votes`` counts classes and is read only if leaves
carry the majority label. Valid while every cost stays below ``infinity / 4``: the driver proves it.

Legend: quadrants 11 10 01 00 of features i and j; best1[i], best0[i] best stump on each side of i.
"""

import numpy as np

from adtc.engine.kernels.jit import kernel


@kernel
def least_cost(
    cost, cost1, cost_all, votes, votes1, votes_all, rows, rows1, rows_all,
    features, constant, minsup, rest, majority, infinity, best1, best0,
):  # fmt: skip
    """Return the least cost over trees of depth at most ``rest`` (0, 1 or 2)."""
    labels = len(cost_all)
    zero = infinity - infinity
    leaf = infinity
    if rows_all >= minsup:
        leaf = _leaf(cost_all, votes_all, labels, majority) + constant
    if rest == 0 or features == 0:
        return leaf
    c = np.empty(labels, cost.dtype)
    v = np.empty(labels, votes.dtype)
    for i in range(features):
        best1[i] = infinity
        best0[i] = infinity
        if rows1[i] >= minsup:
            best1[i] = _leaf(cost1[:, i], votes1[:, i], labels, majority) + constant
        if rows_all - rows1[i] >= minsup:
            for l in range(labels):
                c[l] = cost_all[l] - cost1[l, i]
                if majority:
                    v[l] = votes_all[l] - votes1[l, i]
            best0[i] = _leaf(c, v, labels, majority) + constant
    if rest == 2:
        if labels == 2 and not majority:
            for i in range(features - 1):
                _pairs_with(
                    cost[0, i, :features], cost[1, i, :features], rows[i, :features],
                    cost1[0, :features], cost1[1, :features], rows1[:features],
                    cost_all[0], cost_all[1], rows_all, i, constant, minsup, infinity, zero,
                    best1[:features], best0[:features],
                )  # fmt: skip
        else:
            _all_pairs(
                cost, cost1, cost_all, votes, votes1, votes_all, rows, rows1, rows_all,
                features, constant, minsup, majority, infinity, best1, best0,
            )  # fmt: skip
    best = leaf
    for i in range(features):
        best = min(best, best1[i] + best0[i])
    return best


@kernel
def _leaf(cost, votes, labels, majority):
    """Return the cost of the label a leaf carries: the cheapest, or the majority's."""
    chosen = 0
    for l in range(1, labels):
        if majority:
            if votes[l] > votes[chosen]:  # ties: the smallest label
                chosen = l
        elif cost[l] < cost[chosen]:
            chosen = l
    return cost[chosen]


@kernel
def _pairs_with(
    a_row, b_row, n_row, a1, b1, n1, a_all, b_all, n_all, i, constant, minsup, infinity, zero,
    best1, best0,
):  # fmt: skip
    """Update the best stumps with all splits on i and a later feature; two labels a and b."""
    # One flat loop over one-dimensional slices of one type: the compiler vectorises it.
    ai, bi, ni = a1[i], b1[i], n1[i]
    here1, here0 = best1[i], best0[i]
    for j in range(i + 1, len(a_row)):
        a11, b11, n11 = a_row[j], b_row[j], n_row[j]
        a10, b10, n10 = ai - a11, bi - b11, ni - n11
        a01, b01, n01 = a1[j] - a11, b1[j] - b11, n1[j] - n11
        a00, b00, n00 = a_all - ai - a01, b_all - bi - b01, n_all - ni - n01
        q11 = (min(a11, b11) + constant) if n11 >= minsup else infinity
        q10 = (min(a10, b10) + constant) if n10 >= minsup else infinity
        q01 = (min(a01, b01) + constant) if n01 >= minsup else infinity
        q00 = (min(a00, b00) + constant) if n00 >= minsup else infinity
        here1 = min(here1, q11 + q10)
        here0 = min(here0, q01 + q00)
        best1[j] = min(best1[j], q11 + q01)
        best0[j] = min(best0[j], q10 + q00)
    best1[i] = here1
    best0[i] = here0


@kernel
def _all_pairs(
    cost, cost1, cost_all, votes, votes1, votes_all, rows, rows1, rows_all,
    features, constant, minsup, majority, infinity, best1, best0,
):  # fmt: skip
    """Update the best stumps with all splits on two features; any number of labels."""
    labels = len(cost_all)
    c = np.empty((4, labels), cost.dtype)
    v = np.empty((4, labels), votes.dtype)
    n = np.empty(4, rows.dtype)
    q = np.empty(4, cost.dtype)
    for i in range(features):
        for j in range(i + 1, features):
            for l in range(labels):
                _quadrants(cost[l, i, j], cost1[l, i], cost1[l, j], cost_all[l], c[:, l])
                if majority:
                    _quadrants(votes[l, i, j], votes1[l, i], votes1[l, j], votes_all[l], v[:, l])
            _quadrants(rows[i, j], rows1[i], rows1[j], rows_all, n)
            for k in range(4):
                q[k] = infinity
                if n[k] >= minsup:
                    q[k] = _leaf(c[k], v[k], labels, majority) + constant
            best1[i] = min(best1[i], q[0] + q[1])
            best0[i] = min(best0[i], q[2] + q[3])
            best1[j] = min(best1[j], q[0] + q[2])
            best0[j] = min(best0[j], q[1] + q[3])


@kernel
def _quadrants(both, first, second, everything, out):
    """Split a count by two features: 11, 10, 01, 00."""
    out[0] = both
    out[1] = first - both
    out[2] = second - both
    out[3] = everything - first - second + both
