"""The inside pass again, counting far fewer pairs: two literals by inclusion and exclusion.

Below a prefix P every feature is turned so that 1 is its smaller side. Pairs are then counted only
in P ∧ f and P ∧ f ∧ h, the smallest sets of rows; with M for pair counts, the other signs are
M(f ¬h) = M(f) − M(f h), M(¬f h) = M(h) − M(f h), M(¬f ¬h) = M(P) − M(f) − M(h) + M(f h).
All of this is linear, so matrices hold what `channels` makes of counts. For two labels, each leaf
taking the cheaper, and where there is room for one matrix per feature; for all else there is
`inside.walk`. Without functionals rows are only counted, whatever the labels.

Legend: as in `steps`; M1 channels of P, M2[f] of P ∧ f, four those of both signs of f and h in the
order f h, f ¬h, ¬f h, ¬f ¬h; A the features that can split one of these four nodes.
"""

import numpy as np

from adtc.engine.kernels.bits import compress, count_few_pairs, count_pairs, plan_extract
from adtc.engine.kernels.channels import FEW, blend, blend_all, channel_of
from adtc.engine.kernels.closed import LANES, least_mixed
from adtc.engine.kernels.fourfold import least_of_four, mirror, weigh_pairs
from adtc.engine.kernels.jit import bare_kernel, hot_kernel


@bare_kernel
def splits(room, s, at, costs):
    return costs.minsup <= room.ones[s, 0, at] <= room.whole[s, 0] - costs.minsup


@bare_kernel
def solve(s, active, node, mix, room, costs, least):
    """Find the least costs of one of the nodes at hand."""
    padded = (active + LANES - 1) // LANES * LANES
    for ch in range(mix.shape[0]):
        for j in range(active, padded):
            room.ones[s, ch, j] = 0
    for d in range(len(costs.constants)):
        least[d, node], least[d + len(costs.constants), node] = least_mixed(
            room.four[s, 0], room.four[s, d + 1], room.ones[s, 0], room.ones[s, d + 1],
            room.whole[s, 0], room.whole[s, d + 1], active, costs.constants[d],
            mix.dtype.type(costs.minsup), costs.infinity, room.best1, room.best0,
        )  # fmt: skip


@bare_kernel
def note(rows, node, minsup, counts):
    """Record the rows of a path; False if they are too few for a leaf."""
    support = np.int64(0)
    for g in range(len(rows)):
        support += rows[g]
    if support < minsup:
        return False
    for g in range(len(rows)):
        counts[node, g] = rows[g]
    return True


@bare_kernel
def below_prefix(
    stack, level, side, start, mix, prefix, room, table, lattice, costs, use_pext, counts, least
):
    """Visit all paths of one and two literals more than a prefix, on features from slot ``start``.

    The last feature comes first: its partners' matrices are there when it is their turn.
    """
    turn_to_minority(stack, level, side, mix, prefix)
    for c in range(stack.used[level] - 1, start - 1, -1):
        if len(costs.constants):
            count_single(stack, level, side, c, mix, prefix, room, table, use_pext)
        note_singles(stack, level, side, c, prefix, room, lattice, costs.minsup, counts)
        for h in range(c + 1, stack.used[level]):
            two_literals(
                stack, level, side, c, h, mix, prefix, room, table, lattice, costs, use_pext,
                counts, least,
            )  # fmt: skip


@bare_kernel
def count_single(stack, level, side, c, mix, prefix, room, table, use_pext):
    """Count the pairs among the prefix's rows with one feature, and leave those rows packed."""
    pack_single(stack, level, side, c, prefix, room, table, use_pext)
    used = stack.used[level]
    count_pairs(room.words2, used, room.offsets2, table.plane_group, table.plane_shift, room.counts)
    blend(room.counts, used, mix, prefix.M2[c])
    if room.tiny:
        for ch in range(mix.shape[0]):
            mirror(prefix.M2[c, ch], used)


@bare_kernel
def pack_single(stack, level, side, c, prefix, room, table, use_pext):
    """Pack the prefix's rows with one feature."""
    offsets, planes = stack.offsets[level, side], len(table.plane_group)
    mask = prefix.words[c]
    plan_extract(mask, offsets, planes, room.kept, room.moves, room.offsets2, room.rows2, use_pext)
    for i in range(stack.used[level]):
        compress(
            prefix.words[i], mask, room.kept, room.moves, offsets, planes, room.offsets2,
            use_pext, room.words2[i],
        )  # fmt: skip


@bare_kernel
def turn_to_minority(stack, level, side, mix, prefix):
    """Copy the prefix's rows and pair counts with every feature turned to its smaller side."""
    used = stack.used[level]
    C, W = stack.C[level, side], stack.W[level, side]
    totals = stack.totals[level, side]
    offsets, rows = stack.offsets[level, side], stack.rows[level, side]
    support = np.int64(0)
    for g in range(len(totals)):
        support += totals[g]
    for i in range(used):
        ones = np.int64(0)
        for g in range(len(totals)):
            ones += C[g, i, i]
        flip = 2 * ones > support
        prefix.flipped[i] = flip
        for p in range(len(rows)):
            stop = offsets[p + 1]
            for w in range(offsets[p], stop):
                prefix.words[i, w] = ~W[i, w] if flip else W[i, w]
            tail = rows[p] & 63
            if flip and tail:
                prefix.words[i, stop - 1] &= (np.uint64(1) << np.uint64(tail)) - np.uint64(1)
    for g in range(len(totals)):
        for i in range(used):
            for j in range(i, used):
                both, one, two = C[g, i, j], C[g, i, i], C[g, j, j]
                if prefix.flipped[i] and prefix.flipped[j]:
                    both = totals[g] - one - two + both
                elif prefix.flipped[i]:
                    both = two - both
                elif prefix.flipped[j]:
                    both = one - both
                prefix.counts[g, i, j] = both
            if prefix.flipped[i]:
                prefix.counts[g, i, i] = totals[g] - C[g, i, i]
    blend(prefix.counts, used, mix, prefix.M1)
    for ch in range(mix.shape[0]):
        mirror(prefix.M1[ch], used)


@bare_kernel
def note_singles(stack, level, side, c, prefix, room, lattice, minsup, counts):
    """Record the rows of the two paths that are one literal longer than the prefix."""
    below = level + 1
    parent = stack.node[level, side]
    number = lattice.base[below] + ((parent >> level) << below) + (parent & ((1 << level) - 1))
    number += lattice.binomial[stack.U[level, c], below] << below
    for s in range(2):
        for g in range(counts.shape[1]):
            ones = prefix.counts[g, c, c]
            room.totals[s, g] = ones if s == 0 else stack.totals[level, side, g] - ones
        negative = (s == 1) != prefix.flipped[c]
        note(room.totals[s], number + (np.int64(negative) << level), minsup, counts)


@bare_kernel
def two_literals(
    stack, level, side, c, h, mix, prefix, room, table, lattice, costs, use_pext, counts, least
):
    """Visit the four paths that both signs of the features in slots ``c`` < ``h`` make."""
    for g in range(mix.shape[1]):
        both, one, two = prefix.counts[g, c, h], prefix.counts[g, c, c], prefix.counts[g, h, h]
        room.totals[0, g] = both
        room.totals[1, g] = one - both
        room.totals[2, g] = two - both
        room.totals[3, g] = stack.totals[level, side, g] - one - two + both
    for s in range(4):
        for ch in range(mix.shape[0]):
            room.whole[s, ch] = channel_of(room.totals[s], mix, ch)
    below = level + 2
    parent = stack.node[level, side]
    number = lattice.base[below] + ((parent >> level) << below) + (parent & ((1 << level) - 1))
    number += lattice.binomial[stack.U[level, c], level + 1] << below
    number += lattice.binomial[stack.U[level, h], below] << below
    active = np.int64(0)
    if room.tiny:  # then a feature that splits nothing decides nothing
        _solve_four(stack.used[level], level, c, h, number, mix, prefix, room, table, costs,
                    use_pext, least)  # fmt: skip
    elif len(costs.constants):
        active = choose_active(stack.used[level], c, h, prefix, room, costs)
    if active:
        _pack_pair(h, active, room, table, use_pext)
        _count(active, room, table)
        spread_signs(c, h, active, mix, prefix, room, costs.infinity)
    for s in range(4):
        node = _signed(number, level, c, h, s, prefix)
        if not note(room.totals[s], node, costs.minsup, counts):
            for d in range(least.shape[0]):
                least[d, node] = costs.infinity
        elif not room.tiny:
            solve(np.int64(s), np.int64(active), node, mix, room, costs, least)


@bare_kernel
def _solve_four(
    used, level, c, h, number, mix, prefix, room, table, costs, use_pext, least
):  # fmt: skip
    """Find the least costs of all four nodes, where no leaf is too small."""
    planes = len(table.plane_group)
    for i in range(used):
        room.A[i] = i
    _pack_pair(h, used, room, table, use_pext)
    few = room.offsets3[planes] <= FEW * planes
    if not few:
        _count(used, room, table)
    for d in range(len(costs.constants)):
        if few:
            for p in range(planes):
                for w in range(room.offsets3[p], room.offsets3[p + 1]):
                    room.weights[w] = mix[d + 1, table.plane_group[p]] << table.plane_shift[p]
            weigh_pairs(
                room.words3, used, room.offsets3[planes], room.weights, room.columns, room.blended
            )
        else:
            blend_all(room.counts, used, mix[d + 1], room.blended)
        mirror(room.blended, used)
        least_of_four(
            prefix.M1[d + 1], prefix.M2[c, d + 1], prefix.M2[h, d + 1], room.blended,
            room.whole[:, d + 1], used, costs.constants[d], room.diagonals, room.rows,
            room.bests1, room.bests0, room.least,
        )  # fmt: skip
        for s in range(4):
            node = _signed(number, level, c, h, s, prefix)
            least[d, node] = room.least[0, s]
            least[d + len(costs.constants), node] = room.least[1, s]


@bare_kernel
def _pack_pair(h, active, room, table, use_pext):
    """Pack the rows of P ∧ f ∧ h for the features of A."""
    planes = len(table.plane_group)
    plan_extract(
        room.words2[h], room.offsets2, planes, room.kept, room.moves, room.offsets3, room.rows3,
        use_pext,
    )  # fmt: skip
    for i in range(active):
        compress(
            room.words2[room.A[i]], room.words2[h], room.kept, room.moves, room.offsets2, planes,
            room.offsets3, use_pext, room.words3[i],
        )  # fmt: skip


@bare_kernel
def _count(active, room, table):
    """Count the pairs among the rows that are packed."""
    planes = len(table.plane_group)
    if room.offsets3[planes] <= FEW * planes:
        count_few_pairs(
            room.words3, active, room.offsets3, table.plane_group, table.plane_shift,
            room.columns, room.counts,
        )  # fmt: skip
    else:
        count_pairs(
            room.words3, active, room.offsets3, table.plane_group, table.plane_shift, room.counts
        )


@bare_kernel
def _signed(number, level, c, h, s, prefix):
    """Return the path that is the s-th of the four."""
    negative1 = (s >= 2) != prefix.flipped[c]
    negative2 = (s % 2 == 1) != prefix.flipped[h]
    return number + (np.int64(negative1) << level) + (np.int64(negative2) << (level + 1))


@bare_kernel
def choose_active(used, c, h, prefix, room, costs):
    """List the features that can split at least one of the four nodes, with their diagonals."""
    active = 0
    for d in range(used):
        if d in (c, h):
            continue
        low1, high1, low2, high2 = min(c, d), max(c, d), min(h, d), max(h, d)
        for ch in range(len(prefix.M1)):
            n, n1, n2 = prefix.M1[ch, d, d], prefix.M1[ch, low1, high1], prefix.M1[ch, low2, high2]
            n12 = prefix.M2[c, ch, low2, high2]
            room.ones[0, ch, active] = n12
            room.ones[1, ch, active] = n1 - n12
            room.ones[2, ch, active] = n2 - n12
            room.ones[3, ch, active] = n - n1 - n2 + n12
        for s in range(4):
            if splits(room, np.int64(s), np.int64(active), costs):
                room.A[active] = d
                active += 1
                break
    return active


@bare_kernel
def spread_signs(c, h, active, mix, prefix, room, infinity):
    """Make the channels of all four sign patterns from the counts of the first."""
    four = room.four
    for ch in range(mix.shape[0]):
        blend_all(room.counts, active, mix[ch], room.blended)
        for i in range(active):
            d = room.A[i]
            _spread_row(
                prefix.M1[ch, d], prefix.M2[c, ch, d], prefix.M2[h, ch, d], room.A,
                room.blended[i], i + 1, active, four[0, ch, i], four[1, ch, i], four[2, ch, i],
                four[3, ch, i],
            )  # fmt: skip
    no_pairs_beyond(active, room, infinity)


@bare_kernel
def no_pairs_beyond(active, room, infinity):
    """Say "no such pair" in the places that fill the last vector of each row."""
    padded = (active + LANES - 1) // LANES * LANES
    for s in range(4):
        for i in range(active):
            for j in range(active, padded):
                room.four[s, 0, i, j] = -infinity


@hot_kernel
def _spread_row(row1, row_c, row_h, A, blended, start, stop, both, only_c, only_h, neither):
    kind = both.dtype.type
    for j in range(start, stop):
        at = A[j]
        x, one, two = blended[j], row_c[at], row_h[at]
        both[j] = x
        only_c[j] = kind(one - x)
        only_h[j] = kind(two - x)
        neither[j] = kind(row1[at] - one - two + x)
