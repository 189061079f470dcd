"""How values are spelled: numbers that came in as text, labels with a full stop, letter case.

Everything here looks at distinct values only and changes none of them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from adtc.data.bits import Rows
from adtc.data.columns import Column

MOSTLY = 0.8  # share of the rows that are numbers in a column meant to be numeric
OTHERS = 10  # spellings that are no number in such a column, at most
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_SIGNS = " \u00a0$€£¥%"

Form = Literal["plain", "thousands", "comma", "sign", "other"]


@dataclass(frozen=True, slots=True)
class SpelledNumbers:
    """A text column that is numeric but for its spelling.

    Parameters
    ----------
    numbers
        Rows with a number in any form.
    others
        Spellings that are no number, with their rows, the most frequent first.
    examples
        For each form other than the plain one, a value that has it.
    """

    numbers: int
    others: tuple[tuple[str, int], ...]
    examples: tuple[tuple[Form, str], ...]


def form(text: str) -> Form:
    """Tell in which form a text is a number.

    Examples
    --------
    >>> [form(t) for t in ("-1.5", "1,000", "3,5", "12 %", "?")]
    ['plain', 'thousands', 'comma', 'sign', 'other']
    """
    if _PLAIN.fullmatch(text):
        return "plain"
    if _THOUSANDS.fullmatch(text):
        return "thousands"
    if _COMMA.fullmatch(text):
        return "comma"
    bare = text.strip(_SIGNS)
    return "sign" if bare != text and bare and form(bare) != "other" else "other"


def spelled_numbers(column: Column, counts: Rows, kept: int) -> SpelledNumbers | None:
    """Recognise a numeric column that was read as text.

    Parameters
    ----------
    counts
        Rows per distinct value.
    kept
        Categories that a column may have: that many plain numbers as text are taken as meant.
    """
    if column.kind != "text" or not len(column.values):
        return None
    if not any(c.isdigit() for v in column.values[: OTHERS + 1] for c in v) and len(
        column.values
    ) <= 2 * (OTHERS + 1):
        return None
    forms = [form(v) for v in column.values]
    other = np.array([f == "other" for f in forms])
    numbers, rows = int(counts[~other].sum()), int(counts.sum())
    if other.sum() > OTHERS or not rows or numbers < MOSTLY * rows:
        return None
    examples = {f: v for f, v in zip(forms[::-1], column.values[::-1], strict=True)}
    if "comma" in examples:  # then 1,000 is a comma as well
        examples.pop("thousands", None)
    odd = [(f, examples[f]) for f in ("thousands", "comma", "sign") if f in examples]
    if not odd and not other.any() and len(forms) <= kept:
        return None
    places = sorted(np.flatnonzero(other), key=lambda i: -counts[i])
    others = tuple((str(column.values[i]), int(counts[i])) for i in places)
    return SpelledNumbers(numbers, others, tuple(odd))


def end_in_full_stop(labels: Sequence[object]) -> bool:
    """Tell whether all labels are text that ends in a full stop, as in the file adult.test.

    Examples
    --------
    >>> end_in_full_stop(["<=50K.", ">50K."]), end_in_full_stop(["yes", "no"])
    (True, False)
    """
    return all(isinstance(v, str) and len(v) > 1 and v.endswith(".") for v in labels)


def differ_in_case(values: Iterable[str]) -> tuple[str, ...]:
    """Return the first values that are one but for upper and lower case; none is the rule.

    Examples
    --------
    >>> differ_in_case(["Male", "female", "male"]), differ_in_case(["a", "b"])
    (('Male', 'male'), ())
    """
    seen: dict[str, str] = {}
    for value in values:
        other = seen.setdefault(value.casefold(), value)
        if other != value:
            return other, value
    return ()
