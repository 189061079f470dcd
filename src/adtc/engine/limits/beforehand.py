"""What no tree of a table can beat: a bound on a term that is known before anything is searched.

Exact, but not tight: a gap is never below 0, whether or not a tree reaches that. A search that
has reached the bound is over, where proving it by looking at trees may take hours.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from adtc.algebra.affine import ZERO, Affine, affine, convex, ratio
from adtc.algebra.formula import Call, Negate, Term
from adtc.algebra.metrics import DEPTH, SUPPORT, Primitive
from adtc.data import Data
from adtc.engine.query import Question, row_groups

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
    return lower_limit_within(term, axis_limits(question))


def axis_limits(question: Question) -> dict[str, Range]:
    """Bound the axes of a question, whatever trees there are."""
    return {axis.name: _range(axis, question) for axis in question.axes}


def lower_limit_within(term: Term, limits: Mapping[str, Range]) -> Fraction | None:
    """Return a number that a term over limited axes never falls below; None if unknown."""
    least = _least(term, limits)
    return Fraction(least) if least > -math.inf else None


def always_defined(term: Term) -> bool:
    """Tell whether a term divides by constants only, as far as that can be seen."""
    return convex(term) is not None or convex(Negate(term)) is not None


def _least(term: Term, ranges: Mapping[str, Range]) -> float | Fraction:
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


def _least_form(form: Affine, ranges: Mapping[str, Range]) -> float | Fraction:
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


def no_better(question: Question, data: Data, sign: int) -> Fraction | None:
    """Bound the first metric of all trees from below (sign 1) or above (−1); None if unknown.

    A sum over leaves cannot beat a tree so deep that only equal rows share a leaf.

    Examples
    --------
    >>> import adtc
    >>> from adtc.algebra.semirings import COUNT
    >>> from adtc.engine.query import ask
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 0, 0])
    >>> asked = ask(data, adtc.Space(max_depth=5), semiring=COUNT, metrics=["error"])
    >>> no_better(asked, data, 1)
    Fraction(1, 1)
    """
    term = question.metrics[0][1]
    signed = term if sign > 0 else Negate(term)
    bounds = [lower_limit(signed, question)]
    if (over := ratio(term)) is not None and over[1].coefficients:
        bounds.append(_of_ratio(*over, question, sign))
    form = affine(signed)
    if form is not None and all(_adds_up(name, question) for name in form.coefficients):
        bounds.append(_of_equal_rows(form, question, data))
    known = [bound for bound in bounds if bound is not None]
    return sign * max(known) if known else None


def _of_ratio(top: Affine, bottom: Affine, question: Question, sign: int) -> Fraction | None:
    """Bound a share: what is between none and all of its denominator is between 0 and 1."""
    ranges = axis_limits(question)

    def never_negative(form: Affine) -> bool:
        return _least_form(form, ranges) >= 0

    if sign > 0:
        return Fraction(0) if never_negative(top) and never_negative(bottom) else None
    return Fraction(-1) if never_negative(bottom + top.scaled(Fraction(-1))) else None


def _adds_up(name: str, question: Question) -> bool:
    return any(axis.name == name and axis.functional is not None for axis in question.axes)


def _of_equal_rows(form: Affine, question: Question, data: Data) -> Fraction:
    """Give every kind of equal rows a leaf of its own, with its best label."""
    primitives = {axis.name: axis for axis in question.axes}
    groups, member = row_groups(data)
    kinds = np.unique(np.packbits(data.dense(), axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((int(kinds.max(initial=-1)) + 1, len(groups)), np.int64)
    np.add.at(counts, (kinds, member), data.weights)
    bottom = math.lcm(*(c.denominator for c in form.coefficients.values()))
    weights = np.zeros((question.schema.labels, len(groups)), object)
    leaf = Fraction()
    for name, coefficient in form.coefficients.items():
        functional = primitives[name].functional
        assert functional is not None  # the form adds up over leaves
        leaf += coefficient * functional.per_leaf
        whole = int(coefficient * bottom)
        for label in range(len(weights)):
            weights[label] += [whole * functional.weight(label, group) for group in groups]
    least = (counts.astype(object) @ weights.T).min(axis=1).sum() if len(counts) else 0
    leaves = 1 if leaf >= 0 else min(2**question.space.max_depth, question.space.max_size or 2**62)
    return Fraction(int(least), bottom) + leaf * leaves + form.constant
