"""What saved profiles of all kinds have in common: columns of whole numbers, members, records.

Columns go as Parquet that is packed nowhere; the archive packs them: then the size of a table is
never more than that of its member.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.engine.exact.limbs import Limbs
from adtc.engine.record import RunRecord
from adtc.errors import DataError
from adtc.profiles.saved.archive import encode

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Array = npt.NDArray[Any]
Member = tuple[str, bytes | Array]
_TREES = "trees"


def columns_to_parquet(columns: Mapping[str, Array]) -> bytes:
    """Write columns; numbers beyond 64 bits go as decimal text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = {
        name: pa.array([str(value) for value in column] if column.dtype == object else column)
        for name, column in columns.items()
    }
    schema = pa.schema([pa.field(name, a.type, nullable=False) for name, a in made.items()])
    buffer = io.BytesIO()
    pq.write_table(
        pa.table(list(made.values()), schema=schema),
        buffer,
        compression="none",
        use_dictionary=False,
        column_encoding="PLAIN",
        write_statistics=False,
    )
    return buffer.getvalue()


def columns_from_parquet(content: bytes, rows: int) -> dict[str, Array]:
    """Read columns, once their table is as large as told."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content))
    _check_parquet(file.metadata, rows, len(content))
    table = file.read(use_threads=False).combine_chunks()
    found = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_integer(column.type):
            found[name] = _numbers(column)
        else:
            found[name] = np.array([int(text) for text in column.to_pylist()], object)
    return found


def limbs_to_columns(trees: Limbs) -> dict[str, Array]:
    """Name the limbs of numbers of trees, the lowest first."""
    return {f"{_TREES} {i}": trees[:, i] for i in range(trees.shape[1])}


def limbs_from_columns(columns: Mapping[str, Array]) -> Limbs:
    """Put the limbs together again."""
    limbs = [column for name, column in columns.items() if name.partition(" ")[0] == _TREES]
    return np.array(np.stack(limbs, axis=1), np.uint64, order="C")


def axes_to_columns(axes: Mapping[str, Array]) -> dict[str, Array]:
    """Name the columns of axes in a file."""
    return {f"axis {name}": column for name, column in axes.items()}


def axes_from_columns(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Find the columns of axes in a file."""
    pairs = [(name.partition(" "), column) for name, column in columns.items()]
    return {rest: whole(column) for (kind, _, rest), column in pairs if kind == "axis"}


def whole(column: Array) -> Array:
    """Copy a column of whole numbers as this package computes with them."""
    return np.array(column, object if column.dtype == object else np.int64)


def members_of(folders: Mapping[str, tuple[Any, Mapping[str, Array]]]) -> Iterator[Member]:
    """Name what is taken apart into plain values and arrays as members of an archive."""
    for folder, (plain, arrays) in folders.items():
        yield f"{folder}.json", encode(plain)
        yield from ((f"{folder}/{name}.npy", array) for name, array in arrays.items())


def record_from_json(plain: Mapping[str, Any]) -> RunRecord:
    """Read a run record; one of a later version may tell more."""
    known = {field.name for field in fields(RunRecord)}
    record = RunRecord(**{name: value for name, value in plain.items() if name in known})
    if not isinstance(record.data["rows"], int):
        raise DataError("its record does not tell the number of rows")
    return record


def _check_parquet(metadata: "pq.FileMetaData", rows: int, size: int) -> None:
    """Refuse a table that would be larger than its bytes, before it is read."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    if metadata.num_rows != rows or sum(group.num_rows for group in groups) != rows:
        raise DataError("its table of cells has another number of rows than told")
    plain = all(
        # not its compression: asked for one that there is not, Arrow ends the process
        chunk.total_compressed_size == chunk.total_uncompressed_size
        and not chunk.has_dictionary_page
        and set(chunk.encodings) <= {"PLAIN", "RLE"}
        for chunk in chunks
    )
    least = sum(chunk.num_values * (8 if chunk.physical_type == "INT64" else 4) for chunk in chunks)
    if not plain or least > size:
        raise DataError("its table of cells is packed, or larger than its member")


def _numbers(column: "pa.ChunkedArray") -> Array:
    """View a column of whole numbers; Arrow's own way would import pandas where it is installed."""
    if not len(column):
        return np.zeros(0, str(column.type))
    (part,) = column.chunks
    if part.null_count:
        raise DataError("a number is missing")
    values = np.frombuffer(part.buffers()[1], str(part.type))
    return values[part.offset : part.offset + len(part)]
