"""The tensors of a circuit, level by level from the last one up: leaf ⊕ products of children.

Paths of a level do not depend on one another, so a level is made in jobs that write into one pool,
or in parts (`parts`) that are put together: the cells are the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.executors import run_jobs
from adtc.engine.executors.checkpoint import complete
from adtc.engine.executors.parts import Arrays, content_key, first_features, ranges
from adtc.engine.intact import PieceCheck
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.tensors import Level, Piece, TensorInputs, joined, level_of

Array = npt.NDArray[Any]
_JOBS, _CHUNK = 16, 64  # above the last level: jobs at least, if there are paths; paths at most
_SHARES = 6  # ranges of the root's keys for each thread
_LITTLE = 2**20  # pairs of cells that are not worth more than one job
_PATHS = 500  # of the last level in one job, at least


def make_levels(inputs: TensorInputs, monitor: Monitor) -> tuple[tuple[Level, ...], int]:
    """Make the tensors of all levels, root first; none if the root is not live.

    Returns also the pairs of cells that ⊗ looked at.
    """
    if not inputs.live[0]:
        return (), 0
    levels, scanned = list[Level](), 0
    for size, piece in zip(
        path_counts(inputs.lattice)[::-1], made_levels(inputs, monitor), strict=True
    ):
        levels.insert(0, level_of(piece, size))
        scanned += int(piece.scanned[0])
    return tuple(levels), scanned


def made_levels(inputs: TensorInputs, monitor: Monitor) -> Iterator[Piece]:
    """Make one level after another from the last one up; the root must be live."""
    sizes, account = path_counts(inputs.lattice), MemoryAccount(monitor)
    piece = _finished(LastLevel(inputs, account, inputs.lattice.levels), monitor)
    yield piece
    totals = None
    for level in range(inputs.lattice.levels - 1, -1, -1):
        below = level_of(piece, sizes[level + 1])
        stage, totals = upper_level(inputs, level, below, totals, account)
        piece = _finished(stage, monitor)
        yield piece


def made_root(inputs: TensorInputs, below: Level, monitor: Monitor) -> Piece:
    """Make the root from the level below it."""
    return _finished(upper_level(inputs, 0, below, None, MemoryAccount(monitor))[0], monitor)


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

    @abstractmethod
    def live(self, units: range) -> Array:
        """List the live paths of some units by number."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """Return the limbs and the costs of each cell."""

    def check(self, units: range, arrays: Arrays) -> None:
        """Raise `ValueError` unless arrays can be the tensors of some units."""
        expected = PieceCheck(self.inputs, self.level, self.live(units), *self.widths)
        expected.check(Piece(*(arrays[name] for name in Piece._fields)))

    def put(self, units: range, arrays: Arrays) -> None:
        """Take over tensors made earlier."""
        self._keep(units, Piece(*(arrays[name] for name in Piece._fields)))

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

    @property
    def widths(self) -> tuple[int, int]:
        """Return the limbs and the costs of each cell."""
        return self.inputs.limbs(math.inf, self.level), self.inputs.functionals

    def live(self, units: range) -> Array:
        """List the live paths that begin with some features."""
        return self._beginning(self.inputs.nodes(self.level), units)

    def _beginning(self, paths: Array, units: range) -> Array:
        """Choose the paths that begin with some features."""
        first = first_features(self.inputs.lattice, self.level)[paths]
        chosen: Array = paths[(first >= units.start) & (first < units.stop)]
        return chosen

    def part(self, units: range) -> Piece:
        """Make the paths that begin with some features."""
        run = self._opened(self._beginning(self._single(), units))
        some = sum(self.weights[units.start : units.stop]) > 0
        return run.piece(run.fill(1, units, self.account.monitor) if some else 0)

    def _single(self) -> Array:
        """List the paths that hold single leaves only."""
        last = int(self.inputs.lattice.base[-1])
        found: Array = np.flatnonzero(self.inputs.live[last:] & ~self.inputs.splitting)
        return found

    def _opened(self, single: Array) -> "_LastRun":
        inputs = self.inputs
        pool, (starts, stops) = inputs.pool(*self.widths), self._blank()
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
        if len(self.nodes) == 1 and products > _LITTLE and monitor.threads > 1:
            return self._root_in_shares(monitor)
        jobs = _JOBS if products > _LITTLE else 1
        length = max(1, min(_CHUNK, -(-len(self.nodes) // jobs)))
        chunks = [self.nodes[i : i + length] for i in range(0, len(self.nodes), length)]
        pool, owners = self.inputs.pool(*self.widths), self._blank()

        def job(at: int) -> int:
            return self._fill(pool, at, chunks[at], owners)

        scanned = run_jobs(job, range(len(chunks)), f"tensors of level {self.level}", monitor)
        return Piece.of(pool, *owners, sum(scanned))

    def _root_in_shares(self, monitor: Monitor) -> Piece:
        """Make a single path in ranges of its keys, where these can be divided."""
        pool, owners = self.inputs.pool(*self.widths), self._blank()
        shares = _SHARES * monitor.threads

        def job(share: int) -> int:
            return self._fill(pool, share, self.nodes, owners, (share, shares))

        scanned = run_jobs(job, range(shares), f"tensors of level {self.level}", monitor)
        return Piece.of(pool, *owners, sum(scanned))

    def part(self, units: range) -> Piece:
        """Make some paths."""
        pool, owners = self.inputs.pool(*self.widths), self._blank()
        return Piece.of(pool, *owners, self._fill(pool, 0, self.live(units), owners))

    def live(self, units: range) -> Array:
        """List some live paths."""
        return self.nodes[units.start : units.stop]

    @property
    def widths(self) -> tuple[int, int]:
        """Return the limbs and the costs of each cell: nobody multiplies the root's, so none."""
        return self.limbs, self.inputs.functionals if self.level else 0

    def _fill(
        self,
        pool: _core.Pool,
        job: int,
        nodes: Array,
        owners: tuple[Array, Array],
        share: tuple[int, int] = (0, 1),
    ) -> int:
        inputs = self.inputs
        return _core.fill_level(
            self.account.monitor.control, pool, job, inputs.lattice, self.level, nodes,
            inputs.leaves, inputs.multiplicity, inputs.counts, inputs.live, inputs.budgets,
            self.below, self.account.most_bytes(pool), *owners, *share,
        )  # fmt: skip
