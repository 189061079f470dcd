"""Formulas as a certificate holds them: nested lists over counts, and what each metric stands for.

Negation is pushed inward (``not a <= b`` is ``a > b``, undefined where that is), so that the code
that checks certificates needs no third truth value.
"""

import re
from collections.abc import Mapping
from typing import Any

from adtc.algebra.expressions import (
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
from adtc.algebra.formula import names
from adtc.algebra.metrics import Primitive, Vocabulary
from adtc.certificates import verify as plain
from adtc.data import Data
from adtc.engine.query import schema_of
from adtc.errors import QueryError

_OPPOSITE = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "=": "!=", "!=": "="}
_SHORT = re.compile(r"N(\d)(\d)(\d?)")


def expression(x: Formula | Term, *, denied: bool = False) -> Any:
    """Write a formula or term as nested lists; ``denied``: write its negation.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> expression(parse("not (0.1 < acc <= 1 or N11 = 3)"))
    ['and', ['or', ['>=', '0.1', 'acc'], ['>', 'acc', '1']], ['!=', 'N[1,1]', '3']]
    """
    match x:
        case Truth(truth):
            return truth != denied
        case Not(part):
            return expression(part, denied=not denied)
        case And(parts) | Or(parts):
            op = "and" if isinstance(x, And) != denied else "or"
            return [op, *(expression(part, denied=denied) for part in parts)]
        case Comparison(terms, ops):
            told = [_term(term) for term in terms]
            links = [
                [_OPPOSITE[op] if denied else op, a, b]
                for a, op, b in zip(told, ops, told[1:], strict=False)
            ]
            return links[0] if len(links) == 1 else ["or" if denied else "and", *links]
    return _term(x)


def _term(term: Any) -> Any:
    match term:
        case Number(number):
            written = str(term)
            return written if plain.NUMBER.fullmatch(written) else str(number)
        case Name(name):
            return count_name(name)
        case Negate(Number(number)):
            return str(-number)
        case Negate(inner):
            return ["*", "-1", _term(inner)]
        case Arithmetic("/", Number(top), Number(bottom)) if bottom:
            return str(top / bottom)
        case Arithmetic(op, left, right):
            return [op, _term(left), _term(right)]
        case Call(function, arguments):
            return [function, *map(_term, arguments)]
    raise TypeError(f"no term: {term!r}")


def count_name(name: str) -> str:
    """Write a count in the one way that the verifier reads: N11 is N[1,1]."""
    if short := _SHORT.fullmatch(name):
        return f"N[{','.join(filter(None, short.groups()))}]"
    return name.replace(" ", "") if name.startswith("N[") else name


def definitions(data: Data, own: Mapping[str, str], *formulas: Any) -> dict[str, Any]:
    """Say what the metrics in formulas stand for, and those in what they stand for, and so on.

    Raises
    ------
    QueryError
        Where a metric is not made of counts of the table's rows.
    """
    vocabulary = Vocabulary(schema_of(data), own)
    found: dict[str, Any] = {}
    left = sorted(_names_in(formulas))
    while left:
        name = left.pop(0)
        if name in found or plain.NUMBER.fullmatch(name):
            continue
        if "reliance" in name or name.startswith("switched["):
            raise QueryError(
                f"'{name}' is not made of counts of the table's rows, so a certificate cannot hold "
                f"it: leave it out."
            )
        meaning = vocabulary.lookup(name)
        if not isinstance(meaning, Primitive | int):
            found[name] = expression(meaning)
            left += sorted(map(count_name, names(meaning)))
    return found


def _names_in(x: Any) -> set[str]:
    if isinstance(x, list | tuple):
        return set().union(*(_names_in(part) for part in (x[1:] if isinstance(x, list) else x)))
    return {x} if isinstance(x, str) else set()
