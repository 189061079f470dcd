"""Kernels on bit columns against their definitions, one bit at a time."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.engine.kernels import bits

ALL = 2**64 - 1
EDGES = [0, 1, 1 << 63, ALL, ALL - 1, ALL >> 1, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA]
a_word = st.integers(0, ALL) | st.sampled_from(EDGES)

# With the instruction and without; where there is none, both are the portable way.
WAYS = [True, False]


def gathered(word: int, mask: int) -> int:
    """Collect the bits of a word under a mask, one after another."""
    positions = [i for i in range(64) if mask >> i & 1]
    return sum((word >> i & 1) << place for place, i in enumerate(positions))


def moves_for(mask: int) -> np.ndarray:
    moves = np.zeros(6, np.uint64)
    bits.moves_for(np.uint64(mask), moves)
    return moves


@given(a_word)
@settings(max_examples=50)
def test_popcount(word):
    assert int(bits.popcount(np.uint64(word))) == word.bit_count()


@given(a_word, a_word)
@settings(max_examples=60)
def test_portable_extract_gathers_the_bits_under_the_mask(word, mask):
    found = bits.extract_portable(np.uint64(word), np.uint64(mask), moves_for(mask))
    assert int(found) == gathered(word, mask)


@pytest.mark.parametrize("use_pext", WAYS)
@given(word=a_word, mask=a_word)
@settings(max_examples=60)
def test_extract_both_ways(use_pext, word, mask):
    found = bits.extract(np.uint64(word), np.uint64(mask), moves_for(mask), use_pext)
    assert int(found) == gathered(word, mask)


# --- planes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planes:
    """Columns of 0/1 for rows that lie in planes, and the same as words."""

    columns: list[np.ndarray]  # per plane [feature, row]

    @property
    def rows(self) -> np.ndarray:
        return np.array([c.shape[1] for c in self.columns], np.int64)

    @property
    def offsets(self) -> np.ndarray:
        return np.array([0, *np.cumsum((self.rows + 63) // 64)], np.int64)

    @property
    def words(self) -> np.ndarray:
        features = self.columns[0].shape[0]
        words = np.zeros((features, int(self.offsets[-1])), np.uint64)
        for start, columns in zip(self.offsets.tolist(), self.columns, strict=False):
            for f, r in zip(*np.nonzero(columns), strict=True):
                words[f, start + r // 64] |= np.uint64(1) << np.uint64(r % 64)
        return words


HEIGHTS = [(1,), (63,), (64,), (65,), (200,), (70, 64, 1), (5, 130, 128, 3)]


def random_planes(heights: tuple[int, ...], features: int, seed: int) -> Planes:
    rng = np.random.default_rng(seed)
    return Planes([rng.integers(0, 2, (features, rows)).astype(np.uint8) for rows in heights])


def side_mask(planes: Planes, f: int, *, negative: bool) -> np.ndarray:
    mask = np.full(int(planes.offsets[-1]), ALL, np.uint64)  # what was there before must not stay
    bits.side_mask(planes.words[f], negative, planes.offsets, planes.rows, mask)
    return mask


def compressed(planes: Planes, mask: np.ndarray, *, use_pext: bool) -> tuple[np.ndarray, ...]:
    """Pack all features under a mask; return the words, where planes start and their rows."""
    count, width = len(planes.rows), len(mask)
    kept, moves = np.zeros(width, np.uint64), np.zeros((width, 6), np.uint64)
    offsets, rows = np.zeros(count + 1, np.int64), np.zeros(count, np.int64)
    bits.plan_extract(mask, planes.offsets, count, kept, moves, offsets, rows, use_pext)
    words = planes.words
    packed = np.full((len(words), width), ALL, np.uint64)  # a used word is written whole
    for source, target in zip(words, packed, strict=True):
        bits.compress(
            source, mask, kept, moves, planes.offsets, count, offsets, use_pext, target
        )  # fmt: skip
    return packed[:, : offsets[-1]], offsets, rows


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("heights", HEIGHTS)
def test_side_mask_marks_the_rows_of_a_side_and_no_padding(heights, negative):
    planes = random_planes(heights, 1, seed=3)
    sides = [c == (0 if negative else 1) for c in planes.columns]
    expected = Planes([side.astype(np.uint8) for side in sides]).words[0]
    assert side_mask(planes, 0, negative=negative).tolist() == expected.tolist()


@pytest.mark.parametrize("use_pext", WAYS)
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("heights", HEIGHTS)
def test_compress_keeps_the_rows_under_the_mask_in_their_planes(heights, negative, use_pext):
    planes = random_planes(heights, 5, seed=sum(heights))
    side = 0 if negative else 1
    expected = Planes([c[:, c[0] == side] for c in planes.columns])
    mask = side_mask(planes, 0, negative=negative)
    words, offsets, rows = compressed(planes, mask, use_pext=use_pext)
    assert rows.tolist() == expected.rows.tolist()
    assert offsets.tolist() == expected.offsets.tolist()
    assert words.tolist() == expected.words.tolist()


@given(st.lists(a_word, min_size=3, max_size=3), st.integers(0, 2**32))
@settings(max_examples=40)
def test_compress_gives_the_same_words_both_ways(mask, seed):
    planes = random_planes((128, 64), 2, seed)
    one, other = (
        compressed(planes, np.array(mask, np.uint64), use_pext=use_pext)[0] for use_pext in WAYS
    )
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("features", [1, 3, 4, 6, 9])  # four partners are counted at once
@pytest.mark.parametrize("heights", HEIGHTS)
def test_pair_counts_are_the_weighted_gram_matrix_of_each_group(heights, features):
    planes = random_planes(heights, features, seed=features)
    group = np.arange(len(heights)) % 2
    shift = np.arange(len(heights)) % 3 * 4
    pairs = np.full((2, features, features), -7, np.int32)  # counts start anew
    bits.count_pairs(planes.words, features, planes.offsets, group, shift, pairs)
    expected = np.zeros((2, features, features), np.int64)
    for g, s, columns in zip(group, shift, planes.columns, strict=True):
        X = columns.astype(np.int64)
        expected[g] += X @ X.T << s
    for g in range(2):
        upper = np.triu_indices(features)
        assert pairs[g][upper].tolist() == expected[g][upper].tolist()


def test_pair_counts_of_some_of_the_features():
    planes = random_planes((100,), 6, seed=1)
    pairs = np.full((1, 6, 6), -7, np.int32)
    zero = np.zeros(1, np.int64)
    bits.count_pairs(planes.words, 4, planes.offsets, zero, zero, pairs)
    X = planes.columns[0].astype(np.int64)
    assert np.triu(pairs[0, :4, :4]).tolist() == np.triu((X @ X.T)[:4, :4]).tolist()
    assert (pairs[0, :, 4:] == -7).all()
