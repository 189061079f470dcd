"""One tree measured on a table: against the oracle, by hand, and on an answer's own tree."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.trees import Leaf, Split, Tree
from adtc.engine.score import score
from adtc.errors import UnknownMetricError
from strategies import problems


def data_of(table: oracle.Table) -> adtc.Data:
    return adtc.Data.from_arrays(
        table.rows,
        table.y,
        z=table.z,
        weights=table.weights,
        references=dict(table.references) or None,
        positive=table.positive,
    )


def tree_of(tree: oracle.Tree) -> Tree:
    if oracle.is_leaf(tree):
        return Leaf(tree)
    feature, t1, t0 = tree
    return Split(feature, tree_of(t1), tree_of(t0))


@given(st.data())
def test_every_metric_of_a_tree_is_the_oracles(draw: st.DataObject) -> None:
    table, space = draw.draw(problems(groups=(0, 2, 3)))
    listed = oracle.good_trees(table, space)
    if not listed:
        return
    tree, expected = draw.draw(st.sampled_from(listed))
    names = oracle.metric_names(table)
    assert score(tree_of(tree), data_of(table), names) == {name: expected[name] for name in names}


def small() -> adtc.Data:
    # rows:       f0, f1 -> y, weight: a leaf on f0 = 1 holds weights 2 + 1
    return adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1]], [1, 0, 0], weights=[2, 1, 4])


def test_by_hand() -> None:
    tree = Split(0, Leaf(1), Leaf(0))
    scores = score(tree, small(), ["size", "depth", "support", "error", "N11", "acc", "f1"])
    assert scores == {
        "size": 2,
        "depth": 1,
        "support": 3,
        "error": 1,
        "N11": 2,
        "acc": Fraction(6, 7),
        "f1": Fraction(4, 5),
    }


def test_an_empty_leaf_has_support_zero_and_counts_for_size() -> None:
    nothing_there = Split(0, Split(0, Leaf(1), Leaf(1)), Leaf(0))
    assert score(nothing_there, small(), ["size", "support"]) == {"size": 3, "support": 0}


def test_an_undefined_ratio_is_none() -> None:
    assert score(Leaf(0), small(), ["precision"]) == {"precision": None}


def test_own_metrics_and_terms() -> None:
    scores = score(
        Leaf(0), small(), ["loss", "error + 10 * size"], define={"loss": "2 * error + size"}
    )
    assert scores == {"loss": 5, "error + 10 * size": 12}


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(UnknownMetricError, match=r"unknown metric 'eror'\. Did you mean"):
        score(Leaf(0), small(), ["eror"])


@pytest.mark.parametrize(("minimize", "maximize"), [("error", None), (None, "acc - size / 100")])
def test_the_best_tree_is_worth_what_the_engine_says(
    minimize: str | None, maximize: str | None
) -> None:
    data = small()
    best = adtc.optimize(data, adtc.Space(max_depth=2), minimize=minimize, maximize=maximize)
    assert best.tree is not None
    assert score(best.tree, data, [minimize or maximize or ""]) == best.metrics
