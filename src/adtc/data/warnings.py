"""What a user should know about a table before trusting an answer about it.

Thresholds are those of ``association``, ``identifiers`` and ``spellings``. All of it takes time
linear in the table: each column is compared with the target and the sensitive column, never with
another one.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from adtc.data.association import Association, associate
from adtc.data.bits import Rows
from adtc.data.columns import Column, format_scalar
from adtc.data.identifiers import FEW_ROWS, identifier, is_unique_number
from adtc.data.outline import Outline
from adtc.data.spellings import SpelledNumbers, differ_in_case, end_in_full_stop, spelled_numbers
from adtc.text import percent

STRONG = Fraction(8, 10)  # AUC of one column alone
FEW = 3  # columns that strong; where more are, the target is easy and none of them stands out
REVEALS = Fraction(1, 4)  # share of the rows whose group a column tells with hardly a doubt
_SHOWN = 3

Kind = Literal[
    "identifier",
    "unique-numbers",
    "number-as-text",
    "predicts-target",
    "strong",
    "tells-sensitive",
    "full-stop",
    "letter-case",
    "repeated",
]
_MINOR = (
    "full-stop",
    "letter-case",
    "repeated",
)  # worth a line in a description, not at every command


@dataclass(frozen=True, slots=True)
class TableWarning:
    """Something about one column that a user should know.

    Parameters
    ----------
    kind
        What it is about.
    short
        A few words for a line that names several warnings.
    message, advice
        What was found, and what can be done about it.
    """

    kind: Kind
    column: str
    short: str
    message: str
    advice: str

    @property
    def minor(self) -> bool:
        """Tell whether only a description says it."""
        return self.kind in _MINOR

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}."


@dataclass(frozen=True, slots=True)
class Associations:
    """How well one column alone tells the target and the sensitive group; None where not asked."""

    target: Association | None = None
    sensitive: Association | None = None


class Beside:
    """The labels and groups of the rows, to set columns beside."""

    def __init__(self, sheet: Outline) -> None:
        self.n_labels = len(sheet.labels.values) if sheet.labels else 1
        self.n_groups = len(sheet.groups.values) if sheet.groups else 1
        self._crossed = sheet.crossing()
        self._sensitive = sheet.sensitive.name if sheet.sensitive else None

    def counts(self, column: Column) -> Rows:
        """Count rows by label, group and cell."""
        return self._crossed(column).reshape(self.n_labels, self.n_groups, -1)

    def associations(self, column: Column) -> Associations:
        """Measure how well a column tells labels and groups."""
        if self.n_labels == self.n_groups == 1 or not len(column.values):
            return Associations()
        counts, ordered = self.counts(column), column.kind == "number"
        groups = self.n_groups > 1 and column.name != self._sensitive
        return Associations(
            associate(counts.sum(axis=1), ordered=ordered) if self.n_labels > 1 else None,
            associate(counts.sum(axis=0), ordered=ordered) if groups else None,
        )


def table_warnings(sheet: Outline) -> tuple[TableWarning, ...]:
    """Find what a user should know about a table.

    Examples
    --------
    >>> from adtc.data.sheet import frame_sheet
    >>> frame = {"x": ["1", "?", "3", "4", "5"] * 9, "y": [0, 1, 0, 1, 1] * 9}
    >>> for warning in table_warnings(frame_sheet(frame, target="y")):
    ...     print(warning)
    'x' came in as categories: 36 of 45 rows hold numbers, but '?' (9 rows) is none; use --na '?'.
    """
    beside = Beside(sheet)
    return warnings_of(sheet, {name: beside.associations(c) for name, c in sheet.columns.items()})


def warnings_of(sheet: Outline, by_column: Mapping[str, Associations]) -> tuple[TableWarning, ...]:
    """Find the warnings of a table whose columns are measured already."""
    found = [*_label_warnings(sheet), *_repeats(sheet)]
    for name, column in sheet.columns.items():
        found += column_warnings(sheet, column, by_column[name])
    strong = sum(w.kind in ("strong", "predicts-target") for w in found)
    return tuple(w for w in found if w.kind != "strong" or strong <= FEW)


def column_warnings(
    sheet: Outline, column: Column, associations: Associations
) -> Iterator[TableWarning]:
    """Find what a user should know about one column."""
    named = None if sheet.chosen(column.name) else identifier(column, sheet.seen)
    if named is not None:
        drop, types = _drop(column), shlex.quote(f"{column.name}={named.type}")
        yield TableWarning(
            "identifier",
            column.name,
            f"'{column.name}' looks like an identifier",
            f"'{column.name}' looks like an identifier ({named.reason}) and is refused as a "
            "feature",
            f"use {drop}, or --type {types} if it is to be a feature",
        )
        return
    if not sheet.chosen(column.name):
        yield from _reading_warnings(sheet, column)
    if sheet.n_rows > FEW_ROWS:  # in fewer, anything may tell anything
        yield from _association_warnings(sheet, column, associations)


def short_line(warnings: Sequence[TableWarning]) -> str:
    """Name the warnings in one line, the first of them; empty if there is none."""
    shown = [w.short for w in warnings if not w.minor]
    more = f"; {len(shown) - _SHOWN:,} more" if len(shown) > _SHOWN else ""
    return "; ".join(shown[:_SHOWN]) + more


def _label_warnings(sheet: Outline) -> Iterator[TableWarning]:
    if sheet.target is None or sheet.labels is None:
        return
    labels = sheet.labels.values
    if end_in_full_stop(labels):
        shown = " and ".join(f"'{format_scalar(v)}'" for v in labels[:2])
        name = sheet.target.name
        yield TableWarning(
            "full-stop",
            name,
            f"the labels of '{name}' end in a full stop",
            f"the labels of '{name}' end in a full stop ({shown}), as in adult.test",
            "they are other labels than those without; remove the full stops from the file if it "
            "goes with another table",
        )


def _repeats(sheet: Outline) -> Iterator[TableWarning]:
    for name in sheet.repeated:
        yield TableWarning(
            "repeated",
            name,
            f"'{name}' comes more than once",
            f"'{name}' is the name of several columns with the same values, of which one is kept",
            "leave the others out of the file if they are copies",
        )


def _reading_warnings(sheet: Outline, column: Column) -> Iterator[TableWarning]:
    """Warn about whole numbers that may be identifiers, and about text that should be numbers."""
    seen = sheet.seen(column)
    if is_unique_number(column, seen):
        yield TableWarning(
            "unique-numbers",
            column.name,
            f"'{column.name}' may be an identifier",
            f"'{column.name}' has another whole number in each of {seen.total:,} rows and "
            "may be an identifier",
            f"use {_drop(column)} if it is one",
        )
    if column.kind != "text":
        return
    rows = seen.rows[:-1]
    spelled = spelled_numbers(column, rows, sheet.binning.max_categories)
    if spelled is not None:
        yield _number_as_text(column, spelled, int(rows.sum()))
    elif pair := differ_in_case(column.values):
        yield TableWarning(
            "letter-case",
            column.name,
            f"'{column.name}' has values that differ in case only",
            f"'{column.name}' has values that differ in upper and lower case only, such as "
            f"'{pair[0]}' and '{pair[1]}'",
            "they are different categories; spell them alike if they mean the same",
        )


def _number_as_text(column: Column, spelled: SpelledNumbers, rows: int) -> TableWarning:
    reasons, advice = [], []
    if spelled.others:
        listed = [f"'{v}' ({n:,} row{'s' * (n != 1)})" for v, n in spelled.others[:_SHOWN]]
        more = [f"{len(spelled.others) - _SHOWN} more"] * (len(spelled.others) > _SHOWN)
        none = "is none" if len(spelled.others) == 1 else "are none"
        reasons.append(f"{' and '.join([', '.join(listed), *more])} {none}")
        advice.append("use " + " ".join(f"--na {shlex.quote(v)}" for v, _ in spelled.others))
    written = {
        "thousands": ("has a separator of thousands", "write numbers without separators (1000)"),
        "comma": ("has a decimal comma", "write decimals with a point (0.5)"),
        "sign": ("carries a sign", "write numbers without signs such as $ or %"),
    }
    for form, example in spelled.examples:
        reasons.append(f"'{example}' {written[form][0]}")
        advice.append(written[form][1])
    if not reasons:
        reasons.append("the column is text")
        advice.append(f"use --type {shlex.quote(f'{column.name}=numeric')}")
    first = spelled.others[0][0] if spelled.others else (spelled.examples or (("", ""),))[0][1]
    because = f" because of '{first}'" if first else ""
    return TableWarning(
        "number-as-text",
        column.name,
        f"'{column.name}' came in as categories{because}",
        f"'{column.name}' came in as categories: {spelled.numbers:,} of {rows:,} rows hold "
        f"numbers, but {', '.join(reasons)}",
        ", and ".join(advice),
    )


def _association_warnings(
    sheet: Outline, column: Column, associations: Associations
) -> Iterator[TableWarning]:
    """Warn about columns that tell the target or the sensitive group."""
    name = column.name
    if associations.target is not None and sheet.target is not None:
        yield from _target_warnings(column, associations.target, sheet.target.name)
    groups = associations.sensitive
    if groups is not None and sheet.sensitive is not None:
        z = sheet.sensitive.name
        if groups.nearly_perfect:
            how = f"tells '{z}' right in {percent(groups.right)} of the rows"
        elif groups.sure_rows >= REVEALS * groups.total:
            how = f"tells '{z}' with hardly a doubt for {percent(groups.sure)} of the rows"
        else:
            return
        yield TableWarning(
            "tells-sensitive",
            name,
            f"'{name}' {how}",
            f"'{name}' {how} ({percent(groups.baseline)} is the largest group)",
            f"trees that test it come near to testing '{z}'; use {_drop(column)} to leave it out",
        )


def _target_warnings(column: Column, alone: Association, y: str) -> Iterator[TableWarning]:
    name = column.name
    if alone.nearly_perfect:
        yield TableWarning(
            "predicts-target",
            name,
            f"'{name}' alone predicts '{y}' ({percent(alone.right)} right)",
            f"'{name}' alone predicts '{y}' in {percent(alone.right)} of the rows (without it "
            f"{percent(alone.baseline)})",
            f"use {_drop(column)} if it is known only after '{y}'",
        )
    elif alone.reaches(STRONG) and alone.auc is not None:
        yield TableWarning(
            "strong",
            name,
            f"'{name}' is a strong predictor of '{y}' (AUC {float(alone.auc):.2f})",
            f"'{name}' alone is a strong predictor of '{y}' (AUC {float(alone.auc):.3f})",
            f"use {_drop(column)} if it is known only after '{y}'",
        )


def _drop(column: Column) -> str:
    return f"--drop {shlex.quote(column.name)}"
