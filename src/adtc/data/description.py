"""What a table looks like before a question is asked about it.

Rows, target and groups with their shares, how each column was read and cut, what is missing, what
will be merged, and the warnings of ``warnings``. How it is printed is in ``describing``.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, Unpack

import numpy as np

from adtc.data.association import Association
from adtc.data.binarize import Feature
from adtc.data.bits import Words, pack
from adtc.data.columns import Column, Scalar, format_scalar
from adtc.data.datasets import dataset_sheet, datasets
from adtc.data.describing import description_html, description_text
from adtc.data.identifiers import identifiers
from adtc.data.outline import Outline
from adtc.data.read import SheetOptions, read_sheet, stream_frame
from adtc.data.sheet import frame_sheet
from adtc.data.stream.batches import is_stream
from adtc.data.warnings import Associations, Beside, TableWarning, warnings_of

FREQUENT = 5  # values shown of a category

ReadAs = Literal["number", "category", "0/1", "constant", "empty"]


class DescribeOptions(SheetOptions, total=False):
    """The keywords of ``describe``."""

    sep: str | None
    header: bool
    stream: bool | None


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """How one column was read.

    Parameters
    ----------
    read_as
        A number is cut, a category becomes one feature per value, 0/1 stays as it is.
    refused
        Whether it looks like an identifier, so that no features are made of it.
    distinct, missing
        Different values, and rows without one.
    features
        The names of its Boolean features.
    cuts
        Where a number is cut.
    low, high
        The least and the largest number.
    frequent
        The most frequent values of a category or of 0/1, with their rows; none of an identifier.
    target, sensitive
        How well the column alone tells the label and the group; None where there is none.
    """

    name: str
    read_as: ReadAs
    refused: bool
    distinct: int
    missing: int
    features: tuple[str, ...]
    cuts: tuple[float, ...]
    low: float | None
    high: float | None
    frequent: tuple[tuple[str, int], ...]
    target: Association | None
    sensitive: Association | None

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON."""
        measured = {"target": self.target, "sensitive": self.sensitive}
        shares = {k: None if v is None else association_json(v) for k, v in measured.items()}
        return asdict(self) | shares


@dataclass(frozen=True, slots=True)
class Classes:
    """A column's values and how many rows have each.

    Parameters
    ----------
    positive_rows
        Of groups: rows of the positive label in each, None without one.
    """

    column: str
    values: tuple[Scalar, ...]
    rows: tuple[int, ...]
    positive_rows: tuple[int, ...] | None = None

    def share(self, k: int) -> Fraction:
        """Return the share of the rows with the k-th value."""
        return Fraction(self.rows[k], max(1, sum(self.rows)))

    def base_rate(self, k: int) -> Fraction | None:
        """Return the share of the positive label in the k-th group; None in an empty one."""
        if self.positive_rows is None or not self.rows[k]:
            return None
        return Fraction(self.positive_rows[k], self.rows[k])

    def to_json(self) -> list[dict[str, Any]]:
        """Give plain JSON, one object per value."""
        out = []
        for k, value in enumerate(self.values):
            item = {"value": format_scalar(value), "rows": self.rows[k]}
            item |= fraction_json("share", self.share(k))
            if self.positive_rows is not None:
                item["positive_rows"] = self.positive_rows[k]
                item |= fraction_json("base_rate", self.base_rate(k))
            out.append(item)
        return out


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """What ``describe`` found.

    Parameters
    ----------
    rows, total
        Rows of the table, and the sum of their weights.
    target, groups
        Labels and sensitive groups with their rows; None if there are none.
    positive
        The positive label.
    columns
        The columns that may become features.
    left_out
        The columns that were dropped or ignored.
    distinct_rows
        Rows that are left when equal ones are merged: no question tells them apart.
    twins
        Pairs of features that are equal, or opposite, in all rows, with whether they are opposite.
    warnings
        What to know before trusting an answer.
    reading
        How a table was read that was streamed, and which of its numbers are estimates.
    """

    name: str
    rows: int
    total: int
    target: Classes | None
    positive: Scalar | None
    groups: Classes | None
    weights: str | None
    references: tuple[str, ...]
    columns: tuple[ColumnSummary, ...]
    left_out: tuple[str, ...]
    distinct_rows: int
    twins: tuple[tuple[str, str, bool], ...]
    warnings: tuple[TableWarning, ...]
    reading: str | None = None

    @property
    def n_features(self) -> int:
        """Number of Boolean features."""
        return sum(len(c.features) for c in self.columns)

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON."""
        return {
            "name": self.name,
            "rows": self.rows,
            "total": self.total,
            "features": self.n_features,
            "target": self.target.column if self.target else None,
            "positive": None if self.positive is None else format_scalar(self.positive),
            "labels": self.target.to_json() if self.target else [],
            "sensitive": self.groups.column if self.groups else None,
            "groups": self.groups.to_json() if self.groups else [],
            "weights": self.weights,
            "references": list(self.references),
            "columns": [c.to_json() for c in self.columns],
            "left_out": list(self.left_out),
            "distinct_rows": self.distinct_rows,
            "twins": [
                {"feature": a, "twin": b, "opposite": opposite} for a, b, opposite in self.twins
            ],
            "warnings": [asdict(w) for w in self.warnings],
            "reading": self.reading,
        }

    def __str__(self) -> str:
        return description_text(self)

    def __repr__(self) -> str:
        return (
            f"<Description of {self.name}: {self.rows:,} rows, {len(self.columns):,} columns, "
            f"{self.n_features:,} features, warnings: {len(self.warnings):,}>"
        )

    def _repr_html_(self) -> str:
        return description_html(self)


def describe(table: object, **options: Unpack[DescribeOptions]) -> Description:
    """Describe a table: shares, columns, cuts, missing values, and what to beware of.

    Parameters
    ----------
    table
        The name of a bundled table, the path of CSV or Parquet files, or a frame (pandas, polars,
        pyarrow, a dict of columns, a query).
    **options
        As in ``read``; without ``target`` the columns are described by themselves.

    Returns
    -------
    Description
        Prints as text, shows as HTML in a notebook; ``warnings``, ``columns`` and ``to_json()``
        are for programs.

    Notes
    -----
    Columns that look like identifiers are no error here: they are described without their values
    and marked as refused.

    Examples
    --------
    >>> found = describe("adult")
    >>> found.rows, found.n_features, found.distinct_rows
    (32561, 122, 27553)
    >>> print(found.warnings[0])
    'relationship' tells 'sex' with hardly a doubt for 45.3 % of the rows (66.9 % is the largest \
group); trees that test it come near to testing 'sex'; use --drop relationship to leave it out.
    """
    given: dict[str, Any] = dict(options)
    if isinstance(table, str) and table in [info.name for info in datasets()]:
        return describe_sheet(dataset_sheet(table, **given))
    if isinstance(table, (str, PathLike)):
        return describe_sheet(read_sheet(table, describing=True, **given))
    stream = given.pop("stream", None)
    if stream or is_stream(table):
        return describe_sheet(stream_frame(table, stream=stream, describing=True, **given))
    return describe_sheet(frame_sheet(table, **given))


def describe_sheet(sheet: Outline) -> Description:
    """Describe a table whose columns are encoded."""
    refused = {i.column for i in identifiers(sheet)}
    features = {
        name: () if name in refused else sheet.features([c]) for name, c in sheet.columns.items()
    }
    rows = sheet.encoded(tuple(f for own in features.values() for f in own))
    names = [f.name for own in features.values() for f in own]
    beside = Beside(sheet)
    by_column = {name: beside.associations(c) for name, c in sheet.columns.items()}
    target, groups = _classes(sheet)
    positive = sheet.positive
    return Description(
        name=sheet.name,
        rows=sheet.n_rows,
        total=sheet.total,
        target=target,
        positive=None if positive is None or target is None else target.values[positive],
        groups=groups,
        weights=sheet.weights_column,
        references=sheet.reference_names,
        columns=tuple(
            _summary(sheet, column, features[name], by_column[name], name in refused)
            for name, column in sheet.columns.items()
        ),
        left_out=sheet.left_out,
        distinct_rows=rows.distinct_rows,
        twins=tuple(
            (names[a], names[b], opposite) for a, b, opposite in twins(rows.bits, rows.n_rows)
        ),
        warnings=warnings_of(sheet, by_column),
        reading=sheet.reading,
    )


def twins(bits: Words, n_rows: int) -> list[tuple[int, int, bool]]:
    """Find features equal or opposite to an earlier one: both places, and whether opposite.

    Examples
    --------
    >>> twins(pack(np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 1, 0]], np.uint8)), 3)
    [(0, 1, True), (0, 2, False)]
    """
    every = pack(np.ones(n_rows, np.uint8))
    seen: dict[bytes, tuple[int, bool]] = {}
    found = []
    for i, words in enumerate(bits):
        flipped = bool(words[0] & np.uint64(1))  # so that opposite features have one key
        key = (words ^ every if flipped else words).tobytes()
        first, way = seen.setdefault(key, (i, flipped))
        if first != i:
            found.append((first, i, way != flipped))
    return found


def association_json(found: Association) -> dict[str, Any]:
    """Give the shares as floats and as exact text."""
    out: dict[str, Any] = {}
    for name in ("right", "baseline", "sure", "auc"):
        out |= fraction_json(name, getattr(found, name))
    return out


def fraction_json(name: str, value: Fraction | None) -> dict[str, Any]:
    """Give a share as a float and as exact text."""
    exact = None if value is None else f"{value.numerator}/{value.denominator}"
    return {name: None if value is None else float(value), f"{name}_exact": exact}


def _classes(sheet: Outline) -> tuple[Classes | None, Classes | None]:
    """Count rows by label and by group, and the positive ones in each group."""
    counts = sheet.kind_counts()
    target = groups = None
    if sheet.labels and sheet.target:
        rows = tuple(counts.sum(axis=1).tolist())
        target = Classes(sheet.target.name, sheet.labels.values, rows)
    if sheet.groups and sheet.sensitive:
        positive = None if sheet.positive is None else tuple(counts[sheet.positive].tolist())
        rows = tuple(counts.sum(axis=0).tolist())
        groups = Classes(sheet.sensitive.name, sheet.groups.values, rows, positive)
    return target, groups


def _summary(
    sheet: Outline,
    column: Column,
    features: tuple[Feature, ...],
    associations: Associations,
    refused: bool,
) -> ColumnSummary:
    counts = sheet.counts(column)
    read_as = _read_as(column, features, refused)
    frequent: list[tuple[str, int]] = []
    if read_as in ("category", "0/1") and not refused:
        most = np.argsort(-counts[:-1], kind="stable")[:FREQUENT]
        values = map(format_scalar, column.values[most].tolist())
        frequent = list(zip(values, counts[most].tolist(), strict=True))
    ends = column.values[[0, -1]].tolist() if _has_ends(column, refused) else (None, None)
    cuts = {c for f in features for c in (f.low, f.high) if c is not None}
    return ColumnSummary(
        name=column.name,
        read_as=read_as,
        refused=refused,
        distinct=sheet.seen(column).distinct,
        missing=int(counts[-1]),
        features=tuple(f.name for f in features),
        cuts=tuple(sorted(cuts)),
        low=ends[0],
        high=ends[1],
        frequent=tuple(frequent),
        target=associations.target,
        sensitive=associations.sensitive,
    )


def _has_ends(column: Column, refused: bool) -> bool:
    return column.kind == "number" and bool(len(column.values)) and not refused


def _read_as(column: Column, features: tuple[Feature, ...], refused: bool) -> ReadAs:
    """Say what a column was taken for, by the tests that were made of it."""
    tests: Mapping[str, ReadAs] = {"is": "0/1", "in": "number", "equals": "category"}
    for feature in features:
        if feature.test in tests:
            return tests[feature.test]
    if not len(column.values):
        return "empty"
    if refused:
        return "number" if column.kind == "number" else "category"
    return "constant"
