"""Kernels on sparse tensors: lists of cells, multiplied into a hash table.

A cell has a key (all axes packed into one integer that adds up over subtrees), its costs (one per
pushed functional; equal keys have equal costs) and the number of trees in it. Lists are sorted by
their first cost, so that a product stops as soon as the budget is spent. Values are vectors of
64-bit limbs, lowest first; the driver proves how many limbs suffice before anything is multiplied.

Legend: h hash table, list1 list0 the children's cells, b budgets, [start, stop) a part of a list.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from adtc.engine.kernels.jit import JIT_ENABLED, kernel

EMPTY = np.int64(-(2**63))
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Cells(NamedTuple):
    """A list of cells, or a hash table of them (free places have the key ``EMPTY``)."""

    keys: Any  # int64 [cell]
    values: Any  # uint64 [cell, limb]
    costs: Any  # int64 [cell, functional]


@intrinsic
def _multiply_high(context: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 bits of a 64 × 64 bit product."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir  # only while compiling

        wide = ir.IntType(128)
        x, y = (builder.zext(arg, wide) for arg in args)
        high = builder.lshr(builder.mul(x, y), ir.Constant(wide, 64))
        return builder.trunc(high, ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


if JIT_ENABLED:

    @kernel
    def multiply_high(a, b):
        return _multiply_high(a, b)

else:

    def multiply_high(a: Any, b: Any) -> Any:
        """Return the upper 64 bits of a 64 × 64 bit product, in plain Python."""
        return np.uint64(int(a) * int(b) >> 64)


@kernel
def new_cells(capacity, limbs, functionals):
    """Make room for a list of cells."""
    return Cells(
        np.empty(capacity, np.int64),
        np.empty((capacity, limbs), np.uint64),
        np.empty((capacity, functionals), np.int64),
    )


@kernel
def new_table(capacity, limbs, functionals):
    """Make an empty hash table; ``capacity`` is a power of two."""
    table = new_cells(capacity, limbs, functionals)
    clear(table)
    return table


@kernel
def clear(table):
    """Empty a hash table."""
    for i in range(len(table.keys)):
        table.keys[i] = EMPTY


@kernel
def find(keys, key):
    """Return the place of ``key`` in a table: its own, or the free one where it belongs."""
    last = len(keys) - 1
    mixed = np.uint64(key) * _GOLDEN
    at = np.int64(mixed ^ (mixed >> np.uint64(29))) & last
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & last
    return at


@kernel
def reserve(h, size, more):
    """Return a table with room for ``more`` further keys that is at most half full."""
    capacity = len(h.keys)
    if 2 * (size + more) <= capacity:
        return h
    while 2 * (size + more) > capacity:
        capacity *= 2
    bigger = new_table(capacity, h.values.shape[1], h.costs.shape[1])
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            copy_cell(h, i, bigger, find(bigger.keys, h.keys[i]))
    return bigger


@kernel
def copy_cell(source, i, target, j):
    """Copy cell i of one list to place j of another with at least as many limbs."""
    target.keys[j] = source.keys[i]
    for l in range(source.values.shape[1]):
        target.values[j, l] = source.values[i, l]
    for l in range(source.values.shape[1], target.values.shape[1]):
        target.values[j, l] = 0
    for d in range(source.costs.shape[1]):
        target.costs[j, d] = source.costs[i, d]


@kernel
def add_cell(h, size, key, value, cost):
    """Add a small ``value`` to the cell ``key``; return the new number of keys."""
    at = find(h.keys, key)
    if h.keys[at] == EMPTY:
        h.keys[at] = key
        for l in range(h.values.shape[1]):
            h.values[at, l] = 0
        for d in range(len(cost)):
            h.costs[at, d] = cost[d]
        size += 1
    carry_into(h.values[at], np.int64(0), value)
    return size


@kernel
def carry_into(limbs, at, value):
    """Add ``value`` · 2**(64·at) to a number of several limbs."""
    while value != np.uint64(0) and at < len(limbs):
        limbs[at] += value
        value = np.uint64(1) if limbs[at] < value else np.uint64(0)
        at += 1


@kernel
def take_from(limbs, value):
    """Subtract a small ``value`` from a number that is at least as large."""
    at = 0
    while value != np.uint64(0):
        before = limbs[at]
        limbs[at] -= value
        value = np.uint64(1) if before < value else np.uint64(0)
        at += 1


@kernel
def fused_multiply_add(total, a, b):
    """Add a · b to ``total``; all are numbers of several limbs."""
    for i in range(len(a)):
        if a[i] == np.uint64(0):
            continue
        for j in range(len(b)):
            if b[j] != np.uint64(0):
                carry_into(total, i + j, a[i] * b[j])
                carry_into(total, i + j + 1, multiply_high(a[i], b[j]))


@kernel
def scaled(limbs, factor, out):
    """Write ``factor`` times a number to ``out``."""
    for i in range(len(out)):
        out[i] = 0
    for i in range(len(limbs)):
        carry_into(out, i, limbs[i] * factor)
        carry_into(out, i + 1, multiply_high(limbs[i], factor))


@kernel
def multiply(h, size, list1, start1, stop1, list0, start0, stop0, factor, b, most):
    """Add ``factor`` · list1 ⊗ list0 within the budgets ``b``.

    Return the table (it may have grown), its number of keys, and the number of pairs looked at; or
    −1 for the last if the table would need room for more than ``most`` keys.
    """
    scanned = np.int64(0)
    functionals = len(b)
    narrow = h.values.shape[1] == 1
    wide = np.zeros(h.values.shape[1], np.uint64)
    for i in range(start1, stop1):
        stop = stop0
        if functionals:
            left = b[0] - list1.costs[i, 0]
            stop = affordable(list0.costs, start0, stop0, left)
            if stop == start0:
                break  # sorted: no later cell is cheaper
        if size + stop - start0 > most:
            return h, size, np.int64(-1)
        h = reserve(h, size, stop - start0)
        scanned += stop - start0
        if narrow:
            value = list1.values[i, 0] * factor
            for j in range(start0, stop):
                if functionals > 1 and not _fits(list1.costs[i], list0.costs[j], b):
                    continue
                key = list1.keys[i] + list0.keys[j]
                at = find(h.keys, key)
                if h.keys[at] == EMPTY:
                    size = _occupy(h, at, key, list1.costs[i], list0.costs[j], size)
                h.values[at, 0] += value * list0.values[j, 0]
        else:
            scaled(list1.values[i], factor, wide)
            for j in range(start0, stop):
                if functionals > 1 and not _fits(list1.costs[i], list0.costs[j], b):
                    continue
                key = list1.keys[i] + list0.keys[j]
                at = find(h.keys, key)
                if h.keys[at] == EMPTY:
                    size = _occupy(h, at, key, list1.costs[i], list0.costs[j], size)
                fused_multiply_add(h.values[at], wide, list0.values[j])
    return h, size, scanned


@kernel
def _occupy(h, at, key, cost1, cost0, size):
    h.keys[at] = key
    for l in range(h.values.shape[1]):
        h.values[at, l] = 0
    for d in range(len(cost1)):
        h.costs[at, d] = cost1[d] + cost0[d]
    return size + 1


@kernel
def affordable(costs, start, stop, left):
    """Return the end of the leading part of an ascending list whose cost is at most ``left``."""
    lo, hi = start, stop
    while lo < hi:
        middle = (lo + hi) >> 1
        if costs[middle, 0] <= left:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def _fits(cost1, cost0, b):
    for d in range(1, len(b)):
        if cost1[d] + cost0[d] > b[d]:
            return False
    return True


@kernel
def within(cost, b):
    """Tell whether a vector of costs fits the budgets."""
    for d in range(len(b)):
        if cost[d] > b[d]:
            return False
    return True


@kernel
def append_table(h, size, pool, start, sort):
    """Append a table's non-zero cells to ``pool`` from ``start`` on, sorted by first cost if asked.

    Return the pool (it may have grown) and the end of its list.
    """
    pool = room_for(pool, start, size)
    stop = start
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY and _positive(h.values[i]):
            copy_cell(h, i, pool, stop)
            stop += 1
    if sort and h.costs.shape[1] and stop - start > 1:
        sort_by_cost(pool, start, stop)
    return pool, stop


@kernel
def room_for(pool, start, more):
    """Return a pool with room for ``more`` cells after the first ``start``, which it keeps."""
    if start + more <= len(pool.keys):
        return pool
    # doubling what is there keeps copies few; a list that comes alone gets just its room
    capacity = max(start + more, 2 * start)
    bigger = new_cells(capacity, pool.values.shape[1], pool.costs.shape[1])
    for i in range(start):
        copy_cell(pool, i, bigger, i)
    return bigger


@kernel
def _positive(limbs):
    for value in limbs:
        if value != np.uint64(0):
            return True
    return False


@kernel
def sort_by_cost(pool, start, stop):
    """Sort a part of a list by its first cost."""
    first = np.empty(stop - start, np.int64)
    for i in range(stop - start):
        first[i] = pool.costs[start + i, 0]
    order = np.argsort(first)
    old = new_cells(stop - start, pool.values.shape[1], pool.costs.shape[1])
    for i in range(stop - start):
        copy_cell(pool, start + i, old, i)
    for i in range(stop - start):
        copy_cell(old, order[i], pool, start + i)
