"""A baseline h0: decisions that already stand, read as one label per row.

It may be a column of the table, a tree, or an array of predictions; whatever it is, a label that
the target does not have is refused.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adtc.algebra.trees import Leaf, Split, Tree
from adtc.data import Codes, Data, Scalar
from adtc.data.coding import find_value, label_codes
from adtc.data.columns import format_scalar
from adtc.data.frames import column
from adtc.errors import DataError, QueryError, UnknownColumnError, unknown
from adtc.models import TreeModel
from adtc.profiles.numbered import DrawnTree

Baseline = str | Tree | DrawnTree | TreeModel | Sequence[Any] | npt.NDArray[Any]
"""What decisions are compared with: a column's name, a tree, or one prediction per row."""


def baseline_codes(baseline: Baseline, data: Data, frame: pa.Table | None = None) -> Codes:
    """Give each row the position of its label in the baseline.

    Parameters
    ----------
    data
        The table of the profile.
    frame
        New rows, if the question is about them and not about the table's own.
    """
    if isinstance(baseline, str):
        return _column(baseline, data, frame)
    if isinstance(baseline, Leaf | Split | DrawnTree | TreeModel):
        return _tree(baseline, data, frame)
    return _predictions(baseline, data, data.n_rows if frame is None else frame.num_rows)


def baseline_name(baseline: Baseline) -> str:
    """Say in a word what the baseline is, for records and titles."""
    if isinstance(baseline, str):
        return baseline
    is_tree = isinstance(baseline, Leaf | Split | DrawnTree | TreeModel)
    return "a tree" if is_tree else "given predictions"


def _column(name: str, data: Data, frame: pa.Table | None) -> Codes:
    if frame is not None:
        if name not in frame.column_names:
            raise UnknownColumnError(unknown("column", name, frame.column_names))
        return label_codes(
            "baseline", column(frame, name, data.binarizer.na), data.binarizer.target
        )
    known = {**dict(data.references), data.target: data.y}
    if name not in known:
        raise UnknownColumnError(
            f"{unknown('baseline column', name, known)} A baseline column is the target or is "
            f"read with the table as a reference: references=['{name}'] (--reference '{name}')."
        )
    return known[name]


def _tree(tree: Tree | DrawnTree | TreeModel, data: Data, frame: pa.Table | None) -> Codes:
    if isinstance(tree, DrawnTree):
        tree = tree.tree
    model = tree if isinstance(tree, TreeModel) else TreeModel(tree, data)
    if model.labels != data.labels:
        raise QueryError(
            f"the baseline tree predicts {_listed(model.labels)}, but the target '{data.target}' "
            f"has the labels {_listed(data.labels)}: take a tree of this target."
        )
    labels = np.array([leaf.label for leaf in model.leaves], np.int32)
    return labels[model.apply(data if frame is None else frame)]


def _predictions(given: Any, data: Data, n_rows: int) -> Codes:
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if len(values) != n_rows:
        raise DataError(
            f"the baseline has {len(values):,} predictions, but there are {n_rows:,} rows: give "
            f"one per row, in their order."
        )
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        first.setdefault(value, row)
    codes = {value: _code(value, row, data) for value, row in first.items()}
    return np.array([codes[value] for value in values], np.int32)


def _code(value: Any, row: int, data: Data) -> int:
    try:
        return find_value("label", value if isinstance(value, Scalar) else str(value), data.labels)
    except DataError:
        raise DataError(
            f"the baseline predicts '{value}' in row {row + 1}, which is no label of the target "
            f"'{data.target}': {_listed(data.labels)}."
        ) from None


def _listed(labels: Sequence[Scalar]) -> str:
    return ", ".join(format_scalar(label) for label in labels)
