"""Profiles by coarse axes, where exact ones are too large: each number between two proved ones.

A leaf counts in steps of some rows (`adtc.engine.plan.coarse`), so many cells become one, and what
their trees measure is known between two ends. A tree surely belongs to a bin if both ends lie in
it, and may belong to it if the range between them meets it. Budgets stay exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import Affine
from adtc.algebra.formula import Formula
from adtc.data import Data
from adtc.engine.exact.columns import Column, Ratios, Truths
from adtc.engine.exact.limbs import total_of
from adtc.engine.exact.ranges import Range, evaluate_range, inside, truth_range
from adtc.engine.limits.bracket import Bracket
from adtc.engine.monitor import Monitor
from adtc.engine.plan.coarse import CoarseCells, coarsened, count_coarsely
from adtc.engine.plan.narrow import by_depth
from adtc.engine.query import Definitions, Space
from adtc.engine.record import RunRecord, Status
from adtc.engine.run import Engine, opened
from adtc.engine.switches import Switches
from adtc.errors import QueryError, unknown
from adtc.profiles.bins import Bin, Bins, Edge, read_edges
from adtc.profiles.inexact.brackets import BracketTable, table_of
from adtc.text import is_whole

_STEPS = 50  # of the rows, that trees of the most leaves are told apart by


@dataclass(frozen=True, eq=False)
class BoundedProfile:
    """All good trees by coarse axes.

    Parameters
    ----------
    width
        How many rows a step of a coarse axis is.
    """

    cells: CoarseCells
    width: int
    record: RunRecord
    sure: Truths = field(repr=False)  # the trees of a cell certainly satisfy the constraint
    possible: Truths = field(repr=False)  # they may
    _ranges: list[tuple[Column, Column]] = field(repr=False)

    @property
    def status(self) -> Status:
        """Say that the numbers are bounded, or exact."""
        return self.record.status

    @property
    def count(self) -> Bracket:
        """Bracket the number of good trees."""
        return self._bracket(self.sure, self.possible)

    def crosstab(
        self, x: str, y: str, *, bins: tuple[Sequence[Edge], Sequence[Edge]]
    ) -> BracketTable:
        """Bracket the number of trees by two metrics; trees outside the edges are left out.

        Parameters
        ----------
        bins
            The edges for x and for y.
        """
        x_bins, x_inside = self._placed(x, bins[0])
        y_bins, y_inside = self._placed(y, bins[1])
        cells = [[self._meet(i, j) for j in y_inside] for i in x_inside]
        rows = [self._meet(i) for i in x_inside]
        columns = [self._meet(j) for j in y_inside]
        return table_of((x_bins, y_bins), cells, (rows, columns, self.count), self.record)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the metrics."""
        return tuple(name for name, _ in self.cells.coarse.plan.question.metrics)

    def ends(self, metric: str) -> tuple[Fraction | None, Fraction | None]:
        """Bound a metric over all good trees; None if it is defined for none."""
        found = self.range(metric)
        known = np.flatnonzero(self.possible & (found.low.bottom > 0) & (found.high.bottom > 0))
        lows = [Fraction(int(found.low.top[i]), int(found.low.bottom[i])) for i in known]
        highs = [Fraction(int(found.high.top[i]), int(found.high.bottom[i])) for i in known]
        return min(lows, default=None), max(highs, default=None)

    def range(self, metric: str) -> Range:
        """Bound a metric in every cell."""
        terms = dict(self.cells.coarse.plan.question.metrics)
        if metric not in terms:
            raise QueryError(unknown("metric", metric, terms))
        return evaluate_range(terms[metric], self._ends)

    def _ends(self, form: Affine) -> tuple[Ratios, Ratios]:
        return self.cells.form_range(form, self._ranges)

    def _placed(
        self, metric: str, edges: Sequence[Edge]
    ) -> tuple[Bins, list[tuple[Truths, Truths]]]:
        """Make bins, and tell for each which cells lie in it and which may."""
        known, found = read_edges(edges), self.range(metric)
        last = len(known) - 2
        bins = [Bin("range", known[i], known[i + 1], i == last) for i in range(last + 1)]
        rows = len(self.sure)
        placed = [
            inside(found, _column(b.low, rows), _column(b.high, rows), closed=b.closed)
            for b in bins
        ]
        return Bins(metric, tuple(bins)), placed

    def _meet(self, *parts: tuple[Truths, Truths]) -> Bracket:
        sure, possible = self.sure, self.possible
        for inner, outer in parts:
            sure, possible = sure & inner, possible & outer
        return self._bracket(sure, possible)

    def _bracket(self, sure: npt.NDArray[np.bool_], possible: npt.NDArray[np.bool_]) -> Bracket:
        values = self.cells.values
        return Bracket(total_of(values[sure]), total_of(values[possible]))


def bound(
    data: Data,
    space: Space,
    metrics: Sequence[str] = ("size", "acc"),
    *,
    where: str | Formula | None = None,
    width: int | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> BoundedProfile:
    """Count trees by coarse axes, where an exact profile is too large.

    Parameters
    ----------
    width
        How many rows a step is: the larger, the fewer cells and the wider the brackets. A tree of
        L leaves is known up to L · (width − 1) rows, so a width of at most the rows of a shown
        bin, divided by the most leaves, keeps brackets useful. By default a fiftieth of that for
        all rows.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=3, relminsup=0.1)
    >>> found = adtc.bound(data, space, ["size", "acc", "dp"], where="f1 >= 0.7", width=5)
    >>> adtc.count(data, space, where="f1 >= 0.7") in found.count
    True
    """
    if width is not None and not is_whole(width, 1):
        raise QueryError(f"width is {width!r}, expected a whole number of at least 1.")
    asked: dict[str, Any] = {
        "ask": "bound",
        "metrics": list(metrics),
        "where": None if where is None else str(where),
        "width": width,
    }
    strict = (monitor or Monitor()).strict()
    with opened(data, space, asked, define=define, engine=engine, monitor=strict) as run:
        question = run.narrowed(run.ask(where=where, metrics=tuple(metrics)))
        if question is None or by_depth(question):
            raise QueryError(
                "axes are coarsened by the fast engine, which tells neither support nor depth: "
                "leave them out, bound them (depth <= 3), or ask for an exact profile."
            )
        first = coarsened(question, 1)
        steps = width or max(1, data.total // (_STEPS * first.plan.most_leaves))
        # a rounded budget does not follow from the axes
        switches = Switches(round=False)
        found = count_coarsely(coarsened(question, steps), data, run.monitor, switches)
        ranges = found.axis_ranges()
        sure, possible = truth_range(
            found.coarse.plan.residual, lambda form: found.form_range(form, ranges), len(found.keys)
        )
        record = run.record
        record.engine, record.num_cells = "fast", len(found.keys)
        record.cell_scan = found.circuit.cell_scan
        record.details["width"] = steps
        exact = all(w == 1 for w in found.coarse.widths)
        record.status = "exact" if exact else "bounded"
        return BoundedProfile(found, steps, record, sure, possible, ranges)


def _column(number: Fraction | None, rows: int) -> Ratios:
    assert number is not None  # an edge
    kind = np.int64 if max(abs(number.numerator), number.denominator) < 2**62 else object
    return Ratios(np.full(rows, number.numerator, kind), np.full(rows, number.denominator, kind))
