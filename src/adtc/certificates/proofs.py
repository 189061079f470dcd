"""One linear form that shows how few trees can satisfy a formula, or that none does.

Every tree that satisfies a formula has a ≤ 0 and b ≤ 0 for some linear forms of counts, so also
a + μ·b ≤ 0 for every μ ≥ 0. If the least value of that sum over all trees is above 0, no tree
satisfies the formula. As a function of μ the least value is concave, and each tree found gives a
line above it: the best μ is where two such lines meet.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adtc.algebra.trees import Tree
from adtc.certificates import verify as plain
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.questions import optimize
from adtc.engine.results import Optimum
from adtc.engine.score import score

_STEPS = 12
_PARTNERS = 6  # further bounds that are tried together with the tightest one
_ROUGH = (1, 10, 1_000, 10**6)  # largest denominators of a multiplier, simple ones first

Bounds = dict[int, tuple[plain.Form, bool]]  # by number: a form at most 0, or if True below 0


@dataclass(frozen=True, slots=True)
class Prover:
    """Looks for linear forms in one space of trees.

    Parameters
    ----------
    reading
        The table, as the code that checks certificates sees it.
    """

    data: Data
    space: Space
    reading: plain.Reading
    define: dict[str, str]
    monitor: Monitor | None = None

    def proof(self, formula: Any, *, none: bool) -> dict[str, Any] | None:
        """Find multipliers of a formula's bounds; None if it bounds no linear form.

        Parameters
        ----------
        formula
            Nested lists over counts alone, as the verifier reads them.
        none
            Whether no tree satisfies the formula, so that a form may prove it. Otherwise the form
            only tells which trees need not be looked at.
        """
        found = enumerate(plain.bounds(formula))
        bounds = {at: bound for at, bound in found if set(bound[0]) - {""}}
        if not bounds or self._optimize(minimize="size").tree is None:
            return None  # where the space is empty, there is no least value either
        alone = {at: self._least(form)[0] for at, (form, _) in bounds.items()}
        if none:
            for at, least in alone.items():
                if _above(least, bounds[at][1]):
                    return self._written(bounds, [(at, Fraction(1))])
        first = max(bounds, key=lambda at: self._tightness(bounds[at][0]))
        best, multiplier, partner = alone[first], Fraction(), first
        for other in [at for at in bounds if at != first][:_PARTNERS]:
            below = bounds[first][1] or bounds[other][1]
            meet = self._best(bounds[first][0], bounds[other][0], below, stop=none)
            if meet is None:
                continue
            if none and _above(meet[1], below):
                return self._written(bounds, [(first, Fraction(1)), (other, meet[0])])
            if meet[1] > best:
                best, multiplier, partner = meet[1], meet[0], other
        added = [(partner, multiplier)] if multiplier else []
        return self._written(bounds, [(first, Fraction(1)), *added])

    def _written(self, bounds: Bounds, multipliers: list[tuple[int, Fraction]]) -> dict[str, Any]:
        """Write a proof with the form in whole numbers, at most 0 on good trees, and its least."""
        form = plain.whole([(by, *bounds[at]) for at, by in multipliers])
        return {
            "multipliers": [[at, str(by)] for at, by in multipliers],
            "form": plain.in_terms(form),
            "least": str(self._least(form)[0]) if set(form) - {""} else str(form.get("", 0)),
        }

    def _optimize(self, *, minimize: str | None = None, maximize: str | None = None) -> Optimum:
        return optimize(
            self.data,
            self.space,
            minimize=minimize,
            maximize=maximize,
            define=self.define,
            monitor=self.monitor,
        )

    def _least(self, form: plain.Form) -> tuple[Fraction, Tree]:
        """Find the least value of a form over all trees, and a tree that has it."""
        whole = plain.whole([(Fraction(1), form, False)])
        found = self._optimize(minimize=_text(whole))
        assert found.value is not None  # there are trees, and a linear form is always defined
        assert found.tree is not None
        name = next(iter(form))
        return Fraction(found.value) * form[name] / whole[name], found.tree

    def _value(self, form: plain.Form, tree: Tree) -> Fraction:
        text = _text(form)
        return Fraction(score(tree, self.data, [text], define=self.define)[text] or 0)

    def _tightness(self, form: plain.Form) -> Fraction:
        """Tell how much of a form's range, over all ways to label the rows, is above 0."""
        low = high = form.get("", Fraction())
        counters = {name: self.reading.counter(name) for name in form.keys() - {"", "size"}}
        rows = Counter[tuple[int, ...]]()
        for kind, n in zip(self.reading.kinds, self.reading.weights, strict=True):
            rows[kind] += n
        for kind, n in rows.items():
            values = [
                sum(
                    (form[name] * counts(label, *kind) for name, counts in counters.items()),
                    low * 0,
                )
                for label in range(len(self.reading.labels))
            ]
            low, high = low + n * min(values), high + n * max(values)
        return high / max(high - low, Fraction(1, 10**9))

    def _best(
        self, a: plain.Form, b: plain.Form, below: bool, *, stop: bool
    ) -> tuple[Fraction, Fraction] | None:
        """Find the multiplier of b with which the least value of a + μ·b is largest.

        With ``stop``, one that makes it positive will do. None if b does not help.
        """
        left, right = self._least(a)[1], self._least(b)[1]
        ends = [[self._value(form, tree) for form in (a, b)] for tree in (left, right)]
        if ends[0][1] <= 0 or ends[1][1] >= 0:
            return None
        best = None
        for _ in range(_STEPS):
            (a0, b0), (a1, b1) = ends
            multiplier = _simple((a1 - a0) / (b0 - b1), ends)
            if multiplier <= 0:
                break
            form = plain.linear((1, a), (multiplier, b))
            if not set(form) - {""}:
                break  # the two bound one form from both sides, and their sum bounds nothing
            least, tree = self._least(form)
            if best is None or least > best[1]:
                best = multiplier, least
            if stop and _above(least, below):
                break
            found = [self._value(form, tree) for form in (a, b)]
            if found[0] + multiplier * found[1] >= a0 + multiplier * b0 or found[1] == 0:
                break  # the two lines meet at the largest value
            ends[0 if found[1] > 0 else 1] = found
        return best


def _above(least: Fraction, below: bool) -> bool:
    return least > 0 or (below and least == 0)


def _simple(multiplier: Fraction, ends: Sequence[Sequence[Fraction]]) -> Fraction:
    """Round a multiplier while that lowers the value where the lines meet by little."""
    (a0, b0), (a1, b1) = ends
    meet = a0 + multiplier * b0
    slack = abs(meet) / 1000 + Fraction(1, 10**6)
    for finest in _ROUGH:
        near = multiplier.limit_denominator(finest)
        if near > 0 and min(a0 + near * b0, a1 + near * b1) >= meet - slack:
            return near
    return multiplier


def _text(form: plain.Form) -> str:
    """Write a form as a term."""
    return " + ".join(f"({c}) * {name}" if name else f"({c})" for name, c in form.items())
