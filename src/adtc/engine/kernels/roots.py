"""The inside pass of `inclusion` for paths of at most two literals: the prefix is the whole table.

The pairs below each feature are counted once, and then serve all paths; each of these kernels takes
some features at a time, so that threads can share the work.
"""

import numpy as np

from adtc.engine.kernels.channels import make_prefix, make_room, mixing
from adtc.engine.kernels.inclusion import (
    count_single,
    no_pairs_beyond,
    note_singles,
    pack_single,
    solve,
    splits,
    turn_to_minority,
    two_literals,
)
from adtc.engine.kernels.inside import make_stack
from adtc.engine.kernels.jit import bare_kernel, kernel


@kernel
def open_root(table, costs):
    """Make the whole table a prefix, for paths of two literals."""
    stack = make_stack(table, np.int64(0))
    mix = mixing(costs)
    prefix = make_prefix(table, mix)
    turn_to_minority(stack, np.int64(0), np.int64(0), mix, prefix)
    return prefix


@kernel
def count_root(first, stop, table, costs, prefix, use_pext):
    """Count the pairs among the rows of each of some features of the whole table."""
    stack = make_stack(table, np.int64(0))
    mix = mixing(costs)
    room = make_room(table, mix, costs)
    for c in range(first, stop):
        count_single(stack, np.int64(0), np.int64(0), c, mix, prefix, room, table, use_pext)


@kernel
def pairs_root(first, stop, table, lattice, costs, use_pext, prefix, counts, least):
    """Visit the paths of two literals whose least feature is one of these; pairs are counted."""
    stack = make_stack(table, np.int64(0))
    mix = mixing(costs)
    room = make_room(table, mix, costs)
    level, side = np.int64(0), np.int64(0)
    for c in range(first, stop):
        if len(costs.constants):
            pack_single(stack, level, side, c, prefix, room, table, use_pext)
        note_singles(stack, level, side, c, prefix, lattice, costs.minsup, counts)
        for h in range(c + 1, stack.used[0]):
            two_literals(
                stack, level, side, c, h, mix, prefix, room, table, lattice, costs, use_pext,
                counts, least,
            )  # fmt: skip


@kernel
def singles_root(first, stop, table, lattice, costs, prefix, counts, least):
    """Visit the two paths of one literal of each of some features; pairs are counted."""
    stack = make_stack(table, np.int64(0))
    mix = mixing(costs)
    room = make_room(table, mix, costs)
    for c in range(first, stop):
        note_singles(stack, np.int64(0), np.int64(0), c, prefix, lattice, costs.minsup, counts)
        if len(costs.constants) == 0:
            continue
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


@kernel
def close_whole(table, lattice, costs, counts, least):
    """Solve the whole table where it is itself the last level."""
    mix = mixing(costs)
    room = make_room(table, mix, costs)
    prefix = open_root(table, costs)
    for ch in range(mix.shape[0]):
        total = mix[ch, 0] - mix[ch, 0]
        for g in range(mix.shape[1]):
            total += mix[ch, g] * table.totals[g]
        room.whole[0, ch] = total
    for g in range(len(table.totals)):
        counts[0, g] = table.totals[g]
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
