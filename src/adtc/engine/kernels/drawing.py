"""Kernels that draw trees within the bounds of `kernels.ceiling`.

A tree drawn in proportion to the bounds is thrown away if it does not exist, so those that are left
are drawn uniformly, and their share says how many there are.

Legend: I path, i j features, k size; k = 0 stands for all sizes where they are not told apart.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.bits import popcount
from adtc.engine.kernels.ceiling import CLOSED, by_size, closed_terms, look_at_features, total_of
from adtc.engine.kernels.cells import within
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.leaves import leaf_cell, leaf_labels
from adtc.engine.kernels.paths import child, seek

TRIES = 8  # of a free draw for one split


@kernel
def draw(
    rng, attempts, level, numbers, cumulative, most, n, table, full, ways, bounds, free, keys,
    owners, trivial,
):  # fmt: skip
    """Draw trees below paths of one length, in proportion to bounds; keep those that exist.

    ``numbers`` are the paths and ``cumulative`` the running sums of their bounds; ``most`` is the
    largest size and ``full`` marks all rows. Writes keys and paths, and whether a tree has a split
    into two leaves of one label. Returns how many trees were kept and how many attempts were made:
    it stops when ``keys`` is full. Free draws try again where a split does not exist and avoid
    leaves of one label below a split: more trees are kept, but not all are equally likely.
    """
    lattice = ways.lattice
    functionals = ways.budgets.shape[1]
    sizes = bounds.trees.shape[1]
    entries = np.zeros(sizes)
    terms = np.zeros(CLOSED)
    sums = np.zeros(1 + functionals, np.int64)
    room = new_room(lattice, table, ways, sizes, n)
    found = 0
    tried = 0
    while tried < attempts and found < len(keys):
        tried += 1
        u = rng.random() * cumulative[-1]
        at = first_above(cumulative, u)
        node = lattice.base[level] + numbers[at]
        by_size(level, node, ways, bounds, terms, entries)
        k = choose(rng, entries[: most + 1])
        if k < 0:
            continue
        sums[:] = 0
        made = draw_tree(rng, level, node, k, n, table, full, ways, bounds, free, room, sums)
        if made and within(sums[1:], ways.budgets[node]):
            keys[found] = sums[0]
            owners[found] = numbers[at]
            trivial[found] = room.trivial[0]
            found += 1
    return found, tried


class Room(NamedTuple):
    """Room for drawing one tree at a time."""

    level: Any  # of the paths still to be drawn below …
    node: Any
    size: Any
    slot: Any  # the split that they belong to
    label: Any  # by split: its first child's label if that is a leaf; −1 not yet known, −2 a split
    features: Any
    originals: Any  # the distinct feature that each original one is merged into
    ones: Any
    zeros: Any
    parts: Any
    terms: Any
    mask: Any
    side: Any
    counts: Any
    labels: Any
    cost: Any
    trivial: Any  # whether the tree has a split into two leaves of one label


@kernel
def new_room(lattice, table, ways, sizes, n):
    """Make room for drawing trees."""
    depth = lattice.levels + 3
    groups = ways.counts.shape[1]
    originals = np.empty(total_of(ways.multiplicity), np.int64)
    at = 0
    for f in range(n):
        for _ in range(ways.multiplicity[f]):
            originals[at] = f
            at += 1
    return Room(
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(1 << (lattice.levels + 1), np.int64),
        np.zeros(lattice.levels + 1, np.int64),
        originals,
        np.zeros(sizes),
        np.zeros(sizes),
        np.zeros(sizes),
        np.zeros(CLOSED),
        np.zeros(table.words.shape[1], np.uint64),
        np.zeros(table.words.shape[1], np.uint64),
        np.zeros((5, groups), np.int64),
        np.zeros(ways.leaves.key_weights.shape[0], np.int64),
        np.zeros(ways.budgets.shape[1], np.int64),
        np.zeros(1, np.bool_),
    )


@bare_kernel
def first_above(cumulative, u):
    """Find the first of ascending numbers that is larger; the last, if by rounding none is."""
    lo, hi = 0, len(cumulative) - 1
    while lo < hi:
        middle = (lo + hi) >> 1
        if cumulative[middle] > u:
            hi = middle
        else:
            lo = middle + 1
    return lo


@bare_kernel
def choose(rng, weights):
    """Draw a position in proportion to weights; −1 if all are zero."""
    total = total_of(weights)
    if total == 0:
        return -1
    u = rng.random() * total
    chosen = -1
    for k in range(len(weights)):
        if weights[k] > 0:  # by rounding, something may be left of u at the end
            chosen = k
            u -= weights[k]
        if u < 0:
            break
    return chosen


@kernel
def draw_tree(rng, level, node, k, n, table, full, ways, bounds, free, room, sums):
    """Draw a tree of size k below a path, and add up its key and costs; False if there is none."""
    lattice = ways.lattice
    room.level[0], room.node[0], room.size[0], room.slot[0] = level, node, k, -1
    room.trivial[0] = False
    waiting = 1
    splits = 0
    while waiting > 0:
        waiting -= 1
        level, node = room.level[waiting], room.node[waiting]
        k, slot = room.size[waiting], room.slot[waiting]
        unlike = room.label[slot] if free and slot >= 0 else np.int64(-1)
        if level == lattice.levels:
            label = draw_closed(
                rng, node, k, n, table, full, ways, bounds, free, unlike, room, sums
            )
        else:
            label, one, zero, size1 = draw_split(rng, level, node, k, n, ways, bounds, room)
            if label == -2:
                room.label[splits] = -1
                for side in range(2):
                    room.level[waiting] = level + 1
                    room.node[waiting] = zero if side else one
                    room.size[waiting] = k - size1 if side else size1
                    room.slot[waiting] = splits
                    waiting += 1
                splits += 1
            elif label >= 0:
                label = draw_leaf(rng, ways.counts[node], ways.leaves, unlike, room, sums)
        if label == -1:
            return False
        if slot >= 0:
            if label >= 0 and label == room.label[slot]:
                room.trivial[0] = True
            room.label[slot] = label
    return ways.leaves.trivial_splits or not room.trivial[0]


@bare_kernel
def draw_split(rng, level, node, k, n, ways, bounds, room):
    """Draw a leaf (0) or a split (−2) for a path above the last level; −1 if neither came out.

    Returns that, and of a split the two children and the size of the first.
    """
    lattice = ways.lattice
    nothing = np.int64(0)
    labels = 1.0 if ways.leaves.majority else float(ways.leaves.key_weights.shape[0])
    u = rng.random() * bounds.trees[node, k]
    if k == bounds.leaf and u < labels:
        return 0, nothing, nothing, nothing
    number = node - lattice.base[level]
    signs = number & ((1 << level) - 1)
    seek(room.features, level, number >> level, n, lattice)
    f = 0
    while f < n and bounds.splits[node, k, f] <= u:
        f += 1
    if f == n:
        return -1, nothing, nothing, nothing  # rounding
    at = 0
    while at < level and room.features[at] < f:
        at += 1
    one = child(room.features, level, signs, f, np.int64(0), lattice)
    zero = one + (1 << at)
    by_size(level + 1, one, ways, bounds, room.terms, room.ones)
    by_size(level + 1, zero, ways, bounds, room.terms, room.zeros)
    for i in range(k + 1):
        room.parts[i] = room.ones[i] * room.zeros[k - i]
    # a free draw may have learnt by now that nothing is there
    first = choose(rng, room.parts[: k + 1])
    return -2 if first >= 0 else -1, one, zero, np.int64(first)


@bare_kernel
def draw_leaf(rng, counts, leaves, unlike, room, sums):
    """Draw a leaf's label and add up its key and costs; −1 if it has too few rows.

    The label differs from ``unlike`` where there is a choice; a negative one leaves it free.
    """
    admitted = leaf_labels(counts, leaves, room.labels)
    if admitted == 0:
        return np.int64(-1)
    at = int(rng.random() * admitted)
    if room.labels[at] == unlike and admitted > 1:
        at = (at + 1 + int(rng.random() * (admitted - 1))) % admitted
    label = room.labels[at]
    sums[0] += leaf_cell(counts, label, leaves, room.cost)
    for d in range(len(room.cost)):
        sums[1 + d] += room.cost[d]
    return label


@bare_kernel
def draw_closed(rng, node, k, n, table, full, ways, bounds, free, unlike, room, sums):
    """Draw a tree below a path of the last level; return its label, −2 a split, or −1 none."""
    lattice, leaves = ways.lattice, ways.leaves
    level = lattice.levels
    number = node - lattice.base[level]
    if bounds.leaf == 0:
        closed_terms(number, ways, bounds, room.terms)
        k = choose(rng, room.terms)
    if k == 1:
        return draw_leaf(rng, ways.counts[node], leaves, unlike, room, sums)
    signs = number & ((1 << level) - 1)
    seek(room.features, level, number >> level, n, lattice)
    if not bounds.looked[number]:
        look_at_features(room.features, level, signs, n, number, ways, bounds)
    for w in range(len(full)):
        room.mask[w] = full[w]
    for at in range(level):
        take_side(room.mask, table.words[room.features[at]], signs >> at & 1, room.mask)
    active, candidates = bounds.active[number], bounds.candidates[number]
    again = k - 2  # sides that are split again: 0 to 2
    whole, ones, zeros = room.counts[0], room.counts[1], room.counts[2]
    for g in range(len(whole)):
        whole[g] = ways.counts[node, g]
    i, side = draw_split_of(
        rng, room.mask, whole, again, np.int64(-1), active, candidates, free, table, leaves.minsup,
        room, ones, zeros,
    )  # fmt: skip
    if i < 0:
        return np.int64(-1)
    first = np.int64(-1)
    for s in range(2):  # 0: where the feature is 1
        counts = zeros if s else ones
        if again == 2 or (again == 1 and s == side):
            take_side(room.mask, table.words[i], s, room.side)
            ones2, zeros2 = room.counts[3], room.counts[4]
            j, _ = draw_split_of(
                rng, room.side, counts, np.int64(0), i, active, candidates, free, table,
                leaves.minsup, room, ones2, zeros2,
            )  # fmt: skip
            if j < 0:
                return np.int64(-1)
            one = draw_leaf(rng, ones2, leaves, np.int64(-1), room, sums)
            zero = draw_leaf(rng, zeros2, leaves, one if free else np.int64(-1), room, sums)
            room.trivial[0] |= one == zero
        else:
            label = draw_leaf(rng, counts, leaves, first if free else np.int64(-1), room, sums)
            room.trivial[0] |= label == first
            first = label
    return np.int64(-2)


@bare_kernel
def draw_split_of(
    rng, mask, whole, again, other, active, candidates, free, table, minsup, room, ones, zeros
):  # fmt: skip
    """Draw a feature that splits the rows of ``mask``, and count both sides; −1 if none came out.

    Also returns a side, see `draw_feature`. ``other`` is a feature that was used already.
    """
    for _ in range(TRIES if free else 1):
        f, side = draw_feature(rng, again, active, candidates, room.originals)
        if f >= 0 and f != other:
            split_counts(mask, table.words[f], table, whole, ones, zeros)
            if enough(ones, zeros, minsup):
                return f, side
    return np.int64(-1), 0


@bare_kernel
def draw_feature(rng, again, active, candidates, originals):
    """Draw a feature that may split a path of the last level, and a side; −1 if there is none.

    ``again`` says how many sides must have rows for a further split; one must be the side drawn.
    """
    if active[again] == 0:
        return np.int64(-1), 0
    while True:
        f = originals[int(rng.random() * len(originals))]
        word, bit = f >> 6, np.uint64(f & 63)
        side = int(rng.random() < 0.5) if again == 1 else 0
        fits = candidates[0, word]
        if again > 0:
            fits &= candidates[1 + side, word]
        if again == 2:
            fits &= candidates[2, word]
        if fits >> bit & np.uint64(1):
            return f, side


@bare_kernel
def enough(ones, zeros, minsup):
    """Tell whether both sides of a split have rows for a leaf."""
    one = np.int64(0)
    zero = np.int64(0)
    for g in range(len(ones)):
        one += ones[g]
        zero += zeros[g]
    return one >= minsup and zero >= minsup


@bare_kernel
def take_side(mask, column, negative, out):
    """Keep the rows on one side of a feature."""
    turn = ~np.uint64(0) if negative else np.uint64(0)
    for w in range(len(mask)):
        out[w] = mask[w] & (column[w] ^ turn)


@bare_kernel
def split_counts(mask, column, table, whole, ones, zeros):
    """Count the rows of both sides of a feature, by group."""
    ones[:] = 0
    for p in range(len(table.plane_group)):
        start, stop = table.offsets[p], table.offsets[p + 1]
        total = ones_of_both(mask[start:stop], column[start:stop])
        ones[table.plane_group[p]] += total << table.plane_shift[p]
    for g in range(len(whole)):
        zeros[g] = whole[g] - ones[g]


@bare_kernel
def ones_of_both(a, b):
    """Count the bits that are set in both."""
    total = np.int64(0)
    for w in range(len(a)):
        total += np.int64(popcount(a[w] & b[w]))
    return total
