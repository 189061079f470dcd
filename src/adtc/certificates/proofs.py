"""One linear form that shows how few trees can satisfy a formula, or that none does.

Every tree that satisfies a formula has a ≤ 0 and b ≤ 0 for some linear forms of counts, so also
a + μ·b ≤ 0 for every μ ≥ 0. If the least value of that sum over all trees is above 0, no tree
satisfies the formula. As a function of μ the least value is concave, and each tree found gives a
line above it: the best μ is where two such lines meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adtc.algebra.formula import Call, parse, settle
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

    def proof(self, where: str, *, none: bool) -> dict[str, Any] | None:
        """Find multipliers of a formula's bounds; None if it bounds no linear form.

        Parameters
        ----------
        none
            Whether no tree satisfies the formula, so that a form may prove it. Otherwise the form
            only tells which trees need not be looked at.
        """
        bounds = self._bounds(where)
        if not bounds or self._optimize(minimize="size").tree is None:
            return None  # where the space is empty, there is no least value either
        alone = {at: self._least(form)[0] for at, (form, _) in bounds.items()}
        if none:
            for at, least in alone.items():
                if _above(least, bounds[at][1]):
                    return _written(bounds, [(at, Fraction(1))], least)
        first = max(bounds, key=lambda at: self._tightness(bounds[at][0]))
        best, multiplier, partner = alone[first], Fraction(), first
        for other in [at for at in bounds if at != first][:_PARTNERS]:
            below = bounds[first][1] or bounds[other][1]
            found = self._best(bounds[first][0], bounds[other][0], below, stop=none)
            if found is None:
                continue
            if none and _above(found[1], below):
                return _written(bounds, [(first, Fraction(1)), (other, found[0])], found[1])
            if found[1] > best:
                best, multiplier, partner = found[1], found[0], other
        added = [(partner, multiplier)] if multiplier else []
        return _written(bounds, [(first, Fraction(1)), *added], None)

    def _bounds(self, where: str) -> Bounds:
        """List what a formula bounds, by the numbers that the verifier gives to bounds."""
        settled = settle(parse(where, max_length=10**6), self._extreme)
        formulas = plain.Formulas(self.reading, self.define)
        bounds = formulas.bounds(formulas.read(str(settled)))
        return {at: bound for at, bound in enumerate(bounds) if set(bound[0]) - {""}}

    def _extreme(self, call: Call) -> Fraction | None:
        term = str(call.arguments[0])
        least = call.function == "least"
        found = self._optimize(minimize=term) if least else self._optimize(maximize=term)
        return None if found.value is None else Fraction(found.value)

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
        whole = plain.whole(form)
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
        formulas = plain.Formulas(self.reading, self.define)
        low = high = form.get("", Fraction())
        weights = {name: formulas.weight(name) for name in form.keys() - {"", "size"}}
        for kind, n in self._kinds().items():
            values = [
                sum((form[name] * weights[name](label, *kind) for name in weights), Fraction())
                for label in range(len(self.reading.labels))
            ]
            low, high = low + n * min(values), high + n * max(values)
        return high / max(high - low, Fraction(1, 10**9))

    def _kinds(self) -> dict[tuple[int, ...], int]:
        found: dict[tuple[int, ...], int] = {}
        for kind, n in zip(self.reading.kinds(), self.reading.weights, strict=True):
            found[kind] = found.get(kind, 0) + n
        return found

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
            form = plain.linear((Fraction(1), a), (multiplier, b))
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


def _written(
    bounds: Bounds, multipliers: list[tuple[int, Fraction]], least: Fraction | None
) -> dict[str, Any]:
    form = plain.linear(*((by, bounds[at][0]) for at, by in multipliers))
    return {
        "multipliers": [[at, str(by)] for at, by in multipliers],
        "form": plain.in_terms(form),
        "least": plain.exact(least),
    }
