"""A front holds the points that no other point beats, with their trees."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_crosstab import PROFILES, small

import adtc
from adtc.profiles.pareto import undominated


def by_brute_force(points, signs):
    """Keep the points that no other one beats: compare all pairs."""

    def beats(a, b):
        return a != b and all(s * p >= s * q for s, p, q in zip(signs, a, b, strict=True))

    return {b for b in points if not any(beats(a, b) for a in points)}


@given(PROFILES, st.data())
@settings(max_examples=60)
def test_fronts_equal_brute_force(profile, data):
    chosen = data.draw(st.lists(st.sampled_from(profile.names), min_size=1, unique=True))
    cut = data.draw(st.integers(0, len(chosen)))
    front = profile.pareto(maximize=chosen[:cut], minimize=chosen[cut:])
    columns = [profile.values(name) for name in chosen]
    every = {tuple(c.distinct[c.codes[at]] for c in columns) for at in range(len(profile.trees))}
    signs = [1] * cut + [-1] * (len(chosen) - cut)
    expected = by_brute_force({point for point in every if None not in point}, signs)
    assert set(front.points) == expected
    assert len(front.points) == len(expected)
    for i, (point, trees) in enumerate(zip(front.points, front.trees, strict=True)):
        found = front.point(i)
        assert found.count == trees > 0
        for name, value in zip(chosen, point, strict=True):
            assert found.values(name).distinct == (value,)
    assert front.count == sum(front.trees)


@pytest.mark.parametrize("criteria", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("spread", [3, 12, 10_000])
def test_many_points_are_divided_rightly(criteria, spread):
    rng = np.random.default_rng(criteria)
    points = np.unique(rng.integers(0, spread, (600, criteria)), axis=0)
    kept = undominated(points)
    rows = [tuple(row) for row in points.tolist()]
    assert {row for row, keep in zip(rows, kept, strict=True) if keep} == by_brute_force(
        set(rows), [-1] * criteria
    )


def test_points_on_a_plane_all_stay():
    points = np.array(sorted((a, b, 40 - a - b) for a, b in product(range(20), range(20))))
    assert undominated(points).all()


def test_an_undefined_value_is_never_on_the_front():
    profile = small()
    front = profile.pareto(maximize="precision")
    assert front.points == ((profile.values("precision").distinct[-2],),)
    assert profile.values("precision").distinct[-1] is None
    undefined = profile.crosstab("precision", "size")
    last = undefined.select(len(undefined.x_bins) - 1, 0)
    assert last.count > 0
    assert last.pareto(maximize="precision", minimize="size").points == ()
    assert str(last.pareto(maximize="precision")) == "no tree has all criteria defined"


def test_an_empty_profile_has_an_empty_front():
    front = small().where("acc > 1").pareto(maximize="acc", minimize="dp")
    assert (front.points, front.trees, front.count) == ((), (), 0)


def test_points_come_best_first_and_as_text_and_json():
    front = small().pareto(maximize="acc", minimize="size")
    accuracies = [acc for acc, _ in front.points]
    assert accuracies == sorted(accuracies, reverse=True)
    lines = front.to_text().splitlines()
    assert "acc (max)" in lines[0]
    assert "size (min)" in lines[0]
    assert len(lines) == len(front) + 1
    json = front.to_json()
    assert json["count"] == front.count
    assert json["points"][0]["exact"]["acc"] == str(front.points[0][0])
    assert json["points"][0]["values"]["size"] == front.points[0][1]


def test_mistakes_are_named():
    profile = small()
    with pytest.raises(adtc.ADTCError, match="a front needs a criterion"):
        profile.pareto()
    with pytest.raises(adtc.ADTCError, match="'acc' is named twice"):
        profile.pareto(maximize="acc", minimize=["acc", "dp"])
    with pytest.raises(adtc.ADTCError, match="unknown metric 'bacc'"):
        profile.pareto(maximize="bacc")
    with pytest.raises(adtc.ADTCError, match=r"no point 99: the front has \d"):
        profile.pareto(maximize="acc").point(99)
