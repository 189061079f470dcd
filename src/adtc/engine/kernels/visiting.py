"""The inside pass of `inclusion`: one kernel for paths of any length, and what it starts with.

Below paths of at most two literals the prefix is the whole table. The pairs below each feature are
then counted once and serve all paths; a call takes some features at a time, so that threads can
share the work. Longer paths are walked, each to prefixes of its own. Most of what is called is the
same, hence one kernel: whatever two have in common would be compiled twice.
"""

import numpy as np

from adtc.engine.kernels.channels import make_prefix, make_room, mixing
from adtc.engine.kernels.inclusion import (
    below_prefix,
    count_single,
    no_pairs_beyond,
    note,
    note_singles,
    pack_single,
    solve,
    splits,
    turn_to_minority,
    two_literals,
)
from adtc.engine.kernels.inside import after, make_stack, open_literal
from adtc.engine.kernels.jit import bare_kernel, kernel

TWO = 2


@kernel
def open_root(table, costs, levels):
    """Make the whole table a prefix, with room for pairs below each feature if paths need it."""
    stack = make_stack(table, np.int64(0))
    mix = mixing(costs)
    prefix = make_prefix(table, mix, levels in (1, TWO))
    turn_to_minority(stack, np.int64(0), np.int64(0), mix, prefix)
    return prefix


@kernel
def visit_paths(first, stop, table, lattice, costs, use_pext, root, counted, counts, least):
    """Do what `inside.walk` does, for all paths whose least feature is one of some.

    ``root`` is what `open_root` made. If paths have one or two literals, its pairs must have been
    counted below every feature: unless they are ``counted``, only that is done, for these ones.
    """
    mix = mixing(costs)
    room = make_room(table, mix, costs)
    if lattice.levels == 0:
        _close_whole(table, lattice, costs, mix, root, room, least)
    elif lattice.levels <= TWO:
        stack = make_stack(table, np.int64(0))
        for c in range(first, stop):
            if counted:
                _short_paths(
                    c, stack, table, lattice, costs, use_pext, mix, root, room, counts, least
                )
            else:
                count_single(stack, np.int64(0), np.int64(0), c, mix, root, room, table, use_pext)
    else:
        stack = make_stack(table, lattice.levels)
        prefix = make_prefix(table, mix, True)
        steps = np.zeros((3, lattice.levels + 1), np.int64)
        for f in range(first, stop):
            _walk(
                f, steps[0], steps[1], steps[2], stack, table, lattice, costs, use_pext, mix,
                prefix, room, counts, least,
            )  # fmt: skip


@bare_kernel
def _close_whole(table, lattice, costs, mix, prefix, room, least):
    """Solve the whole table where it is itself the last level."""
    for ch in range(mix.shape[0]):
        total = mix[ch, 0] - mix[ch, 0]
        for g in range(mix.shape[1]):
            total += mix[ch, g] * table.totals[g]
        room.whole[0, ch] = total
    active = 0
    if lattice.rest > 0:
        for d in range(table.words.shape[0]):
            for ch in range(mix.shape[0]):
                room.ones[0, ch, active] = prefix.M1[ch, d, d]
            if splits(room, np.int64(0), np.int64(active), costs):
                room.A[active] = d
                active += 1
    if lattice.rest > 1:  # else no pair is filled in, and there are no splits below the first
        for ch in range(mix.shape[0]):
            for i in range(active):
                for j in range(i + 1, active):
                    room.four[0, ch, i, j] = prefix.M1[ch, room.A[i], room.A[j]]
    if room.whole[0, 0] >= costs.minsup:
        solve(np.int64(0), np.int64(active), np.int64(0), mix, room, costs, least)


@bare_kernel
def _short_paths(c, stack, table, lattice, costs, use_pext, mix, prefix, room, counts, least):
    """Visit the paths of one literal, or of two, whose least feature is ``c``."""
    level, side = np.int64(0), np.int64(0)
    note_singles(stack, level, side, c, prefix, room, lattice, costs.minsup, counts)
    if lattice.levels == TWO:
        if len(costs.constants):
            pack_single(stack, level, side, c, prefix, room, table, use_pext)
        for h in range(c + 1, stack.used[0]):
            two_literals(
                stack, level, side, c, h, mix, prefix, room, table, lattice, costs, use_pext,
                counts, least,
            )  # fmt: skip
    elif len(costs.constants):
        active = _open_single(c, stack.used[0], table, mix, prefix, room, costs)
        number = lattice.base[1] + 2 * c
        for s in range(2):
            if room.whole[s, 0] >= costs.minsup:
                node = number + np.int64((s == 1) != prefix.flipped[c])
                solve(np.int64(s), active, node, mix, room, costs, least)


@bare_kernel
def _open_single(c, used, table, mix, prefix, room, costs):
    """Make the channels of both sides of a feature; return how many others can split them."""
    for ch in range(mix.shape[0]):
        total = mix[ch, 0] - mix[ch, 0]
        for g in range(mix.shape[1]):
            total += mix[ch, g] * table.totals[g]
        room.whole[0, ch] = prefix.M1[ch, c, c]
        room.whole[1, ch] = total - prefix.M1[ch, c, c]
    active = np.int64(0)
    for d in range(used):
        low, high = min(c, d), max(c, d)
        for ch in range(mix.shape[0]):
            both = prefix.M1[ch, low, high]
            room.ones[0, ch, active] = both
            room.ones[1, ch, active] = prefix.M1[ch, d, d] - both
        if d != c and (
            splits(room, np.int64(0), active, costs) or splits(room, np.int64(1), active, costs)
        ):
            room.A[active] = d
            active += 1
    for ch in range(mix.shape[0]):
        for i in range(active):
            for j in range(i + 1, active):
                both = prefix.M2[c, ch, room.A[i], room.A[j]]
                room.four[0, ch, i, j] = both
                room.four[1, ch, i, j] = prefix.M1[ch, room.A[i], room.A[j]] - both
    no_pairs_beyond(active, room, costs.infinity)
    return active


@bare_kernel
def _walk(
    first, side, cursor, stage, stack, table, lattice, costs, use_pext, mix, prefix, room, counts,
    least,
):  # fmt: skip
    """Visit the paths of three literals or more whose least feature is ``first``."""
    level = np.int64(0)
    cursor[0], stage[0] = first, 0
    while level >= 0:
        last = first + 1 if level == 0 else stack.used[level]
        if cursor[level] >= last:
            level -= 1
        elif stage[level] == 0:
            open_literal(
                stack, level, side[level], cursor[level], table, lattice, costs.minsup, use_pext
            )
            stage[level] = 1
        elif stage[level] == 3:
            stage[level] = 0
            cursor[level] += 1
        else:
            s = stage[level] - 1
            stage[level] += 1
            below = level + 1
            if note(stack.totals[below, s], lattice.base[below] + stack.node[below, s],
                    costs.minsup, counts):  # fmt: skip
                start = after(stack, below, stack.U[level, cursor[level]])
                if below == lattice.levels - TWO:
                    below_prefix(
                        stack, below, s, start, mix, prefix, room, table, lattice, costs,
                        use_pext, counts, least,
                    )  # fmt: skip
                else:
                    level = below
                    side[level] = s
                    cursor[level] = start
                    stage[level] = 0
