"""Ranges that are written short contain what they stand for: ends are rounded outward."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adtc.engine.limits.bracket import Bracket
from adtc.profiles.inexact.brackets import range_text
from adtc.show.style import range_forms

_UNITS = {"": 1, "k": 10**3, "M": 10**6}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def number(text: str) -> Fraction:
    """Read what a picture or a table writes: 15.3k, 1.2·10¹², 1.23e15 or 12,345."""
    text = text.replace(",", "")
    if "10" in text and (power := re.fullmatch(r"(?:(.+)·)?10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text)):
        return Fraction(power[1] or 1) * 10 ** int(power[2].translate(_RAISED))
    digits = text.rstrip("kM")
    return Fraction(digits) * _UNITS[text[len(digits) :]]


@given(st.integers(0, 10**30), st.booleans())
@example(950_000, False)  # to nearest, a single digit makes a million of it
def test_an_end_in_a_picture_is_rounded_outward(count: int, up: bool) -> None:
    for form in range_forms():
        shown = number(form(count, up))
        assert shown >= count if up else shown <= count
        assert abs(shown - count) <= Fraction(count)  # and not by more than its first digit


@given(st.integers(0, 10**30), st.integers(1, 10**30))
def test_an_end_in_a_table_is_rounded_outward(low: int, width: int) -> None:
    bottom, top = map(number, range_text(Bracket(low, low + width)).split(".."))
    assert bottom <= low < low + width <= top
    assert number(range_text(Bracket(low))[1:]) <= low


@pytest.mark.parametrize(
    ("up", "texts"),
    [
        (False, ["1,239,999", "1.23M", "1.2M", "1M"]),
        (True, ["1,239,999", "1.24M", "1.3M", "2M"]),
        (None, ["1,239,999", "1.24M", "1.2M", "1M"]),
    ],
)
def test_ends_have_as_many_digits_as_fit(up: bool | None, texts: list[str]) -> None:
    assert [form(1_239_999, up) for form in range_forms()[:4]] == texts
