"""Rules part the rows among themselves, and shortening them changes no meaning."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models_samples import COLUMNS, table, trees_on

from adtc.algebra.trees import Leaf, Split
from adtc.data import Data, Feature
from adtc.models import TreeModel
from adtc.models.rules import reading

DATA = table()
BINS = table(numeric="bins", onehot="all", max_categories=3)


def passes(condition: str, row: dict) -> bool:
    """Read a condition as a person would, without adtc: a missing value fails every comparison."""
    denied = re.fullmatch(r"not (?:\((.*)\)|(.*))", condition)
    if denied:
        return not passes(denied[1] or denied[2], row)
    between = re.fullmatch(r"(?:(\S+) < )?(\w+) <= (\S+)", condition)
    if between:
        value = row[between[2]]
        low = float(between[1] or "-inf")
        return value is not None and low < value <= float(between[3])
    if above := re.fullmatch(r"(\w+) > (\S+)", condition):
        return row[above[1]] is not None and row[above[1]] > float(above[2])
    if missing := re.fullmatch(r"(\w+) is missing", condition):
        return row[missing[1]] is None
    if equal := re.fullmatch(r"(\w+) = (.+)", condition):
        value = row[equal[1]]
        if equal[2] == "(other)":
            return value is not None and value not in KEPT
        return value == equal[2]
    return row[condition] == 1


KEPT = next(f.values for f in BINS.features if f.test == "other")
GRID = {
    "age": [None, 17, 22, 24, 28, 31, 33, 36, 39.5, 42, 48, 55, 61, 70],
    "pay": [0.1, 1.2, 2.0, 2.5, 2.7, 3.2, 3.9, 4.2, 5.5, 8.0],
    "job": [None, "a", "b", "c", "d", "new"],
    "owner": [0, 1],
}


def rows() -> list[dict]:
    """Pair the values so that each column meets each other one in many ways."""
    some = itertools.product(GRID["age"], GRID["pay"], GRID["job"])
    return [
        {"age": age, "pay": pay, "job": job, "owner": at % 2}
        for at, (age, pay, job) in enumerate(some)
        if at % 5 < 2
    ]


ROWS = rows()
TABLE = {name: [row[name] for row in ROWS] for name in GRID}


@pytest.mark.parametrize("data", [DATA, BINS], ids=["cuts", "bins"])
@given(draw=st.data())
@settings(max_examples=40)
def test_exactly_the_rule_of_its_leaf_fits_a_row(data, draw):
    model = TreeModel(draw.draw(trees_on(data)), data)
    rules = model.rules()
    for row, leaf in zip(ROWS, model.apply(TABLE), strict=True):
        fitting = [rule.leaf for rule in rules if all(passes(c, row) for c in rule.conditions)]
        assert fitting == [leaf]


@given(tree=trees_on(DATA))
def test_supports_sum_to_all_rows(tree):
    rules = TreeModel(tree, DATA).rules()
    assert sum(rule.support for rule in rules) == DATA.total
    assert all(sum(rule.shares) == 1 for rule in rules)
    assert [rule.leaf for rule in rules] == list(range(len(rules)))


def cut(c: float) -> Feature:
    return Feature.interval("age", None, c)


def between(low: float | None, high: float | None) -> Feature:
    return Feature.interval("age", low, high)


A, B = (Feature.equals("job", value) for value in "ab")
GONE = Feature.missing("age")


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        ([(cut(50), True), (cut(30), True)], ["age <= 30"]),
        ([(cut(20), False), (cut(30), True)], ["20 < age <= 30"]),
        ([(cut(20), False), (cut(30), False)], ["age > 30"]),
        ([(cut(0), False)], ["age > 0"]),
        ([(between(20, 30), False)], ["not (20 < age <= 30)"]),
        ([(cut(30), False), (between(20, 40), False)], ["age > 40"]),
        ([(cut(30), True), (between(40, None), False)], ["age <= 30"]),
        ([(A, True), (B, False)], ["job = a"]),
        ([(A, False), (B, False)], ["not (job = a)", "not (job = b)"]),
        ([(A, True), (cut(30), False), (B, False), (cut(40), True)], ["job = a", "30 < age <= 40"]),
        ([(cut(20), True), (cut(30), False)], ["age <= 20", "not (age <= 30)"]),  # no row at all
        ([(A, True), (B, True)], ["job = a", "job = b"]),
    ],
)
def test_conditions_on_one_column_are_joined(literals, expected):
    assert list(reading(literals, may_miss=())) == expected


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        ([(cut(30), False)], ["not (age <= 30)"]),
        ([(cut(20), False), (cut(30), False)], ["not (age <= 30)"]),
        ([(cut(20), False), (cut(30), True)], ["20 < age <= 30"]),
        ([(cut(30), False), (GONE, False)], ["age > 30"]),
        ([(GONE, False), (between(20, 30), False)],
         ["not (20 < age <= 30)", "not (age is missing)"]),
        ([(cut(30), False), (GONE, True)], ["age is missing"]),
        ([(cut(30), True), (GONE, False)], ["age <= 30"]),
        ([(cut(30), True), (GONE, True)], ["age <= 30", "age is missing"]),  # no row at all
        ([(between(None, 20), False), (between(40, None), False)],
         ["not (age <= 20)", "not (age > 40)"]),
    ],
)  # fmt: skip
def test_where_values_may_be_missing_nothing_is_claimed_about_them(literals, expected):
    assert list(reading(literals, may_miss=("age",))) == expected


def test_a_rule_in_words():
    data = Data.from_frame(
        {"age": [20, 30, 40, 50], "sex": ["F", "M", "M", "M"], "y": ["no", "no", "yes", "no"]},
        target="y",
    )
    names = list(data.feature_names)
    tree = Split(names.index("age <= 35"), Leaf(0), Split(names.index("sex = M"), Leaf(1), Leaf(0)))
    texts = [rule.text for rule in TreeModel(tree, data).rules()]
    assert texts == [
        "if age <= 35 then no   (2 rows, 100 %)",
        "if age > 35 and sex = M then yes   (2 rows, 50 %)",
        "if age > 35 and not (sex = M) then no   (0 rows)",
    ]
    assert str(TreeModel(Leaf(0), data).rules()[0]) == "always no   (4 rows, 75 %)"


def test_the_grid_holds_the_columns_of_the_table():
    assert set(GRID) == set(COLUMNS) - {"y", "weight"}
