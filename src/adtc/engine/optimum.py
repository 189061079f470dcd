"""The best tree under a constraint, found in the cheapest way that can.

Sums over leaves and ratios of them by `search`, or near the least value that any tree has; a gap,
the largest of several sums, below a threshold that rises until a tree is there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from adtc.algebra.affine import Affine, affine, as_term, ratio
from adtc.algebra.formula import Comparison, Negate, Number, Term, all_of
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.engine import circuit as circuits
from adtc.engine import fast, search
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Budget, make_plan
from adtc.engine.plan.narrow import by_depth
from adtc.engine.prepare import prepare
from adtc.engine.query import Question
from adtc.engine.record import RunRecord
from adtc.engine.score import as_integer, score_form
from adtc.engine.switches import Switches

Best = tuple[Fraction | int, Tree] | None
Proved = Callable[[Fraction], None]
"""Called with a value that no good tree beats, as soon as that is known."""


def best_tree(
    question: Question,
    data: Data,
    sign: int,
    *,
    switches: Switches,
    monitor: Monitor,
    record: RunRecord,
    proved: Proved | None = None,
) -> Best:
    """Find the least (sign 1) or largest (−1) value of a narrowed question's first metric."""
    optimum = _Optimum(question, data, sign, switches, monitor, record, proved)
    term = question.metrics[0][1]
    if by_depth(question):
        return optimum.counted(question, sign)
    if (form := affine(term)) is not None and form.coefficients:
        return optimum.of_sum(form)
    over = ratio(term)
    if over is not None and over[1].coefficients:
        top, bottom = over
        if make_plan(question, push=False).reader.never_negative(bottom):
            return optimum.of_ratio(top, bottom)
    return optimum.of_gap(term)


@dataclass(frozen=True, slots=True)
class _Optimum:
    """The ways to the best value of one question, by the kind of its metric."""

    question: Question
    data: Data
    sign: int
    switches: Switches
    monitor: Monitor
    record: RunRecord
    proved: Proved | None = None

    def of_sum(self, form: Affine) -> Best:
        """Optimise a sum over leaves."""
        tell = self.proved
        note = None if tell is None else lambda bound: tell(self.sign * bound)
        best = self._least(form.scaled(Fraction(self.sign)), note)
        return None if best is None else (as_integer(self.sign * best[0]), best[1])

    def of_ratio(self, top: Affine, bottom: Affine) -> Best:
        """Optimise a ratio of sums whose denominator is never negative."""
        positive = Comparison((as_term(bottom), Number(Fraction(0))), (">",))
        defined = all_of(self.question.constraint, positive)
        best = search.largest_ratio(
            top.scaled(Fraction(-self.sign)),
            bottom,
            self._least,
            replace(self, question=replace(self.question, constraint=defined))._least,
            lambda tree, form: score_form(tree, self.data, self.question, form),
        )
        return None if best is None else (as_integer(-self.sign * best[0]), best[1])

    def of_gap(self, term: Term) -> Best:
        """Optimise the largest of several sums, or anything else.

        At the first threshold, which no tree can beat, shallow trees may do.
        """
        question, sign = self.question, self.sign
        op, reader = "<=" if sign > 0 else ">=", make_plan(question, push=False).reader
        deepest = question.space.max_depth
        depths: Iterable[int] = range(deepest + 1)
        for threshold in search.thresholds(term if sign > 0 else Negate(term), reader):
            limit = Comparison((term, Number(sign * threshold)), (op,))
            for depth in depths:
                asked = replace(
                    question,
                    space=replace(question.space, max_depth=depth),
                    constraint=all_of(question.constraint, limit),
                )
                self._note_search()
                result = fast.run(asked, self.data, switches=self.switches, monitor=self.monitor)
                fast.note(self.record, result)
                if (best := result.best(sign)) is not None:
                    return best
            depths = (deepest,)
        return self.counted(question, sign)

    def counted(self, question: Question, sign: int, proved: Proved | None = None) -> Best:
        """Count the good trees near the best, and take the best of their cells."""
        result = near_the_best(
            question,
            self.data,
            sign,
            switches=self.switches,
            monitor=self.monitor,
            proved=proved,
        )
        fast.note(self.record, result)
        return result.best(sign)

    def _least(self, objective: Affine, proved: Proved | None = None) -> Best:
        self._note_search()
        found = search.least_of_all(
            self.question, self.data, objective, self.switches, self.monitor
        )
        if found is not None:
            self.record.engine, self.record.num_cells = "fast", 1
            return found
        asked = replace(self.question, metrics=(("objective", as_term(objective)),))
        return self.counted(asked, 1, proved)

    def _note_search(self) -> None:
        self.record.details["searches"] = self.record.details.get("searches", 0) + 1


def near_the_best(
    question: Question,
    data: Data,
    sign: int,
    *,
    switches: Switches,
    monitor: Monitor,
    proved: Proved | None = None,
) -> fast.Result:
    """Make a result that holds the least (sign 1) or largest (−1) value of the first metric.

    For a metric that is a sum over leaves only trees near the best are looked at: the limit starts
    at the least value of all trees, good or not, and widens until a good tree is within it.
    """
    form = affine(question.metrics[0][1])
    if form is None or not form.coefficients or by_depth(question):
        return fast.run(question, data, switches=switches, monitor=monitor)
    plan = make_plan(question, push=switches.push, objective=form.scaled(Fraction(sign)))
    if not any(budget.source == "objective" for budget in plan.budgets):
        return fast.run(question, data, switches=switches, monitor=monitor)
    prepared = prepare(plan, data, switches, monitor)
    budgets, roots = prepared.plan.budgets, prepared.inside.root
    highest = next(b.limit for b in budgets if b.source == "objective")
    least, step = _lower_bound(budgets, roots), 0
    _, scale, constant = plan.reader.reduced(form.scaled(Fraction(sign)))
    bound = least
    while True:
        if proved is not None:
            proved(sign * (scale * bound + constant))
        limit = min(highest, least + step)
        limits = [budget.limit_at(limit) for budget in budgets]
        result = fast.good_cells(circuits.grow(prepared, limits, monitor), monitor)
        if len(result.keys) or limit == highest:
            return result
        bound = limit + 1
        step = max(1, (highest - least) // 1000, 2 * step)


def _lower_bound(budgets: Sequence[Budget], roots: Sequence[int]) -> int:
    """Bound the objective of every good tree from below.

    q · objective + p · other ≥ its least value, and the other is within its own limit; the budget
    of the objective alone bounds it, too.
    """
    bounds = []
    for budget, least in zip(budgets, roots, strict=True):
        if budget.source == "objective":
            bounds.append(least)
        elif budget.mixed and budget.mixed[0][1].source == "objective":
            (q, _), (p, other) = budget.mixed
            bounds.append(-((p * other.limit - least) // q))
    return max(bounds)
