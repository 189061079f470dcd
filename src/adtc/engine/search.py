"""The best tree alone: least costs by growing depth, and one tree that has them.

Nothing is counted here. Depths 2, 3, … are solved in turn until no better value can exist; each
tells in which order the next should try the features at the root, and a tree that meets the lower
bound ends the search at once. Ratios are maximised by Dinkelbach's method: one search per step,
each with the exact value of the step before.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.affine import ZERO, Affine, convex
from adtc.algebra.formula import Term, Truth
from adtc.algebra.trees import Leaf, Split, Tree
from adtc.data import Data
from adtc.data.stack import Stack
from adtc.engine import lattice as lattices
from adtc.engine.bounds import INFINITY, Found, Walker, check_costs, path_costs
from adtc.engine.lattice import Path
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Form, Plan, Reader, plan_of
from adtc.engine.plan.narrow import by_depth
from adtc.engine.query import Question
from adtc.engine.switches import Switches

Array = npt.NDArray[Any]
_FEW_PATHS = 1000  # are solved at once: to order and divide them takes longer
_FINEST = 10  # the first threshold above the least lies at 1/2^10 of the range


Score = Callable[[Tree, Affine], Fraction]
Scored = tuple[Fraction | int, Tree]
Least = Callable[[Affine], Scored | None]


def largest_ratio(
    top: Affine, bottom: Affine, least: Least, least_defined: Least, score: Score
) -> Scored | None:
    """Find the largest value of top/bottom, the denominator never being negative.

    Parameters
    ----------
    least
        Finds the least value of a form over the good trees, with a tree; None if there is none.
    least_defined
        The same over the good trees whose denominator is positive.
    score
        Computes a form for one tree.

    Returns
    -------
    tuple or None
        None if no good tree has a positive denominator.
    """
    # start at a tree on which the ratio is defined: the one with the largest denominator
    found, best = least(bottom.scaled(Fraction(-1))), None
    while found is not None:
        tree = found[1]
        p, q = score(tree, top), score(tree, bottom)
        if q > 0:
            best = p / q, tree
        elif best is None:
            return None
        else:  # trees without a denominator gain more than any ratio: look past them
            least = least_defined
        gain = top + bottom.scaled(-best[0])  # p' − (p/q)·q' > 0 says that p'/q' > p/q
        found = least(gain.scaled(Fraction(-1)))
        if found is None or found[0] >= 0:
            return best
    return None


def thresholds(term: Term, reader: Reader) -> Iterator[Fraction]:
    """Yield rising limits for a term that is the largest of several forms, from below its least.

    The largest of some numbers is at least their mean; for an absolute value that is 0.
    """
    forms = convex(term)
    if forms is None:
        return
    mean = sum(forms, ZERO).scaled(Fraction(1, len(forms)))
    ranges = [reader.range(form) for form in (*forms, mean)]
    low, high = max(low for low, _ in ranges), max(high for _, high in ranges)
    yield low
    for power in range(_FINEST, 0, -1):
        yield low + (high - low) / 2**power


def is_unconstrained(question: Question) -> bool:
    """Tell whether every tree of the space is good, so that nothing needs to be counted."""
    allowed = question.allowed
    return (
        question.constraint == Truth(True)
        and question.space.max_size is None
        and allowed.root is None
        and not allowed.selective
    )


def planned(
    question: Question, data: Data, objective: Affine
) -> tuple[Plan, Fraction, Fraction] | None:
    """Plan the search for the least value of a form among all trees; None if it cannot be found.

    Its first budget is ``form``, and the objective is ``scale · form + constant``.
    """
    if not is_unconstrained(question) or by_depth(question):
        return None
    plan = plan_of(question, data, push=False, objective=objective)
    budget = next((b for b in plan.budgets if b.source == "objective"), None)
    if budget is None or (budget.form.per_leaf < 0 and not question.space.trivial_splits):
        return None
    _, scale, constant = plan.reader.reduced(objective)
    return plan, scale, constant


def least_of_all(
    question: Question, data: Data, objective: Affine, switches: Switches, monitor: Monitor
) -> Scored | None:
    """Find a tree with the least value of a form among all trees; None if this way cannot."""
    if (way := planned(question, data, objective)) is None:
        return None
    plan, scale, constant = way
    monitor.check()
    form = plan.budgets[0].form
    check_costs((form,), plan.totals)
    rows = lattices.rows_of(data, plan.groups, merge=switches.merge_rows)
    found = _Search(plan, rows, form, switches, monitor).run()
    return None if found is None else (scale * found[0] + constant, found[1])


@dataclass(slots=True)
class _Search:
    """The table with its features in the order in which they are tried."""

    plan: Plan
    rows: Data | Stack
    form: Form
    switches: Switches
    monitor: Monitor
    features: lattices.Features = field(init=False)
    table: _core.Table = field(init=False)
    costs: _core.Costs = field(init=False)
    leaves: "_Leaves" = field(init=False)

    def __post_init__(self) -> None:
        question, plan = self.plan.question, self.plan
        self.features, self.table = lattices.split_rows(
            self.rows,
            plan.groups,
            question.minsup,
            merge=self.switches.merge_features,
            allowed=question.allowed,
        )
        group_label = lattices.label_of_groups(plan.groups)
        self.costs = path_costs((self.form,), group_label, question)
        self.leaves = _Leaves.of(self.form, group_label, question)

    @property
    def n(self) -> int:
        """Count the distinct features."""
        return len(self.table.words)

    def run(self) -> tuple[int, Tree] | None:
        """Return the least cost and a tree that has it; None where no tree exists at all."""
        deepest = self.plan.question.space.max_depth
        # no tree does better than the cheapest label for every row
        bound, _ = self.form.range(self.plan.totals, self.plan.most_leaves)
        promise = self._stumps()
        longest = min(max(0, deepest - 2), self.n)
        few = sum(math.comb(self.n, k) << k for k in range(longest + 1)) <= _FEW_PATHS
        for depth in range(deepest if few else min(deepest, 2), deepest + 1):
            self._reorder(np.argsort(promise, kind="stable"))
            attempt = _Attempt(self, lattices.numbered_paths(self.n, depth))
            cost, promise = attempt.solve(bound)
            if cost <= bound or depth == deepest or attempt.lattice.levels == self.n:
                return None if cost >= INFINITY else (cost, attempt.tree((), cost))
        raise AssertionError("the loop ends at the deepest level")

    def _stumps(self) -> Array:
        """Score every feature by the split into two leaves."""
        planes = zip(self.table.offsets, self.table.offsets[1:], strict=False)
        ones = np.zeros((len(self.table.totals), self.n), np.int64)
        for p, (i, j) in enumerate(planes):
            held = np.bitwise_count(self.table.words[:, i:j]).sum(axis=1, dtype=np.int64)
            ones[self.table.plane_group[p]] += held << self.table.plane_shift[p]
        sides = (ones, self.table.totals[:, None] - ones)
        return sum((self.leaves.costs(s).min(axis=0) for s in sides), np.zeros(self.n, np.int64))

    def _reorder(self, order: Array) -> None:
        """Put the features into a new order."""
        table = self.table
        self.table = _core.Table(
            np.ascontiguousarray(table.words[order]), table.offsets, table.rows, table.plane_group,
            table.plane_shift, table.totals,
        )  # fmt: skip
        twins = tuple(self.features.twins[at] for at in order)
        self.features = replace(self.features, columns=self.features.columns[order], twins=twins)


@dataclass(slots=True)
class _Leaves:
    """What a leaf costs with each label; rows are counted by group, the first axis."""

    weights: Array  # label × group
    per_leaf: int
    votes: Array  # label × group: 1 where the group's rows have the label
    minsup: int
    share: Fraction
    majority: bool

    @classmethod
    def of(cls, form: Form, group_label: Array, question: Question) -> "_Leaves":
        votes = np.arange(question.schema.labels)[:, None] == group_label
        return cls(
            np.array(form.weights, np.int64), form.per_leaf, votes.astype(np.int64),
            question.minsup, question.space.leaf_share, question.space.labels == "majority",
        )  # fmt: skip

    def costs(self, counts: Array) -> Array:
        """Return what each label costs, by column; INFINITY where it may not stand."""
        votes = self.votes @ counts
        support = votes.sum(axis=0)
        allowed = votes * self.share.denominator >= support * self.share.numerator
        allowed &= support >= self.minsup
        if self.majority:
            allowed &= np.arange(len(votes))[:, None] == lattices.majority_label(votes)
        return np.where(allowed, self.weights @ counts + self.per_leaf, INFINITY)

    def cheapest(self, rows: Array) -> tuple[int, Leaf]:
        """Return the least cost on these rows and a leaf that has it; ties: the smallest label."""
        costs = self.costs(rows[:, None])[:, 0]
        label = int(costs.argmin())
        return int(costs[label]), Leaf(label)


class _Attempt:
    """One depth: the least costs of all paths, as far as they are needed."""

    def __init__(self, search: _Search, lattice: _core.Lattice) -> None:
        self.search, self.lattice = search, lattice
        self.table, self.costs = search.table, search.costs
        sizes = lattices.path_counts(lattice)
        groups = len(self.table.totals)
        search.monitor.reserve("the table of subproblems", sum(sizes) * 8 * (groups + 2))
        self.found = Found.blank(lattice, groups, 1)
        self.counts, self.least = self.found.counts, self.found.least

    def solve(self, bound: int) -> tuple[int, Array]:
        """Return the least cost, and what each feature at the root can reach."""
        n, levels, monitor = self.search.n, self.lattice.levels, self.search.monitor
        promise = np.full(n, INFINITY)
        walker = Walker(self.table, self.lattice, self.costs, self.search.switches, monitor)
        if levels == 0:
            walker.visit(range(n), self.found)
            return int(self.least[0, 0]), self.search._stumps()
        tried = range(n if self.least.shape[1] <= _FEW_PATHS else min(n, monitor.threads))
        while tried:
            walker.visit(tried, self.found)
            # all paths with these are known by now: the others start with a feature after them
            with monitor.translated():
                _core.ascend_through(
                    tried.start, tried.stop, self.lattice, self.costs, self.counts, self.least,
                    monitor.control,
                )  # fmt: skip
            sides = self.least[0, int(self.lattice.base[1]) :][2 * tried.start : 2 * tried.stop]
            promise[tried.start : tried.stop] = sides.reshape(-1, 2).sum(axis=1)
            if promise.min() <= bound:
                break
            monitor.report(f"best tree, depth {levels + self.lattice.rest}", tried.stop, n)
            # the most promising come first; where they do not end the search, more go together
            tried = range(tried.stop, min(n, tried.stop + max(monitor.threads, len(tried) * 2)))
        _core.ascend(1, self.lattice, self.costs, self.counts, self.least, monitor.control)
        return int(self.least[0, 0]), promise

    def tree(self, path: Path, cost: int) -> Tree:
        """Make a tree below a path that has its least cost; leaves before splits."""
        rows = self.counts[lattices.path_number(self.lattice, path)]
        least, leaf = self.search.leaves.cheapest(rows)
        if least == cost:
            return leaf
        if len(path) == self.lattice.levels:
            return self._closed(path, rows, cost)
        on_path = {f for f, _ in path}
        for f in (f for f in range(self.search.n) if f not in on_path):
            sides = tuple(tuple(sorted((*path, (f, negative)))) for negative in (False, True))
            one, zero = (self._value(side) for side in sides)
            if one + zero == cost:
                return self._split(f, self.tree(sides[0], one), self.tree(sides[1], zero))
        raise AssertionError("a least cost belongs to a leaf or a split")

    def _closed(self, path: Path, rows: Array, cost: int) -> Tree:
        """Make a tree of depth 1 or 2 below a path of the last level, from pair counts."""
        both = lattices.pairs_below(self.table, path)
        on_path = np.zeros(self.search.n, np.bool_)
        on_path[[f for f, _ in path]] = True
        f, below1, below0 = _core.find_tree(
            cost, both, rows, on_path, self.costs, self.lattice.rest
        )
        assert f >= 0, "a least cost belongs to a leaf or a split"

        def leaf(counts: Array) -> Leaf:
            return self.search.leaves.cheapest(counts)[1]

        below = (
            (below1, both[:, f, f], both[:, f, below1]),
            (below0, rows - both[:, f, f], both[:, below0, below0] - both[:, f, below0]),
        )
        sides = (
            leaf(whole) if j < 0 else self._split(j, leaf(part), leaf(whole - part))
            for j, whole, part in below
        )
        return self._split(f, *sides)

    def _split(self, f: int, t1: Tree, t0: Tree) -> Split:
        twin = self.search.features.twins[f][0]
        return Split(twin.feature, t0, t1) if twin.flipped else Split(twin.feature, t1, t0)

    def _value(self, path: Path) -> int:
        return int(self.least[0, lattices.path_number(self.lattice, path)])
