"""Kernels on dense tensors: one array over all keys a path can have, for questions without budgets.

Where a path has many more products than possible keys, as in a histogram of all trees by error,
adding into an array is several times faster than into a hash table.

Legend: acc flat array of limbs, key k has its limbs at (k − base) · limbs.
"""

import numpy as np

from adtc.engine.kernels.cells import fused_multiply_add, room_for, scaled
from adtc.engine.kernels.jit import bare_kernel, hot_kernel, kernel


@bare_kernel
def key_range(counts, leaves, most_leaves):
    """Return the least key of any tree on these rows and the number of keys up to the largest."""
    most_leaves = min(most_leaves, leaves.most_leaves)
    low = min(leaves.key_constant, leaves.key_constant * most_leaves)
    high = max(leaves.key_constant, leaves.key_constant * most_leaves)
    for g in range(len(counts)):
        least = leaves.key_weights[0, g]
        largest = leaves.key_weights[0, g]
        for l in range(1, leaves.key_weights.shape[0]):
            least = min(least, leaves.key_weights[l, g])
            largest = max(largest, leaves.key_weights[l, g])
        low += least * counts[g]
        high += largest * counts[g]
    return low, high - low + 1


@hot_kernel
def multiply_dense(
    acc, base, limbs, list1, start1, stop1, list0, start0, stop0, factor, wide
):  # fmt: skip
    """Add ``factor`` · list1 ⊗ list0; return the number of pairs."""
    for i in range(start1, stop1):
        offset = list1.keys[i] - base
        if limbs == 1:
            value = list1.values[i, 0] * factor
            for j in range(start0, stop0):
                acc[offset + list0.keys[j]] += value * list0.values[j, 0]
        else:
            scaled(list1.values[i], factor, wide)
            for j in range(start0, stop0):
                at = (offset + list0.keys[j]) * limbs
                fused_multiply_add(acc[at : at + limbs], wide, list0.values[j])
    return (stop1 - start1) * (stop0 - start0)


@kernel
def append_dense(acc, base, limbs, width, pool, start):
    """Append the non-zero cells to ``pool`` in the order of their keys; return pool and end."""
    cells = np.int64(0)
    for k in range(width):
        for l in range(limbs):
            if acc[k * limbs + l] != np.uint64(0):
                cells += 1
                break
    pool = room_for(pool, start, cells)
    stop = start
    for k in range(width):
        some = False
        for l in range(limbs):
            some = some or acc[k * limbs + l] != np.uint64(0)
        if some:
            pool.keys[stop] = base + k
            for l in range(limbs):
                pool.values[stop, l] = acc[k * limbs + l]
            stop += 1
    return pool, stop
