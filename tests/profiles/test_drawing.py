"""Trees of a profile: uniform, reproducible, numbered, and as good as their cells say."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import adtc
import oracle
from adtc.algebra.forests import Forest
from adtc.algebra.semirings import counting_draw
from adtc.algebra.trees import Leaf, Split, predict, to_string
from adtc.engine.score import score
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from adtc.profiles import drawing, numbered
from strategies import problems


def table(rows: int = 60, features: int = 4) -> adtc.Data:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, features))
    y = X[:, 0] ^ (rng.random(rows) < 0.2)
    return adtc.Data.from_arrays(X, y, z=rng.integers(0, 2, rows))


@pytest.fixture(scope="module")
def profile():
    return adtc.profile(table(), adtc.Space(max_depth=2), ["size", "acc", "dp"])


def deviation(observed: Counter, possible: int) -> float:
    """Measure by how many standard deviations the chi-square statistic exceeds its mean."""
    expected = observed.total() / possible
    statistic = sum((n - expected) ** 2 / expected for n in observed.values())
    statistic += (possible - len(observed)) * expected
    return (statistic - (possible - 1)) / math.sqrt(2 * (possible - 1))


# --- uniform ------------------------------------------------------------------------------------


def test_both_ways_of_drawing_are_uniform_over_the_same_trees():
    """From the circuit by rank, and by the paper's product semiring N × T."""
    data = adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [0, 0], [1, 1]], [1, 1, 0, 0, 0])
    space, where = adtc.Space(max_depth=2), "error <= 2 and size <= 3"
    found = adtc.profile(data, space, ["size", "error"], where=where)
    every = {drawn.tree for drawn in found.iterate()}
    assert len(every) > 10
    n = 20 * len(every)
    by_rank = Counter(drawn.tree for drawn in found.draw(n, seed=1))
    semiring = counting_draw(np.random.default_rng(1))
    drawn = [adtc.evaluate(data, space, semiring, where=where) for _ in range(n)]
    by_semiring = Counter(one.tree for one in drawn)
    assert {one.count for one in drawn} == {len(every)}
    for observed in (by_rank, by_semiring):
        assert set(observed) <= every
        assert abs(deviation(observed, len(every))) < 4


def test_a_million_drawn_trees_are_uniform():
    found = adtc.profile(table(), adtc.Space(max_depth=2, max_size=3), ["error"])
    assert 200 < found.count < 1000
    observed = Counter(drawn.rank for drawn in found.draw(1_000_000, seed=3))
    assert abs(deviation(observed, found.count)) < 4


def test_trees_of_a_formula_are_uniform_and_keep_their_ranks(profile):
    part = profile.where("acc >= 0.7 and dp <= 0.2")
    assert 20 < part.count < profile.count
    drawn = profile.draw(60 * part.count, where="acc >= 0.7 and dp <= 0.2", seed=4)
    assert abs(deviation(Counter(one.tree for one in drawn), part.count)) < 4
    for one in drawn[:50]:
        assert one.metrics["acc"] >= Fraction(7, 10)
        assert one.metrics["dp"] <= Fraction(1, 5)
        assert profile.tree(one.rank).tree == one.tree
        assert part.tree(part.rank(one)).tree == one.tree


def test_a_seed_draws_the_same_trees_again(profile):
    first, again = profile.draw(20, seed=5), profile.draw(20, seed=5)
    assert [one.tree for one in first] == [one.tree for one in again]
    assert {one.seed for one in first} == {5}
    assert [one.rank for one in profile.draw(20, seed=6)] != [one.rank for one in first]
    fresh = profile.draw(20)
    (seed,) = {one.seed for one in fresh}
    assert [one.rank for one in profile.draw(20, seed=seed)] == [one.rank for one in fresh]
    assert profile.draw(20)[0].seed != seed


# --- ranks --------------------------------------------------------------------------------------


@given(problems())
@settings(max_examples=30)
def test_ranks_run_over_all_good_trees(problem):
    small, space = problem
    data = adtc.Data.from_arrays(small.rows, small.y, z=small.z, weights=small.weights)
    asked = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(small),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
        min_leaf_share=space.min_leaf_share,
    )
    found = adtc.profile(data, asked, ["size", "error"], engine="fast")
    every = list(found.iterate())
    assert [one.rank for one in every] == list(range(found.count))
    assert [found.rank(one.tree) for one in every] == list(range(found.count))
    assert len({one.tree for one in every}) == found.count
    assert found.count == sum(1 for _ in oracle.good_trees(small, space, None))
    for one in every[:: max(1, len(every) // 7)]:
        assert found.tree(one.rank) == one
        assert dict(one.metrics) == score(one.tree, data, ["size", "error"])


def test_ranks_of_a_filtered_profile_run_over_its_own_cells(profile):
    part = profile.where("size = 3")
    assert [one.rank for one in part.iterate()] == list(range(part.count))
    assert {one.metrics["size"] for one in part.iterate()} == {3}
    assert part.rank(part.tree(7)) == 7
    with pytest.raises(QueryError, match=r"not in this profile.*size = 1, acc = "):
        part.rank(Leaf(0))


def test_a_tree_tells_its_place_within_its_cell(profile):
    groups = itertools.groupby(profile.iterate(), lambda one: one.rank - one.cell_rank)
    counts = []
    for _, group in groups:
        cell = list(group)
        assert [one.cell_rank for one in cell] == list(range(len(cell)))
        assert {one.cell_count for one in cell} == {len(cell)}
        counts.append(len(cell))
    assert counts == profile.trees[:, 0].tolist()


def test_iteration_starts_and_stops_anywhere(profile):
    every = [one.tree for one in profile.iterate()]
    for start, stop in ((0, 5), (100, 1300), (profile.count - 3, None), (7, 7), (9, 3)):
        assert [one.tree for one in profile.iterate(start, stop)] == every[start:stop]
    assert list(profile.iterate(profile.count)) == []


def test_numbers_beyond_64_bits():
    data = table(150, 14)
    found = adtc.profile(data, adtc.Space(max_depth=5), ["acc"], where="acc >= 0.5")
    assert found.count > 2**64
    for rank in (0, found.count // 2, found.count - 1):
        one = found.tree(rank)
        assert found.rank(one) == rank == one.rank
        assert dict(one.metrics) == score(one.tree, data, ["acc"])
    some = found.draw(20, where="acc >= 0.8", seed=0)
    assert min(one.metrics["acc"] for one in some) >= Fraction(4, 5)
    assert [found.rank(one) for one in some] == [one.rank for one in some]


@pytest.mark.parametrize(
    "switches",
    [
        Switches(push=False, dense=False),
        Switches(combine=False, merge_rows=True),
        Switches(merge_features=False),
    ],
)
def test_switches_do_not_change_which_trees_there_are(switches):
    data, space, where = table(), adtc.Space(max_depth=2), "acc >= 0.7"
    trees = [
        {one.tree for one in adtc.profile(data, space, ["acc"], where=where, switches=s).iterate()}
        for s in (Switches(), switches)
    ]
    assert trees[0] == trees[1]
    assert len(trees[0]) > 10


# --- chosen trees -------------------------------------------------------------------------------


def test_the_best_trees_come_first_and_ties_in_rank_order(profile):
    every = list(profile.iterate())
    expected = sorted(every, key=lambda one: (-one.metrics["acc"], one.rank))
    assert profile.best(40, maximize="acc") == expected[:40]
    expected = sorted(every, key=lambda one: (one.metrics["dp"] + one.metrics["size"], one.rank))
    assert profile.best(40, minimize="dp + size") == expected[:40]
    assert len(profile.where("size = 1").best(9, minimize="acc")) == 2


def test_undefined_trees_are_never_the_best():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    found = adtc.profile(data, adtc.Space(max_depth=1), ["precision"])
    defined = sum(1 for one in found.iterate() if one.metrics["precision"] is not None)
    assert 0 < defined < found.count
    for goal in ({"minimize": "precision"}, {"maximize": "precision"}):
        best = found.best(found.count, **goal)
        assert len(best) == defined
        assert None not in {one.metrics["precision"] for one in best}


def test_spread_trees_are_far_apart(profile):
    picked = profile.spread(4, by=["acc", "size"])
    points = [(float(one.metrics["acc"]), one.metrics["size"]) for one in picked]
    assert len(set(points)) == 4
    assert picked[0].cell_count == max(profile.trees[:, 0])
    values = np.array([[float(v) for v in (one.metrics["acc"], one.metrics["size"])]
                       for one in profile.iterate()])  # fmt: skip
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    scaled, chosen = (values - low) / width, (np.array(points) - low) / width
    for k in range(1, 4):  # each is as far from those before as any tree is
        least = np.linalg.norm(scaled[:, None] - chosen[None, :k], axis=2).min(axis=1)
        assert np.linalg.norm(chosen[k] - chosen[:k], axis=1).min() == pytest.approx(least.max())
    assert len(profile.spread(99, by=["size"])) == 4
    assert profile.where("size = 9").spread(2) == []


def test_different_trees_predict_differently(profile):
    picked = profile.different(4, seed=1, among=50)
    X = table().dense()
    predictions = [predict(one.tree, X) for one in picked]
    distances = [int((a != b).sum()) for a, b in itertools.combinations(predictions, 2)]
    drawn = profile.draw(50, seed=1)
    assert picked[0] == drawn[0]
    farthest = max(int((predict(one.tree, X) != predictions[0]).sum()) for one in drawn)
    assert distances[0] == farthest
    assert min(distances) > 0
    assert len(profile.where("size = 1").different(5, seed=0)) == 2


# --- the same for ever ----------------------------------------------------------------------------

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "draws.json").read_text("utf-8"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["name"])
def test_seeds_and_ranks_lead_to_the_same_trees_for_ever(kept):
    """Users keep them: recorded when walks down the circuit were plain Python."""
    data = adtc.Data.from_arrays(
        [list(map(int, row)) for row in kept["X"].split()],
        list(map(int, kept["y"])),
        z=None if kept["z"] is None else list(map(int, kept["z"])),
        weights=kept["weights"],
    )
    space = adtc.Space(**kept["space"])
    found = adtc.profile(data, space, kept["metrics"], where=kept["where"])
    assert str(found.count) == kept["count"]
    drawn = found.draw(len(kept["drawn"]), seed=kept["seed"])
    assert [[str(one.rank), to_string(one.tree)] for one in drawn] == kept["drawn"]
    start = int(kept["listed"][0][0])
    listed = list(found.iterate(start, start + len(kept["listed"])))
    assert [[str(one.rank), to_string(one.tree)] for one in listed] == kept["listed"]
    assert [found.rank(one) for one in (*drawn, *listed)] == [o.rank for o in (*drawn, *listed)]


# --- checks and errors --------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [Split(0, Leaf(0), Leaf(1)), Leaf(0)])
def test_a_tree_that_is_not_as_good_as_its_cell_is_never_returned(wrong, monkeypatch):
    found = adtc.profile(table(), adtc.Space(max_depth=1), ["error"])
    best = found.best(1, minimize="error")
    assert best[0].tree != wrong
    monkeypatch.setattr(numbered.Ranks, "unrank_many", lambda self, keys, ranks: Forest.of([wrong]))
    with pytest.raises(
        RuntimeError, match=rf"error = \d+ on the data.*says {best[0].metrics['error']}"
    ):
        found.best(1, minimize="error")


def test_a_tree_that_breaks_the_constraint_is_never_returned(monkeypatch):
    found = adtc.profile(table(), adtc.Space(max_depth=1), ["size"], where="acc >= 0.75")
    worst = Split(0, Leaf(0), Leaf(1))
    monkeypatch.setattr(numbered.Ranks, "unrank_many", lambda self, keys, ranks: Forest.of([worst]))
    with pytest.raises(RuntimeError, match="on the data it does not"):
        found.tree(0)


def test_weighted_rows_are_scored_by_weight():
    X = np.random.default_rng(1).integers(0, 2, (30, 3))
    weights = np.arange(30) % 5
    data = adtc.Data.from_arrays(X, X[:, 0], weights=weights)
    found = adtc.profile(data, adtc.Space(max_depth=2), ["error", "f1"])
    for one in found.draw(30, seed=0):
        assert dict(one.metrics) == score(one.tree, data, ["error", "f1"])


def test_projected_metrics_are_shown(profile):
    (one,) = profile.project("acc * 60 + size").draw(1, seed=0)
    full = profile.tree(one.rank)
    assert dict(one.metrics) == {"acc * 60 + size": full.metrics["acc"] * 60 + full.metrics["size"]}


def test_profiles_of_one_run_share_the_walk():
    found = adtc.profile(table(), adtc.Space(max_depth=1), ["size"])
    found.draw(1)
    tools = found.source.kept["tools"]
    part = found.where("size = 2")
    part.draw(1)
    assert part.source.kept["tools"] is tools


def test_a_drawn_tree_is_a_model():
    data = table()
    drawn = adtc.profile(data, adtc.Space(max_depth=2), ["size", "acc"]).draw(1, seed=3)[0]
    assert drawn.model.metrics("size", "acc") == drawn.metrics
    assert sum(rule.support for rule in drawn.model.rules()) == data.total


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda p: p.draw(0), "n is 0, expected a whole number of at least 1"),
        (lambda p: p.draw(1.5), "n is 1.5"),
        (lambda p: p.draw(1, seed=-1), "seed is -1"),
        (lambda p: p.draw(1, where="acc > 1"), "no tree satisfies 'acc > 1'"),
        (lambda p: p.draw(1, where="f1 > 1"), "unknown metric 'f1'"),
        (lambda p: p.where("acc > 1").draw(), "no tree satisfies the constraints of this profile"),
        (lambda p: p.where("acc > 1").tree(0), "the profile holds no tree"),
        (lambda p: p.where("size = 1").tree(12), "rank 12 .* there are 2 trees, ranks 0 to 1"),
        (lambda p: p.where("size = 1").tree(-1), "rank -1 .* ranks 0 to 1"),
        (lambda p: p.where("size = 1 and acc > 1/2").tree(1), "there is 1 tree, rank 0"),
        (lambda p: p.tree("first"), "rank is 'first', expected a whole number"),
        (lambda p: p.iterate(10**9), r"start 1,000,000,000 .* ranks 0 to"),
        (lambda p: p.rank(Leaf(7)), "not among the good trees: a leaf has the label 7"),
        (lambda p: p.best(0, minimize="acc"), "k is 0"),
        (lambda p: p.best(1), "either minimize"),
        (lambda p: p.best(1, minimize="acc", maximize="acc"), "not both"),
        (lambda p: p.spread(2, by="acc"), "expected a list of metrics"),
        (lambda p: p.different(2, among=0), "n is 0"),
        (lambda p: replace(p, source=None).draw(), "drawing needs the circuit"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(profile, call, why):
    with pytest.raises(QueryError, match=why):
        call(profile)


def test_a_profile_of_the_specification_engine_has_no_circuit():
    found = adtc.profile(table(), adtc.Space(max_depth=1), ["size"], engine="spec")
    with pytest.raises(QueryError, match="drawing needs the circuit"):
        drawing.draw(found)
