"""What good trees say about people, against the plain listing of all trees."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from voting_samples import Sample, baselines, labels_of, samples

import adtc
import oracle
from adtc.algebra.trees import Leaf, Split
from adtc.errors import DataError, QueryError


def small() -> adtc.Profile:
    """Three rows of which 3 of 6 trees err at most once."""
    data = adtc.Data.from_arrays([[1], [1], [0]], ["y", "y", "n"], z=["a", "b", "b"])
    return adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")


@given(samples())
@settings(max_examples=25)
def test_votes_shares_and_variance(sample):
    votes, expected = sample.profile().vote_shares(), sample.votes()
    V = len(sample.trees)
    assert (votes.total, votes.status) == (V, "exact")
    assert votes.counts.tolist() == expected
    for code, label in enumerate(sample.data.labels):
        measure, spread = votes.share(label), votes.variance(label)
        if not V:
            assert {measure.overall, *measure.values} == {None}
            assert np.isnan(measure.floats).all()
            continue
        own = [Fraction(row[code], V) for row in expected]
        for found, values in ((measure, own), (spread, [p * (1 - p) for p in own])):
            assert list(found.values) == values
            assert found.floats.tolist() == [float(p) for p in values]
            assert found.overall == sample.mean(values)
            assert list(found.by_group.values()) == sample.by_group(values)


@given(samples(), st.data())
@settings(max_examples=25)
def test_conflict_and_ambiguity(sample, data):
    h0 = data.draw(baselines(sample.table))
    delta = data.draw(st.sampled_from([0, "1/3", 0.5, 1]))
    votes, V = sample.profile().vote_shares(), len(sample.trees)
    given_labels = labels_of(sample.data, h0)
    found = votes.ambiguity(given_labels, delta)
    if not V:
        assert (found.overall, found.count, len(found.rows)) == (None, None, 0)
        return
    ratios = [
        Fraction(sum(oracle.predict(t, row) != h for t in sample.trees), V)
        for row, h in zip(sample.table.rows, h0, strict=True)
    ]
    conflict = votes.conflict(given_labels)
    assert list(conflict.values) == ratios
    assert conflict.overall == sample.mean(ratios)
    over = [int(ratio > Fraction(str(delta))) for ratio in ratios]
    assert found.rows.tolist() == [r for r, one in enumerate(over) if one]
    assert found.overall == sample.mean(list(map(Fraction, over)))
    assert list(found.by_group.values()) == sample.by_group(list(map(Fraction, over)))


@given(samples(), st.sampled_from([0, "2/3", 0.75, 1]))
@settings(max_examples=25)
def test_consistency_and_disagreement(sample, kappa):
    """Pairs of trees one by one; V = 1 has no pair of different trees and is consistent."""
    votes, V = sample.profile().vote_shares(), len(sample.trees)
    assume(0 < V <= 150)
    said = [[oracle.predict(t, row) for t in sample.trees] for row in sample.table.rows]
    with_self = [Fraction(sum(a != b for a in row for b in row), V * V) for row in said]
    apart = [
        Fraction(sum(row[i] != row[j] for i in range(V) for j in range(V) if i != j), V * (V - 1))
        if V > 1
        else Fraction(0)
        for row in said
    ]
    assert list(votes.expected_disagreement().values) == with_self
    assert list(votes.expected_disagreement(with_repetition=False).values) == apart
    consistency = [1 - one for one in apart]
    assert list(votes.self_consistency().values) == consistency
    assert votes.self_consistency().overall == sample.mean(consistency)
    silent = [one < Fraction(str(kappa)) for one in consistency]
    abstained = votes.abstain(kappa)
    assert abstained.marked.tolist() == silent
    labels = sample.data.labels
    majority = [labels[max(range(len(labels)), key=lambda c: (row.count(c), -c))] for row in said]
    expected = [None if gone else one for gone, one in zip(silent, majority, strict=True)]
    assert list(abstained.decisions) == expected
    assert votes.disputed().marked.tolist() == [len(set(row)) > 1 for row in said]


@given(samples(), st.integers(1, 4))
@settings(max_examples=30)
def test_contested(sample, n):
    votes, V = sample.profile().vote_shares(), len(sample.trees)
    cases = votes.contested(n)
    counts = sample.votes()
    worth = {}  # by what trees can see
    for r, row in enumerate(sample.table.rows):
        worth.setdefault(row, (V * V - sum(v * v for v in counts[r]), []))[1].append(r)
    ranked = sorted((-w, rows) for w, rows in worth.values() if w)
    assert [list(case.rows) for case in cases] == [rows for _, rows in ranked[:n]]
    assert [case.disagreement for case in cases] == [Fraction(-w, V * V) for w, _ in ranked[:n]]
    for case in cases:
        assert case.people == sum(sample.table.weight(r) for r in case.rows)
        assert len(case.features) == sample.table.n_features


def test_part_of_the_good_trees_votes():
    profile = small()
    assert profile.vote_shares(where="error = 0").counts.tolist() == [[0, 1], [0, 1], [1, 0]]
    assert profile.where("error = 0").vote_shares().total == 1


def test_new_rows_and_their_groups():
    data = adtc.Data.from_frame(
        {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "y": ["n", "n", "p", "p"]},
        target="y", sensitive="sex",
    )  # fmt: skip
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error = 0")
    votes = profile.vote_shares({"age": [10, 60, None], "sex": ["m", "x", None]})
    assert votes.share().values == (0, 1, 1)  # nothing is known to be <= a cut where it is missing
    assert list(votes.people.groups) == ["f", "m", "(missing)", "x"]
    assert votes.share().by_group == {"f": None, "m": 0, "(missing)": 1, "x": 1}
    assert votes.conflict(["n", "n", "n"]).values == (0, 1, 1)
    tree = Split(1, Leaf(0), Leaf(1))  # age <= 35
    assert data.feature_names[1] == "age <= 35"
    assert votes.conflict(tree).values == (0, 0, 0)
    named = profile.vote_shares(pa.table({"age": [10, 60], "old": ["p", "p"]}))
    assert named.conflict("old").values == (1, 0)
    assert named.people.groups == ()
    again = profile.vote_shares(data)
    assert again.counts.tolist() == profile.vote_shares().counts.tolist()


def test_the_target_a_reference_or_a_drawn_tree_is_a_baseline():
    table = oracle.Table(((1,), (1,), (0,)), (1, 1, 0), references=(("old", (0, 1, 1)),))
    sample = Sample(table, oracle.Space(1), "error <= 1")
    profile = sample.profile()
    votes = profile.vote_shares()
    assert votes.conflict("y").values == (0, 0, Fraction(2, 3))
    assert votes.conflict("old").values == (1, 0, Fraction(1, 3))
    best = profile.best(1, minimize="error")[0]
    for tree in (best, best.tree, best.model):
        assert votes.conflict(tree).values == (0, 0, Fraction(2, 3))


def test_people_count_by_weight():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0], weights=[1, 2, 7])
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    found = profile.where("error <= 3").vote_shares()
    assert found.total == 3  # always 0, with a split and without; the right one
    assert found.conflict([1, 1, 0]).overall == Fraction(3 * 2, 10 * 3)


def test_gibbs_weights_are_floats():
    profile = small()
    votes = profile.vote_shares(gibbs=0.7)
    one = np.exp(-0.7)
    assert votes.total == pytest.approx(1 + 2 * one)
    assert not votes.exact
    p = 2 * one / (1 + 2 * one)
    assert votes.share("y").values[2] == pytest.approx(p)
    assert votes.self_consistency().values[2] == pytest.approx(p * p + (1 - p) ** 2)
    assert votes.conflict(["y", "y", "y"]).above(0).rows.tolist() == [2]
    with pytest.raises(QueryError, match="with repetition"):
        votes.expected_disagreement(with_repetition=False)
    assert votes.table["votes[y]"].type == pa.float64()


def test_nobody_votes():
    """An empty good set is an answer, and nothing is divided by zero."""
    votes = small().where("error < 0").vote_shares()
    assert votes.total == 0
    assert "nobody votes" in votes.to_text()
    assert "undefined" in votes.to_text()
    assert votes.abstain(0.5).decisions == (None,) * 3
    assert votes.abstain(0.5).overall is None
    assert str(votes.contested()) == "nobody is contested"
    assert votes.expected_disagreement(with_repetition=False).overall is None
    assert votes.table["share[y]"].null_count == 3
    assert votes.to_json()["summary"]["disputed"]["overall"] is None


def test_table_text_and_notebook():
    votes = small().vote_shares()
    table = votes.table
    assert table.column_names == [
        "row", "weight", "group", "votes[n]", "share[n]", "votes[y]", "share[y]",
        "self_consistency",
    ]  # fmt: skip
    assert table["votes[y]"].to_pylist() == ["3", "3", "2"]
    assert table["group"].to_pylist() == ["a", "b", "b"]
    assert b'"votes"' in table.schema.metadata[b"adtc_record"]
    assert "3 good trees vote on 3 rows" in str(votes)
    assert "<table" in votes._repr_html_()
    assert "<table" in votes.share()._repr_html_()
    assert votes.record.question == {"ask": "votes", "metrics": ["error"], "where": "error <= 1"}
    assert votes.to_json()["positive"] == [3, 3, 2]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda v: v.ambiguity("y", 1.5), "delta is 1.5, expected a share between 0 and 1"),
        (lambda v: v.ambiguity("y", "many"), "is not a number"),
        (lambda v: v.abstain(-0.1), "kappa is -0.1, expected a share between 0 and 1"),
        (lambda v: v.conflict(["y", "n", "maybe"]), "'maybe' in row 3, which is no label"),
        (lambda v: v.conflict(["y", None, "n"]), "'None' in row 2, which is no label"),
        (lambda v: v.conflict(["y"]), "1 predictions, but there are 3 rows"),
        (lambda v: v.conflict("old"), "--reference 'old'"),
        (lambda v: v.share("perhaps"), "unknown label 'perhaps'"),
        (lambda v: v.contested(0), "n is 0, expected a whole number of at least 1"),
    ],
)
def test_mistakes_are_told(ask, said):
    with pytest.raises((QueryError, DataError), match=said):
        ask(small().vote_shares())


def test_three_classes_need_a_label():
    data = adtc.Data.from_arrays([[1], [0], [0]], [0, 1, 2])
    votes = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).vote_shares()
    with pytest.raises(QueryError, match="3 classes and none was named as positive"):
        votes.variance()
    assert votes.variance(2).values == (Fraction(2, 9),) * 3
    assert "vote share" not in str(votes)
