"""From the command line to a call of the public API: which table, which space, which limits."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adtc.cli.executing import opened_run
from adtc.cli.options import (
    FURTHER,
    QUIET,
    RUN,
    SHARED,
    TABLE,
    TREES,
)
from adtc.cli.running import begun, watched, watched_beside

if TYPE_CHECKING:
    import pyarrow as pa

    from adtc.data import Data
    from adtc.data.bits import Rows
    from adtc.data.outline import Outline
    from adtc.data.sheet import Sheet
    from adtc.data.stream.streamed import StreamSheet
    from adtc.engine.monitor import Monitor
    from adtc.engine.query import Space
    from adtc.errors import LimitError


T = TypeVar("T")
STDIN = "-"
FILE_ONLY = ("sep", "header")  # what only a file leaves open
NOTICED = "adtc.noticed"  # where the context keeps the warnings, for pages
_WARNING = "adtc.warning"  # where the context keeps the line
_SPARE = 0.05  # of the time, for printing
_MEGABYTE = 1_000_000
_ROOM = 20 * _MEGABYTE  # that the smallest run needs
_READING = 40 * _MEGABYTE  # that the smallest table needs to be read


@dataclass(frozen=True, slots=True)
class Asked:
    """What the shared options say, ready for the public API."""

    table: str
    reading: Mapping[str, Any]
    trees: Mapping[str, Any]
    run: Mapping[str, Any]
    where: str | None
    define: Mapping[str, str] | None
    started: float
    further: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def take(cls, values: dict[str, Any]) -> "Asked":
        """Take the shared options out of a command's parameters."""
        given = {
            section: {
                str(option.name): value
                for option in SHARED
                if option.section == section
                and (value := values.pop(str(option.name))) not in (None, ())
            }
            for section in (TABLE, TREES, RUN)
        }
        given[RUN] = opened_run(given[RUN])
        names = [str(option.name) for option in FURTHER]
        further = {name: value for name in names if (value := values.pop(name, None)) is not None}
        where, define = values.pop("where"), values.pop("define")
        table = values.pop("table")
        return cls(table, given[TABLE], given[TREES], given[RUN], where, define, begun(), further)

    @property
    def engine(self) -> Any:
        """Give the engine's name; click has checked it."""
        return self.run.get("engine", "auto")

    @property
    def limits(self) -> dict[str, Any]:
        """Give what a `Monitor` is to watch; what does not fit is answered unless told else."""
        given = {name: value for name, value in self.run.items() if name != "engine"}
        return {"exact": False, "spare": _SPARE, **given}

    def answer(self, question: Callable[..., T], *about: Any, axes: int = 0, **options: Any) -> T:
        """Ask the public API under the limits given, and watch over the run.

        Parameters
        ----------
        axes
            By how many metrics trees are told apart, which a refusal takes into account.
        """
        from adtc.errors import LimitError

        options |= {"define": self.define, "engine": self.engine}
        try:
            return self.under_limits(lambda monitor: question(*about, monitor=monitor, **options))
        except LimitError as error:  # the watch may stop a run before it does so itself
            raise self._advised(error, about[0], axes) from None

    def _advised(self, error: "LimitError", data: Any, axes: int) -> "LimitError":
        """Let a refusal name what would fit."""
        from adtc.data import Data
        from adtc.engine.forecast.advice import advised

        if not isinstance(data, Data):
            return error
        monitor, budgets = self.monitor(), int(bool(self.where))
        return advised(error, data, self.space(), axes=axes, budgets=budgets, monitor=monitor)

    def under_limits(self, work: "Callable[[Monitor], T]") -> T:
        """Do work that takes a monitor under the limits given, and watch over it."""
        monitor = self.monitor()
        return watched(lambda: work(monitor), monitor)

    def beside(self, work: "Callable[[Monitor], T]") -> T | None:
        """Do what an answer can do without under what is left of the limits; None if too large.

        Where only exact answers count, it is a part of the answer like any other.
        """
        from adtc.errors import TooLargeError

        if self.limits["exact"]:
            return self.under_limits(work)
        try:
            monitor = self.monitor()
        except TooLargeError:
            return None
        return watched_beside(lambda: work(monitor), monitor)

    def announce(self, data: "Data", *, constrained: bool = False) -> None:
        """Say on stderr that a run will take long, unless limits or --quiet are given."""
        from adtc.engine.forecast.announcing import announcement

        quiet = click.get_current_context().meta.get(str(QUIET.name))
        if quiet or self.run.keys() & {"time_limit", "memory_limit"} or self.engine == "spec":
            return
        if note := announcement(data, self.space(), constrained=constrained or bool(self.where)):
            print(f"adtc: {note}", file=sys.stderr, flush=True)

    def target(self) -> str | None:
        """Name the column to predict: the one given, or a bundled table's own."""
        from adtc.data import datasets

        own = {info.name: info.target for info in datasets()}
        given: str | None = self.reading.get("target")
        return given or own.get(self.table)

    @property
    def time_left(self) -> float | None:
        """Return the seconds that are left for all parts of the run; None without a limit."""
        from adtc.engine.monitor import Monitor

        limit, spare = (self.limits.get(name) for name in ("time_limit", "spare"))
        return Monitor(time_limit=limit, spare=spare or 0.0, started=self.started).time_left

    def monitor(self, *, reading: bool = False) -> "Monitor":
        """Make what watches over a part of the run; the time limit is for all parts together.

        The memory limit is for the whole program: what it holds already is not there for the run,
        nor is what ``reading`` a table will take.
        """
        import adtc.data  # noqa: F401 (every run needs it, so it is held from the start)
        from adtc import _core
        from adtc.engine.monitor import Monitor
        from adtc.errors import LimitError

        limits = self.limits
        if (most := limits.get("memory_limit")) is not None:
            held = _core.resident_bytes()
            needed = held + _ROOM + (_READING if reading else 0)
            if most < needed:
                alone = "alone holds" if reading else "and the table alone hold"
                raise LimitError(
                    f"--memory-limit is {most / _MEGABYTE:,.0f} MB, but the program {alone} "
                    f"{held / _MEGABYTE:,.0f} MB: give at least {ceil(needed / _MEGABYTE):,} MB."
                )
            limits |= {"memory_limit": most - held, "resident_limit": most}
        return Monitor(**limits, started=self.started, patient=True)

    def space(self) -> "Space":
        """Make the space of trees."""
        from adtc.engine.query import Space

        return Space(**self.trees)

    def data(self) -> "Data":
        """Read the table, and warn about what is odd in it."""
        from adtc.errors import TooLargeError

        monitor = self.monitor(reading=True)
        try:
            sheet = watched(lambda: self.sheet(watch=monitor), monitor)
        except TooLargeError:
            left = monitor.time_left
            memory = self.limits.get("memory_limit", 0) / 1e6
            limit = f"memory limit of {memory:,.0f} MB"
            if left is not None and left <= 0:
                limit = f"time limit of {monitor.time_limit:g} s"
            raise TooLargeError(
                f"'{self.table}' could not be read within the {limit}: raise the limit, or give a "
                f"table with fewer columns or rows."
            ) from None
        data = self._first_table(sheet)
        warn(sheet, later=self._is_bundled())
        for name, path in self._files().items():
            data = self._with_file(data, sheet, name, path)
        return data

    def _first_table(self, sheet: "Sheet | StreamSheet") -> "Data":
        """Make features of the table, or of what is left of it without test rows."""
        from adtc.data.read import data_of, split_of
        from adtc.errors import QueryError

        share, seed = self.further.get("test_share"), self.further.get("test_seed")
        if share is None:
            if seed is not None:
                raise QueryError("--test-seed says which rows --test-share holds out: give both.")
            return data_of(sheet)
        if "test" in self.further:
            raise QueryError("give either --test FILE or --test-share SHARE, not both.")
        return split_of(sheet, share, seed or 0)

    def kept_rows(self) -> "Rows | None":
        """Find the rows that --test-share leaves, by their numbers from 0; None if all stay."""
        from adtc.data.splitting import set_aside
        from adtc.data.stream.further import held_rows
        from adtc.data.stream.streamed import StreamSheet

        share, seed = self.further.get("test_share"), self.further.get("test_seed") or 0
        if share is None:
            return None
        sheet = self.sheet()
        if isinstance(sheet, StreamSheet):
            chosen = held_rows(0, self.raw_table().num_rows, share, seed)
        else:
            chosen = set_aside(sheet.row_kinds(), share, seed)
        return (~chosen).nonzero()[0]

    def _files(self) -> dict[str, str]:
        """Name the files of further tables."""
        given = {"test": self.further["test"]} if "test" in self.further else {}
        return given | dict(self.further.get("tables", {}))

    def _with_file(
        self, data: "Data", sheet: "Sheet | StreamSheet", name: str, path: str
    ) -> "Data":
        """Add the file of a further table, in batches if the first table was read so."""
        from adtc.data.read import read_like
        from adtc.data.stream.further import batches_like, with_streamed_table
        from adtc.data.stream.streamed import StreamSheet

        file = {key: self.reading[key] for key in FILE_ONLY if key in self.reading}
        if not isinstance(sheet, StreamSheet):
            return data.with_table(name, read_like(path, sheet.names, **file))
        batches, monitor = batches_like(path, sheet.names, **file), self.monitor()
        return watched(lambda: with_streamed_table(data, name, batches, watch=monitor), monitor)

    def sheet(
        self, *, need_target: bool = True, watch: "Monitor | None" = None
    ) -> "Sheet | StreamSheet":
        """Read the columns of the table: a bundled one by its name, else files."""
        from adtc.data import datasets
        from adtc.data.datasets import dataset_sheet
        from adtc.data.read import read_sheet
        from adtc.data.stream.folders import is_glob
        from adtc.errors import DataError, unknown

        reading = {**self.reading, "watch": watch, "describing": not need_target}
        reading["memory"] = self.limits.get("memory_limit")
        if share := self.further.get("test_share"):
            reading["held"] = (share, self.further.get("test_seed") or 0)
        if self.table == STDIN:
            return self._standard_input(reading)
        if self._is_bundled():
            self._check_bundled()
            return dataset_sheet(self.table, **reading)
        named = os.path.exists(self.table) or Path(self.table).suffix or is_glob(self.table)
        if not named:
            sentence = unknown("table", self.table, [info.name for info in datasets()])
            raise DataError(f"{sentence} There is no file of this name either.")
        if need_target and "target" not in self.reading:
            raise DataError(self._which_target())
        return read_sheet(self.table, **reading)

    def with_reference(self, column: str | None, labels: Mapping[str, str] | None) -> "Asked":
        """Have a column read as labels from elsewhere, and never as a feature."""
        if column is None:
            return self
        others = [name for name in self.reading.get("references", ()) if name != column]
        reading = {**self.reading, "references": [*others, column]}
        if labels:
            reading["reference_labels"] = {column: labels}
        return replace(self, reading=reading)

    def raw_table(self) -> "pa.Table":
        """Read the table as it is, without making features of it."""
        from adtc.data import read_table
        from adtc.data.datasets import dataset_table
        from adtc.errors import QueryError

        if self.table == STDIN:
            raise QueryError(
                "the tree was made with other cuts than the table's, and standard input cannot be "
                "read twice: give the table as a file."
            )
        if self._is_bundled():
            return dataset_table(self.table)
        file = {key: self.reading[key] for key in FILE_ONLY if key in self.reading}
        return read_table(self.table, **file)

    def _is_bundled(self) -> bool:
        from adtc.data import datasets

        return self.table in [info.name for info in datasets()]

    def _standard_input(self, reading: Mapping[str, Any]) -> "Sheet | StreamSheet":
        """Read CSV from standard input."""
        from tempfile import TemporaryDirectory

        from adtc.data.read import read_sheet
        from adtc.errors import DataError

        if _is_terminal():
            raise DataError(
                "'-' reads a table from standard input, which is a terminal: pipe CSV into it, as "
                "in `zcat table.csv.gz | adtc count - --target y`."
            )
        if "target" not in self.reading:
            raise DataError("which column of standard input is the target? Name it with --target.")
        with TemporaryDirectory(prefix="adtc-") as folder:
            path = Path(folder, "stdin.csv")
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            once = {**reading, "held": None}  # no second pass over what is gone
            try:
                return replace(read_sheet(path, **once), name="stdin")
            except DataError as error:  # the file is ours, not the user's
                raise type(error)(str(error).replace(f"'{path}'", "standard input")) from None

    def _check_bundled(self) -> None:
        from adtc.errors import QueryError

        if given := [key for key in FILE_ONLY if key in self.reading]:
            raise QueryError(
                f"'{self.table}' is a bundled table, so '{given[0]}' cannot be chosen for it: "
                f"leave the option out, or write ./{self.table} if you mean a file of that name."
            )

    def _which_target(self) -> str:
        """Ask for the target; the usual place of it is named, but not taken."""
        from adtc.data.stream.file_batches import FileBatches
        from adtc.data.stream.folders import table_files

        file = {key: self.reading[key] for key in FILE_ONLY if key in self.reading}
        columns = FileBatches(table_files(self.table), **file).schema.names
        return (
            f"which column of '{self.table}' is the target? Name it with --target: "
            f"{', '.join(columns[:60])}{', …' if len(columns) > 60 else ''}; "  # noqa: PLR2004
            f"the last one, '{columns[-1]}', would only be a guess."
        )


def warn(sheet: "Outline", *, later: bool) -> None:
    """Say in one line on stderr what is odd in a table, unless --quiet was given.

    At once, so that a long run can be stopped; ``later``, beside the answer, if it is well known.
    """
    from adtc.data.warnings import short_line, table_warnings

    context = click.get_current_context()
    if context.meta.get(str(QUIET.name)):
        return
    noticed = table_warnings(sheet)
    context.meta[NOTICED] = [one.message for one in noticed]
    if line := short_line(noticed):
        hint = "adtc describe, with the same options, says more; --quiet leaves this out"
        context.meta[_WARNING] = f"adtc: warning: {line} ({hint})"
        if not later:
            say_warning()


def say_warning() -> None:
    """Say the warning that was kept for later, if there is one."""
    if line := click.get_current_context().meta.pop(_WARNING, None):
        click.echo(line, err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()
