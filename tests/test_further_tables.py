"""Further tables sent down the same trees: every engine and switch agrees with a plain listing.

Tables differ in rows, weights, labels and groups that occur; features that are twins on the table
itself may differ on the others. Which trees exist is a matter of the table itself alone.
"""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra import semirings
from adtc.algebra.trees import Leaf, Split
from adtc.errors import QueryError
from strategies import metric_lists
from test_agreement import ENGINES, check_tree, data_of, plain, questions, space_of, total

TWO = ("test", "y2020")


def prefixed(table):
    """Name the metrics of further tables."""
    return [name for name in oracle.metric_names(table) if "." in name]


@given(questions(further=TWO), st.data())
@settings(max_examples=60)
def test_tensors_over_several_tables(asked, data):
    own = data.draw(metric_lists(asked.table, most=2))
    names = list(dict.fromkeys([data.draw(st.sampled_from(prefixed(asked.table))), *own]))
    expected = oracle.model_tensor(asked.table, asked.space, names, asked.holds)
    for engine in ENGINES:
        answer = adtc.model_tensor(*asked.given, names, where=asked.where, **engine)
        assert dict(answer) == expected, engine


@given(questions(further=("test",)))
@settings(max_examples=60)
def test_counts_under_formulas_over_both_tables(asked):
    for engine in ENGINES:
        assert adtc.count(*asked.given, where=asked.where, **engine) == len(asked.good()), engine


@given(questions(further=("test",)), st.data())
@settings(max_examples=60)
def test_best_trees_by_another_table(asked, data):
    objective = data.draw(st.sampled_from(prefixed(asked.table)))
    side, choose = data.draw(st.sampled_from([("minimize", min), ("maximize", max)]))
    expected = oracle.best(asked.table, asked.space, objective, choose, asked.holds)
    for engine in ENGINES:
        answer = adtc.optimize(*asked.given, **{side: objective}, where=asked.where, **engine)
        assert answer.value == expected, engine
        if expected is not None:
            check_tree(asked, plain(answer.tree), {objective: expected})


@given(questions(further=("test",)), st.integers(0, 4))
@settings(max_examples=30)
def test_trees_near_the_best_of_another_table(asked, slack):
    where = f"test.error <= least(test.error) + {slack} and error <= largest(error)"
    errors = [m["test.error"] for _, m in oracle.good_trees(asked.table, asked.space)]
    near = sum(error <= min(errors) + slack for error in errors)
    for engine in ENGINES:
        assert adtc.count(*asked.given, where=where, **engine) == near, engine


@given(questions(further=("test",)))
@settings(max_examples=20)
def test_sums_in_other_semirings(asked):
    values = [m["error"] + 2 * m["test.error"] for _, m in asked.good()]
    answer = total(asked, semirings.MIN_PLUS, "error + 2 * test.error")
    assert answer == min(values, default=float("inf"))
    both = total(asked, semirings.expectation(2), ("error", "test.error"))
    assert both.sums == tuple(
        sum(m[name] for _, m in asked.good()) for name in ("error", "test.error")
    )


SOFT = semirings.compiled(
    "soft",
    0.0,
    1.0,
    semirings.BINARY(lambda a, b: a + b),
    semirings.BINARY(lambda a, b: a * b),
    leaf=semirings.LEAF(lambda label, values, n: 0.5 ** values[0]),
)


@given(questions(further=("test",)))
@settings(max_examples=20)
def test_sums_in_a_semiring_of_c_functions(asked):
    whole = dataclasses.replace(asked.space, max_size=None)
    listed = oracle.good_trees(asked.table, whole)
    answer = adtc.evaluate(
        data_of(asked.table), space_of(whole), SOFT, aggregation="test.error + error"
    )
    assert np.isclose(answer, sum(0.5 ** (m["error"] + m["test.error"]) for _, m in listed))


@given(questions(further=("test",)), st.integers(0, 2**32))
@settings(max_examples=30)
def test_drawn_trees_and_their_ranks(asked, seed):
    data, space = asked.given
    profile = adtc.profile(data, space, ["size", "error", "test.error"], where=asked.where)
    good = dict(asked.good())
    assert profile.count == len(good)
    if not good or profile.source is None:
        return
    for drawn in profile.draw(3, seed=seed):
        metrics = good[plain(drawn.tree)]
        assert drawn.metrics == {name: metrics[name] for name in drawn.metrics}
        assert profile.rank(drawn.tree) == drawn.rank


@given(questions(further=("test",)))
@settings(max_examples=20)
def test_fronts_over_both_tables(asked):
    points = {(m["error"], m["test.error"]) for _, m in asked.good()}
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    found = adtc.pareto(*asked.given, minimize=["error", "test.error"], where=asked.where)
    assert set(found.points) == front


def test_twins_that_differ_on_another_table_are_two_features():
    rows, y = [[1, 1], [0, 0]], [1, 0]
    data = adtc.Data.from_arrays(rows, y)
    other = adtc.Data.from_arrays([[1, 0], [0, 1]], y)
    tree_of = adtc.model_tensor(
        data.with_table("test", other), adtc.Space(max_depth=1), ["error", "test.error"]
    )
    assert tree_of[0, 0] == tree_of[0, 2] == 1  # by either feature; on the table they are alike
    share = adtc.count(data.with_table("test", other), adtc.Space(max_depth=1), "error = 0")
    assert share == 2


def test_a_leaf_may_be_empty_on_another_table_but_not_on_its_own():
    data = adtc.Data.from_arrays([[1], [1], [1]], [1, 0, 1])
    other = adtc.Data.from_arrays([[1], [0]], [1, 0])
    space = adtc.Space(max_depth=1)
    assert adtc.count(data.with_table("test", other), space) == 2
    assert adtc.count(other.with_table("test", data), space, "test.acc >= 0") == 6


def test_undefined_where_another_table_has_no_rows_of_a_group():
    data = adtc.Data.from_arrays([[1], [0]], [1, 0], z=[0, 1])
    other = adtc.Data.from_arrays([[1], [0]], [1, 0], z=[0, 5])
    both = data.with_table("test", other)
    tensor = adtc.model_tensor(both, adtc.Space(max_depth=0), ["test.dp", "test.acc"])
    assert tensor == {(None, Fraction(1, 2)): 2}


@pytest.mark.parametrize("labels", ["any", "majority"])
@pytest.mark.parametrize("minsup", [1, 2])
def test_no_split_is_worth_its_rows_on_another_table_alone(labels, minsup):
    """Few rows and many test rows: splits that only the others' rows would gain from are many."""
    space = adtc.Space(max_depth=3, minsup=minsup, labels=labels)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, T = rng.integers(0, 2, (5, 4)), rng.integers(0, 2, (14, 4))
        data = adtc.Data.from_arrays(X, rng.integers(0, 2, 5), labels=(0, 1))
        data = data.with_table("test", adtc.Data.from_arrays(T, rng.integers(0, 2, 14)))
        for ask in ({"minimize": "test.error"}, {"minimize": "test.error + error"}):
            fast, spec = (adtc.optimize(data, space, **ask, engine=e) for e in ("fast", "spec"))
            assert fast.value == spec.value, (seed, ask)
        where = "test.error <= least(test.error) + 1"
        assert adtc.count(data, space, where) == adtc.count(data, space, where, engine="spec")


def test_the_rank_of_a_tree_that_the_table_has_no_rows_for_is_refused():
    data = adtc.Data.from_arrays([[1, 1], [0, 0], [1, 0]], [1, 0, 1])
    data = data.with_table("test", adtc.Data.from_arrays([[0, 1], [1, 1]], [1, 0]))
    profile = adtc.profile(data, adtc.Space(max_depth=2), ["error", "test.error"])
    empty = Split(0, Leaf(1), Split(1, Leaf(1), Leaf(0)))  # only a test row has 0 and then 1
    with pytest.raises(QueryError, match="a leaf holds 0 rows"):
        profile.rank(empty)


@given(questions(further=("test",)))
@settings(max_examples=10)
def test_votes_of_the_trees_are_those_of_the_table_itself(asked):
    data, space = asked.given
    profile = adtc.profile(data, space, ["error", "test.error"], where=asked.where)
    if profile.source is None:
        return
    votes = np.zeros((data.n_rows, len(data.labels)), int)
    for tree, _ in asked.good():
        for r, row in enumerate(asked.table.rows):
            votes[r, oracle.predict(tree, row)] += 1
    assert np.array(profile.vote_shares().counts).astype(int).tolist() == votes.tolist()
