"""What pair counts are turned into for `inclusion`, and the memory it works in.

*Channels* are rows, and for every functional the cost of label 1 (label 0 costs nothing): what is
linear in counts by group, and so can be added and subtracted as they can.

Legend: as in `inclusion`.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.closed import LANES
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel

FEW = 4  # words per plane up to which pairs are counted side by side


class Prefix(NamedTuple):
    """What is known of a prefix P, features turned; read by all who go on below it."""

    words: Any  # [feature, word]
    flipped: Any  # [feature]: the feature was turned
    counts: Any  # [group, i, j] for i <= j
    M1: Any  # [channel, i, j]
    M2: Any  # [feature, channel, i, j]; also below the diagonal, and 0 beyond the features


class Room(NamedTuple):
    """Where one job works on P ∧ f and P ∧ f ∧ h."""

    words2: Any  # [feature, word]
    offsets2: Any
    rows2: Any
    words3: Any  # features of A only
    offsets3: Any
    rows3: Any
    columns: Any  # [word, feature]
    counts: Any  # [group, i, j]
    blended: Any  # [i, j]: one channel of f h
    A: Any
    four: Any  # [sign, channel, i, j]; j <= i and beyond A say "no such pair"
    ones: Any  # [sign, channel, i]: the diagonals
    totals: Any  # [sign, group]
    whole: Any  # [sign, channel]
    kept: Any
    moves: Any
    best1: Any
    best0: Any
    tiny: Any  # no leaf is too small, and none is worth having for its own sake
    diagonals: Any  # [sign, j]: here and below, room for `least_of_four`
    rows: Any  # [sign, j]
    bests1: Any  # [sign, j]
    bests0: Any  # [sign, j]
    least: Any  # [2, sign]: of all trees, of splits alone
    weights: Any  # [word]


@kernel
def make_prefix(table, mix, pairs_below):
    """Allocate a prefix; without functionals no pairs below it are needed."""
    n, width = table.words.shape
    singles = n if pairs_below and mix.shape[0] > 1 else 0
    return Prefix(
        np.empty((n, width), np.uint64),
        np.zeros(n, np.bool_),
        np.zeros(table.pairs.shape, table.pairs.dtype),
        np.zeros((mix.shape[0], n, n + LANES), mix.dtype),
        np.zeros((singles, mix.shape[0], n, n + LANES), mix.dtype),
    )


@kernel
def make_room(table, mix, costs):
    """Allocate what one job needs."""
    infinity = costs.infinity
    n, width = table.words.shape
    groups, planes, channels = len(table.totals), len(table.plane_group), mix.shape[0]
    four = np.zeros((4, channels, n, n + LANES), mix.dtype)
    for s in range(4):
        for i in range(n):
            for j in range(n + LANES):
                four[s, 0, i, j] = -infinity
    return Room(
        np.empty((n, width), np.uint64),
        np.zeros(planes + 1, np.int64),
        np.zeros(planes, np.int64),
        np.empty((n, width), np.uint64),
        np.zeros(planes + 1, np.int64),
        np.zeros(planes, np.int64),
        np.empty((FEW * planes, n), np.uint64),
        np.zeros((groups, n, n + LANES), table.pairs.dtype),
        np.zeros((n, n + LANES), mix.dtype),
        np.zeros(n, np.int64),
        four,
        np.zeros((4, channels, n + LANES), mix.dtype),
        np.zeros((4, groups), table.pairs.dtype),
        np.zeros((4, channels), mix.dtype),
        np.empty(width, np.uint64),
        np.empty((width, 6), np.uint64),
        np.zeros(n + LANES, mix.dtype),
        np.zeros(n + LANES, mix.dtype),
        costs.minsup <= 1 and _leaves_cost(costs.constants),
        np.zeros((4, n + LANES), mix.dtype),
        np.zeros((4, n + LANES), mix.dtype),
        np.zeros((4, n + LANES), mix.dtype),
        np.zeros((4, n + LANES), mix.dtype),
        np.zeros((2, 4), mix.dtype),
        np.zeros(FEW * planes, mix.dtype),
    )


@bare_kernel
def channel_of(counts, mix, ch):
    """Return what one channel makes of rows that are counted by group."""
    total = mix[ch, 0] - mix[ch, 0]  # of its type
    for g in range(len(counts)):
        total += mix[ch, g] * counts[g]
    return total


@bare_kernel
def _leaves_cost(constants):
    """Tell whether there are functionals, and a leaf costs at least nothing in each."""
    for d in range(len(constants)):
        if constants[d] < 0:
            return False
    return len(constants) > 0


@kernel
def mixing(costs):
    """Say how groups make channels: all rows alike, and each functional's costs of label 1."""
    functionals, _, groups = costs.weights.shape
    mix = np.ones((functionals + 1, groups), costs.weights.dtype)
    for d in range(functionals):
        for g in range(groups):
            mix[d + 1, g] = costs.weights[d, 1, g]
    return mix


@hot_kernel
def blend(counts, size, mix, out):
    """Turn counts by group into channels, above the diagonal and on it."""
    for ch in range(mix.shape[0]):
        for i in range(size):
            for g in range(mix.shape[1]):
                _blend_row(counts[g, i], i, size, mix[ch, g], g == 0, out[ch, i])


@hot_kernel
def blend_all(counts, size, weights, out):
    """Turn counts by group into one channel in one go, what lies between the pairs included."""
    count = size * out.shape[1]
    for g in range(len(weights)):
        _blend_row(counts[g].reshape(-1), 0, count, weights[g], g == 0, out.reshape(-1)[:count])


@bare_kernel
def _blend_row(source, start, stop, weight, first, out):
    kind = out.dtype.type
    if first:
        for j in range(start, stop):
            out[j] = kind(weight * source[j])
    else:
        for j in range(start, stop):
            out[j] += kind(weight * source[j])
