"""What no tree of a table can beat: a bound on a term that is known before anything is searched.

Exact, but not tight: a gap is never below 0, whether or not a tree reaches that. A search that
has reached the bound is over, where proving it by looking at trees may take hours.
"""

import math
from fractions import Fraction

from adtc.algebra.affine import ZERO, Affine, convex
from adtc.algebra.formula import Call, Negate, Term
from adtc.algebra.metrics import DEPTH, SUPPORT, Primitive
from adtc.engine.query import Question

Range = tuple[float | Fraction, float | Fraction]
_ANY: Range = (-math.inf, math.inf)


def lower_limit(term: Term, question: Question) -> Fraction | None:
    """Return a number that a term over a question's axes never falls below; None if unknown.

    Examples
    --------
    >>> import adtc
    >>> from adtc.algebra.semirings import COUNT
    >>> from adtc.engine.query import ask
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> space = adtc.Space(max_depth=1)
    >>> asked = ask(data, space, semiring=COUNT, metrics=["abs(error - 1)", "-size"])
    >>> [str(lower_limit(term, asked)) for _, term in asked.metrics]
    ['0', '-2']
    """
    ranges = {axis.name: _range(axis, question) for axis in question.axes}
    least = _least(term, ranges)
    return Fraction(least) if least > -math.inf else None


def always_defined(term: Term) -> bool:
    """Tell whether a term divides by constants only, as far as that can be seen."""
    return convex(term) is not None or convex(Negate(term)) is not None


def _least(term: Term, ranges: dict[str, Range]) -> float | Fraction:
    forms = convex(term)
    if forms is not None:
        # the largest of some numbers is at least their mean; for a gap that is 0
        mean = sum(forms, ZERO).scaled(Fraction(1, len(forms)))
        return max(_least_form(form, ranges) for form in (*forms, mean))
    match term:
        case Call("abs", (inner,)):
            return max(Fraction(0), _least(inner, ranges))
        case Call("max", arguments):
            return max(_least(argument, ranges) for argument in arguments)
        case Call("min", arguments):
            return min(_least(argument, ranges) for argument in arguments)
    return -math.inf


def _least_form(form: Affine, ranges: dict[str, Range]) -> float | Fraction:
    least: float | Fraction = form.constant
    for name, coefficient in form.coefficients.items():
        low, high = ranges.get(name, _ANY)
        bound = low if coefficient > 0 else high
        if math.isinf(bound):
            return -math.inf
        least += coefficient * bound
    return least


def _range(axis: Primitive, question: Question) -> Range:
    """Bound a primitive metric: every row reaches one leaf, which has one label."""
    space, rows = question.space, question.schema.total
    if axis is DEPTH:
        return Fraction(0), Fraction(space.max_depth)
    if axis is SUPPORT:
        return Fraction(0), Fraction(rows)
    if axis.functional is None:
        return _ANY
    leaves = min(2**space.max_depth, space.max_size or math.inf)
    ends = [axis.functional.per_leaf * n for n in (1, int(leaves))]
    low, high = min(ends), max(ends)
    for group, n in question.schema.totals.items():
        weights = [axis.functional.weight(label, group) for label in range(question.schema.labels)]
        low, high = low + n * min(weights), high + n * max(weights)
    return Fraction(low), Fraction(high)
