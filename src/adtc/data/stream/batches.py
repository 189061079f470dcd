"""Tables that come in record batches and can be read more than once.

Files are read again for each pass. Whatever can be read only once (a query, a stream) is written to
a temporary file first, so that all passes see the same rows and memory holds one batch at a time.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from adtc.atomic import reason_of
from adtc.data.bits import Rows
from adtc.errors import DataError

BATCH_ROWS = 1 << 18


class Watch(Protocol):
    """Who is told how far reading is, and may stop it; the engine's ``Monitor`` is one."""

    def report(self, stage: str, done: int, total: int) -> None:
        """Take note of progress."""

    def check(self) -> None:
        """Raise if reading is to stop."""


class Originals(Protocol):
    """The rows of a streamed table before equal ones were merged."""

    def read(self, watch: Watch | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Pass over the table once more: per row its merged row, and its weight."""


class Batches(Protocol):
    """A table in batches.

    Parameters
    ----------
    schema
        Names and types of the columns; text may come dictionary-encoded all the same.
    parse_text
        Whether text may stand for numbers, as in a CSV file.
    size
        What progress is measured by: bytes or rows.
    """

    @property
    def schema(self) -> Any:
        """Names and types."""

    @property
    def parse_text(self) -> bool:
        """Whether text may stand for numbers."""

    @property
    def size(self) -> int:
        """How much there is to read."""

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield batches of these columns, each with how much of ``size`` is read by then."""


@dataclass(frozen=True, slots=True)
class TableBatches:
    """A table in memory, in slices."""

    table: Any
    parse_text: bool = False
    batch_rows: int = BATCH_ROWS

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self.table.schema

    @property
    def size(self) -> int:
        """All rows."""
        return int(self.table.num_rows)

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield slices."""
        done = 0
        for batch in self.table.select(list(columns)).to_batches(max_chunksize=self.batch_rows):
            done += batch.num_rows
            yield batch, done


@dataclass(slots=True)
class Spool:
    """A stream that was written to a temporary file, which is gone when it is closed."""

    schema: Any
    size: int
    nbytes: int
    parse_text: bool
    _file: Any = field(repr=False)

    @classmethod
    def write(cls, stream: Any, *, parse_text: bool = False, watch: Watch | None = None) -> "Spool":
        """Read a stream to its end."""
        import pyarrow as pa

        rows = size = 0
        file = tempfile.TemporaryFile(prefix="adtc-")  # noqa: SIM115 - it stays open
        kept = False
        try:
            with pa.ipc.new_stream(file, stream.schema) as writer:
                for batch in stream:
                    if watch is not None:
                        watch.check()
                        watch.report("reading", rows, 0)
                    rows, size = rows + batch.num_rows, size + batch.nbytes
                    writer.write_batch(batch)
            kept = True
        except OSError as error:
            raise DataError(
                f"the stream cannot be kept in '{tempfile.gettempdir()}': {reason_of(error)}; "
                f"name a folder with more room in TMPDIR."
            ) from None
        finally:
            if not kept:
                file.close()
        return cls(stream.schema, rows, size, parse_text, file)

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield the batches that were written, in slices."""
        import pyarrow as pa

        done = 0
        self._file.seek(0)
        for batch in pa.ipc.open_stream(self._file):
            chosen = batch.select(list(columns))
            for start in range(0, batch.num_rows, BATCH_ROWS):
                part = chosen.slice(start, BATCH_ROWS)
                done += part.num_rows
                yield part, done

    def close(self) -> None:
        """Give the room on the disk back."""
        self._file.close()

    def table(self) -> Any:
        """Read all of it into memory."""
        import pyarrow as pa

        self._file.seek(0)
        return pa.ipc.open_stream(self._file).read_all()


def is_stream(frame: object) -> bool:
    """Tell whether a frame is a query or a stream, of which nobody knows how large it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1]})
    >>> is_stream(table), is_stream(table.to_reader())
    (False, True)
    """
    module = type(frame).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb" or type(frame).__name__ == "LazyFrame":
        return True
    if not hasattr(frame, "__arrow_c_stream__"):
        return False
    return not hasattr(frame, "shape")  # tables and data frames have one


def spooled(frame: Any, *, parse_text: bool = False, watch: Watch | None = None) -> Spool:
    """Write a query's result or a stream to a temporary file."""
    import pyarrow as pa

    try:
        if hasattr(frame, "collect_batches"):  # a lazy frame of polars
            return _spooled_lazy(frame, parse_text, watch)
        reader = pa.RecordBatchReader.from_stream(frame)
        return Spool.write(reader, parse_text=parse_text, watch=watch)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the frame cannot be read: {' '.join(str(error).split())}.") from None


def _spooled_lazy(frame: Any, parse_text: bool, watch: Watch | None) -> Spool:
    import pyarrow as pa

    with tempfile.TemporaryDirectory(prefix="adtc-") as folder:
        path = Path(folder, "frame.arrow")
        frame.sink_ipc(path)
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            stream = pa.RecordBatchReader.from_batches(reader.schema, batches)
            return Spool.write(stream, parse_text=parse_text, watch=watch)
