"""Tropical inside and outside: what each subproblem costs at least, and may cost at most.

Inside, least(I) is the least value of a form over all trees below the path I. Outside, the budget
b(I) is what the rest of a good tree leaves for I. A path is live iff it fits every budget; only
live paths, and below them only cells within budget, can be part of a good tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.engine.executors import run_jobs
from adtc.engine.forms import SMALL, Form
from adtc.engine.kernels import inside, paths, visiting
from adtc.engine.kernels.channels import Prefix
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.switches import Switches
from adtc.errors import TooLargeError

Array = npt.NDArray[Any]
_TWO = 2
_SMALL_JOB = 10**6  # pairs of features that one call of a kernel may count
_LARGEST = 2**57  # costs below that have room for sums of four, and for more than any cost
_INFINITY = {np.int16: 2**13, np.int32: 2**28, np.int64: 2**60}


@dataclass(frozen=True, slots=True)
class Inside:
    """The rows of every path, and the least value of every form on it.

    Parameters
    ----------
    counts
        ``[path, group]`` rows.
    least
        ``[form, path]``; ``infinity`` where a path holds too few rows for a leaf.
    """

    counts: Array
    least: Array
    infinity: int
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
    table: inside.Table,
    lattice: inside.Lattice,
    forms: tuple[Form, ...],
    group_label: Array,
    *,
    minsup: int,
    majority: bool,
    switches: Switches,
    monitor: Monitor,
) -> tuple[Inside, Array]:
    """Compute the least value of every form on every path.

    Returns also, as ``[form, path of the last level]``, how little trees there cost at least that
    are no single leaf.
    """
    n = table.words.shape[0]
    sizes = path_counts(lattice, n)
    kind = cost_type(forms, table.totals.tolist())
    monitor.reserve(
        "the table of subproblems",
        sum(sizes) * (len(table.totals) * table.pairs.itemsize + len(forms) * 20 + 1),
    )
    counts = np.zeros((sum(sizes), len(table.totals)), table.pairs.dtype)
    # A form that only counts leaves needs no search: a single leaf is the least.
    searched = [d for d, f in enumerate(forms) if f.per_leaf < 0 or any(map(any, f.weights))]
    costs = path_costs(
        tuple(forms[d] for d in searched),
        table,
        group_label,
        minsup=minsup,
        majority=majority,
        kind=kind,
    )
    found = np.full((2 * len(searched), sum(sizes)), costs.infinity, kind)
    Walker(table, lattice, costs, switches, monitor).visit(range(n), counts, found)
    paths.ascend(lattice.levels, n, lattice, costs, counts, found)
    exists = counts.sum(axis=1) >= minsup
    least, splits = found[: len(searched)], found[len(searched) :, int(lattice.base[-1]) :]
    if len(searched) < len(forms):
        single = np.array([form.per_leaf for form in forms], kind)[:, None]
        least = _among(np.where(exists, single, costs.infinity), searched, least)
        # trees that are no single leaf have two leaves at least
        splits = _among(np.repeat(2 * single, sizes[-1], axis=1), searched, splits)
    return Inside(counts, least, int(costs.infinity), exists), splits


def _among(values: Array, places: list[int], known: Array) -> Array:
    """Put known rows in their places among others."""
    values[places] = known
    return values


def path_costs(
    forms: tuple[Form, ...],
    table: inside.Table,
    group_label: Array,
    *,
    minsup: int,
    majority: bool,
    kind: Any,
) -> inside.Costs:
    """Give the forms to kernels: as numbers of a type that holds every possible cost."""
    return inside.Costs(
        weights=_weights(forms, table, group_label, kind),
        constants=np.array([form.per_leaf for form in forms], kind),
        group_label=group_label,
        infinity=kind(_INFINITY[kind]),
        minsup=minsup,
        majority=majority,
    )


@dataclass(frozen=True, slots=True)
class Walker:
    """Visits paths in the way that counts the fewest pairs."""

    table: inside.Table
    lattice: inside.Lattice
    costs: inside.Costs
    switches: Switches
    monitor: Monitor
    _roots: list[Prefix] = field(default_factory=list)

    def visit(self, features: range, counts: Array, least: Array) -> None:
        """Fill in counts and, at the last level, least costs of the paths that start with these."""
        levels = self.lattice.levels
        if levels == 0:
            features = range(1)  # the root is the only path
        counts[0] = self.table.totals
        if self._shares_counts:
            root = self._root(counts, least)

            def job(some: range) -> None:
                self._visit(some, root, counts, least)

            jobs = self._parts(features, len(self.table.words) ** (levels + 1))
        else:

            def job(some: range) -> None:
                task = some.start, self.table, self.lattice, self.costs, self.switches.pext
                inside.walk(*task, counts, least)

            jobs = [range(f, f + 1) for f in features]
        run_jobs(job, jobs, "least costs", self.monitor)

    def _visit(
        self, some: range, root: Prefix, counts: Array, least: Array, *, counted: bool = True
    ) -> None:
        visiting.visit_paths(
            some.start, some.stop, self.table, self.lattice, self.costs, self.switches.pext, root,
            counted, counts, least,
        )  # fmt: skip

    def _parts(self, features: range, work: int) -> list[range]:
        """Divide features into jobs: not many of them if one feature is little ``work``."""
        threads = self.monitor.threads
        share = len(features) // (4 * threads) if threads > 1 else len(features)
        step = max(1, min(_SMALL_JOB // max(1, work), share))
        return [range(f, min(f + step, features.stop)) for f in features[::step]]

    @property
    def _shares_counts(self) -> bool:
        """Tell whether two labels are as good as free, with room for a matrix per feature."""
        functionals, labels, _ = self.costs.weights.shape
        if functionals == 0:
            return self.switches.inclusion
        n, word = len(self.table.words), self.costs.weights.itemsize
        room = n**3 * (functionals + 1) * word * self.monitor.threads
        free = labels == _TWO and (not self.costs.majority or self._majority_is_cheapest)
        return self.switches.inclusion and free and room < self.monitor.memory // 4

    @property
    def _majority_is_cheapest(self) -> bool:
        """Tell whether a leaf of two labels costs least with the majority's, as errors do.

        So it is if label 1 saves as much on each row of class 1 as it costs on each of class 0;
        where both labels have as many rows, they cost the same.
        """
        weights = self.costs.weights.astype(np.int64)
        saved = (weights[:, 0] - weights[:, 1]) * np.where(self.costs.group_label == 1, 1, -1)
        return bool((saved >= 0).all() and (saved == saved[:, :1]).all())

    def _root(self, counts: Array, least: Array) -> Prefix:
        """Make the whole table a prefix, once, with the pairs among every feature's rows."""
        if not self._roots:
            n, levels = len(self.table.words), self.lattice.levels
            root = visiting.open_root(self.table, self.costs, levels)

            def job(some: range) -> None:
                self._visit(some, root, counts, least, counted=False)

            if len(self.costs.constants) and 0 < levels <= _TWO:
                run_jobs(job, self._parts(range(n), n**_TWO), "pair counts", self.monitor)
            self._roots.append(root)
        return self._roots[0]


def outside_pass(lattice: inside.Lattice, n: int, bounds: Inside, limits: Array) -> Outside:
    """Hand the budgets down from the root; ``limits`` holds one per form."""
    nodes = bounds.least.shape[1]
    budgets = np.zeros((nodes, len(limits)), np.int64)
    live = np.zeros(nodes, bool)
    budgets[0] = limits
    affordable = (least <= limit for least, limit in zip(bounds.root, limits.tolist(), strict=True))
    live[0] = bounds.exists[0] and all(affordable)
    found = np.zeros(lattice.levels + 1, np.int64)
    found[0] = live[0]
    paths.afford(n, lattice, bounds.exists, bounds.least, budgets, live, found)
    return Outside(budgets, live, tuple(found.tolist()))


def cost_type(forms: Iterable[Form], totals: Sequence[int], *, short: bool = False) -> Any:
    """Choose the type where every cost, and every number of rows, provably fits four times.

    ``short`` admits 16 bits: faster, but kernels are compiled once more.
    """
    # where all rows have one label, a form's costs say nothing about their number
    largest = max([sum(totals), *(form.reach(totals) for form in forms)])
    if short and largest < 2**12:
        return np.int16
    if largest < SMALL:
        return np.int32
    if largest < _LARGEST:
        return np.int64
    raise TooLargeError(
        f"costs reach {largest:.1e}, and the fast engine adds numbers up to {_LARGEST:.1e} only: "
        f"give rows smaller weights, write the condition with rounder numbers, or use "
        f"engine='spec'."
    )


def _weights(forms: tuple[Form, ...], table: inside.Table, group_label: Array, dtype: Any) -> Array:
    labels = int(group_label.max(initial=0)) + 1 if not forms else len(forms[0].weights)
    shape = (len(forms), labels, len(table.totals))
    return np.array([form.weights for form in forms], dtype).reshape(shape)
