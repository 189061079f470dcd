"""Kernels for the least costs of four sibling paths at once, where no leaf is too small.

If every leaf with a row is allowed and a leaf costs at least nothing, a split that leaves one side
empty is never better than no split. So rows need not be counted: costs suffice, every feature may
be tried, and the loops are plain vector code.

Legend: as in `inclusion`; matrices hold the cost of label 1 (label 0 costs nothing) of rows where
features i and j are both 1, in either order, and 0 beyond the features.
"""

from adtc.engine.kernels.bits import popcount
from adtc.engine.kernels.closed import LANES
from adtc.engine.kernels.jit import bare_kernel, hot_kernel


@hot_kernel
def mirror(matrix, size):
    """Fill in what lies below the diagonal; 0 beyond the features."""
    padded = (size + LANES - 1) // LANES * LANES
    for i in range(size):
        row = matrix[i]
        for j in range(i):
            row[j] = matrix[j, i]
        for j in range(size, padded):
            row[j] = 0


@hot_kernel
def least_of_four(M1, M_c, M_h, both, whole, size, constant, ones, rows, best1, best0, least):
    """Write the least cost of trees of depth at most 2 for the signs f h, f ¬h, ¬f h, ¬f ¬h.

    Beside it that of splits alone, or less: a split with an empty side counts, too.

    ``M1``, ``M_c``, ``M_h`` and ``both`` belong to P, P ∧ f, P ∧ h and P ∧ f ∧ h, ``whole[sign]``
    to all rows; the last five arrays are room and the result.
    """
    padded = (size + LANES - 1) // LANES * LANES
    kind = both.dtype.type
    zero, add = kind(0), kind(constant)
    for j in range(size):
        x, one, two = both[j, j], M_c[j, j], M_h[j, j]
        ones[0, j] = x
        ones[1, j] = one - x
        ones[2, j] = two - x
        ones[3, j] = M1[j, j] - one - two + x
    for s in range(4):
        ones[s, size:padded] = 0
        # costs are kept without the 2 leaves of a stump, so a single leaf has one less
        for j in range(padded):
            best1[s, j] = min(zero, ones[s, j]) - add
            best0[s, j] = min(zero, kind(whole[s] - ones[s, j])) - add
    for i in range(size):
        _spread(M1[i], M_c[i], M_h[i], both[i], padded, rows[0], rows[1], rows[2], rows[3])
        for s in range(4):
            here = ones[s, i]
            _split_below(rows[s], ones[s], padded, here, whole[s] - here, best1[s], best0[s])
    for s in range(4):
        split = best1[s, 0] + best0[s, 0]
        for j in range(1, size):
            split = min(split, best1[s, j] + best0[s, j])
        least[0, s] = min(min(zero, whole[s]) - add - add - add, split) + 4 * add
        least[1, s] = split + 4 * add


@bare_kernel
def _spread(row1, row_c, row_h, row_ch, padded, both, only_c, only_h, neither):
    """Write one row of all four sign patterns."""
    kind = both.dtype.type
    for j in range(padded):
        x, one, two = row_ch[j], row_c[j], row_h[j]
        both[j] = x
        only_c[j] = kind(one - x)
        only_h[j] = kind(two - x)
        neither[j] = kind(kind(row1[j] - one) - kind(two - x))


@bare_kernel
def _split_below(row, ones, padded, here, rest, best1, best0):
    """Update the best stumps on both sides of every feature j with a split on feature i."""
    # few arrays per loop, and every value cast back to one type: else it is not vectorised
    kind = row.dtype.type
    zero, here, rest = kind(0), kind(here), kind(rest)
    for j in range(padded):
        b11 = row[j]
        b01 = kind(ones[j] - b11)
        q11, q10 = min(zero, b11), min(zero, kind(here - b11))
        q01, q00 = min(zero, b01), min(zero, kind(rest - b01))
        best1[j] = min(best1[j], kind(q11 + q01))
        best0[j] = min(best0[j], kind(q10 + q00))


@hot_kernel
def weigh_pairs(words, size, used, weights, columns, out):
    """Write what the rows with features i and j cost for all i <= j, from few words each.

    ``weights[w]`` is what a row of word w costs. ``columns`` is room for the words of all features
    side by side, ``[word, feature]``; loops run over the partners.
    """
    for w in range(used):
        for i in range(size):
            columns[w, i] = words[i, w]
    for i in range(size):
        row = out[i, i:size]
        if used == 0:
            row[:] = 0
        elif used == 1:
            _weigh_one(columns[0, i:size], weights[0], row)
        else:
            _weigh_two(columns[0, i:size], columns[1, i:size], weights[0], weights[1], row)
        for w in range(2, used):
            _weigh_more(columns[w, i:size], weights[w], row)


@bare_kernel
def _weigh_one(a, weight, out):
    kind = out.dtype.type
    x = a[0]
    for j in range(len(a)):
        out[j] = kind(weight * kind(popcount(x & a[j])))


@bare_kernel
def _weigh_two(a, b, weight1, weight2, out):
    kind = out.dtype.type
    x, y = a[0], b[0]
    for j in range(len(a)):
        one = kind(weight1 * kind(popcount(x & a[j])))
        out[j] = kind(one + kind(weight2 * kind(popcount(y & b[j]))))


@bare_kernel
def _weigh_more(a, weight, out):
    kind = out.dtype.type
    x = a[0]
    for j in range(len(a)):
        out[j] += kind(weight * kind(popcount(x & a[j])))
