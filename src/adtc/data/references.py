"""Labels from elsewhere, such as the decisions of a model in use, read as labels of the target.

Such a column may spell the labels its own way: ``yes`` for ``1``, ``>50K.`` for ``>50K``. What is
read as what is kept, so that it can be said and a new table is read alike.
"""

from collections.abc import Mapping

import numpy as np

from adtc.data.bits import Codes
from adtc.data.coding import BINARY, Coding, check_no_missing, find_value, label_codes
from adtc.data.columns import Column, Scalar, format_scalar
from adtc.errors import DataError

Spelled = tuple[tuple[str, int], ...]
"""Spellings that are not those of the labels, each with the position of its label."""

_NO_YES = (
    frozenset(("0", "false", "f", "no", "n", "negative")),
    frozenset(("1", "true", "t", "yes", "y", "positive")),
)


def reference_codes(
    column: Column,
    coding: Coding,
    given: Mapping[str, Scalar] | None = None,
    *,
    rows: bool = True,
) -> tuple[Codes, Spelled]:
    """Code a column of labels from elsewhere.

    Parameters
    ----------
    coding
        The target's labels; of two, the positive one is last.
    given
        Which label a value stands for, where the user says so.
    rows
        Whether the column has the table's rows, and not only its values.

    Notes
    -----
    A value is the label that is spelled like it, but for case, blanks and a final full stop.
    Where no value is a label, the two of a binary target may be written as 0/1, no/yes,
    false/true, n/y, f/t or negative/positive. Anything else is an error.

    Examples
    --------
    >>> from adtc.data.frames import array_column
    >>> column = array_column("approved", ["yes", "no"], 2)
    >>> codes, spelled = reference_codes(column, Coding("risk", ("bad", "good")))
    >>> codes.tolist(), spelled
    ([1, 0], (('no', 0), ('yes', 1)))
    """
    if coding.cuts:
        return label_codes("reference", column, coding), ()
    check_no_missing("reference", column)
    values = [format_scalar(value) for value in column.values.tolist()]
    stand_for = {
        str(value): find_value("label", label, coding.values)
        for value, label in (given or {}).items()
    }
    places = _places(values, coding, stand_for)
    labels = [format_scalar(label) for label in coding.values]
    codes = np.array([places.get(value, -1) for value in values], np.int32)[column.codes]
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        place = f" in row {row + 1}" if rows else ""
        raise DataError(_unknown(column.name, values[column.codes[row]], place, labels))
    used = sorted((value, places[value]) for value in values)
    return codes, tuple((value, at) for value, at in used if value != labels[at])


def _places(values: list[str], coding: Coding, given: Mapping[str, int]) -> dict[str, int]:
    """Find the labels that values stand for, as far as that is certain."""
    labels = {_bare(format_scalar(label)): at for at, label in enumerate(coding.values)}
    found = {value: labels[_bare(value)] for value in values if _bare(value) in labels}
    if len(labels) < len(coding.values):  # labels that differ in case alone must be spelled so
        exact = {format_scalar(label): at for at, label in enumerate(coding.values)}
        found = {value: exact[value] for value in values if value in exact}
    if not found and len(coding.values) == BINARY:
        for at, words in enumerate(_NO_YES):
            found |= {value: at for value in values if _bare(value) in words}
    return found | dict(given)


def _bare(text: str) -> str:
    return text.strip().removesuffix(".").casefold()


def _unknown(column: str, value: str, place: str, labels: list[str]) -> str:
    return (
        f"the reference column '{column}' holds '{value}'{place}, which is none of the known "
        f"values: {', '.join(labels)}. Say which of them it stands for, as in "
        f"reference_labels={{'{column}': {{'{value}': '{labels[-1]}'}}}} "
        f"(adtc audit: --decision-label '{value}={labels[-1]}')."
    )
