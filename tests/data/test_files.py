"""Reading CSV and Parquet files: what comes in, and what is refused in which words."""

import gzip
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from adtc.data import Data, read, read_table
from adtc.data.files import repeated
from adtc.errors import DataError, UnknownColumnError


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_arrow_reads_memory_of_its_own(write, monkeypatch):
    # threads that let go of memory of Python's while Python ends would abort the process
    given = []
    whole = csv.read_csv
    monkeypatch.setattr(csv, "read_csv", lambda b, *more: given.append(b) or whole(b, *more))
    assert read_table(write("a,b\n1,x\n")).num_rows == 1
    (buffer,) = given
    assert buffer.is_mutable  # that of bytes is not
    assert buffer.to_pybytes() == b"1,x\n"


def test_csv_is_text_with_its_names(write):
    table = read_table(write("a,b\n1, x \n2,y\n"))
    assert table.to_pydict() == {"a": ["1", "2"], "b": [" x ", "y"]}


@pytest.mark.parametrize("sep", [",", ";", "\t", " "])
def test_separator_is_found(write, sep):
    text = "a,b,c\n1,2,3\n4,5,6\n".replace(",", sep)
    assert read_table(write(text)).to_pydict() == {
        "a": ["1", "4"],
        "b": ["2", "5"],
        "c": ["3", "6"],
    }


def test_comma_and_blank_means_comma(write):
    table = read_table(write("39, State-gov, x\n50, Private, y\n"), header=False)
    assert table.column_names == ["0", "1", "2"]
    assert table["0"].to_pylist() == ["39", "50"]


def test_semicolon_with_decimal_commas(write):
    assert read_table(write("a;b\n1,5;2\n2,5;3\n")).column_names == ["a", "b"]


def test_separator_inside_quotes_does_not_count(write):
    table = read_table(write('a;b\n"x;y";1\n"z,\nw";2\n'))
    assert table.to_pydict() == {"a": ["x;y", "z,\nw"], "b": ["1", "2"]}


def test_line_ends_inside_quotes_of_a_long_file(write):
    row = '"' + "a\n" * 50 + '",1\n'
    table = read_table(write("a,b\n" + row * 30_000))
    assert table.num_rows == 30_000
    assert table["a"].unique().to_pylist() == ["a\n" * 50]


def test_runs_of_blanks_are_one_separator(write):
    table = read_table(write("  1  0 1 \n 0   1\t0\n"), header=False)
    assert table.to_pydict() == {"0": ["1", "0"], "1": ["0", "1"], "2": ["1", "0"]}


def test_given_separator(write):
    path = write("a|b\n1|2\n")
    assert read_table(path, sep="|").column_names == ["a", "b"]
    assert read_table(write("a\tb,c\n1\t2\n"), sep="\\t").column_names == ["a", "b,c"]
    with pytest.raises(DataError, match=r"separator must be one character, but it is '\|\|'"):
        read_table(path, sep="||")


def test_empty_lines_bom_and_crlf(write):
    path = write(b"\xef\xbb\xbf\r\na,b\r\n\r\n1,2\r\n3,4\r\n\r\n")
    assert read_table(path).to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}


def test_names_are_stripped_and_unnamed_columns_get_one(write):
    assert read_table(write(", b \n0,1\n")).column_names == ["(column 1)", "b"]


def test_gzip(write):
    path = write(gzip.compress(b"a,y\n0,0\n1,1\n"), "people.csv.gz")
    data = read(path, target="y")
    assert (data.name, data.n_rows, data.feature_names) == ("people", 2, ("a",))


@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_parquet_keeps_types(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    pq.write_table(pa.table({"code": ["1", "2", "3"], "y": [True, False, True]}), path)
    data = read(path, target="y")
    assert data.labels == (False, True)
    # Text in Parquet was meant as text, so parse it only where the file has no types.
    assert data.feature_names == ("code = 1", "code = 2", "code = 3")


def test_file_with_header_and_numbers(write):
    data = read(write("age;job;y\n20;cook;no\n30;clerk;yes\n40;cook;yes\n"), target="y")
    assert data.feature_names == ("age <= 25", "age <= 35", "job = cook")
    assert data.dense().tolist() == [[1, 1, 1], [0, 1, 0], [0, 0, 1]]


def test_types_override_keeps_the_spelling(write):
    path = write("zip,n,y\n007,1,0\n07,2,1\n7,3,1\n")
    data = read(path, target="y", types={"zip": "category", "n": "ignore"})
    assert data.feature_names == ("zip = 007", "zip = 07", "zip = 7")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "'.*' is empty; a header and at least one row are needed"),
        ("\n \n", "is empty"),
        ("a,b\n", "has a header but no rows; at least one row is needed"),
        ("a,b\n1,2\n\n3\n", "line 4 of '.*' has 1 fields, but 2 were expected"),
        ("a,b\n1,2\n3,4,5\n", "line 3 of '.*' has 3 fields, but 2 were expected"),
        ("a b\n1 2\n1 2 3\n" * 9, "fields, but .* were expected"),
        (b"a,b\nx,1\n\xe4,2\n", "line 3 of '.*' is not UTF-8 text; convert the file"),
        (b"a\xff,b\nx,1\n", "line 1 of '.*' is not UTF-8 text"),
        ("a,b,a\n1,2,3\n", "has more than one column named 'a', with different values; rename"),
        ("a,a\n,\nx,X\n", "has more than one column named 'a', with different values"),
    ],
)
def test_what_cannot_be_read(write, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_table(write(content))
    assert "\n" not in str(caught.value)


def test_equal_columns_of_one_name_are_one(write):
    table = read_table(write("a,b,a,y,a\n1,u,1,0,1\n2,v,2,1,2\n"))
    assert table.to_pydict() == {"a": ["1", "2"], "b": ["u", "v"], "y": ["0", "1"]}
    data = read(write("b,a,b,y\n1,u,1,0\n2,v,2,1\n"), target="y")
    assert data.feature_names == ("b <= 1.5", "a = v")


def test_undecodable_text_far_below_the_head(write):
    with pytest.raises(DataError, match=r"line 400001 of '.*' is not UTF-8 text"):
        read_table(write(b"a,b\n" + b"1,2\n" * 399_999 + b"\xff,1\n"))


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(DataError, match=r"there is no file '.*none.csv'"):
        read(tmp_path / "none.csv", target="y")
    with pytest.raises(DataError, match="has no Parquet or CSV file in it"):
        read(tmp_path, target="y")


def test_damaged_parquet_and_gzip(write):
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_table(write("no parquet", "t.parquet"))
    with pytest.raises(DataError, match="cannot be read"):
        read_table(write(gzip.compress(b"a,b\n1,2\n" * 99)[:-30], "t.csv.gz"))


def test_unknown_column_in_a_file(write):
    with pytest.raises(
        UnknownColumnError, match=r"unknown column 'incom'\. Did you mean 'income'\?"
    ):
        read(write("age,income\n1,0\n2,1\n"), target="incom")


def test_a_table_is_read_without_pandas(write):
    """Where it is installed, most of Arrow's conversions load it, for a third of a second."""
    path = write("age,town,y\n20,a,no\n,b,yes\n41,NA,yes\n")
    program = (
        f"import sys, adtc; data = adtc.read({str(path)!r}, target='y', nbins=2); "
        "print(*data.feature_names, 'pandas' in sys.modules, sep='; ')"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    said = "age <= 30.5; age is missing; town = b; town is missing; False"
    assert done.stdout.decode().strip() == said


class Counted(str):
    """A name that counts how often it is looked at."""

    looks = 0
    __slots__ = ()

    def __eq__(self, other):
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self):
        Counted.looks += 1
        return str.__hash__(self)


def test_many_columns_are_compared_a_few_times_each():
    names = [Counted(f"c{i}") for i in range(2000)]
    Counted.looks = 0
    assert repeated([*names, Counted("c7")]) == ["c7"]
    assert Counted.looks < 10 * len(names)


def test_a_new_table_of_many_columns_is_not_listed_for_each_of_them(monkeypatch):
    n, lists = 300, []
    columns = {f"c{i}": [0, 1, 0] for i in range(n)}
    data = Data.from_frame({**columns, "y": [0, 1, 1]}, target="y")

    class Listed:
        """A table that counts how often its names are listed."""

        def __init__(self, table):
            self.table = table

        def __getattr__(self, name):
            if name == "column_names":
                lists.append(name)
            return getattr(self.table, name)

        def __getitem__(self, name):
            return self.table[name]

    monkeypatch.setattr("adtc.data.table.arrow_table", Listed)
    bits = data.binarize(pa.table(columns))
    assert bits.shape == (n, 1)
    assert len(lists) < 10


def test_a_missing_value_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,0\n0,1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"'\?' is not UTF-8 text, as it should be here"):
        read(path, target="y", na=["\ud800"])


def test_a_parquet_file_whose_names_are_no_text_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"abc": [1, 2], "y": [0, 1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"abc", b"a\xe9c"))
    with pytest.raises(DataError, match=r"a\.parquet' cannot be read as Parquet: .*decode"):
        read(path, target="y")


@pytest.mark.parametrize("given", [["a.csv"], {"y": [0, 1]}, b"a.csv", 3])
def test_what_is_no_path_is_said_to_be_a_frame(given: object) -> None:
    with pytest.raises(DataError, match=r"not a \w+: frames, .* adtc\.Data\.from_frame"):
        read(given, target="y")


def test_a_query_given_as_a_path_is_recognised() -> None:
    with pytest.raises(DataError, match=r"reads like a query: give it as adtc\.read\(sql="):
        read("select * from 'parts/*.parquet'", target="y")
