"""Profiles by coarse axes, where exact ones are too large: each number between two proved ones.

A leaf counts in steps of some rows (`adtc.engine.plan.coarse`), so many cells become one, and what
their trees measure is known between two ends. A tree surely belongs to a bin if both ends lie in
it, and may belong to it if the range between them meets it. Budgets stay exact.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from adtc.algebra.affine import Affine
from adtc.algebra.formula import Formula, Term
from adtc.data import Data
from adtc.engine.exact.columns import Column, Ratios, Truths
from adtc.engine.exact.limbs import Limbs, total_of
from adtc.engine.exact.ranges import Range, above, below, evaluate_range, inside, truth_range
from adtc.engine.limits.bracket import Bracket
from adtc.engine.monitor import Monitor
from adtc.engine.plan import make_plan
from adtc.engine.plan.coarse import coarsened, combine_ends, count_coarsely
from adtc.engine.plan.narrow import by_depth
from adtc.engine.query import Definitions, Space
from adtc.engine.record import RunRecord
from adtc.engine.run import Engine, opened
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from adtc.profiles.bins import AxisBins, Bin, Bins, make_bins, read_edges
from adtc.profiles.crosstab import BinsWanted, per_axis
from adtc.profiles.inexact.brackets import BracketTable, table_of
from adtc.profiles.inexact.ranged import Origin, Ranged
from adtc.profiles.making import texts_of_definitions
from adtc.text import is_whole

_STEPS = 50  # of the rows, that trees of the most leaves are told apart by


@dataclass(frozen=True, eq=False, repr=False)
class BoundedProfile(Ranged):
    """All good trees by coarse axes.

    Parameters
    ----------
    axes
        Per axis the least and the largest value that the trees of each cell may have.
    trees
        Per cell the number of trees, in 64-bit limbs.
    sure, possible
        In which cells the trees certainly satisfy the constraint, and in which they may.
    width
        How many rows a step of a coarse axis is.
    """

    axes: Mapping[str, tuple[Column, Column]]
    trees: Limbs
    metrics: Mapping[str, Term]
    sure: Truths
    possible: Truths
    width: float
    record: RunRecord
    origin: Origin | None = None

    @property
    def count(self) -> Bracket:
        """Bracket the number of good trees."""
        return self._bracket(self.sure, self.possible)

    def crosstab(self, x: str, y: str, *, bins: BinsWanted = 10) -> BracketTable:
        """Bracket the number of trees by two metrics.

        Trees that may lie outside given edges, or be undefined, have bins of their own.

        Parameters
        ----------
        bins
            The edges for x and for y, or how many bins at most between all that a metric may be.
        """
        for_x, for_y = per_axis(bins)
        x_bins, x_inside = self._placed(x, for_x)
        y_bins, y_inside = self._placed(y, for_y)
        cells = [[self._meet(i, j) for j in y_inside] for i in x_inside]
        rows = [self._meet(i) for i in x_inside]
        columns = [self._meet(j) for j in y_inside]
        return table_of((x_bins, y_bins), cells, (rows, columns, self.count), self.record)

    def ends(self, metric: str) -> tuple[Fraction | None, Fraction | None]:
        """Bound a metric over all good trees; None if it is defined for none."""
        found = self.range(metric)
        known = np.flatnonzero(self.possible & (found.low.bottom > 0) & (found.high.bottom > 0))
        lows = [Fraction(int(found.low.top[i]), int(found.low.bottom[i])) for i in known]
        highs = [Fraction(int(found.high.top[i]), int(found.high.bottom[i])) for i in known]
        return min(lows, default=None), max(highs, default=None)

    def range(self, metric: str) -> Range:
        """Bound a metric in every cell."""
        return evaluate_range(self.outline.term(metric), self._ends)

    def _filtered(self, formula: Formula) -> "BoundedProfile":
        over = self.outline.over_axes(formula)
        sure, possible = truth_range(over, self._ends, len(self.trees))
        return replace(self, sure=self.sure & sure, possible=self.possible & possible)

    def _ends(self, form: Affine) -> tuple[Ratios, Ratios]:
        chosen = [self.axes[name] for name in form.coefficients]
        coefficients = tuple(form.coefficients.values())
        return combine_ends(coefficients, form.constant, chosen, len(self.trees))

    def _placed(self, metric: str, wanted: AxisBins) -> tuple[Bins, list[tuple[Truths, Truths]]]:
        """Make bins, and tell for each which cells lie in it and which may."""
        found = self.range(metric)
        known = self._edges(metric, found, wanted)
        last = len(known) - 2
        bins = [Bin("range", known[i], known[i + 1], i == last) for i in range(last + 1)]
        rows = len(self.sure)
        placed = [
            (b, inside(found, _column(b.low, rows), _column(b.high, rows), closed=b.closed))
            for b in bins
        ]
        first, end = _column(known[0], rows), _column(known[-1], rows)
        placed.insert(0, (Bin("below", high=known[0]), below(found, first)))
        placed.append((Bin("above", low=known[-1]), above(found, end)))
        placed.append((Bin("undefined"), (found.undefined, found.open)))
        kept = [
            (b, (sure, may))
            for b, (sure, may) in placed
            if b.kind == "range" or bool((self.possible & may).any())
        ]
        return Bins(metric, tuple(b for b, _ in kept)), [where for _, where in kept]

    def _edges(self, metric: str, found: Range, wanted: AxisBins) -> tuple[Fraction, ...]:
        """Read edges, or place so many round bins over all that a metric may be."""
        if isinstance(wanted, str):
            raise QueryError(
                "values are not known one by one in steps: give edges, such as 0.7,0.8,0.9."
            )
        if not is_whole(wanted):
            return read_edges(wanted)
        kept = self.possible & ~found.open
        ends = [Ratios(one.top[kept], one.bottom[kept]) for one in (found.low, found.high)]
        made = make_bins(metric, ends, wanted, round_edges=True)[0]
        if made.edges:
            return made.edges
        return (*made.values, made.values[-1] + 1) if made.values else (Fraction(0), Fraction(1))

    def _meet(self, *parts: tuple[Truths, Truths]) -> Bracket:
        sure, possible = self.sure, self.possible
        for inner, outer in parts:
            sure, possible = sure & inner, possible & outer
        return self._bracket(sure, possible)

    def _bracket(self, sure: Truths, possible: Truths) -> Bracket:
        return Bracket(total_of(self.trees[sure]), total_of(self.trees[possible]))


def bound(
    data: Data,
    space: Space,
    metrics: Sequence[str] = ("size", "acc"),
    *,
    where: str | Formula | None = None,
    width: float | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> BoundedProfile:
    """Count trees by coarse axes, where an exact profile is too large.

    Parameters
    ----------
    width
        How many rows a step is: the larger, the fewer cells and the wider the brackets. A tree of
        L leaves is known up to L · width rows, so a width of at most the rows of a shown bin,
        divided by the most leaves, keeps brackets useful; a part of a row makes steps for gaps of
        rates only, since counts are whole. By default a fiftieth of that for all rows.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=3, relminsup=0.1)
    >>> found = adtc.bound(data, space, ["size", "acc", "dp"], where="f1 >= 0.7", width=5)
    >>> adtc.count(data, space, where="f1 >= 0.7") in found.count
    True
    """
    if width is not None and not 0 < width < math.inf:
        raise QueryError(f"width is {width!r}, expected a number of rows above 0.")
    asked: dict[str, Any] = {
        "ask": "bound",
        "metrics": list(metrics),
        "where": None if where is None else str(where),
        "width": width,
        "define": texts_of_definitions(define),
    }
    strict = (monitor or Monitor()).strict()
    with opened(data, space, asked, define=define, engine=engine, monitor=strict) as run:
        question = run.narrowed(run.ask(where=where, metrics=tuple(metrics)))
        if question is None or by_depth(question):
            raise QueryError(
                "axes are coarsened by the fast engine, which tells neither support nor depth: "
                "leave them out, bound them (depth <= 3), or ask for an exact profile."
            )
        steps = width or float(f"{data.total / (_STEPS * make_plan(question).most_leaves):.3g}")
        # a rounded budget does not follow from the axes
        switches = Switches(round=False)
        coarse = coarsened(question, Fraction(str(steps)))
        found = count_coarsely(coarse, data, run.monitor, switches)
        ranges = found.axis_ranges()
        sure, possible = truth_range(
            found.coarse.plan.residual, lambda form: found.form_range(form, ranges), len(found.keys)
        )
        record = run.record
        record.engine, record.num_cells = "fast", len(found.keys)
        record.cell_scan = found.circuit.cell_scan
        exact = all(w == 1 for w in found.coarse.widths)
        record.status = "exact" if exact else "bounded"
        plan = found.coarse.plan
        made = BoundedProfile(
            dict(zip(plan.axis_names, ranges, strict=True)),
            found.values,
            {name: plan.over_axes(term) for name, term in plan.question.metrics},
            sure,
            possible,
            steps,
            record,
            Origin(data, space),
        )
        record.details |= {"width": steps, "count": made.count.to_json()}
        return made


def _column(number: Fraction | None, rows: int) -> Ratios:
    assert number is not None  # an edge
    kind = np.int64 if max(abs(number.numerator), number.denominator) < 2**62 else object
    return Ratios(np.full(rows, number.numerator, kind), np.full(rows, number.denominator, kind))
