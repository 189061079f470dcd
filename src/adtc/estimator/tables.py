"""What scikit-learn users pass as X, as Arrow tables: arrays of numbers, or frames of any make."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data, Scalar
from adtc.data.binning import BinningOptions
from adtc.data.coding import Coding
from adtc.data.frames import arrow_table
from adtc.data.sheet import frame_sheet

Array = npt.NDArray[Any]


def is_frame(X: object) -> bool:
    """Tell whether X has named columns of their own types, rather than being one array."""
    return hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")


def as_table(X: Any, names: Sequence[str] | None = None) -> Any:
    """Turn a frame or a checked array into an Arrow table; ``names`` rename its columns."""
    import pyarrow as pa

    if is_frame(X):
        table = arrow_table(X)
        return table if names is None else table.rename_columns(list(names))
    given = names or [f"x{i}" for i in range(X.shape[1])]
    return pa.table({n: pa.array(_plain(X[:, i])) for i, n in enumerate(given)})


def labelled(
    table: Any,
    codes: Array,
    classes: Array,
    weights: Array | None,
    *,
    positive: int | None,
    sensitive: str | None,
    use_sensitive: bool,
    binning: BinningOptions,
    named: bool,
) -> tuple[Data, Array]:
    """Make the table with Boolean features; labels are the classes themselves.

    Parameters
    ----------
    named
        Whether the columns have names of their own: only then can one look like an identifier.

    Returns
    -------
    data, order
        Of two classes the positive one comes last; ``order`` has each label's place in
        ``classes``.
    """
    import pyarrow as pa

    target, weight = (_free(n, table.column_names) for n in ("y", "sample_weight"))
    table = table.append_column(target, pa.array(codes.astype(np.int64)))
    if weights is not None:
        table = table.append_column(weight, pa.array(weights))
    sheet = frame_sheet(
        table,
        target=target,
        sensitive=sensitive,
        use_sensitive=use_sensitive,
        positive=positive,
        weights=None if weights is None else weight,
        name="training data",
        **binning,
    )
    data = Data.from_sheet(sheet, keep_identifiers=not named)
    order: Array = np.array(data.labels)
    labels: tuple[Scalar, ...] = tuple(classes[order].tolist())
    # Classes go in as codes: a class may be called " a" or "NA", which a table reads otherwise.
    recipe = replace(data.binarizer, target=Coding(target, labels), weights=None)
    return replace(data, labels=labels, binarizer=recipe), order


def _plain(column: Array) -> Array:
    """Give a column a type that Arrow has."""
    dtype = column.dtype
    native = np.float64 if dtype.kind == "f" else dtype.newbyteorder("=")
    return np.ascontiguousarray(column, native)


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
