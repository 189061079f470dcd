"""``Data``, the D of the paper: a Boolean table, how it is made, and its further tables.

It comes from any Arrow-speaking frame or from arrays (from a file: ``read``); everything below it
sees only counts of rows, and it computes nothing on trees.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from adtc.data.binarize import Binarizer, Feature
from adtc.data.binning import BinningOptions
from adtc.data.bits import Codes, Words, pack
from adtc.data.boolean import BooleanTable
from adtc.data.coding import (
    BINARY,
    Coding,
    find_value,
    fit_groups,
    group_codes,
    label_codes,
    row_weights,
)
from adtc.data.columns import Scalar
from adtc.data.frames import (
    array_column,
    arrow_table,
    check_features,
    check_names,
    column,
    zero_one,
)
from adtc.data.further import check_table_name, read_further, recode_further
from adtc.data.hybrids import features_of, hybrid_layer
from adtc.data.identifiers import refuse_identifiers
from adtc.data.interventions import intervened
from adtc.data.sheet import Sheet, frame_sheet
from adtc.data.splitting import set_aside
from adtc.data.stack import Layer, Stack, layer_of, stacked
from adtc.data.stream.batches import is_stream
from adtc.errors import DataError, unknown
from adtc.hooks import hook


@dataclass(frozen=True, eq=False, repr=False)
class Data(BooleanTable):
    """A table to ask about: rows as bits per feature, with labels, groups and weights.

    Made by `read`, `load_dataset`, ``from_frame`` or ``from_arrays``; its fields are described in
    ``adtc.data.boolean.BooleanTable``.
    """

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        target: str,
        sensitive: str | None = None,
        use_sensitive: bool = False,
        positive: Scalar | None = None,
        weights: str | None = None,
        references: Sequence[str] = (),
        reference_labels: Mapping[str, Mapping[str, Scalar]] | None = None,
        drop: Sequence[str] = (),
        na: Sequence[str] | None = None,
        parse_text: bool = False,
        name: str = "table",
        stream: bool | None = None,
        **binning: Unpack[BinningOptions],
    ) -> Self:
        """Make Boolean features of a frame.

        Parameters
        ----------
        frame
            Anything that speaks Arrow (pandas, polars, ``pyarrow.Table``), a dict of columns, a
            lazy frame of polars, a relation of DuckDB, or a stream of record batches.
        target
            The column with the classes (two to 50). It keeps its type; no value may be missing.
        sensitive
            The column with the sensitive groups (two to 20); a missing value is the group
            ``(missing)``.
        use_sensitive
            Whether the sensitive column is a feature, too.
        positive
            The positive class; without it, the later of two.
        weights
            A column of whole numbers: how many equal rows each row stands for.
        references
            Columns with labels from elsewhere, such as a score to compare with, coded like the
            target; they are no features. Other spellings of the labels (case, a final full stop;
            no/yes, 0/1, false/true for two) are read as labels; ``binarizer.spelled`` tells.
        reference_labels
            Column of ``references`` to what its values stand for: ``{"score": {"High": "yes"}}``.
        drop
            Columns to leave out.
        na
            Spellings of a missing value, besides the empty text, NA, NaN, nan, null and None.
        parse_text
            Read numbers and true/false in text columns, as in a CSV file.
        stream
            Read it in batches and merge equal rows. A query or a stream is kept in a temporary
            file meanwhile; by default it is streamed if it takes a gigabyte or more.
        **binning
            ``nbins`` (7), ``binning`` ("quantile" or "width"), ``cuts`` (column to cut points, or
            to "all"), ``numeric`` ("thresholds" or "bins"), ``onehot`` ("drop" or "all"),
            ``max_categories`` (50), ``types`` (column to "numeric", "category" or "ignore").

        Notes
        -----
        Columns of 0 and 1 stay as they are. A numeric column becomes thresholds ``x <= c``, a
        category ``x = v``; a column of two values becomes one feature, that of the later value.
        A missing value gets an indicator and is 0 in the column's other features. Constant
        columns are left out. Cuts given for the target or the sensitive column make its classes
        or groups. A column that looks like an identifier is refused unless ``types`` or ``cuts``
        name it; the rule is that of ``adtc.data.identifiers``.

        Examples
        --------
        >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
        >>> data.feature_names, data.labels
        (('age <= 25', 'age <= 35'), ('no', 'yes'))
        """
        read: Any = frame_sheet
        if stream or is_stream(frame):
            read = partial(hook("stream_frame"), stream=stream)
        sheet = read(
            frame,
            target=target,
            sensitive=sensitive,
            use_sensitive=use_sensitive,
            positive=positive,
            weights=weights,
            references=references,
            reference_labels=reference_labels,
            drop=drop,
            na=na,
            parse_text=parse_text,
            name=name,
            **binning,
        )
        if isinstance(sheet, Sheet):
            return cls.from_sheet(sheet)
        made: Self = hook("data_of")(sheet)
        return made

    @classmethod
    def from_sheet(cls, sheet: Sheet, *, keep_identifiers: bool = False) -> Self:
        """Make Boolean features of encoded columns.

        Parameters
        ----------
        keep_identifiers
            Whether columns that look like identifiers become features, too; otherwise they are
            refused.
        """
        if sheet.target is None or sheet.labels is None:
            raise DataError("a table needs a target: name the column to predict (target).")
        if not keep_identifiers:
            refuse_identifiers(sheet)
        features = sheet.features(sheet.columns.values())
        check_features(features)
        names = tuple(name for name, _ in sheet.references)
        binarizer = Binarizer(
            features,
            sheet.labels,
            sheet.groups,
            sheet.weights_column,
            names,
            sheet.na,
            sheet.spelled,
        )
        return cls(
            name=sheet.name,
            features=features,
            bits=binarizer.bits(sheet.columns, sheet.n_rows),
            y=sheet.labels.codes(sheet.target),
            labels=sheet.labels.values,
            positive=sheet.positive,
            z=group_codes(sheet.groups, sheet.sensitive, sheet.n_rows),
            groups=sheet.groups.values if sheet.groups else (),
            sensitive=sheet.sensitive.name if sheet.sensitive else None,
            target=sheet.target.name,
            weights=sheet.weights,
            references=sheet.references,
            binarizer=binarizer,
            source=sheet.source,
        )

    @classmethod
    def from_arrays(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        z: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        references: Mapping[str, npt.ArrayLike] | None = None,
        feature_names: Iterable[str] | None = None,
        labels: Sequence[Scalar] | None = None,
        positive: Scalar | None = None,
        name: str = "table",
    ) -> Self:
        """Take features that are Boolean already; constant ones stay.

        Parameters
        ----------
        X
            0/1 or truth values, ``[n_rows, n_features]``.
        feature_names
            By default ``f0``, ``f1`` …
        labels
            All classes, where ``y`` need not hold each of them; by default those in ``y``.

        Notes
        -----
        Here a single class or group is allowed, too.

        Examples
        --------
        >>> Data.from_arrays([[1, 0], [0, 0]], [1, 0]).feature_rows(0)
        1
        """
        rows = zero_one(X)
        n_rows, n_features = rows.shape
        names = [f"f{i}" for i in range(n_features)] if feature_names is None else feature_names
        features = tuple(Feature(str(n), str(n)) for n in names)
        if len(features) != n_features:
            raise DataError(f"{len(features)} feature names were given for {n_features} features.")
        check_names(f.name for f in features)
        y_column = array_column("y", y, n_rows)
        known = tuple(y_column.values.tolist()) if labels is None else tuple(labels)
        place = None if positive is None else find_value("label", positive, known)
        if len(known) == BINARY:
            known, place = (known[::-1] if place == 0 else known), 1
        coding = Coding("y", known)
        z_column = None if z is None else array_column("z", z, n_rows)
        groups = None if z_column is None else fit_groups(z_column, least=1)
        coded = {k: array_column(k, v, n_rows) for k, v in (references or {}).items()}
        return cls(
            name=name,
            features=features,
            bits=pack(np.ascontiguousarray(rows.T)),
            y=label_codes("target", y_column, coding),
            labels=known,
            positive=place,
            z=group_codes(groups, z_column, n_rows),
            groups=groups.values if groups else (),
            sensitive="z" if groups else None,
            target="y",
            weights=np.ones(n_rows, np.int64)
            if weights is None
            else row_weights(array_column("weights", weights, n_rows)),
            references=tuple((k, label_codes("reference", c, coding)) for k, c in coded.items()),
            binarizer=Binarizer(features, coding, groups, None, tuple(coded)),
        )

    def apply(self, frame: object, *, name: str | None = None) -> Self:
        """Read a new table with the same features, labels and groups.

        Notes
        -----
        A category not seen before counts as ``(other)`` where that feature exists and otherwise
        matches no ``=`` feature. A missing column, an unknown label and an unknown group are
        errors; for rows without labels use ``binarize``, for a test set ``with_table``.
        """
        table, recipe = arrow_table(frame), self.binarizer
        z_column = column(table, recipe.sensitive.column, recipe.na) if recipe.sensitive else None
        return self.with_rows(
            table,
            name or self.name,
            y=label_codes("target", column(table, recipe.target.column, recipe.na), recipe.target),
            z=group_codes(recipe.sensitive, z_column, table.num_rows),
        )

    def with_rows(
        self, table: Any, name: str, *, y: Codes, z: Codes, notes: tuple[str, ...] = ()
    ) -> Self:
        """Take the rows of another table, labels and groups coded; the rest stays what it is."""
        recipe = self.binarizer
        weights = row_weights(column(table, recipe.weights, recipe.na)) if recipe.weights else None
        return replace(
            self,
            name=name,
            bits=self.binarize(table),
            y=y,
            z=z,
            weights=np.ones(table.num_rows, np.int64) if weights is None else weights,
            references=tuple(
                (r, recipe.reference_codes(column(table, r, recipe.na))) for r in recipe.references
            ),
            origin=None,
            originals=None,
            source=None,
            tables=(),
            notes=notes,
        )

    def binarize(self, frame: object) -> Words:
        """Evaluate the features on a table without labels: ``[n_features, n_words]``."""
        table = arrow_table(frame)
        recipe = self.binarizer
        columns = {c: column(table, c, recipe.na) for c in recipe.columns}
        return recipe.bits(columns, table.num_rows)

    def with_table(self, name: str, frame: object) -> Self:
        """Add a further table: its rows are sent down the same trees.

        Parameters
        ----------
        name
            What its metrics are called by: ``test`` makes ``test.acc``, ``test.dp`` and so on.
        frame
            A frame with the columns of this table, or a ``Data`` of the same features and labels.

        Notes
        -----
        Which trees exist is a matter of this table alone: smallest leaves, majority labels and
        all metrics without a prefix. Labels are matched by value, else as text without a final
        full stop (``notes`` of the new table says so); an unknown label is an error. Categories
        and missing values are treated as by ``predict``; rows of an unknown sensitive group
        belong to no group.

        Examples
        --------
        >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
        >>> data = data.with_table("test", {"age": [25, 45], "y": ["no.", "yes."]})
        >>> data.further("test").y.tolist(), data.further("test").notes
        ([0, 1], ("labels such as 'no.' and 'yes.' were read without their final full stop",))
        """
        check_table_name(name, dict(self.tables))
        if isinstance(frame, Data):
            further = recode_further(self, name, frame)
        else:
            further = read_further(self, name, frame)
        return replace(self, tables=(*self.tables, (name, further)))

    def with_intervention(
        self, name: str, column: str, value: Scalar | None = None, *, switch: bool = False
    ) -> Self:
        """Add the same rows with one column changed, as a further table.

        Parameters
        ----------
        name
            What its metrics are called by.
        column
            A source column that features are made from.
        value
            What every row gets in that column.
        switch
            Exchange the column's two values instead.

        Examples
        --------
        >>> data = Data.from_arrays([[1, 0], [0, 1]], [1, 0]).with_intervention(
        ...     "switched", "f0", switch=True
        ... )
        >>> data.further("switched").dense().tolist()
        [[0, 0], [1, 1]]

        Notes
        -----
        Labels and sensitive groups stay those of the rows as they are, and so do columns that
        go with the changed one.
        """
        check_table_name(name, dict(self.tables))
        changed = intervened(self, name, column, value, switch)
        return replace(self, tables=(*self.tables, (name, changed)))

    def further(self, name: str) -> "Data":
        """Return a further table by its name."""
        for known, data in self.tables:
            if known == name:
                return data
        raise DataError(unknown("further table", name, [known for known, _ in self.tables]))

    def split(self, share: float | str, *, seed: int = 0, name: str = "test") -> Self:
        """Set some rows aside as a further table; the others stay.

        Parameters
        ----------
        share
            The share of rows to set aside, of each combination of label and sensitive group; at
            least one row of each stays.
        seed
            Which rows; the same seed takes the same rows.

        Notes
        -----
        The features stay what they are, so their cuts were made from all rows.

        Examples
        --------
        >>> data = Data.from_arrays([[1], [0]] * 10, [1, 0] * 10).split(0.3)
        >>> data.n_rows, data.further("test").n_rows
        (14, 6)
        """
        check_table_name(name, dict(self.tables))
        chosen = set_aside(self.y * np.int64(max(1, len(self.groups)) + 1) + self.z, share, seed)
        kept, test = (self.take(np.flatnonzero(rows)) for rows in (~chosen, chosen))
        note = f"{share} of '{self.name}', by label and group, seed {seed}"
        further = replace(test, name=name, tables=(), notes=(note,))
        return replace(kept, tables=(*self.tables, (name, further)))

    def stack(self, tables: Iterable[str]) -> "Data | Stack":
        """Put the rows of some further tables below this table's; without any, return it."""
        names = tuple(tables)
        if not names:
            return self
        if names not in self._stacks:
            self._stacks[names] = stacked(self, self.layers(names))
        return self._stacks[names]

    def layers(self, tables: Iterable[str]) -> list[Layer]:
        """Take the rows of some further tables, each for itself.

        ``switched[COLUMN]`` names the hybrid rows of this table, ``test.switched[COLUMN]`` those
        of a further one: see ``hybrids``.
        """
        return [self._layer(name) for name in tables]

    def _layer(self, name: str) -> Layer:
        table, _, rest = name.rpartition("switched[") if name.endswith("]") else ("", "", "")
        if not rest:
            return layer_of(self.further(name), name)
        source = self.further(table[:-1]) if table else self
        return hybrid_layer(source, features_of(self, rest[:-1]), name)

    @cached_property
    def _stacks(self) -> dict[tuple[str, ...], Stack]:
        """Stacks that were made: every question about the same tables needs them."""
        return {}
