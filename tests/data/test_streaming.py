"""A streamed table is the table in memory with equal rows merged, whatever the batches are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.data import Data
from adtc.data.description import describe_sheet
from adtc.data.sheet import frame_sheet
from adtc.data.stream.batches import TableBatches
from adtc.data.stream.ranks import Buckets, keys_of, values_of
from adtc.data.stream.streaming import stream_sheet
from adtc.data.warnings import table_warnings
from adtc.errors import DataError

CELLS = {
    "whole": st.integers(-3, 5),
    "large": st.sampled_from([0, 2**53 + 1, 2**60, -(2**40)]),
    "real": st.sampled_from([0.0, -0.0, 0.1, 0.3, 1e300, -2.5, float("nan")]),
    "truth": st.booleans(),
    "bit": st.integers(0, 1),
    "text": st.sampled_from(["a", " a", "b", "B", "?", "", "NA", "ä"]),
    "digits": st.sampled_from(["1", "1.0", "2", " 3", "?", "x"]),
    "number": st.sampled_from(["1", "1.0", "2", " 3", "1e2", ""]),
    "yes": st.sampled_from(["true", "false", "True", ""]),
}


@st.composite
def tables(draw, kinds=tuple(CELLS), missing=True):
    n = draw(st.integers(2, 24))
    columns = {}
    for i in range(draw(st.integers(1, 4))):
        cell = CELLS[draw(st.sampled_from(kinds))]
        values = st.one_of(cell, st.none()) if missing and draw(st.booleans()) else cell
        columns[f"c{i}"] = draw(st.lists(values, min_size=n, max_size=n))
    columns["y"] = draw(st.lists(st.sampled_from(["no", "yes"]), min_size=n, max_size=n))
    columns["z"] = draw(st.lists(st.sampled_from(["m", "f", None]), min_size=n, max_size=n))
    columns["w"] = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    columns["r"] = draw(st.lists(st.sampled_from(["no", "Yes."]), min_size=n, max_size=n))
    return pa.table(columns)


@st.composite
def options(draw):
    given = {
        "target": "y",
        "sensitive": draw(st.sampled_from([None, "z"])),
        "use_sensitive": draw(st.booleans()),
        "weights": draw(st.sampled_from([None, "w"])),
        "references": draw(st.sampled_from([(), ("r",)])),
        "na": draw(st.sampled_from([None, ("?", "-3")])),
        "nbins": draw(st.integers(2, 6)),
        "binning": draw(st.sampled_from(["quantile", "width"])),
        "numeric": draw(st.sampled_from(["thresholds", "bins"])),
        "onehot": draw(st.sampled_from(["drop", "all"])),
        "max_categories": draw(st.integers(2, 4)),
        "types": draw(st.sampled_from([None, {"c0": "category"}, {"c0": "ignore"}])),
    }
    if not draw(st.booleans()):
        given["drop"] = tuple({"w", "r"} - {given["weights"], *given["references"]})
    return given


def made(make):
    try:
        return make()
    except DataError as error:
        return str(error)


def same(one, other):
    """Compare two tables bit by bit."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return one.fingerprint == other.fingerprint and one.binarizer == other.binarizer


@settings(max_examples=100, deadline=None)
@given(tables(), options(), st.integers(1, 24), st.booleans())
def test_streamed_is_merged(table, given_options, batch_rows, parse_text):
    batches = TableBatches(table, parse_text, batch_rows)
    whole = made(lambda: Data.from_frame(table, parse_text=parse_text, **given_options).merged())
    assert same(made(lambda: stream_sheet(batches, **given_options).data()), whole)


@settings(max_examples=80, deadline=None)
@given(tables(kinds=("whole", "real", "large")), options(), st.integers(1, 24), st.integers(1, 4))
def test_cuts_are_exact_with_any_number_of_values(table, given_options, batch_rows, most):
    given_options |= {"types": None, "drop": ("w",) * (given_options["weights"] is None)}
    given_options["references"] = ("r",)
    batches = TableBatches(table, False, batch_rows)
    whole = made(lambda: Data.from_frame(table, **given_options).merged())
    found = made(lambda: stream_sheet(batches, most_values=max(3, most), **given_options).data())
    assert same(found, whole)


@settings(max_examples=40, deadline=None)
@given(tables(), options(), st.integers(1, 24))
def test_descriptions_agree(table, given_options, batch_rows):
    batches = TableBatches(table, True, batch_rows)
    whole = made(lambda: describe_sheet(frame_sheet(table, parse_text=True, **given_options)))
    found = made(lambda: describe_sheet(stream_sheet(batches, describing=True, **given_options)))
    if isinstance(whole, str):
        assert found == whole
    else:
        told = found.to_json()
        assert told.pop("reading").startswith(f"{table.num_rows} rows were read in batches")
        assert {**told, "reading": None} == whole.to_json()


def numbers(order):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=20_000) ** 3, 4)
    if order == "sorted":
        x = np.sort(x)
    y = (x + rng.normal(size=len(x)) > 0).astype(int)
    return pa.table(
        {"x": x, "k": (x * 1e4).astype(np.int64), "y": y, "z": rng.integers(0, 2, len(x))}
    )


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize(
    "binning", [{"nbins": 7}, {"nbins": 300}, {"nbins": 5, "binning": "width"}]
)
def test_many_different_numbers(order, binning, monkeypatch):
    monkeypatch.setattr("adtc.data.stream.ranks.COLLECTED", 50)
    monkeypatch.setattr("adtc.data.stream.ranks.EDGES", 128)
    monkeypatch.setattr("adtc.data.stream.tally.EDGES", 128)
    table = numbers(order)
    asked = {"target": "y", "sensitive": "z", **binning}
    sheet = stream_sheet(TableBatches(table, False, 3_000), most_values=500, **asked)
    assert not sheet.summaries["x"].complete
    assert same(sheet.data(), Data.from_frame(table, **asked).merged())


def test_given_cuts_need_no_further_pass():
    table = numbers("random")
    asked = {"target": "k", "sensitive": "z", "cuts": {"k": [0], "x": [-1.5, 0, 0.25]}}
    sheet = stream_sheet(TableBatches(table, False, 3_000), most_values=500, **asked)
    assert same(sheet.data(), Data.from_frame(table, **asked).merged())
    assert sheet.data().labels == ("k <= 0", "k > 0")


def test_counts_of_trees_agree():
    table = numbers("random")
    asked = {"target": "y", "sensitive": "z", "nbins": 4, "drop": ["k"]}
    whole = Data.from_frame(table, **asked)
    merged = stream_sheet(TableBatches(table, False, 999), most_values=100, **asked).data()
    assert merged.n_rows < 20
    assert merged.total == 20_000
    space = adtc.Space(max_depth=2, minsup=500)
    for where in (None, "acc >= 0.65 and dp <= 0.9"):
        assert adtc.count(merged, space, where=where) == adtc.count(whole, space, where=where) > 0


def test_warnings_come_from_the_summaries():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 3_000)
    z = rng.integers(0, 2, 3_000)
    table = pa.table(
        {
            "leak": np.where(rng.random(3_000) < 0.99, y, 1 - y) + rng.random(3_000) / 2,
            "proxy": np.where(z == 1, "a", "b"),
            "odd": np.where(rng.random(3_000) < 0.1, "?", "12"),
            "unique": rng.permutation(10**6)[:3_000],
            "y": y,
            "z": z,
        }
    )
    asked = {"target": "y", "sensitive": "z"}
    sheet = stream_sheet(TableBatches(table, True, 700), **asked)
    found = table_warnings(sheet)
    assert found == table_warnings(frame_sheet(table, parse_text=True, **asked))
    assert {w.kind for w in found} >= {"predicts-target", "tells-sensitive", "number-as-text"}
    bucketed = table_warnings(
        stream_sheet(TableBatches(table, True, 700), most_values=600, **asked)
    )
    assert [(w.kind, w.column) for w in bucketed] == [(w.kind, w.column) for w in found]


@pytest.mark.parametrize("most", [600, 10**6])
@pytest.mark.parametrize("parse", [False, True])
@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        (
            "a",
            lambda n: np.random.default_rng(1).permutation(n) + 1,
            "it numbers the rows from 1 to",
        ),
        ("a", lambda n: np.arange(n) * 3 + 17, "whole numbers that rise from row to row"),
        ("person_id", lambda n: np.random.default_rng(1).integers(0, 2000, n), "by its name"),
    ],
)
def test_identifiers_are_refused(most, parse, name, make, reason):
    column = make(3_000)
    table = pa.table(
        {name: column.astype(str) if parse else column, "b": [0, 1, 1] * 1000, "y": [0, 1] * 1500}
    )
    whole = made(lambda: Data.from_frame(table, target="y", parse_text=parse))
    with pytest.raises(DataError, match=reason) as error:
        stream_sheet(TableBatches(table, parse, 700), target="y", most_values=most)
    assert reason in whole
    if most > 3_000 or reason != "by its name":
        assert str(error.value) == whole
    described = stream_sheet(
        TableBatches(table, parse, 700), target="y", most_values=most, describing=True
    )
    assert [c.refused for c in describe_sheet(described).columns] == [True, False]


def test_a_column_of_numbers_that_turns_into_text():
    text = [str(i % 90) for i in range(400)] + ["?", "high"] + ["7"] * 50
    table = pa.table({"a": text, "y": [0, 1] * 226})
    asked = {"target": "y"}
    whole = Data.from_frame(table, parse_text=True, **asked).merged()
    assert same(stream_sheet(TableBatches(table, True, 60), **asked).data(), whole)
    with pytest.raises(
        DataError,
        match=r"^column 'a' should hold numbers, but it holds '\?'; .*\(na\) "
        r"\(up to row 360 it held numbers, more than 80 different ones\)\.$",
    ):
        stream_sheet(TableBatches(table, True, 60), most_values=80, **asked)
    table = pa.table({"a": [f"t{i % 90}" for i in range(452)], "y": [0, 1] * 226})
    with pytest.raises(DataError, match="more than 80 different texts, too many to count"):
        stream_sheet(TableBatches(table, True, 60), most_values=80, **asked)


def test_what_is_missing_is_told_by_its_row():
    rows = {"a": [0, 1] * 20, "y": [0, 1] * 15 + [None, 1] * 5, "w": [1] * 40}
    batches = TableBatches(pa.table(rows), False, 7)
    with pytest.raises(DataError, match="'y' has 5 missing values, the first in row 31;"):
        stream_sheet(batches, target="y")
    rows |= {"y": [0, 1] * 20, "w": [1] * 39 + [-2]}
    with pytest.raises(DataError, match="negative value -2"):
        stream_sheet(TableBatches(pa.table(rows), False, 7), target="y", weights="w")
    rows |= {"w": [0] * 40}
    with pytest.raises(DataError, match="sums to 0"):
        stream_sheet(TableBatches(pa.table(rows), False, 7), target="y", weights="w")
    with pytest.raises(DataError, match="the table has no rows"):
        stream_sheet(TableBatches(pa.table(rows).slice(0, 0)), target="y")


@given(st.lists(st.floats(allow_nan=False), min_size=2, unique=True))
def test_keys_keep_the_order_of_floats(values):
    ordered = np.sort(np.array(values) + 0.0)
    keys = keys_of(ordered)
    assert (values_of(keys, np.float64) == ordered).all()
    assert (keys[1:] >= keys[:-1]).all()


def test_buckets_go_over_to_floats():
    ones = np.ones(3, np.int64)
    buckets = Buckets(np.array([0, 10]))
    buckets.add(np.array([-5, 3, 12]), ones, ones)
    buckets.add(np.array([3.5, 9.5, 10.5]), ones, 2 * ones)
    values, rows, weights = buckets.tally()
    assert values.tolist() == [-5, 3, 9.5, 10.5, 12]
    assert rows.tolist() == [1, 2, 1, 1, 1]
    assert weights.tolist() == [1, 4, 1, 2, 1]


@pytest.mark.parametrize("stream", [False, True])
def test_cuts_between_any_two_values(stream):
    table = pa.table({"a": [5, 1, 2, 2, 9], "b": [0, 1, 1, 0, 1], "y": [0, 1, 0, 1, 1]})
    data = Data.from_frame(table, target="y", cuts={"a": "all", "b": "all"}, stream=stream)
    assert data.feature_names == ("a <= 1.5", "a <= 3.5", "a <= 7", "b <= 0.5")
    for target, sensitive in (("a", None), ("y", "a")):
        with pytest.raises(DataError, match="cuts of column 'a' make its classes or groups"):
            Data.from_frame(
                table, target=target, sensitive=sensitive, cuts={"a": "all"}, stream=stream
            )
    with pytest.raises(DataError, match="must be one or more finite numbers, but they are"):
        Data.from_frame(table, target="y", cuts={"a": "some"}, stream=stream)
    text = table.set_column(0, "a", pa.array(list("vwxyz")))
    with pytest.raises(DataError, match="which is not numeric"):
        Data.from_frame(text, target="y", cuts={"a": "all"}, stream=stream)


def test_too_many_values_to_cut_between_all():
    table = numbers("random")
    with pytest.raises(DataError, match="too many to cut between any two of them; give cuts"):
        stream_sheet(TableBatches(table), target="y", cuts={"x": "all"}, most_values=500)
