"""Tropical inside and outside: what each subproblem costs at least, and may cost at most.

Inside, least(I) is the least value of a form over all trees below the path I. Outside, the budget
b(I) is what the rest of a good tree leaves for I. A path is live iff it fits every budget; only
live paths, and below them only cells within budget, can be part of a good tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.executors import run_jobs
from adtc.engine.executors.checkpoint import complete
from adtc.engine.executors.parts import Arrays, content_key, first_features, paths_of_features
from adtc.engine.intact import Recount, check_inside
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.plan.forms import Form
from adtc.engine.query import Question
from adtc.engine.switches import Switches
from adtc.errors import TooLargeError
from adtc.hooks import hook

Array = npt.NDArray[Any]
INFINITY = 2**60
"""The least value of a path that holds too few rows for a leaf."""
_TWO = 2
_SMALL_JOB = 10**6  # pairs of features that one job may look at
_SMALL_PAIRS = 2**20  # bytes that are not worth counting
_LARGEST = 2**57  # costs below that have room for sums of four, and for more than any cost
_MOST_SPREAD = 3  # literals whose signs follow by differences
_MOST_MATRICES = 2**30  # bytes of pair counts that are kept to save counting


@dataclass(frozen=True, slots=True)
class Inside:
    """The rows of every path, and the least value of every form on it.

    Parameters
    ----------
    counts
        ``[path, group]`` rows.
    least
        ``[form, path]``; `INFINITY` where a path holds too few rows for a leaf.
    """

    counts: Array
    least: Array
    exists: Array

    @property
    def root(self) -> list[int]:
        """Return each form's least value over all trees."""
        least: list[int] = self.least[:, 0].tolist()
        return least


@dataclass(frozen=True, slots=True)
class Outside:
    """What each path may cost, and which paths are live, per level."""

    budgets: Array
    live: Array
    live_paths: tuple[int, ...]


def inside_pass(
    table: _core.Table,
    lattice: _core.Lattice,
    forms: tuple[Form, ...],
    group_label: Array,
    question: Question,
    *,
    switches: Switches,
    monitor: Monitor,
) -> tuple[Inside, Array]:
    """Compute the least value of every form on every path.

    Returns also, as ``[form, path of the last level]``, how little trees there cost at least that
    are no single leaf.
    """
    sizes = path_counts(lattice)
    groups = len(table.totals)
    monitor.reserve("the table of subproblems", sum(sizes) * 8 * (groups + 2 * len(forms)))
    searched = searched_forms(forms, question)
    costs = path_costs(tuple(forms[d] for d in searched), group_label, question)
    found = Found.blank(lattice, groups, len(searched))
    Walker(table, lattice, costs, switches, monitor).visit(range(lattice.features), found)
    per_leaf = [form.per_leaf for form in forms]
    with monitor.translated():
        return bounds_above(
            lattice, costs, found, per_leaf=per_leaf, searched=searched, control=monitor.control
        )


def searched_forms(forms: Sequence[Form], question: Question) -> list[int]:
    """List the forms whose least value must be sought, by number."""
    if question.space.leaf_share:  # there a leaf may not exist, and then two may
        return list(range(len(forms)))
    # A form that only counts leaves needs no search: a single leaf is the least.
    return [d for d, f in enumerate(forms) if f.per_leaf < 0 or any(map(any, f.weights))]


def bounds_above(
    lattice: _core.Lattice,
    costs: _core.Costs,
    found: "Found",
    *,
    per_leaf: Sequence[int],
    searched: list[int],
    control: _core.Control,
) -> tuple[Inside, Array]:
    """Go up from the last level, and put in the forms that need no search; see `inside_pass`."""
    counts, least, splits = found.counts, found.least, found.splits
    _core.ascend(lattice.levels, lattice, costs, counts, least, control)
    exists = support(counts, costs.group_label) >= costs.minsup
    if len(searched) < len(per_leaf):
        single = np.array(per_leaf, np.int64)[:, None]
        least = _among(np.where(exists, single, INFINITY), searched, least)
        # trees that are no single leaf have two leaves at least
        splits = _among(np.repeat(2 * single, splits.shape[1], axis=1), searched, splits)
    return Inside(counts, least, exists), splits


def support(counts: Array, group_label: Array) -> Array:
    """Count the rows of each path that make up a leaf: those of the table itself."""
    return np.asarray(counts[:, group_label >= 0].sum(axis=1, dtype=np.int64))


def _among(values: Array, places: list[int], known: Array) -> Array:
    """Put known rows in their places among others."""
    values[places] = known
    return values


def path_costs(forms: tuple[Form, ...], group_label: Array, question: Question) -> _core.Costs:
    """Give the forms, and which labels a leaf may carry, to kernels."""
    labels, space = question.schema.labels, question.space
    weights = np.array([form.weights for form in forms], np.int64)
    weights = weights.reshape(len(forms), labels, len(group_label))
    majority = space.labels == "majority"
    return _core.Costs(
        weights=weights,
        constants=np.array([form.per_leaf for form in forms], np.int64),
        group_label=group_label,
        infinity=INFINITY,
        minsup=question.minsup,
        majority=majority and not _majority_is_cheapest(weights, group_label, question),
        share_top=space.leaf_share.numerator,
        share_bottom=space.leaf_share.denominator,
    )


def _majority_is_cheapest(weights: Array, group_label: Array, question: Question) -> bool:
    """Tell whether a leaf of two labels costs least with the majority's, as errors do.

    So it is if label 1 saves as much on each row of class 1 as it costs on each of class 0; where
    both labels have as many rows, they cost the same.
    """
    if not len(weights) or weights.shape[1] != _TWO or question.space.leaf_share:
        return False
    own = group_label >= 0
    if (weights[:, :, ~own] != 0).any():  # further tables have no vote
        return False
    saved = (weights[:, 0] - weights[:, 1])[:, own] * np.where(group_label[own] == 1, 1, -1)
    return bool((saved >= 0).all() and (saved == saved[:, :1]).all())


@dataclass(frozen=True, slots=True)
class Found:
    """What an inside pass fills in: see `Inside`, and what trees cost that are no single leaf."""

    counts: Array
    least: Array
    splits: Array

    @classmethod
    def blank(cls, lattice: _core.Lattice, groups: int, forms: int) -> "Found":
        """Make room for all paths of a lattice."""
        sizes = path_counts(lattice)
        return cls(
            np.zeros((sum(sizes), groups), np.int64),
            np.full((forms, sum(sizes)), INFINITY, np.int64),
            np.full((forms, sizes[-1]), INFINITY, np.int64),
        )


@dataclass(slots=True)
class Walker:
    """Visits paths, some features at a time."""

    table: _core.Table
    lattice: _core.Lattice
    costs: _core.Costs
    switches: Switches
    monitor: Monitor
    alone: bool = False  # whether it visits a part only
    _counted: _core.InsidePass | None = field(default=None)
    _most_jobs: int = 1

    def visit(self, features: range, found: Found) -> None:
        """Fill in counts and, at the last level, least costs of the paths that start with these."""
        if self.lattice.levels == 0:
            features = range(1)  # the root is the only path
        if self.monitor.client is not None:
            hook("visit_remotely")(InsideStage(self, found), features, self.monitor)
            return
        if self.monitor.checkpoint is not None:
            complete(InsideStage(self, found), features, self.monitor)
            return
        run = self.counted(found)
        self._phase(run, run.phases - 1, features, found)

    def counted(self, found: Found) -> _core.InsidePass:
        """Return the pass with the pairs that all paths share counted, once."""
        self._counted = self._counted or self._count(found)
        return self._counted

    def _count(self, found: Found) -> _core.InsidePass:
        """Count the pairs that all paths share."""
        monitor = self.monitor
        self._check_memory(found)
        memory = min(monitor.memory // 4, _MOST_MATRICES)
        spread = _MOST_SPREAD if self.switches.inclusion else 1
        if self.alone:  # a part computes for itself what others share: that must not be much
            spread = min(spread, max(1, self.lattice.levels - 1))
        with monitor.translated():
            run = _core.InsidePass(
                self.table, self.lattice, self.costs, memory, monitor.threads, spread
            )
        for phase in range(run.phases - 1):
            self._phase(run, phase, range(self.lattice.features), found)
        return run

    def _check_memory(self, found: Found) -> None:
        """Let no more jobs run at once than have room: of thousands of features pairs are many."""
        held = found.counts.nbytes + found.least.nbytes + found.splits.nbytes
        job = _core.inside_job_bytes(self.table, self.costs)
        self._most_jobs = self.monitor.threads
        if job <= _SMALL_PAIRS:
            return
        held += job if self.lattice.levels <= 1 else 0  # all of them share as many
        self.monitor.reserve("the counts of pairs of features", held + job)
        self._most_jobs = max(1, (self.monitor.memory - held) // max(1, job))

    def _phase(self, run: _core.InsidePass, phase: int, features: range, found: Found) -> None:
        def job(some: range) -> None:
            run.run(
                phase, some.start, some.stop, found.counts, found.least, found.splits,
                self.monitor.control,
            )  # fmt: skip

        stage = "least costs" if phase == run.phases - 1 else "pair counts"
        threads = min(self.monitor.threads, self._most_jobs)
        run_jobs(job, self._parts(features), stage, replace(self.monitor, threads=threads))

    def _parts(self, features: range) -> list[range]:
        """Divide features into jobs: not many of them if one feature is little work."""
        threads, n = self.monitor.threads, self.lattice.features
        work = n ** (self.lattice.levels + 1)
        share = len(features) // (4 * threads) if threads > 1 else len(features)
        step = max(1, min(_SMALL_JOB // max(1, work), share))
        return [range(f, min(f + step, features.stop)) for f in features[::step]]


@dataclass(slots=True)
class InsideStage:
    """The inside pass as a stage: see `parts.Stage`. Units: first features."""

    walker: Walker
    found: Found
    _recount: Recount | None = None
    name = "inside"

    @property
    def key(self) -> str:
        """Digest all that the pass follows from."""
        return content_key("inside", self.walker.table, self.walker.lattice, self.walker.costs)

    @property
    def weights(self) -> list[int]:
        """Count the paths of the last level by first feature."""
        return paths_of_features(self.walker.lattice)

    def begin(self) -> None:
        """Count the pairs that all paths share."""
        self.walker.counted(self.found)

    def compute(self, units: range) -> None:
        """Fill in the paths that start with some features."""
        run, found = self.walker.counted(self.found), self.found
        run.run(
            run.phases - 1, units.start, units.stop, found.counts, found.least, found.splits,
            self.walker.monitor.control,
        )  # fmt: skip

    def take(self, units: range) -> Arrays:
        """Copy what was found on the paths that start with some features."""
        paths, last = self._paths(units)
        base = int(self.walker.lattice.base[-1])
        return {
            "counts": self.found.counts[paths],
            "least": self.found.least[:, base + last],
            "splits": self.found.splits[:, last],
        }

    def check(self, units: range, arrays: Arrays) -> None:
        """Raise `ValueError` unless arrays can be what is found on these paths."""
        self._recount = self._recount or Recount(self.walker.table, self.walker.lattice)
        check_inside(self._recount, self.walker.costs, units, self._paths(units)[0], arrays)

    def put(self, units: range, arrays: Arrays) -> None:
        """Fill in what was found earlier."""
        paths, last = self._paths(units)
        base = int(self.walker.lattice.base[-1])
        self.found.counts[paths] = arrays["counts"]
        self.found.least[:, base + last] = arrays["least"]
        self.found.splits[:, last] = arrays["splits"]

    def _paths(self, units: range) -> tuple[Array, Array]:
        """List the paths that start with some features by number, and those of the last level.

        The root, which starts with none, comes with the first.
        """
        lattice, found = self.walker.lattice, []
        for level in range(lattice.levels + 1):
            first = first_features(lattice, level)
            found.append(np.flatnonzero((first >= units.start) & (first < units.stop)))
        levels = (base + some for base, some in zip(lattice.base, found, strict=True))
        return np.concatenate(list(levels)), found[-1]


def outside_pass(
    lattice: _core.Lattice,
    bounds: Inside,
    limits: Array,
    monitor: Monitor,
    *,
    first: Array | None = None,
) -> Outside:
    """Hand the budgets down from the root; ``limits`` holds one per form.

    Parameters
    ----------
    first
        Which distinct features the first test may be; None: any, or no test at all.
    """
    if first is not None:
        exists = bounds.exists.copy()
        exists[0] &= bool(first.any()) and lattice.levels > 0
        if lattice.levels:  # a path of one literal is only met from the root
            exists[1 : 1 + 2 * lattice.features] &= np.repeat(first, 2)
        bounds = replace(bounds, exists=exists)
    nodes = bounds.least.shape[1]
    budgets = np.zeros((nodes, len(limits)), np.int64)
    live = np.zeros(nodes, bool)
    budgets[0] = limits
    affordable = (least <= limit for least, limit in zip(bounds.root, limits.tolist(), strict=True))
    live[0] = bounds.exists[0] and all(affordable)
    found = np.zeros(lattice.levels + 1, np.int64)
    found[0] = live[0]
    with monitor.translated():
        _core.afford(lattice, bounds.exists, bounds.least, budgets, live, found, monitor.control)
    return Outside(budgets, live, tuple(found.tolist()))


def check_costs(forms: Iterable[Form], totals: Sequence[int]) -> None:
    """Raise if a cost, or a number of rows, does not provably fit into a word four times."""
    # where all rows have one label, a form's costs say nothing about their number
    largest = max([sum(totals), *(form.reach(totals) for form in forms)])
    if largest >= _LARGEST:
        raise TooLargeError(
            f"costs reach {largest:.1e}, and the fast engine adds numbers up to {_LARGEST:.1e} "
            f"only: give rows smaller weights, write the condition with rounder numbers, or use "
            f"engine='spec'."
        )
