"""Several files as one table: a directory, a glob, and the check that they go together."""

import glob
import os
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from adtc.data.files import is_folder, is_parquet, read_table
from adtc.errors import DataError

_CSV = re.compile(r"\.(csv|tsv)(\.\w+)?$", re.IGNORECASE)


def is_glob(path: str | PathLike[str]) -> bool:
    """Tell a pattern from the path of something that is there."""
    return not os.path.exists(path) and glob.has_magic(os.fspath(path))


def table_files(path: str | PathLike[str]) -> list[Path]:
    """List the files of a table, by name: itself, those of a directory, or those of a glob.

    Notes
    -----
    In a directory, at any depth, files are taken that end in ``.parquet``, ``.pq``, ``.csv`` or
    ``.tsv``, packed or not; names that begin with a dot or an underscore are not.
    """
    if is_glob(path):
        found = sorted(map(Path, glob.glob(os.fspath(path), recursive=True)))
        found = [file for file in found if file.is_file()]
        if not found:
            raise DataError(
                f"no file matches '{path}'; give a pattern such as 'parts/*.parquet', in quotes."
            )
    elif is_folder(Path(path)):
        found = _files_below(Path(path))
    else:
        return [Path(path)]
    if len({is_parquet(file) for file in found}) > 1:
        raise DataError(
            f"'{path}' has both Parquet and CSV files; give a pattern for those of one kind, such "
            f"as '*.parquet'."
        )
    return found


def _files_below(folder: Path) -> list[Path]:
    found = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        named = is_parquet(file) or _CSV.search(file.name)
        if not named or any(part.startswith((".", "_")) for part in parts) or not file.is_file():
            continue
        if keyed := [part for part in parts[:-1] if "=" in part]:
            raise DataError(
                f"'{folder}' is partitioned by folders such as '{keyed[0]}', whose names hold a "
                f"column; read it by a query (adtc.read(sql=...)), or write it without partitions."
            )
        found.append(file)
    if not found:
        raise DataError(f"'{folder}' has no Parquet or CSV file in it; give a directory with some.")
    return found


def read_tables(path: str | PathLike[str], *, sep: str | None = None, header: bool = True) -> Any:
    """Read a file, or all files of a directory or glob, into one ``pyarrow.Table``."""
    import pyarrow as pa

    files = table_files(path)
    tables = [read_table(file, sep=sep, header=header) for file in files]
    if len(tables) == 1:
        return tables[0]
    check_alike(files, [table.schema for table in tables])
    names = tables[0].column_names
    return pa.concat_tables([t.select(names) for t in tables], promote_options="permissive")


def check_alike(files: Sequence[Path], schemas: Sequence[Any]) -> None:
    """Refuse files whose columns are not those of the first one."""
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        for name in [n for n in first.names if n not in schema.names]:
            raise DataError(
                f"'{file}' has no column '{name}', but '{files[0]}' has; files of one table have "
                f"the same columns."
            )
        for name in [n for n in schema.names if n not in first.names]:
            raise DataError(
                f"'{file}' has a column '{name}', but '{files[0]}' has none; files of one table "
                f"have the same columns."
            )
        for name in first.names:
            # of a name that occurs twice, which is refused later, the first is compared
            one, other = (s.field(s.get_all_field_indices(name)[0]).type for s in (first, schema))
            if one != other and len({_kind(one), _kind(other)} - {"null"}) > 1:
                raise DataError(
                    f"column '{name}' is {other} in '{file}', but {one} in '{files[0]}'; files of "
                    f"one table have columns of the same kind."
                )


def _kind(dtype: Any) -> str:
    """Name what a type is read as."""
    import pyarrow.types as pt

    if pt.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if pt.is_integer(dtype) or pt.is_floating(dtype) or pt.is_decimal(dtype):
        return "number"
    return "text" if "string" in str(dtype) else str(dtype)
