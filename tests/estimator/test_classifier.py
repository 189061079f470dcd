"""TreeSetClassifier picks the best tree by its rule and behaves as scikit-learn expects."""

import builtins
import pickle
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import adtc
from adtc import estimator
from adtc.algebra import trees
from adtc.engine.score import score
from adtc.errors import ADTCError, DataError, QueryError, UnknownColumnError, UnknownMetricError
from adtc.estimator import TreeSetClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(1)
Y = np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")

PEOPLE = {
    "age": [18, 25, 31, 38, 44, 52, 60, 67, 23, 35, 29, 41],
    "job": ["a", "b", "c", "a", "b", "c", "a", "c", "c", "b", "a", "a"],
    "sex": ["f", "m", "f", "m", "f", "m", "f", "m", "f", "m", "f", "m"],
    "owner": [True, False, True, False, True, True, False, True, False, True, False, True],
}
ANSWERS = [0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def small(**options):
    return TreeSetClassifier(**{"max_depth": 2, "nbins": 4, **options})


def test_the_best_tree_is_picked():
    fitted = small().fit(X, Y)
    best = adtc.optimize(fitted.model_.data, adtc.Space(max_depth=2))
    assert fitted.value_ == best.value == (fitted.predict(X) != Y).sum()
    assert fitted.model_.metrics("error") == {"error": fitted.value_}
    assert fitted.record_.question == {"ask": "optimize", "minimize": "error"}
    assert fitted.score(X, Y) == 1 - fitted.value_ / 60


def test_it_predicts_as_the_tree_does():
    fitted = small().fit(X, Y)
    codes = trees.predict(fitted.tree_, fitted.model_.data.dense())
    assert fitted.predict(X).tolist() == fitted.classes_[codes].tolist()
    shares = fitted.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    for leaf in range(fitted.model_.size):
        here = fitted.apply(X) == leaf
        assert shares[here][:, 1] == pytest.approx((Y[here] == "yes").mean())


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_with_categories(make):
    frame = make(PEOPLE)
    fitted = small(nbins=3).fit(frame, ANSWERS)
    same = small(nbins=3).fit(pd.DataFrame(PEOPLE).astype({"job": "category"}), ANSWERS)
    assert fitted.feature_names_in_.tolist() == list(PEOPLE)
    assert fitted.model_.feature_names == same.model_.feature_names
    assert "job = a" in fitted.model_.feature_names
    assert fitted.predict(frame).tolist() == same.predict(frame).tolist()
    assert fitted.value_ == (fitted.predict(frame) != ANSWERS).sum()


def test_a_new_category_matches_no_equals_test():
    frame = pd.DataFrame({"job": ["a", "b", "c"] * 4})
    fitted = small(max_depth=1).fit(frame, [1, 0, 0] * 4)
    assert fitted.model_.features == ("job = a",)
    assert fitted.predict(pd.DataFrame({"job": ["a", "zzz"]})).tolist() == [1, 0]


def test_missing_values_are_a_test_of_their_own():
    numbers = np.array([[1.0], [2.0], [np.nan], [3.0], [np.nan], [4.0]])
    fitted = small(max_depth=1).fit(numbers, [0, 0, 1, 0, 1, 0])
    assert fitted.model_.features == ("x0 is missing",)
    assert fitted.predict([[np.nan], [9.0]]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "classes", [["b", "a", " c"], [3, 7, -1], ["NA", "None", ""], [1.0, 2.0, 5.0]]
)
def test_classes_of_any_kind_come_back(classes):
    y = np.array(classes)[np.arange(60) % 3]
    fitted = small(max_depth=1).fit(X, y)
    assert fitted.classes_.tolist() == sorted(classes)
    assert fitted.predict(X).dtype == y.dtype
    assert set(fitted.predict(X)) <= set(y)


def test_weights_are_repetitions():
    weights = RNG.integers(0, 4, 60)
    weighted = small().fit(X, Y, sample_weight=weights)
    repeated = small().fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.model_.feature_names == repeated.model_.feature_names
    assert weighted.value_ == repeated.value_
    assert weighted.model_.nodes == repeated.model_.nodes


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(60, 0.5), r"'sample_weight' holds the fractional value 0\.5; weights are whole"),
        (np.full(60, -1), "sample weight is negative"),
    ],
)
def test_weights_are_whole_numbers(weights, message):
    with pytest.raises(DataError, match=message):
        small().fit(X, Y, sample_weight=weights)


def test_one_class_is_too_few():
    with pytest.raises(DataError, match=r"y has one class only \('yes'\)"):
        small().fit(X, ["yes"] * 60)


@pytest.mark.parametrize(("rows", "least"), [(7, 7), (0.25, 15), (np.int64(5), 5)])
def test_leaves_hold_enough_rows(rows, least):
    fitted = small(min_samples_leaf=rows).fit(X, Y)
    assert min(leaf.support for leaf in fitted.model_.leaves) >= least
    assert fitted.record_.conventions["min_rows_per_leaf"] == least


def test_an_objective_a_constraint_and_a_size():
    fitted = small(max_depth=3, optimize="max f1", where="recall <= 0.9", max_size=3).fit(X, Y)
    scores = fitted.model_.metrics("f1", "recall", "size")
    assert scores["f1"] == fitted.value_
    assert scores["recall"] <= Fraction(9, 10)
    assert scores["size"] <= 3
    terms = small(optimize="MINIMISE error + 5 * size").fit(X, Y)
    assert terms.value_ == terms.model_.metrics("error + 5 * size")["error + 5 * size"]


def test_the_positive_class_is_the_users_choice():
    fitted = small(optimize="max recall", where="size = 1", positive="no").fit(X, Y)
    assert fitted.model_.labels == ("yes", "no")
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert set(fitted.predict(X)) == {"no"}
    assert fitted.predict_proba(X)[0].tolist() == [(Y == "no").mean(), (Y == "yes").mean()]
    with pytest.raises(DataError, match="unknown class 'maybe'"):
        small(positive="maybe").fit(X, Y)


def test_of_three_classes_one_may_be_positive():
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    fitted = small(optimize="max recall", where="size = 1", positive="b").fit(X, y)
    assert set(fitted.predict(X)) == {"b"}
    assert fitted.predict_proba(X).shape == (60, 3)


def test_a_sensitive_column_is_no_feature_and_can_be_constrained():
    frame = pd.DataFrame(PEOPLE)
    fair = small(sensitive="sex", where="dp <= 0.2").fit(frame, ANSWERS)
    assert not any(name.startswith("sex") for name in fair.model_.feature_names)
    assert fair.model_.metrics("dp")["dp"] <= Fraction(1, 5)
    assert fair.model_.data.groups == ("f", "m")
    used = small(sensitive=2, use_sensitive=True).fit(frame, ANSWERS)
    assert "sex = m" in used.model_.feature_names
    with pytest.raises(UnknownColumnError, match="unknown column 'gender'"):
        small(sensitive="gender").fit(frame, ANSWERS)


def test_of_the_best_trees_the_smallest_is_taken():
    smallest = small(max_depth=3).fit(X[:20], Y[:20])
    data = smallest.model_.data
    best = adtc.profile(data, adtc.Space(max_depth=3), ["size", "error"]).where(
        f"error = {smallest.value_}"
    )
    assert smallest.model_.size == min(best.values("size").distinct)
    first = small(max_depth=3, tie="first").fit(X[:20], Y[:20])
    assert first.value_ == smallest.value_


def test_ties_are_broken_uniformly_by_the_seed():
    bits = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]])
    answers = [1, 1, 0, 0]
    picks = [
        small(max_depth=1, tie="random", random_state=seed).fit(bits, answers).tree_
        for seed in range(200)
    ]
    counts = Counter(trees.to_string(tree) for tree in picks)
    assert set(counts) == {"⟨f0, 1, 0⟩", "⟨f1, 1, 0⟩"}  # twins: each of the two is a tree
    assert abs(counts["⟨f0, 1, 0⟩"] - 100) < 35
    again = small(max_depth=1, tie="random", random_state=7).fit(bits, answers)
    assert again.tree_ == picks[7]
    assert again.record_.seed is not None


def test_where_no_tree_fits_the_error_says_what_could_be_reached():
    data = small().fit(X, Y).model_.data
    most = float(adtc.optimize(data, adtc.Space(max_depth=2), maximize="acc").value)
    with pytest.raises(QueryError, match=r"no tree satisfies where='acc >= 0\.999'; the nea") as e:
        small(where="acc >= 0.999").fit(X, Y)
    assert f"acc >= 0.999: at most {most:.4g}" in str(e.value)
    with pytest.raises(
        QueryError, match=r"acc >= 0\.999: at most .*; 2 > size: size is at least 1"
    ):
        small(where="acc >= 0.999 and 2 > size").fit(X, Y)


def test_an_objective_that_is_never_defined_is_named():
    with pytest.raises(QueryError, match="precision is undefined for every tree with"):
        small(optimize="max precision", where="N01 = 0 and N11 = 0").fit(X, Y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"optimize": "error"}, QueryError, "expected 'min' or 'max' and a metric"),
        ({"optimize": "min eror"}, UnknownMetricError, "Did you mean 'error'"),
        ({"tie": "best"}, QueryError, "tie is 'best', expected one of: smallest, first, random"),
        ({"max_depth": -1}, QueryError, "max_depth is -1"),
        ({"min_samples_leaf": "x"}, QueryError, "min_samples_leaf is 'x'"),
        ({"min_samples_leaf": 1.5}, QueryError, "relminsup is 1.5"),
        ({"min_samples_leaf": 61}, QueryError, "the table has only 60 rows"),
        ({"nbins": 1}, DataError, "nbins must be"),
        ({"binning": "x"}, DataError, "unknown binning 'x'"),
        ({"labels": "x"}, QueryError, "labels is 'x'"),
    ],
)
def test_bad_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        small(**options).fit(X, Y)


def test_the_profile_is_computed_when_asked_for_and_once():
    fitted = small(metrics=["size", "error"], where="error <= 10").fit(X, Y)
    assert "_profile" not in vars(fitted)
    profile = fitted.profile_
    assert profile.count == adtc.count(fitted.model_.data, adtc.Space(max_depth=2), "error <= 10")
    assert profile.names == ("size", "error")
    assert fitted.profile_ is profile
    assert fitted.fit(X, Y).profile_ is not profile


def test_before_fit_there_is_nothing():
    with pytest.raises(NotFittedError):
        small().predict(X)
    assert not hasattr(small(), "profile_")


def test_in_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(StandardScaler(), small())
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.7
    grid = {"treesetclassifier__max_depth": [0, 2], "treesetclassifier__min_samples_leaf": [1, 0.3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_params_["treesetclassifier__max_depth"] == 2
    assert set(search.predict(X)) <= {"yes", "no"}
    frames = GridSearchCV(small(nbins=3), {"max_depth": [1, 2]}, cv=2, error_score="raise")
    assert frames.fit(pd.DataFrame(PEOPLE), ANSWERS).best_score_ > 0.4


def test_clone_and_pickle():
    fitted = small(where="size <= 4").fit(X, Y)
    assert clone(fitted).get_params() == fitted.get_params()
    assert fitted.profile_.count > 0
    again = pickle.loads(pickle.dumps(fitted))
    assert type(again) is TreeSetClassifier
    assert "_profile" not in vars(again)
    assert again.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()
    assert again.profile_.count == fitted.profile_.count


def test_a_pickle_is_read_in_a_fresh_process(tmp_path):
    fitted = small().fit(X, Y)
    path = tmp_path / "fitted.pickle"
    path.write_bytes(pickle.dumps(fitted))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).predict([[9, 9, 9]])[0])"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "yes"


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    really = builtins.__import__

    def without(name, *rest):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ADTCError, match=r"needs scikit-learn: pip install 'adtc\[sklearn\]'"):
        estimator._join_bases.__wrapped__("TreeSetClassifier")
    with pytest.raises(AttributeError, match="has no attribute 'Tree'"):
        estimator.Tree  # noqa: B018


def test_importing_the_room_does_not_import_scikit_learn():
    code = "import sys, adtc.estimator; print('sklearn' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_its_trees_are_worth_what_it_says():
    fitted = small(optimize="max bacc").fit(X, Y)
    assert score(fitted.tree_, fitted.model_.data, ["bacc"]) == {"bacc": fitted.value_}


def test_a_frame_with_names_is_refused_as_a_table_is():
    frame = pd.DataFrame({"person": [f"P {i}" for i in range(60)], "x": X[:, 0]})
    with pytest.raises(DataError, match=r"column 'person' .* looks like an identifier"):
        small().fit(frame, Y)
    without = small().fit(frame.drop(columns="person"), Y)
    assert small(types={"person": "ignore"}).fit(frame, Y).value_ == without.value_
    kept = small(types={"person": "category"}).fit(frame, Y)
    assert "person" in {f.column for f in kept.model_.data.features}
    assert clone(kept).types == {"person": "category"}


def test_no_column_of_an_array_is_refused():
    rows = np.column_stack([np.arange(1200), np.arange(1200) % 7])
    y = (rows[:, 0] < 400).astype(int)
    assert small(max_depth=1).fit(rows, y).model_.data.n_features
    with pytest.raises(DataError, match="it numbers the rows from 0 to 1199"):
        small(max_depth=1).fit(pd.DataFrame(rows, columns=["case", "x"]), y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_of_objects_is_told_which_columns_were_expected():
    frame = pd.DataFrame(PEOPLE)
    fitted = small().fit(frame, ANSWERS)
    for ask in (fitted.predict, fitted.predict_proba, fitted.apply):
        with pytest.raises(DataError, match="give a frame with its columns age, job, sex, owner"):
            ask(frame.to_numpy())
    numbers = frame[["age", "owner"]].astype(int)
    fitted = small().fit(numbers, ANSWERS)
    asked = fitted.predict(numbers.to_numpy().astype(object))
    assert asked.tolist() == fitted.predict(numbers).tolist()
