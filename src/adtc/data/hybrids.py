"""Hybrid rows: one variable from a donor, all else from another row (Fisher, Rudin, Dominici 2019).

Over all pairs of rows they are, for every row and every pattern that the variable's features have
in some row, one row that counts as often as there are donors with that pattern. How often is a
property of the row's kind, not a weight: weights would take many bit planes.
"""

from typing import TYPE_CHECKING

import numpy as np

from adtc.data.bits import equal_rows, pack, take_rows, unpack
from adtc.data.stack import Layer, RowKind
from adtc.errors import DataError, unknown

if TYPE_CHECKING:
    from adtc.data.table import Data


def variables(data: "Data") -> dict[str, tuple[int, ...]]:
    """Return the source columns, each with the features made from it.

    Examples
    --------
    >>> from adtc import Data
    >>> variables(Data.from_frame({"age": [20, 30, 40], "y": [0, 1, 1]}, target="y"))
    {'age': (0, 1)}
    """
    found: dict[str, list[int]] = {}
    for f, feature in enumerate(data.features):
        found.setdefault(feature.column, []).append(f)
    return {column: tuple(features) for column, features in found.items()}


def features_of(data: "Data", column: str) -> tuple[int, ...]:
    """Return the features made from a column."""
    known = variables(data)
    if column not in known:
        raise DataError(unknown("variable", column, known))
    return known[column]


def hybrid_layer(data: "Data", features: tuple[int, ...], name: str) -> Layer:
    """Make the hybrid rows of all pairs of rows, with one variable's features from the donor.

    Parameters
    ----------
    name
        What the layer is called.
    """
    own = np.array(features)
    # rows that differ in the column alone make the same hybrid rows
    others = data.bits.copy()
    others[own] = 0
    first, group = equal_rows(others, [data.y], data.n_rows)
    weights = np.zeros(len(first), np.int64)
    np.add.at(weights, group, data.weights)
    donor, pattern = equal_rows(data.bits[own], [], data.n_rows)
    donors = np.zeros(len(donor), np.int64)
    np.add.at(donors, pattern, data.weights)
    values = unpack(data.bits[own], data.n_rows)[:, donor]  # [feature, pattern]
    bases, patterns = np.flatnonzero(weights), np.flatnonzero(donors)
    bits = unpack(take_rows(others, data.n_rows, first[bases]), len(bases))
    rows = np.repeat(bits, len(patterns), axis=1)
    rows[own] = np.tile(values[:, patterns], len(bases))
    times, member = np.unique(donors[patterns], return_inverse=True)
    y = data.y[first[bases]].astype(np.int64)
    kinds = [
        RowKind(label, table=name, times=n)
        for label in range(len(data.labels))
        for n in times.tolist()
    ]
    kind = np.repeat(y, len(patterns)) * len(times) + np.tile(member.reshape(-1), len(bases))
    return Layer(pack(rows), np.repeat(weights[bases], len(patterns)), tuple(kinds), kind)
