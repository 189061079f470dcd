"""A table as a certificate describes it: the recipe to read it again, and digests of its rows."""

import math
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from adtc.certificates import verify as plain
from adtc.data import Data
from adtc.data.coding import Coding
from adtc.data.columns import DEFAULT_NA, Scalar, format_scalar
from adtc.data.cuts import interval_name
from adtc.data.files import is_parquet
from adtc.errors import DataError, QueryError

WEIGHTS = "weights"  # the column of weights that were given as an array


def table_of(data: Data, least_rows: int) -> dict[str, Any]:
    """Describe a table such that it can be read again from its file, and every change is noticed.

    Raises
    ------
    DataError
        Where the file no longer reads as the table.
    """
    if data.origin is not None or data.originals is not None:
        raise QueryError(
            "equal rows of this table were merged, so that its rows are no longer those of a file: "
            "certify the table as it was read, in memory (--no-stream)."
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
            columns = _columns(source.path, about)
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
    codings = {"target": _coding(made.target, data.labels)}
    codings |= {"sensitive": _coding(made.sensitive, data.groups)} if made.sensitive else {}
    numeric = {f.column for f in data.features if f.test in {"in", "is"}}
    for coding in codings.values():
        is_text = plain.tests_of(coding)[0]["test"] == "equals"
        numeric |= set() if is_text else {coding["column"]}
    return {
        "features": [feature.to_json() for feature in data.features],
        "sensitive": None,
        **codings,
        "positive": data.positive,
        "weights": made.weights or (WEIGHTS if weighted else None),
        "references": {name: _spellings(data, name) for name, _ in data.references},
        "na": list(dict.fromkeys((*DEFAULT_NA, *made.na))),
        "numeric": sorted(numeric),
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


def _columns(path: Path, about: dict[str, Any]) -> plain.Columns:
    """Read the file as the verifier does, and note which separator it has, if that was not said."""
    wanted = (
        about["recipe"]["target"]["column"],
        *(f["column"] for f in about["recipe"]["features"]),
    )
    file, columns = about["file"], plain.Columns()
    for sep in [file["sep"]] if file["sep"] or is_parquet(path) else ",;\t ":
        with suppress(plain.Refused):
            columns = plain.read_table(str(path), {"file": {**file, "sep": sep}})
            if columns.keys() >= set(wanted):
                file["sep"] = sep
                return columns
    return plain.read_table(str(path), about)


def _spellings(data: Data, reference: str) -> list[dict[str, Any]]:
    """Say for each label how a column of other labels spells it."""
    made = data.binarizer
    if made.target.cuts:
        return plain.tests_of(_coding(made.target, data.labels))
    names = {format_scalar(scalar(label)): at for at, label in enumerate(data.labels)}
    names |= dict(dict(made.spelled).get(reference, ()))
    spelled: list[list[Any]] = [[] for _ in data.labels]
    for text, at in names.items():
        value = plain.scalar(text)  # a number is the same in any spelling
        is_number = not isinstance(value, str) and math.isfinite(value)
        spelled[at] += [text, value] if is_number else [text]
    return [{"test": "reads", "values": values} for values in spelled]


def _coding(coding: Coding, values: tuple[Scalar, ...]) -> dict[str, Any]:
    """Write labels or groups; with cuts, also the ends of the bin that each of them is."""
    ends = [list(pair) for pair in pairwise([None, *coding.cuts, None])] if coding.cuts else []
    bins = {interval_name(coding.column, low, high): [low, high] for low, high in ends}
    named = [scalar(value) for value in values]
    return {"column": coding.column, "values": named, "bins": [bins.get(x) for x in named]}
