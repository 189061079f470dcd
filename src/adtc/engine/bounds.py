"""Tropical inside and outside: what each subproblem costs at least, and may cost at most.

Inside, least(I) is the least value of a form over all trees below the path I. Outside, the budget
b(I) is what the rest of a good tree leaves for I. A path is live iff it fits every budget; only
live paths, and below them only cells within budget, can be part of a good tree.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.engine.executors import run_jobs
from adtc.engine.kernels import inside, paths
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Form
from adtc.engine.switches import Switches

Array = npt.NDArray[Any]


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
        return [int(value) for value in self.least[:, 0]]


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
) -> Inside:
    """Compute the least value of every form on every path."""
    n = table.words.shape[0]
    sizes = path_counts(lattice, n)
    cost_type = _cost_type(forms, table)
    infinity = cost_type(2 ** (28 if cost_type is np.int32 else 60))
    monitor.reserve(
        "the table of subproblems",
        sum(sizes) * (len(table.totals) * table.pairs.itemsize + len(forms) * 12 + 1),
    )
    counts = np.zeros((sum(sizes), len(table.totals)), table.pairs.dtype)
    least = np.full((len(forms), sum(sizes)), infinity, cost_type)
    # A form that only counts leaves needs no search: a single leaf is the least.
    searched = [d for d, f in enumerate(forms) if f.per_leaf < 0 or any(map(any, f.weights))]
    costs = inside.Costs(
        weights=_weights([forms[d] for d in searched], table, group_label, cost_type),
        constants=np.array([forms[d].per_leaf for d in searched], cost_type),
        group_label=group_label,
        infinity=infinity,
        minsup=minsup,
        majority=majority,
    )
    found = np.full((len(searched), sum(sizes)), infinity, cost_type)
    if lattice.levels == 0:
        inside.close_root(table, lattice, costs, counts, found)
    else:
        counts[0] = table.totals

        def job(first: int) -> None:
            inside.walk(first, table, lattice, costs, switches.pext, counts, found)

        run_jobs(job, range(n), "least costs", monitor)
        for level in range(lattice.levels - 1, -1, -1):
            paths.ascend(level, 0, math.comb(n, level), n, lattice, costs, counts, found)
    exists = counts.sum(axis=1) >= minsup
    for d, form in enumerate(forms):
        least[d] = np.where(exists, form.per_leaf, infinity)
    least[searched] = found
    return Inside(counts, least, int(infinity), exists)


def outside_pass(lattice: inside.Lattice, n: int, bounds: Inside, limits: Array) -> Outside:
    """Hand the budgets down from the root; ``limits`` holds one per form."""
    nodes = bounds.least.shape[1]
    budgets = np.zeros((nodes, len(limits)), np.int64)
    live = np.zeros(nodes, bool)
    budgets[0] = limits
    live[0] = bounds.exists[0] and bool((bounds.least[:, 0] <= limits).all())
    found = [int(live[0])]
    for level in range(1, lattice.levels + 1):
        found.append(
            paths.afford(
                level, n, math.comb(n, level), lattice, bounds.exists, bounds.least, budgets, live
            )
        )
    return Outside(budgets, live, tuple(found))


def _cost_type(forms: tuple[Form, ...], table: inside.Table) -> Any:
    """Choose int32 where every possible cost provably fits, with room for sums of four."""
    totals = [int(n) for n in table.totals]
    leaves = sum(totals) + 1
    widest = max((max(map(abs, form.range(totals, leaves))) for form in forms), default=0)
    largest = max((abs(w) for form in forms for row in form.weights for w in row), default=0)
    if max(widest, largest * sum(totals)) < 2**25:
        return np.int32
    if max(widest, largest * sum(totals)) < 2**57:
        return np.int64
    raise OverflowError("a cost exceeds 57 bits")


def _weights(forms: list[Form], table: inside.Table, group_label: Array, dtype: Any) -> Array:
    labels = int(group_label.max(initial=0)) + 1 if not forms else len(forms[0].weights)
    shape = (len(forms), labels, len(table.totals))
    return np.array([form.weights for form in forms], dtype).reshape(shape)
