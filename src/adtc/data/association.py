"""How well one column alone tells the label, or the sensitive group, of a row.

A column is looked at by its *cells*: a category by its most frequent values, the others together;
a number by at most 256 intervals of about equally many rows. Missing values are a cell, too.
All sums are whole numbers, shares are fractions.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adtc.data.bits import Codes, Rows, ranked
from adtc.data.coding import BINARY
from adtc.data.columns import Column

INTERVALS = 256
CATEGORIES = 50
SMALL = 10  # rows; categories with fewer are judged together, or every rare one would seem to tell
DOUBT = 20  # one row in so many may be otherwise where a value tells a label
LEFT = 5  # one in so many of the doubts without the column may be left with it
ENOUGH = 5  # rows with another label to be expected by chance, or there is nothing to tell
_PRODUCTS = 2**30  # rows from which on products need Python's integers


@dataclass(frozen=True, slots=True)
class Association:
    """How well one column alone tells a label.

    Parameters
    ----------
    total
        All rows, by weight.
    right_rows
        Rows that are guessed right: by one cut if the column is numeric, otherwise by the value.
    most_rows
        Rows of the most frequent label: what is right without the column.
    sure_rows
        Rows whose value leaves hardly a doubt: at most 5 % of the rows with it have another label,
        and no more than a fifth of the share that the most frequent label gets wrong; by that
        share, at least 5 rows would.
    pairs, ordered_pairs
        Pairs of rows with different labels, and twice those that the column puts in order, ties
        once; 0 unless there are two labels.
    """

    total: int
    right_rows: int
    most_rows: int
    sure_rows: int
    pairs: int
    ordered_pairs: int

    @property
    def right(self) -> Fraction:
        """Return the share of the rows that are guessed right."""
        return Fraction(self.right_rows, self.total)

    @property
    def baseline(self) -> Fraction:
        """Return the share that is right without the column."""
        return Fraction(self.most_rows, self.total)

    @property
    def sure(self) -> Fraction:
        """Return the share of the rows whose value leaves hardly a doubt."""
        return Fraction(self.sure_rows, self.total)

    @property
    def auc(self) -> Fraction | None:
        """Return the share of the pairs in order, in the better direction; None without pairs."""
        if not self.pairs:
            return None
        in_order = Fraction(self.ordered_pairs, 2 * self.pairs)
        return max(in_order, 1 - in_order)

    @property
    def nearly_perfect(self) -> bool:
        """Tell whether the column alone decides the label of nearly all rows."""
        wrong, without = self.total - self.right_rows, self.total - self.most_rows
        return without >= ENOUGH and DOUBT * wrong <= self.total and LEFT * wrong <= without

    def reaches(self, auc: Fraction) -> bool:
        """Tell whether the AUC is at least this large."""
        least = 2 * auc * self.pairs
        return bool(self.pairs) and not 2 * self.pairs - least < self.ordered_pairs < least


def cells(column: Column, rows: Rows) -> Codes:
    """Give each distinct value the number of its cell; the last entry is for missing values.

    Parameters
    ----------
    rows
        Rows per distinct value.
    """
    n = len(column.values)
    cell = np.arange(n)
    if column.kind == "number" and n > INTERVALS:
        before = np.cumsum(rows) - rows
        bins = before / max(1, rows.sum()) * INTERVALS
        cell = ranked(bins.astype(np.int64))[1]
    elif column.kind != "number" and n > CATEGORIES:
        cell = np.full(n, CATEGORIES - 1)
        most = np.argsort(-rows, kind="stable")[: CATEGORIES - 1]
        cell[most] = np.arange(CATEGORIES - 1)
    return np.append(cell, cell.max(initial=-1) + 1).astype(np.int32)


def cross_counts(column: Column, kinds: Rows, n_kinds: int, weights: Rows | None) -> Rows:
    """Count rows by kind and cell; the last cell is for missing values.

    Parameters
    ----------
    weights
        Row multiplicities; None if all are 1.
    """
    codes = np.where(column.codes < 0, len(column.values), column.codes)
    plain = np.bincount(codes, minlength=len(column.values) + 1)[:-1]
    cell = cells(column, plain)
    n_cells = int(cell[-1]) + 1
    place = cell[codes].astype(np.int64) * n_kinds + kinds
    if weights is None:
        counts = np.bincount(place, minlength=n_cells * n_kinds)
    else:  # no floats: weights may be large
        counts = np.zeros(n_cells * n_kinds, np.int64)
        np.add.at(counts, place, weights)
    return counts.reshape(n_cells, n_kinds).T


def associate(counts: Rows, *, ordered: bool) -> Association:
    """Measure how well cells tell labels.

    Parameters
    ----------
    counts
        Rows by label and cell; the last cell is for missing values.
    ordered
        Whether the cells are intervals of a number, in order.

    Examples
    --------
    >>> found = associate(np.array([[40, 0, 0], [0, 60, 0]]), ordered=True)
    >>> found.right, found.baseline, found.auc
    (Fraction(1, 1), Fraction(3, 5), Fraction(1, 1))
    """
    if int(counts.sum()) >= _PRODUCTS:
        counts = counts.astype(object)
    labels = counts.sum(axis=1)
    total, most = int(labels.sum()), int(labels.max())
    if ordered:
        right, sure = _by_cut(counts, total - most, total)
    else:
        counts = _pooled(counts)
        best, sizes = counts.max(axis=0), counts.sum(axis=0)
        right, sure = int(best.sum()), int(_surely(sizes, best, total - most, total).sum())
    pairs = int(labels[0]) * int(labels[1]) if len(labels) == BINARY else 0
    return Association(total, right, most, sure, pairs, _in_order(counts, ordered) if pairs else 0)


def _by_cut(counts: Rows, wrong: int, total: int) -> tuple[int, int]:
    """Find the most rows that one cut tells right, and the most that one tells surely."""
    missing, known = counts[:, -1:], counts[:, :-1]
    below = known.cumsum(axis=1)
    above = below[:, -1:] - below
    sides = [(side.max(axis=0), side.sum(axis=0)) for side in (below, above, missing)]
    right = sides[0][0] + sides[1][0] + sides[2][0]
    sure = [_surely(sizes, best, wrong, total) for best, sizes in sides]
    return int(right.max()), int((sure[0] + sure[1] + sure[2]).max())


def _surely(sizes: Rows, best: Rows, wrong: int, total: int) -> Rows:
    """Take the sizes of parts with hardly a doubt about the label, 0 for the others."""
    other = sizes - best
    certain = (DOUBT * other <= sizes) & (LEFT * total * other <= wrong * sizes)
    return sizes * (certain & (wrong * sizes >= ENOUGH * total))


def _pooled(counts: Rows) -> Rows:
    """Join the cells of few rows."""
    small = counts.sum(axis=0) < SMALL
    return np.concatenate([counts[:, ~small], counts[:, small].sum(axis=1)[:, None]], axis=1)


def _in_order(counts: Rows, ordered: bool) -> int:
    """Count twice the pairs of rows, one of each label, that the cells put in order; ties once."""
    if not ordered:
        rates = counts[1] / np.maximum(1, counts.sum(axis=0))
        counts = counts[:, np.argsort(rates, kind="stable")]
    first, second = counts
    return int((second * (2 * first.cumsum() - first)).sum())
