"""Bounds on depth and support become the space; every other use of the depth counts by depth."""

import numpy as np
import pytest

import adtc
from adtc.algebra.formula import parse_term
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import depth
from adtc.engine.plan.narrow import absorbed, by_depth, narrowed
from adtc.engine.query import ask


def small() -> adtc.Data:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 5))
    return adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(60) < 0.2), z=rng.integers(0, 2, 60))


DATA, SPACE = small(), adtc.Space(max_depth=3, minsup=2)


@pytest.mark.parametrize(
    ("left", "op", "right", "expected"),
    [
        ("depth", "<=", "2", ("depth", 2)),
        ("depth", "<", "2", ("depth", 1)),
        ("depth", "<", "5/2", ("depth", 2)),
        ("3", ">=", "2 * depth", ("depth", 1)),
        ("support", ">=", "7", ("support", 7)),
        ("support", ">", "7", ("support", 8)),
        ("-support", "<=", "-6.5", ("support", 7)),
        ("depth", ">=", "2", None),
        ("depth", "=", "2", None),
        ("support", "<=", "2", None),
        ("depth", "<=", "size", None),
        ("size", "<=", "2", None),
    ],
)
def test_what_an_atom_says_of_the_space(left, op, right, expected):
    found = absorbed(parse_term(left), op, parse_term(right))
    assert (found if found and found[0] in ("depth", "support") else None) == expected


@pytest.mark.parametrize(
    "where",
    [
        "depth <= 2",
        "support >= 7",
        "depth = 2",
        "1 <= depth <= 2 and acc >= 0.7",
        "depth >= 3 and acc >= 0.8 and support > 4",
        "size <= 2 * depth",
        "not depth = 1",
        "depth <= -1",
        "support >= 100",
        "error + 3 * depth <= 20",
        "error * depth <= 30 or size <= 2",
    ],
)
def test_the_fast_engine_counts_what_the_specification_counts(where):
    fast, spec = (adtc.count(DATA, SPACE, where=where, engine=e) for e in ("fast", "spec"))
    assert fast == spec
    assert fast.record.engine == "fast"


@pytest.mark.parametrize(("where", "minsup"), [("depth <= 3", 2), ("support >= 2", 14)])
def test_a_formula_never_widens_the_space(where, minsup):
    space = adtc.Space(max_depth=2, minsup=minsup)
    assert adtc.count(DATA, space, where, engine="fast") == adtc.count(DATA, space)


def test_cells_by_depth():
    for metrics in (["size", "depth"], ["depth", "acc"], ["error + 2 * depth"]):
        fast, spec = (
            adtc.model_tensor(DATA, SPACE, metrics, where="acc >= 0.6", engine=e)
            for e in ("fast", "spec")
        )
        assert fast == spec


@pytest.mark.parametrize("where", [None, "acc >= 0.7", "depth >= 2"])
@pytest.mark.parametrize("goal", ["error + 3 * depth", "-depth", "depth - size"])
def test_optima_by_depth_come_with_a_tree_that_has_them(goal, where):
    fast, spec = (
        adtc.optimize(DATA, SPACE, minimize=goal, where=where, engine=e) for e in ("fast", "spec")
    )
    assert fast.value == spec.value == adtc.score(fast.tree, DATA, [goal])[goal]


def test_a_witness_has_the_depth_asked_for():
    found = adtc.exists(DATA, SPACE, where="depth = 2 and acc >= 0.6", engine="fast")
    assert depth(found.tree) == 2


def test_absorbed_atoms_leave_nothing_to_count_by():
    question = ask(DATA, SPACE, semiring=COUNT, where="depth <= 2 and support >= 5")
    tight = narrowed(question)
    assert (tight.space.max_depth, tight.minsup, tight.axes) == (2, 5, ())
    assert not by_depth(tight)


def test_support_as_a_column_is_left_to_the_specification():
    profile = adtc.profile(DATA, SPACE, ["support"])
    assert profile.record.engine == "spec"
    with pytest.raises(
        adtc.ADTCError, match="the fast engine does not handle the metric 'support'"
    ):
        adtc.profile(DATA, SPACE, ["support"], engine="fast")


def test_a_profile_by_depth_has_no_ranks():
    profile = adtc.profile(DATA, SPACE, ["size", "depth"])
    assert profile.count == adtc.count(DATA, SPACE)
    with pytest.raises(adtc.ADTCError, match="drawing needs the circuit"):
        profile.draw(1)
