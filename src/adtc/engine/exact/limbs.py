"""Numbers of several 64-bit limbs, lowest first: read them, add them up, exactly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Limbs = npt.NDArray[np.uint64]  # [number, limb]
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_PART = 2**16  # numbers that are cut into halves at once


def counts_of(values: Limbs) -> list[int]:
    """Return numbers of several limbs as Python integers.

    Examples
    --------
    >>> counts_of(np.array([[5, 1]], np.uint64))
    [18446744073709551621]
    """
    limbs_by_place: list[list[int]] = [limb.tolist() for limb in values.T]
    *lower, counts = limbs_by_place
    for limbs in reversed(lower):
        counts = [high << 64 | low for high, low in zip(counts, limbs, strict=True)]
    return counts


def limbs_of(counts: list[int]) -> Limbs:
    """Write Python integers as limbs, as few as hold the largest.

    Examples
    --------
    >>> limbs_of([2**64 + 5, 7]).tolist()
    [[5, 1], [7, 0]]
    """
    width = max(1, -(-max(counts, default=0).bit_length() // 64))
    mask = 2**64 - 1
    rows = [[count >> (64 * place) & mask for place in range(width)] for count in counts]
    return np.array(rows, np.uint64).reshape(len(counts), width)


def total_of(values: Limbs) -> int:
    """Sum numbers of several limbs exactly."""
    total = 0
    for at in range(0, len(values), _PART):
        halves = (half.sum(dtype=np.uint64) for half in _halves(values[at : at + _PART]))
        total += sum(int(half) << (32 * place) for place, half in enumerate(halves))
    return total


def sums_of(values: Limbs, groups: npt.NDArray[np.int64], n: int) -> list[int]:
    """Sum the numbers of each group 0 … n − 1 exactly; group −1 is left out.

    Examples
    --------
    >>> sums_of(np.array([[1], [2], [4]], np.uint64), np.array([1, 0, 1]), 3)
    [2, 5, 0]
    """
    order = np.argsort(groups, kind="stable")
    order = order[np.searchsorted(groups[order], 0) :]
    bounds = np.searchsorted(groups[order], np.arange(n + 1))
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    sums: npt.NDArray[Any] = np.zeros(n, object)
    if len(filled):
        for place, half in enumerate(_halves(values)):
            part = np.add.reduceat(half[order], bounds[filled])
            sums[filled] += part.astype(object) << (32 * place)
    return [int(total) for total in sums]


def joined(parts: Sequence[Limbs]) -> Limbs:
    """Put lists of numbers behind one another, all as wide as the widest."""
    width = max((part.shape[1] for part in parts), default=1)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.concatenate(padded) if padded else np.zeros((0, width), np.uint64)


def minus(values: Limbs, less: Limbs) -> Limbs:
    """Subtract number by number; no difference may be negative.

    Examples
    --------
    >>> minus(limbs_of([2**64]), limbs_of([1])).tolist()
    [[18446744073709551615, 0]]
    """
    width = values.shape[1]
    less = np.pad(less, ((0, 0), (0, max(0, width - less.shape[1]))))
    found = np.empty_like(values)
    borrow = np.zeros(len(values), np.uint64)
    for place in range(width):
        taken = less[:, place] + borrow  # wraps to 0 only if the limb is full and one is borrowed
        found[:, place] = values[:, place] - taken
        wrapped = (taken == 0) & (borrow == 1)
        borrow = ((values[:, place] < taken) | wrapped).astype(np.uint64)
    return found


def _halves(values: Limbs) -> list[Limbs]:
    """Cut the limbs into halves: sums of fewer than 2^32 of them never wrap."""
    return [
        half
        for place in range(values.shape[1])
        for half in (values[:, place] & _LOW, values[:, place] >> _HALF)
    ]
