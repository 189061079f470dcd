"""Bundled tables against what their sources say, and reference tables where they are at hand."""

import gzip
import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import adtc
from adtc.data import datasets, load_dataset, read
from adtc.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data"
ADULT_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"


def shared(*parts):
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the reference table {'/'.join(parts)} is not at hand")
    return path


def content(name):
    return gzip.decompress((files("adtc.data") / "bundled" / f"{name}.csv.gz").read_bytes())


def class_counts(data):
    return dict(zip(data.labels, np.bincount(data.y).tolist(), strict=True))


def group_counts(data):
    return dict(zip(data.groups, np.bincount(data.z).tolist(), strict=True))


@pytest.mark.parametrize("info", datasets(), ids=lambda info: info.name)
def test_info_is_true(info):
    data = load_dataset(info.name)
    header = content(info.name).decode().splitlines()[0].split(",")
    assert data.n_rows == info.rows == content(info.name).count(b"\n") - 1
    assert len(header) == info.columns
    assert (data.name, data.target, data.sensitive) == (info.name, info.target, info.sensitive)
    assert data.labels[data.positive] == info.positive
    assert info.licence == "CC BY 4.0"
    assert "UCI" in info.source
    assert "doi.org" in info.citation


def test_adult_is_the_original():
    lines = content("adult").decode().split("\n", 1)[1]
    original = lines.replace(",", ", ") + "\n"
    assert hashlib.sha256(original.encode()).hexdigest() == ADULT_SHA256


def test_adult():
    data = load_dataset("adult")
    assert class_counts(data) == {"<=50K": 24_720, ">50K": 7_841}
    assert group_counts(data) == {"Female": 10_771, "Male": 21_790}
    assert {"age <= 40.5", "workclass = Private", "workclass is missing"} <= set(data.feature_names)
    assert not any("sex" in name or "?" in name for name in data.feature_names)
    # 92 % of the people have no capital gain; the cut that says so must be there.
    assert [n for n in data.feature_names if "capital" in n] == [
        "capital-gain <= 57",
        "capital-loss <= 77.5",
    ]
    missing = [i for i, name in enumerate(data.feature_names) if "is missing" in name]
    assert data.dense()[:, missing].any(axis=1).sum() == 2_399


def test_adult_equals_the_reference_file():
    names = content("adult").decode().splitlines()[0].split(",")
    path = shared("adult", "adult.data")
    numbered = read(path, header=False, target="14", sensitive="9", na=["?"])
    bundled = load_dataset("adult")
    assert (numbered.bits == bundled.bits).all()
    assert (numbered.y == bundled.y).all()
    assert (numbered.z == bundled.z).all()
    assert [names[int(f.column)] for f in numbered.features] == [f.column for f in bundled.features]


def test_german_credit():
    data = load_dataset("german-credit")
    assert class_counts(data) == {"bad": 300, "good": 700}
    assert group_counts(data) == {"female": 310, "male": 690}
    assert "personal_status" not in data.binarizer.columns


def test_german_credit_without_what_reveals_the_sensitive_value():
    def columns(**options):
        used = load_dataset("german-credit", **options).binarizer.columns
        return {"sex", "personal_status", "purpose"} & set(used)

    assert columns() == {"purpose"}
    assert columns(drop=["purpose"]) == set()
    assert columns(sensitive="personal_status") == {"purpose"}
    assert columns(sensitive=None) == {"sex", "personal_status", "purpose"}
    assert columns(use_sensitive=True) == {"sex", "personal_status", "purpose"}
    assert columns(sensitive="foreign_worker") == {"sex", "personal_status", "purpose"}


def test_german_credit_equals_the_reference_file():
    data = read(shared("german-credit", "german.data"), header=False, target="20", sensitive="8")
    bundled = load_dataset("german-credit")
    assert class_counts(data) == {1: 700, 2: 300}
    assert ((data.y == 0) == (bundled.y == 1)).all()
    women = data.groups.index("A92")
    assert ((data.z == women) == (bundled.z == 0)).all()


def test_mushroom():
    data = load_dataset("mushroom")
    assert class_counts(data) == {"e": 4_208, "p": 3_916}
    assert data.groups == ()
    assert not data.z.any()
    stalk = data.feature_names.index("stalk-root is missing")
    assert np.bitwise_count(data.bits[stalk]).sum() == 2_480


def test_mushroom_equals_the_reference_file():
    path = shared("mushroom", "agaricus-lepiota.data")
    original = read(path, header=False, target="0", na=["?"])
    bundled = load_dataset("mushroom")
    assert (original.bits == bundled.bits).all()
    assert (original.y == bundled.y).all()


def test_options_override_defaults():
    data = load_dataset("adult", sensitive="race", target="sex", nbins=2, drop=["income"])
    assert data.labels == ("Female", "Male")
    assert len(data.groups) == 5
    assert [n for n in data.feature_names if n.startswith("age")] == ["age <= 37.5"]


def test_unknown_dataset():
    message = "unknown dataset 'adlut'. Did you mean 'adult'? Known datasets: adult, german-credit"
    with pytest.raises(DataError, match=message.replace("?", r"\?")):
        load_dataset("adlut")


def test_monk():
    data = read(shared("binarized-sparse-trees", "monk_1.csv"), target="class_1")
    assert (data.n_rows, data.n_features) == (124, 11)
    assert data.feature_names[0] == "a1_1"
    assert class_counts(data) == {0: 62, 1: 62}


def test_compas():
    path = shared("binarized-sparse-trees", "compas-binned.csv")
    data = read(path, target="recidivate-within-two-years:1", sensitive="sex:Female")
    assert (data.n_rows, data.n_features) == (6_907, 11)
    assert class_counts(data) == {0: 3_711, 1: 3_196}
    assert data.groups == (0, 1)


@pytest.mark.parametrize(
    ("file", "rows", "features", "constant", "ones"),
    [
        ("anneal.txt", 812, 93, 5, 625),
        ("vote.txt", 435, 48, 0, 267),
        ("segment.txt", 2310, 235, 1, 330),
    ],
)
def test_blank_separated_tables(file, rows, features, constant, ones):
    path = shared("binarized-dl", file)
    data = read(path, target="0", header=False)
    assert (data.n_rows, data.n_features) == (rows, features - constant)
    assert class_counts(data)[1] == ones
    plain = np.loadtxt(path, dtype=np.uint8)
    assert (data.dense() == plain[:, [int(name) for name in data.feature_names]]).all()


def test_columns_that_a_real_table_has_twice():
    path = shared("compas", "cox-violent-parsed_filt.csv")
    found = adtc.describe(path, target="event")
    twice = [w.column for w in found.warnings if w.kind == "repeated"]
    assert twice == ["decile_score", "priors_count"]
    assert sum(c.name == "decile_score" for c in found.columns) == 1
