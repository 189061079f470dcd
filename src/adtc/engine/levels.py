"""The tensors of a circuit, level by level from the last one up: leaf ⊕ products of children.

Paths of a level do not depend on one another, so a level is made in jobs that write into one pool,
or in parts (`parts`) that are put together: the cells are the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.executors import run_jobs
from adtc.engine.executors.checkpoint import complete
from adtc.engine.executors.parts import Arrays, content_key, first_features, ranges
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor

Array = npt.NDArray[Any]
_JOBS, _CHUNK = 16, 64  # above the last level: jobs at least, if there are paths; paths at most
_LITTLE = 2**20  # pairs of cells that are not worth more than one job
_PATHS = 500  # of the last level in one job, at least


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
            depth = self.lattice.levels + self.lattice.rest - level
            bits = all_trees(depth, int(self.multiplicity.sum()), self.labels).bit_length()
        return max(1, -(-bits // 64))


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


def make_levels(inputs: TensorInputs, monitor: Monitor) -> tuple[tuple[Level, ...], int]:
    """Make the tensors of all levels, root first; none if the root is not live.

    Returns also the pairs of cells that ⊗ looked at.
    """
    if not inputs.live[0]:
        return (), 0
    sizes = path_counts(inputs.lattice)
    account = MemoryAccount(monitor)
    piece = _finished(LastLevel(inputs, account, inputs.lattice.levels), monitor)
    levels, scanned = [level_of(piece, sizes[-1])], int(piece.scanned[0])
    totals = None
    for level in range(inputs.lattice.levels - 1, -1, -1):
        stage, totals = upper_level(inputs, level, levels[0], totals, account)
        piece = _finished(stage, monitor)
        levels.insert(0, level_of(piece, sizes[level]))
        scanned += int(piece.scanned[0])
    return tuple(levels), scanned


def upper_level(
    inputs: TensorInputs, level: int, below: Level, totals: Array | None, account: "MemoryAccount"
) -> tuple["UpperLevel", Array]:
    """Prepare a level above the last from the one below it; return also bounds for the next.

    ``totals`` bounds the trees of each path below; without it they are counted.
    """
    core, nodes = below.core, inputs.nodes(level)
    totals = _core.tree_counts(core) if totals is None else totals
    bounds = np.zeros(path_counts(inputs.lattice)[level])
    largest = _core.bound_level(
        inputs.lattice, level, nodes, inputs.labels, inputs.multiplicity, inputs.live, totals,
        bounds,
    )  # fmt: skip
    limbs = inputs.limbs(largest, level)
    return UpperLevel(inputs, account, level, nodes=nodes, below=core, limbs=limbs), bounds


def _finished(stage: "_Tensors", monitor: Monitor) -> Piece:
    """Make a level in one go, or in parts where some of them are kept."""
    if monitor.checkpoint is None:
        piece = stage.all_paths(monitor)
    else:
        units = range(len(stage.weights))
        complete(stage, units, monitor)
        piece = stage.piece(units)
    stage.account.close(piece)
    return piece


@dataclass(slots=True)
class MemoryAccount:
    """Keeps account of what finished tensors take, so that those being made fit beside them."""

    monitor: Monitor
    levels: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)  # of the level being made

    def close(self, piece: Piece) -> None:
        """Note that a level is finished."""
        self.parts.clear()
        self.levels.append(piece.nbytes)

    def most_bytes(self, pool: _core.Pool) -> int:
        """Return how much one job may hold so that all threads stay within the memory."""
        # while parts are put together, they are there twice
        held = sum(self.levels) + 2 * sum(self.parts)
        left = max(0, self.monitor.memory - held - pool.bytes)
        # a list, or a table; while that grows the old one is there, too
        return int(left // (2 * self.monitor.threads))


@dataclass(slots=True)
class _Tensors(ABC):
    """A level as a stage: see `parts.Stage`."""

    inputs: TensorInputs
    account: MemoryAccount
    level: int  # the paths' length
    pieces: dict[int, Piece] = field(default_factory=dict)  # by first unit

    @abstractmethod
    def all_paths(self, monitor: Monitor) -> Piece:
        """Make all paths, in jobs that write into one pool."""

    @abstractmethod
    def part(self, units: range) -> Piece:
        """Make some paths, in one job."""

    @property
    def name(self) -> str:
        """Say which level it is."""
        return f"level{self.level}"

    @property
    @abstractmethod
    def weights(self) -> list[int]:
        """Guess the work of each unit."""

    @property
    def key(self) -> str:
        """Return a digest of all that the level follows from."""
        return content_key("tensors", self.level, self.inputs.key)

    def begin(self) -> None:  # noqa: B027  # a stage needs it, levels have nothing to set up
        """Parts share nothing but the inputs."""

    def compute(self, units: range) -> None:
        """Make the tensors of some units."""
        self._keep(units, self.part(units))

    def take(self, units: range) -> Arrays:
        """Return the tensors of some units."""
        return self.piece(units)._asdict()

    def put(self, units: range, arrays: Arrays) -> None:
        """Take over tensors made earlier."""
        piece = Piece(**{name: arrays[name] for name in Piece._fields})
        size, n = path_counts(self.inputs.lattice)[self.level], len(piece.keys)
        paths = (piece.paths, piece.starts, piece.stops)
        fits = (
            all(array.ndim == 1 and len(array) == len(piece.paths) for array in paths)
            and ((piece.paths >= 0) & (piece.paths < size)).all()
            and ((piece.starts >= 0) & (piece.starts <= piece.stops) & (piece.stops <= n)).all()
            and len(piece.values) == n == len(piece.costs)
        )
        if not fits:
            raise ValueError("the arrays of the part do not belong together")
        self._keep(units, piece)

    def piece(self, units: range) -> Piece:
        """Put the tensors of some units together."""
        return joined(self.pieces[at] for at in sorted(self.pieces) if at in units)

    def _keep(self, units: range, piece: Piece) -> None:
        self.pieces[units.start] = piece
        self.account.parts.append(piece.nbytes)

    def _blank(self) -> tuple[Array, Array]:
        size = path_counts(self.inputs.lattice)[self.level]
        return np.zeros(size, np.int64), np.zeros(size, np.int64)


@dataclass(slots=True)
class LastLevel(_Tensors):
    """The last level: tensors of single leaves, others from pair counts. Units: first features."""

    behind: Array = field(init=False)  # [path]: paths below that are to be split

    def __post_init__(self) -> None:
        lattice, live = self.inputs.lattice, self.inputs.live
        marked = np.zeros_like(live)
        marked[int(lattice.base[-1]) :] = self.inputs.splitting
        self.behind = np.zeros(len(marked), np.int64)
        _core.lead_to_live(lattice, marked, self.behind)

    @property
    def weights(self) -> list[int]:
        """Count the paths to split by first feature."""
        if self.level == 0:
            return [int(self.behind[0])]
        literals = self.behind[1 : 1 + 2 * self.inputs.lattice.features]
        firsts: list[int] = literals.reshape(-1, 2).sum(axis=1).tolist()
        return firsts

    def all_paths(self, monitor: Monitor) -> Piece:
        """Make all paths."""
        run = self._opened(self._single())
        jobs = self._jobs(monitor.threads)

        def job(at: int) -> int:
            return run.fill(at + 1, jobs[at], monitor)

        scanned = run_jobs(job, range(len(jobs)), "tensors of the last level", monitor)
        return run.piece(sum(scanned))

    def part(self, units: range) -> Piece:
        """Make the paths that begin with some features."""
        first, single = first_features(self.inputs.lattice, self.level), self._single()
        begins = (first[single] >= units.start) & (first[single] < units.stop)
        run = self._opened(single[begins])
        some = sum(self.weights[units.start : units.stop]) > 0
        return run.piece(run.fill(1, units, self.account.monitor) if some else 0)

    def _single(self) -> Array:
        """List the paths that hold single leaves only."""
        last = int(self.inputs.lattice.base[-1])
        found: Array = np.flatnonzero(self.inputs.live[last:] & ~self.inputs.splitting)
        return found

    def _opened(self, single: Array) -> "_LastRun":
        inputs = self.inputs
        pool = inputs.pool(inputs.limbs(math.inf, self.level), inputs.functionals)
        starts, stops = self._blank()
        _core.fill_single(
            pool, 0, inputs.lattice, inputs.leaves, single, inputs.counts, inputs.budgets,
            starts, stops,
        )  # fmt: skip
        return _LastRun(inputs, self.behind > 0, pool, starts, stops, self.account.most_bytes)

    def _jobs(self, threads: int) -> list[range]:
        """Divide the walk over the last level into ranges of first features."""
        if not self.behind[0]:
            return []
        firsts = self.weights if self.level else []
        share = sum(firsts) // (4 * threads) if threads > 1 else _PATHS
        return ranges(firsts, min(_PATHS, share)) or [range(1)]  # the root alone


@dataclass(frozen=True, slots=True)
class _LastRun:
    """A pool that the last level is filled into."""

    inputs: TensorInputs
    wanted: Array
    pool: _core.Pool
    starts: Array
    stops: Array
    most_bytes: Callable[[_core.Pool], int]

    def fill(self, job: int, features: range, monitor: Monitor) -> int:
        """Make the paths that begin with some features; return the pairs of cells looked at."""
        inputs = self.inputs
        return _core.fill_last(
            monitor.control, self.pool, job, inputs.table, inputs.lattice, inputs.leaves,
            inputs.multiplicity, features.start, features.stop, self.wanted, inputs.budgets,
            self.most_bytes(self.pool), self.starts, self.stops,
        )  # fmt: skip

    def piece(self, scanned: int) -> Piece:
        """Take out what was made."""
        return Piece.of(self.pool, self.starts, self.stops, scanned)


@dataclass(slots=True, kw_only=True)
class UpperLevel(_Tensors):
    """A level above the last, made from the one below. Units: live paths."""

    nodes: Array
    below: _core.Level
    limbs: int

    @property
    def weights(self) -> list[int]:
        """Take all paths for equal."""
        return [1] * len(self.nodes)

    def all_paths(self, monitor: Monitor) -> Piece:
        """Make all paths."""
        lengths = self.below.stops - self.below.starts
        products = (self.level + 1) * int(lengths @ lengths)
        jobs = _JOBS if products > _LITTLE else 1
        length = max(1, min(_CHUNK, -(-len(self.nodes) // jobs)))
        chunks = [self.nodes[i : i + length] for i in range(0, len(self.nodes), length)]
        pool, (starts, stops) = self._pool(), self._blank()

        def job(at: int) -> int:
            return self._fill(pool, at, chunks[at], starts, stops)

        scanned = run_jobs(job, range(len(chunks)), f"tensors of level {self.level}", monitor)
        return Piece.of(pool, starts, stops, sum(scanned))

    def part(self, units: range) -> Piece:
        """Make some paths."""
        pool, (starts, stops) = self._pool(), self._blank()
        nodes = self.nodes[units.start : units.stop]
        return Piece.of(pool, starts, stops, self._fill(pool, 0, nodes, starts, stops))

    def _pool(self) -> _core.Pool:
        # nobody multiplies the root's tensor, so it needs no costs
        return self.inputs.pool(self.limbs, self.inputs.functionals if self.level else 0)

    def _fill(self, pool: _core.Pool, job: int, nodes: Array, starts: Array, stops: Array) -> int:
        inputs = self.inputs
        return _core.fill_level(
            self.account.monitor.control, pool, job, inputs.lattice, self.level, nodes,
            inputs.leaves, inputs.multiplicity, inputs.counts, inputs.live, inputs.budgets,
            self.below, self.account.most_bytes(pool), starts, stops,
        )  # fmt: skip


def all_trees(depth: int, features: int, labels: int) -> int:
    """Count all trees without regard to rows: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)²."""
    if depth == 0 or features == 0:
        return labels
    return labels + features * all_trees(depth - 1, features - 1, labels) ** 2
