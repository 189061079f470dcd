"""Rates by group: how a table's groups differ, and how a tree treats each of them.

Groups too small to be shown keep their numbers to themselves, and so do others from which those
would follow.
"""

from collections.abc import Sequence
from fractions import Fraction

from adtc.models.small import fewer_text, hidden_counts
from adtc.profiles.audits.rates import Changes, GroupCounts, impact_ratios
from adtc.profiles.writing import fixed, grouped, percentage

NOT_SHOWN = "not shown"


def base_rows(counts: Sequence[GroupCounts], small: int) -> list[list[str]]:
    """Write size and base rate of every group: name, rows, share, truly positive, base rate."""
    whole = counts[0].rows
    written = []
    for group, (no_rows, no_split) in zip(counts, hidden_groups(counts, small), strict=True):
        size = _instead(group.rows, small) if no_rows else grouped(group.rows)
        cells = [group.name, size, NOT_SHOWN if no_rows else rate_text(group.rows, whole)]
        if group.positive is not None:
            few = _instead(group.positive, small) if no_split else grouped(group.positive)
            cells += [few, NOT_SHOWN if no_split else rate_text(group.positive, group.rows)]
        written.append(cells)
    return written


def rate_rows(counts: Sequence[GroupCounts], small: int) -> list[list[str]]:
    """Write how a tree treats every group.

    The columns are name, selected, selection rate, true and false positive rate, wrong and error
    rate; the four in the middle are left out without a positive label.
    """
    written = []
    for group, (no_rows, no_split) in zip(counts, hidden_groups(counts, small), strict=True):
        cells = [group.name]
        if group.positive is not None:
            assert group.selected is not None
            assert group.true_positive is not None
            false_positive = group.selected - group.true_positive
            cells += [NOT_SHOWN] * 2 if no_rows else [
                grouped(group.selected), rate_text(group.selected, group.rows)
            ]  # fmt: skip
            cells += [NOT_SHOWN] * 2 if no_split else [
                rate_text(group.true_positive, group.positive),
                rate_text(false_positive, group.negative),
            ]  # fmt: skip
        cells += [NOT_SHOWN] * 2 if no_rows else [
            grouped(group.wrong), rate_text(group.wrong, group.rows)
        ]  # fmt: skip
        written.append(cells)
    return written


AUDIT_HEAD = (
    "rows",
    "base rate",
    "selected",
    "selection rate",
    "impact ratio",
    "true positive rate",
    "false positive rate",
    "error rate",
)


def audit_rows(counts: Sequence[GroupCounts], small: int) -> list[list[str]]:
    """Write size, base rate and treatment of every group; ``AUDIT_HEAD`` names the columns.

    The impact ratio compares with the most selected group; where that one is hidden, all are.
    """
    hidden = hidden_groups(counts, small)
    ratios = impact_ratios(counts)
    no_ratio = any(gone and ratio == 1 for (gone, _), ratio in zip(hidden, ratios, strict=True))
    written = []
    for group, ratio, (no_rows, no_split) in zip(counts, ratios, hidden, strict=True):
        selected, hit = group.selected or 0, group.true_positive or 0
        size = _instead(group.rows, small) if no_rows else grouped(group.rows)
        base = NOT_SHOWN if no_split else rate_text(group.positive or 0, group.rows)
        treated = [grouped(selected), rate_text(selected, group.rows), _ratio_text(ratio)]
        if no_rows:
            treated = [NOT_SHOWN] * 3
        elif no_ratio and ratio is not None:
            treated[2] = NOT_SHOWN
        rates = [NOT_SHOWN] * 2 if no_split else [
            rate_text(hit, group.positive or 0), rate_text(selected - hit, group.negative)
        ]  # fmt: skip
        wrong = NOT_SHOWN if no_rows else rate_text(group.wrong, group.rows)
        written.append([group.name, size, base, *treated, *rates, wrong])
    return written


CHANGES_HEAD = ("rows", "decisions that change", "share", "gain", "lose")


def change_rows(
    found: Sequence[Changes], counts: Sequence[GroupCounts], small: int
) -> list[list[str]]:
    """Write how many decisions change in every group; ``CHANGES_HEAD`` names the columns."""
    written = []
    for change, (no_rows, _) in zip(found, hidden_groups(counts, small), strict=True):
        if no_rows:
            written.append([change.name, *[NOT_SHOWN] * 5])
            continue
        cells = [grouped(change.rows), grouped(change.changed)]
        cells += [rate_text(change.changed, change.rows)]
        cells += [grouped(change.gained), grouped(change.lost)]
        written.append([change.name, *cells])
    return written


def _ratio_text(ratio: Fraction | None) -> str:
    return "" if ratio is None else fixed(ratio, 2)


def some_hidden(counts: Sequence[GroupCounts], small: int) -> bool:
    """Tell whether a group, or its positive or negative rows, are too few to be shown."""
    return any(no_split for _, no_split in hidden_groups(counts, small))


def hidden_groups(counts: Sequence[GroupCounts], small: int) -> list[tuple[bool, bool]]:
    """Per group: hide its rows, and hide how many of them are positive.

    All rows together are never hidden: what is to be kept back are parts of them.
    """
    groups = counts[1:]
    no_rows = hidden_counts([group.rows for group in groups], small)
    no_split = list(no_rows)
    if counts[0].positive is not None:
        for part in ([group.positive or 0 for group in groups], [g.negative for g in groups]):
            # a group that is hidden leaves the others as few as if it were small
            kept = [0 if gone else n for n, gone in zip(part, no_rows, strict=True)]
            for at, gone in enumerate(hidden_counts(kept, small)):
                no_split[at] |= gone
    return [(False, False), *zip(no_rows, no_split, strict=True)]


def _instead(count: int, small: int) -> str:
    return fewer_text(small) if count < small else NOT_SHOWN


def rate_text(part: int, whole: int) -> str:
    """Write a rate in per cent.

    Examples
    --------
    >>> rate_text(1, 8), rate_text(0, 0)
    ('12.5 %', 'undefined')
    """
    return percentage(Fraction(part, whole) if whole else None)
