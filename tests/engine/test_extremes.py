"""`least(…)` and `largest(…)`: what they mean, where they are found, and what is said of them."""

import re
from fractions import Fraction

import numpy as np
import pytest

import adtc
from adtc.engine import prepare as preparing
from adtc.engine.nearest import nearest
from adtc.engine.prepare import prepare
from adtc.engine.run import Run
from adtc.engine.switches import Switches
from adtc.errors import ConstraintSyntaxError, QueryError


def table() -> adtc.Data:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (90, 6))
    y = (X[:, 0] & X[:, 1]) ^ (rng.random(90) < 0.15)
    return adtc.Data.from_arrays(X, y, z=rng.integers(0, 2, 90))


DATA, SPACE = table(), adtc.Space(max_depth=3, minsup=2)


def test_a_bound_by_the_best_equals_the_same_bound_in_figures():
    objective = "error + 2 * size"
    best = adtc.optimize(DATA, SPACE, minimize=objective).value
    found = adtc.count(DATA, SPACE, f"{objective} <= 1.2 * least({objective})")
    assert found == adtc.count(DATA, SPACE, f"{objective} <= {Fraction(6, 5) * best}")
    assert found.record.details["extremes"] == {"least(error + 2 * size)": str(best)}


def test_the_best_is_that_of_the_whole_space_whatever_else_is_asked():
    least = adtc.optimize(DATA, SPACE, minimize="error").value
    assert adtc.optimize(DATA, SPACE, minimize="error", where="size <= 2").value > least
    for engine in ("fast", "spec"):
        narrow = adtc.count(DATA, SPACE, "size <= 2 and error <= least(error)", engine=engine)
        shallow = adtc.count(DATA, SPACE, "depth <= 1 and error <= least(error)", engine=engine)
        assert (narrow, shallow) == (0, 0)


@pytest.mark.parametrize("engine", ["fast", "spec"])
def test_they_may_stand_wherever_a_number_may(engine):
    best = adtc.optimize(DATA, SPACE, maximize="acc", engine=engine).value
    asked = {"engine": engine, "define": {"regret": "largest(acc) - acc"}}
    within = adtc.count(DATA, SPACE, f"acc >= {best} - 1/30", engine=engine)
    assert adtc.count(DATA, SPACE, "regret <= 1/30", **asked) == within
    assert adtc.count(DATA, SPACE, "0 <= least(regret) and regret <= 1/30", **asked) == within
    regrets = adtc.model_tensor(DATA, SPACE, ["regret"], where="regret <= 1/30", **asked)
    assert min(regrets) == (0,)
    assert sum(regrets.values()) == within
    assert adtc.exists(DATA, SPACE, "acc > largest(acc)", engine=engine).tree is None
    simplest = adtc.optimize(
        DATA, SPACE, minimize="size", where="acc >= largest(acc) - 1/30", engine=engine
    )
    assert simplest.value == min(
        size
        for size, acc in adtc.model_tensor(DATA, SPACE, ["size", "acc"])
        if best - acc <= 1 / 30
    )
    semiring = adtc.evaluate(DATA, SPACE, "count", where="regret <= 1/30", **asked)
    assert semiring == within


def test_an_undefined_best_admits_no_tree():
    nobody = adtc.Data.from_arrays([[0], [1], [1]], [0, 1, 1], weights=[1, 0, 0])
    for engine in ("fast", "spec"):
        assert adtc.count(nobody, adtc.Space(1), "recall <= largest(recall)", engine=engine) == 0


def test_the_pass_that_found_the_best_serves_the_count(monkeypatch):
    passes = []
    inside_pass = preparing.inside_pass
    monkeypatch.setattr(
        preparing, "inside_pass", lambda *a, **k: passes.append(1) or inside_pass(*a, **k)
    )
    near = adtc.count(DATA, SPACE, "error + size <= 1.3 * least(error + size)")
    assert len(passes) == 1
    other = adtc.count(DATA, SPACE, "error + 2 * size <= 1.3 * least(error + size)")
    assert len(passes) == 3
    assert 0 < other < near


def test_another_space_or_bound_needs_a_ground_of_its_own():
    def prepared(where, space=SPACE, metrics=()):
        question = adtc.engine.query.ask(
            DATA, space, semiring=adtc.semirings.COUNT, metrics=metrics, where=where
        )
        plan = adtc.engine.plan.make_plan(question)
        return prepare(plan, DATA, Switches(), adtc.Monitor())

    known = prepared("error <= 20")
    assert known.serves(prepared("error <= 10").plan)
    assert not known.serves(prepared("error + size <= 20").plan)
    assert not known.serves(prepared("error <= 20 and size <= 3").plan)
    assert not known.serves(prepared("error <= 20", adtc.Space(max_depth=2, minsup=2)).plan)
    assert not known.serves(prepared("error <= 20", metrics=["dp"]).plan)


def test_a_profile_takes_them_over_its_own_trees():
    found = adtc.profile(DATA, SPACE, ["acc", "size"], where="acc >= largest(acc) - 0.2")
    values = [acc for acc, _ in adtc.model_tensor(DATA, SPACE, ["acc", "size"])]
    small = found.where("size <= 2")
    best = max(value for value in small.values("acc").distinct)
    assert best < max(values)
    assert small.where("acc = largest(acc)").count == small.where(f"acc = {best}").count > 0
    assert found.where("acc = largest(acc) and size <= 2").count == 0
    assert found.where("acc > largest(acc)").count == 0


def test_a_plan_names_the_bound_in_figures():
    plan = adtc.explain(DATA, SPACE, "error <= 2 * least(error)")
    least = adtc.optimize(DATA, SPACE, minimize="error").value
    assert plan.pushed[0].atom == "error <= 2 * least(error)"
    assert plan.pushed[0].bounds == (f"error <= {2 * least}",)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("error <= least(error, size)", "'least' takes one number, got 2"),
        ("error <= least", "'least' is a function; write least(x)"),
        ("error <= smallest(error)", "unknown function 'smallest'"),
        ("error <= least(error <= 3)", "expected a number, found the condition 'error <= 3'"),
    ],
)
def test_wrong_use_is_pointed_at(where, sentence):
    with pytest.raises(ConstraintSyntaxError, match=re.escape(sentence)):
        adtc.count(DATA, SPACE, where)


def test_where_no_trees_are_searched_they_are_refused():
    with pytest.raises(QueryError, match="'least\\(error\\)' is a value of all trees"):
        adtc.score(adtc.optimize(DATA, SPACE).tree, DATA, ["error - least(error)"])
    with pytest.raises(QueryError, match="defined by itself: a"):
        adtc.count(DATA, SPACE, "a <= 3", define={"a": "least(a)"})


def test_no_tree_near_enough_is_told_in_figures():
    least = adtc.optimize(DATA, SPACE, minimize="error").value
    (found,) = nearest(DATA, SPACE, "error <= 0.5 * least(error)")
    assert (found.asked, found.alone) == (Fraction(least, 2), (least,))


def test_a_value_is_found_once_per_call(monkeypatch):
    found = []
    honest = Run._extreme
    monkeypatch.setattr(
        Run, "_extreme", lambda self, *asked: found.append(asked) or honest(self, *asked)
    )
    data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
    where = "error <= least(error) + 1"
    sets = adtc.evaluate(data, adtc.Space(max_depth=2), "feature-sets", where=where)
    assert sets == {frozenset({0})}
    assert len(found) == 1
