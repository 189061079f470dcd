"""What descriptions, warnings and checks look at: columns by their values, and rows as numbers.

A table in memory (``sheet``) and one that was streamed (``streaming``) both are outlines.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from adtc.data.binarize import Feature
from adtc.data.binning import Binning
from adtc.data.bits import Rows, Words
from adtc.data.coding import Coding
from adtc.data.columns import Column


class Seen(NamedTuple):
    """How the values of a column occur.

    Parameters
    ----------
    rows
        Rows per value; the last entry is for missing values.
    rising
        Whether the values rise from row to row.
    distinct
        Different values, estimated within a few percent where they are too many to be counted.
    """

    rows: Rows
    rising: bool
    distinct: int

    @classmethod
    def of(cls, column: Column) -> "Seen":
        """Look at a column that has every row."""
        n = len(column.values)
        rows = np.bincount(np.where(column.codes < 0, n, column.codes), minlength=n + 1)
        return cls(rows, bool((np.diff(column.codes) > 0).all()), n)

    @property
    def total(self) -> int:
        """All rows."""
        return int(self.rows.sum())

    @property
    def present(self) -> int:
        """Rows that have a value."""
        return int(self.rows[:-1].sum())


class Encoded(NamedTuple):
    """Features of rows: bits, the rows they are of, and how many of these differ."""

    bits: Words
    n_rows: int
    distinct_rows: int


class Outline(Protocol):
    """A table whose columns are known by their values; see ``Sheet`` for what the names mean."""

    @property
    def name(self) -> str:
        """What to call the table."""

    @property
    def n_rows(self) -> int:
        """Rows of the table."""

    @property
    def total(self) -> int:
        """The sum of their weights."""

    @property
    def binning(self) -> Binning:
        """How columns become features."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns that may become features, by name."""

    @property
    def repeated(self) -> tuple[str, ...]:
        """The columns that came more than once with the same values."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that were dropped or ignored."""

    @property
    def target(self) -> Column | None:
        """The column to predict."""

    @property
    def labels(self) -> Coding | None:
        """Its classes."""

    @property
    def positive(self) -> int | None:
        """The position of the positive one."""

    @property
    def sensitive(self) -> Column | None:
        """The sensitive column."""

    @property
    def groups(self) -> Coding | None:
        """Its groups."""

    @property
    def weights_column(self) -> str | None:
        """The column of weights."""

    @property
    def reference_names(self) -> tuple[str, ...]:
        """The columns of other labels."""

    @property
    def reading(self) -> str | None:
        """How it was read, if that is worth a sentence."""

    def chosen(self, column: str) -> bool:
        """Tell whether the user said how to read a column, by its type or its cuts."""

    def counts(self, column: Column) -> Rows:
        """Sum the weights per value of a column; the last entry is for missing values."""

    def seen(self, column: Column) -> Seen:
        """Say how the values of a column occur."""

    def features(self, columns: Iterable[Column]) -> tuple[Feature, ...]:
        """Make the features of these columns."""

    def encoded(self, features: tuple[Feature, ...]) -> Encoded:
        """Evaluate features on the rows."""

    def kind_counts(self) -> Rows:
        """Sum the weights by label and group."""

    def crossing(self) -> Callable[[Column], Rows]:
        """Return what counts rows by label and group, and by a column's cell."""
