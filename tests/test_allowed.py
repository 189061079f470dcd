"""Spaces that say which tests trees may and must have, against a plain listing of the trees."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.engine.switches import Switches
from adtc.errors import QueryError, TooLargeError
from profiles.test_variables import TWINS, doubled, with_columns
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


def test_draws_are_uniform_among_what_is_admitted():
    space = adtc.Space(max_depth=2, required="f2", max_variables=1)
    found = adtc.profile(table(), space, ["error"], where="error <= 20")
    every = {one.tree for one in found.iterate()}
    seen = Counter(one.tree for one in found.draw(60 * len(every), seed=0))
    assert set(seen) == every
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


def test_a_saved_profile_keeps_what_its_space_says(tmp_path):
    space = adtc.Space(max_depth=2, root="f1", max_variables=1, banned=["f0"])
    found = adtc.profile(table(), space, ["error"])
    loaded = adtc.load_profile(found.save(tmp_path / "p.adtc", circuit=True))
    assert loaded.source.space == space
    assert [one.tree for one in loaded.iterate()] == [one.tree for one in found.iterate()]
    assert adtc.verify(tmp_path / "p.adtc")


def test_walks_over_all_trees_are_refused_where_trees_are_left_out_one_by_one():
    found = adtc.profile(table(), adtc.Space(max_depth=2, required="f1"), ["error"])
    for ask in (found.variables, found.builder, lambda: found.evaluate("feature-sets")):
        with pytest.raises(QueryError, match="walks over all trees at once"):
            ask()
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
