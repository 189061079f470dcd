"""Files in batches, and several files as one table; what is wrong with them, in one sentence."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import adtc
from adtc.certificates.recipe import table_of
from adtc.cli import main
from adtc.data import Data
from adtc.data.stream import file_batches as batched
from adtc.data.stream.batches import Spool, is_stream
from adtc.errors import CancelledError, DataError, LimitError, QueryError


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "pay": np.round(rng.lognormal(size=n), 3),
            "job": rng.choice(["cook", "smith", "clerk, senior", None], n),
            "sex": rng.choice(["f", "m"], n),
            "good": rng.integers(0, 2, n),
        }
    )


ASKED = {"target": "good", "sensitive": "sex", "nbins": 3}


def agree(path, **options):
    """Read a table both ways; give the streamed one."""
    asked = ASKED | options
    streamed = adtc.read(path, stream=True, **asked)
    assert streamed.fingerprint == adtc.read(path, stream=False, **asked).merged().fingerprint
    return streamed


def run(*args):
    found = CliRunner().invoke(main, list(args))
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.fixture
def parts(tmp_path):
    """Three Parquet files, the last with its columns in another order."""
    table = people()
    pq.write_table(table.slice(0, 300), tmp_path / "a.parquet", row_group_size=70)
    pq.write_table(table.slice(300, 1), tmp_path / "b.parquet")
    (tmp_path / "sub").mkdir()
    last = table.slice(301).select(["good", "sex", "job", "pay", "age"])
    pq.write_table(last, tmp_path / "sub" / "c.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.parquet").write_text("no table")
    return tmp_path


def test_a_directory_and_a_glob_are_one_table(parts):
    whole = Data.from_frame(people(), **ASKED)
    assert agree(parts).fingerprint == whole.merged().fingerprint
    assert agree(str(parts / "**" / "*.parquet")).total == 900
    assert agree(str(parts / "[ab].parquet")).total == 301
    assert adtc.describe(parts, stream=True, **ASKED).rows == 900


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv_files_of_a_directory(tmp_path, sep, packed, monkeypatch):
    monkeypatch.setattr(batched, "BLOCK", 2_000)
    frame = polars.from_arrow(people())
    for i, part in enumerate([frame[:400], frame[400:]]):
        text = part.write_csv(separator=sep).encode()
        name = f"{i}.csv" + ".gz" * packed
        (tmp_path / name).write_bytes(gzip.compress(text) if packed else text)
    assert agree(tmp_path).total == 900


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbfa,b,y\r\n1,x,0\r\n\r\n2,y,1\r\n3,"x\n,z",1',
        b"|a comment\na b   y\n1  x 0 \n 2 y  1\n3\tx 1\n" * 1,
        b"a;b;y\n1,5;x;0\n2,5;;1\n",
        b'a,b,y\n"1",x,0\n"2",y,1\n ,z,1\n?,x,0\n',
        b"a,b,y\ntrue,1,0\nfalse,0,1\n",
        b"a b y\n" + b"1  x 0\n 22 y   1 \n" * 300,
    ],
)
@pytest.mark.parametrize("block", [64, 1 << 24])
def test_csv_reads_alike(tmp_path, content, block, monkeypatch):
    monkeypatch.setattr(batched, "BLOCK", block)
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    agree(path, target="y", sensitive=None, na=["?"])


def test_no_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,x,0\n2,y,1\n3,y,1\n")
    assert agree(path, target="2", sensitive=None, header=False).total == 3


def test_kind_changes_half_way_through_a_csv(tmp_path, monkeypatch):
    monkeypatch.setattr(batched, "BLOCK", 200)
    rows = [f"{i % 50},{i % 3 % 2}" for i in range(300)]
    rows[200] = "unknown,0"
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "\n".join(rows))
    assert agree(path, target="y", sensitive=None).features[0].test == "equals"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop_columns("job"), "b.parquet' has no column 'job', but '.*a.parquet' has"),
        (lambda t: t.append_column("k", t["age"]), "b.parquet' has a column 'k', but .* has none"),
        (
            lambda t: t.set_column(0, "age", t["age"].cast(pa.string())),
            "column 'age' is string in '.*b.parquet', but int64 in '.*a.parquet'",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_files_that_do_not_go_together(parts, change, sentence, stream):
    pq.write_table(change(people()), parts / "b.parquet")
    with pytest.raises(DataError, match=sentence):
        adtc.read(parts, stream=stream, **ASKED)


@pytest.mark.parametrize("stream", [False, True])
def test_whole_numbers_and_fractions_go_together(parts, stream):
    table = people()
    pq.write_table(table.set_column(0, "age", table["age"].cast(pa.float64())), parts / "b.parquet")
    assert adtc.read(parts, stream=stream, **ASKED).total == 300 + 900 + 599


@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_read_is_named(parts, stream):
    (parts / "b.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(DataError, match=r"b.parquet' cannot be read as Parquet") as caught:
        adtc.read(parts, stream=stream, **ASKED)
    assert "\n" not in str(caught.value)
    (parts / "b.parquet").unlink()
    (parts / "d.csv").write_text("a,y\n1,0\n")
    with pytest.raises(DataError, match=r"has both Parquet and CSV files; give a pattern"):
        adtc.read(parts, stream=stream, **ASKED)
    with pytest.raises(DataError, match=r"no file matches '.*x\*.csv'; give a pattern"):
        adtc.read(str(parts / "x*.csv"), stream=stream, **ASKED)
    (parts / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty' has no Parquet or CSV file in it"):
        adtc.read(parts / "empty", stream=stream, **ASKED)
    (parts / "empty" / "year=2020").mkdir()
    pq.write_table(people(), parts / "empty" / "year=2020" / "a.parquet")
    with pytest.raises(DataError, match=r"is partitioned by folders such as 'year=2020'"):
        adtc.read(parts / "empty", stream=stream, **ASKED)


def test_a_line_with_too_many_fields(tmp_path, monkeypatch):
    monkeypatch.setattr(batched, "BLOCK", 64)
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,0\n2,1\n" * 100 + "1,2,3\n")
    with pytest.raises(DataError, match=r"t.csv' cannot be read as CSV: .*3") as caught:
        adtc.read(path, stream=True, target="y")
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(batched, "HEAD", 64)
    monkeypatch.setattr("adtc.data.files.HEAD", 64)
    path.write_bytes(b"a,y\n" + b"1,0\n2,1\n" * 100 + b"\xff,1\n")
    with pytest.raises(DataError, match=r"is not UTF-8 text; convert it"):
        adtc.read(path, stream=True, target="y")
    path.write_text("a,y\n")
    with pytest.raises(DataError, match=r"the table has no rows"):
        adtc.read(path, stream=True, target="y")


def test_a_disk_that_goes_away(parts, monkeypatch):
    def half(*_, **__):
        yield people().to_batches()[0]
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", half)
    with pytest.raises(DataError, match=r"a.parquet' cannot be read as Parquet: .*Input/output"):
        adtc.read(parts, stream=True, **ASKED)


def test_progress_and_cancelling(parts):
    told = []

    class Watch:
        def report(self, stage, done, total):
            told.append((stage, done, total))

        def check(self):
            if len(told) == 5:
                raise CancelledError("enough")

    with pytest.raises(CancelledError):
        adtc.read(parts, stream=True, monitor=Watch(), **ASKED)
    assert told[0][0] == "reading columns"
    assert [done for _, done, _ in told[:3]] == [70, 140, 210]  # by row groups
    assert {total for _, _, total in told} == {900}


def test_streams_by_size(parts, monkeypatch):
    assert adtc.read(parts, **ASKED).n_rows == 900
    monkeypatch.setattr(sys.modules["adtc.data.read"], "STREAMED_FROM", 8 * 900 * 5)
    assert adtc.read(parts, **ASKED).n_rows < 900


@pytest.mark.parametrize("stream", [None, True])
def test_queries_and_lazy_frames(parts, stream):
    duckdb = pytest.importorskip("duckdb")
    whole = Data.from_frame(people(), **ASKED).merged()
    path = parts / "all.parquet"
    pq.write_table(people(), path)
    sources = [
        duckdb.sql(f"select * from '{path}'"),
        people().to_reader(max_chunksize=100),
        polars.scan_parquet(path).filter(polars.col("age") > 0),
    ]
    assert all(map(is_stream, sources))
    for source in sources:
        found = Data.from_frame(source, stream=stream, **ASKED)
        assert found.total == 900
        assert found.n_rows == (whole.n_rows if stream else 900)
        assert sorted(found.merged().weights) == sorted(whole.weights)
    found = adtc.read(sql=f"select * from '{path}' where age < 50", stream=stream, **ASKED)
    assert found.name == "query"
    assert found.total == (np.asarray(people()["age"]) < 50).sum()


def test_queries_that_fail(parts):
    pytest.importorskip("duckdb")
    with pytest.raises(DataError, match=r"the query cannot be answered: .*nothing") as caught:
        adtc.read(sql="select nothing", target="y")
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=r"from a path or by a query"):
        adtc.read(target="y")


def test_frames_in_memory_stream_when_asked():
    whole = Data.from_frame(people(), **ASKED)
    for frame in (people(), polars.from_arrow(people()), people().to_pandas()):
        assert not is_stream(frame)
        assert (
            Data.from_frame(frame, stream=True, **ASKED).fingerprint == whole.merged().fingerprint
        )


def test_streams_are_described():
    for frame, stream in ((people(), True), (polars.from_arrow(people()).lazy(), None)):
        found = adtc.describe(frame, stream=stream, **ASKED)
        assert (found.rows, found.total) == (900, 900)
        assert (found.reading is None) == (stream is None)


def test_a_full_disk_is_told(monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

        closed = False

        def close(self):
            self.closed = True

        def flush(self):
            pass

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    with pytest.raises(DataError, match=r"the stream cannot be kept in '.*TMPDIR"):
        Spool.write(people().to_reader())


def test_on_the_command_line(parts):
    asked = ["--target", "good", "--sensitive", "sex", "--maxdep", "1", "--json", "--quiet"]
    counts = {
        json.loads(run("count", table, *asked, *more))["count"]
        for table in (str(parts), str(parts / "**" / "*.parquet"))
        for more in ([], ["--stream"], ["--memory-limit", "16GB"])
    }
    assert len(counts) == 1
    described = run("describe", str(parts), "--target", "good", "--stream")
    assert "streamed: 900 rows were read in batches; all counts and cuts are exact" in described


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_votes_of_every_row_as_it_was_read(parts, tmp_path_factory, ending):
    asked = ["--target", "good", "--sensitive", "sex", "--nbins", "3", "--maxdep", "2"]
    asked += ["--where", "acc >= 0.52", "--quiet", "--json"]
    saved = {}
    for way in ("--stream", "--no-stream"):
        path = tmp_path_factory.mktemp("out") / f"votes.{ending}"
        told = json.loads(run("votes", str(parts), *asked, way, "--save", str(path)))
        assert told["total"] > 0
        read = polars.read_csv if ending == "csv" else polars.read_parquet
        saved[way] = read(path)
    assert saved["--stream"].height == 900
    assert saved["--stream"].equals(saved["--no-stream"])


def test_rows_that_change_between_passes(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(people(), path)
    data = adtc.read(path, stream=True, **ASKED)
    rows, weights = (np.concatenate(part) for part in zip(*data.originals.read(), strict=True))
    assert rows.tolist() == Data.from_frame(people(), **ASKED).merged().origin.tolist()
    assert weights.sum() == 900
    table = people().set_column(2, "job", pa.array(["king"] * 900))
    pq.write_table(table, path)
    with pytest.raises(DataError, match="'job' holds other values than a moment ago"):
        next(data.originals.read())


@pytest.mark.parametrize("stream", [False, True])
def test_an_index_of_pandas_is_no_column(tmp_path, stream):
    frame = people().to_pandas().set_index("pay")
    frame.to_parquet(tmp_path / "t.parquet")
    data = adtc.read(tmp_path / "t.parquet", stream=stream, **ASKED)
    assert {f.column for f in data.features} == {"age", "job"}


def test_the_benchmark_checks_its_totals(tmp_path):
    script = Path(__file__).parents[2] / "benchmarks" / "rows.py"
    command = [sys.executable, script, "--rows", "20000", "--folder", tmp_path]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.splitlines()[-1] == "totals: right"
    assert "peak resident memory" in told
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (["--memory-limit", "200MB"], "within the memory limit of 200 MB: raise the limit"),
        (["--time-limit", "9"], "within the time limit of 9 s: raise the limit"),
    ],
)
def test_limits_hold_while_reading(parts, limit, told, monkeypatch):
    def check(self):
        if self.resident_limit is None:
            self.started -= 10
        raise LimitError("the run did not finish")

    monkeypatch.setattr("adtc._core.resident_bytes", lambda: 10**8)
    monkeypatch.setattr("adtc.engine.monitor.Monitor.check", check)
    asked = ["count", str(parts), "--target", "good", "--stream", *limit]
    found = CliRunner().invoke(main, asked)
    assert found.exit_code == 2
    assert told in found.stderr


def test_a_streamed_table_is_not_certified(parts):
    data = adtc.read(parts, stream=True, **ASKED)
    with pytest.raises(QueryError, match="equal rows of this table were merged"):
        table_of(data)
