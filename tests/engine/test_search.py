"""Best values found step by step: the record tells of the answer, not of attempts on the way."""

import numpy as np
import pytest

import adtc


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


def test_that_there_is_none_is_still_proved():
    found = adtc.optimize(DATA, SPACE, minimize="dp", where="acc >= 1", engine="fast")
    assert found.tree is None
    assert found.record.details["proof_of_none"]["every good tree"]
