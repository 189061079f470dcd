"""Options for further tables: files with and without a header, held-out rows, mishaps."""

import json

import pytest
from click.testing import CliRunner, Result

from adtc.cli import main

TABLE = "x,g,y\n1,a,no\n2,b,no\n3,a,no\n4,b,yes\n5,a,yes\n6,b,yes\n"
TEST = "g,y,x\na,no.,1\nb,yes.,2\nb,yes.,9\n"
ASKED = ["people.csv", "--target", "y", "--sensitive", "g", "--maxdep", "1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "people.csv": TABLE,
        "test.csv": TEST,
        "plain.csv": "|a comment\n1, a, no\n2, b, yes\n",
        "other.csv": "x,g,z\n1,a,no\n",
        "short.csv": "1,a\n2,b\n",
    }.items():
        (tmp_path / name).write_text(text)

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(main, list(args))

    return invoke


def test_metrics_of_a_test_file(run):
    asked = ["count", *ASKED, "--test", "test.csv", "--where", "error = 0 and test.error = 1"]
    result = run(*asked, "--json")
    told = json.loads(result.stdout)
    assert told["count"] == 1
    (table,) = told["record"]["data"]["tables"]
    assert (table["name"], table["rows"], len(table["fingerprint"])) == ("test", 3, 64)
    assert "without their final full stop" in table["notes"][0]
    assert "test: 3 rows; labels such as 'no.' and 'yes.' were read" in run(*asked).stdout


def test_a_file_without_a_header_has_the_columns_of_the_table(run):
    further = ["--table", "first=test.csv", "--table", "second=plain.csv"]
    asked = ["--where", "error = 0 and first.acc >= 2/3 and second.error = 1"]
    assert json.loads(run("count", *ASKED, *further, *asked, "--json").stdout)["count"] == 1


def test_rows_that_are_held_out(run):
    asked = ["profile", *ASKED, "--test-share", "0.34", "--metrics", "acc, test.acc", "--json"]
    told = json.loads(run(*asked).stdout)["record"]["data"]
    assert told["rows"] + told["tables"][0]["rows"] == 6
    assert told["tables"][0]["notes"] == [
        "0.34 of the rows of 'people', by label and group, seed 0"
    ]
    other = json.loads(run(*asked, "--test-seed", "3").stdout)["record"]["data"]
    assert other["fingerprint"] != told["fingerprint"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--test", "other.csv"], "the table 'test' lacks the column 'y', the target of 'people'"),
        (["--test", "short.csv"], "lines have 2 fields where the table has 3 columns"),
        (["--test", "none.csv"], "there is no file 'none.csv'"),
        (["--test", "test.csv", "--test-share", "0.3"], "give either --test FILE or --test-share"),
        (["--test-seed", "3"], "--test-seed says which rows --test-share holds out"),
        (["--test-share", "2"], "the share of test rows is 2, expected one between 0 and 1"),
        (["--table", "2020=test.csv"], "a further table cannot be called '2020'"),
        (["--where", "test.acc > 0"], "'test.acc' is a metric of a further table 'test', but"),
        (["--test", "test.csv", "--where", "test.size < 3"], "'test.size' does not exist"),
        (["--test", "test.csv", "--where", "tset.acc > 0"], "Did you mean 'test'?"),
    ],
)
def test_mishaps_get_one_sentence(run, options, sentence):
    result = run("count", *ASKED, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_saved_profile_keeps_its_tables(run):
    asked = ["profile", *ASKED, "--test", "test.csv", "--metrics", "acc, test.acc", "-o", "p.adtc"]
    assert run(*asked).exit_code == 0
    shown = json.loads(run("draw", "p.adtc", "-n", "1", "--where", "test.acc = 1", "--json").stdout)
    assert shown["trees"][0]["metrics"]["test.acc"] == 1
    refused = run("draw", "p.adtc", "--test", "test.csv")
    assert "leave out --test" in refused.stderr
