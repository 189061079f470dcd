"""Small random tables and their paths, in plain Python, for tests of the native core."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from adtc._core import available_levels, load_level

CORES = [pytest.param(load_level(level), id=level) for level in available_levels()]
Path = tuple[tuple[int, bool], ...]  # ascending (feature, negative)
INFINITY = 2**60


@dataclass(frozen=True)
class Rows:
    """Rows with 0/1 features, groups and weights."""

    columns: np.ndarray  # [feature, row]
    group: np.ndarray
    weight: np.ndarray
    groups: int

    @property
    def n(self) -> int:
        """Count the features."""
        return len(self.columns)

    def counts(self, path: Path) -> tuple[int, ...]:
        """Sum the weights of a path's rows by group."""
        on = np.ones(len(self.group), bool)
        for f, negative in path:
            on &= self.columns[f] != negative
        return tuple(int(self.weight[on & (self.group == g)].sum()) for g in range(self.groups))


@dataclass(frozen=True)
class Rule:
    """Which labels a leaf may carry; ``share`` is what its label needs of the rows."""

    group_label: tuple[int, ...]
    labels: int
    minsup: int
    majority: bool
    share: Fraction = Fraction(0)

    def admitted(self, counts: tuple[int, ...]) -> list[int]:
        """List the labels that a leaf with these rows may carry."""
        if sum(counts) < self.minsup:
            return []
        votes = [
            sum(c for c, own in zip(counts, self.group_label, strict=True) if own == label)
            for label in range(self.labels)
        ]
        chosen = [votes.index(max(votes))] if self.majority else range(self.labels)
        return [label for label in chosen if votes[label] >= self.share * sum(counts)]


def random_rows(rng: np.random.Generator, n: int, rows: int, groups: int, heaviest: int) -> Rows:
    """Draw a table; its first features are rarer."""
    chance = rng.uniform(0.15, 0.7, n)
    return Rows(
        (rng.random((n, rows)) < chance[:, None]).astype(np.uint8),
        rng.integers(0, groups, rows),
        rng.integers(0, heaviest + 1, rows),
        groups,
    )


def random_rule(rng: np.random.Generator, groups: int) -> Rule:
    """Draw a rule; every label may be missing among the groups."""
    labels = int(rng.integers(2, 4))
    return Rule(
        tuple(int(label) for label in rng.integers(0, labels, groups)),
        labels,
        int(rng.integers(0, 4)),
        bool(rng.integers(2)),
        Fraction(int(rng.integers(0, 4)), 5),
    )


def paths_of(n: int, length: int) -> list[Path]:
    """List all paths of one length."""
    return [
        tuple(zip(features, signs, strict=True))
        for features in itertools.combinations(range(n), length)
        for signs in itertools.product([False, True], repeat=length)
    ]


def number_of(path: Path, n: int) -> int:
    """Number a path as the core does: shorter ones first, then by the ranks of feature sets."""
    length = len(path)
    base = sum(math.comb(n, k) << k for k in range(length))
    rank = sum(math.comb(f, i + 1) for i, (f, _) in enumerate(path))
    return base + (rank << length) + sum(negative << i for i, (_, negative) in enumerate(path))


def children(path: Path, f: int) -> tuple[Path, Path]:
    """Extend a path by a feature that is not on it: where it is 1, and 0."""
    one, zero = (tuple(sorted((*path, (f, negative)))) for negative in (False, True))
    return one, zero


def others(path: Path, n: int) -> list[int]:
    """List the features that are not on a path."""
    on_path = {f for f, _ in path}
    return [f for f in range(n) if f not in on_path]


def lattice_of(core: ModuleType, n: int, levels: int, rest: int) -> Any:
    """Make the core's lattice."""
    binomial = [[math.comb(i, j) for j in range(levels + 3)] for i in range(n + 2)]
    base = [0, *itertools.accumulate(math.comb(n, k) << k for k in range(levels))]
    return core.Lattice(np.array(binomial, np.int64), np.array(base, np.int64), n, levels, rest)


def counts_of(rows: Rows, levels: int) -> np.ndarray:
    """Count the rows of every numbered path by group."""
    paths = [path for k in range(levels + 1) for path in paths_of(rows.n, k)]
    counts = np.zeros((len(paths), rows.groups), np.int64)
    for path in paths:
        counts[number_of(path, rows.n)] = rows.counts(path)
    return counts


def table_of(core: ModuleType, rows: Rows) -> Any:
    """Make the core's table: a plane for each group and binary digit of the weights."""
    words: list[np.ndarray] = []
    planes = []
    for g in range(rows.groups):
        for digit in range(max(1, int(rows.weight.max(initial=0)).bit_length())):
            chosen = np.flatnonzero((rows.group == g) & (rows.weight >> digit & 1 == 1))
            if len(chosen):
                planes.append((g, digit, len(chosen)))
                words.append(_packed(rows.columns[:, chosen]))
    offsets = [0, *itertools.accumulate(part.shape[1] for part in words)]
    group, digit, held = (
        np.array(part, np.int64).reshape(-1) for part in zip(*planes, strict=True)
    )
    totals = np.array(rows.counts(()), np.int64)
    return core.Table(
        np.ascontiguousarray(np.concatenate(words, axis=1)),
        np.array(offsets, np.int64), held, group, digit, totals,
    )  # fmt: skip


def _packed(columns: np.ndarray) -> np.ndarray:
    width = -(-columns.shape[1] // 64) * 64
    padded = np.zeros((len(columns), width), np.uint8)
    padded[:, : columns.shape[1]] = columns
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def costs_of(core: ModuleType, weights: np.ndarray, constants: np.ndarray, rule: Rule) -> Any:
    """Make the core's costs."""
    return core.Costs(
        weights, constants, np.array(rule.group_label, np.int64), INFINITY, rule.minsup,
        rule.majority, rule.share.numerator, rule.share.denominator,
    )  # fmt: skip
