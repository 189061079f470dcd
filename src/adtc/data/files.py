"""Files as Arrow tables: CSV (all columns as text) and Parquet.

Which text is a number, and what the columns are for, is decided elsewhere.
"""

import csv
import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from adtc.atomic import reason_of
from adtc.errors import DataError

SEPARATORS = (",", ";", "\t", " ")
PARQUET = (".parquet", ".pq")
HEAD = 1 << 20
_REPEATED = b"adtc.repeated"
_COMMENT = re.compile(
    rb"\A\|[^\r\n]*(?=[\r\n]+\S)"
)  # the empty line stays: lines keep their numbers


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a table was read from, and how, as far as that was said."""

    path: Path
    sep: str | None = None
    header: bool = True


def read_table(path: str | PathLike[str], *, sep: str | None = None, header: bool = True) -> Any:
    r"""Read a CSV or Parquet file into a ``pyarrow.Table``.

    Parameters
    ----------
    path
        Parquet if it ends in ``.parquet`` or ``.pq``, else CSV in UTF-8; ``.gz`` and the like are
        unpacked.
    sep
        One character, or ``\t``; None finds out among comma, semicolon, tab and blank. Several
        blanks in a row are one separator.
    header
        Whether the first line holds the names; otherwise they are ``0``, ``1``, ``2`` …

    Notes
    -----
    The columns of a CSV file are all text; empty lines are skipped, and so is a first line that
    begins with ``|``, a comment in UCI's files.
    """
    path = Path(path)
    if is_folder(path):
        raise DataError(f"'{path}' is a directory; give the path of a CSV or Parquet file.")
    if is_parquet(path):
        return _read_parquet(path)
    return _read_csv(path, sep, header)


def is_folder(path: Path) -> bool:
    """Tell a directory from a file; neither is an error."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        raise DataError(
            f"there is no file '{path}'; give the path of a CSV or Parquet file."
        ) from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from None
    except ValueError:  # a NUL, or half a character
        raise DataError(f"'{path}' cannot be read: no file can have this name.") from None


def is_parquet(path: str | PathLike[str]) -> bool:
    """Tell by the name whether a file is Parquet, which has types of its own."""
    return Path(path).suffix.lower() in PARQUET


def _read_parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:  # Arrow opens no file whose name is not UTF-8
            return pq.ParquetFile(file).read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names may be no text
        raise DataError(f"'{path}' cannot be read as Parquet: {one_line(error)}.") from None


class CsvStart(NamedTuple):
    """The beginning of a CSV file: names, separator, content, and where its rows begin."""

    names: list[str]
    sep: str
    content: bytes
    length: int


def csv_start(path: Path, content: bytes, sep: str | None, header: bool) -> CsvStart:
    """Find out separator and names; the content comes back without a mark and a comment."""
    content = without_mark(content, sep)
    if not content.strip():
        raise DataError(f"'{path}' is empty; a header and at least one row are needed.")
    head = _head(path, content)
    sep = _separator(sep, head)
    if sep == " ":
        content = single_blanks(content)
        head = _head(path, content)
    names, length = _names(head, sep, header)
    return CsvStart(names, sep, content, length)


def without_mark(content: bytes, sep: str | None) -> bytes:
    """Take a byte-order mark and a first line of comment away."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content if sep == "|" else _COMMENT.sub(b"", content, count=1)


def _read_csv(path: Path, sep: str | None, header: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names, sep, content, length = csv_start(path, _content(path), sep, header)
    places = [str(i) for i in range(len(names))]  # names may be repeated
    if not re.compile(rb"\S").search(content, length):
        raise DataError(f"'{path}' has a header but no rows; at least one row is needed.")
    try:
        table = arrow_csv.read_csv(
            _copied(memoryview(content)[length:]),
            arrow_csv.ReadOptions(column_names=places),
            arrow_csv.ParseOptions(delimiter=sep, newlines_in_values=b'"' in content),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False
            ),
        ).rename_columns(names)
    except pa.ArrowInvalid as error:
        _explain(path, content, sep, len(names))
        raise DataError(f"'{path}' cannot be read as CSV: {one_line(error)}.") from None
    return without_repeats(table, f"'{path}'")


def _copied(content: memoryview) -> Any:
    """Copy bytes into memory of Arrow's own.

    A thread of Arrow may let go of them when Python is about to end, and must not need Python then.
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(content))
    memoryview(buffer).cast("B")[:] = content
    return buffer


def _content(path: Path) -> bytes:
    """Read and unpack the whole file."""
    import pyarrow as pa

    try:
        with path.open("rb") as file, pa.input_stream(file, packing(path)) as stream:
            content: bytes = stream.read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"'{path}' cannot be read: {one_line(error)}.") from None
    return content


def packing(path: Path) -> str | None:
    """Tell by the ending how a file is packed; Arrow itself opens no name that is not UTF-8."""
    import pyarrow as pa

    try:
        name: str = pa.Codec.detect(os.fsencode(path).decode("ascii", "replace")).name
    except (TypeError, ValueError):  # it is not packed
        return None
    return name


def _head(path: Path, content: bytes) -> str:
    """Decode the first lines, all of them complete."""
    end = len(content) if len(content) <= HEAD else content.rfind(b"\n", 0, HEAD) + 1
    try:
        return content[: end or len(content)].decode()
    except UnicodeDecodeError as error:
        raise _undecodable(path, content, error.start) from None


def _separator(sep: str | None, head: str) -> str:
    """Check the given separator, or take the first that gives all lines equally many fields."""
    if sep is not None:
        sep = "\t" if sep == "\\t" else sep
        if len(sep) != 1 or not sep.isascii() or sep in '"\r\n':
            raise DataError(f"the separator must be one character, but it is {sep!r}.")
        return sep
    widths = {}
    for s in SEPARATORS:
        text = single_blanks(head.encode()).decode() if s == " " else head
        widths[s] = [len(fields) for _, fields in islice(_records(text, s), 100)] or [0]
    possible = [s for s in SEPARATORS if widths[s][0] > 1] or [","]
    return next((s for s in possible if len(set(widths[s])) == 1), possible[0])


def _records(text: str, sep: str) -> Iterator[tuple[int, list[str]]]:
    """Give the last line number and the fields of each record that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error:
        return


def _names(head: str, sep: str, header: bool) -> tuple[list[str], int]:
    """Give the column names and how many bytes the header takes."""
    line, first = next(_records(head, sep), (0, []))
    if not header:
        return [str(i) for i in range(len(first))], 0
    lines = io.StringIO(head, newline="")
    length = sum(len(next(lines).encode()) for _ in range(line))
    return [name.strip() or f"(column {i})" for i, name in enumerate(first, 1)], length


def without_repeats(table: Any, what: str) -> Any:
    """Keep one of several columns that have the same name and the same values.

    The schema's metadata tell which names they were: see `repeated_names`.
    """
    twice = repeated(table.column_names)
    if not twice:
        return table
    places: dict[str, int] = {}
    for at, name in enumerate(table.column_names):
        if name in places and not table.column(at).equals(table.column(places[name])):
            raise DataError(
                f"{what} has more than one column named '{name}', with different values; rename "
                f"all but one of them."
            )
        places.setdefault(name, at)
    known = table.schema.metadata or {}
    metadata = {**known, _REPEATED: "\n".join(twice)}
    return table.select(list(places.values())).replace_schema_metadata(metadata)


def repeated_names(table: Any) -> tuple[str, ...]:
    """Return the names that several equal columns had before one of them was kept."""
    names = (table.schema.metadata or {}).get(_REPEATED, b"").decode()
    return tuple(names.split("\n")) if names else ()


def repeated(names: list[str]) -> list[str]:
    """Give the names that occur more than once, sorted.

    Examples
    --------
    >>> repeated(["b", "a", "c", "b", "a", "b"])
    ['a', 'b']
    """
    return sorted(name for name, times in Counter(names).items() if times > 1)


def single_blanks(content: bytes) -> bytes:
    """Make every run of blanks one separator, none at the ends of a line."""
    content = re.sub(rb"[ \t]*(\r\n|\n|\r)[ \t]*", rb"\1", content.strip(b" \t"))
    return re.sub(rb"[ \t]+", b" ", content)


def _explain(path: Path, content: bytes, sep: str, expected: int) -> None:
    """Find the line that could not be read and say what is wrong with it."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _undecodable(path, content, error.start) from None
    for line, fields in _records(text, sep):
        if len(fields) != expected:
            raise DataError(
                f"line {line} of '{path}' has {len(fields)} fields, but {expected} were expected; "
                "mend the line, or name the separator (sep) if it is not "
                f"{SEPARATOR_NAMES.get(sep, repr(sep))}."
            ) from None


def _undecodable(path: Path, content: bytes, position: int) -> DataError:
    line = content.count(b"\n", 0, position) + 1
    return DataError(
        f"line {line} of '{path}' is not UTF-8 text; "
        "convert the file to UTF-8, for example with iconv."
    )


def one_line(error: Exception) -> str:
    """Write an error's message in one line, without its full stop."""
    return " ".join(str(error).split()).rstrip(".")


SEPARATOR_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", " ": "a blank"}
