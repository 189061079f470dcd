"""Rates by group: how a table's groups differ, and how a tree treats each of them.

Groups too small to be shown keep their numbers to themselves, and so do others from which those
would follow.
"""

from collections.abc import Sequence
from fractions import Fraction

from adtc.models.small import fewer_text, hidden_counts
from adtc.profiles.rates import GroupCounts
from adtc.profiles.writing import fixed, grouped

NOT_SHOWN = "not shown"


def base_rows(counts: Sequence[GroupCounts], small: int) -> list[list[str]]:
    """Write size and base rate of every group: name, rows, share, truly positive, base rate."""
    whole = counts[0].rows
    written = []
    for group, (no_rows, no_split) in zip(counts, _hidden(counts, small), strict=True):
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
    for group, (no_rows, no_split) in zip(counts, _hidden(counts, small), strict=True):
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


def some_hidden(counts: Sequence[GroupCounts], small: int) -> bool:
    """Tell whether a group, or its positive or negative rows, are too few to be shown."""
    return any(no_split for _, no_split in _hidden(counts, small))


def _hidden(counts: Sequence[GroupCounts], small: int) -> list[tuple[bool, bool]]:
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
    return f"{fixed(Fraction(100 * part, whole), 1)} %" if whole else "undefined"
