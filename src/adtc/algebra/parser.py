"""From the text of a constraint to its value, by precedence climbing.

Terms and formulas share one grammar, because only the end of a parenthesis shows whether it held
a number; kinds are checked where a value is used. Which metrics exist is not checked here.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from adtc.algebra.expressions import (
    AND,
    COMPARE,
    EXTREMES,
    FUNCTIONS,
    LEVELS,
    OR,
    SIGN,
    Arithmetic,
    Call,
    Comparison,
    Formula,
    Name,
    Negate,
    Not,
    Number,
    Term,
    Truth,
    all_of,
    any_of,
)
from adtc.algebra.tokens import MAX_LENGTH, Token, printable, syntax_error, tokenize
from adtc.errors import ConstraintSyntaxError, unknown

MAX_NESTING = 50
"""Most parentheses, calls, signs and nots inside each other: reading must not fill the stack."""

MAX_HEIGHT = 120
"""Most operators between the whole and a number; a sum of k terms counts k - 1 of them."""

_MAX_DIGITS, _MAX_EXPONENT = 100, 300  # no number of the field needs more; 1e999999999 would hang
_LEAST, _MOST = Fraction(1, 10**_MAX_EXPONENT), Fraction(10**_MAX_EXPONENT)
_OF_ONE = ("abs", *EXTREMES)
_QUOTED = 40  # characters of the user's text within a sentence
_WANTED = {"and": "a comparison", "or": "a comparison", "not": "a comparison", "(": "an expression"}


def parse(text: str, *, max_length: int = MAX_LENGTH) -> Formula:
    """Read a constraint formula.

    Parameters
    ----------
    text
        Comparisons ``<= < >= > = !=`` of terms, possibly chained, joined by ``and``, ``or``,
        ``not`` and parentheses; ``true`` and ``false``. Terms are made of numbers (``0.05``,
        ``1e-3``, ``5%``), metrics, ``+ - * /``, ``abs``, ``min`` and ``max``, and of the
        ``least`` and ``largest`` value that a term has on any tree. The signs
        ≤ ≥ ≠ ∧ ∨ ¬ × · − may be used.
    max_length
        Longest text that is read. Raise it for text made by a program: what a formula prints
        can be longer than what was typed (``∧`` prints as ``and``).

    Raises
    ------
    ConstraintSyntaxError
        Where the text is no formula; the message points at the place.

    Examples
    --------
    >>> str(parse("(size ≤ 4) ∧ (error ≤ 0.05·N)"))
    'size <= 4 and error <= 0.05 * N'

    Notes
    -----
    The language of Sec. 2.4, with comparisons other than ≤ and functions added.
    From loose to tight: ``or``, ``and``, ``not``, comparisons, ``+ -``, ``* /``, signs.
    """
    # formulas do not change, and questions are asked again
    return (_read if _is_short(text) else _read.__wrapped__)(text, max_length)


def parse_term(text: str, *, max_length: int = MAX_LENGTH) -> Term:
    """Read a term, such as the definition of a metric.

    Examples
    --------
    >>> parse_term("2·N11")
    Arithmetic(op='*', left=Number(value=Fraction(2, 1)), right=Name(name='N11'))
    """
    return (_read_term if _is_short(text) else _read_term.__wrapped__)(text, max_length)


def _is_short(text: object) -> bool:
    """Tell whether something is a text worth remembering."""
    return isinstance(text, str) and len(text) <= MAX_LENGTH


@lru_cache(maxsize=256)
def _read(text: str, max_length: int) -> Formula:
    parser = _Parser(text, max_length)
    return parser.formula(parser.whole())


@lru_cache(maxsize=256)
def _read_term(text: str, max_length: int) -> Term:
    parser = _Parser(text, max_length)
    return parser.term(parser.whole())


class _Part(NamedTuple):
    """What was read from ``text[start:end]``."""

    x: Term | Formula
    start: int
    end: int
    height: int = 0


class _Parser:
    """A place in the text, and one method per part of the grammar."""

    def __init__(self, text: str, max_length: int) -> None:
        if not isinstance(text, str):
            sentence = f"expected a formula as text, such as 'size <= 4', got {text!r:.60}"
            raise ConstraintSyntaxError(sentence)
        if len(text) > max_length:
            sentence = f"the formula has {len(text):,} characters; at most {max_length:,} are read"
            raise syntax_error(text, max_length, len(text), sentence)
        if not text.strip():
            raise ConstraintSyntaxError("the formula is empty; write one such as 'size <= 4'")
        self.text = text
        self.tokens = tokenize(text)
        self.index = 0
        self.nesting = 0

    def whole(self) -> _Part:
        """Read one expression that must be all of the text."""
        part = self.expression()
        if self.token.text == ")":
            raise self.error(self.token, "this ')' has no '(' before it")
        if self.token.kind != "end":
            raise self.error(self.token, f"expected an operator before '{self.shown(self.token)}'")
        return part

    def expression(self, level: int = OR) -> _Part:
        """Read operands joined by operators that bind at least as tightly as ``level``."""
        left = self.operand()
        while (here := LEVELS.get(self.token.text, -1)) >= level:
            parts, ops = [left], []
            while LEVELS.get(self.token.text) == here:
                ops.append(self.advance().text)
                parts.append(self.expression(here + 1))
            left = self.join(here, parts, ops)
        return left

    def join(self, level: int, parts: list[_Part], ops: list[str]) -> _Part:
        """Make one value of operands and the operators of one level between them."""
        if level in (OR, AND):
            make = any_of if level == OR else all_of
            return self.made(make(*map(self.formula, parts)), parts)
        if level == COMPARE:
            return self.made(Comparison(tuple(map(self.term, parts)), tuple(ops)), parts)
        left = parts[0]
        for op, right in zip(ops, parts[1:], strict=True):
            left = self.made(Arithmetic(op, self.term(left), self.term(right)), [left, right])
        return left

    def operand(self) -> _Part:
        """Read a number, a name, a call, a parenthesis, or one of these behind signs."""
        token = self.advance()
        match token.kind, token.text:
            case "number", _:
                return _Part(Number(self.number(token)), token.start, token.end)
            case "name", _:
                return self.name_or_call(token)
            case "sign", "true" | "false":
                return _Part(Truth(token.text == "true"), token.start, token.end)
            case "sign", "not":
                part = self.nested(token, COMPARE)
                return self.made(Not(self.formula(part)), [part], token.start)
            case "sign", "-":
                part = self.nested(token, SIGN)
                return self.made(Negate(self.term(part)), [part], token.start)
            case "sign", "+":
                part = self.nested(token, SIGN)
                return part._replace(x=self.term(part), start=token.start)
            case "sign", "(":
                part = self.nested(token)
                return part._replace(start=token.start, end=self.close(token))
        raise self.missing(token)

    def nested(self, token: Token, level: int = OR) -> _Part:
        """Read what stands behind a sign or an opening parenthesis."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            sentence = f"the formula is nested more than {MAX_NESTING} levels deep; simplify it"
            raise self.error(token, sentence)
        part = self.expression(level)
        self.nesting -= 1
        return part

    def name_or_call(self, token: Token) -> _Part:
        if self.token.text != "(":
            if token.text in FUNCTIONS:
                example = f"{token.text}({'x' if token.text in _OF_ONE else 'x, y'})"
                raise self.error(token, f"'{token.text}' is a function; write {example}")
            return _Part(Name(token.text), token.start, token.end)
        if token.text not in FUNCTIONS:
            raise self.error(token, unknown("function", self.shown(token), FUNCTIONS))
        opening = self.advance()
        parts = [self.nested(opening)]
        while self.token.text == ",":
            parts.append(self.nested(self.advance()))
        end = self.close(opening)
        arguments = tuple(map(self.term, parts))
        if token.text in _OF_ONE and len(arguments) > 1:
            sentence = f"'{token.text}' takes one number, got {len(arguments)}"
            raise syntax_error(self.text, parts[1].start, parts[-1].end, sentence)
        return self.made(Call(token.text, arguments), parts, token.start, end)

    def number(self, token: Token) -> Fraction:
        """Read a number exactly, and refuse one whose digits would be a burden."""
        if token.text.isdecimal() and len(token.text) <= _MAX_DIGITS:
            return Fraction(int(token.text))
        literal = token.text.rstrip("%").rstrip()
        mantissa, _, exponent = literal.lower().partition("e")
        digits = mantissa.replace(".", "").strip("0")
        if len(exponent) <= len("-999") and len(digits) <= _MAX_DIGITS:
            number = Fraction(literal)
            if token.text.endswith("%"):
                number /= 100
            if number == 0 or _LEAST <= number <= _MOST:
                return number
        limits = (
            f"between 1e-{_MAX_EXPONENT} and 1e{_MAX_EXPONENT}, of at most {_MAX_DIGITS} digits"
        )
        raise self.error(token, f"expected a number {limits}")

    def close(self, opening: Token) -> int:
        """Read the parenthesis that ends what ``opening`` began."""
        if self.token.text == ")":
            return self.advance().end
        if self.token.kind == "end":
            raise self.error(opening, "this '(' is never closed")
        raise self.error(
            self.token, f"expected an operator or ')' before '{self.shown(self.token)}'"
        )

    def made(self, x: Term | Formula, parts: list[_Part], start: int = -1, end: int = -1) -> _Part:
        """Note where a value was made of its parts, and that it is not too high to walk over."""
        height = 1 + max(part.height for part in parts)
        start = parts[0].start if start < 0 else start
        end = parts[-1].end if end < 0 else end
        if height > MAX_HEIGHT:
            sentence = f"more than {MAX_HEIGHT} operators build on each other; group long sums"
            raise syntax_error(self.text, start, end, f"{sentence} as in (a + b) + (c + d)")
        return _Part(x, start, end, height)

    def term(self, part: _Part) -> Term:
        if isinstance(part.x, Term):
            return part.x
        raise self.wrong_kind(part, "expected a number, found the condition")

    def formula(self, part: _Part) -> Formula:
        if isinstance(part.x, Formula):
            return part.x
        raise self.wrong_kind(part, "expected a comparison, found the number")

    def wrong_kind(self, part: _Part, sentence: str) -> ConstraintSyntaxError:
        found = _shorten(self.text[part.start : part.end])
        return syntax_error(self.text, part.start, part.end, f"{sentence} '{found}'")

    def missing(self, token: Token) -> ConstraintSyntaxError:
        """Say what should stand where ``token`` is."""
        before = self.tokens[self.index - 2] if self.index > 1 else None
        neighbour = before or token
        wanted = _WANTED.get(neighbour.text, "a number")
        place = f"{'after' if before else 'before'} '{self.shown(neighbour)}'"
        return self.error(token, f"expected {wanted} {place}")

    def error(self, token: Token, sentence: str) -> ConstraintSyntaxError:
        return syntax_error(self.text, token.start, token.end, sentence)

    def shown(self, token: Token) -> str:
        """Spell a token as the user did."""
        return _shorten(self.text[token.start : token.end])

    @property
    def token(self) -> Token:
        """The word to be read next."""
        return self.tokens[self.index]

    def advance(self) -> Token:
        """Read one word; the end can be read only once, as no operand begins with it."""
        self.index += 1
        return self.tokens[self.index - 1]


def _shorten(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"
