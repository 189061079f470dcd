"""Where to cut a numeric column: quantiles, equal widths, or the user's own cut points.

A cut ``c`` stands for ``x <= c``. No cut leaves a side empty, and no two quantile or width cuts
split the rows alike.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.bits import Rows
from adtc.data.columns import format_number
from adtc.errors import DataError


def quantile_cuts(values: npt.NDArray[Any], counts: Rows, nbins: int) -> list[float]:
    """Cut where 1/nbins, 2/nbins … of the rows lie at or below, between two distinct values.

    Parameters
    ----------
    values
        Distinct values, ascending.
    counts
        Rows per value, all positive.

    Notes
    -----
    The j-th cut follows the smallest value with at least j/nbins of the rows at or below it,
    halfway to the next value. Where that is the largest value, the cut goes before it, so a
    column with two or more values keeps a cut however unequal its values are.

    Examples
    --------
    >>> quantile_cuts(np.array([0, 5, 9]), np.array([90, 6, 4]), 4)
    [2.5]
    """
    if len(values) <= 1:
        return []
    cumulative = np.cumsum(counts)
    ranks = quantile_ranks(int(cumulative[-1]), nbins)
    last = np.minimum(np.searchsorted(cumulative, ranks), len(values) - 2)
    return [_between(float(values[i]), float(values[i + 1])) for i in sorted(set(last.tolist()))]


def quantile_ranks(total: int, nbins: int) -> list[int]:
    """Say at which rows, counted from 1, the cuts between bins of equally many rows lie."""
    nbins = min(nbins, total)  # more bins than rows cut everywhere all the same
    return [-(-total * j // nbins) for j in range(1, nbins)]


def width_cuts(values: npt.NDArray[Any], nbins: int) -> list[float]:
    """Cut the range of the values into bins of equal width.

    Examples
    --------
    >>> width_cuts(np.array([0, 1, 5, 10]), 5)
    [2.0, 6.0]
    """
    return splitting(values, width_points(float(values[0]), float(values[-1]), nbins))


def width_points(low: float, high: float, nbins: int) -> list[float]:
    """Give the points between bins of equal width."""
    steps = np.arange(1, nbins) / nbins
    return [float(f"{c:.12g}") for c in low * (1 - steps) + high * steps]


def all_cuts(values: npt.NDArray[Any]) -> list[float]:
    """Cut halfway between any two values that follow each other.

    Examples
    --------
    >>> all_cuts(np.array([1, 2, 5]))
    [1.5, 3.5]
    """
    return [_between(float(a), float(b)) for a, b in pairwise(values)]


def splitting(values: npt.NDArray[Any], cuts: Sequence[float]) -> list[float]:
    """Keep the cuts with values on both sides; of cuts with no value between them, the first."""
    below = np.searchsorted(values, cuts, side="right")
    _, first = np.unique(below, return_index=True)
    return [cuts[i] for i in first if 0 < below[i] < len(values)]


def given_cuts(column: str, cuts: Sequence[float]) -> tuple[float, ...]:
    """Check and sort the user's cuts."""
    try:
        numbers = sorted({float(c) for c in cuts})
    except (TypeError, ValueError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise DataError(
            f"the cuts of column '{column}' must be one or more finite numbers, "
            f"but they are {cuts!r}."
        )
    return tuple(numbers)


def interval_name(column: str, low: float | None, high: float | None) -> str:
    """Write ``low < column <= high`` with None as unbounded."""
    if high is None:
        return f"{column} > {format_number(low or 0)}"
    left = "" if low is None else f"{format_number(low)} < "
    return f"{left}{column} <= {format_number(high)}"


def _between(a: float, b: float) -> float:
    """Take the midpoint of a < b without floating point noise; always a <= cut < b."""
    middle = a / 2 + b / 2
    short = float(f"{middle:.15g}")
    for cut in (short, middle):
        if a <= cut < b:
            return cut
    return a
