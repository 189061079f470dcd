"""Trees built by hand among the good ones, against a plain listing of the trees."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.trees import Leaf
from adtc.engine.partial import Fork, Partial
from adtc.errors import QueryError
from profiles.test_variables import asked, profile_of
from test_agreement import plain


def begins(tree: oracle.Tree, partial: Partial) -> bool:
    """Tell whether a tree goes on from a partial one."""
    if partial is None:
        return True
    if isinstance(partial, Leaf):
        return tree == partial.label and oracle.is_leaf(tree)
    return (
        not oracle.is_leaf(tree)
        and tree[0] == partial.feature
        and begins(tree[1], partial.t1)
        and begins(tree[2], partial.t0)
    )


def part_at(tree: oracle.Tree, address: str) -> oracle.Tree:
    for turn in address:
        tree = tree[1] if turn == "1" else tree[2]
    return tree


def check(builder, good):
    """Compare a builder with the listed trees that begin like it."""
    trees = [tree for tree, _ in good if begins(tree, builder.tree)]
    assert builder.count == len(trees)
    errors = [m["error"] for tree, m in good if begins(tree, builder.tree)]
    assert builder.best(minimize="error") == min(errors, default=None)
    assert builder.best(maximize="size") == max(map(oracle.size, trees), default=None)
    for address in builder.open:
        choices = builder.choices(address)
        parts = [part_at(tree, address) for tree in trees]
        leaves = Counter(part for part in parts if oracle.is_leaf(part))
        tests = Counter(part[0] for part in parts if not oracle.is_leaf(part))
        assert {way.number: way.trees for way in choices.labels} == leaves
        assert {way.number: way.trees for way in choices.features} == tests
        check_bests(builder, address, parts, errors)


def check_bests(builder, address, parts, errors):
    """Compare the best value of every way with those of the listed trees that go it."""
    by_way = {}
    for part, error in zip(parts, errors, strict=True):
        way = ("leaf", part) if oracle.is_leaf(part) else ("test", part[0])
        by_way.setdefault(way, set()).add(error)
    for best, goal in ((min, "minimize"), (max, "maximize")):
        choices = builder.choices(address, **{goal: "error"})
        found = {("leaf", way.number): way.best for way in choices.labels}
        found |= {("test", way.number): way.best for way in choices.features}
        assert found == {way: best(values) for way, values in by_way.items()}, goal


@settings(max_examples=40)
@given(asked(), st.data())
def test_every_step_agrees_with_a_listing(case, drawn):
    table, space, where, *_ = case
    found = profile_of(*case)
    if found is None:
        return
    good = oracle.good_trees(table, space, where and where.holds)
    builder = found.builder()
    check(builder, good)
    while builder.open and builder.count:
        address = drawn.draw(st.sampled_from(builder.open))
        choices = builder.choices(address)
        tests = [(way.trees, builder.split, way.name) for way in choices.features]
        leaves = [(way.trees, builder.leaf, way.name) for way in choices.labels]
        trees, step, name = drawn.draw(st.sampled_from(tests * 3 + leaves))
        step(name, address)
        assert builder.count == trees
        check(builder, good)
    if not builder.open:
        assert plain(builder.complete(seed=0).tree) in {tree for tree, _ in good}


def small() -> adtc.Profile:
    data = adtc.Data.from_arrays(
        [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]], [1, 1, 0, 0, 0]
    )
    return adtc.profile(data, adtc.Space(max_depth=2), ["size", "error"], where="error <= 2")


def test_completions_are_drawn_uniformly():
    found = small()
    builder = found.builder().split("f1")
    every = {drawn.tree for drawn in found.iterate() if begins(plain(drawn.tree), builder.tree)}
    assert 5 < len(every) == builder.count
    n = 30 * len(every)
    seen = Counter(builder.complete(seed=s).tree for s in range(n))
    assert set(seen) == every
    statistic = sum((k - 30) ** 2 / 30 for k in seen.values())
    assert abs(statistic - len(every)) < 5 * (2 * len(every)) ** 0.5
    again = builder.complete(seed=7)
    assert (again.tree, again.seed) == (builder.complete(seed=7).tree, 7)
    assert found.rank(again) == again.rank


def test_steps_are_taken_back():
    builder = small().builder()
    whole = builder.count
    builder.split("f0").leaf(1, "1").split(1)
    assert builder.tree == Fork(0, Leaf(1), Fork(1, None, None))
    assert builder.open == ("01", "00")
    assert builder.undo().undo().undo().count == whole
    with pytest.raises(QueryError, match="there is no step to undo"):
        builder.undo()


def test_numbers_of_several_limbs_add_up():
    rng = np.random.default_rng(3)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (200, 17)), rng.integers(0, 2, 200))
    for trivial in (True, False):
        space = adtc.Space(max_depth=4, trivial_splits=trivial)
        builder = adtc.profile(data, space, ["error"]).builder()
        assert builder.count > 2**64
        for name in ("f3", "f5", "f7", "f11"):
            choices = builder.choices()
            assert sum(way.trees for way in choices.features + choices.labels) == builder.count
            before = next(way.trees for way in choices.features if way.name == name)
            assert builder.split(name).count == before


def test_ways_without_a_value_have_no_best():
    profile = adtc.profile(
        adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [0, 0]], [1, 0, 0, 0]),
        adtc.Space(max_depth=1),
        ["precision", "size"],
    )
    builder = profile.builder()
    bests = {way.name: way.best for way in builder.choices(maximize="precision").labels}
    assert bests == {"0": None, "1": Fraction(1, 4)}  # nobody is predicted to be positive
    told = str(builder.choices(maximize="precision")).splitlines()
    assert told[0].split() == ["trees", "best"]
    assert builder.leaf(0).best(maximize="precision") is None


def test_the_best_of_trees_that_are_left_out_is_not_told():
    """Trees of a space with required columns are a sum with signs, which has no first tree."""
    profile = small()
    space = adtc.Space(max_depth=2, required=["f2"])
    chosen = adtc.profile(profile.source.data, space, ["size", "error"], where="error <= 2")
    builder = chosen.builder()
    every = [drawn for drawn in profile.iterate() if 2 in features_of(plain(drawn.tree))]
    for way in builder.choices(minimize="error").features:
        there = [d.metrics["error"] for d in every if plain(d.tree)[0] == way.number]
        assert (way.best, way.trees) == (min(there), len(there))


def features_of(tree):
    return (
        set() if oracle.is_leaf(tree) else {tree[0]} | features_of(tree[1]) | features_of(tree[2])
    )


def test_text_and_html():
    builder = small().builder().split("f0").leaf(1)
    assert str(builder).splitlines() == [
        f"f0   (5 rows, {builder.count} trees)",
        "├─ yes: 1   (3 rows)",
        "└─ no: ?   (2 rows)",
    ]
    assert "f1" in str(builder.choices())
    assert "<pre>f0 " in builder._repr_html_()
    assert repr(builder) == f"<Builder: {builder.count} trees, 1 open places>"
    builder.leaf(0)
    assert "nothing is open" in builder._repr_html_()


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (lambda b: b.split("f9"), r"unknown feature 'f9'\. Known features: f0, f1, f2\."),
        (lambda b: b.split(3), "feature 3 does not exist: features are numbered from 0 to 2"),
        (lambda b: b.split(True), "feature True does not exist"),
        (lambda b: b.split("f0").split("f0"), "'f0' is tested already on the path"),
        (lambda b: b.split("f0").split("f1").split("f2"), "test 3 on its path"),
        (lambda b: b.leaf("2"), r"unknown label '2'\. Known labels: 0, 1\."),
        (lambda b: b.split("f0", "1"), "no open place has the address '1': open are ''"),
        (lambda b: b.leaf(1).leaf(1), "nothing is open: the tree is complete"),
        (lambda b: b.best(), "either minimize=... or maximize"),
        (lambda b: b.split("f0").leaf(0).leaf(1).complete(), "no good tree begins like this"),
    ],
)
def test_what_cannot_be_is_said(step, sentence):
    with pytest.raises(QueryError, match=sentence):
        step(small().builder())


def test_a_split_that_leaves_too_few_rows_is_said():
    data = adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [1, 1]], [1, 1, 0, 0])
    found = adtc.profile(data, adtc.Space(max_depth=2, minsup=2), ["error"])
    with pytest.raises(QueryError, match="'f0' leaves 1 row on one side of this place"):
        found.builder().split("f0")
    banned = adtc.profile(data, adtc.Space(max_depth=2, banned="f0"), ["error"])
    with pytest.raises(QueryError, match="no tree of this space tests 'f0': it is banned"):
        banned.builder().split("f0")
