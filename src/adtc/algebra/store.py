"""Terms and formulas as plain JSON, and back, exactly.

What a plan writes is not always what reading its text would give (``-0.5`` reads as minus 0.5, and
long texts are refused), so a saved profile holds the structure: an operator before its operands.
"""

from fractions import Fraction
from typing import Any

from adtc.algebra.expressions import FUNCTIONS
from adtc.algebra.formula import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Formula,
    Name,
    Negate,
    Not,
    Number,
    Or,
    Term,
    Truth,
)

_ARITHMETIC = ("+", "-", "*", "/")


def term_to_json(term: Term) -> Any:
    """Write a term: a number as ``{"number": "1/3"}``, a name as text, the rest as lists.

    Examples
    --------
    >>> from adtc.algebra.formula import parse_term
    >>> term_to_json(parse_term("max(size, 2 * error)"))
    ['max', 'size', ['*', {'number': '2'}, 'error']]
    """
    match term:
        case Number(value):
            return {"number": str(Fraction(value))}
        case Name(name):
            return name
        case Negate(inner):
            return ["-", term_to_json(inner)]
        case Arithmetic(op, left, right):
            return [op, term_to_json(left), term_to_json(right)]
        case Call(function, arguments):
            return [function, *map(term_to_json, arguments)]


def term_from_json(saved: Any) -> Term:
    """Read a term that `term_to_json` wrote."""
    match saved:
        case {"number": str() as value}:
            return Number(Fraction(value))
        case str() as name:
            return Name(name)
        case ["-", inner]:
            return Negate(term_from_json(inner))
        case [str() as op, left, right] if op in _ARITHMETIC:
            return Arithmetic(op, term_from_json(left), term_from_json(right))
        case [str() as function, _, *_] if function in FUNCTIONS:
            return Call(function, tuple(map(term_from_json, saved[1:])))
    raise ValueError(f"not a term: {saved!r}")


def formula_to_json(formula: Formula) -> Any:
    """Write a formula: ``true`` and ``false`` as they are, the rest as lists.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> formula_to_json(parse("not 1 <= size < 4"))
    ['not', ['compare', ['<=', '<'], {'number': '1'}, 'size', {'number': '4'}]]
    """
    match formula:
        case Truth(value):
            return value
        case Not(part):
            return ["not", formula_to_json(part)]
        case And(parts):
            return ["and", *map(formula_to_json, parts)]
        case Or(parts):
            return ["or", *map(formula_to_json, parts)]
        case Comparison(terms, ops):
            return ["compare", list(ops), *map(term_to_json, terms)]


def formula_from_json(saved: Any) -> Formula:
    """Read a formula that `formula_to_json` wrote."""
    match saved:
        case bool() as value:
            return Truth(value)
        case ["not", part]:
            return Not(formula_from_json(part))
        case ["and", *parts]:
            return And(tuple(map(formula_from_json, parts)))
        case ["or", *parts]:
            return Or(tuple(map(formula_from_json, parts)))
        case ["compare", [*ops], *terms]:
            return Comparison(tuple(map(term_from_json, terms)), tuple(ops))
    raise ValueError(f"not a formula: {saved!r}")
