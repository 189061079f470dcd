"""Numbers and tables as text.

Counts are Python integers of any size and stay exact; a short form says how many digits it keeps.
"""

import csv
import html
import io
import math
import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from adtc.atomic import write_whole
from adtc.text import json_number as json_number  # noqa: PLC0414  # one of these

_SMALL = 100_000  # counts below are short enough in full


def grouped(count: int) -> str:
    """Write a count in full, with thousands separators."""
    return f"{count:,}"


def scientific(count: int, digits: int) -> tuple[str, int]:
    """Round a count to so many digits: mantissa and exponent of ten.

    Examples
    --------
    >>> scientific(123_456, 3), scientific(99_960, 3)
    (('1.23', 5), ('1.00', 5))
    """
    exponent = len(str(count)) - 1
    unit = 10 ** max(0, exponent - digits + 1)
    kept = (count + unit // 2) // unit
    if len(str(kept)) > digits:
        kept, exponent = kept // 10, exponent + 1
    text = str(kept).ljust(digits, "0")
    return (f"{text[0]}.{text[1:]}" if digits > 1 else text), exponent


def short(count: int, digits: int = 3) -> str:
    """Write a count in few characters: in full while it is small, then as 1.23e15.

    Examples
    --------
    >>> short(99_999), short(12_345_678_901_234_567_890)
    ('99,999', '1.23e19')
    """
    if abs(count) < _SMALL:
        return grouped(count)
    mantissa, exponent = scientific(abs(count), digits)
    return f"{'-' if count < 0 else ''}{mantissa}e{exponent}"


def outward(count: int, digits: int, *, up: bool) -> int:
    """Round the end of a range to so many digits so that the range only grows.

    Examples
    --------
    >>> outward(1_239_999, 3, up=False), outward(1_230_001, 3, up=True), outward(7, 3, up=True)
    (1230000, 1240000, 7)
    """
    unit: int = 10 ** max(0, len(str(count)) - digits)
    return (-(-count // unit) if up else count // unit) * unit


def fixed(value: Fraction | int, places: int) -> str:
    """Write a number with so many decimals, halves rounded up.

    Examples
    --------
    >>> fixed(Fraction(2, 3), 3), fixed(Fraction(-1, 8), 2), fixed(5, 0)
    ('0.667', '-0.13', '5')
    """
    scaled = (2 * abs(Fraction(value)) * 10**places + 1) // 2
    digits = str(scaled).zfill(places + 1)
    sign = "-" if value < 0 and scaled else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def percentage(share: Fraction | int | None, *, missing: str = "undefined") -> str:
    """Write a share in per cent with one decimal, halves rounded up.

    Where a share near 0 or 1 must not look like 0 or 1, `adtc.text.percent` is the one to use.

    Examples
    --------
    >>> percentage(Fraction(1, 8)), percentage(Fraction(1, 10**6)), percentage(None)
    ('12.5 %', '0.0 %', 'undefined')
    """
    return missing if share is None else f"{fixed(100 * share, 1)} %"


def places_for(values: Iterable[Fraction | int]) -> int:
    """Find how many decimals show values exactly or, if that takes many, apart and in proportion.

    Examples
    --------
    >>> places_for([Fraction(1, 4), Fraction(1, 2)]), places_for([Fraction(1, 3), Fraction(2, 3)])
    (2, 2)
    """
    known = sorted({Fraction(value) for value in values})
    gaps = [b - a for a, b in pairwise(known)] or [abs(v) for v in known if v] or [Fraction(1)]
    apart = max(0, 1 - math.floor(math.log10(min(gaps))))
    for places in range(apart):
        if all((value * 10**places).denominator == 1 for value in known):
            return places
    return apart


def labels_of(values: Sequence[Fraction | int]) -> list[str]:
    """Write values of one axis with the same number of decimals, whole numbers in full."""
    places = places_for(values)
    return [f"{int(v):,}" if places == 0 else fixed(v, places) for v in values]


def exact_text(value: Fraction | int | None) -> str:
    """Write a value exactly, as a fraction if it is one; 'undefined' for None."""
    return "undefined" if value is None else str(value)


def approximate(value: Fraction | int | None) -> str:
    """Write a value for people: whole numbers in full, others with five decimals."""
    if value is None:
        return "undefined"
    whole = Fraction(value).denominator == 1
    return f"{int(value):,}" if whole else fixed(value, 5)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows of text in right-aligned columns; the first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]], caption: str) -> str:
    """Write rows of text as one table; the first row and the first column are headers."""

    def cells(row: Sequence[str], tag: str, scope: str) -> str:
        first = f'<th scope="{"col" if tag == "th" else "row"}">{html.escape(row[0])}</th>'
        return first + "".join(f"<{tag}{scope}>{html.escape(cell)}</{tag}>" for cell in row[1:])

    head = cells(rows[0], "th", ' scope="col"')
    body = "\n".join(f"<tr>{cells(row, 'td', '')}</tr>" for row in rows[1:])
    style = "border-collapse:collapse;text-align:right;font-variant-numeric:tabular-nums"
    return (
        f'<table class="adtc" style="{style}">\n<caption>{html.escape(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def write_csv(path: str | os.PathLike[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows of text as a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    write_whole(path, text.getvalue())
