"""Terms and formulas on whole columns of integers, exactly.

A value is a column of numerators over a column of denominators; a zero denominator means
undefined. Columns are int64 while the largest possible result fits, Python integers beyond.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import Affine, affine
from adtc.algebra.formula import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Formula,
    Negate,
    Not,
    Or,
    Term,
    Truth,
)

Column = npt.NDArray[Any]  # int64, or object holding Python integers
Truths = npt.NDArray[np.bool_]
_FITS = 2**62
_ROUNDED = 2.0**-50  # relative: more than a quotient of two integers is off as a float
_RELATIONS = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "=": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Ratios:
    """``top`` / ``bottom`` row by row; ``bottom`` is never negative and 0 where undefined."""

    top: Column
    bottom: Column


# Where columns come from: the value of an affine form in every row.
Lookup = Callable[[Affine], Ratios]


def evaluate(term: Term, lookup: Lookup) -> Ratios:
    """Evaluate a term row by row; its largest affine parts come from ``lookup``."""
    form = affine(term)
    if form is not None:
        return lookup(form)
    match term:
        case Negate(inner):
            value = evaluate(inner, lookup)
            return Ratios(-value.top, value.bottom)
        case Call("abs", (inner,)):
            value = evaluate(inner, lookup)
            return Ratios(np.abs(value.top), value.bottom)
        case Call(function, arguments):
            best, *others = (evaluate(argument, lookup) for argument in arguments)
            for value in others:
                best = choose(function, best, value)
            return best
        case Arithmetic(op, left, right):
            return arithmetic(op, evaluate(left, lookup), evaluate(right, lookup))
    raise TypeError(f"not a term: {term!r}")


def satisfied(formula: Formula, lookup: Lookup, rows: int) -> Truths:
    """Tell row by row whether a formula holds; an undefined atom makes it hold for nobody."""
    return _truth(formula, lookup, rows)[0]


def _truth(formula: Formula, lookup: Lookup, rows: int) -> tuple[Truths, Truths]:
    """Return where a formula is true and where it is false; undefined is neither (Kleene)."""
    match formula:
        case Truth(value):
            return np.full(rows, value), np.full(rows, not value)
        case Not(part):
            true, false = _truth(part, lookup, rows)
            return false, true
        case And(members):
            return _all([_truth(member, lookup, rows) for member in members], rows)
        case Or(members):
            false, true = _all([_truth(member, lookup, rows)[::-1] for member in members], rows)
            return true, false
        case Comparison(terms, ops):
            pairs = zip(ops, differences(terms), strict=True)
            return _all([_sign(op, evaluate(difference, lookup)) for op, difference in pairs], rows)
    raise TypeError(f"not a formula: {formula!r}")


def _all(parts: list[tuple[Truths, Truths]], rows: int) -> tuple[Truths, Truths]:
    """Join parts by "and": true where all are, also if there are none; false where one is."""
    true, false = np.full(rows, True), np.full(rows, False)
    for part_true, part_false in parts:
        true &= part_true
        false |= part_false
    return true, false


def differences(terms: Sequence[Term]) -> list[Term]:
    """Return each term of a chain minus the next: a comparison is about the sign of these."""
    return [Arithmetic("-", a, b) for a, b in itertools.pairwise(terms)]


def fractions(value: Ratios) -> list[Fraction | None]:
    """Return a column as exact fractions, None where undefined."""
    pairs = zip(value.top.tolist(), value.bottom.tolist(), strict=True)
    return [Fraction(top, bottom) if bottom else None for top, bottom in pairs]


def from_columns(columns: Mapping[str, Column], rows: int) -> Lookup:
    """Make the lookup of affine forms over named columns of whole numbers."""

    def value(form: Affine) -> Ratios:
        chosen = [columns[name] for name in form.coefficients]
        return combine(tuple(form.coefficients.values()), form.constant, chosen, rows)

    return value


def reduced(value: Ratios) -> Ratios:
    """Cancel common factors, so that equal values look equal; undefined becomes 0/0."""
    bottom = value.bottom
    top = np.where(bottom == 0, 0, value.top)
    divisor = np.gcd(top, bottom)
    divisor = np.where(divisor == 0, 1, divisor)
    return Ratios(top // divisor, bottom // divisor)


def less(a: Ratios, b: Ratios) -> Truths:
    """Tell row by row whether a < b, by cross-multiplication; both must be defined."""
    found: Truths = (_product(a.top, b.bottom) < _product(b.top, a.bottom)).astype(bool)
    return found


def least_at(value: Ratios, sign: int) -> int | None:
    """Find the row with the least value (largest if ``sign`` is −1); None if none is defined.

    Floats only choose the candidates; fractions decide among them.
    """
    if len(value.bottom) and bool(np.all(value.bottom == value.bottom[0])):
        at = value.top.argmin() if sign > 0 else value.top.argmax()
        return int(at) if value.bottom[0] else None
    rows = np.flatnonzero(value.bottom != 0)
    if not len(rows):
        return None
    near = floats(Ratios(sign * value.top[rows], value.bottom[rows]))
    least = near.min()
    rows = rows[near <= least + _ROUNDED * abs(least)]
    best = int(rows[0])
    while len(rows):  # many rows share one value: those that are better are few, and soon none
        best = int(rows[0])
        one = Ratios(sign * value.top[best : best + 1], value.bottom[best : best + 1])
        rows = rows[less(Ratios(sign * value.top[rows], value.bottom[rows]), one)]
    return best


def ascending_rows(value: Ratios) -> npt.NDArray[np.intp]:
    """Put the rows that are defined in order; those of equal values come in any order.

    Floats propose an order, and whole numbers confirm it where two floats are close.

    Examples
    --------
    >>> ascending_rows(Ratios(np.array([2, 1, 1, 0]), np.array([3, 1, 2, 0]))).tolist()
    [2, 0, 1]
    """
    near = floats(value)
    near[(value.bottom == 0).astype(bool)] = np.inf  # last
    rows = np.argsort(near)[: np.count_nonzero(value.bottom)]
    near = near[rows]
    close = np.flatnonzero(near[1:] - near[:-1] <= 2 * _ROUNDED * np.abs(near[1:]))
    left, right = (Ratios(value.top[at], value.bottom[at]) for at in (rows[close], rows[close + 1]))
    differ = ((left.top != right.top) | (left.bottom != right.bottom)).astype(bool)
    left, right = (Ratios(part.top[differ], part.bottom[differ]) for part in (left, right))
    if bool(less(right, left).any()):
        found = [Fraction(int(value.top[row]), int(value.bottom[row])) for row in rows]
        rows = rows[sorted(range(len(found)), key=found.__getitem__)]
    return rows


def floats(value: Ratios) -> npt.NDArray[np.float64]:
    """Return a column as floats, each off by less than 2^−50 of itself; undefined becomes 0."""
    undefined = (value.bottom == 0).astype(bool)
    near, bottom = value.top.astype(np.float64), value.bottom.astype(np.float64)
    near[undefined], bottom[undefined] = 0, 1
    near /= bottom
    return near


def extreme(value: Ratios, sign: int) -> Fraction | None:
    """Return the least value (largest if ``sign`` is −1); None if none is defined."""
    at = least_at(value, sign)
    return None if at is None else Fraction(int(value.top[at]), int(value.bottom[at]))


def combine(
    coefficients: Sequence[Fraction], constant: Fraction, columns: Sequence[Column], rows: int
) -> Ratios:
    """Return the column of Σ coefficient · column + constant, exactly."""
    scale = math.lcm(constant.denominator, *(c.denominator for c in coefficients))
    start, *factors = (c.numerator * (scale // c.denominator) for c in (constant, *coefficients))
    terms = [(c, column) for c, column in zip(factors, columns, strict=True) if c]
    bound = abs(start) + sum(abs(c) * largest(column) for c, column in terms)
    total = _column(rows, start, max(bound, scale))
    for c, column in terms:
        total = total + c * column.astype(total.dtype)
    return Ratios(total, np.full(rows, scale, total.dtype))


def _column(rows: int, value: int, bound: int) -> Column:
    return np.full(rows, value, np.int64 if bound < _FITS else object)


def largest(column: Column) -> int:
    """Return the largest absolute value, 0 if there is none."""
    return max(-int(column.min()), int(column.max())) if len(column) else 0


def _product(a: Column, b: Column) -> Column:
    """Multiply exactly: as Python integers where int64 might not do."""
    if object in (a.dtype, b.dtype) or largest(a) * largest(b) >= _FITS:
        a, b = a.astype(object), b.astype(object)
    product: Column = a * b
    return product


def _sum(a: Column, b: Column) -> Column:
    if object in (a.dtype, b.dtype) or largest(a) + largest(b) >= _FITS:
        a, b = a.astype(object), b.astype(object)
    total: Column = a + b
    return total


def arithmetic(op: str, a: Ratios, b: Ratios) -> Ratios:
    """Combine two columns by ``+``, ``-``, ``*`` or ``/``."""
    if op in "+-":
        right = b.top if op == "+" else -b.top
        if len(a.top) and np.array_equal(a.bottom, b.bottom):
            return Ratios(_sum(a.top, right), a.bottom)
        top = _sum(_product(a.top, b.bottom), _product(right, a.bottom))
        return Ratios(top, _product(a.bottom, b.bottom))
    if op == "*":
        return Ratios(_product(a.top, b.top), _product(a.bottom, b.bottom))
    # a / b: where b's numerator is negative both signs turn; where b is undefined so is the ratio
    sign = np.where(b.top < 0, -1, 1)
    top = _product(_product(a.top, b.bottom), sign)
    bottom = _product(_product(a.bottom, b.top), sign)
    return Ratios(top, np.where(b.bottom == 0, 0, bottom))


def choose(function: str, a: Ratios, b: Ratios) -> Ratios:
    """Take the larger (``max``) or smaller (``min``) value; undefined stays undefined."""
    left, right = _product(a.top, b.bottom), _product(b.top, a.bottom)
    first = left >= right if function == "max" else left <= right
    bottom = np.where(first, a.bottom, b.bottom)
    undefined = (a.bottom == 0) | (b.bottom == 0)
    return Ratios(np.where(first, a.top, b.top), np.where(undefined, 0, bottom))


def _sign(op: str, difference: Ratios) -> tuple[Truths, Truths]:
    """Compare with zero: where it holds and where it does not; undefined is neither."""
    defined = (difference.bottom != 0).astype(bool)
    holds = _RELATIONS[op](difference.top, 0).astype(bool)
    return holds & defined, ~holds & defined
