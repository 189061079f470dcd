"""The same rows with one column set to a value, or with its two values switched.

As a further table they tell how trees treat the same people otherwise (counterfactual checks).
Labels and sensitive groups stay those of the rows as they are.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from adtc.data.binarize import feature_bits
from adtc.data.bits import Rows, Words, equal_rows, pack, unpack
from adtc.data.columns import Scalar, encode
from adtc.data.hybrids import features_of
from adtc.errors import DataError

if TYPE_CHECKING:
    from adtc.data.table import Data

PAIR = 2


def intervened(data: "Data", name: str, column: str, value: Scalar | None, switch: bool) -> "Data":
    """Return the rows with the column set to a value, or its two values switched."""
    if switch == (value is not None):
        raise DataError("an intervention either sets a column to a value or switches its values.")
    features = np.array(features_of(data, column))
    bits = data.bits.copy()
    if switch:
        bits[features], change = _switched(data, column, features), f"{column} switched"
    else:
        bits[features], change = _set(data, column, features, value), f"{column} set to {value}"
    note = f"the rows of '{data.name}' with {change}; labels and groups stay"
    return replace(data, name=name, bits=bits, origin=None, tables=(), notes=(note,))


def _switched(data: "Data", column: str, features: Rows) -> Words:
    first, pattern = equal_rows(data.bits[features], [], data.n_rows)
    if len(first) != PAIR:
        raise DataError(
            f"the column '{column}' has {len(first)} different patterns of features, and only two "
            f"can be switched: set it to a value instead."
        )
    return pack(unpack(data.bits[features], data.n_rows)[:, first[1 - pattern]])


def _set(data: "Data", column: str, features: Rows, value: Scalar | None) -> Words:
    import pyarrow as pa

    chosen = [data.features[f] for f in features]
    one = feature_bits(chosen, {column: encode(column, pa.array([value]), na=())}, 1)
    return pack(np.repeat(unpack(one, 1), data.n_rows, axis=1))
