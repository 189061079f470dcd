"""One line of values per metric, counted by hand on one tree; and the names a table has."""

from fractions import Fraction

import pytest

import adtc
from adtc.algebra.metrics import (
    DEPTH,
    ERROR,
    LEAF_LABEL,
    PRIMITIVES,
    RATIONALS,
    SIZE,
    SUPPORT,
    LeafRows,
    RowGroup,
    Vocabulary,
    additive,
    contingency,
)
from adtc.algebra.trees import Leaf, Split
from adtc.engine.query import schema_of
from adtc.engine.score import score
from adtc.errors import QueryError, UnknownMetricError

# Thirteen rows: feature a, label, group. The tree is ⟨a, 1, 0⟩, so a is also the prediction.
#            group 0            group 1
# true 1     2 of 3 found       1 of 4 found
# true 0     1 of 2 accused     0 of 4 accused
CELLS = {  # (true, predicted, group): rows
    (1, 1, 0): 2,
    (1, 0, 0): 1,
    (0, 1, 0): 1,
    (0, 0, 0): 1,
    (1, 1, 1): 1,
    (1, 0, 1): 3,
    (0, 1, 1): 0,
    (0, 0, 1): 4,
}
TREE = Split(0, Leaf(1), Leaf(0))


def table() -> adtc.Data:
    rows = [cell for cell, n in CELLS.items() for _ in range(n)]
    return adtc.Data.from_arrays(
        [[predicted] for _, predicted, _ in rows],
        [true for true, _, _ in rows],
        z=[group for *_, group in rows],
        references={"old": [1] * 6 + [0] * 7},
    )


VALUES = {
    "size": 2,
    "depth": 1,
    "support": 4,  # predicted 1: 2 + 1 + 1
    "error": 5,  # 1 + 1 + 3 + 0
    "acc": Fraction(8, 13),
    "bacc": (Fraction(3, 7) + Fraction(5, 6)) / 2,
    "precision": Fraction(3, 4),
    "recall": Fraction(3, 7),
    "tpr": Fraction(3, 7),
    "fpr": Fraction(1, 6),
    "tnr": Fraction(5, 6),
    "fnr": Fraction(4, 7),
    "f1": Fraction(6, 11),  # 2·3 / (2·3 + 1 + 4)
    "selection_rate": Fraction(4, 13),
    "dp": Fraction(3, 5) - Fraction(1, 8),
    "eopp": Fraction(2, 3) - Fraction(1, 4),
    "eodd_sum": Fraction(5, 12) + Fraction(1, 2),
    "eodd_max": Fraction(1, 2),
    "eodd_mean": Fraction(11, 24),
    "dp_signed": Fraction(1, 8) - Fraction(3, 5),
    "eopp_signed": Fraction(-5, 12),
    "dp_ratio": Fraction(5, 24),  # (1/8) / (3/5)
}


@pytest.mark.parametrize("name", [*PRIMITIVES, *RATIONALS])
def test_value_by_hand(name):
    assert score(TREE, table(), [name]) == {name: VALUES[name]}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("N", 13),
        ("N11", 3),
        ("N10", 4),
        ("N01", 1),
        ("N00", 5),
        ("N110", 2),
        ("N101", 3),
        ("N[1,0,1]", 3),
        ("N[*,1]", 4),
        ("N[1,*]", 7),
        ("N[~1,1,0]", 1),
        ("N[*,*,1]", 8),
        ("N[ 1, ~1 ]", 4),
        ("agreement[old]", 11),  # 4 of the first six are predicted 1, all of the others 0
    ],
)
def test_counts_by_hand(name, count):
    assert score(TREE, table(), [name]) == {name: count}


THREE = adtc.Data.from_arrays(
    [[1], [1], [0], [0], [1], [0]], [0, 1, 2, 2, 1, 0], z=["x", "x", "y", "y", "w", "w"], positive=1
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("error", 2),
        ("bacc", (Fraction(0) + 1 + 1) / 3),  # recalls of 0, 1, 2 under ⟨f0, 1, 2⟩
        ("precision", Fraction(2, 3)),
        ("selection_rate", Fraction(1, 2)),
        ("dp", 1),  # w 1/2, x 1, y 0: largest minus smallest
        ("eopp", None),  # no positive row in y
        ("dp_ratio", 0),
    ],
)
def test_three_labels_and_three_groups(name, expected):
    assert score(Split(0, Leaf(1), Leaf(2)), THREE, [name]) == {name: expected}


@pytest.mark.parametrize("name", ["precision", "dp_ratio"])
def test_a_rate_over_nothing_is_undefined(name):
    assert score(Leaf(0), table(), [name]) == {name: None}
    assert score(Leaf(0), table(), ["recall", "dp", "f1"]) == {"recall": 0, "dp": 0, "f1": 0}


# --- primitives -------------------------------------------------------------------------------

ROWS = LeafRows(((RowGroup(0, 0), 7), (RowGroup(1, 0), 2), (RowGroup(1, 1), 4)), depth=3)


@pytest.mark.parametrize(
    ("metric", "label", "expected"),
    [
        (SIZE, 0, 1),
        (DEPTH, 0, 3),
        (SUPPORT, 1, 13),
        (ERROR, 0, 6),
        (ERROR, 1, 7),
        (LEAF_LABEL, 1, 1),
        (contingency("1,1,1"), 1, 4),
        (contingency("1,1,1"), 0, 0),
        (contingency("~0,0"), 0, 6),
        (additive("cost", lambda label, row: (row.z + 1) * label, per_leaf=5), 1, 22),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_value_at_a_leaf(metric, label, expected):
    assert metric.leaf(label, ROWS) == expected


@pytest.mark.parametrize(
    ("metric", "a", "b", "expected"),
    [
        (SIZE, 2, 3, 5),
        (ERROR, 2, 3, 5),
        (DEPTH, 2, 3, 3),
        (SUPPORT, 2, 3, 2),
        (LEAF_LABEL, 0, 0, None),
        (LEAF_LABEL, 0, 1, -1),
        (LEAF_LABEL, -1, -1, -1),
        (LEAF_LABEL, -1, 0, -1),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_two_subtrees_join(metric, a, b, expected):
    assert metric.combine(a, b) == metric.combine(b, a) == expected


@pytest.mark.parametrize("metric", [SIZE, ERROR, DEPTH, SUPPORT], ids=lambda m: m.name)
@pytest.mark.parametrize("a", [0, 1, 9])
def test_the_identity_changes_nothing(metric, a):
    assert metric.combine(metric.identity, a) == a


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("metric", [SIZE, ERROR, contingency("1,1,*")], ids=lambda m: m.name)
def test_a_functional_is_the_metric(metric, label):
    functional = metric.functional
    rows = sum(n * functional.weight(label, group) for group, n in ROWS.counts)
    assert functional.per_leaf + rows == metric.leaf(label, ROWS)


def test_majority_goes_to_the_smallest_label_of_a_tie():
    assert ROWS.majority(2) == 0
    assert ROWS.support == 13
    tie = LeafRows(((RowGroup(1), 2), (RowGroup(2), 2)), depth=0)
    assert tie.majority(3) == 1
    assert LeafRows((), 0).majority(3) == 0


# --- names ------------------------------------------------------------------------------------


def test_a_table_lists_the_metrics_it_has():
    names = Vocabulary(schema_of(table()), {"mine": "error + size"}).names()
    assert {*PRIMITIVES, *RATIONALS, "N", "N00", "agreement[old]", "mine"} <= set(names)
    plain = adtc.Data.from_arrays([[1], [0]], [0, 1])
    assert not {"dp", "eopp", "eodd_sum"} & set(Vocabulary(schema_of(plain)).names())
    many = Vocabulary(schema_of(adtc.Data.from_arrays([[1], [0], [1]], [0, 1, 2]))).names()
    assert not {"f1", "precision"} & set(many)
    assert {"acc", "bacc", "N22"} <= set(many)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acuracy", "unknown metric 'acuracy'"),
        ("agreement[new]", "unknown reference column 'new'"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(UnknownMetricError, match=message.replace("[", r"\[")):
        score(TREE, table(), [name])


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (adtc.Data.from_arrays([[1], [0]], [0, 1]), "dp", "no sensitive column was given"),
        (adtc.Data.from_arrays([[1], [0]], [0, 1]), "N110", "no sensitive column was given"),
        (THREE, "dp_signed", "signed difference of two groups"),
        (adtc.Data.from_arrays([[1], [0], [1]], [0, 1, 2]), "f1", "needs a positive label"),
        (THREE, "N31", "has the index 3, but this table has indices 0 to 2"),
        (THREE, "N[1,1,3]", "indices 0 to 2"),
        (THREE, "N[1,a]", "cannot read"),
        (THREE, "N[1]", "cannot read"),
    ],
)
def test_metrics_that_a_table_does_not_have(data, name, message):
    with pytest.raises(QueryError, match=message):
        score(Leaf(0), data, [name])
