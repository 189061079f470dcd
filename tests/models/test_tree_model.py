"""A tree with its table predicts, explains, measures and is saved as the tree itself says."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models_samples import COLUMNS, table, trees_on

from adtc.algebra import trees
from adtc.algebra.trees import Leaf, Split
from adtc.data import Data
from adtc.errors import DataError, QueryError, UnknownColumnError, UnknownMetricError
from adtc.models import TreeModel

DATA = table()
FRAMES = [dict, pd.DataFrame, pl.DataFrame, pa.table]


def feature(name: str, data: Data = DATA) -> int:
    return data.feature_names.index(name)


def example() -> TreeModel:
    """Make a tree on a number, a category and a 0/1 column, in that order."""
    right = Split(feature("job = a"), Leaf(1), Split(feature("owner"), Leaf(2), Leaf(0)))
    return TreeModel(Split(feature("pay <= 2.5"), Leaf(0), right), DATA)


@given(tree=trees_on(DATA), make=st.sampled_from(FRAMES))
def test_a_model_predicts_as_its_tree_on_binarised_rows(tree, make):
    model = TreeModel(tree, DATA)
    codes = trees.predict(tree, DATA.dense())
    expected = [DATA.labels[code] for code in codes]
    assert model.predict(make(COLUMNS)).tolist() == expected
    assert model.predict(DATA).tolist() == expected
    assert model.apply(make(COLUMNS)).tolist() == trees.leaf_of(tree, DATA.dense()).tolist()


@given(tree=trees_on(DATA))
def test_probabilities_are_the_class_shares_of_the_leaf(tree):
    model = TreeModel(tree, DATA)
    shares = model.predict_proba(COLUMNS)
    leaves = trees.leaf_of(tree, DATA.dense())
    assert shares.sum(axis=1) == pytest.approx(1)
    for row in range(DATA.n_rows):
        same = leaves == leaves[row]
        total = DATA.weights[same].sum()
        if total:
            here = [DATA.weights[same & (DATA.y == k)].sum() / total for k in range(3)]
            assert shares[row] == pytest.approx(here)


def test_an_empty_leaf_gives_its_label_all():
    data = Data.from_arrays([[1, 1], [0, 0]], [1, 0])
    model = TreeModel(Split(0, Split(1, Leaf(1), Leaf(0)), Leaf(0)), data)
    assert model.predict_proba({"f0": [1], "f1": [0]}).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"], [1.5, 2.5]])
def test_labels_keep_their_type(labels):
    data = Data.from_frame({"x": [1, 2, 3], "y": [labels[0], labels[1], labels[1]]}, target="y")
    predicted = TreeModel(Leaf(1), data).predict({"x": [1]})
    assert predicted.tolist() == [labels[1]]
    assert type(predicted.tolist()[0]) is type(labels[1])


def test_nodes_add_up():
    model = example()
    assert model.nodes[0].support == DATA.total == 15
    for node in model.nodes:
        if node.leaf is None:
            below = [n.counts for n in model.nodes if n.parent == node.number]
            assert node.counts == tuple(map(sum, zip(*below, strict=True)))
    assert [leaf.leaf for leaf in model.leaves] == list(range(model.size))


def test_size_depth_features_and_columns():
    model = example()
    assert (model.size, model.depth) == (4, 3)
    assert model.features == ("pay <= 2.5", "job = a", "owner")
    assert model.columns == ("pay", "job", "owner")


def test_only_the_columns_tested_are_needed():
    model = example()
    assert model.predict({"pay": [1.0, 9.0], "job": ["b", "a"], "owner": [0, 1]}).tolist() == [
        "maybe",
        "no",
    ]
    with pytest.raises(UnknownColumnError, match=r"tests the column 'job', .* are: pay, owner\."):
        model.predict({"pay": [1.0], "owner": [0]})


def test_a_new_category_matches_no_equals_feature():
    model = example()
    new, other = ({"pay": [9.0], "job": [job], "owner": [1]} for job in ("zzz", "b"))
    assert model.apply(new).tolist() == model.apply(other).tolist() == [2]


def test_a_new_category_counts_as_other_where_that_feature_exists():
    data = table(max_categories=3)
    model = TreeModel(Split(feature("job = (other)", data), Leaf(1), Leaf(0)), data)
    assert model.predict({"job": ["zzz", "a", None]}).tolist() == ["no", "maybe", "maybe"]


def test_a_missing_value_fails_every_test_but_its_own():
    tested = [feature("age <= 31"), feature("age is missing")]
    model = TreeModel(Split(tested[0], Leaf(0), Split(tested[1], Leaf(1), Leaf(2))), DATA)
    assert model.predict({"age": [20, None, 99]}).tolist() == ["maybe", "no", "yes"]


def test_data_of_other_features_is_refused():
    with pytest.raises(QueryError, match="has other features than the tree's table 'people'"):
        example().predict(table(cuts=None))
    with pytest.raises(QueryError, match="other features"):
        example().metrics("acc", data=table(cuts=None))


def test_new_tables_made_alike_are_read():
    model = example()
    new = DATA.apply({name: values[:3] for name, values in COLUMNS.items()})
    assert model.predict(new).tolist() == model.predict(COLUMNS).tolist()[:3]
    assert model.metrics("error", data=new)["error"] <= new.total


@pytest.mark.parametrize("tree", [Split(99, Leaf(0), Leaf(1)), Leaf(7)])
def test_a_tree_for_another_table_is_refused(tree):
    with pytest.raises(QueryError, match="give the names of the table it was made for"):
        TreeModel(tree, DATA)


def test_metrics_are_exact():
    scores = example().metrics("size", "error", "acc")
    right = sum(leaf.counts[leaf.label] for leaf in example().leaves)
    assert scores == {"size": 4, "error": 15 - right, "acc": Fraction(right, 15)}
    with pytest.raises(UnknownMetricError, match="eror"):
        example().metrics("eror")


def test_a_row_is_followed():
    walk = example().path({"pay": 5.0, "job": "b", "owner": 1, "unused": "x"})
    assert [(step.feature, step.value, step.outcome) for step in walk.steps] == [
        ("pay <= 2.5", 5.0, False),
        ("job = a", "b", False),
        ("owner", 1, True),
    ]
    assert walk.label == "yes"
    assert walk.rule.leaf == 2
    assert walk.nodes == (0, 2, 4, 5)
    assert str(walk).splitlines()[0] == "pay <= 2.5? no (pay: 5.0)"
    assert "owner? yes (owner: 1)" in str(walk)


@given(tree=trees_on(DATA))
@settings(max_examples=30)
def test_the_way_of_a_row_ends_at_its_leaf(tree):
    model = TreeModel(tree, DATA)
    leaves = model.apply(COLUMNS)
    for row in range(DATA.n_rows):
        walk = model.path({name: values[row] for name, values in COLUMNS.items()})
        assert walk.rule.leaf == leaves[row]
        literals = [(step.feature, step.outcome) for step in walk.steps]
        assert literals == list(walk.rule.literals)


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)])
def test_a_row_of_a_frame_is_followed(frame):
    row = frame.iloc[4] if isinstance(frame, pd.DataFrame) else frame[4]
    assert example().path(row).rule.leaf == example().apply(COLUMNS)[4]


def test_more_than_one_row_is_not_followed():
    with pytest.raises(DataError, match="one row was expected, but the table has 2"):
        example().path({"pay": [1.0, 2.0], "job": ["a", "b"], "owner": [1, 0]})


@given(tree=trees_on(DATA))
def test_json_gives_the_same_model(tree):
    model = TreeModel(tree, DATA)
    again = TreeModel.from_json(json.dumps(model.to_json()))
    assert again == model
    assert again.predict_proba(COLUMNS).tolist() == model.predict_proba(COLUMNS).tolist()
    assert [r.text for r in again.rules()] == [r.text for r in model.rules()]


def test_a_saved_tree_measures_only_with_its_table():
    saved = example().to_json()
    with pytest.raises(QueryError, match="without its table: pass the table as data="):
        TreeModel.from_json(saved).metrics("acc")
    assert TreeModel.from_json(saved).metrics("acc", data=DATA) == example().metrics("acc")
    assert TreeModel.from_json(saved, DATA).metrics("acc") == example().metrics("acc")


def broken(**changes):
    return {**example().to_json(), **changes}


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ("{", "is no JSON"),
        ([1], "is no saved tree"),
        ({"format": "other"}, "is no saved tree"),
        (broken(version=99), "version 99 .* reads version 1"),
        (broken(tree={"label": "perhaps"}), "unknown label 'perhaps'"),
        (broken(tree=None), "tree is no tree"),
        (broken(counts=[]), "counts of its nodes do not belong"),
        (broken(counts=[[1, 0, 0]] * 7), "counts of its nodes do not belong"),
        (broken(counts=5), "missing or broken"),
        (broken(binarizer={}), "missing or broken"),
    ],
)
def test_a_damaged_tree_is_refused(saved, message):
    with pytest.raises(DataError, match=message):
        TreeModel.from_json(saved)


def test_text_and_dot_hold_names_and_supports():
    model = example()
    first, *rest = model.to_text().splitlines()
    assert first == "pay <= 2.5   (15 rows)"
    assert rest[0] == "├─ yes: maybe   (7 rows, 0 %)"
    assert [line.count("rows") or line.count("row") for line in rest] == [1] * 6
    dot = model.to_dot()
    assert '0 [label="pay <= 2.5\\n15 rows", shape=box];' in dot
    assert '0 -> 2 [label="no"];' in dot
    assert str(model) == model.to_text()


def test_quotes_in_names_are_escaped_in_dot():
    data = Data.from_arrays([[1], [0]], [1, 0], feature_names=['say "hi" \\ bye'])
    dot = TreeModel(Split(0, Leaf(1), Leaf(0)), data).to_dot()
    assert 'label="say \\"hi\\" \\\\ bye\\n2 rows"' in dot


def test_weights_count_as_rows():
    data = Data.from_arrays([[1], [1], [0]], [1, 0, 0], weights=[2**40, 1, 3])
    model = TreeModel(Split(0, Leaf(1), Leaf(0)), data)
    assert model.leaves[0].counts == (1, 2**40)
    assert model.rules()[0].text == "if f0 then 1   (1,099,511,627,777 rows, >99 %)"
    assert np.allclose(model.predict_proba({"f0": [0]}), [[1, 0]])
