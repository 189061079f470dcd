"""Further tables in batches are those in memory, merged; held-out rows are the same in any pass."""

import json
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from test_folders import ASKED, people
from test_streaming import made, options, tables

import adtc
from adtc.cli import main
from adtc.data import Data
from adtc.data.stream.batches import TableBatches
from adtc.data.stream.further import Split, batches_like, held_rows, with_streamed_table
from adtc.errors import DataError


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@settings(max_examples=80, deadline=None)
@given(tables(), tables(), options(), st.integers(1, 24))
def test_streamed_is_merged(first, second, given_options, batch_rows):
    data = made(lambda: Data.from_frame(first, **given_options))
    if isinstance(data, str):
        return
    whole = made(lambda: data.with_table("test", second).further("test").merged())
    batches = TableBatches(second, False, batch_rows)
    found = made(lambda: with_streamed_table(data, "test", batches).further("test"))
    if isinstance(whole, str):  # rows are counted from the batch's first one in some sentences
        assert isinstance(found, str)
    else:
        assert found.fingerprint == whole.fingerprint
        assert (found.total, found.notes) == (whole.total, whole.notes)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 200),
    st.sampled_from(["0.1", 0.5, "2/3"]),
    st.integers(0, 2**70),
    st.integers(1, 50),
)
def test_rows_are_held_out_whatever_the_batches_are(rows, share, seed, batch_rows):
    table = pa.table({"row": np.arange(rows)})
    kept = Split(TableBatches(table, False, batch_rows), share, seed)
    parts = [
        [n for batch, _ in part.read(["row"]) for n in batch["row"].to_pylist()]
        for part in (kept, kept.others())
    ]
    assert sorted(parts[0] + parts[1]) == list(range(rows))
    assert parts[1] == np.flatnonzero(held_rows(0, rows, share, seed)).tolist()


def test_shares_are_nearly_kept_and_seeds_choose_other_rows():
    one, other = (held_rows(0, 10**6, 0.3, seed) for seed in (0, 1))
    assert abs(one.mean() - 0.3) < 0.003  # six standard deviations
    assert abs((one & other).mean() - 0.09) < 0.003
    assert abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < 0.006


def test_cuts_come_from_the_rows_that_stay(tmp_path):
    table = people()
    path = tmp_path / "people.parquet"
    pq.write_table(table, path, row_group_size=70)
    held = held_rows(0, 900, 0.3, seed=5)
    found = adtc.read(path, stream=True, test_share=0.3, test_seed=5, **ASKED)
    kept = Data.from_frame(table.filter(pa.array(~held)), **ASKED)
    both = kept.with_table("test", table.filter(pa.array(held)))
    assert replace(found, tables=()).fingerprint == kept.merged().fingerprint
    assert found.feature_names == kept.feature_names
    assert found.further("test").fingerprint == both.further("test").merged().fingerprint
    assert found.total + found.further("test").total == 900
    note = "about 0.3 of the rows, by their number in the stream and seed 5"
    assert found.further("test").notes == (note,)


def test_a_query_is_read_once(tmp_path):
    pq.write_table(people(), tmp_path / "people.parquet")
    sql = f"select * from '{tmp_path}/people.parquet'"
    with pytest.raises(DataError, match="which is read once: give the test rows as a table"):
        adtc.read(sql=sql, stream=True, test_share=0.3, **ASKED)


@pytest.mark.parametrize("share", ["0", "1.5", "half"])
def test_shares_out_of_range(tmp_path, share):
    pq.write_table(people(), tmp_path / "people.parquet")
    with pytest.raises(DataError, match="the share of test rows is"):
        adtc.read(tmp_path / "people.parquet", stream=True, test_share=share, **ASKED)


@pytest.mark.parametrize("kind", ["test.csv", "plain.csv", "test.parquet"])
def test_test_files_are_streamed_with_the_recipe_of_the_table(tmp_path, kind, monkeypatch):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    other = people(400, seed=1)
    pyarrow.csv.write_csv(other, tmp_path / "test.csv")
    pq.write_table(other, tmp_path / "test.parquet")
    plain = (tmp_path / "test.csv").read_text().split("\n", 1)[1]
    (tmp_path / "plain.csv").write_text(plain)  # without a header
    asked = [tmp_path / "people.csv", "--target", "good", "--sensitive", "sex", "--nbins", 3]
    asked += ["--maxdep", 2, "--where", "test.acc >= 0.5", "--quiet", "--json"]
    whole = json.loads(run("count", *asked, "--test", tmp_path / kind).stdout)
    monkeypatch.setattr(sys.modules["adtc.data.read"], "read_like", None)  # a call would fail
    given = json.loads(run("count", *asked, "--stream", "--test", tmp_path / kind).stdout)
    assert given["count"] == whole["count"] > 0
    assert given["record"]["data"]["tables"][0]["rows"] == 400


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,b\n1,2\n", "names none of the table's columns in its first line"),
        ("age,good\n30,1\n", "lacks the column"),
        ("age,pay,job,sex,good\n", "the table 'test' has no rows"),
    ],
)
def test_test_files_that_do_not_fit(tmp_path, content, sentence):
    data = Data.from_frame(people(), **ASKED)
    (tmp_path / "test.csv").write_text(content)
    with pytest.raises(DataError, match=sentence):
        with_streamed_table(
            data, "test", batches_like(tmp_path / "test.csv", people().column_names)
        )


def test_test_rows_are_held_out_on_the_command_line(tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    asked = [tmp_path / "people.csv", "--target", "good", "--sensitive", "sex", "--maxdep", 2]
    asked += ["--stream", "--test-share", 0.3, "--metrics", "acc,test.acc", "--quiet"]
    told = json.loads(run("profile", *asked, "--json").stdout)
    tables = told["record"]["data"]
    assert tables["rows"] + tables["tables"][0]["rows"] == 900
    assert "by their number in the stream and seed 0" in tables["tables"][0]["notes"][0]
    piped = CliRunner().invoke(
        main,
        ["count", "-", "--target", "good", "--stream", "--test-share", "0.3", "--quiet"],
        input=(tmp_path / "people.csv").read_text(),
    )
    assert (piped.exit_code, piped.stdout) == (2, "")
    assert "which is read once" in piped.stderr


def test_a_streamed_column_that_comes_twice_is_one_sentence(tmp_path):
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,0\n0,1,1\n")
    done = run("count", tmp_path / "twice.csv", "--target", "y", "--stream")
    assert done.exit_code == 2
    assert "more than one column named 'a'" in done.stderr
