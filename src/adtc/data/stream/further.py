"""Further tables of any number of rows, and test rows that are held out of a streamed table.

The recipe is that of the first table, which is known by then, so one pass is enough: each batch is
read as a table of its own, and equal rows are merged. Rows are held out by their number and a seed:
who is chosen is known before any pass, so cuts come from the rows that stay.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.bits import Words, pack, unpack
from adtc.data.coding import check_total, some_weights
from adtc.data.files import is_parquet
from adtc.data.frames import column
from adtc.data.further import check_columns, check_table_name, read_further
from adtc.data.splitting import check_seed, read_share
from adtc.data.stream.batches import Batches, Watch
from adtc.data.stream.file_batches import FileBatches
from adtc.data.stream.folders import table_files
from adtc.data.stream.runs import Run, Runs
from adtc.data.table import Data
from adtc.errors import DataError

_HALF = np.uint64(32)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXES = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def with_streamed_table(
    data: Data,
    name: str,
    batches: Batches,
    *,
    watch: Watch | None = None,
    notes: tuple[str, ...] = (),
) -> Data:
    """Add a further table that is read in batches; equal rows are merged."""
    check_table_name(name, dict(data.tables))
    recipe, runs, told, further = data.binarizer, Runs(), dict.fromkeys(notes), None
    check_columns(name, batches.schema.empty_table(), recipe, data.name)
    # weights of a batch may all be 0, those of a table may not
    plain = replace(data, binarizer=replace(recipe, weights=None))
    with closing(batches.read(batches.schema.names)) as reading:  # type: ignore[type-var]
        for batch, done in reading:
            if watch is not None:
                watch.check()
                watch.report(f"reading {name}", done, batches.size)
            if not batch.num_rows:
                continue
            table = _table(batch)
            further = read_further(plain, name, table)
            told |= dict.fromkeys(further.notes)
            own = column(table, recipe.weights, recipe.na) if recipe.weights else None
            runs.add(_words(further), further.weights if own is None else some_weights(own))
    if further is None:
        raise DataError(f"the table '{name}' has no rows; at least one is needed.")
    run = runs.merged()
    if recipe.weights:
        check_total(recipe.weights, float(run.weights.sum(dtype=float)))
    merged = replace(_rows(further, run, tuple(told)), binarizer=recipe)
    return replace(data, tables=(*data.tables, (name, merged)))


def _table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _words(one: Data) -> Words:
    """Write every row as words: label, group, other labels, features."""
    codes = [one.y, one.z, *(code for _, code in one.references)]
    own = np.stack(codes, axis=1).astype(np.int64).view(np.uint64)
    return np.concatenate([own, pack(np.ascontiguousarray(unpack(one.bits, one.n_rows).T))], axis=1)


def _rows(like: Data, run: Run, notes: tuple[str, ...]) -> Data:
    """Make a table of distinct rows, one feature at a time to keep memory low."""
    first = 2 + len(like.references)
    codes = [run.words[:, i].view(np.int64).astype(np.int32) for i in range(first)]
    bits = np.zeros((len(like.features), -(-len(run) // 64)), np.uint64)
    for f in range(len(bits)):
        word, place = first + f // 64, np.uint64(f % 64)
        bits[f] = pack(((run.words[:, word] >> place) & np.uint64(1)).astype(np.uint8))
    names = [name for name, _ in like.references]
    return replace(
        like,
        bits=bits,
        y=codes[0],
        z=codes[1],
        weights=run.weights,
        references=tuple(zip(names, codes[2:], strict=True)),
        notes=notes,
    )


def batches_like(
    path: str | PathLike[str], names: Sequence[str], *, sep: str | None = None, header: bool = True
) -> Batches:
    """Read files in batches that should have the columns of another table: see `read_like`."""
    files = table_files(path)
    if not header or is_parquet(files[0]):
        return FileBatches(files, sep, header)
    plain = FileBatches(files, sep, False)
    if _first_line(plain) & set(names):
        return FileBatches(files, sep, header)
    if len(plain.schema.names) != len(names):
        raise DataError(
            f"'{path}' names none of the table's columns in its first line, and lines have "
            f"{len(plain.schema.names)} fields where the table has {len(names)} columns: give a "
            f"file with the same columns."
        )
    return Renamed(plain, tuple(names))


def _first_line(batches: FileBatches) -> set[str]:
    with closing(batches.read(batches.schema.names)) as reading:  # type: ignore[type-var]
        for batch, _ in reading:
            if batch.num_rows:
                return {str(column[0]).strip() for column in batch.columns}
    return set()


@dataclass(frozen=True, slots=True)
class Renamed:
    """Batches whose columns have other names, in the same order."""

    batches: Batches
    names: tuple[str, ...]

    @property
    def schema(self) -> Any:
        """Names and types."""
        import pyarrow as pa

        fields = zip(self.names, self.batches.schema, strict=True)
        return pa.schema([field.with_name(name) for name, field in fields])

    @property
    def parse_text(self) -> bool:
        """Whether text may stand for numbers."""
        return self.batches.parse_text

    @property
    def size(self) -> int:
        """How much there is to read."""
        return self.batches.size

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield batches of these columns."""
        own = dict(zip(self.names, self.batches.schema.names, strict=True))
        for batch, done in self.batches.read([own[name] for name in columns]):
            yield batch.rename_columns(list(columns)), done


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the rows of a table: those held out, or the others.

    Parameters
    ----------
    share, seed
        Which rows are held out.
    held
        Whether these are the rows held out.
    """

    batches: Batches
    share: float | str
    seed: int
    held: bool = False

    @property
    def schema(self) -> Any:
        """Names and types."""
        return self.batches.schema

    @property
    def parse_text(self) -> bool:
        """Whether text may stand for numbers."""
        return self.batches.parse_text

    @property
    def size(self) -> int:
        """How much there is to read."""
        return self.batches.size

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield what belongs to this part of each batch."""
        import pyarrow as pa

        first = 0
        for batch, done in self.batches.read(columns):
            chosen = held_rows(first, batch.num_rows, self.share, self.seed) == self.held
            first += batch.num_rows
            yield batch.filter(pa.array(chosen)), done

    def others(self) -> "Split":
        """Return the other part."""
        return replace(self, held=not self.held)

    @property
    def note(self) -> str:
        """Say how rows were chosen."""
        return f"about {self.share} of the rows, by their number in the stream and seed {self.seed}"


def held_rows(first: int, rows: int, share: float | str, seed: int) -> npt.NDArray[np.bool_]:
    """Tell which of some rows in a row are held out, by their numbers from 0 and a seed.

    Each row is held out with the probability ``share``, whatever its label and group, so each of
    these loses nearly that share of its rows where it has many.

    Examples
    --------
    >>> held_rows(0, 8, 0.5, seed=0).tolist()
    [False, True, False, False, True, True, False, True]
    >>> held_rows(4, 4, 0.5, seed=0).tolist()
    [True, True, False, True]
    """
    part = read_share(share)
    check_seed(seed)
    numbers = np.arange(first, first + rows, dtype=np.uint64)
    # SplitMix64 twice: of the seed, and of the row's number beside it
    mixed = _mixed(numbers + _mixed(np.array([seed % 2**64], np.uint64)))
    limit = int(part * 2**32)
    return (mixed >> _HALF) < np.uint64(limit)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    found = numbers + _STEP  # arrays of words wrap around
    for shift, factor in _MIXES:
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))
