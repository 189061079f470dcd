"""The words of a formula, and errors that point at a place in the user's own text.

Every sign of the paper (≤ ≥ ≠ ∧ ∨ ¬ × · −) becomes its ASCII twin here, so the grammar in
``formula`` knows one spelling each. This module knows words, not their order.
"""

import re
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from adtc.errors import ConstraintSyntaxError

MAX_LENGTH = 2_000
"""Longest formula that is read, in characters."""

KEYWORDS = frozenset({"and", "or", "not", "true", "false"})

_TWINS = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "=", "∧": "and", "∨": "or", "¬": "not"}
_TWINS |= {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-"}

# What people bring from other languages, and what to write instead.
_ELSEWHERE = {"&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "~": "not"}
_ELSEWHERE |= {"=>": ">=", "=<": "<=", "<>": "!=", "**": "x * x", "^": "x * x"}
_MISPLACED = {
    "%": "'%' must follow a number, as in 5%",
    "[": "'[' must follow a name directly, as in agreement[score]",
    ".": "'.' is only allowed inside a number, or between a further table's name and a metric",
}

_WORD = re.compile(
    r"""\s*(?:
    (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:\s*%)?)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?)
  | (?P<elsewhere>&&?|\|\|?|\*\*|\^|~|=>|=<|<>|!(?!=))
  | (?P<sign><=|>=|==|!=|[-+*/<>=(),≤≥≠×·⋅÷−∧∨¬])
    )""",
    re.VERBOSE,
)
_SHOWN = 100  # columns of the user's text in a message: carets must not wrap in a terminal


class Token(NamedTuple):
    """A word of a formula: ``text[start:end]``, spelled the ASCII way."""

    kind: str
    """``"number"``, ``"name"``, ``"sign"`` (operators, keywords, parentheses) or ``"end"``."""
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Cut a formula into its words; the last one has kind ``"end"``.

    Examples
    --------
    >>> [token.text for token in tokenize("size ≤ 4 ∧ acc ≥ 90%")]
    ['size', '<=', '4', 'and', 'acc', '>=', '90%', '']
    """
    tokens = []
    position, stop = 0, len(text.rstrip())
    while position < stop:
        match = _WORD.match(text, position)
        if match is None:
            start = stop - len(text[position:stop].lstrip())
            sentence = _MISPLACED.get(text[start], f"unknown character {text[start]!r}")
            raise syntax_error(text, start, start + 1, sentence)
        kind = match.lastgroup or ""
        word = match[kind]
        start, position = match.span(kind)
        match kind:
            case "number":
                tokens.append(Token("number", word, start, position))
            case "name":
                position = _name_end(text, start, position)
                tokens.append(_name(text[start:position], start))
            case "sign":
                tokens.append(Token("sign", _TWINS.get(word, word), start, position))
            case "elsewhere":
                sentence = f"'{word}' is not an operator here; write '{_ELSEWHERE[word]}'"
                raise syntax_error(text, start, position, sentence)
    return [*tokens, Token("end", "", len(text), len(text))]


def locate(text: str, name: str) -> tuple[int, int]:
    """Find where a name first occurs in a formula, as ``(start, end)``.

    Examples
    --------
    >>> locate("size <= 4 and eror <= 5", "eror")
    (14, 18)
    """
    for token in tokenize(text):
        if token.kind == "name" and token.text == name:
            return token.start, token.end
    raise ValueError(f"the name '{name}' does not occur in '{text}'")


def syntax_error(text: str, start: int, end: int, sentence: str) -> ConstraintSyntaxError:
    """Compose the error that says ``sentence`` and points at ``text[start:end]``.

    Examples
    --------
    >>> print(syntax_error("size <= and error <= 5", 8, 11, "expected a number after '<='"))
    expected a number after '<='
      size <= and error <= 5
              ^^^
    """
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    left = max(first, min(start - _SHOWN // 2, last - _SHOWN))
    right = min(last, left + _SHOWN)
    dots = "…" if left > first else ""
    before = dots + printable(text[left:start])
    pointed = printable(text[start : min(end, right)])
    line = before + printable(text[start:right]) + ("…" if right < last else "")
    carets = " " * _columns(before) + "^" * max(1, _columns(pointed))
    return ConstraintSyntaxError(f"{sentence}\n  {line}\n  {carets}")


def printable(text: str) -> str:
    """Replace what a terminal would not show as one character (tabs, controls) by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def _columns(text: str) -> int:
    """Count the terminal columns of a text: column names may be in any script."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def _name(word: str, start: int) -> Token:
    """Tell keywords, in any case, from names of metrics."""
    end = start + len(word)
    if word.lower() in KEYWORDS:
        return Token("sign", word.lower(), start, end)
    return Token("name", word, start, end)


def _name_end(text: str, start: int, end: int) -> int:
    """Find where a name ends whose letters end at ``end``: after its brackets, if it has any."""
    if any(part.startswith("__") for part in text[start:end].split(".")):
        raise syntax_error(text, start, end, "names that begin with '__' are not allowed")
    if not text.startswith("[", end):
        return end
    depth = 0
    for position in range(end, len(text)):
        depth += (text[position] == "[") - (text[position] == "]")
        if depth == 0:
            if not text[end + 1 : position].strip():
                sentence = "expected a column or an index between '[' and ']'"
                raise syntax_error(text, end, position + 1, sentence)
            return position + 1
    raise syntax_error(text, end, end + 1, "this '[' is never closed")
