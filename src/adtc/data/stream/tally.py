"""What a column holds, added up from batches: the first of the two passes over a table.

A tally knows a column's different values with their rows and weights, as long as there are at most
``MOST_VALUES``. Of numbers there may be more: they are counted in buckets (see ``ranks``). What is
decided about a column (its kind, its cuts, whether it looks like an identifier) is then decided by
the same code as for a table in memory, on a column with one row per value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc.data.arrow import numbers_of, text_array
from adtc.data.bits import Codes, Rows
from adtc.data.columns import Column, Kind, encode, encode_numbers
from adtc.data.outline import Seen
from adtc.data.stream.ranks import COLLECTED, EDGES, Buckets, Numbers, above, runs_of, summed
from adtc.errors import DataError

MOST_VALUES = COLLECTED
SKETCH = 4096  # hashes from which the number of different values is estimated, within 5 %
_NEARLY = 0.95


class BatchValues(NamedTuple):
    """The values of one column in one batch.

    Parameters
    ----------
    codes
        Per row the position of its value, -1 where it is missing; None if ``values`` has the value
        of each row and none is missing.
    distinct
        Whether the values are distinct and ascend.
    """

    kind: Kind
    values: npt.NDArray[Any]
    codes: Codes | None
    distinct: bool


def batch_values(name: str, array: Any, na: Sequence[str], *, parse: bool) -> BatchValues:
    """Read one column of a batch as ``encode`` would, but without sorting plain numbers."""
    import pyarrow.types as pt

    if pt.is_dictionary(array.type):
        column = encode(name, array.dictionary, na=na, parse_text=parse)
        indices = numbers_of(array.indices.fill_null(len(array.dictionary)).cast("int64"))
        return BatchValues(column.kind, column.values, np.append(column.codes, -1)[indices], True)
    plain = encode_numbers(name, array, na)
    if plain is None:
        column = encode(name, array, na=na, parse_text=parse)
        return BatchValues(column.kind, column.values, column.codes, True)
    values, present = plain
    if present is None:
        return BatchValues("number", values, None, False)
    codes = np.where(present, np.cumsum(present) - 1, -1).astype(np.int32)
    return BatchValues("number", values, codes, False)


@dataclass(slots=True)
class Tally:
    """One column, added up.

    Parameters
    ----------
    parse
        Whether text may turn out to be numbers or truth values, as in a CSV file.
    points
        Cuts that the user gave: buckets end there.
    """

    name: str
    na: Sequence[str]
    parse: bool
    points: Sequence[float] = ()
    most: int = MOST_VALUES
    missing: int = 0
    missing_weight: int = 0
    first_missing: int = -1
    rising: bool = True
    buckets: Buckets | None = None
    _last: float | None = None
    _kind: Kind | None = None
    _numbers: tuple[Numbers, Rows, Rows] | None = None
    _places: dict[Any, int] = field(default_factory=dict)
    _sums: list[Rows] = field(default_factory=lambda: [np.zeros(0, np.int64)] * 3)
    _sketch: "Sketch | None" = None

    def add(self, array: Any, weights: Rows | None, start: int) -> None:
        """Add the column of one batch, whose first row has this number."""
        parse = self.parse and self.buckets is not None
        batch = batch_values(self.name, array, self.na, parse=parse)
        if parse and len(batch.values) and batch.kind != "number":
            raise self._not_a_number(batch, start)
        self._note_missing(batch.codes, weights, start)
        if batch.kind == "number":
            self._note_order(batch)
            self._add_numbers(*_counted(batch, weights))
        elif len(batch.values):
            self._kind = batch.kind
            assert batch.codes is not None
            first = np.full(len(batch.values) + 1, -1, np.int64)
            first[batch.codes[::-1]] = np.arange(start + len(array) - 1, start - 1, -1)
            self._add_values(*_counted(batch, weights), first[:-1][first[:-1] >= 0])

    def _note_missing(self, codes: Codes | None, weights: Rows | None, start: int) -> None:
        missing = None if codes is None else codes < 0
        if missing is None or not missing.any():
            return
        if not self.missing:
            self.first_missing = start + int(missing.argmax())
        self.missing += int(missing.sum())
        self.missing_weight += int(missing.sum() if weights is None else weights[missing].sum())
        self.rising = False

    def _note_order(self, batch: BatchValues) -> None:
        if not self.rising or not len(batch.values):
            return
        values = batch.values if batch.codes is None else batch.values[batch.codes]
        risen = bool((values[1:] > values[:-1]).all())
        self.rising = risen and (self._last is None or bool(values[0] > self._last))
        self._last = values[-1]

    def _add_numbers(self, values: Numbers, rows: Rows, weights: Rows) -> None:
        self._kind = "number"
        if self.buckets is not None:
            assert self._sketch is not None
            self._sketch.add(values)
            self.buckets.add(values, rows, weights)
            return
        self._numbers = summed(self._numbers, (values, rows, weights))
        if len(self._numbers[0]) > self.most:
            self._fill_buckets()

    def _fill_buckets(self) -> None:
        """Count in buckets from now on, with edges that follow the values seen so far."""
        assert self._numbers is not None
        values = self._numbers[0]
        edges = values[:: max(1, len(values) // EDGES)]
        self.buckets = Buckets(np.unique(np.append(edges, above(self.points, values.dtype))))
        self.buckets.add(*self._numbers)
        self._sketch = Sketch()
        self._sketch.add(values)
        self._numbers = None

    def _add_values(self, values: npt.NDArray[Any], rows: Rows, weights: Rows, first: Rows) -> None:
        """Add texts or truth values with their rows, weights and first rows."""
        known, before = self._places, len(self._places)
        places = np.fromiter((known.setdefault(v, len(known)) for v in values.tolist()), np.int64)
        fresh = np.zeros(len(known) - before, np.int64)
        self._sums = [np.append(old, fresh) for old in self._sums]
        self._sums[0][places] += rows
        self._sums[1][places] += weights
        new = places >= before
        self._sums[2][places[new]] = first[new]
        if len(known) > self.most:
            self._read_as_numbers()

    def _read_as_numbers(self) -> None:
        """Go over from too many texts to numbers, if they all are; else give up."""
        column = self._text_column() if self.parse else None
        if column is None or column.kind != "number":
            raise DataError(
                f"column '{self.name}' has more than {self.most:,} different texts, too many to "
                f"count while a table is streamed; leave it out (drop: --drop {self.name}), or "
                f"join its values."
            )
        rows, weights = (column.counts(one)[:-1] for one in self._sums[:2])
        self.rising = self._rises(column)
        self._last = column.values[-1]
        self._places = {}
        self._numbers = column.values, rows, weights
        self._kind = "number"
        self._fill_buckets()

    def _rises(self, column: Column) -> bool:
        """Tell whether each text is the number of one row and they rise from row to row."""
        rows, _, first = self._sums
        once = len(rows) == len(column.values) and bool((rows == 1).all())
        order = first[np.argsort(column.codes)]
        return once and not self.missing and bool((np.diff(order) > 0).all())

    def _text_column(self) -> Column:
        """Encode the different texts, one row each, as the whole column would be."""
        return encode(self.name, text_array(self._places), parse_text=self.parse)

    def _not_a_number(self, batch: BatchValues, start: int) -> DataError:
        column = Column(self.name, batch.kind, batch.values, np.zeros(0, np.int32))
        try:
            column.numbers()
        except DataError as error:
            sentence = str(error)
        else:  # truth values
            sentence = f"column '{self.name}' should hold numbers."
        return DataError(
            f"{sentence.removesuffix('.')} (up to row {start:,} it held numbers, more than "
            f"{self.most:,} different ones)."
        )

    def refine(self, ranks: Sequence[int], points: Sequence[float]) -> bool:
        """Make finer buckets if cuts are not known yet; then the column is to be recounted."""
        assert self.buckets is not None
        wanted = self.buckets.unresolved(ranks)
        if not len(wanted) and not len(points):
            return False
        self.buckets = self.buckets.refined(wanted, points)
        return True

    def recount(self, array: Any, weights: Rows | None) -> None:
        """Add the column of one batch again, to finer buckets."""
        assert self.buckets is not None
        self.buckets.add(
            *_counted(batch_values(self.name, array, self.na, parse=self.parse), weights)
        )

    def summary(self) -> "Summary":
        """Say what the column holds."""
        rows, weights, _ = self._sums
        if self.buckets is not None:
            values, rows, weights = self.buckets.tally()
            column = Column(self.name, "number", values, _one_each(len(values)))
        elif self._numbers is not None:
            values, rows, weights = self._numbers
            column = Column(self.name, "number", values, _one_each(len(values)))
        elif self._kind == "boolean":
            truths = np.fromiter(self._places, bool)
            known, codes = np.unique(truths, return_inverse=True)
            column = Column(self.name, "boolean", known, codes.astype(np.int32))
        else:
            column = self._text_column()
            self.rising = column.kind == "number" and self._rises(column)
        if self.missing:
            column = Column(column.name, column.kind, column.values, np.append(column.codes, -1))
            rows, weights = np.append(rows, self.missing), np.append(weights, self.missing_weight)
        counted = column.counts(rows)
        distinct = len(column.values)
        if self._sketch is not None:
            distinct = self._sketch.size(int(counted[:-1].sum()))
        return Summary(
            column,
            weights,
            Seen(counted, self.rising, distinct),
            self.first_missing,
            self.buckets is None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A column with one row per value, and what its values stand for.

    Parameters
    ----------
    weights
        Per row of ``column`` the weight of all rows with its value.
    first_missing
        The first row without a value, from 0; -1 if there is none.
    complete
        Whether ``column`` has all values; otherwise it has as many as the cuts need.
    """

    column: Column
    weights: Rows
    seen: Seen
    first_missing: int
    complete: bool


class Sketch:
    """Estimates how many different values there are, from the smallest of their hashes."""

    def __init__(self) -> None:
        self._smallest = np.zeros(0, np.uint64)

    def add(self, values: Numbers) -> None:
        """Add values, which may come again."""
        hashed = _mixed(values.astype(np.float64).view(np.uint64))
        if len(self._smallest) == SKETCH:
            hashed = hashed[hashed < self._smallest[-1]]
        self._smallest = np.unique(np.append(self._smallest, hashed))[:SKETCH]

    def size(self, rows: int) -> int:
        """Estimate the number of different values in so many rows; nearly all count as all."""
        if len(self._smallest) < SKETCH:
            return len(self._smallest)
        estimate = (SKETCH - 1) * 2**64 // int(self._smallest[-1])
        return rows if estimate >= _NEARLY * rows else estimate


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter numbers evenly: the finaliser of splitmix64."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _counted(batch: BatchValues, weights: Rows | None) -> tuple[npt.NDArray[Any], Rows, Rows]:
    """Count the rows and weights of a batch's values, which ascend; those of no row are gone."""
    if batch.distinct:
        assert batch.codes is not None
        size = len(batch.values) + 1
        rows = np.bincount(np.where(batch.codes < 0, size - 1, batch.codes), minlength=size)
        summed_weights = rows.copy()
        if weights is not None:
            summed_weights = np.zeros(size, np.int64)
            np.add.at(summed_weights, batch.codes, weights)
        some = rows[:-1] > 0
        return batch.values[some], rows[:-1][some], summed_weights[:-1][some]
    if weights is None:
        ascending = np.sort(batch.values)
    else:
        order = np.argsort(batch.values, kind="stable")
        ascending = batch.values[order]
        weights = (weights if batch.codes is None else weights[batch.codes >= 0])[order]
    values, starts = runs_of(ascending)
    rows = np.diff(starts, append=len(ascending))
    if weights is None or not len(starts):
        return values, rows, rows
    return values, rows, np.add.reduceat(weights, starts)


def _one_each(n: int) -> Codes:
    return np.arange(n, dtype=np.int32)
