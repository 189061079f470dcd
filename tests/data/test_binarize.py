"""Which Boolean features a column gets, by hand, and that they can be made again."""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc.data import Binarizer, Data, Feature
from adtc.data.columns import encode, format_number
from adtc.data.cuts import quantile_cuts, width_cuts
from adtc.errors import DataError


def features(values, **options):
    """Names of the features of one column; the target alternates."""
    y = [i % 2 for i in range(len(values))]
    return Data.from_frame({"x": values, "y": y}, target="y", **options).feature_names


def bits(values, **options):
    """Features by name as text of 0 and 1 over the rows."""
    y = [i % 2 for i in range(len(values))]
    data = Data.from_frame({"x": values, "y": y}, target="y", **options)
    rows = ["".join(map(str, column)) for column in data.dense().T.tolist()]
    return dict(zip(data.feature_names, rows, strict=True))


def test_thresholds_at_quantiles():
    assert features(list(range(1, 101)), nbins=4) == ("x <= 25.5", "x <= 50.5", "x <= 75.5")


def test_threshold_bits():
    assert bits([3, 1, 2], nbins=3) == {"x <= 1.5": "010", "x <= 2.5": "011"}


@pytest.mark.parametrize("heavy", [0, 50, 99])
def test_a_value_of_90_percent_keeps_a_cut(heavy):
    values = [heavy] * 900 + list(range(100))
    cuts = features(values)
    # By hand: all quantiles fall on the heavy value, the cut follows it or precedes it.
    assert cuts == (f"x <= {format_number(min(heavy, 98) + 0.5)}",)


def test_more_bins_than_values_cut_everywhere():
    assert features([5, 7, 9], nbins=100) == ("x <= 6", "x <= 8")


def test_cuts_between_decimals_are_short():
    assert features([0.1, 0.2, 0.3, 0.4]) == ("x <= 0.15", "x <= 0.25", "x <= 0.35")


def test_neighbouring_floats_are_still_split():
    low, high = 1.0, float(np.nextafter(1.0, 2))
    assert bits([low, high, low])[f"x <= {format_number(low)}"] == "101"
    low = float(np.nextafter(1.0, 0))
    assert bits([low, 1.0, low])[f"x <= {format_number(low)}"] == "101"


def test_weights_decide_quantiles_like_repeated_rows():
    frame = {"x": [1, 2, 3, 4], "w": [1, 1, 1, 9], "y": [0, 1, 0, 1]}
    repeated = [1, 2, 3, *[4] * 9]
    weighted = Data.from_frame(frame, target="y", weights="w", nbins=3)
    assert weighted.feature_names == features(repeated, nbins=3) == ("x <= 3.5",)


def test_rows_of_weight_0_have_no_say():
    frame = {"x": [1, 2, 99], "c": ["a", "b", "c"], "w": [1, 1, 0], "y": [0, 1, 0]}
    data = Data.from_frame(frame, target="y", weights="w")
    assert data.feature_names == ("x <= 1.5", "c = b")


def test_equal_width():
    assert features([0, 1, 2, 10], binning="width", nbins=5) == ("x <= 2",)
    assert features([0, 3, 5, 10], binning="width", nbins=5) == ("x <= 2", "x <= 4", "x <= 6")


def test_given_cuts():
    # 99 leaves a side empty, 4 and 4.5 split alike.
    assert features([1, 3, 5], cuts={"x": [4.5, 2, 4, 99]}) == ("x <= 2", "x <= 4")
    assert features([0, 1, 1], cuts={"x": [0.5]}) == ("x <= 0.5",)


def test_bin_indicators():
    assert bits([1, 2, 3, 4], numeric="bins", cuts={"x": [1.5, 3]}) == {
        "x <= 1.5": "1000",
        "1.5 < x <= 3": "0110",
        "x > 3": "0001",
    }
    assert features([1, 2, 1], numeric="bins") == ("x <= 1.5",)
    assert features([1, 2, 1], numeric="bins", onehot="all") == ("x <= 1.5", "x > 1.5")


def test_zero_one_and_truth_values_stay():
    assert bits([0, 1, 1]) == {"x": "011"}
    assert bits([0.0, 1.0, 1.0], onehot="all") == {"x": "011"}
    assert bits([True, False, True]) == {"x": "101"}
    assert features([0, 1, 1], types={"x": "numeric"}) == ("x <= 0.5",)
    assert features([0, 1, 1], types={"x": "category"}) == ("x = 1",)


def test_two_categories_are_one_feature_of_the_later():
    assert bits(["Male", "Female", " Male "]) == {"x = Male": "101"}
    assert features(["b", "a"], onehot="all") == ("x = a", "x = b")


def test_categories_in_order():
    assert bits(["b", "a", "c", "a"]) == {"x = a": "0101", "x = b": "1000", "x = c": "0010"}


def test_rare_categories_share_one_feature():
    values = ["d", "d", "d", "c", "c", "b", "a"]
    assert bits(values, max_categories=3) == {
        "x = c": "0001100",
        "x = d": "1110000",
        "x = (other)": "0000011",
    }
    assert features(values, max_categories=2) == ("x = d",)
    assert features(values, max_categories=4) == ("x = a", "x = b", "x = c", "x = d")
    # Ties: the smaller value stays.
    assert features(["c", "b", "a"], max_categories=2, onehot="all") == ("x = a", "x = (other)")


def test_missing_values_have_an_indicator():
    assert bits([1, None, 3]) == {"x <= 2": "100", "x is missing": "010"}
    assert bits([float("nan"), 1.0, 3.0]) == {"x <= 2": "010", "x is missing": "100"}
    assert bits([0, None, 1]) == {"x": "001", "x is missing": "010"}
    assert bits(["a", None, "b"]) == {"x = b": "001", "x is missing": "010"}
    assert bits(["a", "?", "b", "NA"], na=["?"]) == {"x = b": "0010", "x is missing": "0101"}


def test_a_number_can_stand_for_missing():
    assert bits([1, -9, 3], na=["-9"]) == {"x <= 2": "100", "x is missing": "010"}
    assert bits([1.5, -9.0, 3.5], na=["-9", "?"]) == {"x <= 2.5": "100", "x is missing": "010"}


def test_one_value_and_missing():
    assert bits(["a", None, "a"]) == {"x is missing": "010"}
    assert bits(["a", None, "a"], onehot="all") == {"x = a": "101", "x is missing": "010"}
    assert bits([7, None, 7]) == {"x is missing": "010"}
    assert bits([1, None, 1]) == {"x is missing": "010"}


def test_types():
    assert features(["1", "2", "3"], types={"x": "numeric"}) == ("x <= 1.5", "x <= 2.5")
    assert features([1.0, 2.5, 3.0], types={"x": "category"}) == ("x = 1", "x = 2.5", "x = 3")
    frame = {"x": [1, 2], "b": [1, 0], "y": [0, 1]}
    data = Data.from_frame(frame, target="y", types={"x": "ignore"})
    assert data.feature_names == ("b",)


def test_decimals_dictionaries_and_unsigned():
    assert features(pa.array([Decimal("1.5"), Decimal("2.5")])) == ("x <= 2",)
    assert features(pa.array(["1", "2", "3"]).dictionary_encode()) == ("x = 1", "x = 2", "x = 3")
    assert features(pa.array([1, 2**64 - 1], pa.uint64())) == ("x <= 9.22337203685478e+18",)
    assert features(pa.array(["u", "v"], pa.string_view())) == ("x = v",)


def test_the_two_zeros_are_one_value():
    assert bits([0.0, -0.0, 5.0]) == {"x <= 2.5": "110"}
    labels = Data.from_frame({"x": [0, 1, 1], "y": [-0.0, 0.0, 1.0]}, target="y").labels
    assert repr(labels) == "(0.0, 1.0)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nbins": 1}, "nbins must be an integer from 2 to 65536, but it is 1"),
        ({"nbins": 2.5}, "nbins must be an integer from 2 to 65536, but it is 2.5"),
        ({"nbins": True}, "nbins must be an integer"),
        ({"max_categories": 1}, "max_categories must be an integer from 2 up, but it is 1"),
        ({"binning": "quantil"}, "unknown binning 'quantil'. Did you mean 'quantile'?"),
        ({"numeric": "bin"}, "unknown numeric 'bin'. Did you mean 'bins'?"),
        ({"onehot": "both"}, "unknown onehot 'both'"),
        ({"types": {"x": "number"}}, "unknown type 'number'. Did you mean 'numeric'?"),
        ({"cuts": {"x": []}}, "cuts of column 'x' must be one or more finite numbers"),
        ({"cuts": {"x": ["low"]}}, "cuts of column 'x' must be .* but they are"),
        ({"cuts": {"x": [float("inf")]}}, "must be one or more finite numbers"),
        ({"cuts": {"z": [1]}}, "unknown column 'z'"),
        ({"types": {"z": "numeric"}}, "unknown column 'z'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(DataError, match=message):
        features([1, 2, 3], **options)


def test_columns_that_cannot_be_cut():
    with pytest.raises(DataError, match="cuts were given for column 'x', which is not numeric"):
        features(["a", "b"], cuts={"x": [1]})
    with pytest.raises(DataError, match="cuts were given for column 'x'"):
        features([1, 2], cuts={"x": [1]}, types={"x": "category"})
    with pytest.raises(DataError, match="column 'x' should hold numbers, but it holds 'b'"):
        features(["1", "b"], types={"x": "numeric"})
    with pytest.raises(DataError, match="column 'x' holds an infinite value"):
        features([1.0, float("inf")])
    with pytest.raises(DataError, match=r"column 'x' has the type date32\[day\]"):
        features(pa.array([1, 2], pa.int32()).cast(pa.date32()))


def test_two_features_of_one_name():
    frame = {"a": ["u", "v", "w"], "a = u": [0, 1, 0], "y": [0, 1, 1]}
    with pytest.raises(DataError, match="two features would be named 'a = u'"):
        Data.from_frame(frame, target="y")


def test_feature_json_is_plain_and_complete():
    made = [
        Feature("b", "b"),
        Feature.interval("age", None, 37.5),
        Feature.interval("age", 37.5, 45),
        Feature.interval("age", 0, None),
        Feature.equals("job", "cook"),
        Feature.other("job", ["cook", "clerk"]),
        Feature.missing("job"),
    ]
    assert [f.name for f in made] == [
        "b",
        "age <= 37.5",
        "37.5 < age <= 45",
        "age > 0",
        "job = cook",
        "job = (other)",
        "job is missing",
    ]
    saved = json.loads(json.dumps([f.to_json() for f in made], allow_nan=False))
    assert [Feature.from_json(f) for f in saved] == made


def test_binarizer_round_trip():
    frame = {
        "n": [1.5, None, 3.0, 4.0],
        "c": ["a", "b", "c", "d"],
        "s": [1, 2, 2, None],
        "w": [1, 2, 0, 1],
        "p": [10, 20, 30, 40],
        "r": [25, 26, 99, 0],
    }
    data = Data.from_frame(
        frame,
        target="p",
        sensitive="s",
        weights="w",
        references=["r"],
        na=["?"],
        cuts={"p": [25]},
        max_categories=3,
        positive="p <= 25",
    )
    saved = json.loads(json.dumps(data.binarizer.to_json(), allow_nan=False))
    assert Binarizer.from_json(saved) == data.binarizer
    assert data.labels == ("p > 25", "p <= 25")
    assert data.groups == (1, 2, "(missing)")
    assert data.y.tolist() == [1, 1, 0, 0]
    # A reference is coded like the target, so the same cuts apply.
    assert data.references[0][1].tolist() == [1, 0, 0, 1]


values = st.lists(st.integers(-20, 20), min_size=2, max_size=60)


@given(values, st.integers(2, 9))
def test_quantile_cuts_split_and_are_few(sample, nbins):
    distinct, counts = np.unique(sample, return_counts=True)
    cuts = quantile_cuts(distinct, counts, nbins)
    sides = [int((np.array(sample) <= c).sum()) for c in cuts]
    assert len(cuts) <= nbins - 1
    assert bool(cuts) == (len(distinct) > 1)
    assert all(0 < s < len(sample) for s in sides)
    assert sorted(set(sides)) == sides


@given(values, st.integers(2, 9))
def test_quantile_bins_are_fair_without_ties(sample, nbins):
    n = len(sample)
    cuts = quantile_cuts(np.arange(n), np.ones(n, np.int64), nbins)
    sides = [int((np.arange(n) <= c).sum()) for c in cuts]
    sizes = np.diff([0, *sides, n])
    assert sizes.max() - sizes.min() <= 1 or n < nbins


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=30), st.integers(2, 9))
def test_cuts_of_any_floats_split(sample, nbins):
    distinct, counts = np.unique(np.array(sample) + 0.0, return_counts=True)
    for cuts in (quantile_cuts(distinct, counts, nbins), width_cuts(distinct, nbins)):
        below = [int((distinct <= c).sum()) for c in cuts]
        assert all(0 < b < len(distinct) for b in below)
        assert len(set(below)) == len(below)


texts = st.sampled_from(["a", " a", "b ", "?", "", "NA", "1", "2.5", "true", "None", None])


@given(st.lists(texts, max_size=12), st.booleans())
def test_encoding_keeps_every_value(sample, parse):
    column = encode("x", pa.array(sample, pa.string()), na=["?"], parse_text=parse)
    text = column.text()
    decoded = [text.values[c] if c >= 0 else None for c in text.codes]
    missing = {"", "NA", "None", "?"}
    plain = [None if v is None or v.strip() in missing else v.strip() for v in sample]
    assert [v.lower() if v else v for v in decoded] == plain
    assert sorted(set(text.values)) == list(text.values)


def test_text_as_numbers_and_truth_values():
    def kind(*texts):
        column = encode("x", pa.array(texts), parse_text=True)
        return column.kind, column.values.tolist()

    assert kind("2", "1") == ("number", [1, 2])
    assert kind("2", "1.0", "1") == ("number", [1.0, 2.0])
    assert kind("True", "FALSE", "") == ("boolean", [False, True])
    assert kind("1", "x") == ("text", ["1", "x"])
    assert kind("", "NA") == ("text", [])
