"""The trees that a cell of the circuit lists: as many as it counts, all different, all its own."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Leaf, Split, Tree, depth, size
from adtc.engine import fast
from adtc.engine.query import ask
from adtc.engine.scoring import score
from adtc.engine.switches import Switches
from adtc.engine.trace import trees_of_cell
from adtc.engine.wide import counts_of
from strategies import problems

METRICS = ["size", "error", "N11", "dp"]
FORMULAS = ["error <= 3 and size <= 4", None, "dp <= 0.5"]
SWITCHES = [
    Switches(),
    Switches(push=False, dense=False),
    Switches(combine=False, merge_rows=True),
    Switches(merge_features=False, pext=False),
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
def tiny(draw):
    """Draw a table with twins and a space of few trees on it."""
    table, space = draw(problems(max_rows=8, max_features=3, labels=(2,), groups=(2,)))
    a_twin = st.tuples(st.integers(0, 2), st.integers(0, 1))
    table = with_twins(table, draw(st.lists(a_twin, max_size=2)))
    space = replace(space, max_depth=min(space.max_depth, 3 if table.n_features < 4 else 2))
    return table, space


def answered(table: oracle.Table, space: oracle.Space, where, switches) -> tuple:
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    asked = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )
    question = ask(data, asked, semiring=COUNT, metrics=METRICS, where=where)
    return data, fast.run(question, data, switches=switches)


@pytest.mark.parametrize("switches", SWITCHES, ids=["all", "no push", "merged rows", "portable"])
@given(drawn=tiny(), where=st.sampled_from(FORMULAS))
@settings(max_examples=8)
def test_the_cells_list_exactly_the_good_trees(drawn, where, switches):
    table, space = drawn
    data, result = answered(table, space, where, switches)
    listed: list[oracle.Tree] = []
    counts = counts_of(result.values)
    for key, count in zip(result.keys.tolist(), counts, strict=True):
        trees = list(trees_of_cell(result.circuit, key))
        assert len(trees) == count
        listed += [plain(tree) for tree in trees]
        # all trees of a cell have one and the same value of every metric
        found = {tuple(score(tree, data, METRICS).values()) for tree in trees[:5]}
        assert len(found) == 1
        assert found <= set(result.tensor())
    constraint = None if where is None else oracle.constraint(where)
    expected = [tree for tree, _ in oracle.good_trees(table, space, constraint)]
    assert Counter(listed) == Counter(expected)
    assert set(Counter(listed).values()) <= {1}
    note(f"{len(listed)} trees")


def test_twins_and_complements_are_all_listed():
    # features 0 and 2 are equal, 1 is their complement
    data = adtc.Data.from_arrays([[1, 0, 1], [0, 1, 0], [0, 1, 0]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=1), semiring=COUNT, where="error = 0")
    result = fast.run(question, data)
    (key,) = result.keys.tolist()
    assert set(trees_of_cell(result.circuit, key)) == {
        Split(0, Leaf(1), Leaf(0)),
        Split(2, Leaf(1), Leaf(0)),
        Split(1, Leaf(0), Leaf(1)),
    }


def test_the_first_trees_come_without_listing_the_others():
    """A cell may hold more trees than anybody can list."""
    rng = np.random.default_rng(2)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (150, 14)), rng.integers(0, 2, 150))
    question = ask(data, adtc.Space(max_depth=4), semiring=COUNT)
    result = fast.run(question, data)
    assert result.total > 10**15
    (key,) = result.keys.tolist()
    some = [tree for tree, _ in zip(trees_of_cell(result.circuit, key), range(500), strict=False)]
    assert len(set(some)) == 500
    assert all(depth(tree) <= 4 and size(tree) <= 16 for tree in some)


@pytest.mark.parametrize("max_depth", [3, 4, 5])
def test_a_tree_of_a_deep_circuit_has_the_cells_metrics(max_depth):
    rng = np.random.default_rng(max_depth)
    X = rng.integers(0, 2, (90, 7))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (X[:, 1] & X[:, 2]), z=X[:, 6])
    space = adtc.Space(max_depth=max_depth, minsup=4, max_size=5)
    where = "acc >= 0.8 and dp <= 0.4"
    question = ask(data, space, semiring=COUNT, metrics=["error", "dp", "size"], where=where)
    result = fast.run(question, data)
    assert len(result.keys) > 5
    for at in range(0, len(result.keys), 3):
        scores = score(result.tree(at), data, ["error", "dp", "size", "support", "depth"])
        assert scores["support"] >= 4
        assert scores["depth"] <= max_depth
        one = fast.Result(
            result.plan, result.circuit, result.keys[at : at + 1], result.values[at : at + 1]
        )
        assert set(one.tensor()) == {(scores["error"], scores["dp"], scores["size"])}


def test_no_tree_has_a_key_that_is_no_cell():
    data = adtc.Data.from_arrays([[1, 0], [0, 1], [1, 1]], [1, 0, 0])
    question = ask(data, adtc.Space(max_depth=3), semiring=COUNT, metrics=["error"])
    result = fast.run(question, data)
    assert list(trees_of_cell(result.circuit, int(result.keys.max()) + 1)) == []
