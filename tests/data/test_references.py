"""Decisions of a model in use, as a column that may spell the labels its own way."""

import json

import pytest

from adtc.data import Data
from adtc.data.store import data_from_json, data_to_json
from adtc.errors import DataError

AGES = [20, 30, 40, 50]
RISK = ["bad", "good", "good", "bad"]


def read(said, labels=None, target=RISK, **options):
    frame = {"age": AGES, "risk": target, "said": said}
    given = None if labels is None else {"said": labels}
    return Data.from_frame(
        frame, target="risk", references=["said"], reference_labels=given, **options
    )


@pytest.mark.parametrize(
    ("said", "spelled"),
    [
        (["good", "bad", "good", "bad"], ()),
        (["Good", "BAD ", "good", "bad."], (("BAD", 0), ("Good", 1), ("bad.", 0))),
        (["yes", "no", "yes", "no"], (("no", 0), ("yes", 1))),
        ([1, 0, 1, 0], (("0", 0), ("1", 1))),
        ([True, False, True, False], (("False", 0), ("True", 1))),
    ],
)
def test_other_spellings_are_read_and_told(said, spelled):
    data = read(said)
    assert data.references[0][1].tolist() == [1, 0, 1, 0]
    pairs = tuple((value.lower(), at) for value, at in dict(data.binarizer.spelled).get("said", ()))
    assert pairs == tuple((value.lower(), at) for value, at in spelled)


def test_what_a_value_stands_for_may_be_given():
    data = read(["Low", "Medium", "High", "Low"], {"Low": "good", "Medium": "bad", "High": "bad"})
    assert data.references[0][1].tolist() == [1, 0, 0, 1]
    assert dict(data.binarizer.spelled)["said"] == (("High", 0), ("Low", 1), ("Medium", 0))
    new = data.apply({"age": [20, 60], "risk": ["bad", "bad"], "said": ["High", "Low"]})
    assert new.references[0][1].tolist() == [0, 1]  # the same spellings hold there


def test_the_positive_label_is_the_yes():
    data = read(["yes", "no", "yes", "no"], positive="bad")
    assert data.labels == ("good", "bad")
    assert data.references[0][1].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("said", "labels", "message"),
    [
        (["1", "0", "1", "0"], {"1": "fine"}, "unknown label 'fine'"),
        (["good", "no", "good", "no"], None, "holds 'no' in row 2, .* --decision-label 'no=good'"),
        (["Low", "High", "Low", "High"], None, "holds 'Low' in row 1"),
        (["good", None, "bad", "bad"], None, "has 1 missing values"),
    ],
)
def test_what_is_not_certain_is_refused(said, labels, message):
    with pytest.raises(DataError, match=message):
        read(said, labels)


def test_labels_one_and_two_are_not_zero_and_one():
    with pytest.raises(DataError, match="holds '0' in row 2"):
        read([1, 0, 1, 0], target=[1, 2, 2, 1])


def test_labels_that_differ_in_case_alone_are_told_apart():
    data = read(["a", "A", "a", "A"], target=["a", "A", "A", "a"])
    assert [data.labels[code] for code in data.references[0][1]] == ["a", "A", "a", "A"]


def test_reference_labels_need_their_column():
    with pytest.raises(DataError, match="unknown reference column of reference_labels 'other'"):
        Data.from_frame(
            {"age": AGES, "risk": RISK}, target="risk", reference_labels={"other": {"x": "good"}}
        )


def test_spellings_are_saved():
    data = read(["yes", "no", "yes", "no"])
    saved, arrays = data_to_json(data)
    again = data_from_json(json.loads(json.dumps(saved)), arrays)
    assert again.binarizer.spelled == data.binarizer.spelled != ()
