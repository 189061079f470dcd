"""A profile as a table says the same wherever it is read."""

import json
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyarrow import csv, parquet
from test_crosstab import PROFILES, small
from test_curves import trees_by

import adtc
from adtc.algebra.formula import Name
from adtc.engine.exact.limbs import limbs_of
from adtc.profiles.profile import Profile
from adtc.profiles.tables import RECORD


def exact(table, names):
    """Read the rows of a table back: exact values and trees."""
    columns = table.to_pydict()
    rows = {}
    for at, trees in enumerate(columns["trees"]):
        values = []
        for name in names:
            if f"{name}_num" in columns:
                top, bottom = columns[f"{name}_num"][at], columns[f"{name}_den"][at]
                assert (top is None) == (columns[name][at] is None)
                values.append(None if top is None else (top, bottom))
            else:
                values.append((columns[name][at], 1))
        assert tuple(values) not in rows
        rows[tuple(values)] = int(trees)
    return rows


@given(PROFILES)
@settings(max_examples=40)
def test_the_table_holds_every_combination_once(profile):
    expected = {}
    for values, trees in trees_by(profile, *profile.names):
        key = tuple(v if v is None else (v.numerator, v.denominator) for v in values)
        expected[key] = expected.get(key, 0) + trees
    assert exact(profile.table, profile.names) == expected


def test_columns_and_their_types():
    table = small().project("size", "acc", "precision").table
    assert {field.name: str(field.type) for field in table.schema} == {
        "size": "int64",
        **{"acc": "double", "acc_num": "int64", "acc_den": "int64"},
        **{"precision": "double", "precision_num": "int64", "precision_den": "int64"},
        **{"trees": "string", "log10_trees": "double"},
    }
    assert table["precision"].null_count == table["precision_den"].null_count > 0
    assert small().where("acc > 1").table.schema.types == small().table.schema.types
    record = json.loads(table.schema.metadata[RECORD])
    assert record["question"]["ask"] == "profile"


def test_numbers_beyond_a_word_are_strings():
    profile = small().project("size", "N * N * N * N * N * N * N * N * N * N * N * size")
    table = profile.table
    assert table.schema.types[1] == pa.string()
    assert {int(text) for text in table[1].to_pylist()} == {60**11 * n for n in (1, 2, 3, 4)}


def large():
    """Make a profile of more trees than any machine word holds."""
    profile = small().project("size", "acc")
    counts = [10**30 + at for at in range(len(profile.trees))]
    return Profile(profile.axes, limbs_of(counts), profile.metrics, profile.record)


@pytest.mark.parametrize("profile", [small(), large()], ids=["small", "large"])
def test_round_trips(profile, tmp_path):
    expected = exact(profile.table, profile.names)
    profile.to_parquet(tmp_path / "p.parquet")
    again = parquet.read_table(tmp_path / "p.parquet")
    assert exact(again, profile.names) == expected
    assert again.schema.metadata[RECORD] == profile.table.schema.metadata[RECORD]
    profile.to_csv(tmp_path / "p.csv")
    strings = csv.ConvertOptions(column_types={"trees": pa.string()})
    again = csv.read_csv(tmp_path / "p.csv", convert_options=strings)
    assert exact(again, profile.names) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.parquet"]


def test_pandas_has_python_integers():
    pytest.importorskip("pandas")
    profile = large()
    frame = profile.to_pandas()
    assert type(frame["trees"].iloc[0]) is int
    assert sum(frame["trees"]) == profile.count
    nullable = small().to_pandas()["precision_num"]
    assert str(nullable.dtype) == "Int64"
    assert nullable.isna().sum() == small().table["precision"].null_count


def test_polars():
    polars = pytest.importorskip("polars")
    profile = small()
    frame = profile.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert sum(map(int, frame["trees"])) == profile.count


@pytest.mark.parametrize("profile", [small(), large()], ids=["small", "large"])
def test_sql_sums_exactly(profile):
    pytest.importorskip("duckdb")
    answer = profile.sql("SELECT sum(trees) AS n FROM profile WHERE size <= 2")
    assert int(answer["n"][0].as_py()) == profile.where("size <= 2").count


def test_sql_beyond_its_numbers_has_text():
    pytest.importorskip("duckdb")
    profile = small().project("size")
    counts = [10**40 + at for at in range(len(profile.trees))]
    profile = Profile(profile.axes, limbs_of(counts), profile.metrics, profile.record)
    answer = profile.sql("SELECT trees FROM profile")
    assert sum(int(n) for n in answer["trees"].to_pylist()) == profile.count


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT nothing FROM profile", "DuckDB cannot answer this query: .*nothing"),
        ("SELEC 1", "DuckDB cannot answer this query: .*SELEC"),
        ("SELECT * FROM 'some.csv'", "DuckDB cannot answer this query"),
        ("CREATE TABLE t (a INTEGER)", "a query is one statement: SELECT"),
        ("SELECT 1; SELECT 2", "a query is one statement: SELECT"),
        ("", "a query is one statement: SELECT"),
    ],
)
def test_bad_queries_are_one_sentence(query, sentence):
    pytest.importorskip("duckdb")
    with pytest.raises(adtc.ADTCError, match=sentence) as caught:
        small().sql(query)
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(adtc.ADTCError, match=r"pip install 'adtc\[sql\]'"):
        small().sql("SELECT 1")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    profile = small()
    with pytest.raises(adtc.ADTCError, match=r"the folder '.*' does not exist"):
        profile.to_parquet(tmp_path / "no" / "p.parquet")
    with pytest.raises(adtc.ADTCError, match="it is a folder"):
        profile.to_csv(tmp_path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    place = tmp_path / "p.parquet"
    place.write_text("old", encoding="utf-8")

    def fail(table, where):
        where.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", fail)
    with pytest.raises(adtc.ADTCError, match="no space left on device; give another file"):
        small().to_parquet(place)
    assert place.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]


def test_columns_need_names_of_their_own():
    profile = small()
    twice = Profile(profile.axes, profile.trees, {"trees": profile.metrics["size"]}, profile.record)
    with pytest.raises(adtc.ADTCError, match="would be called 'trees'"):
        _ = twice.table
    none = Profile(profile.axes, profile.trees, {}, profile.record)
    with pytest.raises(adtc.ADTCError, match="no metrics"):
        _ = none.table


@pytest.mark.parametrize("engine", ["fast", "spec"])
def test_num_cells_is_the_number_of_rows(engine):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (40, 3))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ X[:, 1], z=rng.integers(0, 2, 40))
    space = adtc.Space(max_depth=2)
    for metrics in (["dp"], ["size", "f1"], ["acc", "eopp"], ["size", "acc", "dp"]):
        profile = adtc.profile(data, space, metrics, engine=engine)
        assert profile.num_cells == profile.table.num_rows == profile.record.num_cells
        assert len(profile.where("size <= 3" if "size" in metrics else None)) > 0
    gaps = adtc.profile(data, space, ["dp"], engine=engine)
    assert len(gaps.trees) > gaps.num_cells  # a gap comes from either group


def test_rows_are_counted_exactly_where_floats_cannot_tell():
    profile = small()
    n = len(profile.trees)
    wide = {name: np.full(n, 2**60, object) + np.arange(n) for name in profile.axes}
    name = next(iter(profile.axes))
    profile = replace(profile, axes=wide, metrics={"m": Name(name)}, _columns={}, _values={})
    assert profile.num_cells == n
