"""Marginals, moments and curves agree with brute force over the model tensor."""

import sys
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_crosstab import PROFILES, small
from voting_samples import baselines, labels_of, samples

import adtc
import oracle
from adtc.engine.exact.limbs import counts_of, limbs_of
from adtc.errors import QueryError
from adtc.profiles.marginals import Moments
from adtc.profiles.profile import Profile

profiles_module = sys.modules[Profile.__module__]  # `adtc.profiles.profile` is a function


def trees_by(profile, *terms):
    """List the values of some terms cell by cell, with the trees of each."""
    columns = [profile.values(term) for term in terms]
    for at, trees in enumerate(counts_of(profile.trees)):
        yield tuple(c.distinct[c.codes[at]] for c in columns), trees


@given(PROFILES, st.data())
@settings(max_examples=40)
def test_marginals_and_moments_equal_brute_force(profile, data):
    name = data.draw(st.sampled_from(profile.names))
    expected = {}
    for (value,), trees in trees_by(profile, name):
        expected[value] = expected.get(value, 0) + trees
    assert profile.marginal(name).as_dict() == expected
    found = profile.moments(name)
    assert found.undefined == expected.pop(None, 0)
    assert found.trees == sum(expected.values())
    if not expected:
        assert (found.mean, found.variance, found.least, found.deviation) == (None,) * 4
        return
    total = sum(expected.values())
    mean = sum(Fraction(v) * n for v, n in expected.items()) / total
    assert found.mean == mean
    assert found.variance == sum((v - mean) ** 2 * n for v, n in expected.items()) / total
    assert (found.least, found.largest) == (min(expected), max(expected))


@given(PROFILES, st.sampled_from([1, 3, 2**16]), st.data())
@settings(max_examples=60)
def test_rounded_moments_are_as_near_as_they_say(profile, cells, data):
    name = data.draw(st.sampled_from(profile.names))
    exact, anew = profile.moments(name), profile.project(*profile.names)
    with mock.patch.object(profiles_module, "_PART", cells):
        rounded = anew.moments(name, exact=False)
    same = ("metric", "trees", "undefined", "least", "largest")
    assert [getattr(rounded, key) for key in same] == [getattr(exact, key) for key in same]
    if exact.mean is None:
        assert (rounded.mean, rounded.variance, rounded.error) == (None, None, None)
        return
    assert abs(Fraction(rounded.mean) - exact.mean) <= rounded.error
    size = max(abs(Fraction(v)) for v in (exact.least, exact.largest))
    assert rounded.error <= 1e-12 * size
    assert rounded.variance == pytest.approx(float(exact.variance), rel=1e-9, abs=1e-12)
    assert rounded.to_json()["mean_error"] == rounded.error
    assert exact.to_json()["mean_error"] is None


def test_rounded_moments_of_more_trees_than_a_float_holds():
    found, (name, *_) = small(), small().names
    huge = replace(found, trees=limbs_of([n << 2000 for n in counts_of(found.trees)]))
    assert huge.moments(name, exact=False).mean == found.moments(name, exact=False).mean


@given(st.lists(st.integers(0, 2**70), min_size=1), st.data())
def test_few_groups_are_summed_exactly(counts, data):
    groups = data.draw(
        st.lists(st.integers(-1, 3), min_size=len(counts), max_size=len(counts)).map(np.array)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles_module, "_EXACT", 3)
        found = profiles_module._sums_of_few(limbs_of(counts), groups, 4)
    assert found == [
        sum(n for n, g in zip(counts, groups, strict=True) if g == k) for k in range(4)
    ]


def test_moments_agree_with_the_model_tensor():
    data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 1])
    space = adtc.Space(max_depth=2)
    tensor = adtc.model_tensor(data, space, ["error"], engine="spec")
    mean = Fraction(sum(error * n for (error,), n in tensor.items()), sum(tensor.values()))
    assert adtc.profile(data, space, ["error"]).moments("error").mean == mean


@given(PROFILES, st.sampled_from(["1", "0.1", "2/3", "3"]), st.data())
@settings(max_examples=40)
def test_rolling_up_rounds_down_and_keeps_every_tree(profile, step, data):
    name = data.draw(st.sampled_from(profile.names))
    rolled = profile.rollup({name: step, "size": 1})
    width = Fraction(step)
    expected = {}
    for (value, size), trees in trees_by(profile, name, "size"):
        key = None if value is None else value // width * width
        expected[key, size] = expected.get((key, size), 0) + trees
    if name == "size":
        expected = {(size // 1, size): n for (_, size), n in expected.items()}
    assert dict(trees_by(rolled, name, "size")) == expected
    assert rolled.count == profile.count
    assert rolled.num_cells == len(expected)


def test_what_is_rolled_up_is_a_profile():
    profile = small()
    rolled = profile.rollup({"acc": "0.1", "precision": "0.25"})
    assert rolled.crosstab("acc", "precision", bins="values").total == profile.count
    assert rolled.where("acc >= 0.5").count == profile.where("acc >= 0.5").count
    assert rolled.names == ("acc", "precision")


@given(PROFILES, st.sampled_from(["error", "error + 2 * size", "size"]))
@settings(max_examples=40)
def test_tolerance_curves_equal_brute_force(profile, objective):
    curve = profile.tolerance_curve(objective)
    pairs = [(value, n) for (value,), n in trees_by(profile, objective)]
    if not pairs:
        assert curve.trees == ()
        assert curve.within(1) == 0
        return
    best = min(value for value, _ in pairs)
    assert curve.best == best
    for tolerance in ("0", "0.05", "1/3", "1", "10", *curve.tolerances):
        limit = (1 + Fraction(tolerance)) * best
        assert curve.within(tolerance) == sum(n for value, n in pairs if value <= limit)
    assert list(curve.trees) == sorted(set(curve.trees))
    assert curve.within("-1") == 0


@given(PROFILES)
@settings(max_examples=60)
def test_penalty_curves_equal_brute_force(profile):
    curve = profile.penalty_curve()
    pairs = list(trees_by(profile, "size", "error"))
    if not pairs:
        assert curve.pieces == ()
        return
    penalties = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100)]
    middles = [(p.low + p.high) / 2 for p in curve.pieces if p.high is not None]
    for penalty in (*penalties, *curve.penalties, *middles):
        least = min(error + penalty * size for (size, error), _ in pairs)
        found = curve.at(penalty)
        assert found.value(penalty) == least
        assert found.low <= penalty
        assert found.high is None or penalty <= found.high
        same = sum(n for point, n in pairs if point == (found.size, found.error))
        assert found.trees == same
        if penalty > 0 and penalty not in curve.penalties:  # no other point is as good
            best = {point for point, _ in pairs if point[1] + penalty * point[0] == least}
            assert best == {(found.size, found.error)}
    assert list(curve.penalties) == sorted(set(curve.penalties))
    assert all(piece.high is None or piece.low < piece.high for piece in curve.pieces)
    least_error = min(error for (_, error), _ in pairs)
    assert curve.at(0).size == min(size for (size, error), _ in pairs if error == least_error)


def test_json_and_text():
    profile = small()
    marginal = profile.marginal("precision")
    assert sum(marginal.to_json()["trees"]) == profile.count
    assert marginal.to_json()["values"][-1] is None
    assert marginal.to_text().splitlines()[-1].startswith("undefined")
    assert profile.penalty_curve().to_json()["pieces"][-1]["high"] is None
    assert profile.tolerance_curve().to_json()["trees"][-1] == profile.count


def test_mistakes_are_named():
    profile = small()
    with pytest.raises(adtc.ADTCError, match="unknown metric 'bacc'"):
        profile.moments("bacc")
    with pytest.raises(adtc.ADTCError, match="needs a step for at least one metric"):
        profile.rollup({})
    with pytest.raises(adtc.ADTCError, match="step of 'acc' is 0, expected a number above 0"):
        profile.rollup({"acc": 0})
    with pytest.raises(adtc.ADTCError, match="'x' is not a number"):
        profile.rollup({"acc": "x"})
    with pytest.raises(adtc.ADTCError, match="must not be negative"):
        profile.tolerance_curve("error - 100")
    with pytest.raises(adtc.ADTCError, match="expected a penalty of 0 or more"):
        profile.penalty_curve().at(-1)
    with pytest.raises(adtc.ADTCError, match="no tree exists"):
        profile.where("acc > 1").penalty_curve().at(1)


def test_moments_with_thousands_of_digits_can_be_shown():
    third = Fraction(10**6000, 3 * 10**6000 + 1)
    moments = Moments("f1", 5, 1, third, third, 0, 1)
    assert repr(moments).startswith("<Moments of f1 over 5 trees: mean 0.333333")
    assert moments.to_json()["mean"] == pytest.approx(1 / 3)
    assert "undefined" in repr(small().where("acc > 1").moments("acc"))


def test_a_best_of_zero_admits_only_zero():
    profile = small()
    best = profile.values("error").distinct[0]
    curve = profile.tolerance_curve(f"error - {best}")
    assert curve.best == 0
    assert curve.within(1000) == profile.where(f"error = {best}").count


@given(samples(), st.data())
@settings(max_examples=20)
def test_ambiguity_and_discrepancy_by_tolerance(sample, data):
    profile = sample.profile("error", "size")
    h0 = data.draw(baselines(sample.table))
    found = profile.multiplicity_curve(labels_of(sample.data, h0), objective="error + size")
    errors = [oracle.measure(t, sample.table).size + wrong(sample.table, t) for t in sample.trees]
    for at, tolerance in enumerate(found.tolerances):
        limit = min(errors) * (1 + tolerance)
        trees = [t for t, e in zip(sample.trees, errors, strict=True) if e <= limit]
        assert found.trees[at] == len(trees)
        changed = [
            {r for r, row in enumerate(sample.table.rows) if oracle.predict(t, row) != h0[r]}
            for t in trees
        ]
        total = sample.table.total
        people = [sum(map(sample.table.weight, rows)) for rows in changed]
        assert found.discrepancy[at] == Fraction(max(people), total)
        some = sum(map(sample.table.weight, set().union(*changed)))
        assert found.ambiguity[at] == Fraction(some, total)


def wrong(table: oracle.Table, tree: oracle.Tree) -> int:
    return sum(
        table.weight(r)
        for r, row in enumerate(table.rows)
        if oracle.predict(tree, row) != table.y[r]
    )


def test_few_of_many_tolerances():
    data = adtc.load_dataset("german-credit", nbins=2)
    good = adtc.profile(data, adtc.Space(2, relminsup="0.1"), ["error"], where="error <= 300")
    every = good.multiplicity_curve("class", steps=100)
    few = good.multiplicity_curve("class", steps=3)
    assert len(few.tolerances) == 3 < len(every.tolerances)
    curves = [zip(c.tolerances, c.ambiguity, c.discrepancy, strict=True) for c in (few, every)]
    assert set(curves[0]) <= set(curves[1])
    assert few.to_json()["trees"][-1] == good.count
    with pytest.raises(QueryError, match="steps is 0"):
        good.multiplicity_curve("class", steps=0)
