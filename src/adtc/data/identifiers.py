"""Columns that name rows or people rather than describe them.

A tree that tests such a column singles out people, and a report that shows it prints their names.
They are refused as features unless the user gave their type or their cuts. A column looks like an
identifier if more than 20 rows have a value in it and one of these holds:

1. It is text, and there are at least 9 different values for every 10 rows. Numbers that were read
   as text, as in ``1,000``, are exempt.
2. It numbers the rows of a table of n >= 1,000 rows: whole numbers, all different, none missing,
   that are 0 … n − 1 or 1 … n in any order, or that rise from row to row and are spread over fewer
   than 10·n numbers.
3. A word of its name says so (``id``, ``ssn``, ``uuid`` and the like; in text also ``name``,
   ``email``, ``phone``, ``address``, ``dob`` and the like), and fewer than 10 rows share a value
   on average; in numbers, all of them must be whole.

Other whole numbers that are all different are measurements as often as not: they bring a warning.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from adtc.data.columns import Column, format_number
from adtc.data.outline import Outline, Seen
from adtc.data.spellings import spelled_numbers
from adtc.errors import DataError

FEW_ROWS = 20
MANY_ROWS = 1000
NEARLY_ALL = 0.9
SHARED_BY = 10
_SHOWN = 5

_ID_WORDS = {"id", "ids", "ssn", "uid", "uuid", "guid", "pid", "identifier", "passport", "iban"}
_NAME_WORDS = {
    *("name", "names", "firstname", "lastname", "surname", "forename", "fullname", "username"),
    *("email", "mail", "phone", "telephone", "mobile", "fax", "address", "street", "url", "ip"),
    *("dob", "birthdate", "birthday", "licence", "license", "plate", "account"),
}
_WHOLE_NAMES = {"first", "last", "dateofbirth"}  # words of much else, but names by themselves
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A column that looks like an identifier, and why."""

    column: str
    kind: str
    reason: str

    @property
    def type(self) -> str:
        """The type that would make it a feature all the same."""
        return "numeric" if self.kind == "number" else "category"


def identifiers(sheet: Outline) -> list[Identifier]:
    """Find the columns that look like identifiers and whose reading the user did not choose."""
    found = (
        identifier(c, sheet.seen) for name, c in sheet.columns.items() if not sheet.chosen(name)
    )
    return [i for i in found if i is not None]


def identifier(column: Column, look: Callable[[Column], Seen] = Seen.of) -> Identifier | None:
    """Tell whether a column looks like an identifier.

    Parameters
    ----------
    look
        Says how its values occur, where the column itself does not have every row.

    Examples
    --------
    >>> import numpy as np
    >>> column = Column("case", "number", np.arange(1, 2001), np.arange(2000, dtype=np.int32))
    >>> identifier(column).reason
    'it numbers the rows from 1 to 2000'
    """
    if len(column.values) * SHARED_BY <= FEW_ROWS or column.kind == "boolean":
        return None  # cheap: most columns have few values
    seen = look(column)
    rows = seen.present
    if rows <= FEW_ROWS or seen.distinct * SHARED_BY <= rows:
        return None
    reason = _by_text(column, seen) or _by_number(column, seen) or _by_name(column, seen)
    return Identifier(column.name, column.kind, reason) if reason else None


def is_unique_number(column: Column, seen: Seen) -> bool:
    """Tell whether each row has a whole number of its own that may be an identifier.

    That is, they are as many as 1,000, or they number more than 20 rows.
    """
    rows = seen.total
    if column.kind != "number" or not FEW_ROWS < rows == seen.distinct:
        return False
    return _all_whole(column.values) and (rows >= MANY_ROWS or _numbering(column, seen))


def refuse_identifiers(sheet: Outline) -> None:
    """Raise one sentence about all columns that look like identifiers."""
    if found := identifiers(sheet):
        raise DataError(refusal(found))


def refusal(found: Sequence[Identifier]) -> str:
    """Say which columns are refused, why, and the ways out."""
    shown, more = found[:_SHOWN], len(found) - _SHOWN
    rest = f" and {more:,} more" if more > 0 else ""
    plural = len(found) > 1
    reasons = ", ".join(f"'{i.column}' ({i.reason})" for i in shown) + rest
    drop = " ".join(f"--drop {shlex.quote(i.column)}" for i in shown)
    types = " ".join(f"--type {shlex.quote(f'{i.column}={i.type}')}" for i in shown)
    dots = " …" if rest else ""
    verb, it, are = ("look like identifiers", "them", "they are features") if plural else (
        "looks like an identifier", "it", "it is a feature"
    )  # fmt: skip
    return (
        f"column{'s' * plural} {reasons} {verb}, by which trees would single out people; "
        f"leave {it} out (drop: {drop}{dots}), or say that {are} (types: {types}{dots})."
    )


def _by_text(column: Column, seen: Seen) -> str | None:
    if column.kind != "text" or seen.distinct < NEARLY_ALL * seen.present:
        return None
    if spelled_numbers(column, seen.rows[:-1], kept=0) is not None:
        return None
    return f"{seen.distinct:,} different texts in {seen.present:,} rows"


def _by_number(column: Column, seen: Seen) -> str | None:
    values, rows = column.values, seen.present
    if column.kind != "number" or not MANY_ROWS <= rows == seen.distinct == seen.total:
        return None
    low, high = format_number(values[0]), format_number(values[-1])
    if _numbering(column, seen):
        return f"it numbers the rows from {low} to {high}"
    if seen.rising and _all_whole(values) and values[-1] - values[0] < SHARED_BY * rows:
        return f"whole numbers that rise from row to row, {low} to {high}"
    return None


def _numbering(column: Column, seen: Seen) -> bool:
    """Tell whether values that are all different are the numbers from 0 or 1 on."""
    low, high = column.values[0], column.values[-1]
    return low in (0, 1) and high - low == seen.distinct - 1 and _all_whole(column.values)


def _by_name(column: Column, seen: Seen) -> str | None:
    words = {word.lower() for word in _WORD.findall(column.name)}
    plain = re.sub(r"[\W\d_]+", "", column.name).lower()
    if column.kind == "number":
        named = bool(words & _ID_WORDS) and _all_whole(column.values)
    else:
        named = bool(words & (_ID_WORDS | _NAME_WORDS)) or plain in _WHOLE_NAMES | _NAME_WORDS
    reason = f"by its name, with {seen.distinct:,} values in {seen.present:,} rows"
    return reason if named else None


def _all_whole(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind == "i" or bool((values % 1 == 0).all())
