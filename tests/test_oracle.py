"""The oracle against values counted by hand, and against the recurrence of the whole space."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from oracle import Space, Table
from strategies import compare, formulas, name, negation, number, number_of_trees, problems, tables

ONE_FEATURE = Table(rows=((1,), (1,), (0,)), y=(1, 1, 0))
# Group 0 holds rows 0-3, group 1 rows 4-7; feature 0 is the true label but for rows 3 and 4.
FAIR = Table(
    rows=((1, 0), (1, 1), (0, 0), (1, 1), (0, 0), (1, 1), (0, 0), (0, 1)),
    y=(1, 1, 0, 0, 1, 1, 0, 0),
    z=(0, 0, 0, 0, 1, 1, 1, 1),
    references=(("old", (1, 0, 0, 0, 0, 0, 0, 1)),),
)
THREE = Table(rows=((1, 1), (1, 0), (0, 1), (0, 0)), y=(0, 1, 2, 2))


def metrics_of(tree, table):
    return oracle.Metrics(oracle.measure(tree, table), table)


def cube(n_features):
    """Every row of 0/1 values once: no split is empty."""
    rows = tuple(product((0, 1), repeat=n_features))
    return Table(rows=rows, y=tuple(r % 2 for r in range(len(rows))))


def test_one_feature_by_hand():
    # 2 leaves with errors 1 and 2; 4 splits with errors 0 (<f,1,0>), 1, 2 and 3 (<f,0,1>).
    tensor = oracle.model_tensor(ONE_FEATURE, Space(1), ["size", "error"])
    assert tensor == {(1, 1): 1, (1, 2): 1, (2, 0): 1, (2, 1): 1, (2, 2): 1, (2, 3): 1}


def test_listed_trees_by_hand():
    # Feature 1 is constant, so a split on it makes an empty leaf, which minsup=1 forbids.
    table = Table(rows=((1, 0), (0, 0)), y=(1, 0))
    assert set(oracle.list_trees(table, Space(2))) == {
        0,
        1,
        *((0, a, b) for a in (0, 1) for b in (0, 1)),
    }
    # With empty leaves: 2 + 2·(2 + 4)², because each child has one feature left.
    assert len(oracle.list_trees(table, Space(2, minsup=0))) == 74


@pytest.mark.parametrize(("n_features", "max_depth"), [(1, 0), (1, 1), (2, 2), (3, 2), (4, 2)])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_whole_space_follows_the_recurrence(n_labels, n_features, max_depth):
    table = Table(rows=((0,) * n_features,) * n_labels, y=tuple(range(n_labels)))
    trees = oracle.list_trees(table, Space(max_depth, minsup=0))
    assert len(trees) == len(set(trees)) == oracle.number_of_trees(n_labels, max_depth, n_features)


def test_recurrence_by_hand():
    assert oracle.number_of_trees(2, 0, 5) == 2
    assert oracle.number_of_trees(2, 1, 5) == 2 + 5 * 4
    assert oracle.number_of_trees(2, 2, 3) == 2 + 3 * (2 + 2 * 4) ** 2 == 302
    assert oracle.number_of_trees(3, 2, 2) == 3 + 2 * (3 + 9) ** 2 == 291
    assert oracle.number_of_trees(2, 3, 3) == 2 + 3 * 74**2 == 16430
    assert oracle.number_of_trees(2, 9, 2) == oracle.number_of_trees(2, 2, 2)


def test_no_feature_twice_on_a_path():
    def paths(tree):
        if oracle.is_leaf(tree):
            return [()]
        return [(tree[0], *path) for child in tree[1:] for path in paths(child)]

    for tree in oracle.list_trees(cube(3), Space(3, labels="majority")):
        assert all(len(path) == len(set(path)) <= 3 for path in paths(tree))


def test_the_cube_needs_no_minsup():
    # Each of the 2³ cells of the cube holds a row, so minsup 1 removes nothing, minsup 2 the last
    # split: 2 + 3·(2 + 2·4)².
    assert len(oracle.list_trees(cube(3), Space(2))) == 302
    assert oracle.list_trees(cube(3), Space(3, minsup=2)) == oracle.list_trees(cube(3), Space(2))
    assert len(oracle.list_trees(cube(3), Space(3, minsup=8))) == 2
    assert len(oracle.list_trees(cube(3), Space(3, minsup=9))) == 0


@given(problems(max_rows=6, max_features=2))
@settings(max_examples=60)
def test_growing_with_minsup_equals_removing_small_leaves_afterwards(problem):
    table, space = problem
    at_least = space.support(table)
    everything = oracle.list_trees(
        table, Space(space.max_depth, minsup=0, max_size=space.max_size, labels=space.labels)
    )
    kept = [t for t in everything if min(oracle.leaf_weights(t, table)) >= at_least]
    if not space.trivial_splits:
        kept = [t for t in kept if not oracle.has_trivial_split(t)]
    assert Counter(kept) == Counter(oracle.list_trees(table, space))


@given(problems())
@settings(max_examples=60)
def test_drawn_problems_stay_small_and_cover_every_label_and_group(problem):
    table, space = problem
    every = list(range(len(table.rows))), list(range(table.n_features))
    plain = Space(space.max_depth, space.minsup, space.relminsup, labels=space.labels)
    listed = oracle.list_trees(table, plain)
    assert len(listed) == number_of_trees(table, plain, plain.max_depth, *every) <= 1200
    assert set(table.y) == set(range(table.n_labels))
    assert table.z is None or set(table.z) == set(range(table.n_groups))
    assert table.total > 0


def test_majority_and_its_ties_by_hand():
    tie = Table(rows=((1,), (1,), (0,)), y=(1, 0, 1))
    # The root has 2 of 3 in label 1; f=1 is a tie: label 0; f=0 is label 1.
    assert oracle.list_trees(tie, Space(1, labels="majority")) == (1, (0, 0, 1))
    # Weights decide: row 0 counts twice.
    heavy = Table(rows=tie.rows, y=tie.y, weights=(2, 1, 1))
    assert oracle.list_trees(heavy, Space(1, labels="majority")) == (1, (0, 1, 1))
    # An empty leaf is a tie of all labels.
    constant = Table(rows=((1,), (1,)), y=(1, 0), weights=(2, 1))
    assert oracle.list_trees(constant, Space(1, minsup=0, labels="majority")) == (1, (0, 1, 0))
    assert oracle.majority(THREE, [0, 1, 2, 3]) == 2
    assert oracle.majority(THREE, [1, 2]) == 1


def test_trivial_splits_by_hand():
    assert set(oracle.list_trees(ONE_FEATURE, Space(1, trivial_splits=False))) == {
        0,
        1,
        (0, 0, 1),
        (0, 1, 0),
    }
    # Two features: 2 leaves; a root split whose children are leaves (2 of 4 are kept) or
    # non-trivial splits on the other feature (2): 2·(4·4 - 2) = 28.
    assert len(oracle.list_trees(cube(2), Space(2, trivial_splits=False))) == 2 + 28
    # Equal subtrees that are not leaves are no trivial split.
    assert not oracle.has_trivial_split((0, (1, 1, 0), (1, 1, 0)))
    assert oracle.has_trivial_split((0, (1, 1, 0), (1, 1, 1)))
    # It looks at the listed trees: with majority labels both children may agree.
    agree = Table(rows=((1,), (1,), (0,)), y=(1, 0, 1), weights=(2, 1, 1))
    assert oracle.list_trees(agree, Space(1, labels="majority", trivial_splits=False)) == (1,)


def test_max_size_by_hand():
    sizes = Counter(map(oracle.size, oracle.list_trees(cube(2), Space(2))))
    # 2 leaves; 2·4 splits of two leaves; 2·2·(2·4) of three; 2·4·4 of four.
    assert sizes == {1: 2, 2: 8, 3: 32, 4: 32}
    assert len(oracle.list_trees(cube(2), Space(2, max_size=3))) == 42


def test_relative_support_is_rounded_up():
    table = Table(rows=((1,), (0,)), y=(1, 0), weights=(27, 3))
    assert Space(1, relminsup=Fraction(1, 10)).support(table) == 3
    assert Space(1, relminsup=Fraction(101, 1000)).support(table) == 4
    assert len(oracle.list_trees(table, Space(1, relminsup=Fraction(1, 10)))) == 6
    assert len(oracle.list_trees(table, Space(1, relminsup=Fraction(11, 100)))) == 2


def test_structure_of_a_tree_by_hand():
    tree = (0, (1, 1, 0), 0)
    assert (oracle.size(tree), oracle.depth(tree), oracle.features(tree)) == (3, 2, {0, 1})
    assert oracle.leaf_weights(tree, FAIR) == [3, 1, 4]
    assert [oracle.predict(tree, row) for row in FAIR.rows] == [0, 1, 0, 1, 0, 1, 0, 0]


def test_counts_by_hand():
    m = metrics_of((0, 1, 0), FAIR)  # predicts feature 0: rows 0, 1, 3, 5 positive
    assert {n: m[n] for n in ("size", "depth", "support", "error", "N")} == {
        "size": 2,
        "depth": 1,
        "support": 4,
        "error": 2,
        "N": 8,
    }
    assert [m[n] for n in ("N00", "N01", "N10", "N11")] == [3, 1, 1, 3]
    assert [m[n] for n in ("N000", "N010", "N100", "N110")] == [1, 1, 0, 2]
    assert [m[n] for n in ("N001", "N011", "N101", "N111")] == [2, 0, 1, 1]
    assert m["agreement[old]"] == 4  # rows 0, 2, 4 and 6


def test_rates_by_hand():
    m = metrics_of((0, 1, 0), FAIR)
    three_of_four, one_of_four = Fraction(3, 4), Fraction(1, 4)
    assert m["acc"] == m["bacc"] == m["f1"] == three_of_four
    assert m["precision"] == m["recall"] == m["tpr"] == m["tnr"] == three_of_four
    assert m["fpr"] == m["fnr"] == one_of_four
    assert m["selection_rate"] == Fraction(1, 2)


def test_gaps_by_hand():
    m = metrics_of((0, 1, 0), FAIR)
    # Selection rates 3/4 and 1/4, TPRs 1 and 1/2, FPRs 1/2 and 0.
    assert m["dp"] == Fraction(1, 2)
    assert m["dp_signed"] == Fraction(-1, 2)
    assert m["dp_ratio"] == Fraction(1, 3)
    assert m["eopp"] == Fraction(1, 2)
    assert m["eopp_signed"] == Fraction(-1, 2)
    assert (m["eodd_sum"], m["eodd_max"], m["eodd_mean"]) == (1, Fraction(1, 2), Fraction(1, 2))


def test_gaps_of_three_groups_are_largest_minus_smallest():
    table = Table(
        rows=((1,), (0,), (1,), (1,), (0,), (0,), (0,)),
        y=(1, 0, 1, 1, 1, 1, 0),
        z=(0, 0, 1, 1, 1, 2, 2),
    )
    m = metrics_of((0, 1, 0), table)  # selection rates 1/2, 2/3, 0; TPRs 1, 2/3, 0
    assert (m["dp"], m["eopp"], m["dp_ratio"]) == (Fraction(2, 3), 1, 0)
    assert m["eodd_sum"] is None  # group 1 has no negative row: its FPR is undefined
    assert "dp_signed" not in oracle.metric_names(table)


def test_undefined_rates_by_hand():
    m = metrics_of(0, FAIR)  # nothing is predicted positive
    assert m["precision"] is None
    assert m["dp_ratio"] is None  # 0 / 0
    assert (m["f1"], m["dp"], m["tpr"]) == (0, 0, 0)
    no_positives = Table(rows=((1,), (0,), (1,)), y=(0, 0, 1), weights=(1, 1, 0))
    m = metrics_of(0, no_positives)
    assert [m[n] for n in ("recall", "f1", "bacc", "acc")] == [None, None, None, 1]
    assert metrics_of(1, no_positives)["f1"] == 0
    empty_group = Table(rows=((1,), (0,), (1,)), y=(0, 1, 1), z=(0, 0, 1), weights=(1, 1, 0))
    m = metrics_of(1, empty_group)
    assert [m[n] for n in oracle.GAPS + oracle.SIGNED_GAPS] == [None] * 8


def test_three_classes_by_hand():
    m = metrics_of((0, 0, 2), THREE)  # predicts 0, 0, 2, 2
    assert (m["error"], m["acc"]) == (1, Fraction(3, 4))
    assert (m["N00"], m["N10"], m["N22"]) == (1, 1, 2)
    assert m["bacc"] == Fraction(2, 3)  # recalls 1, 0, 1
    assert "f1" not in oracle.metric_names(THREE)
    one_named = Table(rows=THREE.rows, y=THREE.y, positive=0)
    m = metrics_of((0, 0, 2), one_named)
    assert (m["precision"], m["recall"], m["fpr"]) == (Fraction(1, 2), 1, Fraction(1, 3))


@given(tables(), st.data())
@settings(max_examples=60)
def test_a_weight_is_a_number_of_equal_rows(table, data):
    times = [table.weight(r) for r in range(len(table.rows))]

    def repeat(column):
        return tuple(v for v, n in zip(column, times, strict=True) for _ in range(n))

    repeated = Table(
        rows=repeat(table.rows),
        y=repeat(table.y),
        z=None if table.z is None else repeat(table.z),
        references=tuple((name, repeat(column)) for name, column in table.references),
    )
    f = data.draw(st.integers(0, table.n_features - 1))
    tree = (f, data.draw(st.integers(0, table.n_labels - 1)), 0)
    assert oracle.measure(tree, table) == oracle.measure(tree, repeated)


def test_undefined_satisfies_no_atom_nor_its_negation():
    atom = compare([name("precision"), number("0.5")], ["<="])
    nothing = oracle.Metrics(oracle.measure(0, FAIR), FAIR)
    assert atom.holds(nothing) is None
    assert negation(atom).holds(nothing) is None
    trees = oracle.good_trees(FAIR, Space(1), atom.holds)
    assert 0 not in [tree for tree, _ in trees]
    assert 1 in [tree for tree, _ in trees]


@given(tables().flatmap(lambda table: st.tuples(st.just(table), formulas(table))))
@settings(max_examples=100)
def test_a_formula_and_its_negation_split_the_defined_trees(drawn):
    table, formula = drawn
    for tree in (0, 1, (0, 1, 0)):
        m = metrics_of(tree, table)
        holds, denied = formula.holds(m), negation(formula).holds(m)
        assert (holds, denied) in [(True, False), (False, True), (None, None)]


def test_best_value_by_hand():
    assert oracle.best(ONE_FEATURE, Space(1), "error", min) == 0
    assert oracle.best(ONE_FEATURE, Space(0), "error", min) == 1
    assert oracle.best(ONE_FEATURE, Space(1), "precision", min) == 0
    assert oracle.best(ONE_FEATURE, Space(1, minsup=4), "error", min) is None
