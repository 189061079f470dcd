r"""Kernels over numbered paths: the inside pass above the last level, the outside pass, prefixes.

Paths of length k are numbered ``base[k] + (rank << k) + signs`` (see `inside`). Inside, upwards:
least(I) = min(leaf, min over f of least(I ∪ f) + least(I ∪ ¬f)). Outside, downwards: the budget
b(I) = max over ℓ ∈ I of b(I \ ℓ) − least((I \ ℓ) ∪ ¬ℓ), over live parents whose split on ℓ is
affordable for every functional at once; I is live iff there is such a parent.
"""

import numpy as np

from adtc.engine.kernels.jit import bare_kernel, kernel


@bare_kernel
def first_path(features, level):
    """Start the enumeration of ascending feature sets in the order of their ranks."""
    for i in range(level):
        features[i] = i


@bare_kernel
def next_path(features, level):
    """Step to the next feature set: raise the first feature that can be raised."""
    i = 0
    while i + 1 < level and features[i] + 1 == features[i + 1]:
        features[i] = i
        i += 1
    features[i] += 1


@bare_kernel
def child(features, level, signs, f, negative, lattice):
    """Compute the number of the path extended by a literal of ``f``, which is not on it."""
    rank = np.int64(0)
    at = 0
    while at < level and features[at] < f:
        rank += lattice.binomial[features[at], at + 1]
        at += 1
    rank += lattice.binomial[f, at + 1]
    for i in range(at, level):
        rank += lattice.binomial[features[i], i + 2]
    low = signs & ((1 << at) - 1)
    high = (signs >> at) << (at + 1)
    return lattice.base[level + 1] + (rank << (level + 1)) + high + (negative << at) + low


@bare_kernel
def parent(features, level, signs, at, lattice):
    """Compute the number of the path without its literal at position ``at``."""
    rank = np.int64(0)
    for i in range(at):
        rank += lattice.binomial[features[i], i + 1]
    for i in range(at + 1, level):
        rank += lattice.binomial[features[i], i]
    low = signs & ((1 << at) - 1)
    high = (signs >> (at + 1)) << at
    return lattice.base[level - 1] + (rank << (level - 1)) + high + low


@kernel
def leaf_cost(counts, weights, constant, group_label, majority):
    """Return the cost of the cheapest label, or of the majority label."""
    labels = weights.shape[0]
    if majority:
        votes = np.zeros(labels, np.int64)
        for g in range(len(counts)):
            votes[group_label[g]] += counts[g]
    best = np.int64(0)
    chosen = -1
    for l in range(labels):
        cost = np.int64(constant)
        for g in range(len(counts)):
            cost += np.int64(weights[l, g]) * counts[g]
        better = votes[l] > votes[chosen] if majority else cost < best
        if chosen < 0 or better:
            best, chosen = cost, l
    return best


@kernel
def ascend(levels, n, lattice, costs, counts, least):
    """Fill ``least`` for all paths shorter than ``levels``, those above the last or fewer."""
    features = np.zeros(levels + 1, np.int64)
    for level in range(levels - 1, -1, -1):
        first_path(features, level)
        for rank in range(lattice.binomial[n, level]):
            for signs in range(1 << level):
                node = lattice.base[level] + (rank << level) + signs
                _least_above(features, level, signs, node, n, lattice, costs, counts, least)
            if level:
                next_path(features, level)


@kernel
def ascend_through(first, stop, n, lattice, costs, counts, least):
    """Fill ``least`` for the paths above the last level that hold one of these features."""
    others = np.zeros(lattice.levels + 1, np.int64)  # numbered as if the feature were not there
    features = np.zeros(lattice.levels + 1, np.int64)
    for k in range(first, stop):
        for level in range(lattice.levels - 1, 0, -1):
            first_path(others, level - 1)
            for _ in range(lattice.binomial[n - 1, level - 1]):
                rank = _put_between(others, k, level, lattice, features)
                for signs in range(1 << level):
                    node = lattice.base[level] + (rank << level) + signs
                    _least_above(features, level, signs, node, n, lattice, costs, counts, least)
                if level > 1:
                    next_path(others, level - 1)


@bare_kernel
def _put_between(others, k, level, lattice, features):
    """Write the features of a path with ``k`` among them, ascending; return its rank."""
    rank = np.int64(0)
    at = 0
    for i in range(level):
        if at == i and (i == level - 1 or others[i] >= k):
            features[i] = k
        else:
            features[i] = others[at] + (others[at] >= k)
            at += 1
        rank += lattice.binomial[features[i], i + 1]
    return rank


@bare_kernel
def _least_above(features, level, signs, node, n, lattice, costs, counts, least):
    """Fill ``least`` of one path from the paths that are one literal longer."""
    support = np.int64(0)
    for g in range(counts.shape[1]):
        support += counts[node, g]
    if support < costs.minsup:
        return
    for d in range(len(costs.constants)):
        best = leaf_cost(
            counts[node], costs.weights[d], costs.constants[d], costs.group_label, costs.majority
        )
        at = 0
        for f in range(n):
            if at < level and features[at] == f:
                at += 1
                continue
            one = least[d, child(features, level, signs, f, np.int64(0), lattice)]
            if one < costs.infinity:
                zero = least[d, child(features, level, signs, f, np.int64(1), lattice)]
                if zero < costs.infinity:
                    best = min(best, np.int64(one) + np.int64(zero))
        least[d, node] = best


@bare_kernel
def seek(features, level, rank, n, lattice):
    """Find the feature set with a given rank: largest feature first."""
    left = rank
    top = n
    for i in range(level - 1, -1, -1):
        f = top - 1
        while lattice.binomial[f, i + 1] > left:
            f -= 1
        features[i] = f
        left -= lattice.binomial[f, i + 1]
        top = f


@kernel
def afford(n, lattice, exists, least, budgets, live, found):
    """Fill ``budgets[node, d]`` and ``live[node]`` below the root; count the live by length."""
    functionals = least.shape[0]
    features = np.zeros(lattice.levels + 1, np.int64)
    for level in range(1, lattice.levels + 1):
        first_path(features, level)
        for rank in range(lattice.binomial[n, level]):
            for signs in range(1 << level):
                node = lattice.base[level] + (rank << level) + signs
                if not exists[node]:
                    continue
                for at in range(level):
                    above = parent(features, level, signs, at, lattice)
                    sibling = lattice.base[level] + (rank << level) + (signs ^ (1 << at))
                    if not live[above] or not exists[sibling]:
                        continue
                    if not _affordable(node, sibling, above, least, budgets):
                        continue
                    for d in range(functionals):
                        left = budgets[above, d] - np.int64(least[d, sibling])
                        if not live[node] or left > budgets[node, d]:
                            budgets[node, d] = left
                    live[node] = True
                found[level] += live[node]
            next_path(features, level)


@kernel
def lead_to_live(n, lattice, live, behind):
    """Count for every path the live ones of the last level that a canonical walk passes it for.

    Such a walk adds features in ascending order, so a path is reached without its last literal.
    """
    features = np.zeros(lattice.levels + 1, np.int64)
    for node in range(lattice.base[lattice.levels], len(live)):
        behind[node] = live[node]
    for level in range(lattice.levels, 0, -1):
        first_path(features, level)
        for rank in range(lattice.binomial[n, level]):
            for signs in range(1 << level):
                node = lattice.base[level] + (rank << level) + signs
                if behind[node]:
                    above = parent(features, level, signs, level - 1, lattice)
                    behind[above] += behind[node]
            next_path(features, level)


@bare_kernel
def _affordable(node, sibling, above, least, budgets):
    """Tell whether the split into two siblings fits every budget of their parent."""
    for d in range(least.shape[0]):
        if np.int64(least[d, node]) + np.int64(least[d, sibling]) > budgets[above, d]:
            return False
    return True
