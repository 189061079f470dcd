"""Least costs and budgets of every path against a search over all trees below it."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.semirings import COUNT
from adtc.engine import fast
from adtc.engine.bounds import INFINITY, path_costs
from adtc.engine.circuit import Circuit
from adtc.engine.monitor import Monitor
from adtc.engine.plan import make_plan
from adtc.engine.prepare import prepare
from adtc.engine.query import ask, row_groups
from adtc.engine.switches import Switches

Literals = tuple[tuple[int, bool], ...]  # ascending (feature, negative)


@dataclass(frozen=True)
class Case:
    """A table, a space and the circuit for a constraint on them."""

    data: adtc.Data
    space: adtc.Space
    circuit: Circuit
    searched: dict = field(default_factory=dict)

    @property
    def columns(self) -> np.ndarray:
        return self.circuit.prepared.features.columns

    def rows(self, path: Literals) -> np.ndarray:
        """Tell which rows follow a path."""
        here = np.ones(self.data.n_rows, bool)
        for f, negative in path:
            here &= self.columns[f] == (0 if negative else 1)
        return here

    def counts(self, rows: np.ndarray) -> list[int]:
        """Count rows by group of the plan."""
        keys, member = row_groups(self.data)
        groups = self.circuit.prepared.plan.groups
        return [
            sum(int(self.data.weights[r]) for r in np.flatnonzero(rows) if keys[member[r]] in group)
            for group in groups
        ]

    def leaf_costs(self, rows: np.ndarray, form) -> list[int]:
        """List what a leaf costs under each label it may carry; none if it is too small."""
        counts = self.counts(rows)
        minsup = self.circuit.prepared.plan.question.minsup
        if sum(counts) < minsup:
            return []
        labels = range(len(form.weights))
        if self.space.labels == "majority":
            votes = [int(self.data.weights[rows & (self.data.y == v)].sum()) for v in labels]
            labels = [votes.index(max(votes))]
        return [
            form.per_leaf + sum(w * n for w, n in zip(form.weights[v], counts, strict=True))
            for v in labels
        ]

    def least(self, path: Literals, form) -> float:
        """Search all trees below a path for the cheapest one."""
        if (path, form) not in self.searched:
            self.searched[path, form] = self._least(path, form)
        return self.searched[path, form]

    def _least(self, path: Literals, form) -> float:
        best = min(self.leaf_costs(self.rows(path), form), default=math.inf)
        return min(best, self.least_split(path, form))

    def least_split(self, path: Literals, form) -> float:
        """Search all trees below a path that are no single leaf."""
        best = math.inf
        if len(path) == self.space.max_depth:
            return best
        used = {f for f, _ in path}
        for f in set(range(len(self.columns))) - used:
            one, zero = (extended(path, f, negative) for negative in (False, True))
            best = min(best, self.least(one, form) + self.least(zero, form))
        return best

    def paths(self) -> Iterator[tuple[Literals, int]]:
        """Run through all numbered paths."""
        lattice = self.circuit.prepared.lattice
        for k in range(lattice.levels + 1):
            for features in itertools.combinations(range(len(self.columns)), k):
                rank = sum(math.comb(f, i + 1) for i, f in enumerate(features))
                for signs in range(1 << k):
                    literals = tuple((f, bool(signs >> i & 1)) for i, f in enumerate(features))
                    yield literals, int(lattice.base[k]) + (rank << k) + signs


def extended(path: Literals, f: int, negative: bool) -> Literals:
    return tuple(sorted((*path, (f, negative))))


FORMULAS = [
    "error <= {limit}",
    "size <= 3",
    "error + 2 * size <= {limit} + 4",
    "dp <= 0.4",
    "N11 >= {limit} / 2",
    "f1 >= 0.5 and size <= 4",
    "error <= {limit} and dp <= 0.5",
    "3 * N01 - 2 * N10 <= {limit}",
]


@st.composite
def cases(draw, where=None, **fixed):
    # Tables that Hypothesis likes best are nearly constant: nothing to split, nothing to prune.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(4, 12)), draw(st.integers(2, 4))
    data = adtc.Data.from_arrays(
        rng.integers(0, 2, (n_rows, n_features)),
        [0, 1, *rng.integers(0, 2, n_rows - 2)],
        z=[1, 0, *rng.integers(0, 2, n_rows - 2)],
        weights=draw(st.sampled_from([np.ones(n_rows, int), 1 + np.arange(n_rows) * 3 % 5])),
    )
    options = {
        "max_depth": draw(st.sampled_from([3, 4, 2])),
        "minsup": draw(st.sampled_from([1, 0, 2])),
        "labels": draw(st.sampled_from(["any", "majority"])),
    }
    space = adtc.Space(**(options | fixed))
    text = draw(st.sampled_from(FORMULAS)) if where is None else where
    least = adtc.optimize(data, space, minimize="error", engine="spec").value
    text = text.format(limit=least + draw(st.integers(0, 2)))  # tight, so that it decides
    switches = Switches(combine=draw(st.booleans()), inclusion=draw(st.booleans()))
    question = ask(data, space, semiring=COUNT, where=text)
    return Case(data, space, fast.run(question, data, switches=switches).circuit)


@given(cases())
@settings(max_examples=25)
def test_counts_and_least_costs_of_every_path(case):
    prepared = case.circuit.prepared
    for path, node in case.paths():
        counts = case.counts(case.rows(path))
        enough = sum(counts) >= prepared.plan.question.minsup
        assert bool(prepared.inside.exists[node]) is enough
        if enough:
            assert prepared.inside.counts[node].tolist() == counts
        for d, budget in enumerate(prepared.plan.budgets):
            least = case.least(path, budget.form)
            found = int(prepared.inside.least[d, node])
            assert found == least if enough else found == INFINITY


@given(cases())
@settings(max_examples=25)
def test_what_splits_cost_at_least_on_every_path_of_the_last_level(case):
    plan, lattice = case.circuit.prepared.plan, case.circuit.prepared.lattice
    prepared = prepare(make_plan(plan.question), case.data, Switches(), Monitor())
    assert prepared.splits.shape[1] == len(prepared.inside.exists) - int(lattice.base[-1])
    for path, node in case.paths():
        at = node - int(lattice.base[-1])
        for d, budget in enumerate(prepared.plan.budgets):
            if len(path) == lattice.levels and prepared.inside.exists[node]:
                found, least = int(prepared.splits[d, at]), case.least_split(path, budget.form)
                # a form that only counts leaves is not searched: two leaves are the least
                exact = any(map(any, budget.form.weights))
                assert found == min(least, INFINITY) if exact else found <= least


@given(cases())
@settings(max_examples=25)
def test_a_path_is_live_iff_a_split_that_makes_it_is_affordable(case):
    """Say the recurrence once more, path by path."""
    prepared, outside = case.circuit.prepared, case.circuit.outside
    number = dict(case.paths())
    least = prepared.inside.least.astype(object)
    for path, node in number.items():
        if not path:
            fits = all(least[d, 0] <= b.limit for d, b in enumerate(prepared.plan.budgets))
            assert bool(outside.live[0]) is (fits and bool(prepared.inside.exists[0]))
            assert outside.budgets[0].tolist() == [b.limit for b in prepared.plan.budgets]
            continue
        left = []
        for f, _ in path:
            above = number[tuple(x for x in path if x[0] != f)]
            beside = number[tuple((g, n ^ (g == f)) for g, n in path)]
            if not (outside.live[above] and prepared.inside.exists[[node, beside]].all()):
                continue
            rest = outside.budgets[above] - least[:, beside]
            if (least[:, node] <= rest).all():
                left.append(rest.tolist())
        assert bool(outside.live[node]) is bool(left), path
        if left:
            assert outside.budgets[node].tolist() == np.max(left, axis=0).tolist()
    assert sum(outside.live_paths) == outside.live.sum()


@pytest.mark.parametrize("where", ["error <= {limit}", "size <= 3", "dp_signed <= -0.1"])
@given(data=st.data())
@settings(max_examples=20)
def test_with_one_budget_every_live_path_is_part_of_a_tree_within_it(where, data):
    """Fix the path: the cheapest tree that contains all its literals on one way must fit."""
    case = data.draw(cases(where))
    budgets = case.circuit.prepared.plan.budgets
    if len(budgets) != 1:
        return  # every tree meets it
    (budget,) = budgets
    for path, node in case.paths():
        cheapest = min(
            (
                sum(case.least(tuple(sorted(side)), budget.form) for side in siblings(order))
                + case.least(path, budget.form)
                for order in itertools.permutations(path)
            ),
            default=case.least((), budget.form),
        )
        assert bool(case.circuit.outside.live[node]) is (cheapest <= budget.limit), path


def siblings(order: Literals) -> Iterator[Literals]:
    """List the paths that leave a way, one at each step."""
    for i, (f, negative) in enumerate(order):
        yield (*order[:i], (f, not negative))


@pytest.mark.parametrize("where", [None, "acc >= 0", "error <= 100 and size >= 1"])
def test_without_a_limit_every_path_with_enough_rows_on_both_sides_is_live(where):
    data = adtc.Data.from_arrays(
        [[r >> b & 1 for b in range(4)] for r in range(16)], [r % 3 % 2 for r in range(16)]
    )
    question = ask(data, adtc.Space(max_depth=4), semiring=COUNT, where=where)
    circuit = fast.run(question, data).circuit
    assert circuit.prepared.plan.budgets == ()
    assert circuit.outside.live.all()
    assert circuit.outside.live_paths == (1, 8, 24)


@pytest.mark.parametrize("where", ["error <= -1", "size <= 0", "acc >= 0.9 and error >= 3"])
def test_an_impossible_budget_leaves_nothing(where):
    data = adtc.Data.from_arrays([[1, 0, 1], [0, 1, 1], [1, 1, 0]], [1, 0, 1])
    question = ask(data, adtc.Space(max_depth=3), semiring=COUNT, where=where)
    result = fast.run(question, data)
    assert result.total == 0
    assert len(result.keys) == 0


def test_a_combined_budget_holds_for_every_good_tree():
    """A sum of budgets prunes more than each of them and loses no tree."""
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, 80)
    y = z ^ (rng.random(80) < 0.2)  # whoever predicts y well predicts z
    X = np.array([y ^ (rng.random(80) < noise) for noise in (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)]).T
    data = adtc.Data.from_arrays(X.astype(int), y.astype(int), z=z)
    question = ask(
        data, adtc.Space(max_depth=3, minsup=3), semiring=COUNT, where="acc >= 0.8 and dp <= 0.3"
    )
    combined, apart = (
        fast.run(question, data, switches=Switches(combine=combine)) for combine in (True, False)
    )
    assert len(combined.plan.budgets) > len(apart.plan.budgets)
    assert combined.total == apart.total > 0
    assert combined.circuit.cell_scan < apart.circuit.cell_scan


@pytest.mark.parametrize(
    ("objective", "shared"), [("error", True), ("error + 2 * size", True), ("N01 + 3 * N10", False)]
)
def test_majority_labels_are_free_labels_where_they_are_cheapest(objective, shared):
    """Elsewhere a leaf may have to cost more than it could."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (60, 6))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(60) < 0.3))
    for depth in (2, 3, 4, 5):
        space = adtc.Space(max_depth=depth, minsup=2, labels="majority")
        best = [
            adtc.optimize(data, space, minimize=objective, engine=engine).value
            for engine in ("spec", "fast")
        ]
        assert best[0] == best[1]
    question = ask(data, space, semiring=COUNT, where=f"{objective} <= 5")
    form = make_plan(question).budgets[0].form
    assert path_costs((form,), np.array([0, 1]), question).majority is not shared


@pytest.mark.parametrize("seed", range(10))
def test_features_that_share_a_call_do_not_see_each_others_pairs(seed):
    """Nested features: below some of them fewer others split than below the one before."""
    rng = np.random.default_rng(seed)
    heights = rng.random(80)[:, None] + 0.25 * rng.random((80, 10))
    data = adtc.Data.from_arrays(heights < np.sort(rng.random(10)), rng.integers(0, 2, 80))
    space = adtc.Space(max_depth=3, minsup=6)
    together, apart = (
        adtc.optimize(data, space, switches=Switches(inclusion=inclusion)).value
        for inclusion in (True, False)
    )
    assert together == apart
