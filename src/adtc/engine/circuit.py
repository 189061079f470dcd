"""The circuit: all good trees in factorised form, as the live paths and their tensors.

Built from the last level up. The root's tensor answers questions about counts; the lower ones are
kept, because finding and drawing trees are walks down over them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import INFINITY, Outside, outside_pass
from adtc.engine.executors import run_jobs
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Budget
from adtc.engine.prepare import Prepared
from adtc.engine.refusal import refuse_if_too_large

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


@dataclass(frozen=True, slots=True)
class Circuit:
    """Live paths with their tensors, and what is needed to walk them again.

    Parameters
    ----------
    levels
        One `Level` per path length, root first; empty when no good tree can exist.
    cell_scan
        Cell pairs that ⊗ looked at.
    """

    prepared: Prepared
    outside: Outside
    levels: tuple[Level, ...]
    cell_scan: int

    @property
    def proof_of_none(self) -> tuple[Budget, int] | None:
        """Return a budget that the least value of all trees exceeds, and that value.

        Then no good tree exists, and one inside pass proves it. None if there is no such budget.
        """
        pairs = zip(self.prepared.plan.budgets, self.prepared.inside.root, strict=True)
        return next(((b, least) for b, least in pairs if b.limit < least < INFINITY), None)

    @property
    def root(self) -> Cells:
        """Return the tensor of all trees."""
        if not self.levels:
            return Cells(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, 0)))
        level = self.levels[0]
        part = slice(int(level.starts[0]), int(level.stops[0]))
        return Cells(level.cells.keys[part], level.cells.values[part], level.cells.costs[part])


def grow(
    prepared: Prepared, limits: Sequence[int], monitor: Monitor, *, foresee: bool = True
) -> Circuit:
    """Hand the budgets down and make the tensors; ``limits`` has one for each of the plan's.

    Without ``foresee`` nothing is refused before it is begun: forecasts know no coarse keys.
    """
    monitor.check()
    limit = np.array(limits, np.int64)
    outside = outside_pass(
        prepared.lattice, prepared.inside, limit, monitor, first=prepared.first_tests
    )
    if foresee:
        refuse_if_too_large(prepared, outside, monitor)
    builder = _Builder(prepared, outside, _worth_a_split(prepared, outside), monitor)
    levels, scanned = builder.levels()
    return Circuit(replace(prepared, splits=None), outside, levels, scanned)


def core_circuit(circuit: Circuit) -> _core.Circuit:
    """Hand a circuit to the core."""
    prepared, outside = circuit.prepared, circuit.outside
    return _core.Circuit(
        table=prepared.table,
        lattice=prepared.lattice,
        leaves=prepared.leaves,
        multiplicity=prepared.features.multiplicity,
        counts=prepared.inside.counts,
        budgets=outside.budgets,
        live=outside.live,
        levels=[_core.Level(*level.cells, level.starts, level.stops) for level in circuit.levels],
    )


def _worth_a_split(prepared: Prepared, outside: Outside) -> Array:
    """Tell which live paths of the last level may have trees within budget beside single leaves."""
    last = int(prepared.lattice.base[-1])
    live: Array = outside.live[last:]
    if prepared.splits is None:
        return live
    return np.logical_and(live, (prepared.splits <= outside.budgets[last:].T).all(axis=0))


@dataclass(frozen=True, slots=True)
class _Builder:
    """Fills the levels of a circuit, last one first; jobs are independent of one another."""

    prepared: Prepared
    outside: Outside
    splitting: Array  # which paths of the last level hold more than a leaf
    monitor: Monitor
    held: list[int] = field(default_factory=list)  # bytes of the finished levels

    @property
    def functionals(self) -> int:
        """Count the budgets."""
        return len(self.prepared.plan.budgets)

    @property
    def multiplicity(self) -> Array:
        """Count the original features behind each distinct one."""
        return self.prepared.features.multiplicity

    def levels(self) -> tuple[tuple[Level, ...], int]:
        """Make the tensors of all levels, root first; none if the root is not live."""
        lattice, live = self.prepared.lattice, self.outside.live
        if not live[0]:
            return (), 0
        sizes = path_counts(lattice)
        made, scanned = self._last(sizes[-1])
        levels, bounds = [made], None
        for level in range(lattice.levels - 1, -1, -1):
            below = _core.Level(*levels[0].cells, levels[0].starts, levels[0].stops)
            totals = _core.tree_counts(below) if bounds is None else bounds
            first = int(lattice.base[level])
            nodes = np.flatnonzero(live[first : first + sizes[level]])
            bounds = np.zeros(sizes[level])
            largest = _core.bound_level(
                lattice, level, nodes, self.prepared.plan.question.schema.labels, self.multiplicity,
                live, totals, bounds,
            )  # fmt: skip
            limbs = self._limbs(largest, level)
            made, pairs = self._upper(level, nodes, below, limbs, sizes[level])
            levels.insert(0, made)
            scanned += pairs
        return tuple(levels), scanned

    def _last(self, size: int) -> tuple[Level, int]:
        """Make the tensors of the last level: those of single leaves, others from pair counts."""
        prepared, lattice, outside = self.prepared, self.prepared.lattice, self.outside
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        last = int(lattice.base[-1])
        pool = self._pool(self._limbs(math.inf, lattice.levels), self.functionals)
        single = np.flatnonzero(outside.live[last:] & ~self.splitting)
        _core.fill_single(
            pool, 0, lattice, prepared.leaves, single, prepared.inside.counts, outside.budgets,
            starts, stops,
        )  # fmt: skip
        marked = np.zeros_like(outside.live)
        marked[last:] = self.splitting
        behind = np.zeros(len(marked), np.int64)
        _core.lead_to_live(lattice, marked, behind)
        jobs, wanted = self._last_jobs(behind), behind > 0

        def job(at: int) -> int:
            return _core.fill_last(
                self.monitor.control, pool, at + 1, prepared.table, lattice, prepared.leaves,
                self.multiplicity, jobs[at].start, jobs[at].stop, wanted, outside.budgets,
                self._most_bytes(pool), starts, stops,
            )  # fmt: skip

        scanned = run_jobs(job, range(len(jobs)), "tensors of the last level", self.monitor)
        return self._made(pool, starts, stops), sum(scanned)

    def _upper(
        self, level: int, nodes: Array, below: _core.Level, limbs: int, size: int
    ) -> tuple[Level, int]:
        """Make the tensors of a level from those below it."""
        prepared, outside = self.prepared, self.outside
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        # nobody multiplies the root's tensor, so it needs no costs
        pool = self._pool(limbs, self.functionals if level else 0)
        lengths = below.stops - below.starts
        products = (level + 1) * int(lengths @ lengths)
        jobs = _JOBS if products > _LITTLE else 1
        length = max(1, min(_CHUNK, -(-len(nodes) // jobs)))
        chunks = [nodes[i : i + length] for i in range(0, len(nodes), length)]

        def job(at: int) -> int:
            return _core.fill_level(
                self.monitor.control, pool, at, prepared.lattice, level, chunks[at],
                prepared.leaves, self.multiplicity, prepared.inside.counts, outside.live,
                outside.budgets, below, self._most_bytes(pool), starts, stops,
            )  # fmt: skip

        scanned = run_jobs(job, range(len(chunks)), f"tensors of level {level}", self.monitor)
        return self._made(pool, starts, stops), sum(scanned)

    def _pool(self, limbs: int, functionals: int) -> _core.Pool:
        return _core.Pool(limbs, functionals, wide=self.prepared.leaves.wide)

    def _made(self, pool: _core.Pool, starts: Array, stops: Array) -> Level:
        """Take a finished level out of its pool."""
        cells = Cells(*pool.release())
        self.held.append(sum(column.nbytes for column in cells))
        return Level(cells, starts, stops)

    def _most_bytes(self, pool: _core.Pool) -> int:
        """Return how much one job may hold so that all threads stay within the memory."""
        left = max(0, self.monitor.memory - sum(self.held) - pool.bytes)
        # a list, or a table; while that grows the old one is there, too
        return int(left // (2 * self.monitor.threads))

    def _last_jobs(self, behind: Array) -> list[range]:
        """Divide the walk over the last level into ranges of first features."""
        if not behind[0]:
            return []
        firsts = behind[1 : 1 + 2 * self.prepared.lattice.features].reshape(-1, 2).sum(axis=1)
        threads = self.monitor.threads
        share = int(firsts.sum()) // (4 * threads) if threads > 1 else _PATHS
        return _ranges(firsts.tolist(), min(_PATHS, share)) or [range(1)]  # the root alone

    def _limbs(self, largest: float, level: int) -> int:
        """Return how many 64-bit limbs surely hold every sum of a level.

        ``largest`` is a float bound; one part in a million covers all rounding on the way. Beyond
        the range of floats the number of all trees on that many features is the bound.
        """
        if math.isfinite(largest):
            bits = math.frexp(largest * (1 + 1e-6) + 1)[1]
        else:
            lattice = self.prepared.lattice
            depth = lattice.levels + lattice.rest - level
            labels = self.prepared.plan.question.schema.labels
            bits = all_trees(depth, int(self.multiplicity.sum()), labels).bit_length()
        return max(1, -(-bits // 64))


def _ranges(paths: list[int], least: int) -> list[range]:
    """Divide features into ranges of at least so many paths each, the last one excepted."""
    ranges, start, held = [], 0, 0
    for f, count in enumerate(paths):
        held += count
        if held >= least and held:
            ranges.append(range(start, f + 1))
            start, held = f + 1, 0
    return [*ranges, range(start, len(paths))] if held else ranges


def all_trees(depth: int, features: int, labels: int) -> int:
    """Count all trees without regard to rows: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)²."""
    if depth == 0 or features == 0:
        return labels
    return labels + features * all_trees(depth - 1, features - 1, labels) ** 2
