"""Kernels that bound the number of trees and cells below every path, before tensors are made.

At the last level only the rows of paths are known, not how features split them. A feature splits a
path only if it splits all of its parents; that bounds the trees of depth at most 2 by their number
of leaves. Above, bounds multiply and add up as trees do.

Legend: I path, i j features, k size; k = 0 stands for all sizes where they are not told apart.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.paths import child, first_path, next_path, parent, seek

CLOSED = 5  # sizes below the last level: 1 to 4 leaves


class Bounds(NamedTuple):
    """At most how many trees lie below the paths."""

    trees: Any  # float64 [path above the last level, k]
    splitting: Any  # float64 [path above the last level]: features that split it, with twins
    active: Any  # float64 [number in the last level, 3]: at most as many features split it; of
    # their sides as many can be split again, and as many have two such sides
    candidates: Any  # uint64 [number in the last level, 3, word]: bit sets of features that may
    # split it, and of those that may leave enough rows to split side 1, and side 0; or empty
    looked: Any  # bool [number in the last level]: features were looked at one by one
    splits: Any  # float64 [path above the last level, k, f]: running sums over features; or empty
    leaf: int  # k of a leaf: 1, or 0 where sizes are not told apart


class Ways(NamedTuple):
    """Which trees there are: paths, what may stand below them, and what they may cost."""

    lattice: Any
    leaves: Any
    multiplicity: Any
    counts: Any
    support: Any  # int64 [path]: rows
    largest: Any  # int64 [path]: leaves that budgets leave for it
    live: Any
    least: Any
    budgets: Any


class Spans(NamedTuple):
    """How the axes depend on a leaf: for bounds on the number of cells."""

    weights: Any  # int64 [axis, label, group]
    per_leaf: Any  # int64 [axis]


@kernel
def count_splitting(level, n, paths, ways, splitting):
    """Count the features that split each path of one length."""
    lattice = ways.lattice
    features = np.zeros(level + 1, np.int64)
    first_path(features, level)
    for rank in range(paths):
        for signs in range(1 << level):
            node = lattice.base[level] + (rank << level) + signs
            if ways.support[node] < 2 * ways.leaves.minsup:
                continue
            total = 0.0
            at = 0
            for f in range(n):
                if at < level and features[at] == f:
                    at += 1
                    continue
                one = child(features, level, signs, f, np.int64(0), lattice)
                if min(ways.support[one], ways.support[one + (1 << at)]) >= ways.leaves.minsup:
                    total += ways.multiplicity[f]
            splitting[node] = total
        if level:
            next_path(features, level)


@kernel
def bound_splits(n, paths, ways, bounds, fine):
    """Bound the features that split each live path of the last level, by those of its parents.

    Fine bounds look at every feature, others only at how many there are; free draws from those
    look at the features of the paths that they come to.
    """
    lattice = ways.lattice
    level = lattice.levels
    features = np.zeros(level + 1, np.int64)
    first_path(features, level)
    for rank in range(paths):
        for signs in range(1 << level):
            number = (rank << level) + signs
            if ways.live[lattice.base[level] + number]:
                if fine:
                    look_at_features(features, level, signs, n, number, ways, bounds)
                else:
                    total = _fewest(features, level, signs, ways, bounds)
                    bounds.active[number, 0] = total
                    bounds.active[number, 1] = 2 * total
                    bounds.active[number, 2] = total
        if level:
            next_path(features, level)


@bare_kernel
def total_of(numbers):
    """Add numbers up; the method of arrays takes half a second to compile."""
    total = numbers.dtype.type(0)
    for k in range(len(numbers)):
        total += numbers[k]
    return total


@bare_kernel
def _fewest(features, level, signs, ways, bounds):
    """Return how many features split the parent with the fewest, without its own literal's."""
    best = float(total_of(ways.multiplicity))
    for at in range(level):
        total = bounds.splitting[parent(features, level, signs, at, ways.lattice)]
        best = min(best, total - ways.multiplicity[features[at]])
    return max(best, 0.0)


@bare_kernel
def look_at_features(features, level, signs, n, number, ways, bounds):
    """Note which features may split a path, and sum them up with their twins: see `Bounds`."""
    minsup = ways.leaves.minsup
    active, candidates = bounds.active[number], bounds.candidates[number]
    bounds.looked[number] = True
    active[:] = 0.0
    for f in range(n):
        one, zero = most_rows(features, level, signs, f, ways)
        if min(one, zero) >= minsup:
            again = np.int64(one >= 2 * minsup) + np.int64(zero >= 2 * minsup)
            bit = np.uint64(1) << np.uint64(f & 63)
            candidates[0, f >> 6] |= bit
            if one >= 2 * minsup:
                candidates[1, f >> 6] |= bit
            if zero >= 2 * minsup:
                candidates[2, f >> 6] |= bit
            active[0] += ways.multiplicity[f]
            active[1] += ways.multiplicity[f] * again
            active[2] += ways.multiplicity[f] * (again == 2)


@bare_kernel
def most_rows(features, level, signs, f, ways):
    """Bound the rows of a path of the last level on both sides of a feature; −1 if it is on it."""
    one = ways.support[0]
    zero = one
    before = np.int64(0)  # features of the path before f
    for at in range(level):
        if features[at] == f:
            return np.int64(-1), np.int64(-1)
        before += features[at] < f
    for at in range(level):
        node = _exchanged(features, level, signs, at, f, before, ways.lattice)
        place = before - (at < before)
        one = min(one, ways.support[node])
        zero = min(zero, ways.support[node + (1 << place)])
    return one, zero


@bare_kernel
def _exchanged(features, level, signs, at, f, before, lattice):
    """Compute the number of a path with f = 1 in place of its literal at position ``at``."""
    rank = np.int64(0)
    new_signs = np.int64(0)
    place = 0
    put = False
    for i in range(level):
        if not put and i >= before:
            rank += lattice.binomial[f, place + 1]
            place += 1
            put = True
        if i != at:
            rank += lattice.binomial[features[i], place + 1]
            new_signs |= (signs >> i & 1) << place
            place += 1
    if not put:
        rank += lattice.binomial[f, place + 1]
    return lattice.base[level] + (rank << level) + new_signs


@kernel
def sum_last(numbers, ways, spans, bounds):
    """Return the sums over paths of the last level of bounds on their trees, and on their cells."""
    lattice = ways.lattice
    terms = np.zeros(CLOSED)
    trees = 0.0
    cells = 0.0
    for at in range(len(numbers)):
        closed_terms(numbers[at], ways, bounds, terms)
        total = total_of(terms)
        trees += total
        node = lattice.base[lattice.levels] + numbers[at]
        cells += fewer(total, ways.counts[node], 1 << lattice.rest, spans)
    return trees, cells


@bare_kernel
def closed_terms(number, ways, bounds, terms):
    """Bound the trees below a path of the last level by their number of leaves."""
    lattice, leaves = ways.lattice, ways.leaves
    labels = 1.0 if leaves.majority else float(leaves.key_weights.shape[0])
    support = ways.support[lattice.base[lattice.levels] + number]
    most = support // leaves.minsup if leaves.minsup else np.int64(4)
    most = min(most, ways.largest[lattice.base[lattice.levels] + number])
    splitting, again, both = bounds.active[number]
    terms[:] = 0.0
    terms[1] = labels
    pairs = labels * labels
    if lattice.rest >= 1 and most >= 2:
        terms[2] = splitting * pairs
    if lattice.rest >= 2 and most >= 3:
        terms[3] = again * splitting * pairs * labels
    if lattice.rest >= 2 and most >= 4:
        terms[4] = both * splitting * splitting * pairs * pairs


@bare_kernel
def last_terms(numbers, ways, bounds, out):
    """Write those bounds for several paths: ``[path, size]``."""
    for at in range(len(numbers)):
        closed_terms(numbers[at], ways, bounds, out[at])


@bare_kernel
def fewer(trees, counts, most_leaves, spans):
    """Bound the number of cells below a path by that of trees or of values."""
    return trees if trees < 4096 else min(trees, volume(counts, most_leaves, spans))


@bare_kernel
def volume(counts, most_leaves, spans):
    """Bound the number of cells below a path by the values that each axis can take there."""
    product = 1.0
    for a in range(spans.weights.shape[0]):
        low = np.int64(0)
        high = np.int64(0)
        for g in range(len(counts)):
            least = spans.weights[a, 0, g]
            largest = least
            for l in range(1, spans.weights.shape[1]):
                least = min(least, spans.weights[a, l, g])
                largest = max(largest, spans.weights[a, l, g])
            low += least * counts[g]
            high += largest * counts[g]
        product *= high - low + abs(spans.per_leaf[a]) * (most_leaves - 1) + 1.0
    return product


@kernel
def bound_above(level, n, nodes, ways, spans, bounds):
    """Bound the trees below the given paths of one length above the last; sums as `sum_last`."""
    lattice = ways.lattice
    sizes = bounds.trees.shape[1]
    features = np.zeros(level + 1, np.int64)
    ones = np.zeros(sizes)
    zeros = np.zeros(sizes)
    terms = np.zeros(CLOSED)
    labels = 1.0 if ways.leaves.majority else float(ways.leaves.key_weights.shape[0])
    most_leaves = 1 << min(lattice.levels + lattice.rest - level, 40)
    trees = 0.0
    cells = 0.0
    for at_node in range(len(nodes)):
        number = nodes[at_node]
        signs = number & ((1 << level) - 1)
        node = lattice.base[level] + number
        seek(features, level, number >> level, n, lattice)
        out = bounds.trees[node]
        out[:] = 0.0
        out[bounds.leaf] = labels
        most = min(sizes - 1, ways.largest[node])
        at = 0
        for f in range(n):
            if at < level and features[at] == f:
                at += 1
                continue
            one = child(features, level, signs, f, np.int64(0), lattice)
            zero = one + (1 << at)
            if not can_split(node, one, zero, ways):
                continue
            by_size(level + 1, one, ways, bounds, terms, ones)
            by_size(level + 1, zero, ways, bounds, terms, zeros)
            for i in range(most + 1):
                if ones[i] > 0:
                    for j in range(most + 1 - i):
                        out[i + j] += ways.multiplicity[f] * ones[i] * zeros[j]
            if len(bounds.splits):
                for i in range(sizes):
                    bounds.splits[node, i, f] = out[i]
        total = total_of(out)
        trees += total
        cells += fewer(total, ways.counts[node], most_leaves, spans)
    return trees, cells


@bare_kernel
def can_split(node, one, zero, ways):
    """Tell whether a split is part of a tree within the budgets."""
    if not ways.live[one] or not ways.live[zero]:
        return False
    for d in range(ways.least.shape[0]):
        both = np.int64(ways.least[d, one]) + np.int64(ways.least[d, zero])
        if both > ways.budgets[node, d]:
            return False
    return True


@bare_kernel
def by_size(level, node, ways, bounds, terms, out):
    """Write the bounds of a path by size."""
    lattice = ways.lattice
    if level < lattice.levels:
        trees = bounds.trees[node]
        for i in range(len(out)):
            out[i] = trees[i]
        return
    closed_terms(node - lattice.base[level], ways, bounds, terms)
    out[:] = 0.0
    for k in range(1, CLOSED):
        if k * bounds.leaf < len(out):
            out[k * bounds.leaf] += terms[k]
