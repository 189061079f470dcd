"""Kernels that sort: lists of cells by their first cost, and numbers by their digits."""

import numpy as np

from adtc.engine.kernels.cells import append_table, copy_cell, copy_cells, new_cells
from adtc.engine.kernels.jit import bare_kernel, kernel

FEW = np.int64(32)  # cells that are sorted fastest one by one
_DIGIT = 11  # binary digits that one pass of a sort looks at


@kernel
def append_sorted(h, size, pool, start):
    """Append a table's non-zero cells sorted by first cost; return as `append_table` does."""
    pool, stop = append_table(h, size, pool, start)
    sort_by_cost(pool, start, stop, new_cells(stop - start, h.values.shape[1], h.costs.shape[1]))
    return pool, stop


@bare_kernel
def sort_by_cost(pool, start, stop, spare):
    """Sort a part of a list by its first cost, if there are costs; ``spare`` has room for it."""
    n = stop - start
    if n < 2 or pool.costs.shape[1] == 0:
        return
    if n <= FEW:
        _sort_few(pool, start, stop, spare)
    else:
        copy_cells(pool, start, spare, np.int64(0), n)
        _sort_many(spare, n, pool, start)


@bare_kernel
def _sort_few(pool, start, stop, spare):
    """Sort cells by moving each one up to its place; ``spare`` has room for one."""
    keys, values, costs = pool.keys, pool.values, pool.costs
    held_keys, held_values, held_costs = spare.keys, spare.values, spare.costs
    first = np.int64(0)
    for k in range(start + 1, stop):
        if costs[k - 1, 0] <= costs[k, 0]:
            continue
        copy_cell(keys, values, costs, k, held_keys, held_values, held_costs, first)
        at = k
        while at > start and costs[at - 1, 0] > held_costs[0, 0]:
            copy_cell(keys, values, costs, at - 1, keys, values, costs, at)
            at -= 1
        copy_cell(held_keys, held_values, held_costs, first, keys, values, costs, at)


@kernel
def _sort_many(cells, n, pool, start):
    """Write n cells to a pool, sorted by their first cost."""
    keys, values, costs = cells.keys, cells.values, cells.costs
    new_keys, new_values, new_costs = pool.keys, pool.values, pool.costs
    order = _digit_order(costs[:n])
    for k in range(n):
        copy_cell(keys, values, costs, order[k], new_keys, new_values, new_costs, start + k)


@kernel
def _digit_order(costs):
    """Return the order of many cells by their first cost."""
    n = len(costs)
    first = np.empty(n, np.int64)
    for k in range(n):
        first[k] = costs[k, 0]
    return sort_digits(first, np.empty((2, n), np.int64), np.empty((2, n), np.int32))[1]


@kernel
def sort_digits(unsorted, keys, places):
    """Sort numbers by one digit after the other; return them sorted and where they were.

    ``keys`` and ``places`` are two rows each, used in turn. Equal numbers stay in their order.
    """
    n = len(unsorted)
    low, high = extremes(unsorted)
    old, new = 0, 1
    for k in range(n):
        keys[old, k] = unsorted[k] - low
        places[old, k] = k
    ends = np.empty(min(1 << _DIGIT, high - low + 1), np.int64)
    last = (1 << _DIGIT) - 1
    shift = 0
    while (high - low) >> shift:
        ends[:] = 0
        for k in range(n):
            ends[(keys[old, k] >> shift) & last] += 1
        before = np.int64(0)
        for digit in range(len(ends)):
            ends[digit], before = before, before + ends[digit]
        for k in range(n):
            digit = (keys[old, k] >> shift) & last
            at = ends[digit]
            ends[digit] = at + 1
            keys[new, at] = keys[old, k]
            places[new, at] = places[old, k]
        old, new = new, old
        shift += _DIGIT
    return keys[old, :n], places[old, :n]


@bare_kernel
def extremes(numbers):
    """Return the least and the largest of some numbers."""
    low, high = numbers[0], numbers[0]
    for number in numbers:
        low, high = min(low, number), max(high, number)
    return low, high
