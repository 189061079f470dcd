"""From a table to what kernels walk over: distinct features, bit planes, numbered paths.

Features that are equal or complementary split every set of rows alike, so one stands for all of
them with a multiplicity. A feature too rare to split the whole table cannot split any part of it.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.metrics import RowGroup
from adtc.data import Data
from adtc.data.bits import pack, unpack
from adtc.data.stack import Stack
from adtc.engine.allowed import ANYTHING, Allowed
from adtc.engine.query import row_groups
from adtc.errors import LimitError

Rows = TypeVar("Rows", Data, Stack, Data | Stack)
_MOST_PATHS = 2**40
_ROOM = 2**62
Counts = npt.NDArray[np.int64]
Path = tuple[tuple[int, bool], ...]  # ascending (feature, negative)


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


def rows_of(data: Data, groups: Sequence[Sequence[RowGroup]], *, merge: bool) -> Data | Stack:
    """Take the rows that a plan's groups hold: of further tables only those it looks at."""
    named = (group.table for members in groups for group in members)
    rows: Any = data.stack(table for table in dict.fromkeys(named) if table)  # of either type
    found: Data | Stack = compact(rows) if merge else rows
    return found


def label_of_groups(groups: Sequence[Sequence[RowGroup]]) -> npt.NDArray[np.int64]:
    """Return the true label of each group's first member; −1 if it is of a further table."""
    return np.array([-1 if g.table else g.y for g, *_ in groups], np.int64)


def votes_by_label(counts: Counts, group_label: Counts, labels: int) -> Counts:
    """Add up counts ``[group, …]`` by label; rows of further tables do not vote."""
    votes = np.zeros((labels, *counts.shape[1:]), np.int64)
    own = group_label >= 0
    np.add.at(votes, group_label[own], counts[own])
    return votes


def majority_label(votes: Counts) -> npt.NDArray[np.intp]:
    """Return the label with the most votes ``[label, …]``; ties go to the smallest."""
    return np.asarray(votes.argmax(axis=0))


def split_rows(
    rows: Data | Stack,
    groups: tuple[tuple[RowGroup, ...], ...],
    minsup: int,
    *,
    merge: bool,
    allowed: Allowed,
) -> tuple[Features, _core.Table]:
    """Find the distinct features and lay out the rows by group, once for the same rows."""

    def make() -> tuple[Features, _core.Table]:
        features = distinct_features(rows, minsup, merge=merge, allowed=allowed)
        member = group_of_rows(rows, groups)
        return features, bit_planes(features, rows, member, len(groups))

    found: tuple[Features, _core.Table] = rows.cache.get(
        ("planes", groups, minsup, merge, allowed),
        make,
        lambda made: made[0].columns.nbytes + made[1].words.nbytes,
    )
    return found


def distinct_features(
    data: Data | Stack, minsup: int, *, merge: bool = True, allowed: Allowed = ANYTHING
) -> Features:
    """Drop features that cannot split, orient the others, and merge twins.

    Twins agree on the rows of all tables. Merging needs ``minsup`` of at least 1: splitting twice
    on twins must leave an empty child.
    """
    dense = unpack(data.bits, data.n_rows)
    ones = _ones(dense, data)
    total = data.total
    found: dict[tuple[bytes, bool], int] = {}
    columns: list[npt.NDArray[np.uint8]] = []
    twins: list[list[Twin]] = []
    for f in range(data.n_features):
        if f in allowed.banned or not minsup <= ones[f] <= total - minsup:
            continue
        # On a tie both sides are small: let the first row decide, so that complements meet.
        flipped = bool(2 * ones[f] > total or (2 * ones[f] == total and dense[f, 0] == 1))
        column = 1 - dense[f] if flipped else dense[f]
        # twins must agree on whether they may come first
        key = column.tobytes(), allowed.root is None or f in allowed.root
        if merge and minsup >= 1 and key in found:
            twins[found[key]].append(Twin(f, flipped))
        else:
            found[key] = len(columns)
            columns.append(column)
            twins.append([Twin(f, flipped)])
    stacked = np.array(columns, np.uint8).reshape(len(columns), data.n_rows)
    stacked.setflags(write=False)  # shared between questions
    return Features(stacked, tuple(map(tuple, twins)))


def ones_of(data: Data) -> npt.NDArray[np.int64]:
    """Count the rows on which each feature is true."""
    if (data.weights == 1).all():
        return np.asarray(np.bitwise_count(data.bits).sum(axis=1, dtype=np.int64))
    return np.array(_ones(unpack(data.bits, data.n_rows), data), np.int64)


def count_splitting(data: Data, minsup: int) -> int:
    """Count the features that can split the table; twins count each.

    Examples
    --------
    >>> count_splitting(Data.from_arrays([[1, 0, 1], [0, 1, 1], [0, 1, 1]], [1, 0, 0]), 1)
    2
    """
    ones = ones_of(data)
    return int(np.count_nonzero((minsup <= ones) & (ones <= data.total - minsup)))


def oriented(features: Features, data: Data | Stack) -> Features:
    """Look at the same distinct features on other rows."""
    dense = unpack(data.bits, data.n_rows)
    firsts = [twins[0] for twins in features.twins]
    columns = [1 - dense[twin.feature] if twin.flipped else dense[twin.feature] for twin in firsts]
    stacked = np.array(columns, np.uint8).reshape(len(columns), data.n_rows)
    return Features(stacked, features.twins)


def alike(features: Features, data: Data | Stack) -> bool:
    """Tell whether features that were merged split other rows alike, too."""
    dense = unpack(data.bits, data.n_rows)
    return all(
        np.array_equal(dense[twin.feature] ^ twin.flipped, dense[first.feature] ^ first.flipped)
        for first, *others in features.twins
        for twin in others
    )


def _ones(dense: npt.NDArray[np.uint8], data: Data | Stack) -> list[int]:
    """Sum the weights of the table's own rows under each feature."""
    weights, own = data.weights[: data.own], dense[:, : data.own]
    if (weights == 1).all():
        counts: list[int] = own.sum(axis=1, dtype=np.int64).tolist()
        return counts
    return [int(weights[column.astype(bool)].sum()) for column in own]


def compact(data: Rows) -> Rows:
    """Merge equal rows if that leaves fewer words to count; weights take a plane per digit."""
    merged = data.merged()
    pays = data.cache.get("merge", lambda: _words(merged) < _words(data))
    return merged if pays else data


def _words(data: Data | Stack) -> int:
    """Guess how many words hold a feature's rows of each label below three tests."""
    digits = range(int(data.weights.max(initial=1)).bit_length())
    rows = [
        int(np.count_nonzero(data.weights[data.y == label] >> digit & 1))
        for label in range(int(data.y.max(initial=0)) + 1)
        for digit in digits
    ]
    return sum(-(-n // (64 << 3)) for n in rows)


def bit_planes(
    features: Features, data: Data | Stack, groups: npt.NDArray[np.int64], n: int
) -> _core.Table:
    """Lay out the rows by group and binary digit of their weight."""
    width = max(1, int(data.weights.max()).bit_length())
    digits = [data.weights >> b & 1 == 1 for b in range(width)]
    planes = [
        (g, b, np.flatnonzero((groups == g) & digit))
        for g in range(n)
        for b, digit in enumerate(digits)
    ]
    planes = [plane for plane in planes if len(plane[2])]
    packed = [pack(features.columns.take(rows, axis=1)) for _, _, rows in planes]
    totals = [sum(len(rows) << b for h, b, rows in planes if h == g) for g in range(n)]
    return _core.Table(
        words=np.ascontiguousarray(np.concatenate(packed, axis=1)),
        offsets=np.array([0, *itertools.accumulate(p.shape[1] for p in packed)], np.int64),
        rows=np.array([len(rows) for _, _, rows in planes], np.int64),
        plane_group=np.array([g for g, _, _ in planes], np.int64),
        plane_shift=np.array([b for _, b, _ in planes], np.int64),
        totals=np.array(totals, np.int64),
    )


@lru_cache(maxsize=64)
def numbered_paths(n: int, max_depth: int, *, least: int = 0) -> _core.Lattice:
    """Lay out the numbers of all paths down to two levels above the leaves.

    Parameters
    ----------
    least
        Levels that are numbered in any case, if trees are that deep.
    """
    levels = min(max(0, max_depth - 2, min(least, max_depth)), n)
    sizes = [math.comb(n, k) << k for k in range(levels + 1)]
    if sum(sizes) >= _MOST_PATHS:
        raise LimitError(
            f"{n} features and depth {max_depth} make {sum(sizes):.1e} subproblems, more than can "
            f"be numbered: choose less depth, fewer features or a larger minsup."
        )
    return _numbered(n, levels, min(2, max_depth - levels))


def numbered_leaves(n: int, max_depth: int) -> _core.Lattice:
    """Lay out the numbers of all paths down to the leaves, as names: nothing is kept for each."""
    levels = min(max_depth, n)
    most = sum(math.comb(n, k) << k for k in range(levels + 1))
    if most >= _ROOM:
        raise LimitError(
            f"{n} features and depth {max_depth} make {most:.1e} different leaves, more than can "
            f"be numbered: choose less depth, fewer features or a larger minsup."
        )
    return _numbered(n, levels, 0)


def _numbered(n: int, levels: int, rest: int) -> _core.Lattice:
    sizes = (math.comb(n, k) << k for k in range(levels))
    return _core.Lattice(
        # one feature more than there are: ranks look one ahead, at numbers that no rank can reach
        binomial=_binomials(n + 2, levels + 3),
        base=np.array([0, *itertools.accumulate(sizes)], np.int64),
        features=n,
        levels=levels,
        rest=rest,
    )


def _binomials(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Make Pascal's triangle, C(i, j) in row i; no number is larger than 2^62.

    Examples
    --------
    >>> _binomials(4, 3).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 2, 1], [1, 3, 3]]
    """
    triangle = [[1] * rows]
    for _ in range(columns - 1):
        # C(i, j + 1) is the sum of all C(h, j) with h < i
        triangle.append([0, *itertools.accumulate(triangle[-1][:-1])])
    if max(column[-1] for column in triangle) > _ROOM:
        triangle = [[min(number, _ROOM) for number in column] for column in triangle]
    return np.ascontiguousarray(np.array(triangle, np.int64).T)


def path_number(lattice: _core.Lattice, path: Path) -> int:
    """Compute the number of a path, given as ascending literals."""
    rank = sum(int(lattice.binomial[f, i + 1]) for i, (f, _) in enumerate(path))
    signs = sum(negative << i for i, (_, negative) in enumerate(path))
    return int(lattice.base[len(path)]) + (rank << len(path)) + signs


def pairs_below(table: _core.Table, path: Path) -> npt.NDArray[np.int64]:
    """Count the rows of a path by group for all pairs of features: symmetric [group, i, j]."""
    features = np.array([f for f, _ in path], np.int64)
    return _core.pair_counts(table, features, np.array([sign for _, sign in path], bool))


def path_counts(lattice: _core.Lattice) -> list[int]:
    """Return how many numbered paths each level has."""
    return [math.comb(lattice.features, k) << k for k in range(lattice.levels + 1)]


def group_of_rows(
    data: Data | Stack, groups: Sequence[Sequence[RowGroup]]
) -> npt.NDArray[np.int64]:
    """Return for each row its group in the plan; −1 for rows that no group holds."""
    keys, member = row_groups(data)
    place = {key: g for g, members in enumerate(groups) for key in members}
    groups_of_keys = np.array([place.get(key, -1) for key in keys], np.int64)
    return np.asarray(groups_of_keys[member])
