"""Read a file into ``Data``."""

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from adtc.data.binning import BinningOptions
from adtc.data.columns import Scalar
from adtc.data.files import is_parquet, read_table
from adtc.data.holdout import held_out
from adtc.data.sheet import Sheet, frame_sheet
from adtc.data.table import Data
from adtc.errors import DataError


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
    path: str | PathLike[str],
    *,
    sep: str | None = None,
    header: bool = True,
    test_share: float | str | None = None,
    test_seed: int = 0,
    **options: Unpack[ReadOptions],
) -> Data:
    r"""Read a CSV or Parquet file into Boolean features.

    Parameters
    ----------
    path
        Parquet if it ends in ``.parquet`` or ``.pq``, else CSV in UTF-8, packed or not.
    sep
        One character, or ``\t``; None finds out among comma, semicolon, tab and blank.
    header
        Whether the first line holds the names; otherwise they are ``0``, ``1``, ``2`` …
    test_share, test_seed
        If given, this share of the rows of each label and group becomes the further table
        ``test``, and features are made of the others alone: see ``held_out``.
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
    sheet = read_sheet(path, sep=sep, header=header, **options)
    return Data.from_sheet(sheet) if test_share is None else held_out(sheet, test_share, test_seed)


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
    **options: Unpack[SheetOptions],
) -> Sheet:
    """Read and encode a file, but make no features yet; the parameters are those of ``read``."""
    table = read_table(path, sep=sep, header=header)
    # a file's name need not be text, but what it is called in results is
    stem = os.fsencode(Path(path).name).decode("utf-8", "replace").split(".")[0]
    return frame_sheet(table, name=stem, parse_text=not is_parquet(path), **options)
