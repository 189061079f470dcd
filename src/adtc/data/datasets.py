"""Bundled tables: where they come from, what they are for, and how to load them.

The files are gzipped CSV with a header; ``bundled/README.md`` says how they were made.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from adtc.data.files import read_table
from adtc.data.read import TableOptions, data_of, read_sheet
from adtc.data.sheet import Sheet
from adtc.data.stream.streamed import StreamSheet
from adtc.data.table import Data
from adtc.errors import DataError, unknown


class LoadOptions(TableOptions, total=False):
    """The keywords of ``load_dataset``."""

    target: str


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What is known about a bundled table.

    Parameters
    ----------
    columns
        All columns of the file, the target included.
    positive
        The positive class by default.
    sensitive
        The sensitive column by default; None if there is none.
    na
        Spelling of a missing value in this table.
    reveals
        Columns that tell the value of another one: they are left out while that one is the
        sensitive column and no feature itself.
    note
        What else to know before using it.
    """

    name: str
    title: str
    rows: int
    columns: int
    target: str
    positive: str
    sensitive: str | None
    source: str
    licence: str
    citation: str
    na: tuple[str, ...] = ()
    reveals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""


_LICENCE = "CC BY 4.0"
_DATASETS = (
    DatasetInfo(
        name="adult",
        title="Adult (Census Income), training rows",
        rows=32_561,
        columns=15,
        target="income",
        positive=">50K",
        sensitive="sex",
        source="UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/2/adult",
        licence=_LICENCE,
        citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5XW20",
        na=("?",),
        note="relationship (Husband, Wife) says much about sex and is kept, as is usual.",
    ),
    DatasetInfo(
        name="german-credit",
        title="Statlog (German Credit Data)",
        rows=1_000,
        columns=22,
        target="class",
        positive="good",
        sensitive="sex",
        source="UCI Machine Learning Repository, "
        "https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data",
        licence=_LICENCE,
        citation="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning "
        "Repository. https://doi.org/10.24432/C5NC77",
        reveals={"sex": ("personal_status",), "personal_status": ("sex",)},
        note="sex is derived from personal_status, which is left out while sex is sensitive, "
        "because each of its values belongs to one sex.",
    ),
    DatasetInfo(
        name="mushroom",
        title="Mushroom",
        rows=8_124,
        columns=22,
        target="class",
        positive="p",
        sensitive=None,
        source="UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/73/mushroom",
        licence=_LICENCE,
        citation="Mushroom (1981). UCI Machine Learning Repository. https://doi.org/10.24432/C5959T",
        na=("?",),
        note="without veil-type, which is constant; the class is e (edible) or p (poisonous).",
    ),
)


def datasets() -> list[DatasetInfo]:
    """List the bundled tables.

    Examples
    --------
    >>> [info.name for info in datasets()]
    ['adult', 'german-credit', 'mushroom']
    """
    return list(_DATASETS)


def load_dataset(name: str, **options: Unpack[LoadOptions]) -> Data:
    """Load a bundled table.

    Parameters
    ----------
    name
        One of ``datasets()``.
    **options
        As in ``read``. Target, positive class, sensitive column and missing values have defaults;
        ``sensitive=None`` loads the table without one, and ``drop`` adds to what is left out.

    Examples
    --------
    >>> data = load_dataset("german-credit")
    >>> data.n_rows, data.labels, data.groups
    (1000, ('bad', 'good'), ('female', 'male'))
    """
    return data_of(dataset_sheet(name, **options))


def dataset_sheet(name: str, **options: Unpack[LoadOptions]) -> Sheet | StreamSheet:
    """Read and encode a bundled table, but make no features yet; as in ``load_dataset``."""
    info = next((d for d in _DATASETS if d.name == name), None)
    if info is None:
        raise DataError(unknown("dataset", name, [d.name for d in _DATASETS]))
    with dataset_path(name) as path:
        return read_sheet(path, sep=",", **_with_defaults(info, dict(options)))


def dataset_table(name: str) -> pa.Table:
    """Read the columns of a bundled table as they are in its file."""
    with dataset_path(name) as path:
        return read_table(path, sep=",")


def dataset_path(name: str) -> AbstractContextManager[Path]:
    """Open the file of a bundled table, which may be inside a packed package."""
    # Imported here because it brings in modules that nothing else needs.
    from importlib.resources import as_file, files

    return as_file(files("adtc.data") / "bundled" / f"{name}.csv.gz")


def _with_defaults(info: DatasetInfo, options: dict[str, Any]) -> Any:
    """Complete the user's options; what tells the sensitive value is left out."""
    defaults = {"target": info.target, "sensitive": info.sensitive, "na": info.na}
    if options.get("target", info.target) == info.target:
        defaults["positive"] = info.positive
    merged = defaults | options
    if merged["sensitive"] in info.reveals and not merged.get("use_sensitive"):
        named = {merged["target"], merged.get("weights"), *merged.get("references", ())}
        revealing = [c for c in info.reveals[merged["sensitive"]] if c not in named]
        merged["drop"] = list(dict.fromkeys([*merged.get("drop", ()), *revealing]))
    return merged
