"""Rows encoded column by column, as far as features tell values apart: the second pass.

The features, the label and the group of a row depend on each column through few *digits*: between
two cuts all numbers are alike, and so are all rare categories. A row is the number that its digits
spell, in as many 64-bit words as it takes; equal numbers are equal rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.association import cells
from adtc.data.binarize import Feature
from adtc.data.bits import Rows, Words, pack
from adtc.data.columns import Column
from adtc.data.stream.ranks import Numbers, above
from adtc.data.stream.tally import BatchValues, Summary, batch_values
from adtc.errors import DataError

_WORD = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class ValueEncoder:
    """Encodes values by their position among those of a column; missing ones get the last code.

    Parameters
    ----------
    column
        All values, one row each.
    starts
        Numbers only: where intervals of values that are alike begin, but for the first interval.
        None if each value is by itself.
    """

    column: Column
    na: Sequence[str]
    parse: bool
    starts: Numbers | None = None

    def __len__(self) -> int:
        return len(self.column.values) if self.starts is None else len(self.starts) + 1

    def representatives(self) -> Column:
        """Give the column that has one value of each interval, and then a missing one."""
        assert self.starts is not None
        whole = self.starts.dtype.kind == "i"
        least = np.array([np.iinfo(np.int64).min if whole else -np.inf], self.starts.dtype)
        values = np.append(least, self.starts)
        return one_each(Column(self.column.name, "number", values, self.column.codes))

    def encode(self, array: Any) -> Rows:
        """Encode the rows of a batch."""
        parse = self.parse and self.column.kind != "text"
        batch = self._converted(batch_values(self.column.name, array, self.na, parse=parse))
        codes = self._codes(batch.values)
        if batch.codes is None:
            return codes
        return np.append(codes, len(self))[batch.codes]

    def _converted(self, batch: BatchValues) -> BatchValues:
        """Read a batch as what the whole column is."""
        kind = self.column.kind
        if batch.kind == kind or not len(batch.values):
            return batch
        assert batch.codes is not None
        column = Column(self.column.name, batch.kind, batch.values, batch.codes)
        column = column.booleans() if kind == "boolean" else column.numbers()
        return BatchValues(kind, column.values, column.codes, True)

    def _codes(self, values: npt.NDArray[Any]) -> Rows:
        if self.starts is not None:
            return np.searchsorted(self.starts, values, side="right")
        known = self.column.values
        codes = np.searchsorted(known, values)
        found = np.append(known, known[:1])[codes] == values if len(known) else codes < 0
        if not np.all(found):
            raise DataError(
                f"column '{self.column.name}' holds other values than a moment ago: the table was "
                f"changed while it was read; read it again."
            )
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumn:
    """A column that may have features: per code a digit and a cell.

    Parameters
    ----------
    patterns
        ``[feature, digit]``: what the column's features are where a row has this digit.
    cells, n_cells
        What the column is compared with labels by; see ``association``.
    """

    encoder: ValueEncoder
    digits: Rows
    patterns: npt.NDArray[np.bool_]
    cells: Rows
    n_cells: int

    @classmethod
    def of(
        cls, summary: Summary, features: Sequence[Feature], na: Sequence[str], *, parse: bool
    ) -> "FeatureColumn":
        """Prepare a column for the second pass."""
        column = one_each(summary.column)
        cell = cells(column, summary.seen.rows[:-1]).astype(np.int64)
        encoder = ValueEncoder(column, na, parse)
        if column.kind == "number" and all(f.test in ("in", "missing") for f in features):
            cuts = {c for f in features for c in (f.low, f.high) if c is not None}
            turns = column.values[1:][np.diff(cell[:-1]) != 0]
            encoder = interval_encoder(column, sorted(cuts), na, parse=parse, turns=turns)
            cell = _cells_of(encoder, cell)
            column = encoder.representatives()
        masks = np.zeros((len(features), len(encoder) + 1), bool)
        for i, feature in enumerate(features):
            view = feature.view(column)
            masks[i] = feature.mask(view)[view.codes]
        patterns, digits = np.unique(masks, axis=1, return_inverse=True)
        return cls(encoder, digits.reshape(-1), patterns, cell, int(cell.max()) + 1)


def one_each(column: Column) -> Column:
    """Give the column that has each value once, and then a missing one."""
    codes = np.append(np.arange(len(column.values)), -1).astype(np.int32)
    return Column(column.name, column.kind, column.values, codes)


def interval_encoder(
    column: Column,
    cuts: Sequence[float],
    na: Sequence[str],
    *,
    parse: bool,
    turns: Numbers | Sequence[float] = (),
) -> ValueEncoder:
    """Encode all numbers alike that no cut and no turn is between; a turn begins an interval."""
    values = column.values
    starts = np.append(np.asarray(turns, values.dtype), above(cuts, values.dtype))
    return ValueEncoder(column, na, parse, np.unique(starts))


def _cells_of(encoder: ValueEncoder, cell: Rows) -> Rows:
    """Give the cells of intervals, and that of missing values."""
    known = encoder.column.values
    if not len(known):
        return np.array([cell[-1]] * 2)
    at = np.searchsorted(known, encoder.representatives().values, side="right") - 1
    return np.append(cell[np.maximum(at, 0)], cell[-1])


class Layout:
    """Puts the digits of several columns into words, and takes them out again.

    Examples
    --------
    >>> layout = Layout([3, 2])
    >>> words = layout.words([np.array([2, 0]), np.array([1, 0])])
    >>> words.tolist(), [layout.digits(words, i).tolist() for i in range(2)]
    ([[5], [0]], [[2, 0], [1, 0]])
    """

    def __init__(self, radices: Sequence[int]) -> None:
        self._radices = radices
        self._at: list[tuple[int, int]] = []  # word, and what a digit is multiplied by
        word, stride = 0, 1
        for radix in radices:
            if stride * radix > _WORD:
                word, stride = word + 1, 1
            self._at.append((word, stride))
            stride *= radix
        self.n_words = word + 1

    def words(self, digits: Sequence[Rows]) -> Words:
        """Write rows of digits as words, ``[row, word]``."""
        words = np.zeros((len(digits[0]), self.n_words), np.int64)
        for (word, stride), own in zip(self._at, digits, strict=True):
            words[:, word] += own * stride
        return words.view(np.uint64)

    def digits(self, words: Words, i: int) -> Rows:
        """Read the i-th digit of each row."""
        word, stride = self._at[i]
        return words[:, word].view(np.int64) // stride % self._radices[i]


def feature_words(column: FeatureColumn, digits: Rows) -> Words:
    """Evaluate a column's features on rows: one row of words per feature."""
    bits = np.zeros((len(column.patterns), -(-len(digits) // 64)), np.uint64)
    for f, pattern in enumerate(column.patterns):
        bits[f] = pack(pattern[digits])
    return bits
