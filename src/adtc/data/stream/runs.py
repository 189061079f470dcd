"""Rows as they come, made distinct: unique within a batch, and runs merged like a log's.

A row is one or more words. Each batch leaves a run of distinct rows with their weights; a run is
merged into the one before as soon as it is half as long. So a row is merged again about as often as
the number of distinct rows doubles, and memory holds the distinct rows, twice while two runs become
one. Runs are hashed rather than sorted: that is faster, and rows keep their order of appearance.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adtc.data.arrow import numbers_of
from adtc.data.bits import Rows, Words, distinct
from adtc.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Distinct rows in order of appearance, ``[row, word]``, and their weights."""

    words: Words
    weights: Rows

    def __len__(self) -> int:
        return len(self.weights)

    def find(self, words: Words) -> Rows:
        """Find rows among the distinct ones."""
        import pyarrow.compute as pc

        places = pc.index_in(_hashable(words), value_set=_hashable(self.words))
        if places.null_count:
            raise DataError("the table was changed while it was read; read it again.")
        return numbers_of(places).astype(np.int64)


@dataclass(slots=True)
class Runs:
    """Runs of distinct rows, each more than twice as long as the next.

    Examples
    --------
    >>> runs = Runs()
    >>> runs.add(np.array([[5], [7], [5]], np.uint64), np.array([1, 1, 1]))
    >>> runs.add(np.array([[9], [7]], np.uint64), np.array([1, 4]))
    >>> run = runs.merged()
    >>> run.words.ravel().tolist(), run.weights.tolist()
    ([5, 7, 9], [2, 5, 1])
    """

    _runs: list[Run] = field(default_factory=list)

    def add(self, words: Words, weights: Rows) -> None:
        """Add the rows of a batch."""
        self._runs.append(unique(words, weights))
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) >= len(self._runs[-2]):
            self._merge_two()

    def merged(self) -> Run:
        """Make one run of all."""
        while len(self._runs) > 1:
            self._merge_two()
        return self._runs[0]

    def _merge_two(self) -> None:
        second, first = self._runs.pop(), self._runs.pop()
        self._runs.append(
            unique(
                np.concatenate([first.words, second.words]),
                np.concatenate([first.weights, second.weights]),
            )
        )


def unique(words: Words, weights: Rows) -> Run:
    """Make equal rows one, in order of appearance."""
    first, group = distinct(numbers_of(_hashable(words).dictionary_encode().indices))
    summed = np.zeros(len(first), np.int64)
    np.add.at(summed, group, weights)
    return Run(words[first], summed)


def _hashable(words: Words) -> Any:
    """Give rows to Arrow, whose hash table is exact and keeps the order of appearance."""
    import pyarrow as pa

    n, width = words.shape
    buffer = pa.py_buffer(np.ascontiguousarray(words))
    if width == 1:
        return pa.UInt64Array.from_buffers(pa.uint64(), n, [None, buffer])
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8 * width), n, [None, buffer])
