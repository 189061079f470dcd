"""Closed forms for the last two levels: the least cost of trees of depth 0, 1 or 2 on pair counts.

A cost is a linear functional of leaf counts. ``cost[l, i, j]`` is the cost of giving label l to the
rows where features i and j are both 1 (i < j), ``cost1[l, i]`` where i is 1, ``cost_all[l]`` that
of all rows; ``rows`` counts them likewise; ``votes`` counts classes and is read only if leaves
carry the majority label. Valid while every cost stays below ``infinity / 4``: the driver proves it.

Legend: quadrants 11 10 01 00 of features i and j; best1[i], best0[i] best stump on each side of i.
"""

import numpy as np

from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel
from adtc.engine.kernels.paths import leaf_cost

LANES = 16  # loops over pairs run over whole vectors of this many


@kernel
def least_cost(
    cost, cost1, cost_all, votes, votes1, votes_all, rows, rows1, rows_all,
    features, constant, minsup, rest, majority, infinity, best1, best0,
):  # fmt: skip
    """Return the least cost of trees of depth at most ``rest`` (0, 1 or 2), and of splits alone."""
    labels = len(cost_all)
    leaf = infinity
    if rows_all >= minsup:
        leaf = _leaf(cost_all, votes_all, labels, majority) + constant
    if rest == 0 or features == 0:
        return leaf, infinity
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
        _all_pairs(
            cost, cost1, cost_all, votes, votes1, votes_all, rows, rows1, rows_all,
            features, constant, minsup, majority, infinity, best1, best0,
        )  # fmt: skip
    split = infinity
    for i in range(features):
        split = min(split, best1[i] + best0[i])
    return min(leaf, split), split


@bare_kernel
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


@hot_kernel
def least_binary(
    C, totals, features, support, rest, weights, constant, minsup, infinity, rows1, cost1,
    rows_of, cost_of, best1, best0,
):  # fmt: skip
    """Do what `least_cost` does, for two labels of which label 0 costs nothing, on pair counts C.

    ``weights[g]`` is what a row of group g costs under label 1; the last six arrays are room.
    """
    kind = rows1.dtype.type  # one type throughout: the compiler vectorises
    zero, most, few = kind(0), kind(support), kind(minsup)
    cost_all = zero
    for g in range(len(totals)):
        cost_all += weights[g] * kind(totals[g])
    leaf = min(zero, cost_all) + constant if most >= few else infinity
    if rest == 0 or most < few + few:
        return leaf, infinity
    for i in range(features):
        n, cost = zero, zero
        for g in range(len(totals)):
            n += kind(C[g, i, i])
            cost += weights[g] * kind(C[g, i, i])
        rows1[i], cost1[i] = n, cost
        splits = few <= n <= most - few
        best1[i] = min(zero, cost) + constant if splits else infinity
        best0[i] = min(zero, cost_all - cost) + constant if splits else infinity
    if rest == 2:
        padded = (features + LANES - 1) // LANES * LANES
        for i in range(features, padded):
            rows1[i], cost1[i] = zero, zero
        for i in range(features - 1):
            if few <= rows1[i] <= most - few:
                start = (i + 1) // LANES * LANES
                for g in range(len(totals)):
                    _add_group(C[g, i], i + 1, features, weights[g], g == 0, rows_of, cost_of)
                # lanes that are no pair: as if no row were in quadrant 11 or 00, whatever happens
                _set(rows_of, start, i + 1, -infinity)
                _set(cost_of, start, i + 1, zero)
                _set(rows_of, features, padded, -infinity)
                _set(cost_of, features, padded, zero)
                best1[i], best0[i] = _pairs_with(
                    cost_of[start:padded], rows_of[start:padded], cost1[start:padded],
                    rows1[start:padded], cost1[i], rows1[i], cost_all - cost1[i], most - rows1[i],
                    constant, few, infinity, best1[start:padded], best0[start:padded], best1[i],
                    best0[i],
                )  # fmt: skip
    split = infinity
    for i in range(features):
        split = min(split, best1[i] + best0[i])
    return min(leaf, split), split


@bare_kernel
def _set(array, start, stop, value):
    for j in range(start, stop):
        array[j] = value


@bare_kernel
def _add_group(source, start, stop, weight, first, rows_of, cost_of):
    """Add one group's rows and their cost to a feature's pairs; the first group sets them."""
    if first:
        for j in range(start, stop):
            rows_of[j] = source[j]
            cost_of[j] = weight * source[j]
    else:
        for j in range(start, stop):
            rows_of[j] += source[j]
            cost_of[j] += weight * source[j]


@hot_kernel
def least_mixed(
    rows, cost, rows1, cost1, support, cost_all, features, constant, minsup, infinity, best1,
    best0,
):  # fmt: skip
    """Do what `least_binary` does for depth 2, on matrices of rows and of the cost of label 1.

    In ``rows`` what is no pair, up to whole vectors, holds −∞: as if none of its rows were in
    quadrant 11 or 00, so that it decides nothing.
    """
    zero = cost_all - cost_all
    leaf = min(zero, cost_all) + constant if support >= minsup else infinity
    if features == 0 or support < minsup + minsup:
        return leaf, infinity
    for i in range(features):
        splits = minsup <= rows1[i] <= support - minsup
        best1[i] = min(zero, cost1[i]) + constant if splits else infinity
        best0[i] = min(zero, cost_all - cost1[i]) + constant if splits else infinity
    padded = (features + LANES - 1) // LANES * LANES
    for i in range(features - 1):
        if minsup <= rows1[i] <= support - minsup:
            start = (i + 1) // LANES * LANES
            best1[i], best0[i] = _pairs_with(
                cost[i, start:padded], rows[i, start:padded], cost1[start:padded],
                rows1[start:padded], cost1[i], rows1[i], cost_all - cost1[i], support - rows1[i],
                constant, minsup, infinity, best1[start:padded], best0[start:padded], best1[i],
                best0[i],
            )  # fmt: skip
    split = infinity
    for i in range(features):
        split = min(split, best1[i] + best0[i])
    return min(leaf, split), split


@bare_kernel
def _pairs_with(
    b_row, n_row, b1, n1, bi, ni, b_rest, n_rest, constant, minsup, infinity, best1, best0,
    here1, here0,
):  # fmt: skip
    """Update the best stumps with all splits on i and other features; b is the cost of label 1."""
    # One flat loop from 0 over slices, every value cast back to one type, and whole vectors only:
    # anything else and the compiler does not vectorise it.
    kind = b_row.dtype.type
    zero, inf, add, few = kind(0), kind(infinity), kind(constant), kind(minsup)
    rest_b, rest_n = kind(b_rest), kind(n_rest)
    for j in range(len(b_row)):
        b11, n11 = b_row[j], n_row[j]
        b10, n10 = kind(bi - b11), kind(ni - n11)
        b01, n01 = kind(b1[j] - b11), kind(n1[j] - n11)
        b00, n00 = kind(rest_b - b01), kind(rest_n - n01)
        q11 = kind(min(zero, b11) + add) if n11 >= few else inf
        q10 = kind(min(zero, b10) + add) if n10 >= few else inf
        q01 = kind(min(zero, b01) + add) if n01 >= few else inf
        q00 = kind(min(zero, b00) + add) if n00 >= few else inf
        here1 = min(here1, kind(q11 + q10))
        here0 = min(here0, kind(q01 + q00))
        best1[j] = min(best1[j], kind(q11 + q01))
        best0[j] = min(best0[j], kind(q10 + q00))
    return here1, here0


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


@bare_kernel
def _quadrants(both, first, second, everything, out):
    """Split a count by two features: 11, 10, 01, 00."""
    out[0] = both
    out[1] = first - both
    out[2] = second - both
    out[3] = everything - first - second + both


@kernel
def find_tree(cost, both, rows, on_path, costs, rest):
    """Find a tree of depth 1 or 2 with a known cost: its feature, those below 1 and below 0.

    ``both[g, i, j]`` counts the rows of a group where i and j are 1; −1 stands for a leaf.
    """
    ones, zeros = np.empty_like(rows), np.empty_like(rows)
    yes, no = np.bool_(True), np.bool_(False)  # typed: literals would compile it twice
    for f in range(both.shape[1]):
        if on_path[f]:
            continue
        for g in range(len(rows)):
            ones[g] = both[g, f, f]
            zeros[g] = rows[g] - ones[g]
        cost1, below1 = _best_below(f, yes, ones, both, on_path, costs, rest)
        cost0, below0 = _best_below(f, no, zeros, both, on_path, costs, rest)
        if cost1 + cost0 == cost:
            return f, below1, below0
    return -1, -1, -1


@kernel
def _best_below(f, positive, whole, both, on_path, costs, rest):
    """Return the least cost of a leaf or a stump on one side of a feature, and the stump's."""
    part1, part0 = np.empty_like(whole), np.empty_like(whole)
    least, best = _cost_of_leaf(whole, costs), -1
    if rest < 2:
        return least, best
    for j in range(both.shape[1]):
        if on_path[j] or j == f:
            continue
        for g in range(len(whole)):
            part1[g] = both[g, f, j] if positive else both[g, j, j] - both[g, f, j]
            part0[g] = whole[g] - part1[g]
        total = _cost_of_leaf(part1, costs) + _cost_of_leaf(part0, costs)
        if total < least:
            least, best = total, j
    return least, best


@bare_kernel
def _cost_of_leaf(counts, costs):
    """Return the cost of a leaf for the first functional; too few rows cost infinitely much."""
    support = np.int64(0)
    for g in range(len(counts)):
        support += counts[g]
    if support < costs.minsup:
        return np.int64(costs.infinity)
    return leaf_cost(
        counts, costs.weights[0], costs.constants[0], costs.group_label, costs.majority
    )
