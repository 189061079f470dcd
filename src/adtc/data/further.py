"""A further table, read like the one that the features were made from.

Test rows, another year, another place: the same features, labels and groups, other rows. What
`predict` allows is allowed here: unseen categories, missing values, unknown sensitive groups.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adtc.data.binarize import Binarizer
from adtc.data.bits import Codes
from adtc.data.coding import Coding, label_codes
from adtc.data.columns import Column, Scalar, format_scalar
from adtc.data.frames import arrow_table, column
from adtc.errors import DataError

if TYPE_CHECKING:
    from adtc.data.table import Data

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_WORDS = ("and", "or", "not", "true", "false")


def read_further(data: "Data", name: str, frame: Any) -> "Data":
    """Read a frame as a further table of ``data``."""
    table, recipe = arrow_table(frame), data.binarizer
    check_columns(name, table, recipe, data.name)
    z_column = column(table, recipe.sensitive.column, recipe.na) if recipe.sensitive else None
    y_column = column(table, recipe.target.column, recipe.na)
    y, note = further_labels(name, y_column, recipe.target)
    z = further_groups(z_column, recipe.sensitive, table.num_rows)
    return data.with_rows(table, name, y=y, z=z, notes=() if note is None else (note,))


def recode_further(data: "Data", name: str, other: "Data") -> "Data":
    """Take a table that is binarised already as a further table of ``data``."""
    if other.feature_names != data.feature_names:
        raise DataError(
            f"the table '{name}' has other features than '{data.name}': give its frame, which is "
            "then binarised in the same way."
        )
    if strange := [v for v in other.labels if v not in data.labels]:
        raise DataError(
            f"the table '{name}' has the label '{strange[0]}', which is none of "
            f"{', '.join(map(str, data.labels))}."
        )
    codes = dict(other.references)
    if lacking := [r for r, _ in data.references if r not in codes]:
        raise DataError(f"the table '{name}' lacks the reference column '{lacking[0]}'.")
    z = _recoded(other.groups, data.groups, other.z) if data.groups else other.z * 0
    return replace(
        data,
        name=name,
        bits=other.bits,
        y=_recoded(other.labels, data.labels, other.y),
        z=np.where(z < 0, len(data.groups), z).astype(np.int32),
        weights=other.weights,
        references=tuple(
            (r, _recoded(other.labels, data.labels, codes[r])) for r, _ in data.references
        ),
        origin=None,
        tables=(),
        notes=(),
    )


def check_table_name(name: str, taken: Mapping[str, Any]) -> None:
    """Refuse a name that no formula could hold, or that another table has."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _WORDS:
        raise DataError(
            f"a further table cannot be called {name!r}: its metrics are written NAME.acc, so the "
            "name must be letters, digits and _, and must not begin with a digit."
        )
    if name.startswith("__"):
        raise DataError(f"a further table cannot be called '{name}': names must not begin with __.")
    if name in taken:
        raise DataError(f"there is a further table '{name}' already; choose another name.")


def check_columns(name: str, table: Any, recipe: Binarizer, data_name: str) -> None:
    """Refuse a table that lacks a column, and say what the column is for."""
    roles = [(recipe.target.column, "the target")]
    roles += [(recipe.sensitive.column, "the sensitive column")] if recipe.sensitive else []
    roles += [(recipe.weights, "the column of weights")] if recipe.weights else []
    roles += [(reference, "a reference column") for reference in recipe.references]
    roles += [(column, "a column that features look at") for column in recipe.columns]
    known = set(table.column_names)
    lacking = [(column, role) for column, role in roles if column not in known]
    if lacking:
        (column, role), more = lacking[0], len(lacking) - 1
        others = f" (and {more} more)" if more else ""
        raise DataError(
            f"the table '{name}' lacks the column '{column}'{others}, {role} of '{data_name}'; it "
            f"has {', '.join(map(repr, table.column_names[:8]))}"
            f"{', …' if len(table.column_names) > 8 else ''}."  # noqa: PLR2004
        )


def further_labels(name: str, column: Column, coding: Coding) -> tuple[Codes, str | None]:
    """Code the labels of a further table: by value, else as text without a final full stop.

    Returns the codes, and a sentence if full stops were trimmed.
    """
    text = None if coding.cuts else _same_text(column, coding)
    if text is None:
        return label_codes("target", column, coding), None
    codes, trimmed = text
    if (codes < 0).any() or (column.codes < 0).any():
        known = {format_scalar(v) for v in coding.values}
        strange = [t for t in map(format_scalar, column.values.tolist()) if _plain(t) not in known]
        if strange:
            raise DataError(
                f"the table '{name}' has the label '{strange[0]}' in its target column "
                f"'{column.name}', which is none of the known ones: {', '.join(sorted(known))}."
            )
        label_codes("target", column, coding)  # says which rows have no label
    if not trimmed:
        return codes, None
    shown = " and ".join(repr(t) for t in trimmed[:2]) + (" …" if trimmed[2:] else "")
    return codes, f"labels such as {shown} were read without their final full stop"


def _same_text(column: Column, coding: Coding) -> tuple[Codes, list[str]] | None:
    """Match labels as text; None where they agree by value already."""
    try:
        codes = coding.codes(column)
    except DataError:  # text where numbers were expected
        codes = np.full(len(column.codes), -1, np.int32)
    if (codes >= 0).all():
        return None
    places = {format_scalar(value): code for code, value in enumerate(coding.values)}
    texts = [format_scalar(value) for value in column.values.tolist()]
    trimmed = [t for t in texts if t not in places and _plain(t) in places]
    by_value = [places.get(t, places.get(_plain(t), -1)) for t in texts]
    return np.append(by_value, -1).astype(np.int32)[column.codes], trimmed


def _plain(text: str) -> str:
    """Trim a final full stop, as in the labels of UCI's adult.test."""
    return text.removesuffix(".")


def further_groups(column: Column | None, coding: Coding | None, n_rows: int) -> Codes:
    """Code the sensitive groups of a further table; an unknown one gets a code of its own."""
    if coding is None or column is None:
        return np.zeros(n_rows, np.int32)
    codes = coding.codes(column)
    return np.where(codes < 0, len(coding.values), codes).astype(np.int32)


def _recoded(values: tuple[Scalar, ...], known: tuple[Scalar, ...], codes: Codes) -> Codes:
    """Turn codes by some values into codes by others; −1 where a value is not among them."""
    places = {value: code for code, value in enumerate(known)}
    own = np.array([places.get(value, -1) for value in values] + [-1], np.int32)
    return own[codes]
