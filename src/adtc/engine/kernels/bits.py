"""Kernels on bit columns: population count, row compression, pair counts.

Rows lie in *planes*: the rows of one row group whose weight has one binary digit set. Plane p of a
node occupies the words ``offsets[p] : offsets[p + 1]`` of every feature, bits beyond its last row
are 0. Valid for any number of rows; counts are int64 sums of ``popcount << shift``.
"""

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from adtc.engine.kernels.jit import JIT_ENABLED, bare_kernel, hot_kernel

# Bit extract is one instruction on x86 with BMI2; elsewhere six shift-and-mask steps do the same.
HAS_PEXT = JIT_ENABLED and bool(binding.get_host_cpu_features().get("bmi2", False))


@intrinsic
def _ctpop(context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _pext_instruction(context: Any, word: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64 = ir.IntType(64)
        instruction = builder.module.declare_intrinsic(
            "llvm.x86.bmi.pext.64", fnty=ir.FunctionType(i64, [i64, i64])
        )
        return builder.call(instruction, args)

    return types.uint64(types.uint64, types.uint64), codegen


if JIT_ENABLED:

    @bare_kernel
    def popcount(word):
        return _ctpop(word)

else:

    def popcount(word: Any) -> Any:
        """Count the ones of a word, in plain Python."""
        return np.uint64(int(word).bit_count())


@bare_kernel
def moves_for(mask, moves):
    """Find for each of six steps which bits of a word must move so that ``mask``'s bits close up.

    The parallel-suffix method: step i moves bits by 2**i places to the right.
    """
    m = mask
    zeros_right = (~m) << np.uint64(1)
    for i in range(6):
        parity = zeros_right ^ (zeros_right << np.uint64(1))
        parity ^= parity << np.uint64(2)
        parity ^= parity << np.uint64(4)
        parity ^= parity << np.uint64(8)
        parity ^= parity << np.uint64(16)
        parity ^= parity << np.uint64(32)
        move = parity & m
        moves[i] = move
        m = (m ^ move) | (move >> np.uint64(1 << i))
        zeros_right &= ~parity


@bare_kernel
def extract_portable(word, mask, moves):
    """Gather the bits of ``word`` under ``mask`` at the low end, with prepared moves."""
    x = word & mask
    for i in range(6):
        t = x & moves[i]
        x = (x ^ t) | (t >> np.uint64(1 << i))
    return x


if HAS_PEXT:

    @bare_kernel
    def extract(word, mask, moves, use_pext):
        if use_pext:
            return _pext_instruction(word, mask)
        return extract_portable(word, mask, moves)

else:

    @bare_kernel
    def extract(word, mask, moves, use_pext):
        """Gather the bits of ``word`` under ``mask`` at the low end."""
        return extract_portable(word, mask, moves)


@hot_kernel
def side_mask(column, negative, offsets, rows, mask):
    """Write the rows where ``column`` is 1 (or 0 if ``negative``) to ``mask``."""
    for p in range(len(rows)):
        start, stop = offsets[p], offsets[p + 1]
        for w in range(start, stop):
            mask[w] = ~column[w] if negative else column[w]
        tail = rows[p] & 63
        if negative and tail:
            mask[stop - 1] &= (np.uint64(1) << np.uint64(tail)) - np.uint64(1)


@bare_kernel
def plan_extract(mask, offsets, planes, kept, moves, new_offsets, new_rows, use_pext):
    """Count the rows under ``mask`` per word and plane, and lay out the compressed planes."""
    new_offsets[0] = 0
    for p in range(planes):
        rows = 0
        for w in range(offsets[p], offsets[p + 1]):
            kept[w] = popcount(mask[w])
            rows += np.int64(kept[w])
            if not use_pext or not HAS_PEXT:
                moves_for(mask[w], moves[w])
        new_rows[p] = rows
        new_offsets[p + 1] = new_offsets[p] + ((rows + 63) >> 6)


@bare_kernel
def compress(source, mask, kept, moves, offsets, planes, new_offsets, use_pext, target):
    """Pack the bits of one column under ``mask`` plane by plane into ``target``."""
    for p in range(planes):
        out = new_offsets[p]
        word = np.uint64(0)
        fill = np.uint64(0)
        for w in range(offsets[p], offsets[p + 1]):
            count = kept[w]
            if count == np.uint64(0):
                continue
            piece = extract(source[w], mask[w], moves[w], use_pext)
            word |= piece << fill
            fill += count
            if fill >= np.uint64(64):
                target[out] = word
                out += 1
                fill -= np.uint64(64)
                # a shift by 64 is undefined, so nothing left over is its own case
                word = piece >> (count - fill) if fill else np.uint64(0)
        if fill:
            target[out] = word


@hot_kernel
def count_pairs(words, count, offsets, plane_group, plane_shift, pairs):
    """Count for all i <= j the rows where the features i and j are both 1.

    ``pairs[g, i, j]`` is set for the upper triangle with the diagonal, ``count`` features in all.
    """
    for g in range(pairs.shape[0]):
        for i in range(count):
            for j in range(i, count):
                pairs[g, i, j] = 0
    for p in range(len(plane_group)):
        g, shift = plane_group[p], plane_shift[p]
        start, stop = offsets[p], offsets[p + 1]
        if start == stop:
            continue
        for i in range(count):
            a = words[i, start:stop]
            out = pairs[g, i]
            j = i
            # four partners at once share the loads of a
            while j + 4 <= count:
                s0, s1, s2, s3 = _popcount_and4(
                    a,
                    words[j, start:stop],
                    words[j + 1, start:stop],
                    words[j + 2, start:stop],
                    words[j + 3, start:stop],
                )
                out[j] += s0 << shift
                out[j + 1] += s1 << shift
                out[j + 2] += s2 << shift
                out[j + 3] += s3 << shift
                j += 4
            while j < count:
                out[j] += _popcount_and(a, words[j, start:stop]) << shift
                j += 1


@hot_kernel
def count_few_pairs(words, count, offsets, plane_group, plane_shift, columns, pairs):
    """Do what `count_pairs` does where planes have few words: loops run over the partners.

    ``columns`` is room for the words of all features side by side, ``[word, feature]``.
    """
    for w in range(offsets[len(plane_group)]):
        for i in range(count):
            columns[w, i] = words[i, w]
    for g in range(pairs.shape[0]):
        for i in range(count):
            for j in range(i, count):
                pairs[g, i, j] = 0
    for p in range(len(plane_group)):
        g, shift = plane_group[p], np.uint64(plane_shift[p])
        for i in range(count):
            out = pairs[g, i, i:count]
            w = offsets[p]
            while w + 2 <= offsets[p + 1]:
                _add_two(columns[w, i:count], columns[w + 1, i:count], shift, out)
                w += 2
            if w < offsets[p + 1]:
                _add_one(columns[w, i:count], shift, out)


@bare_kernel
def _add_one(a, shift, out):
    kind = out.dtype.type
    x = a[0]
    for j in range(len(a)):
        out[j] += kind(popcount(x & a[j]) << shift)


@bare_kernel
def _add_two(a, b, shift, out):
    kind = out.dtype.type
    x, y = a[0], b[0]
    for j in range(len(a)):
        out[j] += kind((popcount(x & a[j]) + popcount(y & b[j])) << shift)


@bare_kernel
def _popcount_and(a, b):
    total = np.int64(0)
    for w in range(len(a)):
        total += np.int64(popcount(a[w] & b[w]))
    return total


@bare_kernel
def _popcount_and4(a, b0, b1, b2, b3):
    s0 = np.int64(0)
    s1 = np.int64(0)
    s2 = np.int64(0)
    s3 = np.int64(0)
    for w in range(len(a)):
        x = a[w]
        s0 += np.int64(popcount(x & b0[w]))
        s1 += np.int64(popcount(x & b1[w]))
        s2 += np.int64(popcount(x & b2[w]))
        s3 += np.int64(popcount(x & b3[w]))
    return s0, s1, s2, s3
