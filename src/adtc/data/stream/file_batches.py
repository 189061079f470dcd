"""CSV and Parquet files in record batches, one file after the other."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from adtc.data.files import (
    HEAD,
    CsvStart,
    csv_start,
    is_parquet,
    one_line,
    packing,
    single_blanks,
    without_mark,
)
from adtc.data.stream.batches import BATCH_ROWS
from adtc.data.stream.folders import check_alike
from adtc.errors import DataError

BLOCK = 1 << 24  # bytes of CSV that are parsed at once; no record may be longer
STREAMED_FROM = 10**9  # bytes
CELL = 8  # bytes, about, of one value in memory
_FIELDS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True, slots=True)
class FileBatches:
    """Files of one table; all are CSV or all are Parquet."""

    files: Sequence[Path]
    sep: str | None = None
    header: bool = True
    schema: Any = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        schemas, size = [], 0
        for file in self.files:
            if self.parse_text:
                with opened_csv(file, self.sep, self.header) as csv:
                    schemas.append(csv.schema)
                size += file.stat().st_size
            else:
                with _opened_parquet(file) as (parquet, _):
                    schemas.append(parquet.schema_arrow)
                    size += parquet.metadata.num_rows
        check_alike(self.files, schemas)
        object.__setattr__(self, "schema", schemas[0])
        object.__setattr__(self, "size", size)

    @property
    def parse_text(self) -> bool:
        """Whether text may stand for numbers, as in a CSV file."""
        return not is_parquet(self.files[0])

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield batches, each with the bytes of CSV or rows of Parquet that are read by then."""
        done = 0
        for file in self.files:
            if not self.parse_text:
                for batch in _parquet(file, columns):
                    done += batch.num_rows
                    yield batch, done
                continue
            with opened_csv(file, self.sep, self.header) as csv:
                for batch in csv.batches(columns):
                    yield batch, done + csv.position
            done += file.stat().st_size


def bytes_in_memory(files: Sequence[Path]) -> int:
    """Guess what a table takes in memory, from its files' sizes and headers alone."""
    if not is_parquet(files[0]):
        packed = [4 if packing(file) else 1 for file in files]
        return sum(file.stat().st_size * times for file, times in zip(files, packed, strict=True))
    total = 0
    for file in files:
        with _opened_parquet(file) as (parquet, _):
            total += CELL * parquet.metadata.num_rows * parquet.metadata.num_columns
    return total


@contextmanager
def _opened_parquet(path: Path, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Open a Parquet file; what goes wrong with it is told in a sentence."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:  # Arrow opens no file whose name is not UTF-8
            yield pq.ParquetFile(file, **options), file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names may be no text
        raise DataError(f"'{path}' cannot be read as Parquet: {one_line(error)}.") from None


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    with _opened_parquet(path) as (parquet, _):
        texts = [f.name for f in parquet.schema_arrow if str(f.type) in ("string", "large_string")]
    with _opened_parquet(path, read_dictionary=texts) as (parquet, _):
        yield from parquet.iter_batches(BATCH_ROWS, columns=list(columns))


class CsvFile:
    """A CSV file from its first row on."""

    def __init__(self, path: Path, file: BinaryIO, stream: Any, start: CsvStart) -> None:
        self._path, self._file, self._stream, self._start = path, file, stream, start

    @property
    def schema(self) -> Any:
        """The names of the columns, all text."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self._start.names])

    @property
    def position(self) -> int:
        """Bytes of the file that are read, packed as they are."""
        return self._file.tell()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield batches of dictionary-encoded text."""
        import pyarrow as pa
        from pyarrow import csv

        feed = _Feed(self._blocks())
        if feed.is_empty():
            return
        kind = pa.dictionary(pa.int32(), pa.string())
        reader = csv.open_csv(
            pa.PythonFile(feed, "r"),
            csv.ReadOptions(column_names=self._start.names, block_size=BLOCK),
            csv.ParseOptions(delimiter=self._start.sep, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=dict.fromkeys(self._start.names, kind),
                include_columns=list(columns),
                strings_can_be_null=False,
            ),
        )
        yield from reader

    def _blocks(self) -> Iterator[bytes]:
        """Yield the file from its first row on, in whole lines if blanks are to be joined."""
        _, sep, content, length = self._start
        if sep != " ":
            yield content[length:]
            while block := self._stream.read(BLOCK):
                yield block
            return
        rest = content
        while rest:
            more = self._stream.read(BLOCK)
            lines, end, rest = rest.rpartition(b"\n") if more else (rest, b"", b"")
            yield single_blanks(lines + end)[length:]
            rest, length = rest + more, 0


class _Feed:
    """Blocks of bytes as the file that Arrow wants."""

    closed = False

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, memoryview(b"")

    def is_empty(self) -> bool:
        """Tell whether there is no row at all."""
        while not bytes(self._rest).strip():
            block = next(self._blocks, None)
            if block is None:
                return True
            self._rest = memoryview(block)
        return False

    def read(self, size: int = -1) -> bytes:
        """Return some bytes; none at the end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = memoryview(block)
        taken = self._rest if size < 0 else self._rest[:size]
        self._rest = self._rest[len(taken) :]
        return bytes(taken)


@contextmanager
def opened_csv(path: Path, sep: str | None, header: bool) -> Iterator[CsvFile]:
    """Open a CSV file; what goes wrong with it is told in a sentence."""
    import pyarrow as pa

    try:
        with path.open("rb") as file, pa.input_stream(file, packing(path)) as stream:
            raw = stream.read(HEAD + 1)
            start = csv_start(path, raw, sep, header)
            if start.sep == " ":  # blanks are joined while it is read
                start = start._replace(content=without_mark(raw, sep))
            yield CsvFile(path, file, stream, start)
    except (pa.ArrowException, OSError) as error:
        reason = one_line(error)
        if found := _FIELDS.search(reason):
            reason = f"row {found[1]} has {found[3]} fields, but {found[2]} were expected"
        elif "UTF8" in reason:
            reason = "it is not UTF-8 text; convert it, for example with iconv"
        raise DataError(f"'{path}' cannot be read as CSV: {reason}.") from None
