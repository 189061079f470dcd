"""A table taken apart and put together again is the same table."""

import json
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings

import adtc
from adtc.data.store import data_from_json, data_to_json
from strategies import tables

FRAME = {
    "age": [20, 31, 45, 52, 38, 27],
    "work": ["a", "b", "c", "a", "b", "c"],
    "member": [0, 1, 1, 0, 1, 0],
    "group": ["x", "y", "y", None, "x", "y"],
    "times": [1, 2, 3, 0, 1, 1],
    "old": [True, False, True, False, True, True],
    "y": [True, False, True, True, False, True],
}


def framed(**options):
    return adtc.Data.from_frame(
        FRAME, target="y", sensitive="group", weights="times", references=["old"], **options
    )


def again(data):
    saved, arrays = data_to_json(data)
    copies = {name: array.copy() for name, array in arrays.items()}
    return data_from_json(json.loads(json.dumps(saved)), copies)


def assert_same(back, data):
    for field in fields(data):
        left, right = getattr(back, field.name), getattr(data, field.name)
        if field.name == "references":
            assert [name for name, _ in left] == [name for name, _ in right]
            left, right = ([codes for _, codes in pairs] for pairs in (left, right))
            assert all(map(np.array_equal, left, right))
        elif isinstance(right, np.ndarray):
            assert left.dtype == right.dtype
            assert np.array_equal(left, right)
        else:
            assert left == right
    assert back.fingerprint == data.fingerprint


@given(tables())
@settings(max_examples=40)
def test_tables_come_back(table):
    data = adtc.Data.from_arrays(
        table.rows, table.y, z=table.z, weights=table.weights, references=dict(table.references)
    )
    assert_same(again(data), data)
    assert_same(again(data.merged()), data.merged())


@pytest.mark.parametrize("options", [{}, {"numeric": "bins"}, {"onehot": "all", "nbins": 3}])
def test_a_loaded_table_reads_new_ones_alike(options):
    data = framed(**options)
    back = again(data)
    assert_same(back, data)
    other = {**FRAME, "age": [60, 30, 1, 44, None, 27], "work": ["a", "new", "c", "a", "b", None]}
    assert np.array_equal(back.binarize(other), data.binarize(other))
    assert back.apply(FRAME).fingerprint == data.apply(FRAME).fingerprint == data.fingerprint


def test_cuts_that_make_classes_and_groups_come_back():
    frame = {"x": [0, 1, 0, 1], "age": [20, 30, 40, 50], "pay": [1.5, 2.5, 9.5, 8.5]}
    cuts = {"age": [35], "pay": [5]}
    data = adtc.Data.from_frame(frame, target="pay", sensitive="age", cuts=cuts)
    assert_same(again(data), data)
    assert again(data).apply(frame).fingerprint == data.fingerprint


@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (0, 1), (0.0, 1.0), (False, True), (0.5, 2), (np.float64(0.1), np.float64(3))],
)
def test_labels_keep_their_types(labels):
    data = adtc.Data.from_arrays([[1], [0]], list(labels), labels=labels)
    back = again(data)
    for values in (back.labels, back.binarizer.target.values):
        assert [(type(v), v) for v in values] == [(type(v), v) for v in labels]
    assert back.fingerprint == data.fingerprint


def test_further_tables_are_kept():
    data = adtc.Data.from_frame(PEOPLE, target="y", sensitive="sex").with_table("test", OTHER)
    again = data_from_json(*data_to_json(data))
    assert again.fingerprint == data.fingerprint
    assert again.further("test").notes == data.further("test").notes != ()
    assert again.further("test").z.tolist() == [0, 2]  # the second row's group is unknown


PEOPLE = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "y": ["no", "yes", "yes", "no"]}
OTHER = {"age": [25, 45], "sex": ["f", "x"], "y": ["no.", "yes."]}
