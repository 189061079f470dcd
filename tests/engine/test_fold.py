"""Any semiring on a circuit gives what the specification gives on the table."""

from fractions import Fraction

import numpy as np
import pytest

import adtc
from adtc import semirings
from adtc.algebra.semiring import Semiring
from adtc.algebra.trees import Leaf, Split, Tree, features
from adtc.engine.switches import Switches
from adtc.errors import CancelledError, QueryError, TooLargeError


def weight(label, leaf):
    """Weigh a leaf by its errors, its women and its depth: no metric says that."""
    errors = sum(n for row, n in leaf.counts if row.y != label)
    women = sum(n for row, n in leaf.counts if row.z)
    return Fraction(1 + women, 2) ** leaf.depth / (1 + errors)


SOFT = semirings.compiled(
    "soft", 0.0, 1.0, lambda a, b: a + b, lambda a, b: a * b,
    leaf=lambda label, values: 0.9 ** values[0] * (1 + label),
)  # fmt: skip
# the free one: every tree by itself
LISTED: Semiring[frozenset[Tree]] = Semiring(
    "listed",
    zero=frozenset(),
    one=frozenset(),
    add=frozenset.union,
    mul=frozenset.union,
    embed=lambda label, values: frozenset({Leaf(label)}),
    split=lambda f, ones, zeros: frozenset(Split(f, t1, t0) for t1 in ones for t0 in zeros),
)
ASKED = {
    "listed": (LISTED, ()),
    "witness": (semirings.witness(), None),
    "cheapest": (semirings.min_plus_witness(), "N01 + 2 * size"),
    "three cheapest": (semirings.k_best_trees(3), "error"),
    "features": (semirings.FEATURE_SETS, None),
    "drawn": (semirings.counting_draw(np.random.default_rng(0)), None),
    "weighed": (semirings.REAL, weight),
    "soft": (SOFT, "error"),
    "two at once": (semirings.product(semirings.COUNT, semirings.FEATURE_SETS), None),
    "count": (semirings.COUNT, lambda label, leaf: 1),
}
SPACES = [
    adtc.Space(max_depth=0),
    adtc.Space(max_depth=1, trivial_splits=False),
    adtc.Space(max_depth=2, minsup=0),
    adtc.Space(max_depth=3, minsup=2, max_size=5),
    adtc.Space(max_depth=4, minsup=8, trivial_splits=False),
    adtc.Space(max_depth=3, minsup=3, labels="majority", trivial_splits=False),
]
WHERES = [None, "error <= 20", "acc >= 0.4 and dp <= 0.2", "f1 > 1 or size = 3", "size > 99"]


def table(labels: int = 2) -> adtc.Data:
    """Draw a table with a complement, a twin, weights and two groups."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 3))
    X = np.c_[X, 1 - X[:, 0], X[:, 1]]
    y = (X[:, 0] + X[:, 1] * (rng.random(40) < 0.5)) % labels
    return adtc.Data.from_arrays(
        X, y, z=rng.integers(0, 2, 40), weights=rng.integers(1, 3, 40),
        labels=(0, 1, 2)[:labels], positive=1,
    )  # fmt: skip


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("asked", ASKED)
def test_every_semiring_agrees_with_the_specification(asked, space):
    R, aggregation = ASKED[asked]
    for where in WHERES:
        fast, spec = (
            adtc.evaluate(table(), space, R, aggregation=aggregation, where=where, engine=engine)
            for engine in ("fast", "spec")
        )
        assert R.same(fast, spec), where


@pytest.mark.parametrize("asked", ["cheapest", "features", "weighed"])
@pytest.mark.parametrize(
    "switches",
    [Switches(merge_features=False, merge_rows=True), Switches(push=False, round=False)],
)
def test_switches_change_nothing(asked, switches):
    R, aggregation = ASKED[asked]
    question = {"aggregation": aggregation, "where": "acc >= 0.5"}
    some, others = (
        adtc.evaluate(table(3), SPACES[3], R, switches=chosen, **question)
        for chosen in (switches, Switches())
    )
    assert R.same(some, others)


def test_the_tree_that_comes_along_is_good():
    data, space, where = table(), adtc.Space(max_depth=3, minsup=3), "acc >= 0.6 and dp <= 0.3"
    found = adtc.evaluate(data, space, "min-plus-witness", aggregation="error", where=where)
    best = adtc.optimize(data, space, where=where)
    assert found.cost == best.value
    profile = adtc.profile(data, space, ["error"], where=where)
    assert profile.rank(found.tree) < profile.count
    sets = adtc.evaluate(data, space, "feature-sets", where=where)
    assert any(found_set <= features(found.tree) for found_set in sets)


def test_drawn_trees_are_uniform():
    data, space = table(), adtc.Space(max_depth=1)
    rng = np.random.default_rng(5)
    trees = adtc.count(data, space)
    draws = [
        adtc.evaluate(data, space, semirings.counting_draw(rng), engine="fast")
        for _ in range(40 * trees)
    ]
    seen: dict[object, int] = {}
    for drawn in draws:
        assert drawn.count == trees
        seen[drawn.tree] = seen.get(drawn.tree, 0) + 1
    assert len(seen) == trees
    assert max(seen.values()) < 80  # 40 are expected of each


@pytest.mark.parametrize("asked", ASKED)
def test_a_tensor_over_any_semiring_agrees_with_the_specification(asked):
    R, aggregation = ASKED[asked]
    fast, spec = (
        adtc.model_tensor(
            table(), SPACES[3], ["size", "recall"], where="error <= 25", semiring=R,
            aggregation=aggregation, engine=engine,
        )
        for engine in ("fast", "spec")
    )  # fmt: skip
    assert fast.keys() == spec.keys()
    assert all(R.same(fast[index], spec[index]) for index in fast)
    assert (fast.record.engine, spec.record.engine) == ("fast", "spec")


@pytest.mark.parametrize("asked", [*ASKED, "cells", "other metrics", "no metrics"])
def test_a_profile_evaluates_further_semirings(asked):
    more: dict[str, tuple[Semiring[object], object]] = {
        "cells": (semirings.expectation(2), ("error", "error + 3 * size")),
        "other metrics": (semirings.pareto(2), ("N01", "N10")),
        "no metrics": (semirings.BOOLEAN, None),
    }
    R, aggregation = (ASKED | more)[asked]
    profile = adtc.profile(table(), SPACES[3], ["size", "error"], where="error <= 30")
    for where in (None, "error <= 20", "error < 0"):
        good = "error <= 30" if where is None else f"error <= 30 and {where}"
        expected = adtc.evaluate(
            table(), SPACES[3], R, aggregation=aggregation, where=good, engine="spec"
        )
        assert R.same(profile.where(where).evaluate(R, aggregation=aggregation), expected)


def test_a_saved_profile_evaluates_if_its_circuit_was_saved(tmp_path):
    profile = adtc.profile(table(), SPACES[3], ["error"], where="error <= 20")
    for circuit in (True, False):
        profile.save(tmp_path / "run.adtc", circuit=circuit)
        loaded = adtc.load_profile(tmp_path / "run.adtc")
        if circuit:
            assert loaded.evaluate("feature-sets") == profile.evaluate("feature-sets")
        else:
            with pytest.raises(QueryError, match="evaluating a semiring needs the circuit"):
                loaded.evaluate("feature-sets")


def test_what_does_not_add_up_is_refused():
    profile = adtc.profile(table(), SPACES[3], ["error", "acc"])
    with pytest.raises(QueryError, match="'acc / error' does not add up over leaves"):
        profile.evaluate("min-plus", aggregation="acc / error")
    with pytest.raises(QueryError, match="the fast engine does not handle the semiring"):
        adtc.evaluate(table(), adtc.Space(2), "feature-sets", where="depth = 1", engine="fast")
    assert adtc.evaluate(table(), adtc.Space(2), "feature-sets", where="depth = 1")


def test_the_memory_limit_holds():
    profile = adtc.profile(table(), adtc.Space(max_depth=4), ["error", "dp"])
    with pytest.raises(TooLargeError, match="the values of all cells would need about"):
        profile.evaluate("feature-sets", monitor=adtc.Monitor(memory_limit=100_000))


def test_cancelling_ends_it():
    profile = adtc.profile(table(), adtc.Space(max_depth=3), ["error"])
    seen: list[tuple[str, int, int]] = []
    monitor = adtc.Monitor(progress=lambda *step: (seen.append(step), monitor.cancel()))
    with pytest.raises(CancelledError):
        profile.evaluate("feature-sets", monitor=monitor)
    assert seen == [("values of cells", 1, profile.num_cells)]
