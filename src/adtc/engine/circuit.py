"""The circuit: all good trees in factorised form, as the live paths and their tensors.

Built from the last level up. The root's tensor answers questions about counts; the lower ones are
kept, because finding and drawing trees are walks down over them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.bounds import Inside, Outside, cost_type, inside_pass, outside_pass
from adtc.engine.compiling import compile_to_count
from adtc.engine.executors import run_jobs
from adtc.engine.kernels import circuit as kernels
from adtc.engine.kernels import inside as inside_kernels
from adtc.engine.kernels import paths as path_kernels
from adtc.engine.kernels.cells import Cells
from adtc.engine.kernels.leaves import Leaves
from adtc.engine.monitor import Monitor
from adtc.engine.multipliers import with_multipliers
from adtc.engine.plan import Budget, Plan
from adtc.engine.refusal import refuse_if_too_large
from adtc.engine.rounding import with_small_numbers
from adtc.engine.switches import Switches
from adtc.errors import TooLargeError

Array = npt.NDArray[Any]
_JOBS, _CHUNK = 16, 64  # above the last level: jobs at least, if there are paths; paths at most
_LITTLE = 2**20  # pairs of cells that are not worth more than one job
_PATHS = 500  # of the last level in one job, at least


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

    ground: "Ground"
    outside: Outside
    levels: tuple[Level, ...]
    cell_scan: int

    @property
    def proof_of_none(self) -> tuple[Budget, int] | None:
        """Return a budget that the least value of all trees exceeds, and that value.

        Then no good tree exists, and one inside pass proves it. None if there is no such budget.
        """
        pairs = zip(self.ground.plan.budgets, self.ground.inside.root, strict=True)
        return next(((b, least) for b, least in pairs if least > b.limit), None)

    @property
    def root(self) -> Cells:
        """Return the tensor of all trees."""
        if not self.levels:
            return Cells(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, 0)))
        level = self.levels[0]
        part = slice(int(level.starts[0]), int(level.stops[0]))
        return Cells(level.cells.keys[part], level.cells.values[part], level.cells.costs[part])


@dataclass(frozen=True, slots=True)
class Ground:
    """What a circuit stands on, whatever its budgets: features, lattice, least costs.

    Parameters
    ----------
    splits
        ``[budget, path of the last level]``: what trees there cost at least that are no single
        leaf; None if that is not known, or has served.
    """

    plan: Plan
    features: lattices.Features
    table: inside_kernels.Table
    lattice: inside_kernels.Lattice
    leaves: Leaves
    inside: Inside
    splits: Array | None = None

    def serves(self, plan: Plan) -> bool:
        """Tell whether another plan, for the same data and space, stands on the same ground."""
        ours, theirs = self.plan, plan
        return (
            (ours.groups, ours.question.minsup) == (theirs.groups, theirs.question.minsup)
            and ours.question.space == theirs.question.space
            and [b.form.vector() for b in ours.budgets] == [b.form.vector() for b in theirs.budgets]
        )


def prepare(
    plan: Plan,
    data: Data,
    switches: Switches,
    monitor: Monitor,
    *,
    depth: int | None = None,
    known: Ground | None = None,
) -> Ground:
    """Run the stages that need the data: features, lattice, inside pass.

    Parameters
    ----------
    depth
        That of the trees, if less than the question's.
    known
        The ground of another question about the same data and space; nothing is done anew if it
        has the same budgets, whatever their limits.
    """
    monitor.check()
    question = plan.question
    if known is not None and known.serves(plan):
        return replace(known, plan=plan, leaves=_leaves(plan, switches))
    plan = with_small_numbers(plan) if switches.round else plan
    kind = cost_type((budget.form for budget in plan.budgets), plan.totals)
    compile_to_count(kind, monitor)
    data = lattices.compact(data) if switches.merge_rows else data
    features = lattices.distinct_features(data, question.minsup, merge=switches.merge_features)
    groups = lattices.group_of_rows(data, plan.groups)
    table = lattices.bit_planes(features, data, groups, len(plan.groups), kind=kind)
    depth = question.space.max_depth if depth is None else depth
    lattice = lattices.numbered_paths(len(features.twins), depth)
    plan = with_multipliers(plan, table, _group_label(plan), switches, monitor)
    leaves = _leaves(plan, switches)
    bounds, splits = inside_pass(
        table,
        lattice,
        tuple(budget.form for budget in plan.budgets),
        leaves.group_label,
        minsup=question.minsup,
        majority=leaves.majority,
        switches=switches,
        monitor=monitor,
    )
    return Ground(plan, features, table, lattice, leaves, bounds, splits)


def grow(ground: Ground, limits: Sequence[int], switches: Switches, monitor: Monitor) -> Circuit:
    """Hand the budgets down and make the tensors; ``limits`` has one for each of the plan's."""
    monitor.check()
    n = len(ground.features.twins)
    outside = outside_pass(ground.lattice, n, ground.inside, np.array(limits, np.int64))
    refuse_if_too_large(ground, outside, monitor)
    builder = _Builder(
        ground.table,
        ground.lattice,
        ground.features.multiplicity,
        ground.leaves,
        ground.inside,
        outside,
        _worth_a_split(ground, outside),
        switches,
        monitor,
    )
    levels, scanned = builder.levels()
    return Circuit(replace(ground, splits=None), outside, levels, scanned)


def _worth_a_split(ground: Ground, outside: Outside) -> Array:
    """Tell which live paths of the last level may have trees within budget beside single leaves."""
    last = int(ground.lattice.base[-1])
    live: Array = outside.live[last:]
    if ground.splits is None:
        return live
    return np.logical_and(live, (ground.splits <= outside.budgets[last:].T).all(axis=0))


def _leaves(plan: Plan, switches: Switches) -> Leaves:
    """Pack all axes into one functional for the keys, next to the budgets' own."""
    labels, groups = plan.question.schema.labels, len(plan.groups)
    key_weights = np.zeros((labels, groups), np.int64)
    for axis in plan.axes:
        key_weights += axis.stride * np.array(axis.form.weights, np.int64).reshape(labels, groups)
    forms = [budget.form for budget in plan.budgets]
    return Leaves(
        key_weights=key_weights,
        key_constant=sum(axis.stride * axis.form.per_leaf for axis in plan.axes),
        cost_weights=np.array([f.weights for f in forms], np.int64).reshape(-1, labels, groups),
        cost_constants=np.array([form.per_leaf for form in forms], np.int64),
        group_label=_group_label(plan),
        minsup=plan.question.minsup,
        majority=plan.question.space.labels == "majority",
        trivial_splits=plan.question.space.trivial_splits,
        dense=switches.dense,
        most_leaves=plan.most_leaves,
    )


def _group_label(plan: Plan) -> Array:
    """Return the true label of each row group's first member."""
    return np.array([members[0].y for members in plan.groups], np.int64)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Fills the levels of a circuit, last one first; jobs are independent of one another."""

    table: inside_kernels.Table
    lattice: inside_kernels.Lattice
    multiplicity: Array
    leaves: Leaves
    bounds: Inside
    outside: Outside
    splitting: Array  # which paths of the last level hold more than a leaf
    switches: Switches
    monitor: Monitor
    held: list[int] = field(default_factory=list)  # bytes of each level's tensors so far

    @property
    def n(self) -> int:
        """Count the distinct features."""
        return len(self.table.words)

    def levels(self) -> tuple[tuple[Level, ...], int]:
        """Make the tensors of all levels, root first; none if the root is not live."""
        if not self.outside.live[0]:
            return (), 0
        sizes = lattices.path_counts(self.lattice, self.n)
        self.held.append(0)
        made, scanned = self._last(sizes[-1])
        levels = [made]
        totals = _totals(made) if self.lattice.levels else None
        for level in range(self.lattice.levels - 1, -1, -1):
            first = int(self.lattice.base[level])
            nodes = np.flatnonzero(self.outside.live[first : first + sizes[level]])
            bound = np.zeros(sizes[level])
            largest = kernels.bound_level(
                level, nodes, self.n, self.lattice, self.leaves, self.multiplicity,
                self.outside.live, totals, bound,
            )  # fmt: skip
            limbs = self._limbs(largest, level)
            self.held.append(0)
            made, pairs = self._upper(level, nodes, levels[0], limbs, sizes[level])
            levels.insert(0, made)
            scanned += pairs
            totals = bound
        return tuple(levels), scanned

    def _last(self, size: int) -> tuple[Level, int]:
        """Make the tensors of the last level: those of single leaves, others from pair counts."""
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        limbs = self._limbs(math.inf, self.lattice.levels)
        last = int(self.lattice.base[-1])
        splitting = np.zeros_like(self.outside.live)
        splitting[last:] = self.splitting
        behind = np.zeros(len(splitting), np.int64)
        path_kernels.lead_to_live(self.n, self.lattice, splitting, behind)
        wanted = behind > 0
        owner = np.full(size, self.n)  # of single leaves

        def job(some: range) -> tuple[Cells, int, int]:
            made: tuple[Cells, int, int] = kernels.fill_last(
                some.start, some.stop, self.table, self.lattice, self.leaves, self.multiplicity,
                self.switches.pext, wanted, splitting, self.outside.budgets,
                self._most_cells(limbs, self.lattice.levels), limbs, starts, stops, owner,
            )  # fmt: skip
            self._check(made[0], made[2])
            return made

        parts: list[tuple[Cells, int, int]] = []
        single = np.flatnonzero(self.outside.live[last:] & ~self.splitting)
        if len(single):
            made = kernels.fill_single(
                single, last, self.leaves, self.bounds.counts, self.outside.budgets, limbs, starts,
                stops,
            )  # fmt: skip
            self._check(made[0], 0)
            parts.append(made)
        if self.splitting.any():
            firsts = behind[1 : 1 + 2 * self.n].reshape(-1, 2).sum(axis=1)
            threads = self.monitor.threads
            share = int(firsts.sum()) // (4 * threads) if threads > 1 else _PATHS
            jobs = _ranges(firsts.tolist(), min(_PATHS, share)) or [range(1)]  # the root alone
            parts += run_jobs(job, jobs, "tensors of the last level", self.monitor)
            ends = [0, *accumulate(fill for _, fill, _ in parts)]
            offsets = np.zeros(self.n + 1, np.int64)
            offsets[[some.start for some in jobs]] = ends[-1 - len(jobs) : -1]
            starts += offsets[owner]
            stops += offsets[owner]
        cells = self._joined([(pool, fill) for pool, fill, _ in parts], limbs)
        return Level(cells, starts, stops), sum(pairs for *_, pairs in parts)

    def _upper(
        self, level: int, nodes: Array, below: Level, limbs: int, size: int
    ) -> tuple[Level, int]:
        """Make the tensors of a level from those below it."""
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        lengths = below.stops - below.starts
        products = (level + 1) * int(lengths @ lengths)
        jobs = _JOBS if products > _LITTLE else 1
        length = max(1, min(_CHUNK, -(-len(nodes) // jobs)))
        chunks = [nodes[i : i + length] for i in range(0, len(nodes), length)]

        def job(chunk: Array) -> tuple[Cells, int, int]:
            made: tuple[Cells, int, int] = kernels.fill_level(
                level, chunk, self.n, self.lattice, self.leaves, self.multiplicity,
                self.bounds.counts, self.outside.live, self.outside.budgets, below.cells,
                below.starts, below.stops, limbs, self._most_cells(limbs, level), starts, stops,
            )  # fmt: skip
            self._check(made[0], made[2])
            return made

        parts = run_jobs(job, chunks, f"tensors of level {level}", self.monitor)
        fills = [fill for _, fill, _ in parts]
        for chunk, offset in zip(chunks[1:], accumulate(fills[:-1]), strict=True):
            starts[chunk] += offset
            stops[chunk] += offset
        cells = self._joined([(pool, fill) for pool, fill, _ in parts], limbs)
        return Level(cells, starts, stops), sum(pairs for *_, pairs in parts)

    def _most_cells(self, limbs: int, level: int) -> int:
        """Return how many cells one job may hold so that all threads stay within the memory."""
        costs = 0 if level == 0 < self.lattice.levels else len(self.leaves.cost_constants)
        cell = 8 + 8 * limbs + 8 * costs
        # a table is at most half full, and while it grows the old one is there, too; what the
        # level's other jobs have made is copied once, when it is joined
        left = max(0, self.monitor.memory - sum(self.held[:-1]) - 2 * self.held[-1])
        return left // (6 * cell * self.monitor.threads)

    def _check(self, pool: Cells, scanned: int) -> None:
        """Note the memory of a finished job; raise if it had to give up."""
        self.held[-1] += sum(column.nbytes for column in pool)
        if scanned < 0:
            raise TooLargeError(
                f"the tensors do not fit into the {self.monitor.memory / 1e9:.2g} GB of memory "
                f"that the run may use: add a constraint that can be pushed down (such as acc >= "
                f"0.8), ask for fewer metrics at once, or choose a larger minsup or less depth."
            )

    def _no_cells(self, limbs: int) -> Cells:
        functionals = len(self.leaves.cost_constants)
        return Cells(
            np.zeros(0, np.int64),
            np.zeros((0, limbs), np.uint64),
            np.zeros((0, functionals), np.int64),
        )

    def _joined(self, parts: list[tuple[Cells, int]], limbs: int) -> Cells:
        """Put the jobs' pools behind one another."""
        pools = [Cells(*(column[:fill] for column in pool)) for pool, fill in parts]
        if len(pools) <= 1:
            return pools[0] if pools else self._no_cells(limbs)
        return Cells(*map(np.concatenate, zip(*pools, strict=True)))

    def _limbs(self, largest: float, level: int) -> int:
        """Return how many 64-bit limbs surely hold every sum of a level.

        ``largest`` is a float bound; one part in a million covers all rounding on the way. Beyond
        the range of floats the number of all trees on that many features is the bound.
        """
        if math.isfinite(largest):
            bits = math.frexp(largest * (1 + 1e-6) + 1)[1]
        else:
            depth = self.lattice.levels + self.lattice.rest - level
            features, labels = int(self.multiplicity.sum()), len(self.leaves.key_weights)
            bits = all_trees(depth, features, labels).bit_length()
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


def _totals(level: Level) -> Array:
    """Count the trees of every path of the last level, as floats.

    Summed path by path: the difference of two large running sums could lose a small path's trees,
    and with them the proof of the number width.
    """
    limbs = level.cells.values.shape[1]
    values = level.cells.values.astype(np.float64) @ 2.0 ** (64 * np.arange(limbs))
    paths = np.flatnonzero(level.stops > level.starts)
    paths = paths[np.argsort(level.starts[paths])]
    sums = np.zeros(len(level.starts))
    sums[paths] = np.add.reduceat(values, level.starts[paths])
    return sums


def all_trees(depth: int, features: int, labels: int) -> int:
    """Count all trees without regard to rows: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)²."""
    if depth == 0 or features == 0:
        return labels
    return labels + features * all_trees(depth - 1, features - 1, labels) ** 2
