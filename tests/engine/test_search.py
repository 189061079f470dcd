"""Best values found step by step: the record tells of the answer, not of attempts on the way."""

from unittest import mock

import numpy as np
import pytest

import adtc
from adtc.algebra.semirings import COUNT
from adtc.engine import search
from adtc.engine.optimum import near_the_best
from adtc.engine.query import ask
from adtc.engine.switches import Switches


def table() -> adtc.Data:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (80, 4))
    z = rng.integers(0, 2, 80)
    return adtc.Data.from_arrays(X, (X[:, 0] & z) ^ (rng.random(80) < 0.1), z=z)


DATA, SPACE = table(), adtc.Space(max_depth=2, minsup=5)


@pytest.mark.parametrize("goal", [{"minimize": "dp"}, {"minimize": "eodd_max"}, {"maximize": "f1"}])
@pytest.mark.parametrize("where", [None, "acc >= 0.7", "acc >= 0.7 and size <= 3"])
def test_a_found_tree_comes_without_a_proof_that_there_is_none(goal, where):
    fast, spec = (
        adtc.optimize(DATA, SPACE, where=where, engine=e, **goal) for e in ("fast", "spec")
    )
    assert fast.value == spec.value
    assert fast.tree is not None
    assert "proof_of_none" not in fast.record.details


@pytest.mark.parametrize(
    ("seed", "where"), [(3, "dp <= 0.2"), (4, "N01 <= 2"), (6, "N10 - N01 <= 1")]
)
def test_no_good_tree_beats_what_a_combined_budget_proves(seed, where):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, 40)
    y = z ^ (rng.random(40) < 0.2)
    X = np.array([y ^ (rng.random(40) < noise) for noise in (0.1, 0.2, 0.3)]).T.astype(int)
    data, space = adtc.Data.from_arrays(X, y.astype(int), z=z), adtc.Space(max_depth=2, minsup=2)
    question = ask(data, space, semiring=COUNT, metrics=["error"], where=where)
    proved = []
    near_the_best(
        question, data, 1, switches=Switches(), monitor=adtc.Monitor(), proved=proved.append
    )
    best = adtc.optimize(data, space, minimize="error", where=where, engine="spec")
    assert max(proved) == best.value  # these bounds are tight


def test_that_there_is_none_is_still_proved():
    found = adtc.optimize(DATA, SPACE, minimize="dp", where="acc >= 1", engine="fast")
    assert found.tree is None
    assert found.record.details["proof_of_none"]["every good tree"]


@pytest.mark.parametrize("labels", ["any", "majority"])
@pytest.mark.parametrize("minsup", [1, 4])
@pytest.mark.parametrize("depth", [2, 3, 4, 5])
def test_all_ways_to_search_find_the_same(depth, minsup, labels):
    """Few paths are solved at once and many depth by depth."""
    rng = np.random.default_rng(depth)
    X = rng.integers(0, 2, (60, 5))
    data = adtc.Data.from_arrays(X, (X[:, 0] & X[:, 1]) ^ (rng.random(60) < 0.2))
    space = adtc.Space(depth, minsup, labels=labels)
    expected = adtc.optimize(data, space, minimize="error + size", engine="spec").value
    for few in (0, 1000):
        with mock.patch.multiple(search, _FEW_PATHS=few):
            best = adtc.optimize(data, space, minimize="error + size", engine="fast")
        assert adtc.score(best.tree, data, ["error + size"])["error + size"] == best.value
        assert best.value == expected


def test_trees_without_a_denominator_do_not_hide_the_largest_ratio():
    rows = [[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0]]
    data = adtc.Data.from_arrays(rows, [0, 1, 0, 0, 0, 0])
    for engine in ("fast", "spec"):
        best = adtc.optimize(data, adtc.Space(max_depth=2), maximize="size / N00", engine=engine)
        assert best.value == 4
    nowhere = "0 * size / (N00 - N00)"
    assert adtc.optimize(data, adtc.Space(max_depth=1), maximize=nowhere).tree is None


@pytest.mark.parametrize("depth", [1, 2])
def test_no_tree_is_best_where_no_leaf_is_pure_enough(depth):
    rows = [[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0]]
    data = adtc.Data.from_arrays(rows, [0, 1, 0, 0, 0, 1])
    space = adtc.Space(max_depth=depth, min_leaf_share="0.75")
    for wish in ({"maximize": "size"}, {"minimize": "size"}, {"maximize": "3 * size - error"}):
        fast, spec = (adtc.optimize(data, space, **wish, engine=e) for e in ("fast", "spec"))
        assert fast.value == spec.value
