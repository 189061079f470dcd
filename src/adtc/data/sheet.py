"""A table whose columns are encoded and have their roles, before features are made of them.

``Data`` is made of a sheet, and so are the checks and the description of a table: both look at
values that ``Data`` no longer has. Every column is encoded once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from adtc.data.association import cross_counts
from adtc.data.binarize import Feature, feature_bits
from adtc.data.binning import Binning, BinningOptions
from adtc.data.bits import Codes, Rows, equal_rows
from adtc.data.coding import (
    Coding,
    fit_groups,
    fit_labels,
    group_codes,
    row_weights,
)
from adtc.data.columns import Column, Scalar, encode
from adtc.data.files import Source, repeated_names
from adtc.data.frames import arrow_table, check_known, check_roles
from adtc.data.outline import Encoded, Seen
from adtc.data.references import Spelled, reference_codes
from adtc.errors import DataError, unknown


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Encoded columns with their roles.

    Parameters
    ----------
    columns
        The columns that may become features, by name, in the order of the table.
    left_out
        The columns that were to be dropped or ignored; they are not encoded.
    target, labels, positive
        The column to predict, its classes, and the position of the positive one; None without a
        target.
    sensitive, groups
        The sensitive column and its groups, if there is one.
    weights
        Row multiplicities; all 1 without a column of weights.
    references
        Other label columns as pairs of name and codes.
    spelled
        Per such column that spells labels its own way, which label each spelling is.
    names
        All columns of the table, in order.
    repeated
        Of these, the ones that came more than once with the same values.
    source
        The file that it was read from, if it was one.
    """

    name: str
    n_rows: int
    binning: Binning
    columns: dict[str, Column]
    left_out: tuple[str, ...]
    target: Column | None
    labels: Coding | None
    positive: int | None
    sensitive: Column | None
    groups: Coding | None
    weights: Rows
    weights_column: str | None
    references: tuple[tuple[str, Codes], ...]
    na: tuple[str, ...]
    spelled: tuple[tuple[str, Spelled], ...] = ()
    names: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    source: Source | None = None

    def take(self, rows: Rows) -> "Sheet":
        """Return the sheet of some rows, with the labels and groups of all."""
        return replace(
            self,
            n_rows=len(rows),
            columns={name: column.take(rows) for name, column in self.columns.items()},
            target=self.target and self.target.take(rows),
            sensitive=self.sensitive and self.sensitive.take(rows),
            weights=self.weights[rows],
            references=tuple((name, codes[rows]) for name, codes in self.references),
            source=None,
        )

    def features(self, columns: Iterable[Column]) -> tuple[Feature, ...]:
        """Make the features of these columns."""
        return tuple(f for c in columns for f in self.binning.features(c, self.weights))

    def row_kinds(self) -> Rows:
        """Code each row by label and group: label times the number of groups plus group."""
        z = group_codes(self.groups, self.sensitive, self.n_rows).astype(np.int64)
        if self.labels is None or self.target is None:
            return z
        n_groups = len(self.groups.values) if self.groups else 1
        return self.labels.codes(self.target) * np.int64(n_groups) + z

    def chosen(self, column: str) -> bool:
        """Tell whether the user said how to read a column, by its type or its cuts."""
        return self.binning.chooses(column)

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return int(self.weights.sum())

    @property
    def reference_names(self) -> tuple[str, ...]:
        """The columns of other labels."""
        return tuple(name for name, _ in self.references)

    @property
    def reading(self) -> None:
        """There is nothing to say about how it was read: all of it was there at once."""

    def counts(self, column: Column) -> Rows:
        """Sum the weights per value of a column; the last entry is for missing values."""
        return column.counts(self.weights)

    def seen(self, column: Column) -> Seen:
        """Say how the values of a column occur."""
        return Seen.of(column)

    def encoded(self, features: tuple[Feature, ...]) -> Encoded:
        """Evaluate features on the rows."""
        bits = feature_bits(features, self.columns, self.n_rows)
        codes = [self.row_kinds().astype(np.int32), *(c for _, c in self.references)]
        first, _ = equal_rows(bits, codes, self.n_rows)
        return Encoded(bits, self.n_rows, len(first))

    def kind_counts(self) -> Rows:
        """Sum the weights by label and group."""
        n_labels = len(self.labels.values) if self.labels else 1
        n_groups = len(self.groups.values) if self.groups else 1
        counts = np.zeros((n_labels, n_groups), np.int64)
        np.add.at(counts.reshape(-1), self.row_kinds(), self.weights)
        return counts

    def crossing(self) -> Callable[[Column], Rows]:
        """Return what counts rows by label and group, and by a column's cell."""
        kinds, n_kinds = self.row_kinds(), self.kind_counts().size
        weights = None if self.weights_column is None else self.weights
        return lambda column: cross_counts(column, kinds, n_kinds, weights)


def frame_sheet(
    frame: object,
    *,
    target: str | None = None,
    sensitive: str | None = None,
    use_sensitive: bool = False,
    positive: Scalar | None = None,
    weights: str | None = None,
    references: Sequence[str] = (),
    reference_labels: Mapping[str, Mapping[str, Scalar]] | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] | None = None,
    parse_text: bool = False,
    name: str = "table",
    **binning: Unpack[BinningOptions],
) -> Sheet:
    """Encode the columns of a frame; the parameters are those of ``Data.from_frame``.

    Examples
    --------
    >>> sheet = frame_sheet({"age": [20, 30], "y": ["no", "yes"]}, target="y")
    >>> list(sheet.columns), sheet.labels.values
    (['age'], ('no', 'yes'))
    """
    options = Binning(**binning)
    table = arrow_table(frame)
    roles = [("target", target), ("sensitive", sensitive), ("weights", weights)]
    roles += [("references", r) for r in references] + [("drop", c) for c in drop]
    named = check_roles(table, roles)
    check_known(table, [*(options.cuts or ()), *options.kinds])
    options.check_coded(target, sensitive)
    spellings = tuple(na or ())

    def get(name: str) -> Column:
        parse = parse_text and options.kinds.get(name) != "category"
        return encode(name, table[name], na=spellings, parse_text=parse)

    rows = row_weights(get(weights)) if weights else np.ones(table.num_rows, np.int64)
    y_column = get(target) if target else None
    labels, place = None, None
    if y_column is not None:
        cuts = options.given.get(y_column.name, ())
        labels, place = fit_labels(y_column, cuts, positive, rows)
    z_column = get(sensitive) if sensitive else None
    groups = fit_groups(z_column, options.given.get(z_column.name, ())) if z_column else None
    others = _references(references, get, labels, reference_labels or {})
    taken = (named | options.ignored) - ({sensitive} if use_sensitive else set())
    return Sheet(
        name=name,
        n_rows=table.num_rows,
        binning=options,
        target=y_column,
        labels=labels,
        positive=place,
        sensitive=z_column,
        groups=groups,
        weights=rows,
        weights_column=weights,
        references=tuple((name, codes) for name, codes, _ in others),
        columns={c: get(c) for c in table.column_names if c not in taken},
        left_out=tuple(c for c in table.column_names if c in {*drop, *options.ignored}),
        na=spellings,
        spelled=tuple((name, spelled) for name, _, spelled in others if spelled),
        names=tuple(table.column_names),
        repeated=repeated_names(table),
    )


def _references(
    names: Sequence[str],
    get: Any,
    labels: Coding | None,
    given: Mapping[str, Mapping[str, Scalar]],
) -> list[tuple[str, Codes, Spelled]]:
    """Code other label columns by the labels of the target; without one they are not coded."""
    for name in given:
        if name not in names:
            raise DataError(unknown("reference column of reference_labels", name, names))
    if labels is None:
        return []
    return [(name, *reference_codes(get(name), labels, given.get(name))) for name in names]
