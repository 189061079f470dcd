"""Where the quantiles of a numeric column lie, exactly, however many different values it has.

A column with few different values is simply counted. One with more is counted in buckets; only the
buckets in which a wanted rank lies are looked at again, in one more pass over that column: where
they hold few rows their values are collected, otherwise they are cut into thousands of parts of
equal width among the numbers that a float can be. A pass therefore divides a bucket's width by at
least 16, so there are at most 16 of them whatever the values are; one is the rule. No rank is
estimated: cuts come out as if the whole column had been sorted, so there is no error to state.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.bits import Rows

Numbers = npt.NDArray[Any]
EDGES = 1 << 16
COLLECTED = 1 << 18  # values of wanted buckets that are kept
_LEAST = 16  # parts into which a bucket is cut
_SIGN = np.uint64(1 << 63)


def keys_of(values: Numbers) -> npt.NDArray[np.uint64]:
    """Give each float or integer a key, in the order of the numbers.

    Examples
    --------
    >>> keys = keys_of(np.array([-1.5, -0.0, 2.0, 2.5]))
    >>> bool((np.diff(keys.astype(object)) > 0).all()), values_of(keys, np.float64).tolist()
    (True, [-1.5, -0.0, 2.0, 2.5])
    """
    bits = np.ascontiguousarray(values).view(np.uint64)
    if values.dtype.kind == "i":
        return bits ^ _SIGN
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def values_of(keys: npt.NDArray[np.uint64], dtype: Any) -> Numbers:
    """Turn keys back into numbers."""
    if np.dtype(dtype).kind == "i":
        return (keys ^ _SIGN).view(np.int64)
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)


class Buckets:
    """Rows and weight of the values between edges, with the least and largest value of each.

    Parameters
    ----------
    edges
        Ascending; bucket b holds the values from ``edges[b - 1]`` on and below ``edges[b]``.
    collecting
        Buckets whose values are kept one by one.
    """

    def __init__(self, edges: Numbers, collecting: Sequence[int] | Rows = ()) -> None:
        self.edges = edges
        n = len(edges) + 1
        self.rows, self.weight = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.low, self.high = np.zeros(n, edges.dtype), np.zeros(n, edges.dtype)
        self._collects = np.zeros(n, bool)
        self._collects[np.asarray(collecting, np.int64)] = True
        self._found: tuple[Numbers, Rows, Rows] | None = None

    def add(self, values: Numbers, rows: Rows, weights: Rows) -> None:
        """Count distinct values, ascending; those of weight 0 have no say in cuts."""
        if not weights.all():
            some = weights > 0
            values, rows, weights = values[some], rows[some], weights[some]
        if not len(values):
            return
        if values.dtype != self.edges.dtype:
            values = self._same_dtype(values)
        buckets = np.searchsorted(self.edges, values, side="right")
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        here, ends = buckets[starts], np.append(starts[1:], len(values)) - 1
        fresh = self.rows[here] == 0
        self.low[here] = np.where(fresh, values[starts], np.minimum(self.low[here], values[starts]))
        self.high[here] = np.where(fresh, values[ends], np.maximum(self.high[here], values[ends]))
        self.rows[here] += np.add.reduceat(rows, starts)
        self.weight[here] += np.add.reduceat(weights, starts)
        if self._collects.any():
            kept = self._collects[buckets]
            self._found = summed(self._found, (values[kept], rows[kept], weights[kept]))

    def _same_dtype(self, values: Numbers) -> Numbers:
        """Count floats from now on if floats come among whole numbers."""
        if self.edges.dtype.kind == "i":
            self.edges, self.low, self.high = (
                a.astype(np.float64) for a in (self.edges, self.low, self.high)
            )
        return values.astype(np.float64)

    @property
    def total(self) -> int:
        """The weight of all values."""
        return int(self.weight.sum())

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        some = np.flatnonzero(self.rows)
        return self.low[some[0]].item(), self.high[some[-1]].item()

    def unresolved(self, ranks: Iterable[int]) -> Rows:
        """Find the buckets that hold a rank and more than one value that is not known."""
        ranked = np.fromiter(ranks, np.int64)
        held = np.unique(np.searchsorted(np.cumsum(self.weight), ranked))
        open_ = ~self._collects[held] & (self.low[held] != self.high[held])
        found: Rows = held[open_]
        return found

    def refined(self, wanted: Rows, points: Sequence[float] = ()) -> "Buckets":
        """Make empty buckets that are finer where ranks are wanted and cut at the given points."""
        few = self.rows[wanted] * max(1, len(wanted)) <= COLLECTED
        parts = max(_LEAST, EDGES // max(1, len(wanted)))
        edges = [self.edges, above(points, self.edges.dtype)]
        edges += [self._parts(int(bucket), parts) for bucket in wanted[~few]]
        merged = np.unique(np.concatenate(edges))
        collected = np.append(wanted[few], np.flatnonzero(self._collects & (self.rows > 0)))
        return Buckets(merged, np.searchsorted(merged, self.low[collected], side="right"))

    def _parts(self, bucket: int, parts: int) -> Numbers:
        ends = keys_of(np.array([self.low[bucket], self.high[bucket]]))
        low, high = int(ends[0]), int(ends[1])
        step = max(1, -(-(high - low) // parts))
        keys = np.array([*range(low, high, step), high], np.uint64)
        return values_of(keys, self.edges.dtype)

    def tally(self) -> tuple[Numbers, Rows, Rows]:
        """Give values with rows and weights that have the same cuts as all values together.

        A bucket in which nothing is wanted is told by its least and largest value.
        """
        plain = (self.rows > 0) & ~self._collects
        one = plain & (self.low == self.high)
        two = plain & ~one
        ones = np.ones(int(two.sum()), np.int64)
        parts = [
            (self.low[one], self.rows[one], self.weight[one]),
            (self.low[two], self.rows[two] - 1, self.weight[two] - 1),
            (self.high[two], ones, ones),
        ]
        if self._found is not None:
            parts.append(self._found)
        values, rows, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.argsort(values, kind="stable")
        return values[order], rows[order], weights[order]


def summed(
    first: tuple[Numbers, Rows, Rows] | None, second: tuple[Numbers, Rows, Rows]
) -> tuple[Numbers, Rows, Rows]:
    """Add the rows and weights of equal values; the values ascend.

    Examples
    --------
    >>> ones = np.ones(2, np.int64)
    >>> summed((np.array([1, 3]), ones, ones), (np.array([2, 3]), ones, 2 * ones))
    (array([1, 2, 3]), array([1, 1, 2]), array([1, 2, 3]))
    """
    if first is None:
        return second
    values = np.concatenate([first[0], second[0]])
    order = np.argsort(values, kind="stable")  # two ascending runs: merged in linear time
    values, starts = runs_of(values[order])
    if not len(starts):
        return first
    rows, weights = (np.concatenate([first[i], second[i]])[order] for i in (1, 2))
    return values, np.add.reduceat(rows, starts), np.add.reduceat(weights, starts)


def runs_of(ascending: Numbers) -> tuple[Numbers, Rows]:
    """Give the distinct values of an ascending array, and where each begins.

    Examples
    --------
    >>> runs_of(np.array([2, 2, 5]))
    (array([2, 5]), array([0, 2]))
    """
    new = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    return ascending[starts], starts


def above(points: Sequence[float], dtype: Any) -> Numbers:
    """Give the least number of a dtype above each point: the edge that cuts ``x <= point``.

    Examples
    --------
    >>> above([2, 2.5], np.int64).tolist(), above([2.0], np.float64).tolist()
    ([3, 3], [2.0000000000000004])
    """
    if np.dtype(dtype).kind == "i":
        ends = np.iinfo(np.int64)
        return np.array(
            [min(int(np.floor(p)) + 1, ends.max) for p in points if p >= ends.min], np.int64
        )
    return np.nextafter(np.asarray(points, np.float64), np.inf)
