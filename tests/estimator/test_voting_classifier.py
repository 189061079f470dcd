"""TreeSetClassifier(vote="all"): shares of good trees as probabilities, and when to abstain."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import adtc
from adtc.algebra.trees import predict
from adtc.errors import QueryError
from adtc.estimator import TreeSetClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)).round(1)
Y = np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")
NEW = RNG.normal(size=(20, 3)).round(1)
OPTIONS = {"max_depth": 2, "nbins": 3, "vote": "all", "tolerance": "2/3"}


def listed(fitted: TreeSetClassifier, rows: np.ndarray) -> np.ndarray:
    """Let the good trees predict one by one: votes per row and class."""
    good = [adtc.TreeModel(one.tree, fitted.model_.data) for one in fitted.good_.iterate()]
    said = np.stack([model.predict({f"x{i}": rows[:, i] for i in range(3)}) for model in good])
    return np.stack([(said == label).sum(axis=0) for label in fitted.classes_], axis=1)


@pytest.mark.parametrize("positive", [None, "no"])
def test_probabilities_are_shares_of_good_trees(positive):
    fitted = TreeSetClassifier(**OPTIONS, positive=positive).fit(X, Y)
    votes = listed(fitted, NEW)
    total = fitted.good_.count
    assert total > 10
    assert fitted.predict_proba(NEW).tolist() == (votes / total).tolist()
    assert fitted.predict(NEW).tolist() == fitted.classes_[votes.argmax(axis=1)].tolist()
    assert fitted.vote_shares(NEW).total == total


def test_good_trees_are_near_the_best():
    fitted = TreeSetClassifier(**OPTIONS).fit(X, Y)
    limit = fitted.value_ + Fraction(2, 3) * fitted.value_
    data, dense = fitted.model_.data, fitted.model_.data.dense()
    errors = [int((predict(one.tree, dense) != data.y).sum()) for one in fitted.good_.iterate()]
    assert min(errors) == fitted.value_
    assert max(errors) <= limit
    space = adtc.Space(max_depth=2)
    assert fitted.good_.count == adtc.count(data, space, where=f"error <= {limit}")
    most = TreeSetClassifier(**OPTIONS | {"optimize": "max f1"}).fit(X, Y)
    share = Fraction(1, 3) * most.value_
    assert most.good_.count == adtc.count(data, space, where=f"f1 >= {share}")
    both = TreeSetClassifier(**OPTIONS | {"tolerance": None, "where": "error <= 9"}).fit(X, Y)
    assert both.good_.count == adtc.count(data, space, where="error <= 9")


def test_abstaining_where_good_trees_disagree():
    fitted = TreeSetClassifier(**OPTIONS, abstain=0.9).fit(X, Y)
    V = fitted.good_.count
    votes = listed(fitted, NEW)
    agreeing = [Fraction(sum(int(v) * (int(v) - 1) for v in row), V * (V - 1)) for row in votes]
    said = fitted.predict(NEW)
    always = clone(fitted).set_params(abstain=None).fit(X, Y).predict(NEW)
    assert [one is None for one in said] == [share < Fraction(9, 10) for share in agreeing]
    assert 0 < sum(one is None for one in said) < len(NEW)
    assert all(a is None or a == b for a, b in zip(said, always, strict=True))


def test_a_pickled_classifier_votes_alike():
    fitted = TreeSetClassifier(**OPTIONS).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_proba(NEW).tolist() == fitted.predict_proba(NEW).tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vote": "most"}, "vote is 'most', expected one of: best, all"),
        ({"tolerance": -1}, "tolerance is -1, expected a share of at least 0"),
        ({"abstain": 2}, "abstain is 2, expected a share between 0 and 1"),
        ({"vote": "best", "abstain": 0.5}, "set vote='all'"),
    ],
)
def test_votes_that_cannot_be_meant(options, said):
    with pytest.raises(QueryError, match=said):
        TreeSetClassifier(**OPTIONS | options).fit(X, Y)
