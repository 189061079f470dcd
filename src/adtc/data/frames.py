"""Frames of any library as Arrow tables, plain arrays as columns, and the checks on both."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.binarize import Feature
from adtc.data.columns import Column, encode, encode_whole
from adtc.data.files import without_repeats
from adtc.errors import DataError, UnknownColumnError, unknown


def arrow_table(frame: object) -> Any:
    """Turn a frame into a ``pyarrow.Table`` with unique column names and at least one row."""
    import pyarrow as pa

    speaks_arrow = hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")
    if not speaks_arrow and not isinstance(frame, Mapping):
        raise DataError(
            f"a frame that speaks Arrow was expected (pandas, polars, pyarrow), "
            f"but a {type(frame).__name__} came; read a file with adtc.read."
        )
    try:
        table: Any = frame
        if not isinstance(frame, pa.Table):  # of a table, too, it would ask pandas if it is its own
            table = pa.table(dict(frame) if isinstance(frame, Mapping) else frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the frame cannot be read: {' '.join(str(error).split())}.") from None
    table = table.drop_columns(index_columns(table))
    table = without_repeats(table, "the table")
    if not table.num_rows:
        raise DataError("the table has no rows; at least one is needed.")
    return table


def column(table: Any, name: str, na: Sequence[str]) -> Column:
    """Encode the named column of a new table."""
    check_known(table, [name])
    return encode(name, table[name], na=na)


def check_known(table: Any, names: Iterable[str]) -> None:
    """Refuse names that are not columns of the table."""
    for name in names:  # a table may have very many columns, so they are not listed each time
        if not _has_column(table, name):
            raise UnknownColumnError(unknown("column", name, table.column_names))


def _has_column(table: Any, name: str) -> bool:
    try:
        return bool(table.schema.get_field_index(name) >= 0)
    except UnicodeEncodeError:  # half a character, which no column's name has
        return False


def check_roles(table: Any, roles: Sequence[tuple[str, str | None]]) -> set[str]:
    """Check that the named columns exist and have one role each; give their names."""
    named = [(role, name) for role, name in roles if name is not None]
    check_known(table, [name for _, name in named])
    seen: dict[str, str] = {}
    for role, name in named:
        if name in seen:
            raise DataError(
                f"column '{name}' is given both as {seen[name]} and as {role}; "
                "each column has one role at most."
            )
        seen[name] = role
    return set(seen)


def check_features(features: Sequence[Feature]) -> None:
    """Refuse a table that leaves nothing to split on."""
    if not features:
        raise DataError(
            "no feature is left: besides the target and the other named columns, every column "
            "is constant, missing throughout or left out."
        )
    check_names(f.name for f in features)


def check_names(names: Iterable[str]) -> None:
    """Refuse two features of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two features would be named '{name}'; rename a column.")
        seen.add(name)


def zero_one(X: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Check the matrix of features."""
    array = np.asarray(X)
    match array.shape:
        case (n_rows, _) if n_rows:
            pass
        case shape:
            raise DataError(
                f"X must have one or more rows of 0/1 features, but its shape is {shape}."
            )
    if not ((array == 0) | (array == 1)).all():
        raise DataError("X must hold 0 and 1 only; use Data.from_frame for other values.")
    return array.astype(np.uint8)


def array_column(name: str, values: npt.ArrayLike, n_rows: int) -> Column:
    """Encode a plain array of values."""
    array: Any = np.asarray(values)
    if array.shape != (n_rows,):
        raise DataError(f"{name} must have one value for each of {n_rows} rows, not {array.shape}.")
    if array.dtype.kind == "i":
        return encode_whole(name, array)
    import pyarrow as pa

    # truth values as they are; all else as Python's values, of which Arrow finds the type
    return encode(name, pa.array(array if array.dtype.kind == "b" else array.tolist()))


def index_columns(table: Any) -> list[str]:
    """Find the columns that pandas made of an index; an index is no feature."""
    pandas = (table.schema.pandas_metadata or {}).get("index_columns", ())
    known = set(table.column_names)
    return [name for name in pandas if isinstance(name, str) and name in known]
