"""Kernels for tensors that are larger than the processor's caches: products parted by key.

In a large hash table every product waits for memory. Here the products of a path are counted by
ranges of keys, written next to the others of their range, and then sorted and summed range by
range, each of which fits the cache. Ranges that together exceed the memory are swept one after
another; the products are made anew for each sweep, which is cheap.

Legend: pairs one line per split (list1 from, to, list0 from, to, feature), b budgets, h a hash
table, bin a range of keys that is never divided, part some neighbouring bins, sorted together.
"""

from typing import Any, NamedTuple

import numpy as np

from adtc.engine.kernels.cells import (
    ANY,
    EMPTY,
    add_number,
    affordable,
    append_table,
    copy_cell,
    fits,
    fused_multiply_add,
    multiply_rows,
    positive,
    room_for,
    scaled,
)
from adtc.engine.kernels.jit import bare_kernel, kernel
from adtc.engine.kernels.sorting import extremes, sort_digits

SMALL = np.int64(1 << 17)  # places of a hash table that caches hold
_SWEEP = np.int64(1 << 25)  # products held at once
BIN_BITS = 16
_PARTS = np.int64(512)  # so many places in memory can be written at in turn without delay


class Bins(NamedTuple):
    """The numbers of products by range of keys: bin (key − low) >> shift."""

    count: Any  # int64 [bin]
    low: Any
    shift: Any


@kernel
def append_large(h, size, pairs, row, below, multiplicity, b, most, pool, start, spare):
    """Append the sum of a table's cells and of all products within the budgets.

    ``row`` is where to begin in the first pair's list1. Returns the pool (it may have grown), the
    end of the list, −1 if it would have more cells than the memory for ``most`` in a hash table
    holds, the pairs looked at, and the list ``spare``, which is used in between and may have grown.
    """
    bins, scanned = _count_bins(h, pairs, row, below, b)
    if extremes(bins.count)[1] <= _SWEEP:
        most += most // 2  # a list needs less room than a table
        spare = room_for(spare, np.int64(0), min(bins.count.sum(), _SWEEP))
        pool, stop = _append_parted(
            h, pairs, row, below, multiplicity, b, bins, most, pool, start, spare
        )
        return pool, stop, scanned, spare
    wide = np.zeros(h.values.shape[1], np.uint64)
    for p in range(len(pairs)):  # very many products on few keys: these are best found by hash
        h, size, looked, _ = multiply_rows(
            h, size, below, row if p == 0 else pairs[p, 0], pairs[p, 1], below, pairs[p, 2],
            pairs[p, 3], np.uint64(multiplicity[pairs[p, 4]]), b, most, ANY, wide,
        )  # fmt: skip
        if looked < 0:
            return pool, looked, scanned, spare
    pool, stop = append_table(h, size, pool, start)
    return pool, stop, scanned, spare


@kernel
def _count_bins(h, pairs, row, below, b):
    """Count a table's cells and all products within the budgets; also the pairs looked at."""
    low, high = _key_range(h, pairs, below)
    shift = np.int64(0)
    while (high - low) >> shift >= 1 << BIN_BITS:
        shift += 1
    bins = Bins(np.zeros(1 << BIN_BITS, np.int64), low, shift)
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            bins.count[(h.keys[i] - low) >> shift] += 1
    scanned = np.int64(0)
    for p in range(len(pairs)):
        start0, stop = pairs[p, 2], pairs[p, 3]
        first = row if p == 0 else pairs[p, 0]
        for i in range(first, pairs[p, 1]):
            stop = _row_end(below.costs, i, first, start0, stop, b)
            if stop == start0:
                break
            scanned += stop - start0
            _count_row(
                bins.count, low, shift, below.keys[i], below.costs[i], below.keys, below.costs,
                start0, stop, b,
            )  # fmt: skip
    return bins, scanned


@kernel
def _append_parted(h, pairs, row, below, multiplicity, b, bins, most, pool, start, parted):
    """Append the sum of a table's cells and of all products within the budgets, sorted by key.

    Returns the pool (it may have grown) and the end of the list, −1 if it would have more than
    ``most`` cells.
    """
    part_of = np.empty(len(bins.count), np.int64)
    ends = np.empty(_PARTS, np.int64)
    stop = start
    low, shift = bins.low, bins.shift
    after = np.int64(0)
    while after < len(bins.count):
        after = _next_sweep(bins.count, after, len(parted.keys), part_of, ends)
        _part_table(h, low, shift, part_of, ends, parted)
        _part_products(
            pairs, row, below, multiplicity, b, low, shift, part_of, ends, parted
        )  # fmt: skip
        scratch = _new_scratch(ends)
        begin = np.int64(0)
        for part in range(len(ends)):
            pool = room_for(pool, stop, ends[part] - begin)
            stop = _append_part(parted, begin, ends[part], scratch, pool, stop)
            if stop - start > most:
                return pool, np.int64(-1)
            begin = ends[part]
    return pool, stop


@bare_kernel
def _key_range(h, pairs, below):
    """Return the least and the largest key that may occur."""
    low, high = np.int64(2**62), np.int64(-(2**62))
    for i in range(len(h.keys)):
        if h.keys[i] != EMPTY:
            low, high = min(low, h.keys[i]), max(high, h.keys[i])
    for p in range(len(pairs)):
        keys1 = below.keys[pairs[p, 0] : pairs[p, 1]]
        keys0 = below.keys[pairs[p, 2] : pairs[p, 3]]
        if len(keys1) and len(keys0):
            (low1, high1), (low0, high0) = extremes(keys1), extremes(keys0)
            low, high = min(low, low1 + low0), max(high, high1 + high0)
    return low, high


@bare_kernel
def _row_end(costs, i, first, start0, stop, b):
    """Return the end of the part of list0 that cell i of list1 can be multiplied with.

    Both lists ascend in the first cost, so it only moves when that changes, and only down.
    """
    if len(b) and (i == first or costs[i, 0] != costs[i - 1, 0]):
        return affordable(costs, start0, stop, b[0] - costs[i, 0])
    return stop


@bare_kernel
def _count_row(count, low, shift, key1, cost1, keys0, costs0, start, stop, b):
    for j in range(start, stop):
        if len(b) < 2 or fits(cost1, costs0, j, b):
            count[(key1 + keys0[j] - low) >> shift] += 1


@bare_kernel
def _next_sweep(count, first, most, part_of, ends):
    """Divide as many bins as hold ``most`` products, from ``first`` on, into parts.

    Writes each bin's part (−1: not in this sweep) and where the parts begin. Returns the bin after
    the last one.
    """
    after, products = first, np.int64(0)
    while after < len(count) and (products == 0 or products + count[after] <= most):
        products += count[after]
        after += 1
    part_of[:] = -1
    ends[:] = products
    enough = products // len(ends) + 1
    part, before, begun = np.int64(0), np.int64(0), np.int64(0)
    ends[0] = 0
    for k in range(first, after):
        if before - begun >= enough:
            part += 1
            ends[part] = begun = before
        part_of[k] = part
        before += count[k]
    return after


@bare_kernel
def _part_table(h, low, shift, part_of, ends, parted):
    """Write a table's cells of this sweep to their parts; ``ends`` move on."""
    keys, values, costs = h.keys, h.values, h.costs
    new_keys, new_values, new_costs = parted.keys, parted.values, parted.costs
    for i in range(len(keys)):
        if keys[i] != EMPTY:
            part = part_of[(keys[i] - low) >> shift]
            if part >= 0:
                copy_cell(keys, values, costs, i, new_keys, new_values, new_costs, ends[part])
                ends[part] += 1


@kernel
def _part_products(pairs, row, below, multiplicity, b, low, shift, part_of, ends, parted):
    """Write the products of this sweep to their parts; ``ends`` move on."""
    wide = np.zeros(parted.values.shape[1], np.uint64)
    for p in range(len(pairs)):
        start0, stop = pairs[p, 2], pairs[p, 3]
        first = row if p == 0 else pairs[p, 0]
        for i in range(first, pairs[p, 1]):
            stop = _row_end(below.costs, i, first, start0, stop, b)
            if stop == start0:
                break
            scaled(below.values[i], np.uint64(multiplicity[pairs[p, 4]]), wide)
            _part_row(
                parted.keys, parted.values, parted.costs, low, shift, part_of, ends,
                below.keys[i], wide, below.costs[i], below.keys, below.values, below.costs, start0,
                stop, b,
            )  # fmt: skip


@bare_kernel
def _part_row(
    keys, values, costs, low, shift, part_of, ends, key1, value1, cost1, keys0, values0, costs0,
    start, stop, b,
):  # fmt: skip
    limbs = values.shape[1]
    kept = costs.shape[1]
    lowest = value1[0]
    for j in range(start, stop):
        if len(b) > 1 and not fits(cost1, costs0, j, b):
            continue
        key = key1 + keys0[j]
        part = part_of[(key - low) >> shift]
        if part < 0:
            continue
        at = ends[part]
        ends[part] = at + 1
        keys[at] = key
        if limbs == 1:
            values[at, 0] = lowest * values0[j, 0]
        else:
            for l in range(limbs):
                values[at, l] = 0
            fused_multiply_add(values[at], value1, values0[j])
        for d in range(kept):
            costs[at, d] = cost1[d] + costs0[j, d]


@kernel
def _new_scratch(ends):
    """Make room to sort the largest part: keys and places, twice."""
    largest, begin = np.int64(0), np.int64(0)
    for part in range(len(ends)):
        largest = max(largest, ends[part] - begin)
        begin = ends[part]
    return np.empty((2, largest), np.int64), np.empty((2, largest), np.int32)


@kernel
def _append_part(parted, begin, end, scratch, pool, stop):
    """Append the products of a part, sorted and summed by key; return the end of the list."""
    if begin == end:
        return stop
    part = parted.keys[begin:end]
    keys, places = sort_digits(part, scratch[0], scratch[1])
    return _sum_equal_keys(
        keys, places, extremes(part)[0], parted.values[begin:end], parted.costs[begin:end],
        pool.keys, pool.values, pool.costs, stop,
    )  # fmt: skip


@bare_kernel
def _sum_equal_keys(
    keys, places, low, values, costs, pool_keys, pool_values, pool_costs, stop
):  # fmt: skip
    """Append sorted products (keys above ``low``, the rest at ``places``) summed by key."""
    limbs = values.shape[1]
    for k in range(len(keys)):
        at = places[k]
        if k > 0 and keys[k] == keys[k - 1]:
            if limbs == 1:
                pool_values[stop, 0] += values[at, 0]
            else:
                add_number(pool_values[stop], values[at])
            continue
        # a cell whose trees were all taken back makes room for the next
        if k > 0 and positive(pool_values, stop):
            stop += 1
        pool_keys[stop] = low + keys[k]
        for l in range(limbs):
            pool_values[stop, l] = values[at, l]
        for d in range(costs.shape[1]):
            pool_costs[stop, d] = costs[at, d]
    return stop + 1 if positive(pool_values, stop) else stop
