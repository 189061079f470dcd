"""Constraint formulas φ (Sec. 2.4) and what they mean: the door to the constraint language.

Numbers are exact fractions: ``0.1`` is 1/10. A ratio with an empty denominator is undefined
(None), and so is every comparison it is part of; a tree is φ-good only where φ is True.
``parse(str(x)) == x`` for all that ``parse`` returns. Which metrics exist is not checked here.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, overload

from adtc.algebra.expressions import (
    EXTREMES,
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
    all_of,
    any_of,
)
from adtc.algebra.parser import parse, parse_term
from adtc.algebra.tokens import MAX_LENGTH, locate, syntax_error
from adtc.errors import QueryError, UnknownMetricError, unknown

__all__ = [
    "MAX_LENGTH",
    "And",
    "Arithmetic",
    "Call",
    "Comparison",
    "Environment",
    "Formula",
    "Name",
    "Negate",
    "Not",
    "Number",
    "Or",
    "Term",
    "Truth",
    "all_of",
    "any_of",
    "constant",
    "holds",
    "locate",
    "names",
    "parse",
    "parse_term",
    "settle",
    "substitute",
    "syntax_error",
    "value",
]

Environment = Mapping[str, int | Fraction | None]
"""What each metric is worth for a tree; None: undefined."""

Find = Callable[[Call], Fraction | None]
"""What ``least(…)`` or ``largest(…)`` is worth; None where the term is defined on no tree."""

_ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_RELATIONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}
_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "abs": lambda arguments: abs(arguments[0]),
    "max": max,
    "min": min,
}
_UNDEFINED = Arithmetic("/", Number(Fraction(1)), Number(Fraction()))


def value(term: Term, env: Environment) -> Fraction | None:
    """Compute a term exactly; None if it divides by zero or uses an undefined metric.

    Examples
    --------
    >>> value(parse_term("(N11 + N00) / N"), {"N11": 1, "N00": 1, "N": 3})
    Fraction(2, 3)
    >>> value(parse_term("0 * (N11 / N)"), {"N11": 0, "N": 0}) is None
    True
    """
    match term:
        case Number(number):
            return number
        case Name(name):
            return _look_up(name, env)
        case Negate(inner):
            positive = value(inner, env)
            return None if positive is None else -positive
        case Arithmetic(op, left_term, right_term):
            left, right = value(left_term, env), value(right_term, env)
            if left is None or right is None or (op == "/" and right == 0):
                return None
            return _ARITHMETIC[op](left, right)
        case Call(function) if function in EXTREMES:
            raise QueryError(f"'{term}' is about all trees, so a single one does not tell it.")
        case Call(function, arguments):
            numbers = [value(argument, env) for argument in arguments]
            defined = [number for number in numbers if number is not None]
            return _FUNCTIONS[function](defined) if len(defined) == len(numbers) else None


def holds(formula: Formula, env: Environment) -> bool | None:
    """Decide a formula in Kleene's three-valued logic; None: undefined.

    False decides "and" and True decides "or" even where another part is undefined.

    Examples
    --------
    >>> holds(parse("0.1 + 0.2 = 0.3"), {})
    True
    >>> print(holds(parse("not f1 >= 0.8"), {"f1": None}))
    None

    Notes
    -----
    (t, S) ⊨ φ of Sec. 2.4 is ``holds(φ, metrics of t) is True``.
    """
    match formula:
        case Truth(truth):
            return truth
        case Not(part):
            return _negate(holds(part, env))
        case And(parts):
            return _kleene_and([holds(part, env) for part in parts])
        case Or(parts):
            return _negate(_kleene_and([_negate(holds(part, env)) for part in parts]))
        case Comparison(terms, ops):
            numbers = [value(term, env) for term in terms]
            links = zip(numbers, ops, numbers[1:], strict=False)
            return _kleene_and([_compare(a, op, b) for a, op, b in links])


def constant(term: Term) -> Fraction | None:
    """Give the value of a term without metrics; None if it has some or is undefined."""
    return None if names(term) else value(term, {})


def names(x: Term | Formula) -> frozenset[str]:
    """Collect the metrics that a term or formula mentions.

    Examples
    --------
    >>> sorted(names(parse("size <= 4 and error <= 0.05·N")))
    ['N', 'error', 'size']
    """
    found, left = set(), [x]
    while left:
        here = left.pop()
        if isinstance(here, Name):
            found.add(here.name)
        else:
            left.extend(_children(here))
    return frozenset(found)


@overload
def substitute(x: Term, terms: Mapping[str, Term]) -> Term: ...
@overload
def substitute(x: Formula, terms: Mapping[str, Term]) -> Formula: ...
def substitute(x: Term | Formula, terms: Mapping[str, Term]) -> Term | Formula:
    """Replace metrics by terms, all at once; names without a term stay.

    Examples
    --------
    >>> str(substitute(parse("acc >= 0.9"), {"acc": parse_term("(N11 + N00) / N")}))
    '(N11 + N00) / N >= 0.9'
    """

    def meaning(term: Term) -> Term:
        return terms.get(term.name, term) if isinstance(term, Name) else term

    replaced: Term | Formula = _changed(x, meaning)
    return replaced


@overload
def settle(x: Term, find: Find) -> Term: ...
@overload
def settle(x: Formula, find: Find) -> Formula: ...
def settle(x: Term | Formula, find: Find) -> Term | Formula:
    """Replace every ``least(…)`` and ``largest(…)`` by its value, which ``find`` knows.

    Examples
    --------
    >>> str(settle(parse("error <= 1.05 * least(error)"), lambda call: Fraction(100)))
    'error <= 1.05 * 100'
    """

    def number(term: Term) -> Term:
        match term:
            case Call(function) if function in EXTREMES:
                found = find(term)
                return _UNDEFINED if found is None else Number(found)
        return term

    settled: Term | Formula = _changed(x, number)
    return settled


def _changed(x: Any, change: Callable[[Term], Term]) -> Any:
    """Rebuild a term or formula from below, with every term in it changed."""
    match x:
        case Name() | Number():
            return change(x)
        case Truth():
            return x
        case Negate(term):
            return change(Negate(_changed(term, change)))
        case Arithmetic(op, left, right):
            return change(Arithmetic(op, _changed(left, change), _changed(right, change)))
        case Call(function, arguments):
            return change(Call(function, tuple(_changed(a, change) for a in arguments)))
        case Comparison(compared, ops):
            return Comparison(tuple(_changed(t, change) for t in compared), ops)
        case And(parts):
            return And(tuple(_changed(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(_changed(part, change) for part in parts))
        case Not(part):
            return Not(_changed(part, change))
    raise TypeError(f"neither a term nor a formula: {x!r}")


def _look_up(name: str, env: Environment) -> Fraction | None:
    try:
        number = env[name]
    except KeyError:
        raise UnknownMetricError(unknown("metric", name, env)) from None
    if number is None or isinstance(number, Fraction):
        return number
    # index() turns NumPy integers, which wrap, into Python's and refuses floats
    return Fraction(operator.index(number))


def _compare(a: Fraction | None, op: str, b: Fraction | None) -> bool | None:
    return None if a is None or b is None else _RELATIONS[op](a, b)


def _negate(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _kleene_and(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def _children(x: Term | Formula) -> Iterator[Term | Formula]:
    match x:
        case Negate(child) | Not(child):
            yield child
        case Arithmetic(_, left, right):
            yield left
            yield right
        case Call(_, children) | Comparison(children, _) | And(children) | Or(children):
            yield from children
