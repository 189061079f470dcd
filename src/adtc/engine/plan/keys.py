"""Keys of cells: 64-bit integers, or of 128 bits where these do not do.

Wide keys are arrays ``[..., 2]`` of two words each, the lower one first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]  # [cell], or [cell, 2] where wide


def key_integers(keys: Keys) -> list[int]:
    """Return keys as Python integers.

    Examples
    --------
    >>> key_integers(np.array([[-1, 0], [5, -1]])) == [2**64 - 1, 5 - 2**64]
    True
    """
    if keys.ndim == 1:
        narrow: list[int] = keys.tolist()
        return narrow
    pairs = zip(_low(keys).tolist(), keys[:, 1].tolist(), strict=True)
    return [high << 64 | low for low, high in pairs]


def packed_keys(keys: Sequence[int], *, wide: bool) -> Keys:
    """Return Python integers as keys.

    Examples
    --------
    >>> packed_keys([2**64 - 1, 5 - 2**64], wide=True).tolist()
    [[-1, 0], [5, -1]]
    """
    if not wide:
        return np.array(keys, np.int64)
    words = b"".join(key.to_bytes(16, "little", signed=True) for key in keys)
    return np.frombuffer(words, np.dtype("<i8")).reshape(-1, 2).astype(np.int64)


def added_up(keys: Keys, values: npt.NDArray[np.uint64]) -> tuple[Keys, npt.NDArray[np.uint64]]:
    """Sort keys and add up the numbers of equal ones; no sum may need a limb more.

    Examples
    --------
    >>> numbers = np.array([[2**64 - 1, 0], [7, 0], [2, 0]], np.uint64)
    >>> keys, values = added_up(np.array([5, 3, 5]), numbers)
    >>> keys.tolist(), values.tolist()
    ([3, 5], [[7, 0], [1, 1]])
    """
    order = key_order(keys)
    keys, values = keys[order], values[order]
    words = key_words(keys)
    first = np.flatnonzero(np.r_[True, (words[1:] != words[:-1]).any(axis=1)][: len(keys)])
    if not len(first):
        return keys, values
    sums = np.zeros((len(first), values.shape[1]), np.uint64)
    carry = np.zeros(len(first), np.uint64)
    for place in range(values.shape[1]):
        low = np.add.reduceat(values[:, place] & _HALF, first) + (carry & _HALF)
        high = np.add.reduceat(values[:, place] >> _SHIFT, first) + (carry >> _SHIFT)
        high += low >> _SHIFT
        sums[:, place] = (high << _SHIFT) | (low & _HALF)
        carry = high >> _SHIFT
    return keys[first], sums


_HALF, _SHIFT = np.uint64(2**32 - 1), np.uint64(32)


def key_words(keys: Keys) -> Keys:
    """Return keys as rows of one word each, or of two."""
    return keys if keys.ndim > 1 else keys[:, np.newaxis]


def precede(keys: Keys, others: Keys) -> npt.NDArray[np.bool_]:
    """Tell, key by key, which are less than others.

    Examples
    --------
    >>> precede(np.array([[-1, 0], [5, -1]]), np.array([[0, 1], [5, -1]])).tolist()
    [True, False]
    """
    if keys.ndim == 1:
        return np.less(keys, others)
    lower = np.less(_low(keys), _low(others))
    return np.where(keys[:, 1] == others[:, 1], lower, keys[:, 1] < others[:, 1])


def key_order(keys: Keys) -> npt.NDArray[np.intp]:
    """Return the order that sorts keys; equal ones stay as they are."""
    if keys.ndim == 1:
        return np.argsort(keys, kind="stable")
    return np.lexsort((_low(keys), keys[:, 1]))


def ascending(keys: Keys) -> npt.NDArray[np.intp] | slice:
    """Return what sorts the keys; those of a large tensor come sorted."""
    if keys.ndim == 1 and np.all(keys[:-1] <= keys[1:]):
        return slice(None)
    return key_order(keys)


def find_keys(sorted_keys: Keys, some: Keys) -> npt.NDArray[np.intp]:
    """Return the place of each of some keys among sorted ones; −1 where it is not there.

    Examples
    --------
    >>> find_keys(np.array([2, 3, 5]), np.array([5, 4])).tolist()
    [2, -1]
    >>> find_keys(np.array([[2, 0], [2, 1]]), np.array([[2, 1], [3, 1]])).tolist()
    [1, -1]
    """
    if sorted_keys.ndim > 1:
        return np.array([find_key(sorted_keys, key) for key in key_integers(some)], np.intp)
    if not len(sorted_keys):
        return np.full(len(some), -1)
    places = np.searchsorted(sorted_keys, some).clip(max=len(sorted_keys) - 1)
    return np.where(sorted_keys[places] == some, places, -1)


def find_key(sorted_keys: Keys, key: int) -> int:
    """Return the place of a key among sorted ones; −1 if it is not there.

    Examples
    --------
    >>> find_key(np.array([2, 3, 5]), 5), find_key(np.array([[2, 0], [2, 1]]), 2**64 + 2)
    (2, 1)
    """
    if sorted_keys.ndim == 1:
        at = int(sorted_keys.searchsorted(key))
        return at if at < len(sorted_keys) and sorted_keys[at] == key else -1
    wanted = packed_keys([key], wide=True)[0]
    first, last = (int(sorted_keys[:, 1].searchsorted(wanted[1], side)) for side in _SIDES)
    low = _low(sorted_keys[first:last])
    at = int(low.searchsorted(np.uint64(key & _MASK)))
    return first + at if at < len(low) and int(low[at]) == key & _MASK else -1


_SIDES: Any = ("left", "right")
_MASK = 2**64 - 1


def _low(keys: Keys) -> npt.NDArray[np.uint64]:
    """Return the lower words, which have no sign."""
    return np.ascontiguousarray(keys[:, 0]).view(np.uint64)
