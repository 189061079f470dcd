"""Read a file into ``Data``."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from adtc.data.binning import BinningOptions
from adtc.data.columns import Scalar
from adtc.data.files import Source, is_parquet, one_line, read_table
from adtc.data.frames import arrow_table
from adtc.data.holdout import held_out
from adtc.data.sheet import Sheet, frame_sheet
from adtc.data.stream.batches import Batches, TableBatches, Watch, is_stream, spooled
from adtc.data.stream.file_batches import STREAMED_FROM, FileBatches, bytes_in_memory
from adtc.data.stream.folders import read_tables, table_files
from adtc.data.stream.further import Split, with_streamed_table
from adtc.data.stream.streamed import StreamSheet
from adtc.data.stream.streaming import stream_sheet
from adtc.data.table import Data
from adtc.errors import DataError

_TIMES = 3  # as much as a table does the program take that reads it


class TableOptions(BinningOptions, total=False):
    """The keywords of ``Data.from_frame`` besides the target."""

    sensitive: str | None
    use_sensitive: bool
    positive: Scalar | None
    weights: str | None
    references: Sequence[str]
    reference_labels: Mapping[str, Mapping[str, Scalar]] | None
    drop: Sequence[str]
    na: Sequence[str] | None


class ReadOptions(TableOptions):
    """The keywords of ``read`` besides path, separator and header."""

    target: str


class SheetOptions(TableOptions, total=False):
    """The keywords of ``read_sheet`` besides path, separator and header."""

    target: str | None


def read(
    path: str | PathLike[str] | None = None,
    *,
    sql: str | None = None,
    sep: str | None = None,
    header: bool = True,
    test_share: float | str | None = None,
    test_seed: int = 0,
    stream: bool | None = None,
    monitor: Watch | None = None,
    **options: Unpack[ReadOptions],
) -> Data:
    r"""Read CSV or Parquet files, or a query's result, into Boolean features.

    Parameters
    ----------
    path
        Parquet if it ends in ``.parquet`` or ``.pq``, else CSV in UTF-8, packed or not; a
        directory or a glob of such files is one table.
    sql
        Instead of a path: a query that DuckDB answers, such as ``select * from 'parts/*.parquet'``.
    sep
        One character, or ``\t``; None finds out among comma, semicolon, tab and blank.
    header
        Whether the first line holds the names; otherwise they are ``0``, ``1``, ``2`` …
    test_share, test_seed
        If given, this share of the rows of each label and group becomes the further table
        ``test``, and features are made of the others alone: see ``held_out``. Of a streamed
        table, each row is held out with this probability, by its number and the seed.
    stream
        Read it in batches and merge equal rows, so that memory holds the distinct rows only;
        by default if it would take about a gigabyte or more.
    monitor
        Is told how far streaming is, and may stop it: an ``adtc.Monitor``.
    **options
        ``target`` (needed), ``sensitive``, ``use_sensitive``, ``positive``, ``weights``,
        ``references``, ``reference_labels``, ``drop``, ``na``, ``nbins``, ``binning``, ``cuts``,
        ``numeric``, ``onehot``, ``max_categories`` and ``types``, as in ``Data.from_frame``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,job,y\n20,cook,0\n30,clerk,1\n40,?,1\n")
    ...     data = read(path, target="y", na=["?"])
    >>> data.feature_names
    ('age <= 25', 'age <= 35', 'job = cook', 'job is missing')
    """
    if (path is None) == (sql is None):
        raise DataError("a table is read from a path or by a query (sql): give one of them.")
    if sql is not None:
        sheet = stream_frame(query(sql), stream=stream, watch=monitor, name="query", **options)
    else:
        path = _path(path)
        held = None if test_share is None else (test_share, test_seed)
        sheet = read_sheet(
            path, sep=sep, header=header, stream=stream, watch=monitor, held=held, **options
        )
    return data_of(sheet) if test_share is None else split_of(sheet, test_share, test_seed)


def _path(given: object) -> str | PathLike[str]:
    """Return a path, or say how else such a table is read."""
    if not isinstance(given, str | PathLike):
        raise DataError(
            f"the path of a table is a text, not a {type(given).__name__}: frames, relations and "
            f"lazy frames are read by adtc.Data.from_frame, queries by adtc.read(sql=...)."
        )
    if isinstance(given, str) and re.match(r"\s*(select|with|from)\s", given, re.IGNORECASE):
        raise DataError(f"'{given[:60]}' reads like a query: give it as adtc.read(sql=...).")
    return given


def data_of(sheet: Sheet | StreamSheet) -> Data:
    """Make the table of a sheet, whichever way it was read."""
    return sheet.data() if isinstance(sheet, StreamSheet) else Data.from_sheet(sheet)


def split_of(sheet: Sheet | StreamSheet, share: float | str, seed: int = 0) -> Data:
    """Hold test rows out; of a streamed table that was decided before it was read."""
    if not isinstance(sheet, StreamSheet):
        return held_out(sheet, share, seed)
    rows, watch = sheet.reading_of.source, sheet.reading_of.watch
    if not isinstance(rows, Split):
        raise DataError(
            "test rows are held out of files and of tables in memory, but this is a query or a "
            "stream, which is read once: give the test rows as a table of their own, or write it "
            "to a file first."
        )
    test = rows.others()
    return with_streamed_table(data_of(sheet), "test", test, watch=watch, notes=(test.note,))


def read_like(
    path: str | PathLike[str],
    names: Sequence[str],
    *,
    sep: str | None = None,
    header: bool = True,
) -> Any:
    """Read a file that should have the columns of another table.

    Notes
    -----
    If its first line holds none of their names, but as many fields, it has no header: its columns
    are taken in the order of the table's.
    """
    if header and not is_parquet(path):
        plain = read_table(path, sep=sep, header=False)
        first = {str(plain[name][0]).strip() for name in plain.column_names}
        if not first & set(names):
            if plain.num_columns == len(names):
                return plain.rename_columns(list(names))
            raise DataError(
                f"'{path}' names none of the table's columns in its first line, and lines have "
                f"{plain.num_columns} fields where the table has {len(names)} columns: give a file "
                f"with the same columns."
            )
    return read_table(path, sep=sep, header=header)


def read_sheet(
    path: str | PathLike[str],
    *,
    sep: str | None = None,
    header: bool = True,
    stream: bool | None = None,
    watch: Watch | None = None,
    describing: bool = False,
    memory: int | None = None,
    held: tuple[float | str, int] | None = None,
    **options: Unpack[SheetOptions],
) -> Sheet | StreamSheet:
    """Read and encode a table; the parameters are those of ``read``.

    Parameters
    ----------
    watch, describing
        As in ``stream_sheet``.
    memory
        Bytes that the program may hold: a table that would take a third of them is streamed.
    held
        Share and seed of the rows that a stream leaves out: see `split_of`.
    """
    files = table_files(path)
    # a file's name need not be text, but what it is called in results is
    stem = os.fsencode(Path(path).name).decode("utf-8", "replace").split(".")[0].strip("*")
    stem = stem or Path(path).parent.name.strip("*") or "table"
    if stream is None:
        most = STREAMED_FROM if memory is None else min(STREAMED_FROM, memory // _TIMES)
        stream = bytes_in_memory(files) >= most
    if stream:
        batches: Batches = FileBatches(files, sep, header)
        batches = batches if held is None else Split(batches, *held)
        return stream_sheet(batches, name=stem, watch=watch, describing=describing, **options)
    table = read_tables(path, sep=sep, header=header)
    sheet = frame_sheet(table, name=stem, parse_text=not is_parquet(files[0]), **options)
    source = Source(Path(path).absolute(), sep, header) if len(files) == 1 else None
    return replace(sheet, source=source)


def stream_frame(
    frame: object,
    *,
    stream: bool | None,
    parse_text: bool = False,
    watch: Watch | None = None,
    describing: bool = False,
    name: str = "table",
    **options: Unpack[SheetOptions],
) -> Sheet | StreamSheet:
    """Encode a frame, in batches if that is asked for or if a stream turns out to be large."""
    if not is_stream(frame):
        batches = TableBatches(arrow_table(frame), parse_text)
        return stream_sheet(batches, name=name, watch=watch, describing=describing, **options)
    with closing(spooled(frame, parse_text=parse_text, watch=watch)) as spool:
        if stream or (stream is None and spool.nbytes >= STREAMED_FROM):
            return stream_sheet(spool, name=name, watch=watch, describing=describing, **options)
        return frame_sheet(spool.table(), parse_text=parse_text, name=name, **options)


def query(sql: str) -> Any:
    """Ask DuckDB, which reads files by their names; the answer comes when it is read."""
    try:
        import duckdb
    except ImportError:
        raise DataError(
            "a query needs DuckDB, which is not installed: pip install 'adtc[sql]'."
        ) from None
    try:
        return duckdb.connect().sql(sql)
    except duckdb.Error as error:
        raise DataError(f"the query cannot be answered: {one_line(error)}.") from None
