"""The distinct values of a metric over many cells, in exact order."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.engine.exact.columns import Ratios, fractions, less, reduced
from adtc.engine.score import as_integer

Value = Fraction | int | None  # None: undefined


@dataclass(frozen=True, slots=True)
class Values:
    """Which value each cell has.

    Parameters
    ----------
    distinct
        The values that occur, ascending; None (undefined) comes last.
    codes
        Per cell a position in ``distinct``.
    """

    distinct: tuple[Value, ...]
    codes: npt.NDArray[np.int64]


def side_by_side(columns: Sequence[Values], cells: int) -> list[tuple[Value, ...]]:
    """Put the values of several metrics side by side, cell by cell; there may be no metric."""
    spelled = [[column.distinct[code] for code in column.codes.tolist()] for column in columns]
    return list(zip(*spelled, strict=True)) if spelled else [()] * cells


def distinct_values(column: Ratios) -> Values:
    """Find the distinct values of a column and sort them exactly.

    Examples
    --------
    >>> found = distinct_values(Ratios(np.array([2, 1, 3, 0]), np.array([4, 1, 6, 0])))
    >>> found.distinct, found.codes.tolist()
    ((Fraction(1, 2), 1, None), [0, 1, 0, 2])
    """
    if len(column.bottom) and bool(np.all(column.bottom == column.bottom[0])):
        tops, codes = _unique(column.top)  # the numerators tell all: few need to be reduced
        if column.bottom[0] == 0:
            tops, codes = tops[:1], np.zeros_like(codes)
        pairs = reduced(Ratios(tops, column.bottom[:1].repeat(len(tops))))
    else:
        lowest = reduced(column)
        pairs, codes = _unique_pairs(lowest.top, lowest.bottom)
    order = _ascending(pairs)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    values = fractions(Ratios(pairs.top[order], pairs.bottom[order]))
    return Values(tuple(map(as_integer, values)), place[codes])


def _ascending(pairs: Ratios) -> npt.NDArray[np.int64]:
    """Sort by value, undefined last: floats propose an order, whole numbers confirm it."""
    undefined = (pairs.bottom == 0).astype(bool)
    near = pairs.top.astype(np.float64) / np.where(undefined, 1, pairs.bottom).astype(np.float64)
    order = np.lexsort((near, undefined))
    sorted_pairs = Ratios(pairs.top[order], pairs.bottom[order])
    left = Ratios(sorted_pairs.top[:-1], sorted_pairs.bottom[:-1])
    right = Ratios(sorted_pairs.top[1:], sorted_pairs.bottom[1:])
    if bool(np.all(less(left, right) | undefined[order][1:])):
        return order
    values = fractions(pairs)
    exact = sorted(range(len(values)), key=lambda i: _key(values[i]))
    return np.array(exact, np.int64)


def _unique_pairs(
    top: npt.NDArray[Any], bottom: npt.NDArray[Any]
) -> tuple[Ratios, npt.NDArray[np.int64]]:
    """Find the distinct pairs, by the codes of their two parts."""
    tops, top_codes = _unique(top)
    bottoms, bottom_codes = _unique(bottom)
    found, codes = _unique(top_codes * len(bottoms) + bottom_codes)
    width = max(1, len(bottoms))
    return Ratios(tops[found // width], bottoms[found % width]), codes


def _unique(
    column: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Find the distinct numbers and which row has which; those of a small range are counted."""
    if column.dtype != object and len(column):
        least, largest = int(column.min()), int(column.max())
        if largest - least <= 4 * len(column):
            places = column - least
            occurs = np.zeros(largest - least + 1, bool)
            occurs[places] = True
            codes = np.cumsum(occurs, dtype=np.int64) - 1
            return np.flatnonzero(occurs) + least, codes[places]
    distinct, inverse = np.unique(column, return_inverse=True)
    return distinct, inverse.reshape(-1).astype(np.int64)


def _key(value: Fraction | None) -> tuple[bool, Fraction]:
    return (value is None, value or Fraction())
