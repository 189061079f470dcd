"""A table that was streamed: its columns by their values, its rows merged."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from adtc.data.binarize import Binarizer, Feature
from adtc.data.binning import Binning
from adtc.data.bits import Rows, Words
from adtc.data.coding import Coding, check_weights
from adtc.data.columns import Column, encode
from adtc.data.frames import check_features
from adtc.data.identifiers import identifiers
from adtc.data.outline import Encoded, Seen
from adtc.data.references import Spelled
from adtc.data.stream.batches import Batches, Watch
from adtc.data.stream.encoding import (
    FeatureColumn,
    Layout,
    ValueEncoder,
    feature_words,
    interval_encoder,
    one_each,
)
from adtc.data.stream.runs import Run, Runs
from adtc.data.stream.tally import Summary
from adtc.data.table import Data


@dataclass(frozen=True, slots=True)
class Reading:
    """How batches are read: missing values, text that may be numbers, weights, and who watches."""

    source: Batches
    na: tuple[str, ...]
    parsed: frozenset[str]
    weights: str | None
    watch: Watch | None = None

    def parses(self, column: str) -> bool:
        """Tell whether a column's text may be numbers."""
        return column in self.parsed

    def batches(self, columns: Sequence[str], stage: str) -> Iterator[tuple[Any, Rows | None]]:
        """Pass over the table: batches with the weights of their rows, None if all are 1."""
        with closing(self.source.read(columns)) as reading:  # type: ignore[type-var]
            for batch, done in reading:
                if self.watch is not None:
                    self.watch.check()
                    self.watch.report(stage, done, self.source.size)
                if batch.num_rows:
                    yield batch, self._weights(batch)

    def _weights(self, batch: Any) -> Rows | None:
        """Take the weights of a batch; where one is missing it is 0 until somebody complains."""
        if self.weights is None:
            return None
        column = encode(
            self.weights,
            batch.column(self.weights),
            na=self.na,
            parse_text=self.parses(self.weights),
        ).numbers()
        check_weights(column)
        return np.append(column.values.astype(np.int64), 0)[column.codes]


class Role(NamedTuple):
    """A column of labels: the code of each of its values, and how it spells them."""

    name: str
    codes: Rows
    spelled: Spelled = ()


@dataclass(frozen=True, slots=True, eq=False)
class StreamSheet:
    """A streamed table; the names mean what they mean in ``Sheet``.

    Parameters
    ----------
    summaries
        What each column holds.
    columns
        Those that may become features, with one row per value.
    references
        Other label columns.
    made
        The features, how rows are laid out in words, and the distinct rows.
    crossed
        By column, rows by kind (label and group) and cell.
    """

    name: str
    n_rows: int
    total: int
    binning: Binning
    summaries: dict[str, Summary]
    columns: dict[str, Column]
    left_out: tuple[str, ...]
    labels: Coding | None
    positive: int | None
    groups: Coding | None
    target: Column | None
    sensitive: Column | None
    references: tuple[Role, ...]
    reading_of: Reading
    names: tuple[str, ...]
    made: "Encoder | None" = None
    run: Run | None = None
    crossed: dict[str, Rows] = field(default_factory=dict)

    @property
    def weights_column(self) -> str | None:
        """The column of weights."""
        return self.reading_of.weights

    @property
    def repeated(self) -> tuple[str, ...]:
        """No column: in a stream, columns of one name cannot be compared, and are refused."""
        return ()

    @property
    def reference_names(self) -> tuple[str, ...]:
        """The columns of other labels."""
        return tuple(role.name for role in self.references)

    @property
    def n_kinds(self) -> tuple[int, int]:
        """The numbers of labels and of groups."""
        return (
            len(self.labels.values) if self.labels else 1,
            len(self.groups.values) if self.groups else 1,
        )

    @property
    def reading(self) -> str:
        """Say how the table was read, and what is estimated."""
        sentence = f"{self.n_rows:,} rows were read in batches; all counts and cuts are exact"
        many = [c for c in self.columns if not self.summaries[c].complete]
        if not many:
            return sentence
        listed = ", ".join(f"'{c}'" for c in many[:3]) + ", …" * (len(many) > 3)  # noqa: PLR2004
        return f"{sentence}, the number of different values of {listed} is estimated within 5 %"

    def chosen(self, column: str) -> bool:
        """Tell whether the user said how to read a column, by its type or its cuts."""
        return self.binning.chooses(column)

    def counts(self, column: Column) -> Rows:
        """Sum the weights per value of a column; the last entry is for missing values."""
        return column.counts(self.summaries[column.name].weights)

    def seen(self, column: Column) -> Seen:
        """Say how the values of a column occur."""
        return self.summaries[column.name].seen

    def features(self, columns: Iterable[Column]) -> tuple[Feature, ...]:
        """Make the features of these columns."""
        return tuple(
            f for c in columns for f in self.binning.features(c, self.summaries[c.name].weights)
        )

    def encoded(self, features: tuple[Feature, ...]) -> Encoded:
        """Give the features of the distinct rows."""
        data = self._encoder.data(self, self._rows)
        return Encoded(data.bits, data.n_rows, data.n_rows)

    def kind_counts(self) -> Rows:
        """Sum the weights by label and group."""
        counts = np.zeros(self.n_kinds, np.int64)
        y, z = (self._encoder.layout.digits(self._rows.words, i) for i in (0, 1))
        np.add.at(counts, (y, z), self._rows.weights)
        return counts

    def crossing(self) -> Callable[[Column], Rows]:
        """Return what counts rows by label and group, and by a column's cell."""
        return lambda column: self.crossed[column.name]

    def data(self) -> Data:
        """Return the merged rows with their features."""
        check_features(self._encoder.features)
        return self._encoder.data(self, self._rows)

    @property
    def _encoder(self) -> "Encoder":
        assert self.made is not None
        return self.made

    @property
    def _rows(self) -> Run:
        assert self.run is not None
        return self.run


class Encoder:
    """Turns rows of a batch into words: label, group, other labels, then a digit per column."""

    def __init__(self, sheet: StreamSheet) -> None:
        reading = sheet.reading_of
        refused = {i.column for i in identifiers(sheet)}
        own = {c: () if c in refused else sheet.features([v]) for c, v in sheet.columns.items()}
        self.features = tuple(f for features in own.values() for f in features)
        self.columns = {
            c: FeatureColumn.of(sheet.summaries[c], features, reading.na, parse=reading.parses(c))
            for c, features in own.items()
        }
        self._roles = [
            _coded(sheet.target, sheet.labels, reading),
            _coded(sheet.sensitive, sheet.groups, reading),
            *(
                _coded_by(sheet.summaries[r.name].column, r.codes, reading)
                for r in sheet.references
            ),
        ]
        n_labels, n_groups = sheet.n_kinds
        self.n_roles = len(self._roles)
        radices = [n_labels, n_groups, *(n_labels for _ in sheet.references)]
        self.layout = Layout(radices + [c.patterns.shape[1] for c in self.columns.values()])

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        named = [role[0].column.name for role in self._roles if role is not None]
        return list(dict.fromkeys([*named, *self.columns]))

    def passes(self, reading: Reading, stage: str) -> Iterator[tuple[Any, Rows]]:
        """Pass over the columns that features and labels need; weights of 1 are written out."""
        weights = [reading.weights] if reading.weights else []
        for batch, own in reading.batches([*self.read, *weights], stage):
            yield batch, np.ones(batch.num_rows, np.int64) if own is None else own

    def words(self, batch: Any) -> Words:
        """Write the rows of a batch as words."""
        codes = ((own, own.encoder.encode(batch.column(c))) for c, own in self.columns.items())
        return self.layout.words([*self.codes(batch), *(own.digits[at] for own, at in codes)])

    def codes(self, batch: Any) -> list[Rows]:
        """Code labels, groups and other labels of the rows of a batch."""
        nothing = np.zeros(batch.num_rows, np.int64)
        return [
            nothing if role is None else role[1][role[0].encode(batch.column(role[0].column.name))]
            for role in self._roles
        ]

    def data(self, sheet: StreamSheet, run: Run) -> Data:
        """Make a table of distinct rows."""
        codes = [self.layout.digits(run.words, i).astype(np.int32) for i in range(self.n_roles)]
        names = sheet.reference_names
        labels = sheet.labels or Coding("", ("",))
        parts = [
            feature_words(column, self.layout.digits(run.words, self.n_roles + i))
            for i, column in enumerate(self.columns.values())
        ]
        n_words = -(-len(run) // 64)
        return Data(
            name=sheet.name,
            features=self.features,
            bits=np.concatenate(parts) if parts else np.zeros((0, n_words), np.uint64),
            y=codes[0],
            labels=labels.values,
            positive=sheet.positive,
            z=codes[1],
            groups=sheet.groups.values if sheet.groups else (),
            sensitive=sheet.sensitive.name if sheet.sensitive else None,
            target=labels.column,
            weights=run.weights,
            references=tuple(zip(names, codes[2:], strict=True)),
            binarizer=Binarizer(
                self.features,
                labels,
                sheet.groups,
                sheet.weights_column,
                names,
                sheet.reading_of.na,
                tuple((role.name, role.spelled) for role in sheet.references if role.spelled),
            ),
            originals=StreamedRows(self, run, sheet.reading_of),
        )


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRows:
    """Finds merged rows by one more pass over the table."""

    encoder: Encoder
    run: Run
    reading: Reading

    def read(self, watch: Watch | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield per batch the merged row of each row, and its weight."""
        reading = replace(self.reading, watch=watch)
        for batch, weights in self.encoder.passes(reading, "finding rows"):
            yield self.run.find(self.encoder.words(batch)), weights


def merge_rows(sheet: StreamSheet) -> StreamSheet:
    """Pass over the rows, merge equal ones, and count them by column and kind."""
    encoder = Encoder(sheet)
    reading, runs = sheet.reading_of, Runs()
    n_groups, n_kinds = sheet.n_kinds[1], int(np.prod(sheet.n_kinds))
    crossed = {c: np.zeros(n_kinds * own.n_cells, np.int64) for c, own in encoder.columns.items()}
    for batch, weights in encoder.passes(reading, "merging rows"):
        digits = encoder.codes(batch)
        kinds = digits[0] * n_groups + digits[1]
        for name, own in encoder.columns.items():
            codes = own.encoder.encode(batch.column(name))
            digits.append(own.digits[codes])
            np.add.at(crossed[name], own.cells[codes] * n_kinds + kinds, weights)
        runs.add(encoder.layout.words(digits), weights)
    shaped = {c: counts.reshape(-1, n_kinds).T for c, counts in crossed.items()}
    return replace(sheet, made=encoder, run=runs.merged(), crossed=shaped)


def _coded(
    column: Column | None, coding: Coding | None, reading: Reading
) -> tuple[ValueEncoder, Rows] | None:
    """Prepare labels or groups; None without such a column."""
    if column is None or coding is None:
        return None
    parse = reading.parses(column.name)
    if coding.cuts:
        encoder = interval_encoder(column.numbers(), coding.cuts, reading.na, parse=parse)
        return encoder, coding.codes(encoder.representatives()).astype(np.int64)
    encoder = ValueEncoder(one_each(column), reading.na, parse)
    return encoder, coding.codes(encoder.column).astype(np.int64)


def _coded_by(column: Column, codes: Rows, reading: Reading) -> tuple[ValueEncoder, Rows]:
    return ValueEncoder(one_each(column), reading.na, reading.parses(column.name)), codes
