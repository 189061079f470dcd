"""Terms and formulas where columns are only known between two ends, exactly.

Whatever values lie between the ends, the term's lies between the ends found here (interval
arithmetic on whole numbers). A division by what may be 0 tells nothing: the row is *open*.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

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
from adtc.engine.exact.columns import Ratios, Truths, arithmetic, choose, differences, less

Ends = Callable[[Affine], tuple[Ratios, Ratios]]


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the largest value of a term, row by row.

    Parameters
    ----------
    open
        Where nothing is known: the value may be undefined, too.
    undefined
        Where it certainly is.
    """

    low: Ratios
    high: Ratios
    open: Truths
    undefined: Truths


def evaluate_range(term: Term, ends: Ends) -> Range:
    """Bound a term row by row; its largest affine parts come from ``ends``."""
    form = affine(term)
    if form is not None:
        low, high = ends(form)
        nowhere = np.zeros(len(low.top), bool)
        return Range(low, high, nowhere, nowhere)
    match term:
        case Negate(inner):
            return _negated(evaluate_range(inner, ends))
        case Call("abs", (inner,)):
            found = evaluate_range(inner, ends)
            other = _negated(found)
            high = choose("max", found.high, other.high)
            low = choose("max", choose("max", found.low, other.low), _zero(found.low))
            return Range(low, high, found.open, found.undefined)
        case Call(function, arguments):
            best, *others = (evaluate_range(argument, ends) for argument in arguments)
            for one in others:
                best = Range(
                    choose(function, best.low, one.low),
                    choose(function, best.high, one.high),
                    best.open | one.open,
                    best.undefined | one.undefined,
                )
            return best
        case Arithmetic(op, left, right):
            return _arithmetic(op, evaluate_range(left, ends), evaluate_range(right, ends))
    raise TypeError(f"not a term: {term!r}")


def truth_range(formula: Formula, ends: Ends, rows: int) -> tuple[Truths, Truths]:
    """Tell row by row where a formula holds for certain, and where it may hold."""
    sure, false = _truth(formula, ends, rows)
    return sure, ~false


def _truth(formula: Formula, ends: Ends, rows: int) -> tuple[Truths, Truths]:
    """Return where a formula is certainly true, and where it is certainly not true."""
    match formula:
        case Truth(value):
            return np.full(rows, value), np.full(rows, not value)
        case Not(Comparison()):
            # what is undefined is not true either way, so only defined values decide
            _, _, false, unrefuted = _compared(formula.part, ends, rows)
            return false, unrefuted
        case Not(part):
            sure, false = _truth(_pushed_in(part), ends, rows)
            return sure, false
        case And(members) | Or(members):
            parts = [_truth(member, ends, rows) for member in members]
            every = isinstance(formula, And)
            join, meet = (
                (np.logical_and, np.logical_or) if every else (np.logical_or, np.logical_and)
            )
            sure, false = np.full(rows, every), np.full(rows, not every)
            for one, other in parts:
                sure, false = join(sure, one), meet(false, other)
            return sure, false
        case Comparison():
            sure, possible, *_ = _compared(formula, ends, rows)
            return sure, ~possible
    raise TypeError(f"not a formula: {formula!r}")


def _pushed_in(part: Formula) -> Formula:
    """Write the negation of a formula with negations at its atoms only."""
    match part:
        case Not(inner):
            return inner
        case Truth(value):
            return Truth(not value)
        case And(members):
            return Or(tuple(Not(member) for member in members))
        case Or(members):
            return And(tuple(Not(member) for member in members))
    raise TypeError(f"not a formula: {part!r}")


def _compared(formula: Formula, ends: Ends, rows: int) -> tuple[Truths, Truths, Truths, Truths]:
    """Return where a comparison certainly holds, may, is certainly false, and certainly is not.

    What is undefined is neither true nor false; one link of a chain that is false makes it false.
    """
    assert isinstance(formula, Comparison)
    sure, possible, false, unrefuted = (np.full(rows, start) for start in (True, True, False, True))
    for op, difference in zip(formula.ops, differences(formula.terms), strict=True):
        found = evaluate_range(difference, ends)
        holds, may = _sign(op, found)
        holds &= ~found.open
        sure &= holds
        possible &= (may | found.open) & ~found.undefined
        false |= ~may & ~found.open
        unrefuted &= holds | found.undefined
    return sure, possible, false, unrefuted


def _sign(op: str, found: Range) -> tuple[Truths, Truths]:
    """Compare with zero: where all values between the ends do it, and where some may."""
    low, high = found.low.top, found.high.top  # denominators are positive
    sure, may = {
        "<=": (high <= 0, low <= 0),
        "<": (high < 0, low < 0),
        ">=": (low >= 0, high >= 0),
        ">": (low > 0, high > 0),
        "=": ((low == 0) & (high == 0), (low <= 0) & (high >= 0)),
        "!=": ((low > 0) | (high < 0), (low != 0) | (high != 0)),
    }[op]
    return sure.astype(bool), may.astype(bool)


def _negated(found: Range) -> Range:
    low, high = found.low, found.high
    ends = Ratios(-high.top, high.bottom), Ratios(-low.top, low.bottom)
    return Range(*ends, found.open, found.undefined)


def _zero(like: Ratios) -> Ratios:
    return Ratios(np.zeros_like(like.top), np.ones_like(like.bottom))


def _arithmetic(op: str, a: Range, b: Range) -> Range:
    known = a.open | b.open, a.undefined | b.undefined
    if op == "+":
        return Range(arithmetic("+", a.low, b.low), arithmetic("+", a.high, b.high), *known)
    if op == "-":
        return Range(arithmetic("-", a.low, b.high), arithmetic("-", a.high, b.low), *known)
    if op == "/":
        # a denominator that may be 0 tells nothing, one that is 0 that there is no value
        zero = ((b.low.top <= 0) & (b.high.top >= 0)).astype(bool)
        none = ((b.low.top == 0) & (b.high.top == 0)).astype(bool)
        known = known[0] | zero, known[1] | (none & ~b.open)
        b = Range(_safe(b.low, zero), _safe(b.high, zero), *known)
    corners = [arithmetic(op, x, y) for x, y in itertools.product((a.low, a.high), (b.low, b.high))]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = choose("min", low, corner), choose("max", high, corner)
    return Range(low, high, *known)


def _safe(value: Ratios, zero: Truths) -> Ratios:
    """Put 1 where a denominator may be 0."""
    return Ratios(np.where(zero, 1, value.top), np.where(zero, 1, value.bottom))


def below(found: Range, edge: Ratios) -> tuple[Truths, Truths]:
    """Tell which rows certainly lie below an edge, and which may."""
    may = (less(found.low, edge) | found.open) & ~found.undefined
    return less(found.high, edge) & ~found.open, may


def above(found: Range, edge: Ratios) -> tuple[Truths, Truths]:
    """Tell which rows certainly lie above an edge, and which may."""
    may = (less(edge, found.high) | found.open) & ~found.undefined
    return less(edge, found.low) & ~found.open, may


def inside(found: Range, low: Ratios, high: Ratios, *, closed: bool) -> tuple[Truths, Truths]:
    """Tell which rows certainly lie in low ≤ value < high (≤ if closed), and which may."""
    above, may_above = ~less(found.low, low), ~less(found.high, low)
    if closed:
        below, may_below = ~less(high, found.high), ~less(high, found.low)
    else:
        below, may_below = less(found.high, high), less(found.low, high)
    may = ((may_above & may_below) | found.open) & ~found.undefined
    return above & below & ~found.open, may
