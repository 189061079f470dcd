"""A table as a certificate describes it: the recipe to read it again, and digests of its rows."""

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from adtc.certificates import verify as plain
from adtc.data import Data
from adtc.data.binarize import Feature
from adtc.data.coding import MISSING, Coding
from adtc.data.columns import DEFAULT_NA, Scalar, format_scalar
from adtc.data.cuts import interval_name
from adtc.data.files import is_parquet
from adtc.errors import DataError, QueryError

WEIGHTS = "weights"  # the column of weights that were given as an array


def table_of(data: Data) -> dict[str, Any]:
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
        "file": {
            "name": source.path.name if source else None,
            "sep": source.sep if source else None,
            "header": source.header if source else None,
            "changed": _changed(source.path) if source else None,
        },
        "recipe": recipe_of(data),
        "fingerprint": data.fingerprint,
        "raw": None,
        "read": plain.digest(reading_of(data).rows()),
    }
    if source is not None and source.path.is_file():
        try:
            columns = _columns(source.path, about)
            _note_missing(about["recipe"], columns)
            plain.compare(plain.reading_of(about["recipe"], columns).rows(), about["read"])
        except plain.Refused as refusal:
            raise DataError(
                f"'{source.path.name}' does not read as the table that was loaded from it, so that "
                f"nobody could check a certificate: {refusal}; load it again."
            ) from None
        about["raw"] = plain.digest(plain.spelled(columns))
    return about


def _changed(path: Path) -> str | None:
    """Tell when a file was last changed."""
    if not path.is_file():
        return None
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")


def recipe_of(data: Data) -> dict[str, Any]:
    """Write down which column is what, and how its values become features, labels and groups."""
    made = data.binarizer
    weighted = bool(np.any(data.weights != 1))
    codes = {"label": _coding(made.target, data.labels)}
    codes |= {"group": _coding(made.sensitive, data.groups)} if made.sensitive else {}
    for name, _ in data.references:
        codes[f"agreement[{name}]"] = {"column": name, "tests": _spellings(data, name)}
    na = list(dict.fromkeys((*DEFAULT_NA, *made.na)))
    return {
        "features": [_feature(feature) for feature in data.features],
        "codes": codes,
        "weights": made.weights or (WEIGHTS if weighted else None),
        "na": {"": na},
    }


def reading_of(data: Data) -> plain.Reading:
    """Give the rows of a table to the code that checks certificates."""
    codes = {"label": data.y, **({"group": data.z} if data.groups else {})}
    codes |= {f"agreement[{name}]": column for name, column in data.references}
    return plain.Reading(
        names=list(data.feature_names),
        columns=[feature.column for feature in data.features],
        bits=data.dense().T.astype(bool).tolist(),
        labels=[scalar(label) for label in data.labels],
        roles=list(codes),
        kinds=list(zip(*(column.tolist() for column in codes.values()), strict=True)),
        weights=data.weights.tolist(),
    )


def as_columns(frame: Mapping[str, list[Any]]) -> plain.Columns:
    """Write typed values as text."""
    return {name: list(map(plain.as_text, column)) for name, column in frame.items()}


def columns_of(path: str, about: Mapping[str, Any]) -> plain.Columns:
    """Read a file as text, a Parquet file by its typed values."""
    if not is_parquet(Path(path)):
        return plain.read_table(path, dict(about))
    import pyarrow.parquet as pq

    return as_columns(pq.ParquetFile(path).read().to_pydict())


def scalar(value: Scalar) -> Any:
    """Give a label or group as JSON can hold it."""
    return value.item() if isinstance(value, np.generic) else value


def _columns(path: Path, about: dict[str, Any]) -> plain.Columns:
    """Read the file as the verifier does, and note which separator it has, if that was not said."""
    recipe = about["recipe"]
    wanted = {recipe["codes"]["label"]["column"], *(f["column"] for f in recipe["features"])}
    file = about["file"]
    for sep in [file["sep"]] if file["sep"] or is_parquet(path) else ",;\t ":
        with suppress(plain.Refused):
            columns = columns_of(str(path), {"file": {**file, "sep": sep}})
            if columns.keys() >= wanted:
                file["sep"] = sep
                return columns
    return columns_of(str(path), about)


def _note_missing(recipe: dict[str, Any], columns: plain.Columns) -> None:
    """Note how columns of numbers spell a missing one besides the usual ways, such as NAN."""
    tests = [(f["column"], f) for f in recipe["features"]]
    tests += [(c["column"], test) for c in recipe["codes"].values() for test in c["tests"]]
    usual = recipe["na"][""]
    for column in {column for column, test in tests if _is_numeric(test)} & columns.keys():
        texts = {text.strip() for text in columns[column]}
        odd = sorted(t for t in texts - set(usual) if t.lower().lstrip("+-") == "nan")
        recipe["na"] |= {column: [*usual, *odd]} if odd else {}


def _is_numeric(test: dict[str, Any]) -> bool:
    return "low" in test or any(isinstance(value, int | float) for value in test.get("values", ()))


def _feature(feature: Feature) -> dict[str, Any]:
    """Write a feature as its test; the verifier names it by that."""
    tests: dict[str, dict[str, Any]] = {
        "is": {"values": [1]},
        "missing": {"values": [None]},
        "equals": {"values": list(feature.values)},
        "other": {"other": []},  # any but those that the column's features name
        "in": {"low": feature.low, "high": feature.high},
    }
    told = {"column": feature.column, **tests[feature.test]}
    if plain.named(feature.column, told) != feature.name:
        raise QueryError(
            f"the feature '{feature.name}' is not called by what it tests, so a certificate cannot "
            f"name it: call it '{plain.named(feature.column, told)}'."
        )
    return told


def _spellings(data: Data, reference: str) -> list[dict[str, Any]]:
    """Say for each label how a column of other labels spells it."""
    made = data.binarizer
    if made.target.cuts:
        tests: list[dict[str, Any]] = _coding(made.target, data.labels)["tests"]
        return tests
    names = {format_scalar(scalar(label)): at for at, label in enumerate(data.labels)}
    names |= dict(dict(made.spelled).get(reference, ()))
    spelled: list[list[Any]] = [[] for _ in data.labels]
    for text, at in names.items():
        value = plain.scalar(text)  # a number is the same in any spelling
        is_number = not isinstance(value, str) and math.isfinite(value)
        spelled[at].append(value if is_number else text)
    return [{"values": values} for values in spelled]


def _coding(coding: Coding, values: tuple[Scalar, ...]) -> dict[str, Any]:
    """Write the tests of labels or groups: their values or, with cuts, the ends of their bins."""
    ends = [list(pair) for pair in pairwise([None, *coding.cuts, None])] if coding.cuts else []
    bins = {interval_name(coding.column, low, high): (low, high) for low, high in ends}
    tests: list[dict[str, Any]] = []
    for value in map(scalar, values):
        if value in bins:
            tests.append(dict(zip(("low", "high"), bins[value], strict=True)))
        else:
            tests.append({"values": [value, None] if value == MISSING else [value]})
    return {"column": coding.column, "tests": tests}
