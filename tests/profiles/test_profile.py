"""A profile holds what the model tensor holds, and filters and projects like it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import adtc
from adtc.engine.exact.columns import Ratios, fractions
from adtc.engine.exact.limbs import counts_of
from adtc.engine.exact.values import distinct_values
from strategies import problems

METRICS = ["size", "error", "acc", "f1"]


def by_metrics(profile):
    """Write a profile as a model tensor."""
    columns = [profile.values(name) for name in profile.names]
    tensor = {}
    for at, trees in enumerate(counts_of(profile.trees)):
        index = tuple(values.distinct[values.codes[at]] for values in columns)
        tensor[index] = tensor.get(index, 0) + trees
    return tensor


@given(problems())
@settings(max_examples=60)
def test_a_profile_holds_the_model_tensor(problem):
    table, space = problem
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    space = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )
    names = METRICS[: 4 if data.positive is not None else 3]
    expected = adtc.model_tensor(data, space, names, engine="spec")
    for engine in ("fast", "spec"):
        profile = adtc.profile(data, space, names, engine=engine)
        assert by_metrics(profile) == expected
        assert profile.count == sum(expected.values())


def small():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 4))
    return adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(60) < 0.2), z=rng.integers(0, 2, 60))


def test_where_keeps_the_trees_that_a_question_counts():
    data, space = small(), adtc.Space(max_depth=2)
    profile = adtc.profile(data, space, ["size", "acc", "dp"])
    for formula in ("acc >= 0.7", "dp <= 0.1 and size <= 3", "acc * N >= 40", "not dp <= 1/3"):
        assert profile.where(formula).count == adtc.count(data, space, where=formula)


def test_a_filtered_profile_has_its_own_values():
    profile = adtc.profile(small(), adtc.Space(max_depth=2), ["size", "acc"])
    everything = by_metrics(profile)  # computes the values of all cells first
    part = profile.where("acc >= 0.6")
    assert by_metrics(part) == {i: n for i, n in everything.items() if i[1] >= Fraction(3, 5)}


def test_projecting_keeps_the_trees_and_takes_terms():
    profile = adtc.profile(small(), adtc.Space(max_depth=2), ["size", "error"])
    projected = profile.project("error + 2 * size")
    assert projected.names == ("error + 2 * size",)
    assert projected.count == profile.count
    sums = {e + 2 * s for s, e in by_metrics(profile)}
    assert set(projected.values("error + 2 * size").distinct) == sums


def test_an_unknown_metric_is_named_with_what_to_do():
    profile = adtc.profile(small(), adtc.Space(max_depth=1), ["size", "acc"])
    with pytest.raises(adtc.ADTCError, match=r"unknown metric 'f1'.*acc, size.*make it anew"):
        profile.where("f1 >= 0.5")


@pytest.mark.parametrize("metrics", ["acc", []])
def test_metrics_must_be_a_list(metrics):
    with pytest.raises(adtc.ADTCError, match="expected a list of one or more metrics"):
        adtc.profile(small(), adtc.Space(max_depth=1), metrics)


def test_values_that_floats_cannot_tell_apart_are_sorted_exactly():
    big = 10**17
    near = [Fraction(big + k, big + k + 1) for k in (5, 1, 3)]
    column = Ratios(
        np.array([v.numerator for v in near] + [0]), np.array([v.denominator for v in near] + [0])
    )
    found = distinct_values(column)
    assert found.distinct == (*sorted(near), None)
    assert [found.distinct[code] for code in found.codes] == fractions(column)


def test_the_number_of_rows_is_divided_exactly():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    assert found.where("1/3 / N >= 1/9").count == found.count
    assert found.where("size <= 1/3 / N").count == 0
