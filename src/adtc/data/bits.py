"""Rows as bits: row ``r`` is bit ``r % 64`` of word ``r // 64``; bits beyond the last row are 0.

Packing, unpacking and merging of equal rows; it knows nothing about what the bits mean.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.cache import LRUCache
from adtc.data.arrow import numbers_of

Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
WORD = 64
_ROOMY = 16  # numbers up to so many times their count are told apart in an array over all of them


class BitRows:
    """Weighted rows of Boolean features: what tables and stacks of them have in common.

    Parameters
    ----------
    bits
        ``[n_features, n_words]``.
    weights
        How many equal rows each row stands for.
    """

    bits: Words
    weights: Rows

    @property
    def n_rows(self) -> int:
        """Rows of the arrays; a row may stand for several, by its weight."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """Number of Boolean features."""
        return len(self.bits)

    @cached_property
    def cache(self) -> LRUCache[Any]:
        """What questions derive from the rows, for the next one; it is freed with them."""
        return LRUCache(256, 2**26)  # many small things, or few large ones

    def feature_rows(self, f: int) -> int:
        """Give the rows where feature ``f`` is 1 as an integer: bit r is row r."""
        return int.from_bytes(self.bits[f].astype("<u8").tobytes(), "little")

    def dense(self) -> npt.NDArray[np.uint8]:
        """Give the features as 0/1, ``[n_rows, n_features]``."""
        return np.ascontiguousarray(unpack(self.bits, self.n_rows).T)


def pack(rows: npt.NDArray[np.bool_] | npt.NDArray[np.uint8]) -> Words:
    """Pack the last axis of a 0/1 array into words.

    Examples
    --------
    >>> pack(np.array([1, 0, 1, 1], np.uint8))
    array([13], dtype=uint64)
    """
    packed = np.packbits(rows, axis=-1, bitorder="little")
    n_words = -(-rows.shape[-1] // WORD)
    padded = np.zeros((*rows.shape[:-1], n_words * 8), np.uint8)
    padded[..., : packed.shape[-1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(bits: Words, n_rows: int) -> npt.NDArray[np.uint8]:
    """Turn words back into 0/1 values along the last axis."""
    as_bytes = np.ascontiguousarray(bits).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, count=n_rows, bitorder="little")


def take_rows(bits: Words, n_rows: int, rows: Rows) -> Words:
    """Select rows, one feature at a time to keep memory low."""
    taken = np.zeros((len(bits), -(-len(rows) // WORD)), np.uint64)
    for f, words in enumerate(bits):
        taken[f] = pack(unpack(words, n_rows)[rows])
    return taken


def equal_rows(bits: Words, codes: Sequence[Codes], n_rows: int) -> tuple[Rows, Rows]:
    """Find rows that agree on all bits and codes.

    Returns
    -------
    first, group
        The first row of each group, in order of appearance; the group of each row.
    """
    import pyarrow as pa

    keys = _row_keys(bits, codes, n_rows)
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(keys.shape[1]), n_rows, [None, pa.py_buffer(keys)]
    )
    # A hash table over whole keys: exact, and in order of first appearance.
    return distinct(numbers_of(binary.dictionary_encode().indices))


def distinct(numbers: npt.NDArray[np.signedinteger[Any]]) -> tuple[Rows, Rows]:
    """Find rows of equal number.

    Returns
    -------
    first, group
        The first row of each number that occurs, ascending by number; the group of each row.

    Examples
    --------
    >>> distinct(np.array([3, 0, 3, 1]))
    (array([1, 3, 0]), array([2, 0, 2, 1]))
    """
    values, group = ranked(numbers)
    first = np.empty(len(values), np.int64)
    first[group[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last one written stays
    return first, group


def ranked(numbers: npt.NDArray[np.signedinteger[Any]]) -> tuple[Rows, Rows]:
    """Return the numbers that occur, ascending, and the place of each row's number among them.

    Examples
    --------
    >>> ranked(np.array([3, 0, 3, 1]))
    (array([0, 1, 3]), array([2, 0, 2, 1]))
    """
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if high - low > _ROOMY * len(numbers):
        values, group = sorted_distinct(numbers)
        return values.astype(np.int64), group
    places = np.subtract(numbers, low, dtype=np.int64)
    occurs = np.bincount(places) > 0
    values = np.flatnonzero(occurs)
    group = places if len(values) == len(occurs) else (np.cumsum(occurs) - 1)[places]
    return values + low, group


def sorted_distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Rows]:
    """Return the distinct values in order, and the place of each value among them.

    What ``np.unique`` does, which loads masked arrays first; no value may be NaN.

    Examples
    --------
    >>> sorted_distinct(np.array(["b", "a", "b"], object))
    (array(['a', 'b'], dtype=object), array([1, 0, 1]))
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.ones(len(values), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(len(values), np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def _row_keys(bits: Words, codes: Sequence[Codes], n_rows: int) -> npt.NDArray[np.uint8]:
    """Lay each row's bits and codes side by side as bytes."""
    n_bytes = -(-len(bits) // 8)
    keys = np.zeros((n_rows, n_bytes + 4 * len(codes)), np.uint8)
    for b in range(n_bytes):
        eight = unpack(bits[8 * b : 8 * b + 8], n_rows)
        keys[:, b] = np.packbits(eight, axis=0, bitorder="little")[0]
    for k, code in enumerate(codes):
        start = n_bytes + 4 * k
        keys[:, start : start + 4] = (
            np.ascontiguousarray(code, np.int32).view(np.uint8).reshape(-1, 4)
        )
    return keys
