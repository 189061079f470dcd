"""Rates by group: how a table's groups differ, and how decisions treat each of them.

Decisions are those of a tree or of anything else that says a label for every row. Rates are exact
fractions; intervals for rates of a sample are floats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Tree, predict
from adtc.data import Codes, Data
from adtc.data.columns import format_scalar

ALL = "all rows"
FEW = Fraction(2, 100)
"""Groups of a smaller share of the rows are named as small; New York City's rule on hiring tools
(6 RCNY 5-301) lets impact ratios leave out such groups."""
_Z = 1.959963984540054  # the normal quantile of 97.5 %


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The rows of one group, by weight.

    Parameters
    ----------
    positive, selected, true_positive
        Rows that are truly positive, predicted positive, and both; None without a positive label.
    wrong
        Rows predicted wrong.
    """

    name: str
    rows: int
    wrong: int
    positive: int | None = None
    selected: int | None = None
    true_positive: int | None = None

    @property
    def negative(self) -> int:
        """Count the rows that are truly negative."""
        return self.rows - (self.positive or 0)

    @property
    def base_rate(self) -> Fraction | None:
        """The share of rows that are truly positive."""
        return share(self.positive, self.rows)

    @property
    def selection_rate(self) -> Fraction | None:
        """The share of rows predicted positive."""
        return share(self.selected, self.rows)

    @property
    def true_positive_rate(self) -> Fraction | None:
        """The share of truly positive rows that are predicted positive."""
        return share(self.true_positive, self.positive)

    @property
    def false_positive_rate(self) -> Fraction | None:
        """The share of truly negative rows that are predicted positive."""
        if self.selected is None or self.true_positive is None:
            return None
        return share(self.selected - self.true_positive, self.negative)

    @property
    def error_rate(self) -> Fraction | None:
        """The share of rows predicted wrong."""
        return share(self.wrong, self.rows)


@dataclass(frozen=True, slots=True)
class Changes:
    """How decisions of one group change, by weight.

    Parameters
    ----------
    gained, lost
        Rows that would be predicted positive and were not, and the other way round.
    changed
        Rows predicted otherwise; of more than two classes, more than gained and lost together.
    """

    name: str
    rows: int
    changed: int
    gained: int
    lost: int


def share(part: int | None, whole: int | None) -> Fraction | None:
    """Divide; None where there is nothing to divide by."""
    return None if part is None or not whole else Fraction(part, whole)


def group_counts(data: Data, tree: Tree) -> list[GroupCounts]:
    """Count the rows of every group by what is true and what a tree says; all rows come first.

    Examples
    --------
    >>> from adtc.algebra.trees import Leaf, Split
    >>> frame = {"f": [1, 0, 1, 0], "sex": ["f", "f", "m", "m"], "y": [1, 0, 0, 0]}
    >>> data = Data.from_frame(frame, target="y", sensitive="sex")
    >>> [(g.name, g.selected, g.wrong) for g in group_counts(data, Split(0, Leaf(1), Leaf(0)))]
    [('all rows', 2, 1), ('f', 1, 0), ('m', 1, 1)]
    """
    return decision_counts(data, predict(tree, data.dense()))


def decision_counts(data: Data, predictions: Codes) -> list[GroupCounts]:
    """Count the rows of every group by what is true and what was decided; all rows come first."""
    return [_counts(data, predictions, name, rows) for name, rows in _parts(data)]


def changes(data: Data, before: Codes, after: Codes) -> list[Changes]:
    """Count the rows of every group whose decision changes; all rows come first.

    Examples
    --------
    >>> data = Data.from_arrays([[1], [0], [1]], [1, 0, 0], z=["a", "b", "b"])
    >>> now, then = np.array([1, 0, 0], np.int32), np.array([0, 0, 1], np.int32)
    >>> [(c.name, c.changed, c.gained, c.lost) for c in changes(data, now, then)]
    [('all rows', 2, 1, 1), ('a', 1, 0, 1), ('b', 1, 1, 0)]
    """
    yes_before, yes_after = before == data.positive, after == data.positive
    return [
        Changes(
            name,
            _total(data, rows),
            _total(data, rows & (before != after)),
            _total(data, rows & ~yes_before & yes_after),
            _total(data, rows & yes_before & ~yes_after),
        )
        for name, rows in _parts(data)
    ]


def impact_ratios(counts: Sequence[GroupCounts]) -> list[Fraction | None]:
    """Divide the selection rate of every group by that of the most selected one.

    Parameters
    ----------
    counts
        All rows first, as `decision_counts` gives them; for all rows there is no ratio.

    Examples
    --------
    >>> counts = [GroupCounts("all rows", 8, 0, 4, 5, 4), GroupCounts("a", 4, 0, 2, 1, 1),
    ...           GroupCounts("b", 4, 0, 2, 4, 2)]
    >>> [None if ratio is None else str(ratio) for ratio in impact_ratios(counts)]
    [None, '1/4', '1']
    """
    rates = [group.selection_rate for group in counts[1:]]
    most = max((rate for rate in rates if rate is not None), default=None)
    return [None, *(rate / most if rate is not None and most else None for rate in rates)]


def small_groups(counts: Sequence[GroupCounts]) -> list[GroupCounts]:
    """Find the groups that are less than 2 % of the rows: their rates say little."""
    return [group for group in counts[1:] if group.rows < FEW * counts[0].rows]


def interval(part: int, whole: int) -> tuple[float, float]:
    """Give Wilson's 95 % interval for a rate that was seen in a sample.

    Examples
    --------
    >>> [round(end, 3) for end in interval(8, 10)]
    [0.49, 0.943]
    """
    rate, spread = part / whole, _Z * _Z / whole
    middle = (rate + spread / 2) / (1 + spread)
    half = math.sqrt(rate * (1 - rate) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def gap_interval(a: tuple[int, int], b: tuple[int, int]) -> tuple[float, float]:
    """Give Newcombe's 95 % interval for the absolute difference of two rates.

    Parameters
    ----------
    a, b
        For each group the rows that count and all its rows.

    Examples
    --------
    >>> [round(end, 3) for end in gap_interval((56, 70), (48, 80))]
    [0.052, 0.334]
    """
    (p, low_p, high_p), (q, low_q, high_q) = ((k / n, *interval(k, n)) for k, n in (a, b))
    below = math.hypot(p - low_p, high_q - q)
    above = math.hypot(high_p - p, q - low_q)
    low, high = p - q - below, p - q + above
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def _parts(data: Data) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    parts = [(ALL, np.ones(data.n_rows, bool))]
    return parts + [(format_scalar(name), data.z == at) for at, name in enumerate(data.groups)]


def _total(data: Data, rows: npt.NDArray[np.bool_]) -> int:
    return int(data.weights[rows].sum())


def _counts(data: Data, predictions: Codes, name: str, rows: npt.NDArray[np.bool_]) -> GroupCounts:
    here, wrong = _total(data, rows), _total(data, rows & (predictions != data.y))
    if data.positive is None:
        return GroupCounts(name, here, wrong)
    true, yes = data.y == data.positive, predictions == data.positive
    totals = (_total(data, rows & which) for which in (true, yes, true & yes))
    return GroupCounts(name, here, wrong, *totals)
