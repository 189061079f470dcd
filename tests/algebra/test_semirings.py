"""Semirings: hand values, agreement with listing all trees of a tiny space, and exact chance."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import product as pairs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc.algebra.minimal import join_sets, minimal_sets, pareto_front
from adtc.algebra.moments import Moments
from adtc.algebra.semirings import (
    BOOLEAN,
    COUNT,
    FEATURE_SETS,
    LOG_SUM_EXP,
    MAX_PLUS,
    MIN_PLUS,
    REAL,
    VITERBI,
    Semiring,
    counting_draw,
    expectation,
    get_semiring,
    k_best,
    k_best_trees,
    min_plus_witness,
    pareto,
    product,
    witness,
)
from adtc.algebra.trees import Leaf, Split, Tree, features
from adtc.algebra.uniform import uniform_below
from adtc.algebra.witnesses import Costed, Drawn, Found
from adtc.errors import QueryError, UnknownSemiringError

# A tiny space without a table: three features, two labels, depth at most 2; a leaf's metrics depend
# on its label and its path alone. 2 + 3 (2 + 2·2²)² = 302 trees.
PATH = tuple[tuple[int, bool], ...]
DEPTH, FEATURES = 2, frozenset(range(3))


def metrics(label: int, path: PATH) -> tuple[int, int]:
    """Give a leaf two values that differ from path to path, so that no answer is trivial."""
    x = 20 + 4 * label + sum((feature + 1) * (3 if value else 5) for feature, value in path)
    return x * x % 13, 7 * x % 11


def all_trees(path: PATH = ()) -> Iterator[tuple[Tree, tuple[int, int]]]:
    """List every tree with its metric values."""
    for label in (0, 1):
        yield Leaf(label), metrics(label, path)
    if len(path) < DEPTH:
        for f in sorted(FEATURES - {g for g, _ in path}):
            children = all_trees((*path, (f, True))), all_trees((*path, (f, False)))
            for (t1, m1), (t0, m0) in pairs(*map(list, children)):
                yield Split(f, t1, t0), (m1[0] + m0[0], m1[1] + m0[1])


def evaluate(R: Semiring, leaf: Callable[[int, PATH], object], path: PATH = ()) -> object:
    """Compute the sum over all trees by the recurrence of Sec. 3.2."""
    total = R.add(leaf(0, path), leaf(1, path))
    if len(path) < DEPTH:
        for f in sorted(FEATURES - {g for g, _ in path}):
            t1 = evaluate(R, leaf, (*path, (f, True)))
            t0 = evaluate(R, leaf, (*path, (f, False)))
            total = R.add(total, R.node(f, t1, t0))
    return total


def by_metrics(R: Semiring, n: int) -> object:
    return evaluate(R, lambda label, path: R.embed(label, metrics(label, path)[:n]))


LISTED = list(all_trees())
COSTS = sorted(m[0] for _, m in LISTED)


def test_the_tiny_space_has_the_number_of_trees_of_the_formula():
    assert len(LISTED) == len(dict(LISTED)) == 302


def test_count_and_existence():
    assert by_metrics(COUNT, 0) == 302
    assert by_metrics(BOOLEAN, 0) is True
    assert by_metrics(witness(), 0).tree in dict(LISTED)


def test_least_and_largest():
    assert by_metrics(MIN_PLUS, 1) == COSTS[0]
    assert by_metrics(MAX_PLUS, 1) == COSTS[-1]
    assert isinstance(by_metrics(MIN_PLUS, 1), int)


def test_a_witness_has_the_cost_it_claims():
    best = by_metrics(min_plus_witness(), 1)
    assert best.cost == COSTS[0] == dict(LISTED)[best.tree][0]


@pytest.mark.parametrize("k", [1, 2, 7, 302, 400])
def test_k_best(k):
    assert list(by_metrics(k_best(k), 1)) == COSTS[:k]
    best = by_metrics(k_best_trees(k), 1)
    assert [value.cost for value in best] == COSTS[:k]
    assert [dict(LISTED)[value.tree][0] for value in best] == COSTS[:k]
    assert len({value.tree for value in best}) == len(best)


def test_pareto_front_of_all_trees():
    front = by_metrics(pareto(2), 2)
    values = {m for _, m in LISTED}
    assert len(front) == 5
    assert set(front) == {
        p for p in values if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in values)
    }


def test_expectation_equals_averages_over_the_list():
    total = by_metrics(expectation(2), 2)
    n = len(LISTED)
    mean = [Fraction(sum(m[i] for _, m in LISTED), n) for i in (0, 1)]
    spread = [
        [sum((m[i] - mean[i]) * (m[j] - mean[j]) for _, m in LISTED) / n for j in (0, 1)]
        for i in (0, 1)
    ]
    assert total.count == n
    assert [total.mean(i) for i in (0, 1)] == mean
    assert [[total.covariance(i, j) for j in (0, 1)] for i in (0, 1)] == spread
    assert total.variance(1) == spread[1][1] > 0


def test_weights_of_all_trees():
    weights = [2.0**-c for c in COSTS]
    leaf_weight = evaluate(REAL, lambda label, path: Fraction(1, 2 ** metrics(label, path)[0]))
    assert leaf_weight == sum(Fraction(1, 2**c) for c in COSTS)
    logs = evaluate(LOG_SUM_EXP, lambda label, path: -math.log(2) * metrics(label, path)[0])
    assert logs == pytest.approx(math.log(sum(weights)))
    likeliest = evaluate(VITERBI, lambda label, path: 2.0 ** -metrics(label, path)[0])
    assert likeliest == pytest.approx(max(weights))


def test_minimal_feature_sets():
    # Wanted are the trees whose leaves all have a second metric of at most 2.
    def leaf(label: int, path: PATH) -> object:
        return FEATURE_SETS.one if metrics(label, path)[1] <= 2 else FEATURE_SETS.zero

    def wanted(tree: Tree, path: PATH = ()) -> bool:
        if isinstance(tree, Leaf):
            return metrics(tree.label, path)[1] <= 2
        f = tree.feature
        return wanted(tree.t1, (*path, (f, True))) and wanted(tree.t0, (*path, (f, False)))

    listed = minimal_sets(features(tree) for tree, _ in LISTED if wanted(tree))
    assert evaluate(FEATURE_SETS, leaf) == listed == {frozenset({1}), frozenset({0, 2})}


def test_product_answers_each_part():
    both = product(COUNT, min_plus_witness(), pareto(2), metrics=((), (0,), (0, 1)))
    count, best, front = by_metrics(both, 2)
    assert (count, best.cost) == (302, COSTS[0])
    assert front == by_metrics(pareto(2), 2)
    assert both.name == "count × min-plus-witness × pareto(2)"


def test_product_embeds_only_if_every_part_does():
    own = Semiring("own", 0, 1, max, min)
    assert product(COUNT, own).embed is None
    assert product(COUNT, own).split is None
    with pytest.raises(QueryError, match="2 semirings needs 2 choices of metrics, but 1 came"):
        product(COUNT, own, metrics=((),))


def chi_square(observed: Counter, n: int) -> float:
    expected = observed.total() / n
    return sum((observed[i] - expected) ** 2 for i in range(n)) / expected


def test_every_tree_is_drawn_equally_often():
    # 1,510 draws over 302 trees: the 99.9 % point of chi-square with 301 degrees is 382.
    R = counting_draw(np.random.default_rng(1))
    numbers = {tree: i for i, (tree, _) in enumerate(LISTED)}
    draws = [by_metrics(R, 0) for _ in range(1510)]
    assert {value.count for value in draws} == {302}
    assert chi_square(Counter(numbers[value.tree] for value in draws), 302) < 382


def test_a_draw_between_huge_counts_keeps_their_ratio():
    R = counting_draw(np.random.default_rng(2))
    a, b = Drawn(2**90, Leaf(0)), Drawn(3 * 2**90, Leaf(1))
    right = sum(R.add(a, b).tree == Leaf(1) for _ in range(4000))
    assert R.add(a, b).count == 2**92
    assert abs(right - 3000) < 4 * math.sqrt(4000 * 3 / 16)


def test_nothing_is_never_drawn():
    R = counting_draw(np.random.default_rng(3))
    one = Drawn(1, Leaf(1))
    assert all(R.add(one, R.zero) == one == R.add(R.zero, one) for _ in range(20))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 10, 257])
def test_uniform_below_is_uniform(n):
    rng = np.random.default_rng(4)
    drawn = Counter(uniform_below(rng, n) for _ in range(100 * n))
    assert set(drawn) <= set(range(n))
    # Mean n - 1 and variance 2 (n - 1): five deviations of room, with a fixed seed.
    assert chi_square(drawn, n) <= n - 1 + 5 * math.sqrt(2 * (n - 1))


def test_uniform_below_huge_numbers():
    n = 3 * 2**100
    rng = np.random.default_rng(5)
    thirds = Counter(uniform_below(rng, n) // 2**100 for _ in range(3000))
    assert set(thirds) == {0, 1, 2}
    assert chi_square(thirds, 3) < 14


def test_uniform_below_nothing_is_refused():
    with pytest.raises(QueryError, match="cannot draw from 0 possibilities"):
        uniform_below(np.random.default_rng(0), 0)


def test_hand_values():
    assert MIN_PLUS.add(3, 2) == 2
    assert MIN_PLUS.mul(3, 2) == 5
    assert MIN_PLUS.mul(3, MIN_PLUS.zero) == math.inf
    assert MAX_PLUS.add(3, 2) == 3
    assert VITERBI.mul(0.5, 0.25) == 0.125
    assert COUNT.mul(2**40, 2**40) == 2**80
    two = pareto(2)
    assert two.mul(((0, 3), (2, 1)), ((1, 1), (0, 2))) == ((0, 5), (1, 4), (2, 3), (3, 2))
    sets = FEATURE_SETS.split(7, frozenset([frozenset([1])]), FEATURE_SETS.one)
    assert sets == frozenset([frozenset([1, 7])])


def test_log_sum_exp_far_outside_the_range_of_exp():
    assert LOG_SUM_EXP.add(-5000.0, -5000.0) == pytest.approx(-5000 + math.log(2))
    assert LOG_SUM_EXP.add(5000.0, 0.0) == 5000
    assert LOG_SUM_EXP.add(-math.inf, -math.inf) == -math.inf
    assert LOG_SUM_EXP.add(-math.inf, 1.5) == 1.5


def test_witness_ties_keep_the_first():
    R = min_plus_witness()
    first, second = Costed(4, Leaf(0)), Costed(4, Leaf(1))
    assert R.add(first, second) is first
    assert R.add(second, first) is second
    assert R.split(3, first, second) == Costed(8, Split(3, Leaf(0), Leaf(1)))
    assert R.mul(first, second) == Costed(8, None)
    assert R.split(3, first, R.zero) == R.zero


def test_witness_prefers_what_exists():
    R = witness()
    found = Found(True, Leaf(1))
    assert R.add(R.zero, found) == found == R.add(found, Found(True, Leaf(0)))
    assert R.split(2, found, R.zero) == R.zero
    assert R.split(2, found, found).tree == Split(2, Leaf(1), Leaf(1))


@given(st.integers(1, 6), *[st.lists(st.integers(-9, 9), max_size=6)] * 2)
def test_k_best_sums_are_the_smallest_of_all_sums(k, a, b):
    R = k_best(k)
    a, b = tuple(sorted(a)[:k]), tuple(sorted(b)[:k])
    assert R.mul(a, b) == tuple(sorted(x + y for x, y in pairs(a, b))[:k])
    assert R.add(a, b) == tuple(sorted(a + b)[:k])


@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.tuples(*[st.integers(0, 4)] * d))))
def test_pareto_front_is_what_nothing_dominates(points):
    def dominated(p: tuple[int, ...]) -> bool:
        return any(q != p and all(x <= y for x, y in zip(q, p, strict=True)) for q in points)

    assert pareto_front(points) == tuple(sorted({p for p in points if not dominated(p)}))


ANTICHAINS = st.lists(st.frozensets(st.integers(0, 5))).map(minimal_sets)


@given(ANTICHAINS, ANTICHAINS)
def test_joined_antichains_keep_the_minimal_sets(a, b):
    assert join_sets(a, b) == minimal_sets(a | b)


def test_minimal_sets_by_hand():
    sets = [frozenset(s) for s in ({1, 2}, {1}, {2, 3}, {3, 2, 1}, {2, 3})]
    assert minimal_sets(sets) == {frozenset({1}), frozenset({2, 3})}
    assert minimal_sets([*sets, frozenset()]) == {frozenset()}


def test_moments_by_hand():
    R = expectation(2)
    total = reduce(R.add, (R.embed(0, v) for v in [(1, 4), (2, 2), (3, 0)]))
    assert total == Moments(3, (6, 6), ((14, 8), (8, 20)))
    assert (total.mean(), total.mean(1)) == (2, 2)
    assert (total.variance(), total.variance(1)) == (Fraction(2, 3), Fraction(8, 3))
    assert total.covariance(0, 1) == Fraction(-4, 3)


def test_no_mean_of_no_trees():
    with pytest.raises(QueryError, match="no tree to average over"):
        expectation(1).zero.mean()


@pytest.mark.parametrize("R", [MIN_PLUS, REAL, min_plus_witness(), k_best(2), expectation(1)])
def test_embedding_the_wrong_number_of_metrics_is_refused(R):
    with pytest.raises(QueryError, match=r"aggregates 1 metric\(s\), but 2 came"):
        R.embed(0, (1, 2))


def test_semirings_by_name():
    assert get_semiring("count") is COUNT
    assert get_semiring("pareto", 3).one == ((0, 0, 0),)
    with pytest.raises(
        UnknownSemiringError, match=r"unknown semiring 'cuont'\. Did you mean 'count'"
    ):
        get_semiring("cuont")
    with pytest.raises(QueryError, match=r"'k-best' takes 1 parameter\(s\), but 0 came"):
        get_semiring("k-best")
    with pytest.raises(QueryError, match=r"'count' takes 0 parameter\(s\), but 1 came"):
        get_semiring("count", 2)


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_parameters_are_positive_integers(bad):
    for factory in (k_best, k_best_trees, pareto, expectation):
        with pytest.raises(QueryError, match="must be a positive integer"):
            factory(bad)


def test_a_semiring_is_an_immutable_value():
    with pytest.raises(AttributeError):
        COUNT.name = "other"
    assert {COUNT: 1}[COUNT] == 1


def test_a_semiring_can_name_its_type():
    assert Semiring[int]("own", 0, 9, max, min).mul(3, 4) == 3
