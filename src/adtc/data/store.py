"""A table as plain JSON and named arrays, and back: what a saved circuit refers to.

The arrays hold the binarised rows. Nothing here touches a file.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.binarize import Binarizer, Feature
from adtc.data.coding import Coding
from adtc.data.columns import Scalar
from adtc.data.table import Data

Arrays = dict[str, npt.NDArray[Any]]


def data_to_json(data: Data) -> tuple[dict[str, Any], Arrays]:
    """Take a table apart: plain JSON, and the arrays by name.

    Examples
    --------
    >>> data = Data.from_arrays([[1], [0]], ["yes", "no"])
    >>> saved, arrays = data_to_json(data)
    >>> saved["labels"], sorted(arrays)
    (['no', 'yes'], ['bits', 'weights', 'y', 'z'])
    >>> data_from_json(saved, arrays).fingerprint == data.fingerprint
    True
    """
    arrays = _arrays(data)
    if data.origin is not None:
        arrays["origin"] = data.origin
    for i, (_, further) in enumerate(data.tables):
        arrays |= {f"table{i}.{k}": v for k, v in _arrays(further).items()}
    recipe = data.binarizer
    saved = {
        "name": data.name,
        "features": [feature.to_json() for feature in data.features],
        "labels": _scalars(data.labels),
        "positive": data.positive,
        "groups": _scalars(data.groups),
        "sensitive": data.sensitive,
        "target": data.target,
        "references": [name for name, _ in data.references],
        "binarizer": recipe.to_json()
        | {
            "target": _coding(recipe.target),
            "sensitive": _coding(recipe.sensitive) if recipe.sensitive else None,
        },
        "tables": [[name, list(further.notes)] for name, further in data.tables],
    }
    return saved, arrays


def _arrays(data: Data) -> Arrays:
    arrays: Arrays = {"bits": data.bits, "y": data.y, "z": data.z, "weights": data.weights}
    return arrays | {f"reference{i}": codes for i, (_, codes) in enumerate(data.references)}


def data_from_json(saved: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Data:
    """Put a table together again."""
    recipe = Binarizer.from_json(saved["binarizer"])
    data = Data(
        name=saved["name"],
        features=tuple(map(Feature.from_json, saved["features"])),
        labels=_values(saved["labels"]),
        positive=saved["positive"],
        groups=_values(saved["groups"]),
        sensitive=saved["sensitive"],
        target=saved["target"],
        binarizer=replace(
            recipe,
            target=_typed(recipe.target),
            sensitive=_typed(recipe.sensitive) if recipe.sensitive else None,
        ),
        origin=arrays.get("origin"),
        **_rows(saved, arrays),
    )
    further = [
        (name, replace(data, name=name, origin=None, notes=tuple(notes), **_rows(saved, arrays, i)))
        for i, (name, notes) in enumerate(saved.get("tables", ()))  # files of old have none
    ]
    return replace(data, tables=tuple(further))


def _rows(
    saved: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], table: int | None = None
) -> dict[str, Any]:
    """Collect the rows of the table itself, or of a further one."""
    prefix = "" if table is None else f"table{table}."
    rows: dict[str, Any] = {k: arrays[prefix + k] for k in ("bits", "y", "z", "weights")}
    codes = [(name, arrays[f"{prefix}reference{i}"]) for i, name in enumerate(saved["references"])]
    return rows | {"references": tuple(codes)}


def _coding(coding: Coding) -> dict[str, Any]:
    return coding.to_json() | {"values": _scalars(coding.values)}


def _typed(coding: Coding) -> Coding:
    return replace(coding, values=_values(coding.values))


def _scalars(values: tuple[Scalar, ...]) -> list[Any]:
    """Write labels or groups; JSON keeps Python's types, NumPy's are named beside the value."""
    return [[v.dtype.str, v.item()] if isinstance(v, np.generic) else v for v in values]


def _values(saved: list[Any] | tuple[Any, ...]) -> tuple[Scalar, ...]:
    return tuple(np.dtype(v[0]).type(v[1]) if isinstance(v, list) else v for v in saved)
