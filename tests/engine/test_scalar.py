"""Semirings with compiled functions give on the fast engine what the specification gives."""

import math

import numpy as np
import pytest

import adtc
from adtc import semirings
from adtc.engine.switches import Switches

SOFT = semirings.compiled(
    "soft",
    0.0,
    1.0,
    lambda a, b: a + b,
    lambda a, b: a * b,
    leaf=lambda label, values: 0.9 ** values[0] * (1 + label),
)
# the largest, over trees, of the smallest N11 − error of a leaf
BOTTLENECK = semirings.compiled(
    "bottleneck",
    -math.inf,
    math.inf,
    max,
    min,
    leaf=lambda label, values: values[0] - values[1],
)
SPACES = [
    adtc.Space(max_depth=0),
    adtc.Space(max_depth=1, trivial_splits=False),
    adtc.Space(max_depth=2, minsup=0),
    adtc.Space(max_depth=3, minsup=2),
    adtc.Space(max_depth=4, minsup=5, trivial_splits=False),
    adtc.Space(max_depth=4, minsup=3, labels="majority", trivial_splits=False),
]


def data(labels: int = 2) -> adtc.Data:
    """Draw a table with a complement and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 4))
    X = np.c_[X, 1 - X[:, 0]]
    y = (X[:, 0] + X[:, 1] * (rng.random(50) < 0.5)) % labels
    return adtc.Data.from_arrays(X, y, weights=rng.integers(1, 3, 50), labels=(0, 1, 2)[:labels])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("labels", [2, 3])
def test_sums_agree_with_the_specification(space, labels):
    table = data(labels)
    for switches in (Switches(), Switches(merge_features=False, merge_rows=True, pext=False)):
        fast = adtc.evaluate(
            table, space, SOFT, aggregation="error", engine="fast", switches=switches
        )
        spec = adtc.evaluate(table, space, SOFT, aggregation="error", engine="spec")
        assert math.isclose(fast, spec, rel_tol=1e-9)


@pytest.mark.parametrize(
    "leaf",
    [
        lambda label, values: sum([0.5 * value for value in values]) + label,
        lambda label, values: (0.5 * values + values).sum() + label,
    ],
    ids=["comprehension", "whole arrays"],
)
def test_functions_may_use_all_that_numba_compiles(leaf):
    own = semirings.compiled("own", 0.0, 1.0, lambda a, b: a + b, lambda a, b: a * b, leaf=leaf)
    asked = data(), SPACES[3], own
    fast, spec = (
        adtc.evaluate(*asked, aggregation=("error", "size"), engine=engine)
        for engine in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-9)


@pytest.mark.parametrize("space", SPACES[:4])
def test_several_metrics_in_an_idempotent_semiring(space):
    found = [
        adtc.evaluate(data(), space, BOTTLENECK, aggregation=["N11", "error"], engine=engine)
        for engine in ("fast", "spec")
    ]
    assert found[0] == found[1]


def test_under_a_constraint_the_sum_is_over_good_trees():
    table, space = data(), adtc.Space(max_depth=2)
    some, same = (
        adtc.evaluate(table, space, SOFT, aggregation="error", where="size <= 2", engine=engine)
        for engine in ("fast", "spec")
    )
    every = adtc.evaluate(table, space, SOFT, aggregation="error")
    assert math.isclose(some, same, rel_tol=1e-9)
    assert 0 < some < every


def test_a_bound_on_the_depth_is_none():
    table = data()
    bounded = adtc.evaluate(
        table, adtc.Space(max_depth=3), SOFT, aggregation="error", where="depth <= 1", engine="fast"
    )
    assert math.isclose(
        bounded, adtc.evaluate(table, adtc.Space(max_depth=1), SOFT, aggregation="error")
    )


def test_log_sums_follow_from_counts():
    table, space = data(), adtc.Space(max_depth=3, minsup=2)
    fast, spec = (
        adtc.evaluate(table, space, "log-sum-exp", aggregation="error", engine=engine)
        for engine in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-12)
