"""Rows for the backward pass: one for each combination of distinct features that occurs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adtc.data.bits import Rows, Words, equal_rows, take_rows, unpack
from adtc.engine.lattice import Features, Twin

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Voters:
    """Rows that differ in a feature that matters.

    Parameters
    ----------
    records
        ``[row, word]``: bit f of a row's record is the value of distinct feature f.
    names
        ``[row]``: its number among all voters.
    mixed, mixed_names
        Rows on which original features differ that are equal on the table: as ``[feature, row]``,
        how many of the features behind a distinct one have the value 1, and the rows' numbers.
    place
        ``[original row]``: the number of its voter.
    """

    records: npt.NDArray[np.uint64]
    names: npt.NDArray[np.int64]
    mixed: npt.NDArray[np.int64]
    mixed_names: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.names) + len(self.mixed_names)


def nobody(features: Features) -> Voters:
    """Return no rows."""
    return voters_of(features, np.zeros((0, 0), np.uint64), 0)


def voters_of(features: Features, bits: Words, n_rows: int) -> Voters:
    """Merge rows that all trees decide alike.

    Parameters
    ----------
    bits
        ``[original feature, word]``, as in `Data`.
    """
    columns = np.zeros((len(features.twins), bits.shape[1]), np.uint64)
    differ = np.zeros(bits.shape[1], np.uint64)
    for f, (first, *others) in enumerate(features.twins if n_rows else ()):
        columns[f] = _oriented(bits, first)
        for twin in others:
            differ |= columns[f] ^ _oriented(bits, twin)
    mixed = np.flatnonzero(unpack(differ, n_rows)) if differ.any() else _NONE
    clean = np.setdiff1d(np.arange(n_rows), mixed) if len(mixed) else np.arange(n_rows)
    if len(mixed):
        columns = take_rows(columns, n_rows, clean)
    kinds, group = equal_rows(columns, [], len(clean)) if len(clean) else (_NONE, _NONE)
    place = np.empty(n_rows, np.int64)
    place[clean], place[mixed] = group, len(kinds) + np.arange(len(mixed))
    return Voters(
        _records(columns, len(clean), kinds),
        np.arange(len(kinds)),
        _ones(features, bits, n_rows, mixed),
        place[mixed],
        place,
    )


def _oriented(bits: Words, twin: Twin) -> Words:
    """Return the values of a feature as those of the distinct one that it is merged into."""
    words: Words = ~bits[twin.feature] if twin.flipped else bits[twin.feature]
    return words


def _records(columns: Words, n_rows: int, rows: Rows) -> Words:
    """Lay the features of some rows side by side, as words."""
    dense = unpack(columns, n_rows)[:, rows]
    packed = np.packbits(dense, axis=0, bitorder="little")
    width = max(1, -(-len(columns) // 64))
    records = np.zeros((len(rows), 8 * width), np.uint8)
    records[:, : len(packed)] = packed.T
    return records.view("<u8").astype(np.uint64, copy=False)


def _ones(features: Features, bits: Words, n_rows: int, rows: Rows) -> Rows:
    """Count for some rows how many of the features behind each distinct one have the value 1."""
    ones = np.zeros((len(features.twins), len(rows)), np.int64)
    if len(rows):
        for f, twins in enumerate(features.twins):
            ones[f] = sum(unpack(_oriented(bits, twin), n_rows)[rows].astype(int) for twin in twins)
    return ones
