"""Tensors as arrays: what they are made from, and the cells of some or all paths of a level."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.executors.parts import content_key
from adtc.engine.lattice import path_counts

Array = npt.NDArray[Any]


class Cells(NamedTuple):
    """A tensor as a list of cells, each with a key that packs the values of all axes."""

    keys: Array  # int64 [cell], or [cell, 2] where keys are wide
    values: Array  # uint64 [cell, limb]: the number of trees, lowest limb first
    costs: Array  # int64 [cell, budget]


@dataclass(frozen=True, slots=True)
class Level:
    """The tensors of one level in one pool; path number p owns cells starts[p] : stops[p]."""

    cells: Cells
    starts: Array
    stops: Array

    @property
    def core(self) -> _core.Level:
        """Hand the level to the core."""
        return _core.Level(*self.cells, self.starts, self.stops)


@dataclass(frozen=True, slots=True)
class TensorInputs:
    """What the tensors of all levels are made from.

    Parameters
    ----------
    splitting
        Which paths of the last level hold more than a leaf.
    causes
        What ``budgets``, ``live`` and ``splitting`` follow from, beside the other fields.
    """

    table: _core.Table
    lattice: _core.Lattice
    leaves: _core.Leaves
    multiplicity: Array
    labels: int
    counts: Array
    budgets: Array
    live: Array
    splitting: Array
    causes: tuple[object, ...]

    @property
    def key(self) -> str:
        """Digest all that the tensors follow from."""
        return content_key(self.table, self.lattice, self.leaves, self.multiplicity, *self.causes)

    @property
    def functionals(self) -> int:
        """Count the budgets."""
        return int(self.budgets.shape[1])

    def nodes(self, level: int) -> Array:
        """List the live paths of a level by number."""
        first = int(self.lattice.base[level])
        found: Array = np.flatnonzero(self.live[first : first + path_counts(self.lattice)[level]])
        return found

    def pool(self, limbs: int, functionals: int) -> _core.Pool:
        """Make room for cells."""
        return _core.Pool(limbs, functionals, wide=self.leaves.wide)

    def limbs(self, largest: float, level: int) -> int:
        """Return how many 64-bit limbs surely hold every sum of a level.

        ``largest`` is a float bound; one part in a million covers all rounding on the way. Beyond
        the range of floats the number of all trees on that many features is the bound.
        """
        if math.isfinite(largest):
            bits = math.frexp(largest * (1 + 1e-6) + 1)[1]
        else:
            bits = self.most_trees(level).bit_length()
        return max(1, -(-bits // 64))

    def most_trees(self, level: int) -> int:
        """Bound the trees below a path of a level: all of their depth, whatever the rows."""
        depth = self.lattice.levels + self.lattice.rest - level
        return all_trees(depth, int(self.multiplicity.sum()), self.labels)


class Piece(NamedTuple):
    """The tensors of some paths of a level, and the pairs of cells that ⊗ looked at."""

    keys: Array
    values: Array
    costs: Array
    paths: Array
    starts: Array
    stops: Array
    scanned: Array  # int64 [1]

    @classmethod
    def of(cls, pool: _core.Pool, starts: Array, stops: Array, scanned: int) -> "Piece":
        """Take what jobs have made out of their pool."""
        paths = np.flatnonzero(stops)
        return cls(
            *pool.release(), paths, starts[paths], stops[paths], np.array([scanned], np.int64)
        )

    @property
    def nbytes(self) -> int:
        """Return the size of the cells."""
        return int(self.keys.nbytes + self.values.nbytes + self.costs.nbytes)


def joined(pieces: Iterable[Piece]) -> Piece:
    """Put the cells of several pieces behind one another."""
    some = list(pieces)
    if len(some) == 1:
        return some[0]
    offsets = np.cumsum([0, *(len(piece.keys) for piece in some)])[:-1]
    moved = [
        piece._replace(starts=piece.starts + at, stops=piece.stops + at)
        for piece, at in zip(some, offsets, strict=True)
    ]
    columns = {name: np.concatenate(column) for name, column in _columns(moved)}
    columns["scanned"] = columns["scanned"].sum(keepdims=True)
    return Piece(**columns)


def _columns(pieces: list[Piece]) -> Iterable[tuple[str, tuple[Array, ...]]]:
    return zip(Piece._fields, zip(*pieces, strict=True), strict=True)


def level_of(piece: Piece, size: int) -> Level:
    """Lay a piece with all paths of a level out by their numbers."""
    starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
    starts[piece.paths], stops[piece.paths] = piece.starts, piece.stops
    return Level(Cells(piece.keys, piece.values, piece.costs), starts, stops)


def all_trees(depth: int, features: int, labels: int) -> int:
    """Count all trees without regard to rows: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)²."""
    if depth == 0 or features == 0:
        return labels
    return labels + features * all_trees(depth - 1, features - 1, labels) ** 2
