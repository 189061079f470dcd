"""Variables of all good trees, against a plain listing of the trees."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.engine.plan.keys import key_integers
from adtc.engine.switches import Switches
from adtc.engine.uses import MOST_VARIABLES, Uses
from adtc.errors import QueryError, TooLargeError
from strategies import formulas, problems
from test_agreement import data_of, space_of

SWITCHES = [Switches(), Switches(merge_features=False), Switches(push=False, dense=False)]


def with_columns(data: adtc.Data, columns: list[int]) -> adtc.Data:
    """Let features share source columns, as the cuts of one column do."""
    named = [replace(f, column=f"c{columns[i]}") for i, f in enumerate(data.features)]
    return replace(data, features=tuple(named))


def columns_of(tree: oracle.Tree, columns: list[int]) -> frozenset[str]:
    return frozenset(f"c{columns[f]}" for f in oracle.features(tree))


def at_level(tree: oracle.Tree, level: int) -> set[int]:
    """Collect the features that a tree tests with so many tests above them."""
    if oracle.is_leaf(tree):
        return set()
    if level == 0:
        return {tree[0]}
    return at_level(tree[1], level - 1) | at_level(tree[2], level - 1)


def doubled(table: oracle.Table, twins: list[int]) -> oracle.Table:
    """Append equal and complementary copies of features: twins, maybe across columns."""
    rows = [(*row, *(row[t % table.n_features] ^ (t % 2) for t in twins)) for row in table.rows]
    return replace(table, rows=tuple(rows))


@st.composite
def asked(draw):
    table, space = draw(problems(shares=True, max_features=2))
    table = doubled(table, draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
    while len(oracle.list_trees(table, space)) > 4000:
        space = replace(space, max_depth=space.max_depth - 1)
    columns = draw(
        st.lists(st.integers(0, 2), min_size=table.n_features, max_size=table.n_features)
    )
    where = draw(st.none() | formulas(table))
    return table, space, where, columns, draw(st.sampled_from(SWITCHES))


def profile_of(table, space, where, columns, switches):
    """Make the profile by the fast engine; None where it has no circuit."""
    data = with_columns(data_of(table), columns)
    made = adtc.profile(
        data, space_of(space), ["size", "error"], where=where and where.text, switches=switches
    )
    return made if made.source is not None else None


TWINS = oracle.Table(rows=((1, 1, 0, 1), (1, 1, 0, 0), (0, 0, 1, 1), (0, 0, 1, 0)), y=(1, 1, 0, 1))


@settings(max_examples=60)
@given(asked())
@example((TWINS, oracle.Space(max_depth=3), None, [0, 0, 1, 2], Switches()))
def test_variables_agree_with_a_listing(case):
    table, space, where, columns, _ = case
    found = profile_of(*case)
    if found is None:
        return
    good = oracle.good_trees(table, space, where and where.holds)
    for limit in (None, 3):
        trees = [t for t, m in good if limit is None or m["size"] <= limit]
        variables = found.variables(None if limit is None else f"size <= {limit}")
        assert variables.total == len(trees)
        used = Counter(columns_of(tree, columns) for tree in trees)
        assert variables.by_set == used
        assert variables.by_number == {
            k: n for k in range(9) if (n := sum(m for names, m in used.items() if len(names) == k))
        }
        minimal = {s for s in used if not any(other < s for other in used)}
        assert set(variables.minimal_sets) == minimal
        assert len(variables.minimal_sets) == len(minimal)
        for name, variable in variables.items():
            using = sum(name in columns_of(tree, columns) for tree in trees)
            assert (variable.trees_using, variable.trees_without) == (using, len(trees) - using)
            assert variable.necessary == (0 < using == len(trees))
            assert variable.possible == (using > 0)
            for level, n in enumerate(variable.by_level):
                assert n == sum(
                    any(f"c{columns[f]}" == name for f in at_level(tree, level)) for tree in trees
                )


@settings(max_examples=15)
@given(asked())
def test_the_least_error_without_a_variable_is_that_of_all_trees(case):
    table, space, _, columns, _ = case
    found = profile_of(table, space, None, columns, Switches())
    for name, least in found.variables().least_errors.items():
        errors = [
            m["error"]
            for tree, m in oracle.good_trees(table, space)
            if name not in columns_of(tree, columns)
        ]
        assert least == min(errors, default=None)


def test_numbers_of_several_limbs_agree_with_a_count_of_the_banned_space():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (200, 17))
    data = adtc.Data.from_arrays(X, rng.integers(0, 2, 200))
    space = adtc.Space(max_depth=4, trivial_splits=False)
    found = adtc.profile(data, space, ["error"])
    assert found.count > 2**64
    variables = found.variables()
    for name in ("f0", "f7"):
        without = adtc.count(data, replace(space, banned=(name,)))
        assert variables[name].trees_without == without


def test_a_little_memory_walks_in_several_parts():
    rng = np.random.default_rng(3)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (60, 8)), rng.integers(0, 2, 60))
    found = adtc.profile(data, adtc.Space(max_depth=3), ["error", "size"])
    cells = max(len(level.cells.keys) for level in found.source.circuit.levels[1:])
    little = adtc.Monitor(memory_limit=32 * 3 * cells)
    some = found.variables(monitor=little)
    assert [v.by_level for v in some.values()] == [v.by_level for v in found.variables().values()]
    with pytest.raises(TooLargeError, match="the sets of variables that trees use do not fit"):
        some.by_set  # noqa: B018


def test_cells_of_the_root_are_found_by_key():
    rng = np.random.default_rng(3)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40))
    found = adtc.profile(data, adtc.Space(max_depth=3), ["error", "size"])
    part = found.take(np.arange(0, len(found.trees), 3))
    uses = Uses(found.source.circuit, data, part.keys, adtc.Monitor())
    assert sum(uses.by_set()[0].values()) == part.count
    assert len(key_integers(part.keys)) == len(part.trees)


def test_more_columns_than_sets_are_kept_of():
    n = MOST_VARIABLES + 1
    X = np.eye(n, dtype=int)[: n // 2]
    data = adtc.Data.from_arrays(X, np.arange(len(X)) % 2)
    variables = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).variables()
    assert variables["f3"].trees_using == 4
    with pytest.raises(TooLargeError, match="1,025 source columns"):
        variables.minimal_sets  # noqa: B018


def test_no_good_tree_is_an_answer():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    variables = adtc.profile(
        data, adtc.Space(max_depth=1), ["error"], where="error < 0"
    ).variables()
    assert (variables.total, variables.necessary, variables.possible) == (0, (), ())
    assert (variables.minimal_sets, variables.by_number) == ((), {})
    assert str(variables) == "no tree is good, so no variable is tested."
    assert variables["f0"].share is None
    assert variables.to_json()["variables"][0]["share"] is None


def test_text_json_and_csv_tell_the_same(tmp_path):
    data = adtc.load_dataset("german-credit", nbins=2)
    good = adtc.profile(
        data, adtc.Space(max_depth=2, relminsup=0.2), ["error"], where="error <= 290"
    )
    variables = good.variables()
    told = variables.to_json()
    assert told["total"] == good.count
    first = max(told["variables"], key=lambda v: v["trees_using"])
    line = next(row for row in str(variables).splitlines() if row.startswith(first["name"]))
    assert f"{first['trees_using']}" in line
    variables.to_csv(tmp_path / "v.csv")
    assert (tmp_path / "v.csv").read_text().count("\n") == len(variables) + 1
    assert "<table" in variables._repr_html_()


def test_unknown_columns_and_missing_circuits_are_said():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    found = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    with pytest.raises(QueryError, match=r"unknown column 'f1'\. Known columns: f0"):
        found.variables()["f1"]
    by_depth = adtc.profile(data, adtc.Space(max_depth=1), ["depth"])
    with pytest.raises(QueryError, match="asking for variables needs the circuit"):
        by_depth.variables()
    with pytest.raises(QueryError, match=r"banned: unknown column or feature 'f9'"):
        adtc.count(data, adtc.Space(banned=("f9",)))
