"""A Boolean table: features, labels, sensitive groups and row weights, and what follows from them.

How one is made, and how further tables join it, is a matter of ``Data`` in ``table``.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from adtc.data.binarize import Binarizer, Feature
from adtc.data.bits import BitRows, Codes, Rows, Words, equal_rows, ranked, take_rows
from adtc.data.columns import Scalar
from adtc.data.files import Source
from adtc.data.stream.batches import Originals

if TYPE_CHECKING:
    from adtc.data.table import Data


@dataclass(frozen=True, eq=False, repr=False)
class BooleanTable(BitRows):
    """Rows as bits per feature, with labels, groups and weights.

    Parameters
    ----------
    name
        What to call the table in results.
    features
        The Boolean features, in the order of ``bits``.
    bits
        ``[n_features, n_words]``: row r of feature f is bit ``r % 64`` of ``bits[f, r // 64]``.
    y
        Per row a position in ``labels``.
    labels
        The classes in their original type, sorted; of two classes the positive one is last.
    positive
        Position of the positive class: 1 of two; of more only if the user named one, else None.
    z
        Per row a position in ``groups``; all 0 without a sensitive column.
    groups
        The sensitive groups, sorted, ``(missing)`` last; empty without a sensitive column.
    weights
        Row multiplicities: a row of weight 3 equals three equal rows everywhere.
    references
        Other label columns, coded by ``labels``, as pairs of name and codes.
    binarizer
        The recipe to read a new table in the same way.
    origin
        After ``merged``: for each row of the table before, its row in this one; otherwise None.
    source
        The file that the rows were read from, if it was one.
    tables
        Further tables that are sent down the same trees, as pairs of name and table; see
        ``with_table``.
    notes
        What had to be done to read this table as a further one, in sentences.
    originals
        Of a streamed table, whose equal rows are merged: finds the merged row of each row by one
        more pass; otherwise None.
    """

    name: str
    features: tuple[Feature, ...]
    bits: Words
    y: Codes
    labels: tuple[Scalar, ...]
    positive: int | None
    z: Codes
    groups: tuple[Scalar, ...]
    sensitive: str | None
    target: str
    weights: Rows
    references: tuple[tuple[str, Codes], ...]
    binarizer: Binarizer
    origin: Rows | None = None
    source: Source | None = None
    tables: tuple[tuple[str, "Data"], ...] = ()
    notes: tuple[str, ...] = ()
    originals: Originals | None = None

    def __post_init__(self) -> None:
        # Values are shared and fingerprinted, so nobody may change them in place.
        arrays: list[npt.NDArray[Any]] = [self.bits, self.y, self.z, self.weights]
        arrays += [codes for _, codes in self.references]
        for array in arrays:
            array.setflags(write=False)

    def __repr__(self) -> str:
        labels = ", ".join(map(str, self.labels))
        groups = f", sensitive {self.sensitive}" if self.sensitive else ""
        further = "".join(f", {name} ({data.n_rows:,} rows)" for name, data in self.tables)
        return (
            f"<Data {self.name}: {self.n_rows:,} rows, {self.n_features} features, target "
            f"{self.target} ({labels}){groups}{further}>"
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in order."""
        return tuple(f.name for f in self.features)

    @cached_property
    def total(self) -> int:
        """The sum of the weights: the N of all formulas."""
        return int(self.weights.sum())

    @cached_property
    def row_kinds(self) -> tuple[Codes, Rows]:
        """The combinations of label, group and references that occur, and which one each row has.

        Combinations come in lexicographic order, as rows of codes.
        """
        kinds, member = np.zeros((1, 0), np.int32), np.zeros(self.n_rows, np.int64)
        for codes in (self.y, self.z, *(codes for _, codes in self.references)):
            base = int(codes.max(initial=0)) + 1
            numbers = np.arange(len(kinds))
            if base > 1:  # else it tells no rows apart
                # numbers stay small: each step counts only what occurs
                numbers, member = ranked(member * base + codes)
            before, own = np.divmod(numbers, base)
            kinds = np.concatenate([kinds[before], own[:, None]], axis=1, dtype=np.int32)
        return kinds, member

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides a count, in hexadecimal."""
        digest = hashlib.sha256()
        names = (self.feature_names, self.labels, self.positive, self.groups, self.n_rows)
        digest.update(repr((names, [k for k, _ in self.references])).encode())
        codes = [self.y, self.z, *(codes for _, codes in self.references)]
        for array, dtype in [
            (self.bits, "<u8"),
            (self.weights, "<i8"),
            *((c, "<i4") for c in codes),
        ]:
            digest.update(np.ascontiguousarray(array, dtype).data)
        for name, data in self.tables:
            digest.update(f"{name} {data.fingerprint}".encode())
        return digest.hexdigest()

    def merged(self) -> Self:
        """Make equal rows one row of their summed weight; no count changes.

        Notes
        -----
        Rows are equal if features, label, group and references agree. ``origin`` of the result
        leads from each row of the original table to its merged row.

        Examples
        --------
        >>> from adtc import Data
        >>> data = Data.from_arrays([[1], [0], [1]], [1, 0, 1]).merged()
        >>> data.weights.tolist(), data.origin.tolist()
        ([2, 1], [0, 1, 0])
        """
        return self._merged

    @cached_property
    def _merged(self) -> Self:
        """Merged rows, kept: every question about the table needs them."""
        codes = [self.y, self.z, *(codes for _, codes in self.references)]
        first, group = equal_rows(self.bits, codes, self.n_rows)
        weights = np.zeros(len(first), np.int64)
        np.add.at(weights, group, self.weights)
        return replace(
            self,
            bits=take_rows(self.bits, self.n_rows, first),
            y=self.y[first],
            z=self.z[first],
            references=tuple((k, c[first]) for k, c in self.references),
            weights=weights,
            origin=group if self.origin is None else group[self.origin],
            source=None,
        )

    def take(self, rows: Rows) -> Self:
        """Select rows by number."""
        return replace(
            self,
            bits=take_rows(self.bits, self.n_rows, rows),
            y=self.y[rows],
            z=self.z[rows],
            weights=self.weights[rows],
            references=tuple((k, codes[rows]) for k, codes in self.references),
            origin=None,
            originals=None,
        )

    @property
    def own(self) -> int:
        """Rows that are the table's own: all of them; a ``Stack`` has others."""
        return self.n_rows
