"""Terms and formulas as values, and how they print (the syntax of Sec. 2.4).

Printing uses no more parentheses than reading needs. What the values mean is in ``formula``,
how text becomes one in ``parser``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

# How tightly an operator binds, from loose to tight: shared by reading and printing.
OR, AND, NOT, COMPARE, ADD, MULTIPLY, SIGN = range(7)
LEVELS: Mapping[str, int] = {
    **{"or": OR, "and": AND, "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY},
    **dict.fromkeys(("<=", "<", ">=", ">", "=", "!="), COMPARE),
}
EXTREMES = ("largest", "least")  # of one term over all trees: numbers, once they are found
FUNCTIONS = ("abs", *EXTREMES, "max", "min")

_PLAIN = 20  # characters of a number before an exponent may shorten it


@dataclass(frozen=True, slots=True)
class Number:
    """An exact constant.

    Reading gives numbers >= 0 with finitely many decimals. Others, made by a program, print as
    ``-5`` or ``(1/3)``, which read back as the operation that has this value.
    """

    value: Fraction

    def __str__(self) -> str:
        return _digits(self.value)


@dataclass(frozen=True, slots=True)
class Name:
    """A metric, such as ``size``, ``N11`` or ``agreement[score]``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Negate:
    """The term with the opposite sign."""

    term: "Term"

    def __str__(self) -> str:
        return "-" + _inside(self.term, SIGN)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two terms joined by ``+``, ``-``, ``*`` or ``/``."""

    op: str
    left: "Term"
    right: "Term"

    def __str__(self) -> str:
        level = LEVELS[self.op]
        return f"{_inside(self.left, level)} {self.op} {_inside(self.right, level + 1)}"


@dataclass(frozen=True, slots=True)
class Call:
    """``abs`` of one term, or its ``least`` or ``largest`` value; ``min``, ``max`` of some."""

    function: str
    arguments: "tuple[Term, ...]"

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of terms: ``a <= b < c`` means ``a <= b and b < c``."""

    terms: "tuple[Term, ...]"
    ops: tuple[str, ...]

    def __str__(self) -> str:
        first, *rest = (_inside(term, ADD) for term in self.terms)
        return first + "".join(f" {op} {t}" for op, t in zip(self.ops, rest, strict=True))


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold. Two or more parts, none itself an ``And``: made by `all_of`."""

    parts: "tuple[Formula, ...]"

    def __str__(self) -> str:
        return " and ".join(_inside(part, NOT) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """Some part holds. Two or more parts, none itself an ``Or``: made by `any_of`."""

    parts: "tuple[Formula, ...]"

    def __str__(self) -> str:
        return " or ".join(_inside(part, AND) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """The part is false; undefined stays undefined."""

    part: "Formula"

    def __str__(self) -> str:
        return "not " + _inside(self.part, NOT)


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


Term = Number | Name | Negate | Arithmetic | Call
Formula = Comparison | And | Or | Not | Truth


def all_of(*parts: Formula) -> Formula:
    """Join formulas by "and", without nesting; no part at all is ``true``.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> str(all_of(parse("size <= 4 and acc >= 0.8"), parse("dp <= 0.1 or dp > 1")))
    'size <= 4 and acc >= 0.8 and (dp <= 0.1 or dp > 1)'
    """
    if len(parts) == 1:
        return parts[0]
    flat = (part.parts if isinstance(part, And) else (part,) for part in parts)
    return And(tuple(chain.from_iterable(flat))) if parts else Truth(True)


def any_of(*parts: Formula) -> Formula:
    """Join formulas by "or", without nesting; no part at all is ``false``."""
    if len(parts) == 1:
        return parts[0]
    flat = (part.parts if isinstance(part, Or) else (part,) for part in parts)
    return Or(tuple(chain.from_iterable(flat))) if parts else Truth(False)


def _inside(x: Term | Formula, level: int) -> str:
    """Print an operand, in parentheses if it binds less tightly than ``level``."""
    return str(x) if _level(x) >= level else f"({x})"


def _level(x: Term | Formula) -> int:
    match x:
        case Arithmetic(op):
            return LEVELS[op]
        case Comparison():
            return COMPARE
        case Not():
            return NOT
        case And():
            return AND
        case Or():
            return OR
    return SIGN  # nothing binds tighter, so these never need parentheses


def _digits(number: Fraction) -> str:
    """Write a number as a decimal if that is exact, with an exponent only if it is long."""
    if number.denominator == 1 and len(whole := str(number.numerator)) <= _PLAIN:
        return whole
    places = _places(number)
    if places is None:
        return f"({number})"
    sign = "-" if number.numerator < 0 else ""
    digits = str(abs(number.numerator) * 10**places // number.denominator)
    padded = digits.zfill(places + 1)
    plain = f"{padded[:-places]}.{padded[-places:]}" if places else padded
    mantissa = digits.rstrip("0")
    short = f"{mantissa}e{len(digits) - len(mantissa) - places}"
    return sign + (short if len(plain) > _PLAIN and len(short) < len(plain) else plain)


def _places(number: Fraction) -> int | None:
    """Count the decimals of a number; None if they never end."""
    rest, counts = number.denominator, []
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        counts.append(count)
    return max(counts) if rest == 1 else None
