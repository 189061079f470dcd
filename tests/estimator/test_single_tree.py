"""Any tree becomes a fitted scikit-learn classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from adtc.algebra.trees import Leaf, Split
from adtc.data import Data
from adtc.errors import DataError
from adtc.estimator import TreeEstimator, as_estimator
from adtc.models import TreeModel

FRAME = pd.DataFrame({"age": [20, 30, 40, 50], "job": list("abba"), "y": ["n", "y", "y", "n"]})
NUMBERS = pd.DataFrame({"age": [20, 30, 40, 50], "pay": [1.5, 3, 2, 5], "y": [0, 1, 1, 1]})


def model(frame, name, **options):
    data = Data.from_frame(frame, target="y", **options)
    return TreeModel(Split(data.feature_names.index(name), Leaf(0), Leaf(1)), data)


def test_it_predicts_as_the_model():
    given = model(FRAME, "job = b")
    estimator = as_estimator(given)
    assert estimator.predict(FRAME).tolist() == given.predict(FRAME).tolist() == list("ynny")
    assert estimator.apply(FRAME).tolist() == [1, 0, 0, 1]
    assert estimator.score(FRAME, FRAME["y"]) == 0
    assert estimator.feature_names_in_.tolist() == ["age", "job"]


def test_arrays_are_read_in_the_order_of_the_columns():
    estimator = as_estimator(model(NUMBERS, "age <= 25"))
    array = NUMBERS[["age", "pay"]].to_numpy()
    assert estimator.predict(array).tolist() == [0, 1, 1, 1]
    assert estimator.predict_proba(array).tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]
    with pytest.raises(DataError, match="X has 1 columns, but the tree's table has 2: age, pay"):
        estimator.predict(array[:, :1])


def test_classes_are_sorted_whatever_class_is_positive():
    estimator = as_estimator(model(FRAME, "job = b", positive="n"))
    assert estimator.model.labels == ("y", "n")
    assert estimator.classes_.tolist() == ["n", "y"]
    shares = estimator.predict_proba(FRAME)
    assert shares.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert (estimator.classes_[shares.argmax(axis=1)] == FRAME["y"]).all()


def test_it_is_a_fitted_classifier_that_fit_leaves_alone():
    estimator = as_estimator(model(NUMBERS, "age <= 25"))
    check_is_fitted(estimator)
    assert is_classifier(estimator)
    copy = clone(estimator).fit(NUMBERS, 1 - NUMBERS["y"])
    assert copy.predict(NUMBERS).tolist() == [0, 1, 1, 1]
    again = pickle.loads(pickle.dumps(estimator))
    assert type(again) is TreeEstimator
    assert again.predict(NUMBERS).tolist() == [0, 1, 1, 1]


def test_in_a_pipeline_and_a_vote():
    estimator = as_estimator(model(NUMBERS, "age <= 25"))
    array, y = NUMBERS[["age", "pay"]].to_numpy(), NUMBERS["y"].to_numpy()
    assert make_pipeline(estimator).fit(array, y).predict(array).tolist() == [0, 1, 1, 1]
    vote = VotingClassifier([("a", estimator), ("b", estimator)], voting="soft").fit(array, y)
    assert np.array_equal(vote.predict(array), [0, 1, 1, 1])
