"""Profiles from drawn trees, where exact ones are too large.

Trees are drawn from a circuit that keeps apart only what pushed conditions need, each tree with
exactly the same probability; the rest of the constraint and all metrics are measured on the drawn
trees. Every number comes with an interval, and all intervals of one table hold at once with the
confidence asked for (Clopper and Pearson's, with Bonferroni's correction). The first tenth of the
draws only places bins: bins chosen by the trees that are counted in them would flatter the table.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, compress
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import affine
from adtc.algebra.formula import Formula, Negate, Term, Truth, all_of
from adtc.data import Data
from adtc.engine import fast
from adtc.engine.exact.columns import Column, satisfied
from adtc.engine.exact.limbs import counts_of, limbs_of
from adtc.engine.limits.beforehand import Range as Limits
from adtc.engine.limits.beforehand import axis_limits, lower_limit_within
from adtc.engine.limits.bracket import Bracket, Exact, Interval
from adtc.engine.limits.intervals import share_interval
from adtc.engine.monitor import Monitor
from adtc.engine.plan import exactly_pushed
from adtc.engine.plan.keys import key_integers
from adtc.engine.plan.narrow import by_depth
from adtc.engine.plan.pushing import parts_of
from adtc.engine.query import Definitions, Question, Space
from adtc.engine.ranks import Ranks
from adtc.engine.record import RunRecord
from adtc.engine.run import Engine, opened
from adtc.errors import LimitError, QueryError
from adtc.profiles.bins import AxisBins, Bins, Codes, make_bins
from adtc.profiles.crosstab import BinsWanted, count_cells, per_axis
from adtc.profiles.drawing import seeded, uniform_ranks
from adtc.profiles.inexact.brackets import BracketTable, table_of
from adtc.profiles.inexact.ranged import Origin, Ranged
from adtc.profiles.making import texts_of_definitions
from adtc.profiles.profile import Profile
from adtc.profiles.rescoring import Scorer
from adtc.text import is_whole

_PILOT = 10  # one draw in so many places bins
_TOGETHER = 2**12  # trees that are drawn between two looks at the clock
_QUANTILES = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedProfile(Ranged):
    """What drawn trees say about all good trees.

    Parameters
    ----------
    hits
        The drawn trees that satisfy the constraint, by their metrics; its counts are draws.
    pilot
        Those of the first draws, by which bins are placed.
    pool
        How many trees there were to draw from: exact.
    draws
        How many were drawn beside the pilot's.
    limits
        Per axis the least and the largest value that a tree may have, whatever was drawn.
    all_good
        Whether every tree of the pool satisfies the constraint.
    different, rejected
        Trees that were drawn, each once: good ones, and others.
    """

    hits: Profile
    pilot: Profile
    pool: int
    draws: int
    seed: int
    confidence: float
    record: RunRecord
    limits: Mapping[str, Limits]
    all_good: bool
    different: int
    rejected: int
    origin: Origin | None = None

    @property
    def metrics(self) -> Mapping[str, Term]:  # type: ignore[override]
        """Return the metrics asked for, as terms over the axes of drawn trees."""
        return self.hits.metrics

    @property
    def count(self) -> Bracket:
        """Estimate the number of good trees."""
        return self._total(1.0 - self.confidence)

    def crosstab(self, x: str, y: str, *, bins: BinsWanted = 10) -> BracketTable:
        """Estimate the number of trees by two metrics; all intervals hold at once.

        Parameters
        ----------
        bins
            As in `adtc.profiles.crosstab.crosstab`; a number of bins lies between the least and
            the largest value of the pilot's trees.
        """
        for_x, for_y = per_axis(bins)
        x_bins, x_codes, nx = self._bins(x, for_x)
        y_bins, y_codes, ny = self._bins(y, for_y)
        counts = count_cells(self.hits, x_codes, y_codes, len(x_bins), len(y_bins))
        risk = (1 - self.confidence) / (nx * ny + nx + ny + 1)
        columns = [sum(row[j] for row in counts) for j in range(len(y_bins))]
        return table_of(
            (x_bins, y_bins),
            [self._brackets(row, risk) for row in counts],
            (
                self._brackets(map(sum, counts), risk),
                self._brackets(columns, risk),
                self._total(risk),
            ),
            self.record,
        )

    def quantiles(self, metric: str) -> dict[Fraction, tuple[Fraction | int, ...]]:
        """Estimate quantiles of a metric: per share the value, and the ends of its interval.

        All intervals of all metrics hold at once with the profile's confidence (the inequality of
        Dvoretzky, Kiefer and Wolfowitz). Undefined values are left out; empty without draws.
        """
        values = self.hits.values(metric)
        counts = self.hits.totals(values.codes, len(values.distinct))
        known = [(v, n) for v, n in zip(values.distinct, counts, strict=True) if v is not None]
        drawn = sum(n for _, n in known)
        if not drawn:
            return {}
        risk = (1 - self.confidence) / len(self.names)
        width = Fraction(math.sqrt(math.log(2 / risk) / (2 * drawn)))
        until = list(accumulate(n for _, n in known))

        def at(share: Fraction) -> Fraction | int:
            place = bisect_right(until, max(Fraction(0), share) * drawn - Fraction(1, 10**9))
            return known[min(place, len(known) - 1)][0]

        return {q: (at(q), at(q - width), at(q + width)) for q in _QUANTILES}

    def ends(self, metric: str) -> tuple[Fraction | None, Fraction | None]:
        """Return the least and the largest value of drawn good trees; others may lie outside."""
        known = [Fraction(v) for v in self.hits.values(metric).distinct if v is not None]
        return min(known, default=None), max(known, default=None)

    def _filtered(self, formula: Formula) -> "EstimatedProfile":
        hits, pilot = self.hits.where(formula), self.pilot.where(formula)
        # which of the different trees satisfy it, too, is not kept
        return replace(self, hits=hits, pilot=pilot, all_good=False, different=0)

    def _bins(self, text: str, wanted: AxisBins) -> tuple[Bins, Codes, int]:
        """Place bins by the pilot's trees; return also how many there might have been."""
        placed, _ = make_bins(text, [self.pilot.column(text)], wanted, round_edges=True)
        edges: Any = list(placed.edges)
        possible: int | None = len(edges) - 1
        if not edges:
            edges, possible = "values", self._possible_values(text)
            if wanted != "values" and (possible is None or not self.is_whole(text)):
                edges, possible = _around(placed.values), 1  # the pilot has one value at most
        if possible is None:
            raise QueryError(f"how many values {text} has is not known beforehand: give its edges.")
        bins, (codes,) = make_bins(text, [self.hits.column(text)], edges)
        return bins, codes, possible + 3  # below, above, undefined

    def _possible_values(self, text: str) -> int | None:
        """Count the values that a metric may have, whatever was drawn; None if unknown."""
        term = self.hits.term(text)
        low, high = (lower_limit_within(one, self.limits) for one in (term, Negate(term)))
        form = affine(term)
        if form is None or low is None or high is None:
            return None
        steps = math.lcm(*(c.denominator for c in form.coefficients.values()))
        return math.floor((-high - low) * steps) + 1  # axes are whole numbers

    def _total(self, risk: float) -> Bracket:
        """Bracket the number of all good trees; every tree that was drawn is known."""
        if self.all_good:
            return Bracket(self.pool, self.pool)
        lower, upper = self.different, self.pool - self.rejected
        return Bracket(lower, upper).tightened(self._bracket(self.hits.total, risk))

    def _brackets(self, hits: Iterable[int], risk: float) -> list[Bracket]:
        return [self._bracket(n, risk) for n in hits]

    def _bracket(self, hits: int, risk: float) -> Bracket:
        low, high = share_interval(hits, self.draws, risk)
        ends: list[Exact] = [
            Fraction(low) * self.pool,
            Fraction(hits, self.draws) * self.pool,
            Fraction(high) * self.pool,
        ]
        drawn = Interval(ends[1], ends[0], ends[2], self.confidence, self.draws, self.seed)
        return Bracket(min(1, hits), self.pool).tightened(Bracket(estimate=drawn))


def estimate(
    data: Data,
    space: Space,
    metrics: Sequence[str] = ("size", "acc"),
    *,
    where: str | Formula | None = None,
    draws: int = 10_000,
    confidence: float = 0.95,
    seed: int | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> EstimatedProfile:
    """Estimate a profile from drawn trees, where an exact one is too large.

    Parameters
    ----------
    draws
        How many trees to draw; those that do not satisfy the constraint count, too.
    confidence
        The probability with which all intervals of a table hold at once.
    seed
        The same seed draws the same trees; None takes a fresh one, which the record tells.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=4, relminsup=0.1)
    >>> found = adtc.estimate(data, space, ["acc", "dp"], where="f1 >= 0.8", seed=0)
    >>> found.status, adtc.count(data, space, where="f1 >= 0.8") in found.count
    ('estimated', True)
    """
    _check(draws, confidence)
    seed, rng = seeded(seed)
    asked = {
        "ask": "estimate",
        "metrics": list(metrics),
        "where": None if where is None else str(where),
        "define": texts_of_definitions(define),
    }
    strict = (monitor or Monitor()).strict()
    with opened(data, space, asked, define=define, engine=engine, monitor=strict) as run:
        question = run.narrowed(run.ask(where=where, metrics=tuple(metrics)))
        if question is None or by_depth(question):
            raise QueryError(
                "trees are drawn by the fast engine, which tells neither support nor depth: leave "
                "them out, bound them (depth <= 3), or ask for an exact profile."
            )
        result, pushed = _drawable(question, data, run.monitor)
        fast.note(run.record, result)
        pilot, sample = (
            _Sample.drawn(n, result, question=question, data=data, rng=rng, monitor=run.monitor)
            for n in (-(-draws // _PILOT), draws)
        )
        record = run.record
        record.status, record.seed = "estimated", seed
        record.num_cells = len(sample.profile(record).trees)
        record.details |= {
            "draws": draws,
            "pilot_draws": -(-draws // _PILOT),
            "confidence": confidence,
            "drawn_from": {"trees": result.total, "where": str(pushed)},
        }
        good, bad = sample.different(pilot)
        made = EstimatedProfile(
            sample.profile(record),
            pilot.profile(record),
            result.total,
            draws,
            seed,
            confidence,
            record,
            {k: v for k, v in axis_limits(question).items() if not any(map(math.isinf, v))},
            pushed == all_of(*parts_of(question.constraint)),
            good,
            bad,
            Origin(data, space),
        )
        record.details["count"] = made.count.to_json()
        return made


def _around(values: Sequence[Fraction]) -> list[Fraction]:
    """Place one bin, a tenth wide, around the only value that the pilot has; else from 0 to 1."""
    if not values:
        return [Fraction(0), Fraction(1)]
    low = Fraction(math.floor(10 * values[0]), 10)
    return [low, low + Fraction(1, 10)]


def _check(draws: int, confidence: float) -> None:
    if not is_whole(draws, 1):
        raise QueryError(f"draws is {draws!r}, expected a whole number of at least 1.")
    if not 0 < confidence < 1:
        raise QueryError(f"confidence is {confidence!r}, expected a number between 0 and 1.")


def _drawable(question: Question, data: Data, monitor: Monitor) -> tuple[fast.Result, Formula]:
    """Make the smallest circuit that fits: of the trees within as many conditions as possible."""
    parts = list(exactly_pushed(question))
    tried = dict.fromkeys([all_of(*parts), *parts, Truth(True)])
    for pushed in tried:
        asked = replace(question, metrics=(), constraint=pushed)
        try:
            return fast.run(asked, data, monitor=monitor), pushed
        except LimitError:
            if pushed == Truth(True):
                raise
            if monitor.time_left is not None:
                monitor.check()  # out of time is out of time
    raise AssertionError("all trees come last")


@dataclass(frozen=True, slots=True)
class _Sample:
    """Trees drawn independently and uniformly from a circuit, with what they measure."""

    question: Question
    columns: dict[str, Column]
    good: npt.NDArray[np.bool_]
    ranks: tuple[int, ...]

    @classmethod
    def drawn(
        cls,
        n: int,
        result: fast.Result,
        *,
        question: Question,
        data: Data,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> "_Sample":
        """Draw trees and measure them; none if there are none."""
        n = n if result.total else 0
        ranks = uniform_ranks(rng, result.total, n) if n else []
        keys, until = key_integers(result.keys), list(accumulate(counts_of(result.values)))
        walk, scorer = Ranks(result.circuit), Scorer(data, question)
        parts: list[dict[str, Column]] = []
        for some in _slices(ranks, _TOGETHER):
            monitor.check()
            cells = [bisect_right(until, rank) for rank in some]
            before = [until[c - 1] if c else 0 for c in cells]
            inside = [rank - first for rank, first in zip(some, before, strict=True)]
            forest = walk.unrank_many([keys[c] for c in cells], inside)
            parts.append(scorer.columns(forest))
        names = parts[0] if parts else scorer.columns_of_none()
        columns = {
            name: np.concatenate([part[name] for part in parts]) if parts else names[name]
            for name in names
        }
        good = satisfied(question.constraint, scorer.lookup(columns, n), n)
        return cls(question, columns, good, tuple(ranks))

    def profile(self, record: RunRecord) -> Profile:
        """Make a profile whose numbers of trees are numbers of draws."""
        kept = {name: column[self.good] for name, column in self.columns.items()}
        ones = limbs_of([1] * int(self.good.sum()))
        return Profile(kept, ones, dict(self.question.metrics), record)

    def different(self, other: "_Sample") -> tuple[int, int]:
        """Count the different trees that were drawn here or there: good ones, and others."""
        good: set[int] = set()
        every: set[int] = set()
        for sample in (self, other):
            every.update(sample.ranks)
            good.update(compress(sample.ranks, sample.good.tolist()))
        return len(good), len(every) - len(good)


def _slices(ranks: list[int], size: int) -> Iterator[list[int]]:
    return (ranks[at : at + size] for at in range(0, len(ranks), size))
