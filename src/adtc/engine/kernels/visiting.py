"""The inside pass of `inclusion`: one kernel for paths of any length, and what it starts with.

Below paths of at most two literals the prefix is the whole table. The pairs below each feature are
then counted once and serve all paths; a call takes some features at a time, so that threads can
share the work. Longer paths are walked, each to prefixes of its own. Most of what is called is the
same, hence one kernel: whatever two have in common would be compiled twice.
"""

import numpy as np

from adtc.engine.kernels.channels import channel_of, make_prefix, make_room, mixing
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
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.steps import (
    CURSOR,
    after,
    descend,
    first_step,
    make_stack,
    next_child,
)

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
        _walk(
            stop, first_step(lattice, first), np.zeros(0, np.bool_), stack, table, lattice, costs,
            use_pext, mix, prefix, room, counts, least,
        )  # fmt: skip


@bare_kernel
def _close_whole(table, lattice, costs, mix, prefix, room, least):
    """Solve the whole table where it is itself the last level."""
    for ch in range(mix.shape[0]):
        room.whole[0, ch] = channel_of(table.totals, mix, ch)
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
        room.whole[0, ch] = prefix.M1[ch, c, c]
        room.whole[1, ch] = channel_of(table.totals, mix, ch) - prefix.M1[ch, c, c]
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
    stop, steps, everything, stack, table, lattice, costs, use_pext, mix, prefix, room, counts,
    least,
):  # fmt: skip
    """Visit the paths of three literals or more, from the first step on."""
    level = np.int64(0)
    while True:
        level, s = next_child(
            level, stop, steps, stack, table, lattice, costs.minsup, use_pext, everything
        )
        if level < 0:
            return
        below = level + 1
        node = lattice.base[below] + stack.node[below, s]
        if not note(stack.totals[below, s], node, costs.minsup, counts):
            continue
        if below < lattice.levels - TWO:
            level = descend(level, s, steps, stack)
        else:
            start = after(stack, below, stack.U[level, steps[CURSOR, level]])
            below_prefix(
                stack, below, s, start, mix, prefix, room, table, lattice, costs, use_pext, counts,
                least,
            )  # fmt: skip
