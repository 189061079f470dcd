"""Every good tree has a number within its cell, and every number a tree."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Leaf, Split, Tree, depth, size
from adtc.engine import fast
from adtc.engine.exact.limbs import counts_of
from adtc.engine.query import ask
from adtc.engine.ranks import Ranks
from adtc.engine.score import score
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from strategies import problems

METRICS = ["size", "error", "N11", "dp"]
FORMULAS = ["error <= 3 and size <= 4", None, "dp <= 0.5"]
SWITCHES = [
    Switches(),
    Switches(push=False, dense=False),
    Switches(combine=False, merge_rows=True),
    Switches(merge_features=False),
]


def plain(tree: Tree) -> oracle.Tree:
    if isinstance(tree, Leaf):
        return tree.label
    return (tree.feature, plain(tree.t1), plain(tree.t0))


def with_twins(table: oracle.Table, twins: list[tuple[int, int]]) -> oracle.Table:
    """Add copies (flip 0) and complements (flip 1) of features."""
    added = [(f % table.n_features, flip) for f, flip in twins]
    rows = tuple((*row, *(row[f] ^ flip for f, flip in added)) for row in table.rows)
    return replace(table, rows=rows)


@st.composite
def tiny(draw, **options):
    """Draw a table with twins and a space of few trees on it."""
    table, space = draw(problems(max_rows=8, max_features=3, **options))
    a_twin = st.tuples(st.integers(0, 2), st.integers(0, 1))
    table = with_twins(table, draw(st.lists(a_twin, max_size=2)))
    space = replace(space, max_depth=min(space.max_depth, 3 if table.n_features < 4 else 2))
    return table, space


def answered(table: oracle.Table, space: oracle.Space, metrics, where, switches) -> tuple:
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    asked = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
        min_leaf_share=space.min_leaf_share,
    )
    question = ask(data, asked, semiring=COUNT, metrics=metrics, where=where)
    return data, fast.run(question, data, switches=switches)


def listed_and_checked(result: fast.Result) -> dict[int, list[Tree]]:
    """List the trees of all good cells; their numbers lead to them and back."""
    numbered = Ranks(result.circuit)
    cells = {}
    for key, count in zip(result.keys.tolist(), counts_of(result.values), strict=True):
        trees = list(numbered.trees(key))
        assert len(trees) == count == numbered.count(key)
        assert [numbered.unrank(key, rank) for rank in range(count)] == trees
        assert [numbered.rank(tree) for tree in trees] == [(key, rank) for rank in range(count)]
        for start in (1, count // 2, count - 1, count):
            assert list(numbered.trees(key, start)) == trees[start:]
        cells[key] = trees
    return cells


def check(table, space, metrics, where, switches):
    data, result = answered(table, space, metrics, where, switches)
    cells = listed_and_checked(result)
    for trees in cells.values():
        # all trees of a cell have one and the same value of every metric
        found = {tuple(score(tree, data, metrics).values()) for tree in trees[:5]}
        assert len(found) == 1
        assert found <= set(result.tensor())
    listed = Counter(plain(tree) for trees in cells.values() for tree in trees)
    constraint = None if where is None else oracle.constraint(where)
    expected = [tree for tree, _ in oracle.good_trees(table, space, constraint)]
    assert listed == Counter(expected)
    assert set(listed.values()) <= {1}


@pytest.mark.parametrize("switches", SWITCHES, ids=["all", "no push", "merged rows", "portable"])
@given(drawn=tiny(labels=(2,), groups=(2,)), where=st.sampled_from(FORMULAS))
@settings(max_examples=8)
def test_the_cells_list_exactly_the_good_trees(drawn, where, switches):
    check(*drawn, METRICS, where, switches)


@given(drawn=tiny(labels=(3,)), where=st.sampled_from([None, "error <= 3"]))
@settings(max_examples=15)
def test_trees_of_several_classes_are_listed(drawn, where):
    check(*drawn, ["error"], where, Switches())


@given(drawn=tiny())
@settings(max_examples=15)
def test_one_cell_that_holds_all_trees_is_listed(drawn):
    table, space = drawn
    _, result = answered(table, replace(space, max_size=None), [], None, Switches())
    assert len(listed_and_checked(result)) <= 1


@pytest.mark.parametrize(
    ("table", "space", "metrics", "switches"),
    [
        (
            oracle.Table(
                rows=((0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 1, 1), (0, 0, 1)),
                y=(0, 1, 0, 0, 0),
                z=(0, 1, 0, 0, 0),
            ),
            oracle.Space(max_depth=2, minsup=1, max_size=2),
            METRICS,
            Switches(combine=False, merge_rows=True),
        ),
        (
            oracle.Table(
                rows=((0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)),
                y=(1, 0, 0, 0, 0, 0),
                z=(0, 1, 0, 1, 1, 1),
            ),
            oracle.Space(max_depth=3, minsup=1, max_size=4),
            ["N11", "size"],
            Switches(),
        ),
    ],
    ids=["one side too large", "both sides together"],
)
def test_trees_beyond_a_budget_are_in_no_cell(table, space, metrics, switches):
    """Digits of a packed key run over for trees that are too large: equal keys are not enough."""
    check(table, space, metrics, "error <= 3 and size <= 4", switches)


def test_twins_and_complements_are_all_listed():
    # features 0 and 2 are equal, 1 is their complement
    data = adtc.Data.from_arrays([[1, 0, 1], [0, 1, 0], [0, 1, 0]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=1), semiring=COUNT, where="error = 0")
    result = fast.run(question, data)
    (trees,) = listed_and_checked(result).values()
    assert trees == [
        Split(0, Leaf(1), Leaf(0)),
        Split(1, Leaf(0), Leaf(1)),
        Split(2, Leaf(1), Leaf(0)),
    ]


def test_the_order_within_a_cell():
    """Leaves by label, then features, then the child on the smaller side."""
    data = adtc.Data.from_arrays([[1, 0], [0, 1], [0, 0]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=1), semiring=COUNT)
    result = fast.run(question, data)
    (trees,) = listed_and_checked(result).values()
    stumps = [Split(f, Leaf(a), Leaf(b)) for f in (0, 1) for a in (0, 1) for b in (0, 1)]
    assert trees == [Leaf(0), Leaf(1), *stumps]


def large(max_depth: int, **options) -> fast.Result:
    rng = np.random.default_rng(2)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (150, 14)), rng.integers(0, 2, 150))
    space = adtc.Space(max_depth=max_depth, **options)
    return fast.run(ask(data, space, semiring=COUNT), data)


def test_the_first_trees_come_without_listing_the_others():
    """A cell may hold more trees than anybody can list."""
    result = large(4)
    assert result.total > 10**15
    (key,) = result.keys.tolist()
    some = list(itertools.islice(Ranks(result.circuit).trees(key), 500))
    assert len(set(some)) == 500
    assert all(depth(tree) <= 4 and size(tree) <= 16 for tree in some)


@pytest.mark.parametrize("options", [{}, {"trivial_splits": False}, {"labels": "majority"}])
def test_numbers_beyond_64_bits_lead_to_trees_and_back(options):
    result = large(5, **options)
    count = result.total
    assert count > 2**70
    (key,) = result.keys.tolist()
    numbered = Ranks(result.circuit)
    ranks = [0, 1, count // 3, 2**64, count - 1]
    trees = [numbered.unrank(key, rank) for rank in ranks]
    assert len(set(trees)) == len(ranks)
    assert [numbered.rank(tree) for tree in trees] == [(key, rank) for rank in ranks]
    assert list(numbered.trees(key, count - 1)) == trees[-1:]
    assert next(numbered.trees(key, count // 3)) == trees[2]
    with pytest.raises(QueryError, match=f"ranks 0 to {count - 1:,}"):
        numbered.unrank(key, count)


def test_a_walk_that_may_hold_nothing_finds_the_same_trees():
    result = large(4)
    (key,) = result.keys.tolist()
    ranks = [result.total // k for k in range(2, 12)]
    poor, rich = Ranks(result.circuit, most_bytes=0), Ranks(result.circuit)
    assert [poor.unrank(key, r) for r in ranks] == [rich.unrank(key, r) for r in ranks]


@pytest.mark.parametrize("max_depth", [3, 4, 5])
def test_a_tree_of_a_deep_circuit_has_the_cells_metrics(max_depth):
    rng = np.random.default_rng(max_depth)
    X = rng.integers(0, 2, (90, 7))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (X[:, 1] & X[:, 2]), z=X[:, 6])
    space = adtc.Space(max_depth=max_depth, minsup=4, max_size=5)
    where = "acc >= 0.8 and dp <= 0.4"
    question = ask(data, space, semiring=COUNT, metrics=["error", "dp", "size"], where=where)
    result = fast.run(question, data)
    numbered = Ranks(result.circuit)
    counts = counts_of(result.values)
    assert len(counts) > 5
    for at in range(0, len(counts), 3):
        key, last = int(result.keys[at]), counts[at] - 1
        tree = numbered.unrank(key, last)
        assert numbered.rank(tree) == (key, last)
        scores = score(tree, data, ["error", "dp", "size", "support", "depth"])
        assert scores["support"] >= 4
        assert scores["depth"] <= max_depth
        one = fast.Result(
            result.plan, result.circuit, result.keys[at : at + 1], result.values[at : at + 1]
        )
        assert set(one.tensor()) == {(scores["error"], scores["dp"], scores["size"])}
        assert numbered.rank(result.tree(at)) == (key, 0)


def test_no_tree_has_a_key_that_is_no_cell():
    data = adtc.Data.from_arrays([[1, 0], [0, 1], [1, 1]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=3), semiring=COUNT, metrics=["error"])
    result = fast.run(question, data)
    numbered = Ranks(result.circuit)
    absent = int(result.keys.max()) + 1
    assert numbered.count(absent) == 0
    assert list(numbered.trees(absent)) == []
    with pytest.raises(QueryError, match="no tree"):
        numbered.unrank(absent, 0)
    with pytest.raises(QueryError, match="at least 0"):
        numbered.trees(absent, -1)


def test_a_circuit_without_trees_counts_none():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=1), semiring=COUNT, where="error <= -1")
    numbered = Ranks(fast.run(question, data).circuit)
    assert numbered.keys == []
    assert numbered.count(0) == 0
    with pytest.raises(QueryError, match="not among the good trees"):
        numbered.rank(Leaf(0))


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (Split(0, Split(1, Split(2, Leaf(0), Leaf(1)), Leaf(0)), Leaf(0)), "depth is 3, at most 2"),
        (Split(0, Split(0, Leaf(0), Leaf(1)), Leaf(0)), "tests feature 0 twice"),
        (Split(0, Split(3, Leaf(1), Leaf(0)), Leaf(0)), "a leaf holds 0 rows, at least 2"),
        (Split(4, Leaf(0), Leaf(1)), "feature 4 is not in the table, or less than 2 rows"),
        (Split(9, Leaf(0), Leaf(1)), "feature 9 is not in the table"),
        (Leaf(2), "label 2, labels are 0 to 1"),
        (Leaf(1), "majority of its rows has 0"),
        (Split(0, Leaf(1), Leaf(1)), "trivial split: both sides of feature 0"),
        (Split(1, Leaf(0), Split(0, Leaf(1), Leaf(0))), "does not keep to"),
    ],
)
def test_why_a_tree_has_no_number(tree, why):
    X = np.array([[1, 1, 0, 0, 1]] * 3 + [[1, 0, 1, 0, 0]] * 2 + [[0, 1, 0, 1, 0]] * 3
                 + [[0, 0, 1, 1, 0]] * 4 + [[0, 0, 0, 1, 0]] * 2)  # fmt: skip
    X[1, 4] = X[2, 4] = 0
    y = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    space = adtc.Space(max_depth=2, minsup=2, labels="majority", trivial_splits=False)
    data = adtc.Data.from_arrays(X, y)
    question = ask(data, space, semiring=COUNT, metrics=["error"], where="size <= 2")
    numbered = Ranks(fast.run(question, data).circuit)
    with pytest.raises(QueryError, match=why):
        numbered.rank(tree)


def test_what_is_no_tree_has_no_number():
    with pytest.raises(QueryError, match="Leaf and Split"):
        Ranks(large(2).circuit).rank("f0")
