"""Spaces that say which tests trees may and must have, against a plain listing of the trees."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.trees import predict
from adtc.engine.switches import Switches
from adtc.errors import QueryError, TooLargeError
from profiles.test_builder import check
from profiles.test_variables import TWINS, at_level, columns_of, doubled, with_columns
from strategies import formulas, problems
from test_agreement import data_of, plain, space_of

ENGINES = [
    {"engine": "spec"},
    {"engine": "auto"},
    {"engine": "auto", "switches": Switches(push=False, merge_features=False, dense=False)},
]


def admits(tree: oracle.Tree, tests: dict, columns: list[int]) -> bool:
    """Tell whether a tree keeps to what is said about tests; names are f0, … or c0, …."""

    def named(name: str) -> set[int]:
        number = int(name[1:])
        return {number} if name[0] == "f" else {f for f, c in enumerate(columns) if c == number}

    used = oracle.features(tree)
    some = {f for name in tests["root"] for f in named(name)}
    return (
        not any(used & named(name) for name in tests["banned"])
        and all(used & named(name) for name in tests["required"])
        and (not some or (not oracle.is_leaf(tree) and tree[0] in some))
        and (tests["max_variables"] is None
             or len({columns[f] for f in used}) <= tests["max_variables"])
    )  # fmt: skip


@st.composite
def asked(draw):
    table, space = draw(problems(max_features=3))
    table = doubled(table, draw(st.lists(st.integers(0, 9), max_size=1)))
    while len(oracle.list_trees(table, space)) > 1500:
        space = replace(space, max_depth=space.max_depth - 1)
    n = table.n_features
    columns = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    names = st.sampled_from([*(f"f{f}" for f in range(n)), *(f"c{c}" for c in columns)])
    tests = {
        "banned": draw(st.sampled_from([(), ()]) | st.lists(names, max_size=1)),
        "required": draw(st.lists(names, max_size=2)),
        "root": draw(st.lists(names, max_size=2)),
        "max_variables": draw(st.sampled_from([None, 1, 2, 0])),
    }
    tests = {k: tuple(v) if isinstance(v, list) else v for k, v in tests.items()}
    return table, space, draw(st.none() | formulas(table)), columns, tests


FREE = {"banned": (), "required": (), "root": (), "max_variables": None}
BOTH = {**FREE, "required": ("f1", "c1"), "max_variables": 2}
ROOT = {"banned": (), "required": (), "root": ("f0",), "max_variables": None}


@settings(max_examples=50)
@given(asked())
@example((TWINS, oracle.Space(max_depth=2), None, [0, 0, 1, 2], ROOT))
@example((TWINS, oracle.Space(max_depth=1), None, [0, 0, 1, 2], ROOT))
@example((TWINS, oracle.Space(max_depth=3), None, [0, 0, 1, 2], {**ROOT, "required": ("c1",)}))
@example((TWINS, oracle.Space(max_depth=3), None, [0, 0, 1, 2], {**ROOT, "max_variables": 2}))
def test_every_question_agrees_with_a_listing(case):
    table, space, where, columns, tests = case
    data = with_columns(data_of(table), columns)
    space_asked = replace(space_of(space), **tests)
    good = [
        (tree, m)
        for tree, m in oracle.good_trees(table, space, where and where.holds)
        if admits(tree, tests, columns)
    ]
    text = where and where.text
    trees = {tree for tree, _ in good}
    errors = [m["error"] for _, m in good]
    for engine in ENGINES:
        options = {"where": text, **engine}
        assert adtc.count(data, space_asked, **options) == len(good)
        found = adtc.exists(data, space_asked, **options)
        assert bool(found) == bool(good)
        assert found.tree is None or plain(found.tree) in trees
        best = adtc.optimize(data, space_asked, minimize="error", **options)
        assert best.value == min(errors, default=None)
        assert best.tree is None or plain(best.tree) in trees
        tensor = adtc.model_tensor(data, space_asked, ["error", "depth"], **options)
        assert tensor == Counter((m["error"], oracle.depth(tree)) for tree, m in good)
    profile = adtc.profile(data, space_asked, ["error", "size"], where=text)
    assert profile.count == len(good)
    if profile.source is not None and good:
        listed = [plain(one.tree) for one in profile.iterate()]
        assert (set(listed), len(listed)) == (trees, len(trees))
        drawn = profile.draw(5, seed=1)
        assert {plain(one.tree) for one in drawn} <= trees
        assert all(profile.rank(one.tree) == one.rank for one in drawn)
        assert profile.best(1, minimize="error")[0].metrics["error"] == min(errors)


@settings(max_examples=15)
@given(asked())
def test_the_least_error_is_that_of_the_space(case):
    table, space, _, columns, tests = case
    data, space_asked = with_columns(data_of(table), columns), replace(space_of(space), **tests)
    errors = [m["error"] for t, m in oracle.good_trees(table, space) if admits(t, tests, columns)]
    for engine in ("spec", "auto"):
        found = adtc.count(data, space_asked, where="error <= least(error)", engine=engine)
        assert found == (errors.count(min(errors)) if errors else 0)


def table() -> adtc.Data:
    rng = np.random.default_rng(3)
    return adtc.Data.from_arrays(rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40))


@pytest.mark.parametrize("rare", [256, 0])  # look at trees of a cell, or build them test by test
def test_draws_are_uniform_among_what_is_admitted(monkeypatch, rare):
    monkeypatch.setattr("adtc.profiles.numbered._RARE", rare)
    space = adtc.Space(max_depth=2, required="f2", max_variables=1)
    found = adtc.profile(table(), space, ["error"], where="error <= 20")
    every = {one.tree for one in found.iterate()}
    seen = Counter(one.tree for one in found.draw(60 * len(every), seed=0))
    assert set(seen) == every
    errors = [one.metrics["error"] for one in found.best(3, minimize="error")]
    assert errors == sorted(one.metrics["error"] for one in found.iterate())[:3]
    assert all(one.tree in every for one in found.spread(2))
    statistic = sum((n - 60) ** 2 / 60 for n in seen.values())
    assert abs(statistic - len(every)) < 5 * (2 * len(every)) ** 0.5


def test_the_first_test_holds_in_walks_over_the_circuit():
    space = adtc.Space(max_depth=3, root=("f1", "f2"))
    found = adtc.profile(table(), space, ["error"])
    variables = found.variables()
    assert variables.total == found.count
    assert variables["f1"].by_level[0] + variables["f2"].by_level[0] == found.count
    assert frozenset() not in variables.minimal_sets
    choices = found.builder().choices()
    assert (choices.labels, {way.name for way in choices.features}) == ((), {"f1", "f2"})
    assert found.evaluate("feature-sets") == adtc.evaluate(
        table(), space, "feature-sets", engine="spec"
    )


def test_single_leaves_do_not_vote_where_a_first_test_is_named():
    space = adtc.Space(max_depth=2, root="f2")
    found = adtc.profile(table(), space, ["error"])  # leaves share cells with trees
    trees = [one.tree for one in found.iterate()]
    said = np.array([predict(tree, table().dense()) for tree in trees])
    assert found.vote_shares().counts[:, 1].tolist() == said.sum(axis=0).tolist()


def test_a_saved_profile_keeps_what_its_space_says(tmp_path):
    space = adtc.Space(max_depth=2, root="f1", max_variables=1, banned=["f0"])
    found = adtc.profile(table(), space, ["error"])
    loaded = adtc.load_profile(found.save(tmp_path / "p.adtc", circuit=True))
    assert loaded.source.space == space
    assert [one.tree for one in loaded.iterate()] == [one.tree for one in found.iterate()]
    assert adtc.verify(tmp_path / "p.adtc")


@settings(max_examples=50)
@given(asked(), st.data())
@example(
    (TWINS, oracle.Space(max_depth=3), None, [0, 0, 1, 2], {**FREE, "required": ("c1",)}), None
)
@example((TWINS, oracle.Space(max_depth=3), None, [0, 0, 1, 2], {**FREE, "max_variables": 2}), None)
@example((TWINS, oracle.Space(max_depth=2), None, [0, 0, 1, 2], BOTH), None)
def test_every_walk_agrees_with_a_listing(case, drawn):
    table, space, where, columns, tests = case
    data = with_columns(data_of(table), columns)
    found = adtc.profile(
        data, replace(space_of(space), **tests), ["error", "size"], where=where and where.text
    )
    if found.source is None:
        return
    listed = oracle.good_trees(table, space, where and where.holds)
    good = [(tree, m) for tree, m in listed if admits(tree, tests, columns)]
    for part, trees in ((found, good), (found.where("size <= 3"), _up_to(3, good))):
        said = [[oracle.predict(tree, row) for row in table.rows] for tree, _ in trees]
        votes = part.vote_shares()
        assert votes.total == len(trees)
        for i, counts in enumerate(votes.counts.tolist()):
            assert counts == [sum(one[i] == c for one in said) for c in range(len(counts))]
        _check_variables(part.variables(), [tree for tree, _ in trees], columns)
        _check_features(part, [tree for tree, _ in trees])
    # where size is no axis, single leaves share cells with other trees
    fewer = adtc.profile(
        data, replace(space_of(space), **tests), ["error"], where=where and where.text
    )
    assert fewer.vote_shares().counts.tolist() == found.vote_shares().counts.tolist()
    if drawn is not None:
        _check_deciding(found, [tree for tree, _ in good], table, drawn)
        _check_building(found.builder(), good, drawn)


def _up_to(size: int, good: list) -> list:
    return [(tree, m) for tree, m in good if m["size"] <= size]


def _check_variables(variables, trees, columns):
    used = Counter(columns_of(tree, columns) for tree in trees)
    assert (variables.total, variables.by_set) == (len(trees), used)
    assert set(variables.minimal_sets) == {s for s in used if not any(o < s for o in used)}
    for name, one in variables.items():
        assert one.trees_using == sum(n for names, n in used.items() if name in names)
        for level, n in enumerate(one.by_level):
            assert n == sum(
                any(f"c{columns[f]}" == name for f in at_level(tree, level)) for tree in trees
            )


def _check_features(part, trees):
    sets = {frozenset(oracle.features(tree)) for tree in trees}
    minimal = {s for s in sets if not any(other < s for other in sets)}
    assert part.evaluate("feature-sets") == minimal


def _check_deciding(found, trees, table, drawn):
    row = drawn.draw(st.integers(0, len(table.rows) - 1))
    label = drawn.draw(st.integers(0, table.n_labels - 1))
    agreeing = {tree for tree in trees if oracle.predict(tree, table.rows[row]) == label}
    deciding = found.deciding({row: label})
    assert deciding.count == len(agreeing)
    if agreeing:
        assert {plain(one.tree) for one in deciding.draw(3, seed=0)} <= agreeing


def _check_building(builder, good, drawn):
    check(builder, good)
    while builder.open and builder.count:
        address = drawn.draw(st.sampled_from(builder.open))
        choices = builder.choices(address)
        steps = [(way.trees, builder.split, way.name) for way in choices.features] * 3
        steps += [(way.trees, builder.leaf, way.name) for way in choices.labels]
        trees, step, name = drawn.draw(st.sampled_from(steps))
        step(name, address)
        assert builder.count == trees
        check(builder, good)


SELECTIVE = [
    {"required": ("f1",)},
    {"max_variables": 1},
    {"required": ("f0", "f2"), "root": ("f2",)},
]


@pytest.mark.parametrize("tests", SELECTIVE)
def test_rows_left_out_weights_and_new_rows_agree_with_a_listing(tests):
    data = table()
    found = adtc.profile(data, adtc.Space(max_depth=2, **tests), ["error"], where="error <= 20")
    every = adtc.profile(data, adtc.Space(max_depth=2, **tests), ["error"], where="error <= 21")
    listed, near = (
        [(one.tree, one.metrics["error"]) for one in p.iterate()] for p in (found, every)
    )
    dense = data.dense()
    left = found.leave_one_out()
    for row in range(data.n_rows):
        wrong = [(e, int(predict(t, dense)[row] != data.y[row])) for t, e in near]
        assert left.enter[row] == sum(e > 20 and e - w <= 20 for e, w in wrong)
        assert left.leave[row] == 0
    new = np.array([[1, 0, 1, 0], [0, 0, 0, 1]])
    frame = {f"f{f}": new[:, f] for f in range(4)}
    said = np.array([predict(tree, new) for tree, _ in listed])
    assert found.vote_shares(frame).counts[:, 1].tolist() == said.sum(axis=0).tolist()
    weights = np.exp(-0.5 * np.array([e - min(e for _, e in listed) for _, e in listed]))
    votes = found.vote_shares(frame, gibbs=0.5)
    assert votes.counts[:, 1] == pytest.approx(weights @ said)
    assert votes.total == pytest.approx(weights.sum())
    assert found.discrepancy([0] * 40).distribution.as_dict() == Counter(
        int(predict(tree, dense).sum()) for tree, _ in listed
    )


def test_too_many_circuits_are_refused(monkeypatch):
    monkeypatch.setattr("adtc.engine.admitted._MOST", 2)
    found = adtc.profile(table(), adtc.Space(max_depth=2, max_variables=1), ["error"])
    with pytest.raises(TooLargeError, match="make 5 circuits, and at most 2 are made"):
        found.vote_shares()


def test_a_rank_that_the_space_leaves_out_is_refused():
    found = adtc.profile(table(), adtc.Space(max_depth=2, required="f1"), ["error"])
    left_out = next(r for r in range(10**6) if r not in {one.rank for one in found.iterate()})
    with pytest.raises(QueryError, match="that the space leaves out by its tests"):
        found.tree(left_out)


def test_what_is_said_is_checked_and_told():
    data = table()
    for name in ("banned", "required", "root"):
        with pytest.raises(QueryError, match=rf"{name}: unknown column or feature 'f9'"):
            adtc.count(data, adtc.Space(**{name: "f9"}))
        with pytest.raises(QueryError, match=f"{name} is 3, expected names of columns"):
            adtc.Space(**{name: 3})
    with pytest.raises(QueryError, match="max_variables is -1, expected a whole number"):
        adtc.Space(max_variables=-1)
    record = adtc.count(data, adtc.Space(max_variables=2, root="f1")).record
    assert (record.conventions["max_variables"], record.conventions["root"]) == (2, "f1")
    assert "required" not in record.conventions
    wide = adtc.Data.from_arrays(np.eye(1100, dtype=int)[:60], np.arange(60) % 2)
    with pytest.raises(TooLargeError, match="at most 1,024 columns can be told apart"):
        adtc.count(wide, adtc.Space(max_depth=1, max_variables=1))
    with pytest.raises(QueryError, match="the space says which tests trees may have"):
        adtc.posterior(data, adtc.Space(max_depth=2, banned="f1"))
