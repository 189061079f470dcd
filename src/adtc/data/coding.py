"""Columns that are coded rather than split on: labels, sensitive groups, references, weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from adtc.data.bits import Codes, Rows
from adtc.data.columns import Column, Scalar, format_scalar
from adtc.data.cuts import interval_name, splitting
from adtc.errors import DataError, unknown

BINARY = 2
MAX_CLASSES = 50
MAX_GROUPS = 20
MAX_TOTAL = 2**62
MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Coding:
    """A column's values in the order of their codes.

    Parameters
    ----------
    cuts
        If given, the values are the bins between these cuts, in order.
    """

    column: str
    values: tuple[Scalar, ...]
    cuts: tuple[float, ...] = ()

    def codes(self, column: Column) -> Codes:
        """Give each row the position of its value; -1 where there is none."""
        column = self._view(column)
        places = {value: code for code, value in enumerate(self.values)}
        if self.cuts:
            bins = np.array([places[name] for name in _bins(self.column, self.cuts)])
            codes = bins[np.searchsorted(self.cuts, column.values, side="left")]
        else:
            codes = np.array([places.get(v, -1) for v in column.values.tolist()])
        return np.append(codes, places.get(MISSING, -1)).astype(np.int32)[column.codes]

    def _view(self, column: Column) -> Column:
        """Read the column in the type of the values."""
        first = self.values[0]
        if self.cuts or (isinstance(first, (int, float)) and not isinstance(first, bool)):
            return column.numbers()
        return column.booleans() if isinstance(first, bool) else column.text()

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON."""
        return {"column": self.column, "values": list(self.values), "cuts": list(self.cuts)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Make the coding again."""
        return cls(saved["column"], tuple(saved["values"]), tuple(saved["cuts"]))


def fit_labels(
    column: Column, cuts: tuple[float, ...], positive: Scalar | None, weights: Rows
) -> tuple[Coding, int | None]:
    """Find the classes, sorted; of two, the positive one comes last.

    Returns
    -------
    coding, positive
        The positive class is a position in ``coding.values``; None if nobody named one of many.
    """
    check_no_missing("target", column)
    coding = _fit(column, cuts)
    n = len(coding.values)
    if n > MAX_CLASSES:
        raise DataError(
            f"the target '{column.name}' has {n} distinct values, but at most {MAX_CLASSES} "
            f"classes are possible; {_advice(column, 'classes')}."
        )
    counts = np.zeros(n, np.int64)
    np.add.at(counts, coding.codes(column), weights)
    if (counts > 0).sum() <= 1:
        only = format_scalar(coding.values[int(counts.argmax())])
        raise DataError(
            f"the target '{column.name}' has one class only ('{only}'); two or more are needed."
        )
    if positive is None:
        return coding, 1 if n == BINARY else None
    place = find_value("label", positive, coding.values)
    if n == BINARY and place == 0:
        coding, place = Coding(coding.column, coding.values[::-1], coding.cuts), 1
    return coding, place


def fit_groups(column: Column, cuts: tuple[float, ...] = (), *, least: int = 2) -> Coding:
    """Find the sensitive groups, sorted; missing values are a group of their own."""
    coding = _fit(column, cuts)
    groups = coding.values
    if (column.codes < 0).any() and MISSING not in groups:
        groups = (*groups, MISSING)
    if len(groups) < least:
        only = f" ('{format_scalar(groups[0])}')" if groups else ""
        raise DataError(
            f"the sensitive column '{column.name}' has one group only{only}; "
            "two or more are needed."
        )
    if len(groups) > MAX_GROUPS:
        raise DataError(
            f"the sensitive column '{column.name}' has {len(groups)} groups, but at most "
            f"{MAX_GROUPS} are possible; {_advice(column, 'groups')}."
        )
    return Coding(column.name, groups, coding.cuts)


def label_codes(role: str, column: Column, coding: Coding) -> Codes:
    """Code a column by known values; an unknown or missing one is an error."""
    if MISSING not in coding.values:
        check_no_missing(role, column)
    codes = coding.codes(column)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        value = format_scalar(column.values[column.codes[row]])
        known = ", ".join(format_scalar(v) for v in coding.values)
        raise DataError(
            f"the {role} column '{column.name}' holds '{value}' in row {row + 1}, "
            f"which is none of the known values: {known}."
        )
    return codes


def group_codes(groups: Coding | None, column: Column | None, n_rows: int) -> Codes:
    """Code the sensitive column; all rows are of one group where there is none."""
    if groups is None or column is None:
        return np.zeros(n_rows, np.int32)
    return label_codes("sensitive", column, groups)


def row_weights(column: Column) -> Rows:
    """Check row multiplicities: whole numbers of at least 0 that are not all 0."""
    weights = some_weights(column)
    check_total(column.name, float(weights.sum(dtype=float)))
    return weights


def some_weights(column: Column) -> Rows:
    """Check the multiplicities of some of the rows, which may all be 0."""
    check_no_missing("weights", column)
    column = column.numbers()
    check_weights(column)
    weights: Rows = column.values.astype(np.int64)[column.codes]
    return weights


def check_weights(column: Column) -> None:
    """Refuse numbers that are no multiplicities."""
    for wrong, bad in (("negative", column.values < 0), ("fractional", column.values % 1 != 0)):
        if bad.any():
            raise DataError(
                f"the weights column '{column.name}' holds the {wrong} value "
                f"{format_scalar(column.values[bad][0].item())}; "
                "weights are whole numbers of at least 0."
            )


def check_total(column: str, total: float) -> None:
    """Refuse weights that sum to nothing or to more than integers hold."""
    if not 0 < total < MAX_TOTAL:
        raise DataError(
            f"the weights column '{column}' sums to {format_scalar(total)}; "
            "the sum must be at least 1 and below 2**62."
        )


def find_value(kind: str, value: Scalar, known: Sequence[Scalar]) -> int:
    """Find a value by itself or by its spelling, so that a command line can name it."""
    for same in (
        lambda v: type(v) is type(value) and v == value,
        lambda v: not isinstance(v, str) and not isinstance(value, str) and v == value,
        lambda v: format_scalar(v).lower() == format_scalar(value).lower(),
    ):
        hits = [i for i, v in enumerate(known) if same(v)]
        if len(hits) == 1:
            return hits[0]
    raise DataError(unknown(kind, format_scalar(value), map(format_scalar, known)))


def _fit(column: Column, cuts: tuple[float, ...]) -> Coding:
    """Take the distinct values, or the bins that are not empty."""
    if not cuts:
        return Coding(column.name, tuple(column.values.tolist()))
    used = splitting(column.numbers().values, cuts)
    if not used:
        raise DataError(
            f"the cuts of column '{column.name}' leave all its values on one side; "
            "give a cut between its smallest and its largest value."
        )
    return Coding(column.name, tuple(_bins(column.name, used)), tuple(used))


def _bins(column: str, cuts: Sequence[float]) -> list[str]:
    """Name the bins between cuts."""
    ends = [None, *cuts, None]
    return [interval_name(column, low, high) for low, high in pairwise(ends)]


def _advice(column: Column, parts: str) -> str:
    if column.kind != "number":
        return f"name another column or join some of its {parts}"
    return f"cut it into {parts}, for example with cuts={{'{column.name}': [c]}}"


def check_no_missing(role: str, column: Column) -> None:
    """Refuse a column with missing values where each row needs one."""
    missing = column.codes < 0
    check_present(
        role, column.name, int(missing.sum()), int(missing.argmax()) if len(missing) else 0
    )


def check_present(role: str, column: str, missing: int, first: int) -> None:
    """Refuse so many missing values, the first of them in this row, counted from 0."""
    if missing:
        raise DataError(
            f"the {role} column '{column}' has {missing} missing values, "
            f"the first in row {first + 1}; leave those rows out or fill them in."
        )
