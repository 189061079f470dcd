"""The circuit: all good trees in factorised form, as the live paths and their tensors.

Built from the last level up. The root's tensor answers questions about counts; the lower ones are
kept, because finding and drawing trees are walks down over them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.bounds import Inside, Outside, cost_type, inside_pass, outside_pass
from adtc.engine.compiling import compile_to_count
from adtc.engine.executors import run_jobs
from adtc.engine.kernels import inside as inside_kernels
from adtc.engine.kernels.cells import Cells
from adtc.engine.kernels.leaves import Leaves
from adtc.engine.monitor import Monitor
from adtc.engine.multipliers import with_multipliers
from adtc.engine.plan import Budget, Plan
from adtc.engine.refusal import refuse_if_too_large
from adtc.engine.rounding import with_small_numbers
from adtc.engine.switches import Switches
from adtc.errors import TooLargeError

native: Any = _core
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
    builder = _Builder(_Native.of(ground, outside), _worth_a_split(ground, outside), monitor)
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
class _Native:
    """What a circuit is built from, as the native core wants it."""

    table: Any
    lattice: Any
    leaves: Any
    multiplicity: Array
    counts: Array
    live: Array
    budgets: Array

    @classmethod
    def of(cls, ground: Ground, outside: Outside) -> "_Native":
        table, lattice, leaves = ground.table, ground.lattice, ground.leaves
        return cls(
            native.Table(
                table.words,
                table.offsets,
                table.rows,
                table.plane_group,
                table.plane_shift,
                table.totals.astype(np.int64),
            ),
            native.Lattice(
                lattice.binomial, lattice.base, len(table.words), lattice.levels, lattice.rest
            ),
            native.Leaves(**leaves._asdict()),
            ground.features.multiplicity,
            ground.inside.counts.astype(np.int64, copy=False),
            outside.live,
            outside.budgets,
        )


@dataclass(frozen=True, slots=True)
class _Builder:
    """Fills the levels of a circuit, last one first; jobs are independent of one another."""

    given: _Native
    splitting: Array  # which paths of the last level hold more than a leaf
    monitor: Monitor
    held: list[int] = field(default_factory=list)  # bytes of the finished levels

    @property
    def functionals(self) -> int:
        """Count the budgets."""
        return len(self.given.leaves.cost_constants)

    def levels(self) -> tuple[tuple[Level, ...], int]:
        """Make the tensors of all levels, root first; none if the root is not live."""
        given, lattice = self.given, self.given.lattice
        if not given.live[0]:
            return (), 0
        sizes = lattices.path_counts(lattice, lattice.features)
        made, scanned = self._last(sizes[-1])
        levels, bounds = [made], None
        for level in range(lattice.levels - 1, -1, -1):
            below = native.Level(*levels[0].cells, levels[0].starts, levels[0].stops)
            totals = native.tree_counts(below) if bounds is None else bounds
            first = int(lattice.base[level])
            nodes = np.flatnonzero(given.live[first : first + sizes[level]])
            bounds = np.zeros(sizes[level])
            largest = native.bound_level(
                lattice, level, nodes, len(given.leaves.key_weights), given.multiplicity,
                given.live, totals, bounds,
            )  # fmt: skip
            made, pairs = self._upper(
                level, nodes, below, self._limbs(largest, level), sizes[level]
            )
            levels.insert(0, made)
            scanned += pairs
        return tuple(levels), scanned

    def _last(self, size: int) -> tuple[Level, int]:
        """Make the tensors of the last level: those of single leaves, others from pair counts."""
        given, lattice = self.given, self.given.lattice
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        last = int(lattice.base[-1])
        pool = native.Pool(self._limbs(math.inf, lattice.levels), self.functionals)
        single = np.flatnonzero(given.live[last:] & ~self.splitting)
        native.fill_single(
            pool, 0, lattice, given.leaves, single, given.counts, given.budgets, starts, stops
        )
        marked = np.zeros_like(given.live)
        marked[last:] = self.splitting
        behind = native.paths_behind(lattice, marked)
        jobs, wanted = self._last_jobs(behind), behind > 0

        def job(at: int) -> int:
            with self._memory():
                pairs: int = native.fill_last(
                    self.monitor.control, pool, at + 1, given.table, lattice, given.leaves,
                    given.multiplicity, jobs[at].start, jobs[at].stop, wanted, given.budgets,
                    self._most_bytes(pool), starts, stops,
                )  # fmt: skip
            return pairs

        scanned = run_jobs(job, range(len(jobs)), "tensors of the last level", self.monitor)
        return self._made(pool, starts, stops), sum(scanned)

    def _upper(
        self, level: int, nodes: Array, below: Any, limbs: int, size: int
    ) -> tuple[Level, int]:
        """Make the tensors of a level from those below it."""
        given = self.given
        starts, stops = np.zeros(size, np.int64), np.zeros(size, np.int64)
        # nobody multiplies the root's tensor, so it needs no costs
        pool = native.Pool(limbs, self.functionals if level else 0)
        lengths = below.stops - below.starts
        products = (level + 1) * int(lengths @ lengths)
        jobs = _JOBS if products > _LITTLE else 1
        length = max(1, min(_CHUNK, -(-len(nodes) // jobs)))
        chunks = [nodes[i : i + length] for i in range(0, len(nodes), length)]

        def job(at: int) -> int:
            with self._memory():
                pairs: int = native.fill_level(
                    self.monitor.control, pool, at, given.lattice, level, chunks[at], given.leaves,
                    given.multiplicity, given.counts, given.live, given.budgets, below,
                    self._most_bytes(pool), starts, stops,
                )  # fmt: skip
            return pairs

        scanned = run_jobs(job, range(len(chunks)), f"tensors of level {level}", self.monitor)
        return self._made(pool, starts, stops), sum(scanned)

    def _made(self, pool: Any, starts: Array, stops: Array) -> Level:
        """Take a finished level out of its pool."""
        cells = Cells(*pool.release())
        self.held.append(sum(column.nbytes for column in cells))
        return Level(cells, starts, stops)

    def _most_bytes(self, pool: Any) -> int:
        """Return how much one job may hold so that all threads stay within the memory."""
        left = max(0, self.monitor.memory - sum(self.held) - pool.bytes)
        # a list, or a table; while that grows the old one is there, too
        return int(left // (2 * self.monitor.threads))

    @contextmanager
    def _memory(self) -> Iterator[None]:
        """Say in our words that tensors do not fit."""
        try:
            yield
        except native.OutOfMemory:
            raise TooLargeError(
                f"the tensors do not fit into the {self.monitor.memory / 1e9:.2g} GB of memory "
                f"that the run may use: add a constraint that can be pushed down (such as acc >= "
                f"0.8), ask for fewer metrics at once, or choose a larger minsup or less depth."
            ) from None

    def _last_jobs(self, behind: Array) -> list[range]:
        """Divide the walk over the last level into ranges of first features."""
        if not behind[0]:
            return []
        firsts = behind[1 : 1 + 2 * self.given.lattice.features].reshape(-1, 2).sum(axis=1)
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
            lattice, leaves = self.given.lattice, self.given.leaves
            depth = lattice.levels + lattice.rest - level
            features, labels = int(self.given.multiplicity.sum()), len(leaves.key_weights)
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


def all_trees(depth: int, features: int, labels: int) -> int:
    """Count all trees without regard to rows: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)²."""
    if depth == 0 or features == 0:
        return labels
    return labels + features * all_trees(depth - 1, features - 1, labels) ** 2
