"""Cells that 64 bits cannot tell apart: survey weights, and the boundary between the two widths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.semirings import COUNT, MIN_PLUS
from adtc.engine import plan as plans
from adtc.engine.plan import largest_key, make_plan
from adtc.engine.query import ask
from adtc.errors import TooLargeError

METRICS = ["size", "acc", "bacc", "dp", "eodd_sum"]


def weighted(seed: int, heaviest: int, rows: int = 24) -> adtc.Data:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, 4))
    y = X[:, 0] ^ (rng.random(rows) < 0.3)
    weights = rng.integers(1, heaviest, rows, endpoint=True)
    return adtc.Data.from_arrays(X, y, z=rng.integers(0, 2, rows), weights=weights)


DATA = weighted(0, 2**24)
SPACE = adtc.Space(max_depth=2)


def plan(data: adtc.Data, metrics: list[str]) -> plans.Plan:
    return make_plan(ask(data, SPACE, semiring=COUNT, metrics=metrics))


def test_the_table_of_these_tests_needs_wide_keys():
    assert plan(DATA, METRICS).wide_keys
    assert not plan(DATA, ["acc"]).wide_keys


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), bits=st.sampled_from([8, 12, 16, 20, 24]))
def test_every_width_agrees_with_the_specification(seed, bits):
    data = weighted(seed, 2**bits, rows=12)
    for where in (None, "bacc >= 0.6", "acc >= 0.5 and dp <= 0.3"):
        fast, spec = (
            adtc.model_tensor(data, SPACE, METRICS, where=where, engine=engine)
            for engine in ("fast", "spec")
        )
        assert fast == spec


def test_keys_turn_wide_exactly_where_they_must(monkeypatch):
    narrow = plan(DATA, ["acc", "size"])
    reach = largest_key(narrow.axes)
    monkeypatch.setattr(plans, "_NARROW", reach)
    assert not narrow.wide_keys
    same = adtc.model_tensor(DATA, SPACE, ["acc", "size"])
    monkeypatch.setattr(plans, "_NARROW", reach - 1)
    assert narrow.wide_keys
    assert adtc.model_tensor(DATA, SPACE, ["acc", "size"]) == same


def test_beyond_128_bits_the_question_is_refused_with_advice():
    data = weighted(1, 2**45)
    with pytest.raises(TooLargeError, match="divide the weights of the rows by a common factor"):
        adtc.count(data, SPACE, "bacc >= 0.7 and eodd_sum <= 0.1")


def test_trees_are_ranked_drawn_saved_and_loaded(tmp_path):
    profile = adtc.profile(DATA, SPACE, METRICS, where="bacc >= 0.55")
    assert profile.keys is not None
    assert profile.keys.shape == (len(profile.trees), 2)
    for rank in (0, 1, profile.count // 2, profile.count - 1):
        assert profile.rank(profile.tree(rank).tree) == rank
    path = tmp_path / "wide.adtc"
    profile.save(path, circuit=True)
    loaded = adtc.load_profile(path)
    assert loaded.table.equals(profile.table)
    drawn = [d.tree for d in profile.draw(20, seed=3)]
    assert [d.tree for d in loaded.draw(20, seed=3)] == drawn
    assert loaded.where("size <= 3").count == adtc.count(DATA, SPACE, "bacc >= 0.55 and size <= 3")


def test_other_semirings_fold_over_wide_cells():
    where = "bacc >= 0.55 and dp <= 0.5"
    values = [
        adtc.evaluate(DATA, SPACE, MIN_PLUS, aggregation="error", where=where, engine=engine)
        for engine in ("auto", "spec")
    ]
    assert values[0] == values[1]


def test_questions_by_depth_take_wide_keys_away_from_each_other():
    fast, spec = (
        adtc.model_tensor(DATA, SPACE, ["depth", "bacc", "dp"], engine=engine)
        for engine in ("fast", "spec")
    )
    assert fast == spec


def test_explain_foresees_a_question_with_wide_keys():
    told = adtc.explain(DATA, SPACE, metrics=METRICS)
    assert told.key_bits > 62
    assert told.trees == pytest.approx(int(adtc.count(DATA, SPACE)), rel=0.1)
