"""Data from frames and arrays, by hand: bits, labels, groups, weights, merging, new tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc.data import Data, read, read_table
from adtc.data.bits import pack, unpack
from adtc.errors import DataError, UnknownColumnError

PEOPLE = {
    "age": [20, 30, 40, None],
    "job": ["cook", "clerk", "cook", "smith"],
    "sex": ["F", "M", None, "M"],
    "income": ["low", "high", "high", "low"],
    "score": ["low", "low", "high", "high"],
    "n": [1, 2, 0, 5],
}


@pytest.fixture
def people():
    return Data.from_frame(
        PEOPLE, target="income", sensitive="sex", positive="high", weights="n", references=["score"]
    )


def test_a_table_by_hand(people):
    # Row 3 has weight 0, so nobody is 40 and no cut lies between 30 and 40.
    assert people.feature_names == (
        "age <= 25",
        "age is missing",
        "job = clerk",
        "job = cook",
        "job = smith",
    )
    assert people.dense().tolist() == [
        [1, 0, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 1, 0, 0, 1],
    ]
    assert people.bits[:, 0].tolist() == [0b0001, 0b1000, 0b0010, 0b0101, 0b1000]
    assert people.labels == ("low", "high")
    assert people.y.tolist() == [0, 1, 1, 0]
    assert people.positive == 1
    assert people.groups == ("F", "M", "(missing)")
    assert people.z.tolist() == [0, 1, 2, 1]
    assert people.weights.tolist() == [1, 2, 0, 5]
    assert (people.n_rows, people.n_features, people.total) == (4, 5, 8)
    assert [(k, c.tolist()) for k, c in people.references] == [("score", [0, 0, 1, 1])]
    assert (people.name, people.target, people.sensitive) == ("table", "income", "sex")
    assert people.feature_rows(3) == 0b0101


def test_dtypes_and_no_writing(people):
    assert people.bits.dtype == np.uint64
    assert people.y.dtype == people.z.dtype == np.int32
    assert people.weights.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        people.y[0] = 1


def test_sensitive_column_is_no_feature_unless_wanted():
    frame = {"sex": ["F", "M", "F"], "b": [0, 1, 1], "y": [0, 1, 1]}
    assert Data.from_frame(frame, target="y", sensitive="sex").feature_names == ("b",)
    data = Data.from_frame(frame, target="y", sensitive="sex", use_sensitive=True)
    assert data.feature_names == ("sex = M", "b")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_all_frames_give_the_same(make, people):
    data = Data.from_frame(
        make(PEOPLE),
        target="income",
        sensitive="sex",
        positive="high",
        weights="n",
        references=["score"],
    )
    assert data.fingerprint == people.fingerprint


def test_a_pandas_index_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    assert Data.from_frame(frame[frame.x > 1], target="y").feature_names == ("x <= 2.5", "x <= 3.5")
    named = frame.set_index(pd.Index([5, 9, 7, 1], name="id"))
    assert Data.from_frame(named, target="y").binarizer.columns == ("x",)
    named.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", target="y").binarizer.columns == ("x",)


def test_pandas_categories_and_nan():
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["1", "2", None, "3"]),
            "v": [1.0, np.nan, 2.0, 2.0],
            "y": [False, True, True, True],
        }
    )
    data = Data.from_frame(frame, target="y")
    assert data.labels == (False, True)
    assert data.feature_names == (
        "c = 1",
        "c = 2",
        "c = 3",
        "c is missing",
        "v <= 1.5",
        "v is missing",
    )


def test_polars_types():
    frame = pl.DataFrame(
        {
            "c": pl.Series(["1", None, "2", "3"], dtype=pl.Categorical),
            "e": pl.Series(["u", "v", "u", "u"], dtype=pl.Enum(["v", "u"])),
            "v": [1.0, float("nan"), 2.0, 2.0],
            "i": pl.Series([200, 201, 201, 200], dtype=pl.UInt8),
            "y": [False, True, True, True],
        }
    )
    data = Data.from_frame(pl.concat([frame, frame], rechunk=False), target="y")
    assert data.n_rows == 8
    assert data.feature_names == (
        "c = 1",
        "c = 2",
        "c = 3",
        "c is missing",
        "e = v",
        "v <= 1.5",
        "v is missing",
        "i <= 200.5",
    )


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([2, 1, 2], (1, 2)),
        ([0.5, 1.5, 0.5], (0.5, 1.5)),
        (["b", "a", "c"], ("a", "b", "c")),
        ([True, False, True], (False, True)),
    ],
)
def test_labels_keep_their_type(y, labels):
    data = Data.from_frame({"x": [0, 1, 1], "y": y}, target="y")
    assert data.labels == labels
    assert [type(v) for v in data.labels] == [type(v) for v in labels]
    assert [data.labels[i] for i in data.y] == y
    assert data.positive == (1 if len(labels) == 2 else None)


@pytest.mark.parametrize("positive", [0, "0", 0.0, False])
def test_the_positive_class_is_last(positive):
    data = Data.from_frame({"x": [0, 1, 1], "y": [0, 1, 0]}, target="y", positive=positive)
    assert data.labels == (1, 0)
    assert data.y.tolist() == [1, 0, 1]


def test_positive_of_three_classes_keeps_the_order():
    data = Data.from_frame({"x": [0, 1, 1], "y": ["a", "b", "c"]}, target="y", positive="a")
    assert (data.labels, data.positive) == (("a", "b", "c"), 0)


def test_cuts_make_classes_and_groups():
    frame = {"age": [20, 30, 70], "price": [5, 15, 25], "x": [0, 1, 1]}
    data = Data.from_frame(
        frame, target="price", sensitive="age", cuts={"price": [10], "age": [25, 65]}
    )
    assert data.labels == ("price <= 10", "price > 10")
    assert data.groups == ("age <= 25", "25 < age <= 65", "age > 65")
    assert (data.y.tolist(), data.z.tolist()) == ([0, 1, 1], [0, 1, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "incom"}, "unknown column 'incom'. Did you mean 'income'?"),
        ({"sensitive": "six"}, "unknown column 'six'. Did you mean 'sex'?"),
        ({"weights": "w"}, "unknown column 'w'"),
        ({"references": ["scores"]}, "unknown column 'scores'. Did you mean 'score'?"),
        ({"drop": ["jobs"]}, "unknown column 'jobs'. Did you mean 'job'?"),
    ],
)
def test_unknown_columns(options, message):
    with pytest.raises(UnknownColumnError, match=message):
        Data.from_frame(PEOPLE, **({"target": "income"} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensitive": "income"}, "column 'income' is given both as target and as sensitive"),
        ({"weights": "income"}, "'income' is given both as target and as weights"),
        ({"sensitive": "sex", "drop": ["sex"]}, "'sex' is given both as sensitive and as drop"),
        ({"positive": "hihg"}, "unknown label 'hihg'. Did you mean 'high'?"),
        ({"references": ["job"]}, "reference column 'job' holds 'cook' in row 1, .*: high, low"),
        ({"target": "age"}, "target column 'age' has 1 missing values, the first in row 4"),
        ({"weights": "age"}, "weights column 'age' has 1 missing values"),
        ({"weights": "job"}, "column 'job' should hold numbers, but it holds 'clerk'"),
        (
            {"drop": ["age", "job", "sex", "score", "n"]},
            "no feature is left: besides the target .* every column is constant",
        ),
    ],
)
def test_wrong_roles(options, message):
    with pytest.raises(DataError, match=message) as caught:
        Data.from_frame(PEOPLE, **({"target": "income"} | options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, -2], "weights column 'w' holds the negative value -2; weights are whole numbers"),
        ([1, 0.5], "weights column 'w' holds the fractional value 0.5; weights are whole"),
        ([0, 0], "weights column 'w' sums to 0; the sum must be at least 1"),
        ([2**61, 2**61], r"weights column 'w' sums to .* below 2\*\*62"),
    ],
)
def test_wrong_weights(column, message):
    with pytest.raises(DataError, match=message):
        Data.from_frame({"x": [0, 1], "w": column, "y": [0, 1]}, target="y", weights="w")


def frame_of(n, **columns):
    return {"x": [0, 1] * (n // 2), "y": [0, 1] * (n // 2)} | columns


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (frame_of(2, y=["a", "a"]), {}, r"target 'y' has one class only \('a'\); two or more"),
        (
            frame_of(2, w=[1, 0]),
            {"weights": "w"},
            r"target 'y' has one class only \('0'\)",
        ),
        (
            frame_of(60, y=list(range(60))),
            {},
            r"'y' has 60 distinct values, but at most 50 .* with cuts=\{'y': \[c\]\}",
        ),
        (frame_of(60, y=[f"c{i}" for i in range(60)]), {}, "60 distinct .* name another column"),
        (frame_of(2, s=[1, 1]), {"sensitive": "s"}, r"'s' has one group only \('1'\)"),
        (
            frame_of(30, s=list(range(30))),
            {"sensitive": "s"},
            r"sensitive column 's' has 30 groups, but at most 20 .* cuts=\{'s': \[c\]\}",
        ),
        (frame_of(2), {"cuts": {"y": [7]}}, "cuts of column 'y' leave all its values on one side"),
        (frame_of(2, x=[1, 1]), {}, "no feature is left"),
        (frame_of(0), {}, "the table has no rows; at least one is needed"),
        ([1, 2], {}, "a frame that speaks Arrow was expected .* but a list came"),
        ({"x": [1], "y": [1, 2]}, {}, "the frame cannot be read"),
    ],
)
def test_tables_that_do_not_fit(frame, options, message):
    with pytest.raises(DataError, match=message):
        Data.from_frame(frame, target="y", **options)


def test_duplicate_names_in_frames():
    table = pa.table([[1, 2], [3, 4], [0, 1]], names=["a", "a", "y"])
    with pytest.raises(DataError, match="more than one column named 'a', with different values"):
        Data.from_frame(table, target="y")
    same = pa.table([[1, 2], [1, 2], [0, 1]], names=["a", "a", "y"])
    assert Data.from_frame(same, target="y").feature_names == ("a <= 1.5",)
    with pytest.raises(DataError, match=r"the frame cannot be read: Duplicate column names"):
        Data.from_frame(table.to_pandas(), target="y")


def test_from_arrays():
    data = Data.from_arrays(
        [[1, 0], [0, 0], [1, 0]],
        ["n", "p", "p"],
        z=[5, 6, 5],
        weights=[1, 2, 3],
        references={"r": ["p", "p", "n"]},
        feature_names=["a", "constant"],
        positive="n",
    )
    assert data.feature_names == ("a", "constant")
    assert data.dense().tolist() == [[1, 0], [0, 0], [1, 0]]
    assert (data.labels, data.positive, data.y.tolist()) == (("p", "n"), 1, [1, 0, 0])
    assert (data.groups, data.z.tolist()) == ((5, 6), [0, 1, 0])
    assert data.total == 6
    assert data.references[0][1].tolist() == [0, 0, 1]
    again = data.apply({"a": [1], "constant": [1], "y": ["p"], "z": [6], "r": ["n"]})
    assert (again.dense().tolist(), again.y.tolist(), again.z.tolist()) == ([[1, 1]], [0], [1])


def test_from_arrays_with_given_labels():
    data = Data.from_arrays([[1], [0]], [0, 0], labels=[0, 1])
    assert (data.labels, data.y.tolist(), data.positive) == ((0, 1), [0, 0], 1)
    assert Data.from_arrays([[1], [0]], [0, 0]).labels == (0,)
    assert Data.from_arrays([[1], [0]], [0, 1], z=["a", "a"]).groups == ("a",)
    assert Data.from_arrays(np.zeros((2, 0)), [0, 1]).n_features == 0
    with pytest.raises(DataError, match="target column 'y' holds '2' in row 2"):
        Data.from_arrays([[1], [0]], [0, 2], labels=[0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[2]], [0]), "X must hold 0 and 1 only; use Data.from_frame"),
        (([1, 0], [0, 1]), r"X must have one or more rows .* its shape is \(2,\)"),
        ((np.zeros((0, 2)), []), r"its shape is \(0, 2\)"),
        (([[1], [0]], [0]), r"y must have one value for each of 2 rows, not \(1,\)"),
    ],
)
def test_wrong_arrays(arguments, message):
    with pytest.raises(DataError, match=message):
        Data.from_arrays(*arguments)


def test_wrong_feature_names():
    with pytest.raises(DataError, match="1 feature names were given for 2 features"):
        Data.from_arrays([[1, 0]], [0], feature_names=["a"])
    with pytest.raises(DataError, match="two features would be named 'a'"):
        Data.from_arrays([[1, 0]], [0], feature_names=["a", "a"])


def test_merged_by_hand():
    data = Data.from_arrays(
        [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1]],
        [1, 0, 1, 0, 0],
        z=["u", "u", "u", "u", "v"],
        weights=[1, 2, 3, 4, 5],
    ).merged()
    assert data.dense().tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert data.y.tolist() == [1, 0, 0, 0]
    assert data.z.tolist() == [0, 0, 0, 1]
    assert data.weights.tolist() == [4, 2, 4, 5]
    assert data.origin.tolist() == [0, 1, 0, 2, 3]


tiny = st.integers(1, 70).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 2**n - 1), min_size=1, max_size=10),
        *(st.lists(st.integers(0, 2), min_size=n, max_size=n) for _ in range(3)),
    )
)


def matrix(columns, n_rows):
    """Bit r of each column's number is row r."""
    return np.array([[c >> r & 1 for c in columns] for r in range(n_rows)])


def counts(data):
    """Weight of every distinct row, counted one by one."""
    total = {}
    dense = data.dense().tolist()
    for r in range(data.n_rows):
        codes = [data.y[r], data.z[r], *(c[r] for _, c in data.references)]
        key = (*dense[r], *map(int, codes))
        total[key] = total.get(key, 0) + int(data.weights[r])
    return total


@given(tiny)
def test_merging_never_changes_a_count(sample):
    columns, y, z, r = sample
    X = matrix(columns, len(y))
    data = Data.from_arrays(X, y, references={"r": r}, labels=[0, 1, 2], weights=[k + 1 for k in z])
    merged = data.merged()
    assert counts(merged) == counts(data)
    assert merged.n_rows == len(counts(data))
    assert merged.total == data.total
    assert (merged.dense()[merged.origin] == data.dense()).all()
    assert (merged.y[merged.origin] == data.y).all()
    twice = merged.merged()
    assert twice.origin.tolist() == merged.origin.tolist()
    assert twice.fingerprint == merged.fingerprint


@given(tiny)
def test_bits_by_row(sample):
    columns, y, *_ = sample
    X = matrix(columns, len(y))
    data = Data.from_arrays(X, y)
    assert (data.dense() == X).all()
    assert [data.feature_rows(f) for f in range(data.n_features)] == columns
    assert (unpack(pack(X.T), len(X)) == X.T).all()


def test_fingerprint_sees_all_that_counts():
    base = {"X": [[1, 0], [0, 1]], "y": [0, 1], "z": [0, 1], "weights": [1, 2]}
    changes = [
        {"X": [[1, 0], [1, 1]]},
        {"y": [1, 0]},
        {"y": ["0", "1"]},
        {"positive": 0},
        {"z": [1, 0]},
        {"weights": [2, 1]},
        {"feature_names": ["a", "b"]},
        {"references": {"r": [0, 0]}},
        {"references": {"r": [0, 1]}},
    ]
    prints = {Data.from_arrays(**(base | change)).fingerprint for change in [{}, *changes]}
    assert len(prints) == 1 + len(changes)
    assert len(prints.pop()) == 64
    assert Data.from_arrays(**base).fingerprint == Data.from_arrays(**base, name="x").fingerprint


def test_the_same_cuts_on_new_data(people):
    new = people.apply(
        {
            "income": ["high"] * 3,
            "score": ["low"] * 3,
            "sex": [None, "F", "M"],
            "n": [1, 1, 1],
            "job": ["pilot", None, "smith"],
            "age": [25.0, 26.0, None],
            "more": [1, 2, 3],
        },
        name="new",
    )
    # An unknown category matches no `=` feature; there is no job = (other), no job is missing.
    assert new.dense().tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]]
    assert (new.labels, new.y.tolist()) == (("low", "high"), [1, 1, 1])
    assert (new.groups, new.z.tolist()) == (people.groups, [2, 0, 1])
    assert (new.name, new.features) == ("new", people.features)
    assert people.merged().apply(PEOPLE).origin is None


def test_unknown_category_counts_as_other():
    frame = {"c": ["a", "a", "b", "b", "c", "d"], "y": [0, 1, 0, 1, 0, 1]}
    data = Data.from_frame(frame, target="y", max_categories=3)
    assert data.feature_names == ("c = a", "c = b", "c = (other)")
    new = data.apply({"c": ["e", "b", None], "y": [0, 1, 1]})
    assert new.dense().tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]


def test_binarize_needs_no_labels(people):
    bits = people.binarize({"age": [1], "job": ["cook"]})
    assert unpack(bits, 1).T.tolist() == [[1, 0, 0, 1, 0]]


NEW = {key: values[:2] for key, values in PEOPLE.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": None}, "unknown column 'age'"),
        ({"income": None}, "unknown column 'income'"),
        ({"sex": None}, "unknown column 'sex'"),
        ({"income": ["low", "middle"]}, "target column 'income' holds 'middle' in row 2"),
        ({"income": ["low", None]}, "target column 'income' has 1 missing values"),
        ({"sex": ["F", "X"]}, "sensitive column 'sex' holds 'X' in row 2, .*: F, M, "),
        ({"age": ["1", "old"]}, "column 'age' should hold numbers, but it holds 'old'"),
    ],
)
def test_new_tables_that_do_not_fit(people, changes, message):
    frame = {k: v for k, v in (NEW | changes).items() if v is not None}
    with pytest.raises(DataError, match=message):
        people.apply(frame)


def test_zero_one_columns_stay_zero_one():
    data = Data.from_frame({"b": [0, 1], "y": [0, 1]}, target="y")
    assert data.apply({"b": ["1", "0"], "y": ["1", "0"]}).dense().tolist() == [[1], [0]]
    assert data.apply({"b": [True], "y": [1]}).dense().tolist() == [[1]]
    for bad in ([2], ["2"], ["x"]):
        with pytest.raises(DataError, match=r"column 'b' should hold 0 and 1 only, but it holds"):
            data.apply({"b": bad, "y": [1]})


def test_apply_to_a_file(tmp_path):
    text = "age,zip,flag,y\n20,007,True,0\n30,07,False,1\n40,7,True,1\n"
    path = tmp_path / "t.csv"
    path.write_text(text)
    data = read(path, target="y", types={"zip": "category"})
    again = data.apply(read_table(path))
    assert again.fingerprint == data.fingerprint
    assert data.feature_names == (
        "age <= 25",
        "age <= 35",
        "zip = 007",
        "zip = 07",
        "zip = 7",
        "flag",
    )


@given(
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=4, max_size=30),
    st.sampled_from(["thresholds", "bins"]),
    st.sampled_from(["drop", "all"]),
)
def test_apply_to_itself_changes_nothing(values, numeric, onehot):
    frame = {
        "x": values,
        "c": [None if v is None else "abcdefghijk"[v] for v in values],
        "b": [i % 3 == 0 for i in range(len(values))],
        "y": [i % 2 for i in range(len(values))],
    }
    data = Data.from_frame(frame, target="y", numeric=numeric, onehot=onehot, max_categories=4)
    assert data.apply(frame).fingerprint == data.fingerprint
    # No feature is constant, and no value goes unnoticed: equal bits mean equally cut values.
    assert all(0 < rows.sum() < data.n_rows for rows in data.dense().T)
    missing = [i for i, name in enumerate(data.feature_names) if name == "x is missing"]
    assert bool(missing) == (0 < sum(v is None for v in values) < len(values))


def test_a_million_rows():
    n = 1_000_000
    rng = np.random.default_rng(0)
    age, job, group = rng.integers(17, 90, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    y = rng.integers(0, 2, n)
    jobs = pa.array(["a", "b", "c", "d"]).take(pa.array(job))
    frame = pa.table({"age": age, "x": rng.normal(size=n), "job": jobs, "g": group, "y": y})
    data = Data.from_frame(frame, target="y", sensitive="g")
    assert data.n_rows == data.total == n
    assert data.n_features == 6 + 6 + 4
    cut = data.features[0].high
    assert np.bitwise_count(data.bits[0]).sum() == (age <= cut).sum()
    sizes = np.diff([0, *np.bitwise_count(data.bits[6:12]).sum(axis=1), n])
    assert sizes.max() - sizes.min() <= 1
    merged = data.merged()
    assert merged.total == n
    assert merged.n_rows == 7 * 7 * 4 * 2 * 2
    assert (merged.y[merged.origin] == data.y).all()
