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

from adtc.engine.kernels.jit import JIT_ENABLED, bare_kernel, kernel

EMPTY = np.int64(-(2**63))
ANY = np.int64(2**62)  # as many as there are
PLACES = np.int64(256)  # of a hash table at first
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

    @bare_kernel
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


@bare_kernel
def clear(table):
    """Empty a hash table."""
    for i in range(len(table.keys)):
        table.keys[i] = EMPTY


@kernel
def emptied(h, size):
    """Return an empty table for the next cells: this one, unless it was hardly filled.

    New memory is slow at first use, and so is the clearing of far more than was used.
    """
    if 16 * size < len(h.keys) and len(h.keys) > 4096:
        return new_table(PLACES, h.values.shape[1], h.costs.shape[1])
    clear(h)
    return h


@bare_kernel
def home(key, last):
    """Return where the search for ``key`` begins in a table whose last place is ``last``."""
    mixed = np.uint64(key) * _GOLDEN
    return np.int64(mixed ^ (mixed >> np.uint64(29))) & last


@bare_kernel
def find(keys, key):
    """Return the place of ``key`` in a table: its own, or the free one where it belongs."""
    last = len(keys) - 1
    at = home(key, last)
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & last
    return at


@kernel
def reserve(h, size, more):
    """Return a table with room for ``more`` further keys that is at most half full."""
    while 2 * (size + more) > len(h.keys):
        h = doubled(h)
    return h


@kernel
def doubled(h):
    """Return a table of twice the size with the same cells.

    A key's place is given by the last bits of its hash, so that a walk through the old table
    writes the new one at two running places.
    """
    bigger = new_table(2 * len(h.keys), h.values.shape[1], h.costs.shape[1])
    # here and below arrays are taken out of their tuples before a loop: taking counts references
    keys, values, costs = h.keys, h.values, h.costs
    new_keys, new_values, new_costs = bigger.keys, bigger.values, bigger.costs
    for i in range(len(keys)):
        if keys[i] != EMPTY:
            j = find(new_keys, keys[i])
            copy_cell(keys, values, costs, i, new_keys, new_values, new_costs, j)
    return bigger


@bare_kernel
def copy_cell(keys, values, costs, i, new_keys, new_values, new_costs, j):
    """Copy cell i of one list to place j of another with at least as many limbs."""
    new_keys[j] = keys[i]
    for l in range(values.shape[1]):
        new_values[j, l] = values[i, l]
    for l in range(values.shape[1], new_values.shape[1]):
        new_values[j, l] = 0
    for d in range(costs.shape[1]):
        new_costs[j, d] = costs[i, d]


@bare_kernel
def add_cell(h, size, key, value, cost):
    """Add a small ``value`` to the cell ``key``; return the new number of keys."""
    at = find(h.keys, key)
    if h.keys[at] == EMPTY:
        size = occupied(h, at, key, size)
        for d in range(h.costs.shape[1]):
            h.costs[at, d] = cost[d]
    carry_into(h.values[at], np.int64(0), value)
    return size


@bare_kernel
def occupied(h, at, key, size):
    """Give a free place to a key, with no trees yet; return the new number of keys."""
    h.keys[at] = key
    for l in range(h.values.shape[1]):
        h.values[at, l] = 0
    return size + 1


@bare_kernel
def carry_into(limbs, at, value):
    """Add ``value`` · 2**(64·at) to a number of several limbs."""
    while value != np.uint64(0) and at < len(limbs):
        limbs[at] += value
        value = np.uint64(1) if limbs[at] < value else np.uint64(0)
        at += 1


@bare_kernel
def add_number(total, limbs):
    """Add a number of several limbs to ``total``."""
    for i in range(len(limbs)):
        carry_into(total, i, limbs[i])


@bare_kernel
def take_from(limbs, value):
    """Subtract a small ``value`` from a number; less than 0 stands for 2**(64 · limbs) more."""
    at = 0
    while value != np.uint64(0) and at < len(limbs):
        before = limbs[at]
        limbs[at] -= value
        value = np.uint64(1) if before < value else np.uint64(0)
        at += 1


@bare_kernel
def fused_multiply_add(total, a, b):
    """Add a · b to ``total``; all are numbers of several limbs."""
    for i in range(len(a)):
        if a[i] == np.uint64(0):
            continue
        for j in range(len(b)):
            if b[j] != np.uint64(0):
                carry_into(total, i + j, a[i] * b[j])
                carry_into(total, i + j + 1, multiply_high(a[i], b[j]))


@bare_kernel
def scaled(limbs, factor, out):
    """Write ``factor`` times a number to ``out``."""
    for i in range(len(out)):
        out[i] = 0
    for i in range(len(limbs)):
        carry_into(out, i, limbs[i] * factor)
        carry_into(out, i + 1, multiply_high(limbs[i], factor))


@kernel
def multiply_rows(
    h, size, list1, start1, stop1, list0, start0, stop0, factor, b, most, places, wide
):  # fmt: skip
    """Add ``factor`` · list1 ⊗ list0 within the budgets ``b``; ``wide`` has room for a number.

    Return the table (it may have grown), its number of keys, the number of pairs looked at, −1 if
    the table would need room for more than ``most`` keys, and the cell of list1 to go on with: it
    is ``stop1`` unless the table would need more than so many ``places``.
    """
    scanned = np.int64(0)
    row, stop = start1, stop0
    while True:
        size, looked, row, stop = multiply_while_room(
            h, size, list1, start1, row, stop1, list0, start0, stop, factor, b, wide
        )
        scanned += looked
        if row == stop1 or 2 * (size + stop - start0) > places:
            return h, size, scanned, row
        if size + stop - start0 > most:
            return h, size, np.int64(-1), row
        h = reserve(h, size, stop - start0)


@bare_kernel
def multiply_while_room(
    h, size, list1, start1, row, stop1, list0, start0, stop, factor, b, wide
):  # fmt: skip
    """Multiply cells of list1 from ``row`` on, as long as the table has room for the products.

    Return its number of keys, the number of pairs looked at, the cell to go on with, ``stop1`` at
    the end, and the end of the cells of list0 that it can afford.
    """
    scanned = np.int64(0)
    for i in range(row, stop1):
        stop = affordable_end(list1, start1, i, list0, start0, stop, b)
        if stop == start0:
            break  # sorted: no later cell is cheaper
        if 2 * (size + stop - start0) > len(h.keys):
            return size, scanned, i, stop
        scanned += stop - start0
        size = multiply_row(h, size, list1, i, list0, start0, stop, factor, b, wide)
    return size, scanned, stop1, stop


@bare_kernel
def affordable_end(list1, start1, i, list0, start0, stop, b):
    """Return the end of the cells of list0 that cell i of list1 can afford, below ``stop``."""
    if len(b) == 0 or (i > start1 and list1.costs[i, 0] == list1.costs[i - 1, 0]):
        return stop
    return affordable(list0.costs, start0, stop, b[0] - list1.costs[i, 0])


@bare_kernel
def multiply_row(h, size, list1, i, list0, start, stop, factor, b, wide):
    """Add the products of cell i of list1 with a part of list0 to a table that has room."""
    scaled(list1.values[i], factor, wide)
    return _add_row(
        h.keys, h.values, h.costs, size, list1.keys[i], wide, list1.costs[i],
        list0.keys, list0.values, list0.costs, start, stop, b,
    )  # fmt: skip


@bare_kernel
def _add_row(
    keys, values, costs, size, key1, value1, cost1, keys0, values0, costs0, start, stop, b
):  # fmt: skip
    """Add the products of one cell with a list to a table that has room for them.

    The innermost loop of most runs: arrays come out of their tuples, which count references.
    """
    last = len(keys) - 1
    limbs = values.shape[1]
    kept = costs.shape[1]
    lowest = value1[0]
    for j in range(start, stop):
        if len(b) > 1 and not fits(cost1, costs0, j, b):
            continue
        key = key1 + keys0[j]
        at = home(key, last)
        while keys[at] != EMPTY and keys[at] != key:
            at = (at + 1) & last
        if keys[at] == EMPTY:
            keys[at] = key
            for l in range(limbs):
                values[at, l] = 0
            for d in range(kept):
                costs[at, d] = cost1[d] + costs0[j, d]
            size += 1
        if limbs == 1:
            values[at, 0] += lowest * values0[j, 0]
        else:
            fused_multiply_add(values[at], value1, values0[j])
    return size


@bare_kernel
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


@bare_kernel
def fits(cost1, costs0, j, b):
    """Tell whether a cell and cell j of a list together fit all budgets but the first."""
    for d in range(1, len(b)):
        if cost1[d] + costs0[j, d] > b[d]:
            return False
    return True


@bare_kernel
def within(cost, b):
    """Tell whether a vector of costs fits the budgets."""
    for d in range(len(b)):
        if cost[d] > b[d]:
            return False
    return True


@kernel
def append_table(h, size, pool, start):
    """Append a table's non-zero cells to ``pool`` from ``start`` on.

    Return the pool (it may have grown) and the end of its list.
    """
    pool = room_for(pool, start, size)
    return pool, copy_table(h, pool, start)


@bare_kernel
def copy_table(h, pool, start):
    """Copy a table's non-zero cells to a pool that has room for them; return their end."""
    keys, values, costs = h.keys, h.values, h.costs
    new_keys, new_values, new_costs = pool.keys, pool.values, pool.costs
    stop = start
    for i in range(len(keys)):
        if keys[i] != EMPTY and positive(values, i):
            copy_cell(keys, values, costs, i, new_keys, new_values, new_costs, stop)
            stop += 1
    return stop


@kernel
def room_for(pool, start, more):
    """Return a pool with room for ``more`` cells after the first ``start``, which it keeps."""
    if start + more <= len(pool.keys):
        return pool
    # doubling what is there keeps copies few; a list that comes alone gets just its room
    capacity = max(start + more, 2 * start)
    bigger = new_cells(capacity, pool.values.shape[1], pool.costs.shape[1])
    copy_cells(pool, np.int64(0), bigger, np.int64(0), start)
    return bigger


@bare_kernel
def copy_cells(old, start, new, at, n):
    """Copy a part of a list; slices would take seconds to compile, for their error messages."""
    keys, values, costs = old.keys, old.values, old.costs
    new_keys, new_values, new_costs = new.keys, new.values, new.costs
    for k in range(n):
        copy_cell(keys, values, costs, start + k, new_keys, new_values, new_costs, at + k)


@bare_kernel
def positive(values, i):
    """Tell whether a number of a list is not 0."""
    for l in range(values.shape[1]):
        if values[i, l]:
            return True
    return False
