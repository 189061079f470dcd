"""Trees: hand values, round trips of every notation, and messages for what cannot be read."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc.algebra.trees import (
    Leaf,
    Path,
    Split,
    Tree,
    depth,
    features,
    from_json,
    leaf_of,
    parse_tree,
    paths,
    predict,
    rules,
    size,
    to_dot,
    to_json,
    to_string,
)
from adtc.errors import QueryError

NAMES = ["age <= 37.5", "sex = Male", "owner"]
LABELS = ["<=50K", ">50K"]
TREE = Split(0, Leaf(0), Split(1, Leaf(1), Split(2, Leaf(0), Leaf(1))))

TREES = st.recursive(
    st.builds(Leaf, st.integers(0, 2)),
    lambda smaller: st.builds(Split, st.integers(0, 3), smaller, smaller),
    max_leaves=12,
)
NASTY = st.text(alphabet='⟨⟩<>,"\\ \n\tab=.é', max_size=6) | st.text(max_size=4)
FEATURE_NAMES = st.lists(NASTY, min_size=4, max_size=4, unique=True)
LABEL_NAMES = st.one_of(
    st.lists(NASTY, min_size=3, max_size=3, unique=True),
    st.lists(st.integers(), min_size=3, max_size=3, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=3, max_size=3, unique_by=str),
)


def test_measures_by_hand():
    assert (size(TREE), depth(TREE), features(TREE)) == (4, 3, {0, 1, 2})
    assert (size(Leaf(1)), depth(Leaf(1)), features(Leaf(1))) == (1, 0, frozenset())


def test_paths_go_to_child_1_first():
    assert list(paths(Split(0, Leaf(0), Split(1, Leaf(1), Leaf(0))))) == [
        Path(((0, True),), 0),
        Path(((0, False), (1, True)), 1),
        Path(((0, False), (1, False)), 0),
    ]


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float64])
def test_predict_by_hand(dtype):
    X = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=dtype)
    assert leaf_of(TREE, X).tolist() == [0, 1, 2, 3]
    assert predict(TREE, X).tolist() == [0, 1, 0, 1]
    assert predict(TREE, X).dtype == np.int32


def test_predict_on_no_rows_and_no_features():
    assert predict(TREE, np.zeros((0, 3))).tolist() == []
    assert predict(Leaf(1), np.zeros((2, 0))).tolist() == [1, 1]


def walk(tree: Tree, row: list[int]) -> int:
    while isinstance(tree, Split):
        tree = tree.t1 if row[tree.feature] == 1 else tree.t0
    return tree.label


@given(TREES, st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1))
def test_predict_is_the_walk_from_root_to_leaf(tree, rows):
    assert predict(tree, rows).tolist() == [walk(tree, row) for row in rows]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 0, 1], "1 dimension"),
        ([[1, 0]], "tests feature 2, but the table has 2"),
        ([[1, 0, 2]], "feature 2 holds values other than 0 and 1"),
        ([[1, 0, np.nan]], "feature 2 holds values other than 0 and 1"),
    ],
)
def test_predict_refuses(X, message):
    with pytest.raises(QueryError, match=message):
        predict(TREE, X)


def test_string_by_hand():
    assert to_string(TREE) == "⟨f0, 0, ⟨f1, 1, ⟨f2, 0, 1⟩⟩⟩"
    text = '⟨"age <= 37.5", "<=50K", ⟨sex = Male, ">50K", ⟨owner, "<=50K", ">50K"⟩⟩⟩'
    assert to_string(TREE, NAMES, LABELS) == text
    assert parse_tree(text, NAMES, LABELS) == TREE


def test_ascii_brackets_and_spaces_are_read():
    assert parse_tree("  < f0,0 ,\n<f1, 1 ,<f2,0,1 > >> ") == TREE


@given(TREES, FEATURE_NAMES, LABEL_NAMES)
def test_string_round_trip(tree, names, labels):
    assert parse_tree(to_string(tree, names, labels), names, labels) == tree
    assert parse_tree(to_string(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1: expected a label or '⟨', found the end"),
        ("⟨owner, yes⟩", "character 12: expected ',', found '⟩'"),
        ("⟨owner, yes, no", "character 16: expected '⟩', found the end"),
        ("⟨owner, yes, no⟩ yes", "character 18: expected end of text, found yes"),
        ("⟨⟨owner, yes, no⟩, yes, no⟩", "character 2: expected a feature, found '⟨'"),
        ("⟨age <= 3, yes, no⟩", "unknown feature 'age'|names that hold < > , or \" go into"),
        ("⟨ower, yes, no⟩", "unknown feature 'ower'. Did you mean 'owner'"),
        ("⟨owner, yes, nope⟩", "unknown label 'nope'. Did you mean 'no'"),
        ('⟨"owner, yes, no⟩', "character 2: a double quote is not closed"),
        (r'⟨"ow\ner\x", yes, no⟩', "character 2: .* is no JSON string"),
        ("⟨owner, " * 200, "more than 100 tests deep"),
    ],
)
def test_unreadable_strings_are_explained(text, message):
    with pytest.raises(QueryError, match=message):
        parse_tree(text, ["owner", "rich"], ["no", "yes"])


def test_without_names_only_numbers_are_read():
    with pytest.raises(QueryError, match="'owner' is no feature; without names"):
        parse_tree("⟨owner, 0, 1⟩")
    with pytest.raises(QueryError, match="'yes' is no label; without names"):
        parse_tree("⟨f0, 0, yes⟩")


def test_names_that_do_not_fit_the_tree_are_refused():
    with pytest.raises(QueryError, match="holds feature 2, but 2 feature name"):
        to_string(TREE, NAMES[:2], LABELS)
    with pytest.raises(QueryError, match="holds label 1, but 1 label name"):
        to_json(TREE, NAMES, LABELS[:1])
    with pytest.raises(QueryError, match="two features have the same name"):
        parse_tree("⟨a, 0, 1⟩", ["a", "a"])


def test_rules_by_hand():
    assert rules(TREE, NAMES, LABELS) == [
        "if age <= 37.5 then <=50K",
        "if not (age <= 37.5) and sex = Male then >50K",
        "if not (age <= 37.5) and not (sex = Male) and owner then <=50K",
        "if not (age <= 37.5) and not (sex = Male) and not owner then >50K",
    ]
    assert rules(Leaf(1), NAMES, LABELS) == ["always >50K"]


def test_json_by_hand():
    assert to_json(Split(0, Leaf(1), Leaf(0)), NAMES, LABELS) == {
        "feature": "age <= 37.5",
        "yes": {"label": ">50K"},
        "no": {"label": "<=50K"},
    }
    assert to_json(Leaf(1), NAMES, [False, True]) == {"label": True}


@given(TREES, FEATURE_NAMES, LABEL_NAMES)
def test_json_round_trip(tree, names, labels):
    stored = json.dumps(to_json(tree, names, labels))
    assert from_json(json.loads(stored), names, labels) == tree
    assert from_json(to_json(tree)) == tree


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"tree is no tree: expected .* found \[\]"),
        ({}, r"tree is no tree: .* found the keys \[\]"),
        ({"label": None}, "tree is no tree"),
        ({"label": "a", "feature": "f"}, r"found the keys \['feature', 'label'\]"),
        ({"feature": 3, "yes": {"label": "a"}, "no": {"label": "b"}}, "tree is no tree"),
        ({"feature": "f", "yes": {"label": "a"}, "no": "b"}, "tree.no is no tree: .* found 'b'"),
        ({"feature": "g", "yes": {"label": "a"}, "no": {"label": "b"}}, "unknown feature 'g'"),
        ({"feature": "f", "yes": {"label": "a"}, "no": {"label": 0}}, "unknown label '0'"),
    ],
)
def test_json_of_something_else_is_refused(value, message):
    with pytest.raises(QueryError, match=message):
        from_json(value, ["f"], ["a", "b"])


def test_json_deeper_than_can_be_handled_is_refused():
    value: object = {"label": 0}
    for _ in range(5000):
        value = {"feature": "f0", "yes": value, "no": {"label": 0}}
    with pytest.raises(QueryError, match="more than 100 tests deep"):
        from_json(value)


def test_dot_by_hand():
    tree = Split(0, Split(1, Leaf(0), Leaf(1)), Leaf(0))
    assert to_dot(tree, ['a "b"', "c\\d"], ["x\ny", "z"]).splitlines() == [
        "digraph tree {",
        r'  0 [label="a \"b\"", shape=box];',
        '  0 -> 1 [label="yes"];',
        r'  1 [label="c\\d", shape=box];',
        '  1 -> 2 [label="yes"];',
        r'  2 [label="x\ny", shape=ellipse];',
        '  1 -> 3 [label="no"];',
        '  3 [label="z", shape=ellipse];',
        '  0 -> 4 [label="no"];',
        r'  4 [label="x\ny", shape=ellipse];',
        "}",
    ]


@given(TREES)
def test_dot_numbers_every_node_once(tree):
    lines = to_dot(tree).splitlines()[1:-1]
    nodes = [int(line.split()[0]) for line in lines if "->" not in line]
    assert nodes == list(range(2 * size(tree) - 1))
    assert sum("->" in line for line in lines) == 2 * size(tree) - 2
