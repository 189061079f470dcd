"""Tables of any number of rows: two passes over record batches, and merged rows in memory.

The first pass adds up what every column holds (``tally``); kinds, cuts, categories, labels and
groups follow from that as they would from the table in memory. Columns of very many numbers are
passed over once more for exact cuts (``ranks``). The last pass gives each row its features
(``encoding``) and merges equal rows (``runs``): memory is bounded by the distinct rows.
"""

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from adtc.data.binning import Binning, BinningOptions
from adtc.data.coding import (
    Coding,
    check_present,
    check_total,
    fit_groups,
    fit_labels,
)
from adtc.data.columns import Scalar
from adtc.data.cuts import quantile_ranks, width_points
from adtc.data.files import repeated
from adtc.data.frames import check_known, check_roles, index_columns
from adtc.data.identifiers import refuse_identifiers
from adtc.data.references import reference_codes
from adtc.data.stream.batches import Batches, Watch
from adtc.data.stream.streamed import Reading, Role, StreamSheet, merge_rows
from adtc.data.stream.tally import MOST_VALUES, Summary, Tally
from adtc.errors import DataError, unknown


def stream_sheet(
    batches: Batches,
    *,
    target: str | None = None,
    sensitive: str | None = None,
    use_sensitive: bool = False,
    positive: Scalar | None = None,
    weights: str | None = None,
    references: Sequence[str] = (),
    reference_labels: Mapping[str, Mapping[str, Scalar]] | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] | None = None,
    name: str = "table",
    watch: Watch | None = None,
    describing: bool = False,
    most_values: int = MOST_VALUES,
    **binning: Unpack[BinningOptions],
) -> StreamSheet:
    """Read a table in batches; the parameters are those of ``Data.from_frame``.

    Parameters
    ----------
    watch
        Is told how far reading is, and may stop it.
    describing
        Whether columns that look like identifiers are left out rather than refused.
    most_values
        Different values of a column that are counted one by one.
    """
    options = Binning(**binning)
    table = batches.schema.empty_table()
    table = table.drop_columns(index_columns(table))
    if twice := repeated(table.column_names):
        raise DataError(
            f"the table has more than one column named '{twice[0]}'; rename all but one of them."
        )
    roles = [("target", target), ("sensitive", sensitive), ("weights", weights)]
    roles += [("references", r) for r in references] + [("drop", c) for c in drop]
    named = check_roles(table, roles)
    check_known(table, [*(options.cuts or ()), *options.kinds])
    options.check_coded(target, sensitive)
    for column in reference_labels or {}:
        if column not in references:
            raise DataError(unknown("reference column of reference_labels", column, references))
    taken = (named | options.ignored) - ({sensitive} if use_sensitive else set())
    features = [c for c in table.column_names if c not in taken]
    spellings = tuple(na or ())
    reading = Reading(batches, spellings, _parsed(batches, options), weights, watch)
    wanted = (target, sensitive, weights, *references, *features)
    tallies = {
        c: Tally(c, spellings, reading.parses(c), options.given.get(c, ()), most_values)
        for c in dict.fromkeys(wanted)
        if c is not None
    }
    n_rows, total = _first_pass(reading, tallies)
    _refine(reading, {c: tallies[c] for c in features}, options)
    summaries = {c: tally.summary() for c, tally in tallies.items()}
    if weights is not None:
        _check_role("weights", summaries[weights])
        check_total(weights, total)
    labels, place = _labels(summaries, target, options, positive)
    sheet = StreamSheet(
        name=name,
        n_rows=n_rows,
        total=total,
        binning=options,
        summaries=summaries,
        columns={c: summaries[c].column for c in features},
        left_out=tuple(c for c in table.column_names if c in {*drop, *options.ignored}),
        labels=labels,
        positive=place,
        groups=_groups(summaries, sensitive, options),
        target=summaries[target].column if target else None,
        sensitive=summaries[sensitive].column if sensitive else None,
        references=tuple(
            _reference(summaries[r], labels, (reference_labels or {}).get(r)) for r in references
        )
        if labels
        else (),
        reading_of=reading,
        names=tuple(table.column_names),
    )
    if not describing:
        if labels is None:
            raise DataError("a table needs a target: name the column to predict (target).")
        refuse_identifiers(sheet)
    return merge_rows(sheet)


def _parsed(batches: Batches, options: Binning) -> frozenset[str]:
    """Find the columns whose text may be numbers."""
    import pyarrow.types as pt

    if not batches.parse_text:
        return frozenset()
    return frozenset(
        field.name
        for field in batches.schema
        if not pt.is_dictionary(field.type) and options.kinds.get(field.name) != "category"
    )


def _first_pass(reading: Reading, tallies: Mapping[str, Tally]) -> tuple[int, int]:
    """Add up all columns; give the number of rows and the sum of their weights."""
    n_rows = total = 0
    for batch, weights in reading.batches(list(tallies), "reading columns"):
        for column, tally in tallies.items():
            tally.add(batch.column(column), weights, n_rows)
        n_rows += batch.num_rows
        total += batch.num_rows if weights is None else int(weights.sum())
    if not n_rows:
        raise DataError("the table has no rows; at least one is needed.")
    return n_rows, total


def _refine(reading: Reading, tallies: Mapping[str, Tally], options: Binning) -> None:
    """Pass over columns of very many numbers until all their cuts are known exactly."""
    open_ = {c: t for c, t in tallies.items() if t.buckets is not None and c not in options.given}
    for column in open_:
        _check_numeric(column, options)
    points = {c: _points(t, options) for c, t in open_.items()}
    while wanted := {c: t for c, t in open_.items() if t.refine(_ranks(t, options), points[c])}:
        points = dict.fromkeys(open_, ())
        columns = [*wanted, *([reading.weights] if reading.weights else [])]
        for batch, weights in reading.batches(columns, "finding cuts"):
            for column, tally in wanted.items():
                tally.recount(batch.column(column), weights)


def _check_numeric(column: str, options: Binning) -> None:
    if column in options.everywhere:
        raise DataError(
            f"column '{column}' has more than {MOST_VALUES:,} different numbers, too many to cut "
            f"between any two of them; give cuts, or a number of bins (nbins)."
        )
    if options.kinds.get(column) == "category":
        raise DataError(
            f"column '{column}' has more than {MOST_VALUES:,} different values, too many for a "
            f"category while a table is streamed; leave it out (drop: --drop {column})."
        )


def _points(tally: Tally, options: Binning) -> Sequence[float]:
    """Give the cuts of equal width, at which buckets must end."""
    assert tally.buckets is not None
    if options.binning != "width" or not tally.buckets.total:
        return ()
    low, high = tally.buckets.ends
    return width_points(float(low), float(high), options.nbins)


def _ranks(tally: Tally, options: Binning) -> Sequence[int]:
    assert tally.buckets is not None
    if options.binning == "width" or not tally.buckets.total:
        return ()
    return quantile_ranks(tally.buckets.total, options.nbins)


def _check_role(role: str, summary: Summary) -> None:
    check_present(role, summary.column.name, int(summary.seen.rows[-1]), summary.first_missing)


def _labels(
    summaries: Mapping[str, Summary], name: str | None, options: Binning, positive: Scalar | None
) -> tuple[Coding | None, int | None]:
    if name is None:
        return None, None
    summary, cuts = summaries[name], options.given.get(name, ())
    _check_role("target", summary)
    _check_few("target", summary, cuts, "classes")
    return fit_labels(summary.column, cuts, positive, summary.weights)


def _groups(summaries: Mapping[str, Summary], name: str | None, options: Binning) -> Coding | None:
    if name is None:
        return None
    summary, cuts = summaries[name], options.given.get(name, ())
    _check_few("sensitive column", summary, cuts, "groups")
    return fit_groups(summary.column, cuts)


def _check_few(role: str, summary: Summary, cuts: Sequence[float], parts: str) -> None:
    if not summary.complete and not cuts:
        name = summary.column.name
        raise DataError(
            f"the {role} '{name}' has about {summary.seen.distinct:,} distinct values; cut it into "
            f"{parts}, for example with cuts={{'{name}': [c]}}."
        )


def _reference(summary: Summary, labels: Coding, given: Mapping[str, Scalar] | None) -> Role:
    _check_role("reference", summary)
    codes, spelled = reference_codes(summary.column, labels, given, rows=False)
    of_value = np.zeros(len(summary.column.values) + 1, np.int64)
    of_value[summary.column.codes] = codes
    return Role(summary.column.name, of_value, spelled)
