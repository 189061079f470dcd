"""Profiles from drawn trees: what is proved holds, and intervals cover as often as they promise."""

import math

import pytest
from hypothesis import given, settings

import adtc
import oracle
from adtc.errors import QueryError
from test_agreement import questions

DATA = adtc.load_dataset("german-credit", nbins=2)
SPACE = adtc.Space(max_depth=3, relminsup=0.2)
METRICS = ["size", "acc", "dp"]
WHERE = "f1 + acc >= 1.3 and acc >= 0.6"  # the first part cannot be pushed


@settings(max_examples=25)
@given(questions(labels=(2,)))
def test_what_was_drawn_exists_and_what_was_not_good_does_not_count(question):
    if question.where is not None and ("support" in question.where or "depth" in question.where):
        return
    data, space = question.given
    found = adtc.estimate(data, space, ["error"], where=question.where, draws=20, seed=0).count
    assert len(question.good()) in found
    assert found.status in ("exact", "estimated")


def test_intervals_cover_all_cells_at_once_as_often_as_they_promise():
    """100 tables of 9 cells with 80 % confidence: as rarely wrong as 20 %, three sigmas aside."""
    exact = adtc.profile(DATA, SPACE, METRICS, where=WHERE)
    repetitions, confidence, wrong = 100, 0.8, 0
    bins = [0.5, 0.7, 0.72, 0.8], [0, 0.05, 0.1, 1]
    cells = exact.crosstab("acc", "dp", bins=bins)
    table = {
        (x.low, y.low): n
        for x, row in zip(cells.x_bins, cells.counts, strict=True)
        for y, n in zip(cells.y_bins, row, strict=True)
    }
    for seed in range(repetitions):
        found = adtc.estimate(
            DATA, SPACE, METRICS, where=WHERE, draws=200, confidence=confidence, seed=seed
        )
        drawn = found.crosstab("acc", "dp", bins=bins)
        assert exact.count in drawn.total
        missed = not covers(drawn.total, exact.count)
        for x, row in zip(drawn.x_bins, drawn.cells, strict=True):
            for y, cell in zip(drawn.y_bins, row, strict=True):
                truth = table.get((x.low, y.low), 0)
                assert truth in cell
                missed |= not covers(cell, truth)
        wrong += missed
    rare = 1 - confidence
    assert wrong <= repetitions * rare + 3 * math.sqrt(repetitions * rare * confidence)


def covers(found, number: int) -> bool:
    return found.status == "exact" or found.estimate.low <= number <= found.estimate.high


def test_one_interval_covers_as_often_as_it_promises():
    exact = adtc.count(DATA, SPACE, where=WHERE)
    found = [
        adtc.estimate(DATA, SPACE, ["acc"], where=WHERE, draws=60, confidence=0.7, seed=seed).count
        for seed in range(150)
    ]
    right = sum(covers(one, exact) for one in found)
    assert right >= 150 * 0.7 - 3 * math.sqrt(150 * 0.7 * 0.3)
    assert right < 150  # and they are no wider than that


def test_quantiles_lie_around_the_exact_ones():
    exact = adtc.profile(DATA, SPACE, ["acc"]).marginal("acc")
    found = adtc.estimate(DATA, SPACE, ["acc"], draws=2000, seed=3).quantiles("acc")
    for share, (value, low, high) in found.items():
        until, true = 0, None
        for one, trees in zip(exact.values, exact.trees, strict=True):
            until += trees
            if until >= share * sum(exact.trees):
                true = one
                break
        assert low <= value <= high
        assert low <= true <= high


def test_the_same_seed_draws_the_same_trees():
    one, same, other = (
        adtc.estimate(DATA, SPACE, METRICS, draws=50, seed=seed) for seed in (1, 1, 2)
    )
    assert str(one.crosstab("size", "acc")) == str(same.crosstab("size", "acc"))
    assert one.hits.column("acc").top.tolist() != other.hits.column("acc").top.tolist()
    assert (one.record.seed, one.record.status) == (1, "estimated")
    assert one.record.details["draws"] == 50


def test_the_number_of_all_trees_is_exact():
    found = adtc.estimate(DATA, SPACE, ["acc"], draws=10, seed=0)
    assert int(found.count) == adtc.count(DATA, SPACE)
    pushed = adtc.estimate(DATA, SPACE, ["acc"], where="acc >= 0.7", draws=10, seed=0)
    assert int(pushed.count) == adtc.count(DATA, SPACE, where="acc >= 0.7")


def test_no_hit_gives_an_upper_bound():
    where = "f1 + acc >= 1.96"
    assert adtc.count(DATA, SPACE, where=where) == 0
    found = adtc.estimate(DATA, SPACE, ["acc"], where=where, draws=100, seed=0)
    assert (found.count.lower, found.count.estimate.low) == (0, 0)
    assert 0 < found.count.estimate.high < found.pool / 20
    assert found.quantiles("acc") == {}
    assert found.crosstab("acc", "acc").total.estimate.high < found.pool / 10


def test_no_tree_to_draw_from():
    found = adtc.estimate(DATA, SPACE, ["acc"], where="acc >= 0.99", draws=100, seed=0)
    assert int(found.count) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"draws": 0}, "draws is 0, expected a whole number of at least 1"),
        ({"confidence": 1.0}, "confidence is 1.0, expected a number between 0 and 1"),
        ({"where": "depth = 2"}, "trees are drawn by the fast engine"),
        ({"metrics": ["support"]}, "trees are drawn by the fast engine"),
    ],
)
def test_bad_input_gets_one_sentence(options, sentence):
    with pytest.raises(QueryError, match=sentence):
        adtc.estimate(DATA, SPACE, **{"metrics": ["acc"], **options})


def test_the_oracle_agrees_on_the_pool():
    table = oracle.Table(rows=((0, 1), (1, 1), (1, 0), (0, 0)), y=(0, 1, 1, 0))
    data = adtc.Data.from_arrays(table.rows, table.y)
    found = adtc.estimate(data, adtc.Space(max_depth=2), ["error"], draws=500, seed=0)
    trees = oracle.good_trees(table, oracle.Space(max_depth=2))
    drawn = found.hits.values("error")
    assert found.pool == len(trees)
    assert set(drawn.distinct) == {metrics["error"] for _, metrics in trees}
