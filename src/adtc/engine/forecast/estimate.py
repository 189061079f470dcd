"""How large the tensors of a circuit will be, before any of them is made.

Two answers, both from the bounds passes alone. `ceiling` bounds trees and cells of every level
from above; where that fits, nothing more is asked. Otherwise trees are drawn (see
``forecast.h``): how often two of them fall into one cell says how many cells there are at
least; `forecast` says how many are likely. A lower bound is enough to refuse a question, and
refusing one wrongly would be worse than refusing it late: the limit inside the run stays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import INFINITY, Outside, support
from adtc.engine.lattice import path_counts
from adtc.engine.plan import Plan
from adtc.engine.plan.forms import Span
from adtc.engine.plan.keys import key_words
from adtc.engine.prepare import Prepared

Array = npt.NDArray[Any]
_SIZES = 16  # more leaves than that are not told apart
_TABLE = 3  # a hash table is at most half full, and its cells are copied once in the end
_SURE = 4.6  # no event seen: with 99 % probability fewer than that were to be expected
_WORD = 64
_MOST_SPLITS = 2**25


@dataclass(frozen=True)
class Ceiling:
    """Upper bounds of the levels of a circuit, root first, and what trees are drawn from."""

    prepared: Prepared
    outside: Outside
    ways: _core.Ways
    bounds: _core.Bounds
    trees: tuple[float, ...]
    cells: tuple[float, ...]

    @property
    def memory(self) -> float:
        """Return a number of bytes that tensors will not exceed."""
        return self.bytes(self.cells)

    def bytes(self, cells: Sequence[float]) -> float:
        """Return how many bytes so many cells of each level need."""
        bits = math.frexp(self.trees[0])[1] if math.isfinite(self.trees[0]) else _WORD
        return bytes_of(self.prepared.plan, bits, cells)

    def by_size(self, level: int) -> Array:
        """Return upper bounds of the trees below each live path of a level: ``[path, size]``."""
        return _core.bounds_by_size(self.ways, self.bounds, level)


def bytes_of(plan: Plan, bits: int, cells: Sequence[float]) -> float:
    """Return how many bytes so many cells of each level need; counts have so many bits."""
    limbs = max(1, -(-bits // _WORD))
    root, below = 8 + 8 * limbs, 8 + 8 * limbs + 8 * len(plan.budgets)
    return _TABLE * root * cells[0] + 2 * below * sum(cells[1:])


def bits_of_all_trees(depth: int, features: int, labels: int) -> int:
    """Bound the width of any count by that of all trees: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)².

    In logarithms, since the number itself doubles its length with every level.
    """
    logarithm = math.log2(labels)
    for n in range(features - min(depth, features) + 1, features + 1):
        squared = math.log2(n) + 2 * logarithm
        logarithm = squared + math.log2(1 + labels * 2.0**-squared)
        if not math.isfinite(logarithm):
            break
    return math.floor(logarithm * (1 + 1e-12) + 1e-9) + 1


def box(plan: Plan, least: Sequence[int], limits: Sequence[int]) -> float:
    """Bound the cells of the root by the values that axes and budgets leave.

    Any forms that determine the axes and are independent bound the cells by the product of their
    numbers of values; taking the narrowest ones first gives the smallest product.
    """
    low = {b.form.vector(): v for b, v in zip(plan.budgets, least, strict=True)}
    high = {b.form.vector(): v for b, v in zip(plan.budgets, limits, strict=True)}
    ranges = [(axis.form.vector(), axis.radix) for axis in plan.axes]
    for vector, limit in high.items():
        opposite = high.get(tuple(-c for c in vector))
        bottom = low[vector] if opposite is None else max(low[vector], -opposite)
        ranges.append((vector, max(0, limit - bottom + 1)))
    axes, chosen = Span(axis.form.vector() for axis in plan.axes), Span()
    product = 1.0
    for vector, values in sorted(ranges, key=lambda pair: pair[1]):
        # a budget may know more than the axes do
        if vector in axes and chosen.add(vector):
            product *= values
    return product


def ceiling(
    prepared: Prepared,
    outside: Outside,
    *,
    fine: bool = False,
    drawable: bool = False,
    sizes: int | None = None,
    enough: float = 0.0,
) -> Ceiling:
    """Bound the trees and cells of all levels from above.

    Parameters
    ----------
    fine
        Look at every feature of every path, which makes bounds tighter; trees can be drawn then.
    drawable
        Let trees be drawn freely, without fine bounds.
    sizes
        Tell trees apart up to that many leaves and leave larger ones out; None does so if the
        plan limits the size.
    enough
        A number of cells of the root that needs no tighter bound.
    """
    plan, lattice, n = prepared.plan, prepared.lattice, len(prepared.features.twins)
    if sizes is None and plan.question.space.max_size is not None:
        sizes = plan.most_leaves if plan.most_leaves <= _SIZES else None
    paths, drawn = path_counts(lattice), fine or drawable
    above, columns = sum(paths[:-1]), 1 if sizes is None else sizes + 1
    ways = ways_of(prepared, outside)
    bounds = _core.Bounds(
        trees=np.zeros((above, columns)),
        splitting=np.zeros(above),
        active=np.zeros((paths[-1], 3)),
        candidates=np.zeros((paths[-1] if drawn else 0, 3, -(-n // _WORD)), np.uint64),
        looked=np.zeros(paths[-1] if drawn else 0, bool),
        splits=np.zeros((above if drawn else 0, columns, n)),
        leaf=0 if sizes is None else 1,
    )
    groups, labels = len(plan.groups), plan.question.schema.labels
    spans = _core.Spans(
        np.array([a.form.weights for a in plan.axes], np.int64).reshape(-1, labels, groups),
        np.array([a.form.per_leaf for a in plan.axes], np.int64),
    )
    trees, cells = (found.tolist() for found in _core.bound_levels(ways, spans, bounds, fine))
    if cells[0] > enough:
        limits = [int(b) for b in outside.budgets[0]]
        cells[0] = min(cells[0], box(plan, prepared.inside.root, limits))
    return Ceiling(prepared, outside, ways, bounds, tuple(trees), tuple(cells))


def ways_of(prepared: Prepared, outside: Outside) -> _core.Ways:
    """Say which trees there are."""
    leaves, inside = prepared.leaves, prepared.inside
    return _core.Ways(
        lattice=prepared.lattice,
        costs=_core.Costs(
            leaves.cost_weights,
            leaves.cost_constants,
            leaves.group_label,
            INFINITY,
            leaves.minsup,
            leaves.majority,
            leaves.share_top,
            leaves.share_bottom,
        ),
        leaves=leaves,
        trivial_splits=leaves.trivial_splits,
        multiplicity=prepared.features.multiplicity,
        counts=inside.counts,
        support=support(inside.counts, leaves.group_label),
        largest=_largest(prepared.plan, outside),
        live=outside.live,
        least=inside.least,
        budgets=outside.budgets,
    )


def _largest(plan: Plan, outside: Outside) -> Array:
    """Return how many leaves the budgets leave for each path."""
    for d, budget in enumerate(plan.budgets):
        if budget.form.per_leaf > 0 and not any(map(any, budget.form.weights)):
            return np.asarray(outside.budgets[:, d] // budget.form.per_leaf)
    return np.full(len(outside.budgets), 2**40)


@dataclass(frozen=True)
class Sample:
    """Trees drawn from the paths of one level, by path and key.

    Parameters
    ----------
    tried
        Attempts; those that gave a tree within the budgets are ``keys``, with its path each.
    most_trees, most_cells
        The upper bounds of the level.
    """

    keys: Array
    owners: Array
    trivial: Array
    tried: int
    most_trees: float
    most_cells: float

    @cached_property
    def frequencies(self) -> tuple[Array, Array]:
        """Count how many trees fell into each cell: of all, and of those without trivial splits.

        Trivial splits make many trees out of one, and so hide how many cells there are.
        """
        plain = ~self.trivial
        return (
            frequencies(key_words(self.keys), self.owners),
            frequencies(key_words(self.keys[plain]), self.owners[plain]),
        )

    def joined(self, other: "Sample") -> "Sample":
        """Put two samples together."""
        return replace(
            self,
            keys=np.concatenate([self.keys, other.keys]),
            owners=np.concatenate([self.owners, other.owners]),
            trivial=np.concatenate([self.trivial, other.trivial]),
            tried=self.tried + other.tried,
        )

    @property
    def trees(self) -> float:
        """Estimate the number of trees."""
        return self.most_trees * len(self.keys) / max(1, self.tried)

    @property
    def most(self) -> float:
        """Bound the number of cells from above, with 99 % probability."""
        found = len(self.keys)
        share = (found + 3 * math.sqrt(found) + _SURE) / max(1, self.tried)
        return min(self.most_cells, self.most_trees * min(1.0, share))

    @property
    def cells(self) -> float:
        """Estimate the number of cells (Chao's estimator, too low rather than too high)."""
        found = max(map(estimated_distinct, self.frequencies))
        return min(found, max(self.trees, 1.0), self.most_cells)

    @property
    def at_least(self) -> float:
        """Bound the number of cells from below, with about 99 % probability.

        Of two drawn trees, the chance that they meet in a cell is 1/D if all of the D cells hold
        equally many trees, and larger otherwise.
        """
        return min(max(map(_at_least, self.frequencies)), self.most_cells)


def frequencies(words: Array, owners: Array | None = None) -> Array:
    """Count how often each row of words occurs, under each owner on its own."""
    columns = words if owners is None else np.column_stack([words, owners])
    columns = columns[np.lexsort(columns.T)]
    new = np.ones(len(columns), bool)
    new[1:] = (columns[1:] != columns[:-1]).any(axis=1)
    return np.diff(np.append(np.flatnonzero(new), len(columns)))


def _at_least(frequencies: Array) -> float:
    drawn = float(frequencies.sum())
    met = float((frequencies * (frequencies - 1)).sum()) / 2
    likely = met + 3 * math.sqrt(met) + _SURE
    return max(float(len(frequencies)), drawn * (drawn - 1) / 2 / likely)


def estimated_distinct(frequencies: Array) -> float:
    """Estimate how many kinds there are from how often those seen were seen (Chao 1984)."""
    once, twice = int((frequencies == 1).sum()), int((frequencies == 2).sum())  # noqa: PLR2004
    return len(frequencies) + once * (once - 1) / (2 * (twice + 1))


def draw(
    found: Ceiling,
    level: int,
    attempts: int,
    *,
    seed: int = 0,
    free: bool = False,
    most_leaves: int | None = None,
) -> Sample:
    """Draw trees from the paths of a level, all with the same probability; bounds must be fine.

    Free draws throw few trees away, but not all trees are equally likely: the number of cells is
    bounded from below as well, that of trees is not known then. Bounds need not be fine.
    """
    keys, owners, trivial, tried = _core.draw_trees(
        found.ways,
        found.bounds,
        found.prepared.table,
        level,
        attempts,
        seed,
        free,
        found.bounds.trees.shape[1] if most_leaves is None else most_leaves,
    )
    return Sample(keys, owners, trivial, tried, found.trees[level], found.cells[level])


def can_draw(prepared: Prepared, sizes: int | None) -> bool:
    """Tell whether there is room to note how trees are drawn below every path."""
    above, n = int(prepared.lattice.base[-1]), len(prepared.features.twins)
    return above * n * ((sizes or prepared.plan.question.space.max_size or 0) + 1) <= _MOST_SPLITS
