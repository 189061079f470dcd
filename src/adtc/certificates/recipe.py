"""A table as a certificate describes it: the recipe to read it again, and digests of its rows."""

from itertools import pairwise
from typing import Any

import numpy as np

from adtc.certificates import verify as plain
from adtc.data import Data
from adtc.data.coding import Coding
from adtc.data.columns import Scalar, format_scalar
from adtc.data.cuts import interval_name
from adtc.errors import DataError, QueryError

WEIGHTS = "weights"  # the column of weights that were given as an array


def table_of(data: Data, least_rows: int) -> dict[str, Any]:
    """Describe a table such that it can be read again from its file, and every change is noticed.

    Raises
    ------
    DataError
        Where the file no longer reads as the table.
    """
    if data.origin is not None:
        raise QueryError(
            "equal rows of this table were merged, so that its rows are no longer those of a file: "
            "certify the table as it was read."
        )
    source = data.source
    about: dict[str, Any] = {
        "name": data.name,
        "rows": data.total,
        "least_rows": least_rows,
        "file": {
            "name": source.path.name if source else None,
            "sep": source.sep if source else None,
            "header": source.header if source else None,
        },
        "recipe": recipe_of(data),
        "fingerprint": data.fingerprint,
        "raw": None,
        "read": plain.digest(reading_of(data).rows()),
    }
    if source is not None and source.path.is_file():
        try:
            columns = plain.read_table(str(source.path), about)
            plain.compare(plain.reading_of(about["recipe"], columns).rows(), about["read"])
        except plain.Refused as refusal:
            raise DataError(
                f"'{source.path.name}' does not read as the table that was loaded from it, so that "
                f"nobody could check a certificate: {refusal}; load it again."
            ) from None
        about["raw"] = plain.digest(plain.spelled(columns))
    return about


def recipe_of(data: Data) -> dict[str, Any]:
    """Write down which column is what, and how its values become features, labels and groups."""
    made = data.binarizer
    weighted = bool(np.any(data.weights != 1))
    return {
        "features": [feature.to_json() for feature in data.features],
        "target": _coding(made.target, data.labels),
        "positive": data.positive,
        "sensitive": _coding(made.sensitive, data.groups) if made.sensitive else None,
        "weights": made.weights or (WEIGHTS if weighted else None),
        "references": {name: _spellings(data, name) for name, _ in data.references},
        "na": list(made.na),
    }


def reading_of(data: Data) -> plain.Reading:
    """Give the rows of a table to the code that checks certificates."""
    return plain.Reading(
        names=list(data.feature_names),
        columns=[feature.column for feature in data.features],
        bits=data.dense().T.astype(bool).tolist(),
        labels=[scalar(label) for label in data.labels],
        positive=data.positive,
        y=data.y.tolist(),
        groups=[scalar(group) for group in data.groups],
        z=data.z.tolist(),
        weights=data.weights.tolist(),
        references={name: codes.tolist() for name, codes in data.references},
    )


def scalar(value: Scalar) -> Any:
    """Give a label or group as JSON can hold it."""
    return value.item() if isinstance(value, np.generic) else value


def _spellings(data: Data, reference: str) -> dict[str, int] | None:
    """Say which label each spelling in a column of other labels is; None where cuts decide."""
    made = data.binarizer
    if made.target.cuts:
        return None
    labels = {format_scalar(scalar(label)): at for at, label in enumerate(data.labels)}
    return labels | dict(dict(made.spelled).get(reference, ()))


def _coding(coding: Coding, values: tuple[Scalar, ...]) -> dict[str, Any]:
    first = scalar(values[0])
    is_number = isinstance(first, int | float) and not isinstance(first, bool)
    read = "truth" if isinstance(first, bool) else "number" if is_number else "text"
    ends = pairwise([None, *coding.cuts, None])
    names = [interval_name(coding.column, low, high) for low, high in ends] if coding.cuts else []
    return {
        "column": coding.column,
        "read": "number" if coding.cuts else read,
        "values": [scalar(value) for value in values],
        "cuts": list(coding.cuts),
        "bins": [values.index(name) for name in names],
    }
