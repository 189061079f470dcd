"""From a table to what kernels walk over: distinct features, bit planes, numbered paths.

Features that are equal or complementary split every set of rows alike, so one stands for all of
them with a multiplicity. A feature too rare to split the whole table cannot split any part of it.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data
from adtc.engine.kernels import bits, inside
from adtc.engine.query import row_groups
from adtc.errors import TooLargeError

Words = npt.NDArray[np.uint64]
_MOST_PATHS = 2**40


@dataclass(frozen=True, slots=True)
class Twin:
    """An original feature behind a distinct one; ``flipped`` if it is the complement."""

    feature: int
    flipped: bool


@dataclass(frozen=True, slots=True)
class Features:
    """The distinct features that can split the table.

    Parameters
    ----------
    columns
        ``[feature, row]`` as 0/1 bytes, each oriented so that 1 is the smaller side.
    twins
        The original features that each stands for.
    """

    columns: npt.NDArray[np.uint8]
    twins: tuple[tuple[Twin, ...], ...]

    @property
    def multiplicity(self) -> npt.NDArray[np.int64]:
        """Count the original features behind each distinct one."""
        return np.array([len(twins) for twins in self.twins], np.int64)


def distinct_features(data: Data, minsup: int, *, merge: bool = True) -> Features:
    """Drop features that cannot split, orient the others, and merge twins.

    Merging needs ``minsup`` of at least 1: splitting twice on twins must leave an empty child.
    """
    dense = np.ascontiguousarray(data.dense().T)
    ones = dense.astype(np.int64) @ data.weights if data.n_rows < 2**20 else _weighted(dense, data)
    total = data.total
    found: dict[bytes, int] = {}
    columns: list[npt.NDArray[np.uint8]] = []
    twins: list[list[Twin]] = []
    for f in range(data.n_features):
        if not minsup <= ones[f] <= total - minsup:
            continue
        # On a tie both sides are small: let the first row decide, so that complements meet.
        flipped = bool(2 * ones[f] > total or (2 * ones[f] == total and dense[f, 0] == 1))
        column = 1 - dense[f] if flipped else dense[f]
        key = column.tobytes()
        if merge and minsup >= 1 and key in found:
            twins[found[key]].append(Twin(f, flipped))
        else:
            found[key] = len(columns)
            columns.append(column)
            twins.append([Twin(f, flipped)])
    stacked = np.array(columns, np.uint8).reshape(len(columns), data.n_rows)
    return Features(stacked, tuple(map(tuple, twins)))


def _weighted(dense: npt.NDArray[np.uint8], data: Data) -> npt.NDArray[np.int64]:
    """Sum the weights under each feature without widening the whole matrix."""
    return np.array([data.weights[column.astype(bool)].sum() for column in dense], np.int64)


def bit_planes(
    features: Features, data: Data, groups: npt.NDArray[np.int64], n: int
) -> inside.Table:
    """Lay out the rows by group and binary digit of their weight, and count all pairs once."""
    width = max(1, int(data.weights.max()).bit_length())
    planes = [
        (g, b, np.flatnonzero((groups == g) & (data.weights >> b & 1 == 1)))
        for g in range(n)
        for b in range(width)
    ]
    planes = [plane for plane in planes if len(plane[2])]
    packed = [_pack(features.columns[:, rows]) for _, _, rows in planes]
    words = np.ascontiguousarray(np.concatenate(packed, axis=1))
    offsets = np.array([0, *itertools.accumulate(p.shape[1] for p in packed)], np.int64)
    totals = np.array([int(data.weights[groups == g].sum()) for g in range(n)], np.int64)
    dtype = np.int32 if data.total < 2**30 else np.int64
    count = len(features.columns)
    pairs = np.zeros((n, count, count), dtype)
    plane_group = np.array([g for g, _, _ in planes], np.int64)
    plane_shift = np.array([b for _, b, _ in planes], np.int64)
    bits.count_pairs(words, count, offsets, plane_group, plane_shift, pairs)
    return inside.Table(
        words=words,
        offsets=offsets,
        rows=np.array([len(rows) for _, _, rows in planes], np.int64),
        plane_group=plane_group,
        plane_shift=plane_shift,
        pairs=pairs,
        totals=totals.astype(dtype),
    )


def _pack(columns: npt.NDArray[np.uint8]) -> Words:
    """Pack 0/1 columns into words, one row of words per feature."""
    count, rows = columns.shape
    packed = np.zeros((count, (rows + 63) // 64 * 8), np.uint8)
    packed[:, : (rows + 7) // 8] = np.packbits(columns, axis=1, bitorder="little")
    return packed.view(np.uint64)


def numbered_paths(n: int, max_depth: int) -> inside.Lattice:
    """Lay out the numbers of all paths down to two levels above the leaves."""
    levels = min(max(0, max_depth - 2), n)
    sizes = [math.comb(n, k) << k for k in range(levels + 1)]
    if sum(sizes) >= _MOST_PATHS:
        raise TooLargeError(
            f"{n} features and depth {max_depth} make {sum(sizes):.1e} subproblems, more than can "
            f"be numbered: choose less depth, fewer features or a larger minsup."
        )
    # one feature more than there are: ranks look one ahead, at numbers that no rank can reach
    binomial = [[min(math.comb(i, j), 2**62) for j in range(levels + 3)] for i in range(n + 2)]
    return inside.Lattice(
        binomial=np.array(binomial, np.int64),
        base=np.array([0, *itertools.accumulate(sizes)][: levels + 1], np.int64),
        levels=levels,
        rest=min(2, max_depth - levels),
    )


def path_counts(lattice: Any, n: int) -> list[int]:
    """Return how many numbered paths each level has."""
    return [math.comb(n, k) << k for k in range(lattice.levels + 1)]


def group_of_rows(data: Data, groups: tuple[tuple[Any, ...], ...]) -> npt.NDArray[np.int64]:
    """Return for each row its group in the plan; −1 for rows of weight 0 that no group holds."""
    keys, member = row_groups(data)
    place = {key: g for g, members in enumerate(groups) for key in members}
    groups_of_keys = np.array([place.get(key, -1) for key in keys], np.int64)
    return np.asarray(groups_of_keys[member])
