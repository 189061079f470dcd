"""Votes of a profile's trees: which of them vote, on which rows, and what is refused."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

import adtc
import oracle
from adtc.errors import QueryError, UnknownColumnError
from adtc.profiles.people.voting import votes_of
from test_agreement import questions

TABLE = {
    "age": [20, 30, 40, 50, 25, 35, 45, 55],
    "town": ["a", "b", "a", "b", "c", "c", "a", "b"],
    "copy": ["x", "y", "x", "y", "x", "x", "x", "y"],  # y where the town is b
    "job": ["p", "p", "q", "q", "p", "q", "p", "q"],
    "y": ["no", "no", "yes", "yes", "no", "yes", "yes", "no"],
}


@pytest.fixture(scope="module")
def data():
    return adtc.Data.from_frame(TABLE, target="y", nbins=3)


@pytest.fixture(scope="module")
def profile(data):
    return adtc.profile(data, adtc.Space(max_depth=2), ["error", "size"], where="error <= 2")


def predicted(profile, rows) -> list[Counter]:
    """Let the trees of a profile predict one by one."""
    data = profile.source.data
    columns = [adtc.TreeModel(found.tree, data).predict(rows) for found in profile.iterate()]
    return [Counter(column.tolist()) for column in np.array(columns).T]


def check(votes, profile, rows):
    expected = [[seen[label] for label in ("no", "yes")] for seen in predicted(profile, rows)]
    assert votes.labels == ("no", "yes")
    assert votes.counts.tolist() == expected
    assert votes.total == votes.trees == profile.count
    assert votes.exact


def test_all_trees_vote_on_the_table(profile, data):
    check(votes_of(profile), profile, data)


def test_a_later_formula_chooses_who_votes(profile, data):
    some = profile.where("size <= 3 and error <= least(error) + 1")
    assert 0 < some.count < profile.count
    check(votes_of(profile, where="size <= 3 and error <= least(error) + 1"), some, data)


NEW = {
    "age": [22, 60, None],
    "town": ["b", "d", None],  # d was not there before
    "copy": ["x", "y", None],  # differs from the town, which it never did
    "job": ["q", None, "p"],
}


def test_new_rows_are_read_as_models_read_them(profile):
    check(votes_of(profile, frame=NEW), profile, NEW)


def test_a_table_with_the_same_features_will_do(profile, data):
    other = data.apply({**TABLE, "age": TABLE["age"][::-1]})
    check(votes_of(profile, frame=other), profile, other)


def test_only_tested_columns_are_needed(profile, data):
    best = profile.where("size <= 2")
    tested = {c for d in best.iterate() for c in adtc.TreeModel(d.tree, data).columns}
    rows = {name: values for name, values in NEW.items() if name in tested}
    assert len(rows) < len(NEW)
    check(votes_of(best, frame=rows), best, rows)
    with pytest.raises(UnknownColumnError, match=r"test the column 'age'.* columns are: job\."):
        votes_of(profile, frame={"job": ["p"]})


def test_other_features_are_refused(profile):
    other = adtc.Data.from_arrays([[1], [0]], [1, 0])
    with pytest.raises(QueryError, match="other features than the profile's table"):
        votes_of(profile, frame=other)


def test_a_loaded_profile_votes_if_it_has_its_circuit(profile, tmp_path):
    path = profile.save(tmp_path / "with.adtc", circuit=True)
    loaded = votes_of(adtc.load_profile(path), frame=NEW)
    assert loaded.counts.tolist() == votes_of(profile, frame=NEW).counts.tolist()
    path = profile.save(tmp_path / "without.adtc")
    with pytest.raises(QueryError, match=r"counting votes needs the circuit.*circuit=True"):
        votes_of(adtc.load_profile(path))


@pytest.mark.parametrize("metric", ["error", "acc"])
def test_gibbs_weights_favour_the_best(data, metric):
    profile = adtc.profile(data, adtc.Space(max_depth=2), [metric], where="error <= 2")
    votes = votes_of(profile, frame=NEW, gibbs=0.5)
    expected, total = np.zeros((3, 2)), 0.0
    scored = [(adtc.TreeModel(d.tree, data), d.metrics[metric]) for d in profile.iterate()]
    errors = [m if metric == "error" else 8 - 8 * m for _, m in scored]
    for (model, _), error in zip(scored, errors, strict=True):
        weight = math.exp(-0.5 * (error - min(errors)))
        total += weight
        expected[range(3), (model.predict(NEW) == "yes").astype(int)] += weight
    assert np.allclose(votes.counts, expected, rtol=1e-12)
    assert votes.total == pytest.approx(total)
    assert (votes.trees, votes.exact, votes.gibbs) == (profile.count, False, 0.5)


@pytest.mark.parametrize("beta", [-1, math.nan, math.inf])
def test_gibbs_weights_need_a_number(profile, beta):
    with pytest.raises(QueryError, match="gibbs is"):
        votes_of(profile, gibbs=beta)


def test_gibbs_weights_need_errors(data):
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size"])
    with pytest.raises(QueryError, match="'error' or 'acc' among its metrics"):
        votes_of(profile, gibbs=1)


def test_nobody_votes_where_no_tree_is_good(profile):
    for gibbs in (None, 1):
        votes = votes_of(profile, where="error < 0", gibbs=gibbs)
        assert (votes.total, votes.trees) == (0, 0)
        assert not votes.counts.any()


@given(questions(further=("test",)))
@settings(max_examples=30)
def test_rows_of_a_further_table_are_decided_as_a_listing_says(asked):
    """Its rows are others, so that twins on the table may differ there; formulas speak of both."""
    table, _ = asked.given
    profile = adtc.profile(*asked.given, ["error"], where=asked.where)
    if profile.source is None:
        return
    rows = dict(asked.table.further)["test"].rows
    counts = votes_of(profile, frame=table.further("test")).counts
    trees = [tree for tree, _ in asked.good()]
    for row, votes in zip(rows, counts.tolist(), strict=True):
        said = [oracle.predict(tree, row) for tree in trees]
        assert votes == [said.count(label) for label in range(asked.table.n_labels)]
